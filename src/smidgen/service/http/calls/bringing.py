"""Models from elsewhere: copies, saved learners, exported logs."""

from __future__ import annotations

import asyncio
import hashlib

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.reading import json_body, raw_body
from smidgen.service.http.running import Service, permitted, reply
from smidgen.service.messages import CopyBody, ModelReply
from smidgen.service.models import dsjson
from smidgen.service.models.bringing import from_learner, from_log

#: What can be imported, and what reads it.
READERS = {"application/octet-stream": from_learner, "application/x-ndjson": from_log}
#: What an existing model is taught by.
DSJSON = "application/x-dsjson"


@call("POST", MODEL + ":copy", "copyModel", body=CopyBody, reply=ModelReply, status=(201,))
async def copy_model(request: Request) -> Response:
    """Make a copy of a model under another name, with or without what it has learnt."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, CopyBody)
    await here.rights(request, "admin", body.to)
    return reply(await here.writer.do(lambda: here.engine.copy(name, body)), 201)


@call("POST", MODEL + ":import", "importModel", reply=ModelReply, status=(200, 201), takes=(*READERS, DSJSON))
async def import_model(request: Request) -> Response:
    """Make a model of a saved learner or an exported log; or teach one what another system has shown."""
    here, name = await permitted(request, "admin")
    media, content = await raw_body(request, (*READERS, DSJSON))
    if media == DSJSON:
        return await _teach(here, name, content)
    new = name not in here.engine.models
    brought = await asyncio.to_thread(READERS[media], content)
    await here.warm(brought.blueprint.body)
    told = await here.writer.do(lambda: here.engine.fill(name, brought, media))
    return reply(told, 201 if new else 200)


async def _teach(here: Service, name: str, content: bytes) -> Response:
    """Teach a model what another system has shown; the same content again changes nothing."""
    here.engine.model(name)
    lessons = await asyncio.to_thread(dsjson.read, content, f"dsjson:{hashlib.sha256(content).hexdigest()}")
    taught = 0
    if (body := lessons.body) is not None:
        taught = (await here.writer.do(lambda: here.engine.teach(name, body))).taught
    told = msgspec.to_builtins(await here.writer.do(lambda: here.engine.describe(name)))
    return reply({**told, "taught": taught, "passed_over": lessons.passed_over})
