"""Rounds after which sums are noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import IntArray
from smidgen.errors import InvalidArgument


def as_checkpoints(checkpoints: Any, default: Any, rounds: int, *, to_the_end: bool) -> IntArray:
    """Numbers of rounds; rising, and up to the last one, if they are to go to the end."""
    at = np.asarray(default if checkpoints is None else checkpoints)
    whole = at.ndim == 1 and at.dtype.kind in "iu" and (not len(at) or (at.min() >= 1 and at.max() <= rounds))
    rising = not to_the_end or (len(at) > 0 and at[-1] == rounds and not (np.diff(at) <= 0).any())
    if not whole or not rising:
        more = f"rising, the last one {rounds}" if to_the_end else f"up to {rounds}"
        raise InvalidArgument(f"checkpoints are {checkpoints!r}", f"give numbers of rounds from 1 on, {more}")
    return at.astype(np.int64)
