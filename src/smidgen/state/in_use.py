"""Full second order over the columns in use: a matrix per class that grows with the features that have come.

Hashed features have many columns and few in use. What has not come yet has weight 0 and A⁻¹ = I/start, so it needs no
space: it adds ‖x‖²/start to a width, and nothing to a score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core.hinge import give_slots, take_slots
from smidgen._core.second_order import inverse_diagonal
from smidgen.state.classes import Block, Indices
from smidgen.state.full import FullClasses

Slots = NDArray[np.int32]  # by column: where it stands, or −1
FIRST = 16  # columns that it holds at first; it doubles


class ClassesInUse:
    """w and A⁻¹ of every class over the columns in use, up to a limit.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    limit
        How many columns may be in use.
    """

    covariance = "full"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any, limit: int) -> None:
        self.start, self.limit = start, limit
        self.slots: Slots = np.full(dim, -1, np.int32)
        self.used = 0
        self.in_use: Indices = np.zeros(limit, np.uint32)  #: column by slot
        self.full = FullClasses(min(FIRST, limit), columns, start, dtype)
        self._where, self._values = np.empty(limit, np.uint32), np.empty(limit, dtype)

    @property
    def columns(self) -> int:
        """Places for classes."""
        return self.full.columns

    def part(self, idx: Indices, val: Block) -> tuple[Indices, Block, int, float]:
        """The part of a row that is in use, how many of its columns are new, and what they add to a width."""
        n, new, beyond = take_slots(self.slots, idx, val, self._where, self._values)
        return self._where[:n], self._values[:n], new, beyond / self.start

    def use(self, idx: Indices, val: Block, new: int) -> None:
        """Take the new columns of a row into use."""
        self.reserve(self.used + new)
        self.used = give_slots(self.slots, self.in_use, self.used, idx, val)

    def reserve(self, used: int) -> None:
        """Make space for so many columns."""
        size = old = self.full.W.shape[1]
        while size < used:
            size = min(2 * size, self.limit)
        if size > old:
            grown = FullClasses(size, self.columns, self.start, self.full.W.dtype)
            grown.W[:, :old], grown.B[:old, :, :old] = self.full.W, self.full.B
            self.full = grown

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        self.full.widen(columns)

    def block(self) -> Block:
        """The weights of all columns, one row per class."""
        W = np.zeros((self.columns, len(self.slots)), self.full.W.dtype)
        W[:, self.in_use[: self.used]] = self.full.W[:, : self.used]
        return W

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.array(self.block()[:n_classes], dtype=np.float64)

    def diagonals(self) -> NDArray[np.float64]:
        """The diagonals of A, one row per class, for the columns in use."""
        inverses = self.full.inverses(self.columns)[:, : self.used, : self.used]
        found = np.empty((self.columns, self.used))
        for each, out in zip(inverses, found, strict=True):
            inverse_diagonal(np.ascontiguousarray(each), out)
        return found

    def room_for(self, weights: NDArray[np.float64]) -> bool:
        """Whether the columns that have weights can all be in use."""
        return int(np.count_nonzero(weights.any(axis=0))) <= self.limit

    def begin(self, weights: NDArray[np.float64]) -> None:
        """Start from these weights, one row per class, with their columns in use; A stays as it is."""
        columns = np.flatnonzero(weights.any(axis=0)).astype(np.uint32)
        self.use(columns, np.ones(len(columns), self.full.W.dtype), len(columns))
        self.full.W[: len(weights), : self.used] = weights[:, self.in_use[: self.used]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"in_use": self.in_use[: self.used].copy(), **self.full.arrays()}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.used = len(arrays["in_use"])
        self.in_use[: self.used] = arrays["in_use"]
        self.slots[:] = -1
        self.slots[self.in_use[: self.used]] = np.arange(self.used)
        self.full.restore(arrays)
