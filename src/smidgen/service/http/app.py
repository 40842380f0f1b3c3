"""The HTTP service: routes in one list, resources opened and closed in one place."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smidgen.errors import SmidgenError
from smidgen.learners.plugins import load_plugins
from smidgen.service.engine import blueprint
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.leases import unique_worker_name
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.writer import Writer
from smidgen.service.errors import Busy, Unknown
from smidgen.service.http import dashboard
from smidgen.service.http.auth import Tokens
from smidgen.service.http.endpoints import (
    ERROR_SHAPES,
    EndpointSpec,
    all_endpoints,
    integration_endpoints,
    nearest_path,
)
from smidgen.service.http.errors import error_response
from smidgen.service.http.fast_path import FastPath
from smidgen.service.http.forwarding import ForwardServer
from smidgen.service.http.metrics import Metrics
from smidgen.service.http.middleware import LIMIT, Admission, Gate, InFlight, InFlightBytes
from smidgen.service.http.openapi import document
from smidgen.service.http.plugins import plugin_routes
from smidgen.service.http.protocol import SAFE_HEADERS
from smidgen.service.http.resources import JSON, Options, Service, record_uses_loop, reply, service, write_uses
from smidgen.service.http.retention import retention_loop
from smidgen.service.http.rights import MATRIX, guard
from smidgen.service.http.routing import Router
from smidgen.service.http.telemetry import REQUEST_ID, UNMATCHED, RequestObserver, request_id
from smidgen.service.http.tracing import TRACEPARENT, Tracing
from smidgen.service.http.webhooks import Webhooks, check_webhook
from smidgen.service.http.workers import publish_status
from smidgen.service.monitoring.health import Health
from smidgen.service.schemas import ErrorDetail, ErrorReply, internal_error

#: Demos: imported as plugins of other distributions are.
DEMOS = (
    "smidgen_demos.search",
    "smidgen_demos.drafts",
)


async def openapi(request: Request) -> Response:
    """GET /openapi.json; the document is made for the first who asks."""
    state = request.app.state
    if not hasattr(state, "openapi"):
        state.openapi = document()
    return reply(state.openapi)


def routes() -> list[BaseRoute]:
    """All routes; those of plugins come last."""
    return [
        *map(_route, all_endpoints()),
        *(
            Route(path, guard(page, MATRIX[f"{method} {path}"]), methods=[method])
            for method, path, page in (("GET", "/openapi.json", openapi), *dashboard.PAGES)
        ),
        *map(_route, integration_endpoints()),
        *plugin_routes(),
    ]


def _route(call: EndpointSpec) -> Route:
    answer = guard(call.answer, MATRIX[call.key])
    return Route(call.path, answer if call.errors is None else call.errors(answer), methods=[call.method])


class Outermost:
    """Middleware around everything else: safe headers, the request id, and the observation of every request.

    Parameters
    ----------
    app
        The rest of the application.
    observer
        Counts requests and writes the access log.
    routes
        The path of each endpoint, as a template.
    """

    def __init__(self, app: ASGIApp, observer: RequestObserver, routes: Mapping[Any, str]) -> None:
        self.app = app
        self._observer = observer
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add to the head of its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = perf_counter(), 500
        id = request_id(next((value for name, value in scope["headers"] if name == REQUEST_ID), None))
        scope["request_id"] = id
        parent = next((value for name, value in scope["headers"] if name == TRACEPARENT), None)
        scope["trace"] = trace = self._observer.trace(parent)

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                set_already = {name.lower() for name, _ in headers}
                headers += [(REQUEST_ID, id.encode())] if id is not None else []
                headers += [(name, value) for name, value in SAFE_HEADERS if name not in set_already]
                message = {**message, "headers": headers}
            await send(message)

        shape = next((shape for root, shape in ERROR_SHAPES.items() if f"{scope['path']}/".startswith(root)), None)
        try:
            await self.app(scope, receive, marked if shape is None else _reshaped(marked, shape))
        finally:
            route = self._routes.get(scope.get("endpoint"), UNMATCHED)
            peer = scope.get("client")
            path, spent = scope["path"], perf_counter() - began
            self._observer.finish(route, scope["method"], path, status, spent, id, peer[0] if peer else None, trace)


def _reshaped(send: Send, shape: Callable[[int, bytes], tuple[int, bytes]]) -> Send:
    """Let refusals be answered in another form."""
    start: Message | None = None
    content = b""

    async def sending(message: Message) -> None:
        nonlocal start, content
        if message["type"] == "http.response.start" and message["status"] >= 400:
            start = message
            return
        if start is None:
            await send(message)
            return
        content += message.get("body", b"")
        if message.get("more_body"):
            return
        status, content = shape(start["status"], content)
        headers = [each for each in start.get("headers", ()) if each[0].lower() != b"content-length"]
        headers.append((b"content-length", str(len(content)).encode()))
        await send({**start, "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return sending


class Application(Starlette):
    """Starlette whose every answer has the safe headers, also those to failures.

    Parameters
    ----------
    observer
        Counts requests and writes the access log.
    settings
        Those of Starlette.
    """

    def __init__(self, observer: RequestObserver, **settings: Any) -> None:
        self._observer = observer
        super().__init__(**settings)

    def build_middleware_stack(self) -> ASGIApp:
        """Put `Outermost` outside everything else."""
        routes = [getattr(each, "route", each) for each in self.routes]
        paths = {each.endpoint: each.path for each in routes if isinstance(each, Route)}
        return Outermost(super().build_middleware_stack(), self._observer, paths)


def create_app(options: Options, *, clock: Callable[[], float] = time.time) -> Starlette:
    """The service as an ASGI application. Models are read in a thread, apart from the event loop."""
    load_plugins((*DEMOS, *options.modules))
    blueprint.set_limit(options.max_learner)
    holding = InFlightBytes(max(LIMIT, 4 * options.max_body))
    gate = Gate(options.public_url, options.trusted_proxies)
    metrics = Metrics()
    if options.webhook is not None:
        check_webhook(options.webhook, options.webhook_secret)
    tracing = Tracing() if options.otel else None
    observer = RequestObserver(metrics, access_log=options.access_log, tracing=tracing)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        stopping = threading.Event()

        def opened() -> Engine:
            engine = Engine(
                options.data,
                clock=clock,
                snapshot_every=options.snapshot_every,
                keyed_in_memory=options.keyed_in_memory,
                synchronous=options.synchronous,
                worker=unique_worker_name(str(options.worker)),
            )
            engine.recover(stopping.is_set)
            if engine.leases is not None:
                engine.take_over(engine.leases.renew())
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
        here = Service(
            options, engine, writer, reading, EventLog(reading), Tokens(reading, held, clock), observer, metrics
        )
        here.health = Health(engine.learners.peek)
        app.state.service, app.state.direct = here, FastPath(here, holding, gate)
        router: Router | None = None
        if options.lines is not None and engine.leases is not None:
            router = Router(here, holding, ForwardServer(app, app.state.direct), options.lines)
            await router.start()
            app.state.direct = router
        if engine.leases is not None:
            engine.leases.start(writer.take_over, writer.finish_batch, router.look_soon if router else lambda: None)
        keeping = asyncio.create_task(retention_loop(here), name="smidgen retention")
        telling = asyncio.create_task(publish_status(here), name="smidgen board")
        noting = asyncio.create_task(record_uses_loop(here), name="smidgen tokens")
        tasks = [keeping, telling, noting]
        if options.webhook is not None:
            webhooks = Webhooks(here, options.webhook, options.webhook_secret)
            tasks += [asyncio.create_task(work) for work in (webhooks.watch(), webhooks.deliver())]
        try:
            yield
        finally:
            stopping.set()
            if engine.leases is not None:
                await asyncio.to_thread(engine.leases.hand_over, writer.finish_batch)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await write_uses(here, within_s=0.0)
            if router is not None:
                await router.stop()
            await asyncio.to_thread(here.close)  # not on the event loop: callers are refused meanwhile
            await here.jobs.end()
            await writer.stop()
            reading.close()
            engine.close()
            await asyncio.to_thread(observer.close)

    handlers: Any = {
        SmidgenError: _on_error,
        404: _no_route,
        405: _no_method,
        ClientDisconnect: _on_disconnect,
        Exception: _on_failure,
    }
    guards = [Middleware(Admission, gate=gate), Middleware(InFlight, holding=holding)]
    app = Application(observer, routes=routes(), middleware=guards, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


async def _on_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, SmidgenError):
        raise error
    service(request).metrics.count("refused", type(error).__name__)
    content, more = error_response(error)
    return Response(content, error.status, more, JSON)


async def _no_route(request: Request, error: Exception) -> Response:
    similar = nearest_path(request.method, request.url.path)
    hint = "see /docs for all endpoints" if similar is None else f"did you mean {similar}? See /docs for all endpoints"
    return await _on_error(request, Unknown(f"there is no endpoint {request.url.path}", hint))


async def _no_method(request: Request, error: Exception) -> Response:
    headers = getattr(error, "headers", None) or {}
    similar = nearest_path(request.method, request.url.path)
    allowed = f"use {headers['Allow']}; see /docs" if "Allow" in headers else "see /docs"
    detail = ErrorDetail(
        code="method_not_allowed",
        message=f"{request.method} is not allowed for {request.url.path}",
        hint=allowed if similar is None else f"did you mean {request.method} {similar}? Otherwise {allowed}",
    )
    return Response(msgspec.json.encode(ErrorReply(error=detail)), 405, headers=headers, media_type=JSON)


async def _on_failure(request: Request, error: Exception) -> Response:
    """A fault of the service itself: the log of the server has it in full, the caller learns nothing of its inside."""
    return reply(ErrorReply(error=internal_error()), 500)


async def _on_disconnect(request: Request, error: Exception) -> Response:
    """The caller hung up before the body was read; nobody reads this."""
    return await _on_error(request, Busy("the connection was closed", "send the request again"))
