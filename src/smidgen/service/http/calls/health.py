"""What is wrong with a model, and the way out."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.running import permitted, reply
from smidgen.service.messages import HealthReply


@call("GET", MODEL + "/health", "showHealth", reply=HealthReply)
async def show_health(request: Request) -> Response:
    """What is wrong with a model, and the way out, the worst first."""
    here, name = await permitted(request)
    model, now = here.engine.model(name), here.engine.clock()
    report = await asyncio.to_thread(here.health.of, here.reading, model, now)
    return reply(HealthReply(findings=report.findings))
