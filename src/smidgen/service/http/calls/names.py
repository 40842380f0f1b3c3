"""Archived models: let one decide again, or free its name for another."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import permitted, reply
from smidgen.service.messages import ModelReply, RenameBody


@call("POST", MODEL + ":revive", "reviveModel", reply=ModelReply)
async def revive_model(request: Request) -> Response:
    """Let an archived model decide again; it goes on where it was."""
    here, name = await permitted(request, "admin")
    return reply(await here.writer.do(lambda: here.engine.revive(name)))


@call("POST", MODEL + ":rename", "renameModel", body=RenameBody, reply=ModelReply)
async def rename_model(request: Request) -> Response:
    """Give an archived model another name, so that its own is free."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, RenameBody)
    await here.rights(request, "admin", body.to)
    return reply(await here.writer.do(lambda: here.engine.rename(name, body.to)))
