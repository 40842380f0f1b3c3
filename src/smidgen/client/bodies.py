"""What is sent: the shapes that Python people have at hand, as the bodies that the service reads."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.parse import as_record, plain
from smidgen.knobs import Integer, Knobs, Linear, Log
from smidgen.structures import Candidates, Drafts


def encode(body: Any) -> bytes:
    """Write JSON; numpy numbers and arrays, spaces and learners among the settings too."""
    return msgspec.json.encode(body, enc_hook=_plain)


def settings(loop: str, learner: Any, given: Mapping[str, Any]) -> bytes:
    """The settings of a model; what is None is left out."""
    name = learner.__name__ if isinstance(learner, type) else learner
    every = {"loop": loop, "learner": name, **given}
    return encode({key: value for key, value in every.items() if value is not None})


def knobs(given: Any) -> dict[str, Any] | None:
    """Knobs by name as the service reads them: `smidgen.Knobs`, or a mapping, whose knobs may be those of smidgen."""
    if given is None:
        return None
    kinds = {Integer: "integer", Log: "log"}
    named = given.knobs if isinstance(given, Knobs) else given
    if not isinstance(named, Mapping):
        raise InvalidArgument(f"knobs is {given!r}", 'give limits by name, e.g. {"ratio": [0, 1]}, or smidgen.Knobs')
    told: dict[str, Any] = {}
    for name, knob in named.items():
        limits = [knob.low, knob.high] if isinstance(knob, (Linear, Log, Integer)) else knob
        told[name] = {kinds[type(knob)]: limits} if type(knob) in kinds else limits
    return told


def decision(
    given: Any,
    *,
    ids: Sequence[str | int] | None,
    top: int | None,
    key: str | None,
    id: str | None,
    context: Any = None,
    features: Any = None,
    texts: Any = None,
) -> Any:
    """The request for one decision, with an id of its own, so that it can be sent twice and decided once."""
    if (features is not None) + (given is not None) + (texts is not None) > 1:
        raise InvalidArgument("features or drafts stand beside something else to decide on", "give one of them")
    subject = _subject(given, ids) if features is None else {"features": _features(features)}
    if texts is not None:
        subject = {"drafts": drafts(texts)}
    about = None if context is None else _record(context, "context")
    rest = {"id": id if id is not None else uuid.uuid4().hex, "key": key, "top": top, "context": about}
    return subject | {name: value for name, value in rest.items() if value is not None}


def token(scopes: Sequence[str], name: str | None, model: str | None, expires: str | None) -> bytes:
    """A token to create; what is None is left out."""
    rest = {"name": name, "model": model, "expires": expires}
    return encode({"scopes": list(scopes)} | {key: value for key, value in rest.items() if value is not None})


def examples(given: Iterable[Mapping[str, Any]], *, key: str | None, id: str | None) -> bytes:
    """Examples with an id, so that they can be sent twice and taught once."""
    body: dict[str, Any] = {
        "id": id if id is not None else uuid.uuid4().hex,
        "examples": [dict(each) for each in given],
    }
    return encode(body if key is None else body | {"key": key})


def several(given: Iterable[tuple[Any, Mapping[str, Any]]]) -> bytes:
    """Feedback on many decisions."""
    return encode({"feedback": [{"decision": getattr(each, "decision", each), **told} for each, told in given]})


def decisions(given: Any, *, keys: Sequence[str] | str | None, top: int | None) -> dict[str, Any]:
    """The request for many decisions: one for each row of a matrix, or for each element."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and (keys is None or isinstance(keys, str)):
        body = {"id": uuid.uuid4().hex, "features": _compact(given)}
        return body if keys is None else body | {"key": keys}
    every = frame_records(given) if is_frame(given) else list(given)
    whose = [keys] * len(every) if keys is None or isinstance(keys, str) else list(keys)
    if len(whose) != len(every):
        raise InvalidArgument(f"there are {len(whose)} keys for {len(every)} decisions", "give one for each")
    return {
        "decisions": [
            decision(each, ids=None, top=top, key=key, id=None) for each, key in zip(every, whose, strict=True)
        ]
    }


def feedback(given: Mapping[str, Any]) -> bytes:
    """What the user did: the one field that was given. Which fields there are, the loop of the model says."""
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) != 1:
        told = f" ({', '.join(said)})" if said else ""
        raise InvalidArgument(f"{len(said)} kinds of feedback were given{told}", "give one, e.g. clicked=[…]")
    return encode(said)


def drafts(given: Any) -> list[dict[str, Any]]:
    """Drafts by id, as a list of texts (which then go by position), or with all that is known of each."""
    if isinstance(given, Drafts):
        said = given.features or [{}] * len(given)
        every = zip(range(len(given)), given.texts or (), said, strict=True)
        return [{"id": id, "text": text} | ({"features": each} if each else {}) for id, text, each in every]
    if isinstance(given, Mapping):
        return [{"id": id, **_draft(each)} for id, each in given.items()]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"the drafts are a {type(given).__name__}", "give a dict from id to text")
    return [{"id": place, **_draft(each)} for place, each in enumerate(given)]


def _draft(given: Any) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else {"text": given}


def _subject(given: Any, ids: Sequence[str | int] | None) -> dict[str, Any]:
    """What is to be decided on: candidates, or the features of one thing, or nothing."""
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
        return {"drafts": drafts(given), **about}
    if isinstance(given, Candidates):
        body = {"candidates": _candidates(zip(given.ids or range(len(given)), given.records, strict=True))}
        extra = {"top": given.top, "context": None if given.context is None else _record(given.context, "context")}
        return body | {name: value for name, value in extra.items() if value is not None}
    if isinstance(given, Mapping):
        if given and all(_is_offer(value) for value in given.values()):
            return {"candidates": _candidates(given.items())}
        return {"features": _features(given)}
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)):
        return {"candidates": _candidates(given)}
    return {"features": _features(given)}


def _is_offer(value: Any) -> bool:
    """Whether it looks like the features of a candidate: an object, a row of numbers, or nothing."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, (int, float, np.number)) for each in value)
    return value is None or isinstance(value, (Mapping, np.ndarray))


def _candidates(pairs: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"id": id} if features is None else {"id": id, "features": _features(features)} for id, features in pairs]


def _features(given: Any) -> Any:
    """Numbers by position, or a record; numbers are checked to be finite: JSON has no word for the rest."""
    if not isinstance(given, (list, np.ndarray)) and (not isinstance(given, tuple) or hasattr(given, "_asdict")):
        return _record(given, "features")
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(
            f"the features are {given!r}", "give numbers by position, or a record: a dict by name"
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
        raise InvalidFeatures(f"{path} is {found}", "give a finite number, or None where it is not known")
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
