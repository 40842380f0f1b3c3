"""Calls: probes and tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen import __version__
from smidgen.errors import SmidgenError
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.spending import budget_figures
from smidgen.service.errors import Unknown
from smidgen.service.http import auth
from smidgen.service.http.endpoints import endpoint
from smidgen.service.http.metrics import BUDGET, LAG, OWNED, STORE, WORKERS, Gauge, exposition
from smidgen.service.http.resources import Service, reply, service
from smidgen.service.http.rights import READ, ModelAccess, Rule, grant_of, judge
from smidgen.service.http.workers import all_statuses, replication_lag
from smidgen.service.log.events import stamp
from smidgen.service.schemas import CreatedTokenReply, TokenBody, TokenReply, TokensReply
from smidgen.service.storage.records import TokenRow

# Alive, able, and how busy.

_READS = Rule(READ, ModelAccess.SERVICE)


@endpoint("GET", "/healthz", "alive", reply=dict)
async def alive(request: Request) -> Response:
    """Alive.

    With a token that may read, the answer also has the version.
    """
    version = {"version": __version__} if "authorization" in request.headers and _may_read(request) else {}
    return reply({"status": "ok", **version})


@endpoint("GET", "/readyz", "ready", reply=dict)
async def ready(request: Request) -> Response:
    """Able to decide.

    That is, to commit a decision.
    """
    here = service(request)
    await here.check_healthy()
    if not _may_read(request):
        return reply({"status": "ready"})
    fields = {"worker": here.options.worker} if here.engine.store.shared else {}
    return reply({"status": "ready", **fields, "models": len(here.engine.models)})


@endpoint("GET", "/metrics", "showMetrics", media="text/plain")
async def show_metrics(request: Request) -> Response:
    """Figures for Prometheus.

    Any token will do, and one of a single model shows no other.
    """
    grant = grant_of(request)
    here = grant.here

    def text() -> str:
        models = grant.visible(here.models())
        found = here.health.figures(here.reading, models, here.engine.clock())
        workers, known = all_statuses(here), replication_lag(here, grant.only)
        busiest = sorted(known, key=lambda each: -each[1].decisions)[: here.options.metrics_models]
        kept = {name for name, _, _ in busiest}
        gauges: list[Gauge] = [(STORE, {}, here.reading.stored_bytes())] if grant.only is None else []
        if here.engine.store.shared:
            gauges.append((WORKERS, {}, len(workers)))
            gauges += [(OWNED, {"worker": each["worker"]}, each["owned"]) for each in workers]
            own = {"worker": here.options.worker}
            gauges += [(LAG, {**own, "model": name}, lag) for name, _, lag in known if name in kept]
        gauges += _budget_gauges(here, [each for each in models if each.name in kept])
        return exposition(
            workers,
            [(name, counts) for name, counts, _ in known if name in kept],
            [each for each in found if each[0] in kept],
            gauges,
            len(known) - len(kept),
        )

    return Response(await asyncio.to_thread(text), media_type="text/plain; version=0.0.4")


def _budget_gauges(here: Service, models: Iterable[ServedModel]) -> list[Gauge]:
    """Cost and price of the models that have a budget; each metric in one place."""
    found = [(each.name, budget_figures(here.reading, each) or {}) for each in models]
    return [
        (metric, {"model": name, "currency": currency}, value)
        for field, metric in BUDGET
        for name, budget in found
        for currency, figures in budget.items()
        if (value := getattr(figures, field)) is not None
    ]


def _may_read(request: Request) -> bool:
    """Report whether the caller may read; a probe never fails because that cannot be found out."""
    try:
        judge(_READS, service(request).tokens.rights(request.headers.get("authorization")))
    except SmidgenError:
        return False
    return True


# Tokens: listed, created, revoked by an admin whose own token is not limited to a model.


@endpoint("GET", "/v1/tokens", "listTokens", reply=TokensReply)
async def list_tokens(request: Request) -> Response:
    """List the tokens, without their secrets."""
    here = grant_of(request).here
    found = await asyncio.to_thread(here.tokens.list)
    return reply(TokensReply(tokens=[_token_reply(each) for each in found]))


@endpoint(
    "POST",
    "/v1/tokens",
    "createToken",
    body=TokenBody,
    reply=CreatedTokenReply,
    status=(201,),
    example={"scopes": ["decide", "feedback"], "name": "shop", "expires": "90d"},
)
async def create_token(request: Request) -> Response:
    """Create a token; the reply shows its secret this once.

    From the first token on, every call needs one.
    """
    grant = grant_of(request)
    here = grant.here
    body = await grant.body(request, TokenBody)

    def create() -> tuple[str, str]:
        now = here.engine.clock()
        until = auth.expiry(body.expires, now) if body.expires is not None else None
        store = here.engine.store
        return auth.create(store, body.scopes, body.model, now, name=body.name, expires_at=until)

    id, secret = await grant.run(create)
    fields = msgspec.structs.asdict(_token_reply(await _find_token(here, id)))
    return reply(CreatedTokenReply(**fields, token=secret), 201)


@endpoint("DELETE", "/v1/tokens/{id}", "revokeToken", reply=TokenReply)
async def revoke_token(request: Request) -> Response:
    """Revoke a token: calls that come later are refused with 401."""
    grant = grant_of(request)
    here, id = grant.here, request.path_params["id"]
    await grant.run(lambda: auth.revoke(here.engine.store, id, here.engine.clock()))
    return reply(_token_reply(await _find_token(here, id)))


async def _find_token(here: Service, id: str) -> TokenRow:
    for row in await asyncio.to_thread(here.tokens.list):
        if row.id == id:
            return row
    raise Unknown(f'there is no token with the id "{id}"', "GET /v1/tokens lists all ids")


def _token_reply(row: TokenRow) -> TokenReply:
    times = (row.expires_at, row.used_at, row.revoked_at)
    expires, used, revoked = (None if at is None else stamp(at) for at in times)
    return TokenReply(
        id=row.id,
        name=row.name,
        scopes=row.scopes.split(","),
        model=row.model,
        created_at=stamp(row.created_at),
        expires_at=expires,
        last_used_at=used,
        revoked_at=revoked,
    )
