"""Archived models: let one decide again, or free its name for another."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import model_name, reply, service
from smidgen.service.messages import ModelReply, RenameBody


async def revive_model(request: Request) -> Response:
    """POST /v1/models/{name}:revive."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    return reply(await here.writer.do(lambda: here.engine.revive(name)))


async def rename_model(request: Request) -> Response:
    """POST /v1/models/{name}:rename."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    body = await json_body(request, RenameBody, here.options.max_body)
    await here.rights(request, "admin", body.to)
    return reply(await here.writer.do(lambda: here.engine.rename(name, body.to)))


CALLS = [
    Call(
        method="POST",
        path=MODEL + ":revive",
        answer=revive_model,
        name="reviveModel",
        summary="let an archived model decide again; it goes on where it was",
        reply=ModelReply,
    ),
    Call(
        method="POST",
        path=MODEL + ":rename",
        answer=rename_model,
        name="renameModel",
        summary="give an archived model another name, so that its own is free",
        body=RenameBody,
        reply=ModelReply,
    ),
]
