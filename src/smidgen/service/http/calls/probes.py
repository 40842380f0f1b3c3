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
        workers, known = notes(here), lags(here, rights.model)
        gauges: list[tuple[str, dict[str, int | str], int]] = []
        if here.engine.store.shared:
            gauges = [("smidgen_workers", {}, len(workers))]
            gauges += [("smidgen_slots_owned", {"worker": each["worker"]}, each["owned"]) for each in workers]
            own: dict[str, int | str] = {"worker": here.options.worker}
            gauges += [("smidgen_lag_events", {**own, "model": name}, lag) for name, _, lag in known]
        return here.metrics.text(workers, [(name, counts) for name, counts, _ in known], found, gauges)

    return Response(await asyncio.to_thread(text), media_type="text/plain; version=0.0.4")
