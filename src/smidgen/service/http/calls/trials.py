"""Trust before traffic: how the one beside a champion does, and its promotion."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.running import any_right, model_name, reply, service
from smidgen.service.insight.trial import compared
from smidgen.service.messages import CompareReply, PromotedReply


async def compare(request: Request) -> Response:
    """GET /v1/models/{name}/compare."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    return reply(await asyncio.to_thread(compared, here.reading, here.engine.model(name), here.engine.clock()))


async def promote(request: Request) -> Response:
    """POST /v1/models/{name}:promote."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    if (leader := here.engine.model(name).leader) is not None:
        await here.rights(request, "admin", leader.name)
    return reply(await here.writer.do(lambda: here.engine.promote(name)))


CALLS = [
    Call(
        method="POST",
        path=MODEL + ":promote",
        answer=promote,
        name="promoteModel",
        summary="let the champion decide with the settings and the state of this challenger or shadow from now on",
        reply=PromotedReply,
    ),
    Call(
        method="GET",
        path=MODEL + "/compare",
        answer=compare,
        name="compareModel",
        summary="whether the challenger or the shadow is better than the champion, and how sure that is",
        reply=CompareReply,
    ),
]
