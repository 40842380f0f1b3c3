"""Ridge regression with diagonal A: per column its weight and its entry of A, for many columns and sparse rows.

With forgetting, λ < 1, columns fade together but are written only when they are next met: m rounds without an example
turn a into a₀ + λᵐ(a − a₀) and w into λᵐ·a·w over the new a, which is λᵐb over it. So a column also keeps the round in
which it was last written.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, inlined
from smidgen.decision import FloatArray, IntArray
from smidgen.state.classes import Indices
from smidgen.state.offers import Offer, row_indices, row_values, usable
from smidgen.state.root import LEARNT, STRANGE

#: What columns fade by: a₀, λ, and the rounds learnt.
Fading: TypeAlias = tuple[float, float, float]


@inlined
def column(D: FloatArray, j: int, ridge: float, keep: float, now: float) -> tuple[float, float]:
    """The weight of a column and its entry of A, as they are after ``now`` rounds."""
    w, a = D[j, 0], D[j, 1]
    if keep == 1.0 or D[j, 2] == now:
        return w, a
    left = keep ** (now - D[j, 2])
    faded = ridge + left * (a - ridge)
    return left * a * w / faded, faded


@inlined
def _row_moments(
    D: FloatArray, idx: Indices, val: FloatArray, ridge: float, keep: float, now: float
) -> tuple[float, float]:
    mean, spread = 0.0, 0.0
    for k in range(idx.shape[0]):
        x = val[k]
        w, a = column(D, idx[k], ridge, keep, now)
        mean += x * w
        spread += x * x / a
    return mean, spread


@borrowing
def column_moments(D: FloatArray, offer: Offer, first: int, fading: Fading, out: FloatArray) -> None:
    """w·x and xᵀA⁻¹x of the rows from the first-th on, into the first two rows of ``out``."""
    (idx, val, starts), (ridge, keep, now) = offer, fading
    for k in range(out.shape[1]):
        x, indices = row_values(idx, val, starts, first + k), row_indices(idx, starts, first + k)
        out[0, k], out[1, k] = _row_moments(D, indices, x, ridge, keep, now)


@borrowing
def column_learn(
    D: FloatArray, idx: Indices, val: FloatArray, starts: IntArray, row: int, y: float, fading: Fading
) -> int:
    """With u = x/a: w ← w + (y − w·x)·u/(1 + x·u), then a ← a + x²; all of them faded once more before."""
    x, indices = row_values(idx, val, starts, row), row_indices(idx, starts, row)
    return _step(D, indices, x, y, fading)


@borrowing
def _step(D: FloatArray, idx: Indices, val: FloatArray, y: float, fading: Fading) -> int:
    ridge, keep, now = fading[0], fading[1], fading[2] + 1.0
    if not usable(val):
        return STRANGE
    mean, spread = _row_moments(D, idx, val, ridge, keep, now)
    if not (math.isfinite(mean) and math.isfinite(spread)):
        return STRANGE
    rate = (y - mean) / (1.0 + spread)
    for k in range(idx.shape[0]):
        x, j = val[k], idx[k]
        if x != 0.0:
            w, a = column(D, j, ridge, keep, now)
            D[j, 0], D[j, 1] = w + rate * x / a, a + x * x
            if keep < 1.0:
                D[j, 2] = now
    return LEARNT


class ColumnRidge:
    """Weights and the diagonal of A: nnz operations to ask and to learn, 2·dim numbers (3·dim with forgetting).

    It is not ridge regression: columns are corrected each by its own count, by the residual rule that full A obeys, as
    if they were uncorrelated.

    Parameters
    ----------
    dim
        Columns of the features.
    ridge
        a₀; A starts as a₀·I.
    keep
        λ, what is left of the past with every new example.
    """

    covariance = "diagonal"

    def __init__(self, dim: int, ridge: float, keep: float = 1.0) -> None:
        self.ridge, self.keep = ridge, keep
        self.D: FloatArray = np.zeros((dim, 2 if keep == 1.0 else 3))
        self.D[:, 1] = ridge

    @classmethod
    def of(cls, w: FloatArray, a: FloatArray, ridge: float, keep: float, now: float) -> ColumnRidge:
        """One that starts from given weights and a given diagonal, after ``now`` rounds."""
        made = cls(len(w), ridge, keep)
        made.begin(w, a, now)
        return made

    def fading(self, now: float) -> Fading:
        """What the kernels need to fade by: a₀, λ, and the rounds learnt."""
        return self.ridge, self.keep, now

    def hear(self, offer: Offer, row: int, y: float, now: float) -> int:
        """Learn one row of an offer, if that leads to finite numbers."""
        idx, val, starts = offer
        return column_learn(self.D, idx, val, starts, row, y, self.fading(now))

    def faded(self, now: float) -> tuple[FloatArray, FloatArray]:
        """The weights and the diagonal of A, as they are after ``now`` rounds."""
        w, a = self.D[:, 0].copy(), self.D[:, 1].copy()
        if self.keep < 1.0:
            left = self.keep ** (now - self.D[:, 2])
            a = self.ridge + left * (self.D[:, 1] - self.ridge)
            w = left * self.D[:, 1] * w / a
        return w, a

    def begin(self, w: FloatArray, a: FloatArray, now: float) -> None:
        """Start from given weights and a given diagonal, after ``now`` rounds."""
        self.D[:, 0], self.D[:, 1], self.D[:, 2:] = w, a, now

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"D": self.D}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.D = arrays["D"]
