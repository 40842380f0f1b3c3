"""Decisions: asked for, one or many; and their stories."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import DECISION, MODEL, Call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import explained, model_name, reply, service, shown
from smidgen.service.http.schemas import decision, decisions
from smidgen.service.loops.registry import loops
from smidgen.service.messages import Story
from smidgen.service.models.stories import tell


async def decide(request: Request) -> Response:
    """POST /v1/models/{name}/decisions."""
    here, name = service(request), model_name(request)
    rights = await here.rights(request, "decide", name, quick=True)
    body = await json_body(request, loops.decision, here.options.max_body)
    command = here.granted(rights, shown(request), "decide", lambda _: here.engine.decide(name, body), name)
    return reply(await here.writer.do(command), 201)


async def decide_batch(request: Request) -> Response:
    """POST /v1/models/{name}/decisions:batch."""
    here, name = service(request), model_name(request)
    rights = await here.rights(request, "decide", name, quick=True)
    body = await json_body(request, loops.batch, here.options.max_body)
    asked = here.engine.decide_in_steps(name, body)
    step = here.granted(rights, shown(request), "decide", lambda _: asked(), name)
    made = await here.writer.do(step)
    if made is None:
        async with here.large:  # one at a time: what is decided waits in memory until all is
            while made is None:
                made = await here.writer.do(step)
    return reply({"decisions": made}, 201)


async def tell_story(request: Request) -> Response:
    """GET /v1/decisions/{id}."""
    here = service(request)
    rights = await here.bearer(request)
    id = request.path_params["id"]
    now = here.engine.clock()
    told = await asyncio.to_thread(tell, here.log, here.engine.slots, id, rights.model, now)
    return reply(msgspec.structs.replace(told, contributions=await explained(here, id, rights.model)))


CALLS = [
    Call(
        method="POST",
        path=MODEL + "/decisions",
        answer=decide,
        name="decide",
        summary="ask for a decision",
        body=lambda: loops.decision,
        reply=decision,
        status=(201,),
        busy=True,
    ),
    Call(
        method="POST",
        path=MODEL + "/decisions:batch",
        answer=decide_batch,
        name="decideMany",
        summary="ask for many decisions",
        body=lambda: loops.batch,
        reply=decisions,
        status=(201,),
        busy=True,
    ),
    Call(method="GET", path=DECISION, answer=tell_story, name="tellStory", summary="a decision's story", reply=Story),
]
