"""Bounds at one number of rounds or at many, and in which unit: numbers stay numbers, arrays become curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument

Curve = float | FloatArray


def rounds(T: Any) -> Any:
    """Check a number of rounds, or an array of them."""
    hint = "give the number of rounds, a whole number of at least 1, or an array of them"
    try:
        t = np.asarray(T, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"T is {T!r}", hint) from error
    if not t.size or not ((t >= 1) & (t == np.rint(t))).all():
        raise InvalidArgument(f"T is {T!r}", hint)
    return t if t.ndim else float(t)


def size(name: str, value: Any) -> Any:
    """Check a number or a curve that cannot be negative."""
    found = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise InvalidArgument(f"{name} is {value!r} and must be >= 0", "give a finite number, or a curve of them")
    return found if found.ndim else float(found)


def plain(value: Any) -> Curve:
    """A float for a number, the array itself for a curve."""
    return float(value) if np.ndim(value) == 0 else value


def average(value: Any, t: Any, per_round: bool | None) -> Curve:
    """A bound that its theorem states per round, in the unit that was asked for."""
    return plain(value if per_round is None or _asked(per_round) else value * t)


def total(value: Any, t: Any, per_round: bool | None) -> Curve:
    """A bound that its theorem states on the sum over the rounds, in the unit that was asked for."""
    return plain(value / t if per_round is not None and _asked(per_round) else value)


def _asked(per_round: bool) -> bool:
    return checks.flag("per_round", per_round, "say True, False, or leave it out for the theorem's own unit")
