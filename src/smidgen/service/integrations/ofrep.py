"""OpenFeature's remote evaluation (OFREP 0.3): a choose model that keeps its candidates is a flag.

Each evaluation is a decision with ``activate: false``, whose id is in the answer's metadata: a reward for it, given
when the flag's value has had its effect, implies that it was shown. ``targetingKey`` is the key where the model is
keyed; all else of the evaluation context is the decision's context.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import BadRequest, NotAllowed, OutOfScope
from smidgen.service.http.endpoints import Endpoint, endpoint
from smidgen.service.http.resources import reply, service
from smidgen.service.http.rights import grant_of
from smidgen.service.loops.features import lenient_record
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import DecisionBody, Variant

PREFIX = "/ofrep/v1/evaluate/flags"
_BOOLEANS = {"true": True, "false": False}
#: An evaluation, for the API page.
_CONTEXT = {"context": {"targetingKey": "user-42", "device": "phone"}}


class Evaluation(Struct, kw_only=True):
    """An OFREP evaluation request; unknown fields are ignored.

    Attributes
    ----------
    context
        The evaluation context; ``targetingKey`` is the key of keyed models.
    """

    context: dict[str, Any] = {}


class FlagReply(Struct, kw_only=True):
    """The evaluation of a flag.

    Attributes
    ----------
    key
        The flag: a choose model that keeps its candidates.
    value
        The value of the chosen variant.
    variant
        The chosen variant.
    reason
        Always SPLIT: the model decides.
    metadata
        The decision's id (feedback names it), its model version and propensity.
    """

    key: str
    value: Any
    variant: str
    reason: str
    metadata: dict[str, Any]


class FlagsReply(Struct, kw_only=True):
    """The evaluation of all flags.

    Attributes
    ----------
    flags
        One entry for each flag: its evaluation, or `key`, `errorCode` and `errorDetails`.
    """

    flags: list[dict[str, Any]]


class FlagRefused(SmidgenError):
    """A refusal by one of the protocol's own codes."""

    def __init__(self, status: int, code: str, problem: str) -> None:
        super().__init__(problem, "")
        self.status, self.code = status, code


def _protocol(answer: Endpoint) -> Endpoint:
    """Refusals in the protocol's own shape."""

    @functools.wraps(answer)
    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except (NotAllowed, OutOfScope):
            raise
        except SmidgenError as error:
            service(request).metrics.count("refused", type(error).__name__)
            if error.status == 503:
                raise
            flag = _flag_reply(error)
            if key := request.path_params.get("name"):
                flag = {"key": key, **flag}
            return reply(flag, 404 if flag["errorCode"] == "FLAG_NOT_FOUND" else 400)

    return answering


@endpoint(
    "POST", PREFIX + "/{name}", "evaluateFlag", body=Evaluation, reply=FlagReply, errors=_protocol, example=_CONTEXT
)
async def evaluate(request: Request) -> Response:
    """OpenFeature (OFREP): evaluate a flag."""
    grant, name = grant_of(request), request.path_params["name"]
    here = grant.here
    context = (await grant.body(request, Evaluation)).context
    if not _is_flag(here.engine.models.get(name)):
        raise FlagRefused(
            404, "FLAG_NOT_FOUND", f'there is no model "{name}" with the loop choose and stored candidates'
        )
    asked = _decide_flag(here.engine.model(name), context)
    decided = await grant.run(lambda: here.engine.decide(name, asked))
    return reply(_answer(here.engine.model(name), decided))


@endpoint(
    "POST",
    PREFIX,
    "evaluateFlags",
    body=Evaluation,
    reply=FlagsReply,
    status=(200, 304),
    errors=_protocol,
    example=_CONTEXT,
)
async def evaluate_all(request: Request) -> Response:
    """OpenFeature (OFREP): evaluate all flags; the answer stays the same until a model learns."""
    grant = grant_of(request)
    here = grant.here
    context = (await grant.body(request, Evaluation)).context
    flags = [model for model in grant.visible(here.models()) if _is_flag(model)]
    answers = []
    for model in flags:
        try:
            asked = _decide_flag(model, context, once=True, now=here.engine.clock())
            answers.append(_answer(model, await grant.run(functools.partial(here.engine.decide, model.name, asked))))
        except SmidgenError as error:
            if error.status == 503 or isinstance(error, NotAllowed | OutOfScope):
                raise
            answers.append({"key": model.name, **_flag_reply(error)})
    content = msgspec.json.encode({"flags": answers})
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    return Response(content, headers={"etag": tag}, media_type="application/json")


def _flag_reply(error: SmidgenError) -> dict[str, str]:
    """A refusal by the protocol's words."""
    code = getattr(error, "code", "PARSE_ERROR" if isinstance(error, BadRequest) else "INVALID_CONTEXT")
    return {"errorCode": code, "errorDetails": "; ".join(part for part in (error.problem, error.hint) if part)}


def _is_flag(model: ServedModel | None) -> bool:
    return model is not None and model.blueprint.body.candidates is not None and model.archived_at is None


def _decide_flag(model: ServedModel, context: dict[str, Any], *, once: bool = False, now: float = 0.0) -> DecisionBody:
    """The request of an evaluation; ``once``: the same for as long as the model has not learnt and its window lasts."""
    target = context.get("targetingKey")
    if model.keyed and not (isinstance(target, str) and 0 < len(target) <= 256):
        raise FlagRefused(
            400, "TARGETING_KEY_MISSING", f'the flag "{model.name}" needs a targetingKey: it has one learner per key'
        )
    about = lenient_record({name: value for name, value in context.items() if name != "targetingKey"})
    id, key = None, target if model.keyed else None
    unit = target if not model.keyed and isinstance(target, str) and 0 < len(target) <= 256 else None
    if once:
        moment = int(now // model.blueprint.terms.window_s)
        whole = msgspec.json.encode([context, model.shard_for(key).version, moment], order="sorted")
        id = f"ofrep:{hashlib.sha256(whole).hexdigest()}"
    asked: DecisionBody = loops.decision(id=id, key=key, unit=unit, context=about or None, activate=False)
    return asked


def _answer(model: ServedModel, reply: dict[str, Any]) -> dict[str, Any]:
    """An evaluation as the protocol says it."""
    kept = model.blueprint.body.candidates or []
    wanted = ("decision", "model_version", "propensity", "shard")
    metadata = {name: reply[name] for name in wanted if reply.get(name) is not None}
    return {
        "key": model.name,
        "value": _values(kept)[str(reply["choice"])],
        "variant": str(reply["choice"]),
        "reason": "SPLIT",
        "metadata": metadata,
    }


def _values(kept: list[Variant]) -> dict[str, Any]:
    """The value of each variant: the one it was given, else its id; variants called true and false are that."""
    truths = all(each.id in _BOOLEANS for each in kept)
    return {
        str(each.id): (_BOOLEANS[str(each.id)] if truths else each.id) if each.value is UNSET else each.value
        for each in kept
    }
