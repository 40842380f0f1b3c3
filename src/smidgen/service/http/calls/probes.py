"""Alive, able, and how busy."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen import __version__
from smidgen.service.http.call import Call
from smidgen.service.http.running import reply, service
from smidgen.service.messages import Finding


async def alive(request: Request) -> Response:
    """GET /healthz."""
    return reply({"status": "ok", "version": __version__})


async def ready(request: Request) -> Response:
    """GET /readyz: whether a decision can be committed."""
    here = service(request)
    await here.able()
    return reply({"status": "ready", "models": len(here.engine.models)})


async def show_metrics(request: Request) -> Response:
    """GET /metrics, for Prometheus: any token will do, and one of a single model shows no other."""
    here = service(request)
    rights = await here.bearer(request)

    def found() -> list[tuple[str, Finding]]:
        models = [model for model in here.models() if rights.model in (None, model.name)]
        return here.health.figures(here.reading, models, here.engine.clock())

    text = here.metrics.text(here.engine, here.writer, await asyncio.to_thread(found), rights.model)
    return Response(text, media_type="text/plain; version=0.0.4")


CALLS = [
    Call(method="GET", path="/healthz", answer=alive, name="alive", summary="alive", reply=dict),
    Call(method="GET", path="/readyz", answer=ready, name="ready", summary="able to decide", reply=dict),
    Call(
        method="GET",
        path="/metrics",
        answer=show_metrics,
        name="showMetrics",
        summary="figures for Prometheus",
        media="text/plain",
    ),
]
