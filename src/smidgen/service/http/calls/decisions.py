"""Decisions: asked for, one or many; and their stories."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import DECISION, MODEL, call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import explained, model_name, reply, service, shown
from smidgen.service.http.schemas import decision, decisions
from smidgen.service.loops.registry import loops
from smidgen.service.messages import Story
from smidgen.service.models.stories import tell


@call("POST", MODEL + "/decisions", "decide", body=lambda: loops.decision, reply=decision, status=(201,), busy=True)
async def decide(request: Request) -> Response:
    """Ask for a decision."""
    here, name = service(request), model_name(request)
    rights = await here.rights(request, "decide", name, quick=True)
    body = await json_body(request, loops.decision)
    command = here.granted(rights, shown(request), "decide", lambda _: here.engine.decide(name, body), name)
    return reply(await here.writer.do(command), 201)


@call(
    "POST",
    MODEL + "/decisions:batch",
    "decideMany",
    body=lambda: loops.batch,
    reply=decisions,
    status=(201,),
    busy=True,
)
async def decide_batch(request: Request) -> Response:
    """Ask for many decisions."""
    here, name = service(request), model_name(request)
    rights = await here.rights(request, "decide", name, quick=True)
    body = await json_body(request, loops.batch)
    asked = here.engine.decide_in_steps(name, body)
    step = here.granted(rights, shown(request), "decide", lambda _: asked(), name)
    made = await here.writer.do(step)
    if made is None:
        async with here.large:  # one at a time: what is decided waits in memory until all is
            while made is None:
                made = await here.writer.do(step)
    return reply({"decisions": made}, 201)


@call("GET", DECISION, "tellStory", reply=Story)
async def tell_story(request: Request) -> Response:
    """A decision's story."""
    here = service(request)
    rights = await here.bearer(request)
    id = request.path_params["id"]
    now = here.engine.clock()
    told = await asyncio.to_thread(tell, here.log, here.engine.slots, id, rights.model, now)
    return reply(msgspec.structs.replace(told, contributions=await explained(here, id, rights.model)))
