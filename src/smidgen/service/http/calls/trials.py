"""Trust before traffic: how the one beside a champion does, and its promotion."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.running import permitted, reply
from smidgen.service.insight.trial import compared
from smidgen.service.messages import CompareReply, PromotedReply


@call("GET", MODEL + "/compare", "compareModel", reply=CompareReply)
async def compare(request: Request) -> Response:
    """Whether the challenger or the shadow is better than the champion, and how sure that is."""
    here, name = await permitted(request)
    return reply(await asyncio.to_thread(compared, here.reading, here.engine.model(name), here.engine.clock()))


@call("POST", MODEL + ":promote", "promoteModel", reply=PromotedReply)
async def promote(request: Request) -> Response:
    """Let the champion decide with the settings and the state of this challenger or shadow from now on."""
    here, name = await permitted(request, "admin")
    if (leader := here.engine.model(name).leader) is not None:
        await here.rights(request, "admin", leader.name)
    return reply(await here.writer.do(lambda: here.engine.promote(name)))
