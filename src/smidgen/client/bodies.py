"""What is sent: the shapes that Python people have at hand, as the bodies that the service reads."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from smidgen.errors import InvalidArgument, InvalidFeatures


def encode(body: Any) -> bytes:
    """Write JSON; numpy numbers and arrays, spaces and learners among the settings too."""
    return msgspec.json.encode(body, enc_hook=_plain)


def settings(loop: str, learner: Any, given: Mapping[str, Any]) -> bytes:
    """The settings of a model; what is None is left out."""
    name = learner.__name__ if isinstance(learner, type) else learner
    return encode({"loop": loop, "learner": name} | {key: value for key, value in given.items() if value is not None})


def decision(given: Any, *, ids: Sequence[str] | None, top: int | None, key: str | None, id: str | None) -> Any:
    """The request for one decision, with an id of its own, so that it can be sent twice and decided once."""
    rest = {"id": id if id is not None else uuid.uuid4().hex, "key": key, "top": top}
    return _subject(given, ids) | {name: value for name, value in rest.items() if value is not None}


def decisions(given: Any, *, keys: Sequence[str] | str | None, top: int | None) -> dict[str, Any]:
    """The request for many decisions: one for each row of a matrix, or for each element."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and (keys is None or isinstance(keys, str)):
        body = {"id": uuid.uuid4().hex, "features": _compact(given)}
        return body if keys is None else body | {"key": keys}
    every = list(given)
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


def _subject(given: Any, ids: Sequence[str] | None) -> dict[str, Any]:
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
    if isinstance(given, Mapping):
        if any(not isinstance(value, (int, float, np.number)) for value in given.values()):
            return {"candidates": _candidates(given.items())}
        return {"features": _features(given)}
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)):
        return {"candidates": _candidates(given)}
    return {"features": _features(given)}


def _candidates(pairs: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"id": id, "features": _features(features)} for id, features in pairs]


def _features(given: Any) -> Any:
    """Numbers by position or by name, checked to be finite: JSON has no word for the rest."""
    named = isinstance(given, Mapping)
    try:
        numbers = np.asarray(list(given.values()) if named else given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidFeatures(
            f"the features are {given!r}", "give numbers by position, or a dict of numbers by name"
        ) from error
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InvalidFeatures(
            f"the features have shape {numbers.shape}, or a number that is not finite",
            "give finite numbers for one thing; several candidates need ids",
        )
    return dict(zip(given, numbers.tolist(), strict=True)) if named else numbers.tolist()


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
