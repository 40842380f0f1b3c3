"""The HTTP service: routes in one list, resources opened and closed in one place."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from smidgen.errors import SmidgenError
from smidgen.service.guests import welcome
from smidgen.service.http.calls import all_calls
from smidgen.service.http.codes import refused
from smidgen.service.http.company import tell
from smidgen.service.http.direct import Direct
from smidgen.service.http.hosts import LoopbackHost
from smidgen.service.http.inflight import LIMIT, Holding, InFlight
from smidgen.service.http.mounting import guest_routes
from smidgen.service.http.openapi import document
from smidgen.service.http.options import Options
from smidgen.service.http.past import keep
from smidgen.service.http.running import JSON, Service, reply, service
from smidgen.service.http.tokens import Tokens
from smidgen.service.insight import dashboard
from smidgen.service.messages import ErrorDetail, ErrorReply, internal_error
from smidgen.service.models.engine import Engine
from smidgen.service.models.owning import own_name
from smidgen.service.models.warming import Warming, recover
from smidgen.service.models.writer import Writer
from smidgen.service.refusals import Busy, Unknown
from smidgen.service.store.log import EventLog

#: Guests of the house: brought in as those of others are.
HOUSE = (
    "smidgen.service.search",
    "smidgen.service.drafting",
    "smidgen.service.doors.personalizer",
    "smidgen.service.doors.ofrep",
)


async def openapi(request: Request) -> Response:
    """GET /openapi.json."""
    return reply(document())


def routes() -> list[BaseRoute]:
    """Everything that can be asked; guests come last."""
    return [
        *(call.route() for call in all_calls()),
        Route("/openapi.json", openapi, methods=["GET"]),
        *dashboard.routes(),
        *guest_routes(),
    ]


def create_app(options: Options, *, clock: Callable[[], float] = time.time) -> Starlette:
    """The service as an ASGI application. Models are read and kernels compiled aside from the event loop."""
    welcome((*HOUSE, *options.modules))
    holding = Holding(max(LIMIT, 4 * options.max_body))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        stopping = threading.Event()
        warming = Warming(stopping.is_set)

        def opened() -> Engine:
            engine = Engine(
                options.data,
                clock=clock,
                snapshot_every=options.snapshot_every,
                keyed_in_memory=options.keyed_in_memory,
                synchronous=options.synchronous,
                worker=own_name(str(options.worker)),
            )
            recover(engine, warming, stopping.is_set)
            if engine.owning is not None:
                engine.owned(engine.owning.renew())
            engine.sweep_all(stopping.is_set)  # windows that closed meanwhile come before any feedback
            return engine

        opening = asyncio.ensure_future(asyncio.to_thread(opened))
        try:
            engine = await asyncio.shield(opening)
        except asyncio.CancelledError:  # it ends before it has begun
            stopping.set()
            (await opening).close()
            raise
        writer = Writer(engine)
        writer.start()
        reading = engine.store.reader()  # the engine's own connection waits for every commit
        held = (lambda: engine.tokens) if engine.store.shared else None
        here = Service(options, engine, writer, reading, EventLog(reading), Tokens(reading, held), warming)
        app.state.service, app.state.direct = here, Direct(here, holding)
        if engine.owning is not None:
            engine.owning.start(writer.own)
        keeping = asyncio.create_task(keep(here), name="smidgen retention")
        telling = asyncio.create_task(tell(here), name="smidgen board")
        try:
            yield
        finally:
            stopping.set()
            for task in (keeping, telling):
                task.cancel()
            await asyncio.wait([keeping, telling])
            app.state.service.close()
            await writer.stop()
            reading.close()
            engine.close()

    handlers: Any = {
        SmidgenError: _refused,
        404: _no_route,
        405: _no_method,
        ClientDisconnect: _gone,
        Exception: _failed,
    }
    guards = [Middleware(LoopbackHost), Middleware(InFlight, holding=holding)]
    app = Starlette(routes=routes(), middleware=guards, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, SmidgenError):
        raise error
    service(request).metrics.count("refused", type(error).__name__)
    content, more = refused(error)
    return Response(content, error.status, more, JSON)


async def _no_route(request: Request, error: Exception) -> Response:
    refusal = Unknown(f"there is nothing at {request.url.path}", "see /docs")
    return await _refused(request, refusal)


async def _no_method(request: Request, error: Exception) -> Response:
    told = ErrorDetail(code="method_not_allowed", message=f"{request.method} is not for this path", hint="see /docs")
    headers = getattr(error, "headers", None)
    return Response(msgspec.json.encode(ErrorReply(error=told)), 405, headers=headers, media_type=JSON)


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of the service itself: the log of the server has it in full, the caller learns nothing of its inside."""
    return reply(ErrorReply(error=internal_error()), 500)


async def _gone(request: Request, error: Exception) -> Response:
    """The caller hung up before the body was read; nobody reads this."""
    return await _refused(request, Busy("the connection was closed", "send it again"))
