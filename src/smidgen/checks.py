"""Checks of settings at the entrance: the value, the requirement, the way out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from smidgen.errors import InvalidArgument

#: More features or classes than this are a mistake.
MOST = 2**31


def number(
    name: str,
    value: object,
    hint: str,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """Return ``value`` as a finite float within the given limits, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidArgument(f"{name} is {value!r} and must be a number", hint)
    result = float(value)
    if not math.isfinite(result):
        raise InvalidArgument(f"{name} is {value!r} and must be finite", hint)
    if result <= above:
        raise InvalidArgument(f"{name} is {value!r} and must be > {above:g}", hint)
    if result < at_least:
        raise InvalidArgument(f"{name} is {value!r} and must be >= {at_least:g}", hint)
    if result > at_most:
        raise InvalidArgument(f"{name} is {value!r} and must be <= {at_most:g}", hint)
    return result


def is_whole(value: object) -> TypeGuard[int]:
    """Whether ``value`` is one whole number: a Python or numpy int, not a bool and not an array of several."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(name: str, value: object, hint: str, *, at_least: int = 1, below: float = math.inf) -> int:
    """Return ``value`` as an int within the given limits, or refuse it."""
    if not is_whole(value):
        raise InvalidArgument(f"{name} is {value!r} and must be a whole number", hint)
    result = int(value)
    if not at_least <= result < below:
        limit = "" if math.isinf(below) else f" and < {below:g}"
        raise InvalidArgument(f"{name} is {value!r} and must be >= {at_least}{limit}", hint)
    return result


def flag(name: str, value: object, hint: str) -> bool:
    """Return ``value`` if it is True or False, or refuse it."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} is {value!r} and must be True or False", hint)
    return value


def dimension(value: object) -> int:
    """Return ``value`` as a number of features: indices of them have 32 bits."""
    return whole("dim", value, "give the number of features, e.g. dim=docs.shape[1]", below=MOST)


def mapping(name: str, value: object, hint: str) -> dict[str, Any]:
    """Return ``value`` as a dict, empty if it is None, or refuse it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value):
        raise InvalidArgument(f"{name} is {value!r} and must be a mapping of names to values", hint)
    return dict(value)


def instance(name: str, value: object, kind: Any, hint: str) -> None:
    """Refuse ``value`` unless it is of that class."""
    if not isinstance(value, kind):
        raise InvalidArgument(f"{name} is {value!r} and must be a {kind.__name__}", hint)


def seed(value: object) -> int:
    """Return ``value`` as a seed of the counter-based generator (64 bits, not negative)."""
    return whole("seed", value, "give a whole number, e.g. seed=0", at_least=0, below=2**64)


def one_of(name: str, value: str, choices: Mapping[str, object]) -> str:
    """Return ``value`` if it names one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgument(f"{name} is {value!r} and is not known", f"choose one of {', '.join(choices)}")
    return value
