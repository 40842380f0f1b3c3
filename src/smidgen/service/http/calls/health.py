"""What is wrong with a model, and the way out."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.running import any_right, model_name, reply, service
from smidgen.service.messages import HealthReply


async def show_health(request: Request) -> Response:
    """GET /v1/models/{name}/health."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    model, now = here.engine.model(name), here.engine.clock()
    report = await asyncio.to_thread(here.health.of, here.reading, model, now)
    return reply(HealthReply(findings=report.findings))


CALLS = [
    Call(
        method="GET",
        path=MODEL + "/health",
        answer=show_health,
        name="showHealth",
        summary="what is wrong with a model, and the way out, the worst first",
        reply=HealthReply,
    ),
]
