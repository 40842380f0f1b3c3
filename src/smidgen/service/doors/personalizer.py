"""The calls of the retired hosted personalisation service, single slot: an app keeps its SDK and changes the address.

``rank`` is a decision of a choose model that hears rewards, its ``eventId`` the request's id; ``reward`` is feedback,
``activate`` is `shown`. The model is the token's, else the one that ``--personalizer`` names; it is made on the first
call. Of two rewards for one event the first counts, as it did there. As an apprentice (``--apprentice``) it answers
with the first action that is not left out, which is what the app would have shown, and is taught that.
"""

from __future__ import annotations

import functools
import uuid
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.errors import SmidgenError
from smidgen.learners import Loop
from smidgen.service.http.call import Endpoint
from smidgen.service.http.mounting import mount
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import Service, reply, service, shown
from smidgen.service.http.tokens import Rights, Scope, require
from smidgen.service.lenient import gathered
from smidgen.service.loops.registry import loops
from smidgen.service.messages import CANDIDATES, Candidate, FeedbackReply, Id, ModelBody, ShownReply
from smidgen.service.refusals import Conflict, Impossible, UnknownDecision

PREFIX, KEY = "/personalizer/v1.0", "ocp-apim-subscription-key"
#: The model that is made on the first call: the rewards, the silence and the wait that the product had unless told.
MODEL = ModelBody(
    loop=Loop.CHOOSE.value, feedback="reward", reward_range=(-1.0, 1.0), default_reward=0.0, window_s=600.0
)
_CODES = {401: "Unauthorized", 403: "Forbidden", 404: "ResourceNotFound", 503: "ServiceUnavailable"}
_Features = list[dict[str, Any]]


class Action(Struct, kw_only=True):
    """One of the things to choose from."""

    id: Id
    features: _Features = []


class RankBody(Struct, kw_only=True, rename="camel"):
    """What to choose from; fields that we do not know are left alone."""

    actions: Annotated[list[Action], Meta(min_length=1, max_length=CANDIDATES)]
    context_features: _Features | None = None
    excluded_actions: list[str] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = False


class Reward(Struct, kw_only=True):
    """What the shown action was worth."""

    value: float


def hosted(endpoint: Endpoint) -> Endpoint:
    """Refusals in the product's own shape."""

    @functools.wraps(endpoint)
    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except SmidgenError as error:
            service(request).metrics.count("refused", type(error).__name__)
            status = 400 if error.status in (409, 413, 415, 422) else error.status
            told = {"code": _CODES.get(status, "BadRequest"), "message": f"{error.problem}; {error.hint}"}
            response = reply({"error": told}, status)
            if status == 503:
                response.headers["retry-after"] = "1"
            return response

    return answering


@hosted
async def rank_actions(request: Request) -> Response:
    """POST /personalizer/v1.0/rank."""
    here = service(request)
    name, rights = await _model(request, here, "decide")
    body = await json_body(request, RankBody)
    event = body.event_id or uuid.uuid4().hex
    ids = [action.id for action in body.actions]
    left_out = set(body.excluded_actions or ()) & set(ids)
    asked = loops.decision(
        id=event,
        candidates=[Candidate(id=action.id, features=gathered(action.features)) for action in body.actions],
        context=gathered(body.context_features) if body.context_features else None,
        exclude=sorted(left_out) or None,
        activate=not body.defer_activation,
        chosen=next((id for id in ids if id not in left_out), None) if here.options.apprentice else None,
    )
    command = here.granted(rights, _key(request), "decide", lambda _: here.engine.decide(name, asked), name)
    told = await here.writer.do(command)
    return reply(
        {
            "ranking": _ranking(ids, left_out, told["choice"], told.get("propensities", {told["choice"]: 1.0})),
            "eventId": event,
            "rewardActionId": told["choice"],
        },
        201,
    )


@hosted
async def reward(request: Request) -> Response:
    """POST /personalizer/v1.0/events/{eventId}/reward."""
    here = service(request)
    name, rights = await _model(request, here, "feedback")
    body = await json_body(request, Reward)

    def act(own: str | None) -> FeedbackReply:
        return here.engine.feedback(_decision(here, name, request), loops.feedback(reward=body.value), name)

    try:
        told = await here.writer.do(here.granted(rights, _key(request), "feedback", act, name))
    except Conflict:  # another value for the same event: the first one stays
        here.metrics.count("feedback", "duplicate")
    else:
        here.metrics.count("feedback", told.status)
    return Response(status_code=204)


@hosted
async def activate(request: Request) -> Response:
    """POST /personalizer/v1.0/events/{eventId}/activate."""
    here = service(request)
    name, rights = await _model(request, here, "feedback")

    def act(own: str | None) -> ShownReply:
        return here.engine.shown(_decision(here, name, request), name)

    await here.writer.do(here.granted(rights, _key(request), "feedback", act, name))
    return Response(status_code=204)


@hosted
async def status(request: Request) -> Response:
    """GET /personalizer/v1.0/status."""
    here = service(request)
    await here.look()
    name, _ = await _model(request, here, "decide")
    model = here.engine.model(name)
    told = {"service": "smidgen", "apiStatus": "Valid", "apiStatusMessage": "Api Key is valid."}
    return reply({**told, "model": name, "modelVersion": model.version})


def _key(request: Request) -> str | None:
    """The token that a caller shows: his key, or the usual header."""
    return shown(request, request.headers.get(KEY))


async def _model(request: Request, here: Service, scope: Scope) -> tuple[str, Rights]:
    """The model that the caller means, made if it is not there, and his rights; its key is the token."""
    rights = await here.bearer(request, request.headers.get(KEY), quick=True)
    if (rights.model or here.options.personalizer) not in here.engine.models:
        rights = await here.bearer(request, request.headers.get(KEY))
    name = rights.model or here.options.personalizer
    require(rights, scope, name)
    if name not in here.engine.models:
        await here.warm(MODEL)
        await here.writer.do(lambda: here.engine.create(name, MODEL))
    loop = here.engine.model(name).blueprint
    if loop.loop.name != Loop.CHOOSE or loop.feedback != "reward":
        raise Impossible(f"the model {name!r} does not choose by rewards", "name another with --personalizer")
    return name, rights


def _decision(here: Service, name: str, request: Request) -> str:
    """The decision of an event; to be asked within a command."""
    event = request.path_params["event"]
    slots = [part.slot for part in here.engine.entered(name).parts]
    row = here.engine.store.requested(slots[0], event, *slots[1:])
    if row is None:
        raise UnknownDecision(f"there is no event {event!r}", "rank first")
    return row.id


def _ranking(ids: list[str], left_out: set[str], choice: str, shares: dict[str, float]) -> list[dict[str, Any]]:
    """The chosen one first, then the others by their probability; what was left out keeps its place."""
    free = sorted((id for id in ids if id not in left_out), key=lambda id: (id != choice, -shares.get(id, 0.0)))
    others = iter(free)
    order = [id if id in left_out else next(others) for id in ids]
    return [{"id": id, "probability": shares.get(id, 0.0)} for id in order]


mount(
    "personalizer",
    [
        Route(f"{PREFIX}/rank", rank_actions, methods=["POST"]),
        Route(f"{PREFIX}/events/{{event}}/reward", reward, methods=["POST"]),
        Route(f"{PREFIX}/events/{{event}}/activate", activate, methods=["POST"]),
        Route(f"{PREFIX}/status", status, methods=["GET"]),
    ],
)
