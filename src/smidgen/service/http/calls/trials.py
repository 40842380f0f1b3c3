"""Trust before traffic: how the one beside a champion does, and its promotion."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.running import any_right, model_name, reply, service
from smidgen.service.insight.trial import compared
from smidgen.service.messages import CompareReply


async def compare(request: Request) -> Response:
    """GET /v1/models/{name}/compare."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    return reply(await asyncio.to_thread(compared, here.reading, here.engine.model(name), here.engine.clock()))


CALLS = [
    Call(
        method="GET",
        path=MODEL + "/compare",
        answer=compare,
        name="compareModel",
        summary="whether the challenger or the shadow is better than the champion, and how sure that is",
        reply=CompareReply,
    ),
]
