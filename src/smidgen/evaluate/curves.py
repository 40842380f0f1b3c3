"""Bounds at one number of rounds or at many: numbers stay numbers, arrays become curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.types import FloatArray

Curve = float | FloatArray


def rounds(T: Any) -> Any:
    """Check a number of rounds, or an array of them."""
    t = np.asarray(T, dtype=np.float64)
    if not t.size or not (t >= 1).all():
        raise InvalidArgument(f"T is {T!r}", "give the number of rounds, at least 1, or an array of them")
    return t if t.ndim else float(t)


def plain(value: Any) -> Curve:
    """A float for a number, the array itself for a curve."""
    return float(value) if np.ndim(value) == 0 else value
