"""Which rounds are played."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import IntArray
from smidgen.errors import InvalidArgument


def as_order(order: Any, n: int, what: str) -> IntArray:
    """The numbers of the rows or queries in the order of the rounds; each once, if nothing is said."""
    given = np.arange(n) if order is None else np.asarray(order)
    hint = f"give the numbers of the {what}, from 0 to {n - 1}, one per round"
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InvalidArgument(f"order has shape {given.shape} and dtype {given.dtype}", hint)
    if given.min() < 0 or given.max() >= n:
        raise InvalidArgument(f"order runs from {given.min()} to {given.max()}", hint)
    return given.astype(np.int64)
