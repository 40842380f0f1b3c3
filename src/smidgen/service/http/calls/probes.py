"""Alive, able, and how busy."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen import __version__
from smidgen.service.http.call import call
from smidgen.service.http.company import lags, notes
from smidgen.service.http.running import reply, service


@call("GET", "/healthz", "alive", reply=dict)
async def alive(request: Request) -> Response:
    """Alive."""
    return reply({"status": "ok", "version": __version__})


@call("GET", "/readyz", "ready", reply=dict)
async def ready(request: Request) -> Response:
    """Able to decide.

    That is, to commit a decision.
    """
    here = service(request)
    await here.able()
    told = {"worker": here.options.worker} if here.engine.store.shared else {}
    return reply({"status": "ready", "models": len(here.engine.models), **told})


@call("GET", "/metrics", "showMetrics", media="text/plain")
async def show_metrics(request: Request) -> Response:
    """Figures for Prometheus.

    Any token will do, and one of a single model shows no other.
    """
    here = service(request)
    rights = await here.bearer(request)

    def text() -> str:
        models = [model for model in here.models() if rights.model in (None, model.name)]
        found = here.health.figures(here.reading, models, here.engine.clock())
        known, gauges = lags(here, rights.model), list[tuple[str, dict[str, int | str], int]]()
        if here.engine.store.shared:
            told: dict[str, int | str] = {"worker": here.options.worker}
            owned = sum(here.engine.owns(part.slot) for model in models for part in model.parts)
            gauges = [("smidgen_workers", {}, len(notes(here))), ("smidgen_slots_owned", told, owned)]
            gauges += [("smidgen_lag_events", {**told, "model": name}, lag) for name, _, lag in known]
        return here.metrics.text(notes(here), [(name, counts) for name, counts, _ in known], found, gauges)

    return Response(await asyncio.to_thread(text), media_type="text/plain; version=0.0.4")
