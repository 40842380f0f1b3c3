"""The calls of Azure AI Personalizer, single-slot and multi-slot: an app keeps its SDK and changes the address.

The calls stand under ``/personalizer/v1.0``, under the versions of the preview, and without a version (then the clients
send ``?api-version=``). ``rank`` is a decision of a choose model that learns from rewards, its ``eventId`` the id of
the request; ``reward`` is feedback, ``activate`` is `shown`. The model is the token's, else the one that
``--personalizer`` names. The first rank call creates it, if no token is needed or the token has the scope admin; else
it is unknown (404). Of two rewards for one event the first counts, as it did there. As an apprentice
(``--apprentice``) it answers with the first action that is not left out, which is what the app would have shown, and is
taught that; in a multi-slot call with the baselines. The service configuration is that part of a model's settings which
``PATCH`` changes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from smidgen.learners import Loop
from smidgen.service.engine.reports import read_reports, rewards_in
from smidgen.service.errors import Conflict, Impossible, OutOfScope, Unknown, UnknownDecision, json_text
from smidgen.service.http.endpoints import ERROR_SHAPES, Endpoint, EndpointSpec
from smidgen.service.http.resources import Service, reply
from smidgen.service.http.rights import HOSTED_CREATION, Grant, admit, grant_of
from smidgen.service.loops.features import merge_records
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import (
    CANDIDATES,
    AmendBody,
    Candidate,
    FeedbackReply,
    Id,
    ModelBody,
    ModelReply,
    Rewards,
    ShownReply,
    SlotBody,
)
from smidgen.structures.slots import MOST_SLOTS

#: The versions of the preview, next to "v1.0".
PREVIEWS = ("v1.1-preview.1", "v1.1-preview.2", "v1.1-preview.3")
#: The model that the first call creates, with the defaults of that product for rewards, missing feedback and wait.
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


class Slot(Struct, kw_only=True, rename="camel"):
    """A place to fill with one of the actions.

    Attributes
    ----------
    id
        The id of the slot.
    features
        Objects that together describe it.
    excludedActions
        Ids that it must not show.
    baselineAction
        The action that the app would show there without Personalizer; each slot has its own.
    """

    id: Id
    features: _Features | None = None
    excluded_actions: list[str] | None = None
    baseline_action: Id | None = None


class MultiSlotRankBody(Struct, kw_only=True, rename="camel"):
    """A multi-slot rank request; unknown fields are ignored.

    Attributes
    ----------
    actions
        The actions to choose from.
    slots
        The places to fill, in this order, no action twice.
    contextFeatures
        Objects that together describe the context.
    eventId
        Your id of the event; left out, one is made.
    deferActivation
        true: the event counts only after it is activated.
    """

    actions: Annotated[list[Action], Meta(min_length=1, max_length=CANDIDATES)]
    slots: Annotated[list[Slot], Meta(min_length=1, max_length=MOST_SLOTS)]
    context_features: _Features | None = None
    event_id: Id | None = None
    defer_activation: bool | None = False


class FilledSlot(Struct, kw_only=True, rename="camel"):
    """A slot and its action.

    Attributes
    ----------
    id
        The id of the slot.
    rewardActionId
        The action that was chosen for it.
    """

    id: str
    reward_action_id: str


class MultiSlotRankReply(Struct, kw_only=True, rename="camel"):
    """The answer to a multi-slot rank request.

    Attributes
    ----------
    slots
        The slots with their actions, in the order of the request.
    eventId
        The event's id: reward and activate name it.
    """

    slots: list[FilledSlot]
    event_id: str


class SlotReward(Struct, kw_only=True, rename="camel"):
    """The reward of a slot.

    Attributes
    ----------
    slotId
        The id of the slot.
    value
        The reward, within the model's reward range (-1 to 1 unless the model says otherwise).
    """

    slot_id: Id
    value: float


class MultiSlotReward(Struct, kw_only=True):
    """The rewards of the slots of an event.

    Attributes
    ----------
    reward
        One entry for each slot that has a reward; the others may follow.
    """

    reward: Annotated[list[SlotReward], Meta(min_length=1, max_length=MOST_SLOTS)]


class ServiceConfiguration(Struct, kw_only=True, rename="camel"):
    """The service configuration; unknown fields are ignored.

    Attributes
    ----------
    rewardWaitTime
        How long rewards are learned: an ISO 8601 duration, e.g. PT10M.
    defaultReward
        The reward of an event without one.
    rewardAggregation
        What several rewards come to: earliest, or sum.
    explorationPercentage
        The share of answers that explore, from 0 to 1.
    modelExportFrequency
        Ignored: every reward is learned at once.
    logRetentionDays
        After how many days events are folded and erased; -1: never.
    modelRetrainDays
        Ignored.
    learningMode
        Online or Apprentice, as the service was started.
    isAutoOptimizationEnabled
        Always false.
    """

    reward_wait_time: str
    default_reward: float
    reward_aggregation: str
    exploration_percentage: float
    model_export_frequency: str = "PT0S"
    log_retention_days: int = -1
    model_retrain_days: int = 0
    learning_mode: str = "Online"
    is_auto_optimization_enabled: bool = False


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


def shape_error(status: int, content: bytes) -> tuple[int, bytes]:
    """Give a refusal the product's own shape and status."""
    detail = msgspec.json.decode(content or b"{}").get("error") or {}
    status = 400 if status in (405, 409, 413, 415, 422) else status
    message = "; ".join(detail[part] for part in ("message", "hint") if detail.get(part))
    error = {
        "error": {
            "code": _CODES.get(status, "InternalServerError" if status >= 500 else "BadRequest"),
            "message": message,
        }
    }
    return status, msgspec.json.encode(error)


ERROR_SHAPES["/personalizer/"] = shape_error


def _calls(
    method: str, path: str, name: str, *, preview: bool = False, **more: Any
) -> Callable[[Endpoint], list[EndpointSpec]]:
    """Make the calls of one function, by version; ``preview``: version 1.0 of the product does not have it."""
    roots = [("/v1.0", ""), ("", "Unversioned"), ("/{version}", "Preview")][preview:]

    def make(answer: Endpoint) -> list[EndpointSpec]:
        return [
            EndpointSpec(method=method, path=f"/personalizer{root}{path}", name=name + what, answer=answer, **more)
            for root, what in roots
        ]

    return make


#: Parts of requests, for the API page.
_ACTIONS = [{"id": "red", "features": [{"topic": "art"}]}, {"id": "blue", "features": [{"topic": "news"}]}]
_CONTEXT = [{"device": "phone"}]


@_calls(
    "POST",
    "/rank",
    "personalizerRank",
    body=RankBody,
    reply=RankReply,
    status=(201,),
    example={"actions": _ACTIONS, "contextFeatures": _CONTEXT, "eventId": "event-1"},
)
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


@_calls("POST", "/events/{event:path}/reward", "personalizerReward", body=Reward, status=(204,), example={"value": 1})
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


@_calls("POST", "/events/{event:path}/activate", "personalizerActivate", status=(204,))
async def activate(request: Request) -> Response:
    """Azure AI Personalizer: activate an event that was deferred."""
    grant = await _model(request)
    here, name = grant.here, grant.name

    def act() -> ShownReply:
        return here.engine.mark_shown(_decision(here, name, request), name)

    await grant.run(act)
    return Response(status_code=204)


@_calls("GET", "/status", "personalizerStatus", reply=StatusReply)
async def status(request: Request) -> Response:
    """Azure AI Personalizer: the service status."""
    grant = await _model(request, required=False)
    here, name = grant.here, grant.name
    version = here.engine.model(name).version if name in here.engine.models else 0
    valid = {"service": "smidgen", "api_status": "Valid", "api_status_message": "Api Key is valid."}
    return reply(StatusReply(**valid, model=name, model_version=version))


@_calls(
    "POST",
    "/multislot/rank",
    "personalizerMultiSlotRank",
    preview=True,
    body=MultiSlotRankBody,
    reply=MultiSlotRankReply,
    status=(201,),
    example={
        "actions": _ACTIONS,
        "slots": [{"id": "hero", "baselineAction": "red"}, {"id": "side", "baselineAction": "blue"}],
        "contextFeatures": _CONTEXT,
        "eventId": "event-2",
    },
)
async def rank_slots(request: Request) -> Response:
    """Azure AI Personalizer: choose actions for several slots."""
    grant = await _model(request, create=True)
    here, name = grant.here, grant.name
    body = await grant.body(request, MultiSlotRankBody)
    event = body.event_id or uuid.uuid4().hex
    baselines = _baselines(body, needed=here.options.apprentice)
    ids = {action.id for action in body.actions}
    asked = loops.decision(
        id=event,
        candidates=[Candidate(id=action.id, features=merge_records(action.features)) for action in body.actions],
        context=merge_records(body.context_features) if body.context_features else None,
        slots=[
            SlotBody(
                id=slot.id,
                features=merge_records(slot.features) if slot.features else None,
                exclude=[each for each in slot.excluded_actions or () if each in ids] or None,
            )
            for slot in body.slots
        ],
        activate=not body.defer_activation,
        chosen=baselines if here.options.apprentice else None,
    )
    decided = await grant.run(lambda: here.engine.decide(name, asked))
    filled = [FilledSlot(id=each["slot"], reward_action_id=each["choice"]) for each in decided["choices"]]
    return reply(MultiSlotRankReply(slots=filled, event_id=event), 201)


def _baselines(body: MultiSlotRankBody, *, needed: bool) -> list[str]:
    """The baseline actions of the slots; refuse those that cannot be shown together."""
    found: list[str] = []
    for i, slot in enumerate(body.slots):
        action, place = slot.baseline_action, f"slots[{i}].baselineAction"
        if action is None and not needed:
            continue
        if action is None:
            raise Impossible(f"{place} is missing", "send it with each slot: an apprentice shows it")
        if action in found or action not in {each.id for each in body.actions}:
            raise Impossible(
                f"{place} is {json_text(action)}", "name an action of the request, another one in each slot"
            )
        if action in (slot.excluded_actions or ()):
            raise Impossible(
                f"{place} is {json_text(action)}, which the slot excludes", "name an action that it may show"
            )
        found.append(action)
    return found


@_calls(
    "POST",
    "/multislot/events/{event:path}/reward",
    "personalizerMultiSlotReward",
    preview=True,
    body=MultiSlotReward,
    status=(204,),
    example={"reward": [{"slotId": "hero", "value": 1}]},
)
async def reward_slots(request: Request) -> Response:
    """Azure AI Personalizer: report rewards of an event's slots; of a slot the first one counts."""
    grant = await _model(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, MultiSlotReward)
    rewards = {each.slot_id: each.value for each in body.reward}
    if len(rewards) < len(body.reward):
        raise Impossible("reward names a slot twice", "send one value for each slot")

    def act() -> FeedbackReply | None:
        id = _decision(here, name, request)
        row = here.engine.store.decision(id)
        reports = [] if row is None else read_reports(row.reports)
        known = {slot for each in reports for slot in rewards_in(each.feedback, ())}
        first = here.engine.model(name).blueprint.terms.rewards == "first"
        new = {slot: value for slot, value in rewards.items() if not first or slot not in known}
        return here.engine.feedback(id, loops.feedback(rewards=new), name) if new else None

    try:
        verdict = await grant.run(act)
    except Conflict:
        verdict = None
    here.metrics.count("feedback", "duplicate" if verdict is None else verdict.status)
    return Response(status_code=204)


@_calls("POST", "/multislot/events/{event:path}/activate", "personalizerMultiSlotActivate", preview=True, status=(204,))
async def activate_slots(request: Request) -> Response:
    """Azure AI Personalizer: activate a multi-slot event that was deferred."""
    grant = await _model(request)
    here, name = grant.here, grant.name
    await grant.run(lambda: here.engine.mark_shown(_decision(here, name, request), name))
    return Response(status_code=204)


@_calls("GET", "/configurations/service", "personalizerGetConfiguration", reply=ServiceConfiguration)
async def get_configuration(request: Request) -> Response:
    """Azure AI Personalizer: the service configuration, from the settings of the model."""
    grant = await _model(request)
    found = await grant.run(lambda: grant.here.engine.describe(grant.name))
    return reply(_configuration(grant.here, found))


@_calls(
    "PUT",
    "/configurations/service",
    "personalizerUpdateConfiguration",
    body=ServiceConfiguration,
    reply=ServiceConfiguration,
    example={
        "rewardWaitTime": "PT10M",
        "defaultReward": 0,
        "rewardAggregation": "earliest",
        "explorationPercentage": 0.05,
    },
)
async def update_configuration(request: Request) -> Response:
    """Azure AI Personalizer: change the service configuration: an amendment of the model."""
    grant = await _model(request)
    here = grant.here
    body = await grant.body(request, ServiceConfiguration)
    mode = "Apprentice" if here.options.apprentice else "Online"
    if body.learning_mode != mode:
        raise Impossible(
            f"learningMode is {json_text(body.learning_mode)} and the service runs as {mode}",
            "start the service with --apprentice, or without",
        )
    if body.reward_aggregation not in _AGGREGATIONS:
        raise Impossible(f"rewardAggregation is {json_text(body.reward_aggregation)}", 'send "earliest" or "sum"')
    if not 0.0 <= body.exploration_percentage <= 1.0:
        raise Impossible(f"explorationPercentage is {body.exploration_percentage}", "send a share from 0 to 1")
    days = body.log_retention_days
    changes = AmendBody(
        window_s=_seconds(body.reward_wait_time),
        default_reward=body.default_reward,
        rewards=_AGGREGATIONS[body.reward_aggregation],
        explore=body.exploration_percentage,
        retention_s=None if days < 0 else max(1, days) * 86_400.0,
    )

    def act() -> ModelReply:
        here.engine.locked_model(grant.name).blueprint.terms.reward(body.default_reward, "defaultReward")
        return here.engine.amend(grant.name, changes)

    return reply(_configuration(here, await grant.run(act)))


#: What several rewards come to, and the setting of a model that does it.
_AGGREGATIONS: dict[str, Rewards] = {"earliest": "first", "sum": "sum"}
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
#: The longest duration in seconds: a year.
_YEAR_S = 31_536_000.0


def _seconds(duration: str) -> float:
    """An ISO 8601 duration in seconds; clients write days, hours, minutes and seconds."""
    found = _DURATION.fullmatch(duration)
    parts = [float(each or 0.0) for each in found.groups()] if found is not None else [0.0]
    seconds = sum(size * part for size, part in zip((86_400.0, 3600.0, 60.0, 1.0), parts, strict=False))
    if not 1.0 <= seconds <= _YEAR_S:
        raise Impossible(f"rewardWaitTime is {json_text(duration)}", "send a duration, e.g. PT10M")
    return seconds


def _configuration(here: Service, model: ModelReply) -> ServiceConfiguration:
    """The settings of a model as the product's configuration."""
    rule = next((name for name, rewards in _AGGREGATIONS.items() if rewards == model.rewards), str(model.rewards))
    return ServiceConfiguration(
        reward_wait_time=f"PT{model.window_s:g}S",
        default_reward=model.default_reward or 0.0,
        reward_aggregation=rule,
        exploration_percentage=model.explore or 0.0,
        log_retention_days=-1 if model.retention_s is None else round(model.retention_s / 86_400.0),
        learning_mode="Apprentice" if here.options.apprentice else "Online",
    )


async def _model(request: Request, *, create: bool = False, required: bool = True) -> Grant:
    """The caller's grant for the model that it means; ``create`` makes one that does not exist, if the caller may.

    A version that the product never had is refused.
    """
    version = request.path_params.get("version", PREVIEWS[0])
    if version not in PREVIEWS:
        raise Unknown(f"there is no endpoint {request.url.path}", f"use {', '.join(PREVIEWS)}, or no version")
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
