"""Bodies, paths and replies of the service's HTTP calls; bodies take the types that Python users have."""

from __future__ import annotations

import base64
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import numpy as np

from smidgen.errors import InvalidArgument, InvalidFeatures, SmidgenError
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.parse import as_record, plain
from smidgen.knobs import Category, Integer, Knobs, Linear, Log
from smidgen.serialization import UNREADABLE
from smidgen.structures import Candidates, Drafts
from smidgen.structures.slots import read_slots


class ServiceError(SmidgenError):
    """The service said no.

    Parameters
    ----------
    status
        The HTTP status.
    code
        A word for programs, e.g. ``"conflict"``.
    message
        What was wrong.
    hint
        What to do about it.
    """

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.status = status
        self.code = code
        self.hint = hint


class Unreachable(ServiceError):
    """No reply. It is not known if the call was carried out; the hint says if it is safe to send it again.

    Parameters
    ----------
    message
        What happened.
    hint
        What to do about it.
    """

    def __init__(self, message: str, hint: str = "check that the service runs there, then send it again") -> None:
        super().__init__(503, "unreachable", message, hint)


def refusal(status: int, content: bytes) -> ServiceError:
    """The error that a reply holds."""
    try:
        error: Any = msgspec.json.decode(content)["error"]
        return ServiceError(status, str(error["code"]), str(error["message"]), str(error["hint"]))
    except (*UNREADABLE, KeyError, TypeError):
        text = content[:200].decode("utf-8", "replace").strip()
        return ServiceError(status, "not_smidgen", f"status {status}: {text or 'no body'}", "check the address")


T = TypeVar("T")


class Answer(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A decision of the service. Give it, or only its ``id``, to ``learn`` when the user has reacted.

    Attributes
    ----------
    decision
        Its id.
    model
        The model that decided: the one that was asked, or its challenger.
    model_version, shard
        How many feedbacks the model had learnt when it decided; of a model with several shards, which of them had.
    explored, propensity
        Whether exploration changed the action, and the probability of the action where it was drawn.
    expires_at
        Until when feedback is learnt.
    ranking, scores
        Of rank: all candidates, best first, and their scores in that order.
    choice, pair
        Of choose: the candidate; of a dueling bandit also its rival.
    choices
        Of choose, with slots: for each slot its id (``slot``), the candidate (``choice``) and its ``propensity``.
    propensities
        With which probability each candidate (by its id as a string), or each label, would have been shown.
    label
        Of label.
    forward, margin, threshold
        Of filter: whether to forward, the estimate, and the value that it had to reach.
    point, knobs
        Of tune: the point to try; of a model with knobs, each one's share of its way, and their values by name.
    more
        Fields that this client has no name for: of loops that it does not know. They are attributes too.
    """

    decision: str
    model_version: int
    expires_at: str
    model: str | None = None
    shard: int | None = None
    explored: bool = False
    propensity: float | None = None
    ranking: list[str | int] | None = None
    scores: list[float] | None = None
    choice: str | int | None = None
    pair: list[str | int] | None = None
    choices: list[dict[str, Any]] | None = None
    propensities: dict[str, float] | None = None
    label: str | None = None
    forward: bool | None = None
    margin: float | None = None
    threshold: float | None = None
    point: list[float] | None = None
    knobs: dict[str, float | int | str] | None = None
    more: dict[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self.more is not None and name in self.more:
            return self.more[name]
        raise AttributeError(f'this decision has no field "{name}"')

    @property
    def id(self) -> str:
        """The decision's id."""
        return self.decision

    @property
    def action(self) -> Any:
        """The action: ranking, choice (by slot, if there are slots), label, forward or drop, point, or a plugin's."""
        tuned = self.point if self.knobs is None else self.knobs
        if self.choices is not None:
            return {each["slot"]: each["choice"] for each in self.choices}
        answers = (self.ranking, self.choice, self.label, self.forward, tuned, *(self.more or {}).values())
        return next((answer for answer in answers if answer is not None), None)


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """Result of sending feedback.

    Attributes
    ----------
    status
        ``"learnt"``, ``"recorded"`` (stored, not learned: a report that waits for others, costs, a holdout),
        ``"duplicate"`` (it was received before) or ``"late"`` (logged, not learned).
    model_version, shard
        How many feedbacks the model has learnt; of a model with several shards, which of them has.
    """

    status: Literal["learnt", "recorded", "duplicate", "late"]
    model_version: int
    shard: int | None = None


class _Answers(msgspec.Struct):
    decisions: list[dict[str, Any]]


_KNOWN = frozenset(Answer.__struct_fields__) - {"more"}


def read_answer(content: bytes) -> Answer:
    """Read the reply to one decision."""
    return _answer(_read(content, dict[str, Any]))


def read_answers(content: bytes) -> list[Answer]:
    """The decisions of a batch."""
    return [_answer(each) for each in _read(content, _Answers).decisions]


def read_learnt(content: bytes) -> Learnt:
    """Result of sending feedback."""
    return _read(content, Learnt)


def read_plain(content: bytes) -> dict[str, Any]:
    """An object as it came."""
    return _read(content, dict[str, Any])


def read_forgotten(content: bytes, name: str) -> dict[str, int]:
    """Number of forgotten events by model: the model itself, then its copies."""
    reply = read_plain(content)
    return {name: reply["forgotten"], **reply["copies"]}


def _answer(reply: dict[str, Any]) -> Answer:
    fields = {name: value for name, value in reply.items() if name in _KNOWN}
    more = {name: value for name, value in reply.items() if name not in _KNOWN}
    try:
        return msgspec.convert(fields | {"more": more} if more else fields, Answer)
    except msgspec.ValidationError as error:
        raise _foreign(error) from error


def _foreign(error: Exception) -> ServiceError:
    return ServiceError(502, "not_smidgen", f"the reply is not one of a smidgen service: {error}", "check the address")


def _read(content: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=type)
    except UNREADABLE as error:
        raise _foreign(error) from error


def model_path(name: str) -> str:
    """Path of a model."""
    return f"/v1/models/{quote(name, safe='')}"


def decision_path(made: Answer | str) -> str:
    """Path of a decision."""
    return f"/v1/decisions/{quote(made if isinstance(made, str) else made.decision, safe='')}"


def weights_path(name: str, key: str | None, limit: int | None, expand: str | None = None) -> str:
    """Path of a model's weights."""
    return f"{model_path(name)}/weights{_query(key=key, limit=limit, expand=expand)}"


def context_path(name: str, context: Any) -> str:
    """Path of a model, with the context in which its best setting is wanted."""
    given = None if context is None else encode(_record(context, "context")).decode()
    return f"{model_path(name)}{_query(context=given)}"


def taste_path(name: str, key: str | None) -> str:
    """Path of the style that a model has learnt from edits."""
    return f"{model_path(name)}/taste{_query(key=key)}"


def key_path(name: str, of: str) -> str:
    """Path of a key of a model."""
    return f"{model_path(name)}/keys/{quote(of, safe='')}"


def candidates_path(name: str, holdout: bool) -> str:
    """Path of what the candidates of a model earned."""
    return f"{model_path(name)}/candidates{'?holdout=true' if holdout else ''}"


def segments_path(name: str, by: str) -> str:
    """Path of a model's rewards by the value of a field."""
    return f"{model_path(name)}/segments{_query(by=by)}"


def token_path(id: str) -> str:
    """Path of a token."""
    return f"/v1/tokens/{quote(id, safe='')}"


def ubi_path(actions: Sequence[str] | None) -> str:
    """Path that receives events of user behavior insights (UBI)."""
    return f"/v1/ubi{_query(actions=','.join(actions) if actions else None)}"


def _query(**asked: str | int | None) -> str:
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return f"?{query}" if query else ""


def encode(body: Any) -> bytes:
    """Write JSON; numpy numbers and arrays, spaces and learners among the settings too."""
    return msgspec.json.encode(body, enc_hook=_plain)


def settings_body(loop: str, learner: Any, given: Mapping[str, Any]) -> bytes:
    """The settings of a model; what is None is left out."""
    name = learner.__name__ if isinstance(learner, type) else learner
    every = {"loop": loop, "learner": name, **given}
    return encode({key: value for key, value in every.items() if value is not None})


def knobs_body(given: Any) -> dict[str, Any] | None:
    """Knobs by name as the service reads them: `smidgen.Knobs`, or a mapping, whose knobs may be those of smidgen."""
    if given is None:
        return None
    kinds = {Integer: "integer", Log: "log"}
    named = given.knobs if isinstance(given, Knobs) else given
    if not isinstance(named, Mapping):
        raise InvalidArgument(
            f"knobs is {given!r} and must be a mapping", 'give limits by name, e.g. {"ratio": [0, 1]}, or smidgen.Knobs'
        )
    declared: dict[str, Any] = {}
    for name, knob in named.items():
        if isinstance(knob, Category):
            declared[name] = {"categories": list(knob.values)}
            continue
        limits = [knob.low, knob.high] if isinstance(knob, (Linear, Log, Integer)) else knob
        declared[name] = {kinds[type(knob)]: limits} if type(knob) in kinds else limits
    return declared


def decision_body(
    given: Any,
    *,
    ids: Sequence[str | int] | None,
    top: int | None,
    key: str | None,
    id: str | None,
    context: Any = None,
    features: Any = None,
    texts: Any = None,
    slots: Any = None,
) -> Any:
    """The request for one decision, with an id of its own, so that it can be sent twice and decided once."""
    if (features is not None) + (given is not None) + (texts is not None) > 1:
        raise InvalidArgument("features or drafts are given together with candidates", "give one of them")
    subject = _subject(given, ids) if features is None else {"features": _features(features)}
    if texts is not None:
        subject = {"drafts": drafts_body(texts)}
    about = None if context is None else _record(context, "context")
    rest: dict[str, Any] = {"id": id if id is not None else uuid.uuid4().hex, "key": key, "top": top, "context": about}
    if slots is not None:
        rest["slots"] = [slot.to_record() for slot in read_slots(slots)]
    return subject | {name: value for name, value in rest.items() if value is not None}


def token_body(scopes: Sequence[str], name: str | None, model: str | None, expires: str | None) -> bytes:
    """A token to create; what is None is left out."""
    rest = {"name": name, "model": model, "expires": expires}
    return encode({"scopes": list(scopes)} | {key: value for key, value in rest.items() if value is not None})


def examples_body(given: Iterable[Mapping[str, Any]], *, key: str | None, id: str | None) -> bytes:
    """Examples with an id, so that they can be sent twice and taught once."""
    body: dict[str, Any] = {
        "id": id if id is not None else uuid.uuid4().hex,
        "examples": [dict(each) for each in given],
    }
    return encode(body if key is None else body | {"key": key})


def several_body(given: Iterable[tuple[Any, Mapping[str, Any]]]) -> bytes:
    """Feedback on many decisions."""
    return encode({"feedback": [{"decision": getattr(each, "decision", each), **fields} for each, fields in given]})


def decisions_body(given: Any, *, keys: Sequence[str] | str | None, top: int | None) -> dict[str, Any]:
    """The request for many decisions: one for each row of a matrix, or for each element."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and (keys is None or isinstance(keys, str)):
        body = {"id": uuid.uuid4().hex, "features": _compact(given)}
        return body if keys is None else body | {"key": keys}
    every = frame_records(given) if is_frame(given) else list(given)
    whose = [keys] * len(every) if keys is None or isinstance(keys, str) else list(keys)
    if len(whose) != len(every):
        raise InvalidArgument(f"there are {len(whose)} keys for {len(every)} decisions", "give one for each")
    return {"decisions": [_request(each, top, key) for each, key in zip(every, whose, strict=True)]}


#: Fields of a request, and those that distinguish it from candidates and records.
_FIELDS = frozenset(
    {"activate", "candidates", "chosen", "context", "drafts", "exclude", "id", "key", "slots", "top", "unit"}
)
_TELLING = frozenset({"candidates", "context", "drafts"})


def _request(given: Any, top: int | None, key: str | None) -> dict[str, Any]:
    """One request of many: what `decision_body` takes, or an object with the fields of a request."""
    body: dict[str, Any]
    if not isinstance(given, Mapping) or not (given.keys() <= _FIELDS and given.keys() & _TELLING):
        body = decision_body(given, ids=None, top=top, key=key, id=None)
        return body
    rest = dict(given)
    body = decision_body(
        rest.pop("candidates", None),
        ids=None,
        top=rest.pop("top", top),
        key=rest.pop("key", key),
        id=rest.pop("id", None),
        context=rest.pop("context", None),
        texts=rest.pop("drafts", None),
        slots=rest.pop("slots", None),
    )
    return body | rest


def feedback_body(given: Mapping[str, Any]) -> bytes:
    """The user's reaction: the one field that was given, costs, or both. The loop of the model defines the fields."""
    said = {name: value for name, value in given.items() if value is not None}
    kinds = [name for name in said if name not in ("costs", "id", "final")]
    if len(kinds) > 1 or not said:
        ending = f" ({', '.join(kinds)})" if kinds else ""
        raise InvalidArgument(
            f"{len(kinds)} kinds of feedback were given{ending}", "give exactly one, e.g. clicked=[…]"
        )
    return encode(said)


def drafts_body(given: Any) -> list[dict[str, Any]]:
    """Drafts by id, as a list of texts (which then go by position), or with all that is known of each."""
    if isinstance(given, Drafts):
        said = given.features or [{}] * len(given)
        every = zip(range(len(given)), given.texts or (), said, strict=True)
        return [{"id": id, "text": text} | ({"features": each} if each else {}) for id, text, each in every]
    if isinstance(given, Mapping):
        return [{"id": id, **_draft(each)} for id, each in given.items()]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"drafts is a {type(given).__name__}", "give a dict from id to text")
    return [{"id": place, **_draft(each)} for place, each in enumerate(given)]


def _draft(given: Any) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else {"text": given}


def _subject(given: Any, ids: Sequence[str | int] | None) -> dict[str, Any]:
    """Context of a decision: candidates, the features of one object, or nothing."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], np.ndarray) and given[1].ndim == 2:
        ids, given = given
    if ids is not None:
        if len(ids) != len(given):
            raise InvalidArgument(f"there are {len(ids)} ids for {len(given)} rows of features", "give one for each")
        if isinstance(given, np.ndarray):
            return {"candidates": {"ids": list(ids), "features": _compact(given)}}
        return {"candidates": _candidates(zip(ids, given, strict=True))}
    if given is None:
        return {}
    if isinstance(given, Drafts):
        about = {} if given.context is None else {"context": dict(given.context)}
        return {"drafts": drafts_body(given), **about}
    if isinstance(given, Candidates):
        body = {"candidates": _candidates(zip(given.ids or range(len(given)), given.records, strict=True))}
        for name, amounts in (given.costs or {}).items():
            for each, amount in zip(body["candidates"], amounts.tolist(), strict=True):
                if not math.isnan(amount):
                    each.setdefault("costs", {})[name] = amount
        extra: dict[str, Any] = {
            "top": given.top,
            "context": None if given.context is None else _record(given.context, "context"),
        }
        extra["slots"] = [slot.to_record() for slot in given.slots] or None
        return body | {name: value for name, value in extra.items() if value is not None}
    if isinstance(given, Mapping):
        if given and all(_is_offer(value) for value in given.values()):
            return {"candidates": _candidates(given.items())}
        return {"features": _features(given)}
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)):
        return {"candidates": _candidates(given)}
    if isinstance(given, (list, tuple)) and given and all(isinstance(each, Mapping) and "id" in each for each in given):
        return {"candidates": [{**each, **_offer(each["features"])} if "features" in each else each for each in given]}
    return {"features": _features(given)}


def _is_offer(value: Any) -> bool:
    """True if the value has the form of a candidate's features: an object, a row of numbers, or nothing."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, (int, float, np.number)) for each in value)
    return value is None or isinstance(value, (Mapping, np.ndarray))


def _candidates(pairs: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"id": id} if features is None else {"id": id, **_offer(features)} for id, features in pairs]


def _offer(given: Any) -> dict[str, Any]:
    """The features of a candidate, and its costs, which are the field ``costs`` of a record if that is an object."""
    if isinstance(given, Mapping) and isinstance(given.get("costs"), Mapping):
        rest = {name: value for name, value in given.items() if name != "costs"}
        return {"features": _features(rest), "costs": dict(given["costs"])}
    return {} if given is None else {"features": _features(given)}


def _features(given: Any) -> Any:
    """Numbers by position, or a record; numbers are checked to be finite: JSON has no word for the rest."""
    if not isinstance(given, (list, np.ndarray)) and (not isinstance(given, tuple) or hasattr(given, "_asdict")):
        return _record(given, "features")
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(
            f"features is {given!r}", "give a sequence of numbers, or a record: a dict by name"
        ) from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidFeatures(
            f"the features have shape {numbers.shape}, or a number that is not finite",
            "give finite numbers for one thing; several candidates need ids",
        )
    return numbers.tolist()


def _record(given: Any, path: str) -> dict[str, Any]:
    """A record as JSON says it."""
    return {str(name): _said(value, f"{path}.{name}") for name, value in as_record(given, path).items()}


def _said(value: Any, path: str) -> Any:
    found = plain(value)
    if isinstance(found, float) and not np.isfinite(found):
        raise InvalidFeatures(f"{path} is {found}", "give a finite number, or None if the value is not known")
    if isinstance(found, Mapping):
        return _record(found, path)
    return [_said(each, f"{path}[{i}]") for i, each in enumerate(found)] if isinstance(found, list) else found


def _compact(matrix: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A matrix as float32 in base64: a third of the bytes, and quicker to read."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise InvalidFeatures(f"the matrix has shape {matrix.shape} and dtype {matrix.dtype}", "give one row for each")
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(matrix, dtype="<f4")
    if not np.isfinite(numbers).all():
        raise InvalidFeatures("the matrix holds a number that is not finite as float32", "scale the features")
    return {"shape": list(numbers.shape), "f32": base64.b64encode(numbers.tobytes()).decode("ascii")}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, type):
        return value.__name__
    if hasattr(value, "to_record"):
        return {"type": type(value).__name__, **value.to_record()}
    raise InvalidArgument(f"a {type(value).__name__} cannot be sent", "give numbers, names, lists and dicts")
