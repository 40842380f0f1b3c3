"""Second order by class and feature: beside each weight the inverse of its own diagonal entry of A."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, kernel
from smidgen.state.classes import Block, Indices
from smidgen.vector.memory import aligned, empty
from smidgen.vector.row_sums import sum_rows_twice

#: So many numbers are filled in at a time.
PART = 2_000_000


@borrowing
def diagonal_moments(S: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_0i = w_i · x and out_1i = xᵀA_i⁻¹x for every class, A_i diagonal."""
    sum_rows_twice(S, idx, val, out)


@kernel
def diagonal_shift(S: Block, c: int, idx: Indices, val: Block, rate: float) -> None:
    """w_c ← w_c + rate · A_c⁻¹x."""
    inverse, r = S.shape[1] // 2 + c, S.dtype.type(rate)
    for k in range(idx.shape[0]):
        S[idx[k], c] += r * val[k] * S[idx[k], inverse]


@borrowing
def diagonal_absorb(S: Block, c: int, idx: Indices, val: Block, rate: float) -> None:
    """w_c ← w_c + rate · A_c⁻¹x, then A_c ← A_c + diag(x²)."""
    column, r, one = S.shape[1] // 2 + c, S.dtype.type(rate), S.dtype.type(1.0)
    for k in range(idx.shape[0]):
        x, inverse = val[k], S[idx[k], column]
        S[idx[k], c] += r * x * inverse
        S[idx[k], column] = inverse / (one + x * x * inverse)


@borrowing
def diagonal_width(S: Block, c: int, idx: Indices, val: Block) -> float:
    """xᵀA_c⁻¹x of one class."""
    column, width = S.shape[1] // 2 + c, 0.0
    for k in range(idx.shape[0]):
        width += float(val[k]) * float(val[k]) * float(S[idx[k], column])
    return width


@borrowing
def _begin(S: Block, inverse: float) -> None:
    """Start with w = 0 and A⁻¹ = inverse·I, for every class."""
    C, start = S.shape[1] // 2, S.dtype.type(inverse)
    for r in range(S.shape[0]):
        for c in range(C):
            S[r, c], S[r, C + c] = 0, start


def _fill(S: Block, inverse: float) -> None:
    """`_begin` in parts: the memory of a large state takes long to come, and other threads have a turn in between."""
    step = max(1, PART // max(1, S.shape[1]))
    for first in range(0, len(S), step):
        _begin(S[first : first + step], inverse)


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
