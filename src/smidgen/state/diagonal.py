"""Second order by class and feature: beside each weight the inverse of its own diagonal entry of A."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.state.classes import Block, Indices


@kernel
def diagonal_moments(S: Block, idx: Indices, val: Block, means: Block, widths: Block) -> None:
    """means_i = w_i · x and widths_i = xᵀA_i⁻¹x for every class, A_i diagonal; four features at once."""
    C, n = means.shape[0], idx.shape[0]
    means[:] = 0.0
    widths[:] = 0.0
    for k in range(n % 4):
        i, v, vv = idx[k], val[k], val[k] * val[k]
        for c in range(C):
            means[c] += v * S[i, c]
        for c in range(C):
            widths[c] += vv * S[i, C + c]
    for k in range(n % 4, n, 4):
        i0, i1, i2, i3 = idx[k], idx[k + 1], idx[k + 2], idx[k + 3]
        v0, v1, v2, v3 = val[k], val[k + 1], val[k + 2], val[k + 3]
        for c in range(C):
            means[c] = (((means[c] + v0 * S[i0, c]) + v1 * S[i1, c]) + v2 * S[i2, c]) + v3 * S[i3, c]
        v0, v1, v2, v3 = v0 * v0, v1 * v1, v2 * v2, v3 * v3
        for c in range(C):
            s = (widths[c] + v0 * S[i0, C + c]) + v1 * S[i1, C + c]
            widths[c] = (s + v2 * S[i2, C + c]) + v3 * S[i3, C + c]


@kernel
def diagonal_shift(S: Block, c: int, idx: Indices, val: Block, rate: float) -> None:
    """w_c ← w_c + rate · A_c⁻¹x."""
    inverse, r = S.shape[1] // 2 + c, S.dtype.type(rate)
    for k in range(idx.shape[0]):
        S[idx[k], c] += r * val[k] * S[idx[k], inverse]


@kernel
def diagonal_absorb(S: Block, c: int, idx: Indices, val: Block) -> tuple[float, float]:
    """A_c ← A_c + diag(x²); returns xᵀA_c⁻¹x with the new A_c, and the growth of log|A_c|."""
    column = S.shape[1] // 2 + c
    width, growth, factor = 0.0, 0.0, 1.0
    for k in range(idx.shape[0]):
        xx, before = float(val[k]) * float(val[k]), float(S[idx[k], column])
        ratio = 1.0 + xx * before
        after = S.dtype.type(before / ratio)
        S[idx[k], column] = after
        width += xx * float(after)
        factor *= ratio
        if factor > 1e100:  # one logarithm for many factors
            growth += math.log(factor)
            factor = 1.0
    return width, growth + math.log(factor)


class DiagonalClasses:
    """w and 1/diag(A) of every class, in one row per feature: columns 0 … C−1 are weights, C … 2C−1 inverses.

    Parameters
    ----------
    dim, columns
        Features, and room for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    """

    covariance = "diagonal"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any) -> None:
        self._start = start
        self.S: Block = np.zeros((dim, 2 * columns), dtype)
        self.S[:, columns:] = 1.0 / start

    @property
    def columns(self) -> int:
        """Room for classes."""
        return int(self.S.shape[1]) // 2

    def widen(self, columns: int) -> None:
        """Make room for more classes, which start as all started."""
        old, C = self.S, self.columns
        self.S = np.zeros((len(old), 2 * columns), old.dtype)
        self.S[:, columns:] = 1.0 / self._start
        self.S[:, :C], self.S[:, columns : columns + C] = old[:, :C], old[:, C:]

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.ascontiguousarray(self.S[:, :n_classes].T, dtype=np.float64)

    def inverses(self, n_classes: int) -> NDArray[np.float64]:
        """The diagonals of A⁻¹, one row per class."""
        C = self.columns
        return np.ascontiguousarray(self.S[:, C : C + n_classes].T, dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"S": self.S}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.S = arrays["S"]
