"""The calls of Azure AI Personalizer, single slot: an app keeps its SDK and changes the address.

``rank`` is a decision of a choose model that hears rewards, its ``eventId`` the request's id; ``reward`` is feedback,
``activate`` is `shown`. The model is the token's, else the one that ``--personalizer`` names. The first rank call
creates it, if no token is needed or the token has the scope admin; else it is unknown (404). Of two rewards for one
event the first counts, as it did there. As an apprentice (``--apprentice``) it answers with the first action that is
not left out, which is what the app would have shown, and is taught that.
"""

from __future__ import annotations

import functools
import uuid
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.learners import Loop
from smidgen.service.errors import Conflict, Impossible, OutOfScope, UnknownDecision, json_text
from smidgen.service.http.endpoints import Endpoint, endpoint
from smidgen.service.http.resources import Service, reply, service
from smidgen.service.http.rights import HOSTED_CREATION, Grant, admit, grant_of
from smidgen.service.loops.features import merge_records
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import CANDIDATES, Candidate, FeedbackReply, Id, ModelBody, ShownReply

PREFIX = "/personalizer/v1.0"
#: The model that is made on the first call: the rewards, the silence and the wait that the product had unless told.
MODEL = ModelBody(
    loop=Loop.CHOOSE.value, feedback="reward", reward_range=(-1.0, 1.0), default_reward=0.0, window_s=600.0
)
_CODES = {401: "Unauthorized", 403: "Forbidden", 404: "ResourceNotFound", 503: "ServiceUnavailable"}
_Features = list[dict[str, Any]]


class Action(Struct, kw_only=True):
    """A candidate action.

    Attributes
    ----------
    id
        The id of the action.
    features
        Objects that together describe it.
    """

    id: Id
    features: _Features = []


class RankBody(Struct, kw_only=True, rename="camel"):
    """A rank request; unknown fields are ignored.

    Attributes
    ----------
    actions
        The actions to choose from.
    contextFeatures
        Objects that together describe the context.
    excludedActions
        Ids that must not be chosen.
    eventId
        Your id of the event; left out, one is made.
    deferActivation
        true: the event counts only after it is activated.
    """

    actions: Annotated[list[Action], Meta(min_length=1, max_length=CANDIDATES)]
    context_features: _Features | None = None
    excluded_actions: list[str] | None = None
    event_id: Id | None = None
    defer_activation: bool | None = False


class Reward(Struct, kw_only=True):
    """The reward of an event.

    Attributes
    ----------
    value
        The reward, within the model's reward range (-1 to 1 unless the model says otherwise).
    """

    value: float


class RankedAction(Struct, kw_only=True):
    """An action with its probability.

    Attributes
    ----------
    id
        The action's id.
    probability
        The probability with which it would have been chosen.
    """

    id: str
    probability: float


class RankReply(Struct, kw_only=True, rename="camel"):
    """The answer to a rank request.

    Attributes
    ----------
    ranking
        The actions: the chosen one first, then by probability; excluded ones keep their places.
    eventId
        The event's id: reward and activate name it.
    rewardActionId
        The chosen action.
    """

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class StatusReply(Struct, kw_only=True, rename="camel"):
    """Status of the service.

    Attributes
    ----------
    service
        The name of the service.
    apiStatus
        Whether the key is valid.
    apiStatusMessage
        The same in words.
    model
        The model that answers.
    modelVersion
        Its version.
    """

    service: str
    api_status: str
    api_status_message: str
    model: str
    model_version: int


def hosted(answer: Endpoint) -> Endpoint:
    """Refusals in the product's own shape."""

    @functools.wraps(answer)
    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except SmidgenError as error:
            service(request).metrics.count("refused", type(error).__name__)
            status = 400 if error.status in (409, 413, 415, 422) else error.status
            detail = {"code": _CODES.get(status, "BadRequest"), "message": f"{error.problem}; {error.hint}"}
            response = reply({"error": detail}, status)
            if status == 503:
                response.headers["retry-after"] = "1"
            return response

    return answering


@endpoint("POST", PREFIX + "/rank", "personalizerRank", body=RankBody, reply=RankReply, status=(201,), errors=hosted)
async def rank_actions(request: Request) -> Response:
    """Azure AI Personalizer: rank actions."""
    grant = await _model(request, create=True)
    here, name = grant.here, grant.name
    body = await grant.body(request, RankBody)
    event = body.event_id or uuid.uuid4().hex
    ids = [action.id for action in body.actions]
    left_out = set(body.excluded_actions or ()) & set(ids)
    asked = loops.decision(
        id=event,
        candidates=[Candidate(id=action.id, features=merge_records(action.features)) for action in body.actions],
        context=merge_records(body.context_features) if body.context_features else None,
        exclude=sorted(left_out) or None,
        activate=not body.defer_activation,
        chosen=next((id for id in ids if id not in left_out), None) if here.options.apprentice else None,
    )
    decided = await grant.run(lambda: here.engine.decide(name, asked))
    shares = decided.get("propensities", {decided["choice"]: 1.0})
    ranked = _ranking(ids, left_out, decided["choice"], shares)
    return reply(RankReply(ranking=ranked, event_id=event, reward_action_id=decided["choice"]), 201)


@endpoint("POST", PREFIX + "/events/{event}/reward", "personalizerReward", body=Reward, status=(204,), errors=hosted)
async def reward(request: Request) -> Response:
    """Azure AI Personalizer: report the reward of an event; the first one counts."""
    grant = await _model(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, Reward)

    def act() -> FeedbackReply:
        return here.engine.feedback(_decision(here, name, request), loops.feedback(reward=body.value), name)

    try:
        verdict = await grant.run(act)
    except Conflict:  # another value for the same event: the first one stays
        here.metrics.count("feedback", "duplicate")
    else:
        here.metrics.count("feedback", verdict.status)
    return Response(status_code=204)


@endpoint("POST", PREFIX + "/events/{event}/activate", "personalizerActivate", status=(204,), errors=hosted)
async def activate(request: Request) -> Response:
    """Azure AI Personalizer: activate an event that was deferred."""
    grant = await _model(request)
    here, name = grant.here, grant.name

    def act() -> ShownReply:
        return here.engine.mark_shown(_decision(here, name, request), name)

    await grant.run(act)
    return Response(status_code=204)


@endpoint("GET", PREFIX + "/status", "personalizerStatus", reply=StatusReply, errors=hosted)
async def status(request: Request) -> Response:
    """Azure AI Personalizer: the service status."""
    grant = await _model(request, required=False)
    here, name = grant.here, grant.name
    version = here.engine.model(name).version if name in here.engine.models else 0
    valid = {"service": "smidgen", "api_status": "Valid", "api_status_message": "Api Key is valid."}
    return reply(StatusReply(**valid, model=name, model_version=version))


async def _model(request: Request, *, create: bool = False, required: bool = True) -> Grant:
    """The caller's grant for the model that it means; ``create`` makes one that does not exist, if the caller may."""
    grant = grant_of(request)
    here = grant.here
    if grant.name not in here.engine.models:  # another worker may have made it, or a token
        grant = await admit(request, grant.rule._replace(quick=False))
    if grant.name not in here.engine.models and create:
        with suppress(OutOfScope):
            operator = await admit(request, HOSTED_CREATION)
            await operator.run(lambda: here.engine.create(operator.name, MODEL))
    if grant.name not in here.engine.models and not required:
        return grant
    loop = here.engine.model(grant.name).blueprint
    if loop.loop.name != Loop.CHOOSE or loop.feedback != "reward":
        raise Impossible(
            f'the model "{grant.name}" does not choose by rewards', "set another model with --personalizer"
        )
    return grant


def _decision(here: Service, name: str, request: Request) -> str:
    """The decision of an event; to be asked within a command."""
    event = request.path_params["event"]
    shards = [part.shard for part in here.engine.locked_model(name).parts]
    row = here.engine.store.find_request(shards[0], event, *shards[1:])
    if row is None:
        raise UnknownDecision(f"there is no event {json_text(event)}", "call rank first, with this eventId")
    return row.id


def _ranking(ids: list[str], left_out: set[str], choice: str, shares: dict[str, float]) -> list[RankedAction]:
    """The chosen one first, then the others by their probability; what was left out keeps its place."""
    free = sorted((id for id in ids if id not in left_out), key=lambda id: (id != choice, -shares.get(id, 0.0)))
    others = iter(free)
    order = [id if id in left_out else next(others) for id in ids]
    return [RankedAction(id=id, probability=shares.get(id, 0.0)) for id in order]
