"""The HTTP service: routes in one list, resources opened and closed in one place."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from smidgen import __version__
from smidgen.errors import SmidgenError
from smidgen.service import search
from smidgen.service.http.hosts import LoopbackHost
from smidgen.service.http.inflight import LIMIT, InFlight
from smidgen.service.http.openapi import document
from smidgen.service.http.options import Options
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import JSON, Service, any_right, explained, model_name, reply, service, whole_number
from smidgen.service.http.tokens import Tokens, require
from smidgen.service.insight import dashboard
from smidgen.service.insight.quality import at_a_glance, committed
from smidgen.service.insight.weights import by_name
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ErrorDetail, ErrorReply, HealthReply, ModelBody
from smidgen.service.models.engine import Engine
from smidgen.service.models.stories import tell
from smidgen.service.models.warming import Warming, recover
from smidgen.service.models.writer import Writer
from smidgen.service.refusals import Busy, Unknown
from smidgen.service.store.log import EventLog

T = TypeVar("T")
#: How many weights are told if nobody says, and at most.
WEIGHTS, MOST_WEIGHTS = 100, 10_000
Endpoint = Callable[[Request], Awaitable[Response]]


async def create_model(request: Request) -> Response:
    """PUT /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    body = await json_body(request, ModelBody, here.options.max_body)
    if name not in here.engine.models:
        await here.warm(body)
    new, model = await here.writer.do(lambda: here.engine.create(name, body))
    return reply(model, 201 if new else 200)


async def list_models(request: Request) -> Response:
    """GET /v1/models."""
    here = service(request)
    rights = here.tokens.rights(request.headers.get("authorization"))

    def look() -> Response:
        seen = [model for model in here.models() if rights.model in (None, model.name)]
        now = here.engine.clock()
        return reply({"models": [at_a_glance(here.reading, model, now) for model in seen]})

    return await asyncio.to_thread(look)


async def show_model(request: Request) -> Response:
    """GET /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    return reply(await asyncio.to_thread(at_a_glance, here.reading, here.engine.model(name), here.engine.clock()))


async def archive_model(request: Request) -> Response:
    """DELETE /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    return reply(await here.writer.do(lambda: here.engine.archive(name)))


async def decide(request: Request) -> Response:
    """POST /v1/models/{name}/decisions."""
    here, name = service(request), model_name(request)
    await here.rights(request, "decide", name)
    body = await json_body(request, loops.decision, here.options.max_body)
    return reply(await here.writer.do(lambda: here.engine.decide(name, body)), 201)


async def decide_batch(request: Request) -> Response:
    """POST /v1/models/{name}/decisions:batch."""
    here, name = service(request), model_name(request)
    await here.rights(request, "decide", name)
    body = await json_body(request, loops.batch, here.options.max_body)
    return reply({"decisions": await here.writer.do(lambda: here.engine.decide_batch(name, body))}, 201)


async def give_feedback(request: Request) -> Response:
    """POST /v1/decisions/{id}/feedback."""
    here = service(request)
    rights = here.tokens.rights(request.headers.get("authorization"))
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.feedback, here.options.max_body)
    id = request.path_params["id"]
    answer = await here.writer.do(lambda: here.engine.feedback(id, body, rights.model))
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


async def tell_story(request: Request) -> Response:
    """GET /v1/decisions/{id}."""
    here = service(request)
    rights = here.tokens.rights(request.headers.get("authorization"))
    id = request.path_params["id"]
    now = here.engine.clock()
    told = await asyncio.to_thread(tell, here.log, here.engine.slots, id, rights.model, now)
    return reply(msgspec.structs.replace(told, contributions=await explained(here, id, rights.model)))


async def show_weights(request: Request) -> Response:
    """GET /v1/models/{name}/weights?key=…&limit=…."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    limit, key = whole_number(request, "limit") or WEIGHTS, request.query_params.get("key")
    limit = min(limit, MOST_WEIGHTS)
    return reply(await here.writer.do(lambda: by_name(here.engine, here.engine.model(name), key, limit)))


async def show_health(request: Request) -> Response:
    """GET /v1/models/{name}/health."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    model, now = here.engine.model(name), here.engine.clock()
    report = await asyncio.to_thread(here.health.of, here.reading, model, now)
    return reply(HealthReply(findings=report.findings))


async def read_log(request: Request) -> Response:
    """GET /v1/models/{name}/log?after=N."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    after = whole_number(request, "after")
    model = here.engine.model(name)
    await asyncio.to_thread(committed, here.reading, model)

    async def lines() -> AsyncIterator[bytes]:
        place = after
        while chunk := await asyncio.to_thread(here.log.lines, model, place):
            yield b"\n".join(chunk) + b"\n"
            place += len(chunk)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


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
    rights = here.tokens.rights(request.headers.get("authorization"))
    models, now = [model for model in here.models() if rights.model in (None, model.name)], here.engine.clock()
    findings = await asyncio.to_thread(here.health.figures, here.reading, models, now)
    text = here.metrics.text(here.engine, here.writer, findings, rights.model)
    return Response(text, media_type="text/plain; version=0.0.4")


async def openapi(request: Request) -> Response:
    """GET /openapi.json."""
    return reply(document())


def routes() -> list[Route]:
    """Everything that can be asked."""
    model = "/v1/models/{name}"
    return [
        Route("/v1/decisions/{id}/feedback", give_feedback, methods=["POST"]),  # the busiest are looked up first
        Route(model + "/decisions", decide, methods=["POST"]),
        Route(model + "/decisions:batch", decide_batch, methods=["POST"]),
        Route("/v1/models", list_models, methods=["GET"]),
        Route(model, create_model, methods=["PUT"]),
        Route(model, show_model, methods=["GET"]),
        Route(model, archive_model, methods=["DELETE"]),
        Route(model + "/weights", show_weights, methods=["GET"]),
        Route(model + "/health", show_health, methods=["GET"]),
        Route(model + "/log", read_log, methods=["GET"]),
        Route("/v1/decisions/{id}", tell_story, methods=["GET"]),
        Route("/healthz", alive, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/metrics", show_metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
        *dashboard.routes(),
        *search.routes(),
    ]


def create_app(options: Options, *, clock: Callable[[], float] = time.time) -> Starlette:
    """The service as an ASGI application. Models are read and kernels compiled aside from the event loop."""

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
            )
            recover(engine.models.values(), engine.learners, warming, stopping.is_set)
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
        app.state.service = Service(options, engine, writer, reading, EventLog(reading), Tokens(reading), warming)
        try:
            yield
        finally:
            stopping.set()
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
    guards = [Middleware(LoopbackHost), Middleware(InFlight, limit=max(LIMIT, 4 * options.max_body))]
    app = Starlette(routes=routes(), middleware=guards, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, SmidgenError):
        raise error
    service(request).metrics.count("refused", type(error).__name__)
    detail = ErrorDetail(code=_code(error), message=error.problem, hint=error.hint)
    response = reply(ErrorReply(error=detail), error.status)
    if error.status == 401:
        response.headers["www-authenticate"] = "Bearer"
    if error.status in (429, 503):
        response.headers["retry-after"] = "1"
    return response


async def _no_route(request: Request, error: Exception) -> Response:
    refusal = Unknown(f"there is nothing at {request.url.path}", "see /docs")
    return await _refused(request, refusal)


async def _no_method(request: Request, error: Exception) -> Response:
    detail = ErrorDetail(code="method_not_allowed", message=f"{request.method} is not for this path", hint="see /docs")
    headers = getattr(error, "headers", None)
    return Response(msgspec.json.encode(ErrorReply(error=detail)), 405, headers=headers, media_type=JSON)


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of the service itself: the log of the server has it in full, the caller learns nothing of its inside."""
    detail = ErrorDetail(
        code="internal_error", message="the service has a fault", hint="see what the server has logged"
    )
    return reply(ErrorReply(error=detail), 500)


async def _gone(request: Request, error: Exception) -> Response:
    """The caller hung up before the body was read; nobody reads this."""
    return await _refused(request, Busy("the connection was closed", "send it again"))


def _code(error: SmidgenError) -> str:
    name = type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
