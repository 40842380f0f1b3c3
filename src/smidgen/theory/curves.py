"""Bounds at one number of rounds or at many: numbers stay numbers, arrays become curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.decision import FloatArray

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


def plain(value: Any) -> Curve:
    """A float for a number, the array itself for a curve."""
    return float(value) if np.ndim(value) == 0 else value
