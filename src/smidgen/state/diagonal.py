"""Second order by class and feature: beside each weight the inverse of its own diagonal entry of A."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core.second_order import begin_diagonal
from smidgen.arrays import aligned, empty
from smidgen.state.classes import Block

#: So many numbers are filled in at a time.
PART = 2_000_000


def _fill(S: Block, inverse: float) -> None:
    """Begin in parts: the memory of a large state takes long to come, and other threads have a turn in between."""
    step = max(1, PART // max(1, S.shape[1]))
    for first in range(0, len(S), step):
        begin_diagonal(S[first : first + step], inverse)


class DiagonalClasses:
    """w and 1/diag(A) of every class, in one row per feature: columns 0 … C−1 are weights, C … 2C−1 inverses.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    """

    covariance = "diagonal"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any) -> None:
        self._start = start
        self.S: Block = empty((dim, 2 * columns), dtype)
        _fill(self.S, 1.0 / start)
        self.moments: Block = np.empty((2, columns), dtype)  #: space for what `diagonal_moments` writes

    @property
    def columns(self) -> int:
        """Places for classes."""
        return int(self.S.shape[1]) // 2

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        old, C = self.S, self.columns
        self.S = empty((len(old), 2 * columns), old.dtype)
        _fill(self.S, 1.0 / self._start)
        self.S[:, :C], self.S[:, columns : columns + C] = old[:, :C], old[:, C:]
        self.moments = np.empty((2, columns), old.dtype)

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.ascontiguousarray(self.S[:, :n_classes].T, dtype=np.float64)

    def inverses(self, n_classes: int) -> NDArray[np.float64]:
        """The diagonals of A⁻¹, one row per class."""
        C = self.columns
        return np.ascontiguousarray(self.S[:, C : C + n_classes].T, dtype=np.float64)

    def begin(self, weights: NDArray[np.float64]) -> None:
        """Start from these weights, one row per class; A stays as it is."""
        self.S[:, : len(weights)] = weights.T

    def log_determinant(self) -> float:
        """Σ_i log(|A_i| / |A_i,0|)."""
        inverses = self.S[:, self.columns :]
        return float(np.log(inverses.dtype.type(1.0 / self._start) / inverses).sum(dtype=np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"S": self.S}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.S = aligned(arrays["S"])
        self.moments = np.empty((2, self.columns), self.S.dtype)
