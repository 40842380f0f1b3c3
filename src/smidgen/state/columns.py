"""Ridge regression with diagonal A: per column its weight and its entry of A, for many columns and sparse rows.

With forgetting, λ < 1, columns fade together but are written only when they are next met: m rounds without an example
turn a into a₀ + λᵐ(a − a₀) and w into λᵐ·a·w over the new a, which is λᵐb over it. So a column also keeps the round in
which it was last written.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core.choose import faded_columns, hear_columns
from smidgen.decision import FloatArray
from smidgen.state.offers import Offer

#: What columns fade by: a₀, λ, and the rounds learnt.
Fading: TypeAlias = tuple[float, float, float]


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
        return hear_columns(self.D, offer, row, y, self.fading(now))

    def faded(self, now: float) -> tuple[FloatArray, FloatArray]:
        """The weights and the diagonal of A, as they are after ``now`` rounds."""
        w, a = np.empty(len(self.D)), np.empty(len(self.D))
        faded_columns(self.D, self.fading(now), w, a)
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
