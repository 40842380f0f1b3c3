"""What a second-order learner remembers: the inverse of A = εI + Σ γ·x·xᵀ."""

from __future__ import annotations

import numpy as np

from smidgen._core import geometry as core
from smidgen.arrays import aligned, zeros
from smidgen.decision import FloatArray


class FullSecondOrder:
    """A⁻¹ as a full matrix, kept by rank-one updates.

    Half of the matrix is kept up to date, and the last update waits for the next product, which does both in one pass
    over memory: A⁻¹ = lower − v·vᵀ, v the first row of `waiting` (see symmetric.hpp). `inverse` is the whole of it.

    Parameters
    ----------
    dim
        The number of features N.
    epsilon
        A starts as epsilon·I, and so the inverse as I/epsilon.

    Notes
    -----
    **Cost**: N² floats. Products and updates run in the compiled core (symmetric.hpp), both in one pass: 3N²
    operations.

    Examples
    --------
    >>> from smidgen.state import FullSecondOrder
    >>> FullSecondOrder(dim=2, epsilon=2.0).inverse
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    def __init__(self, dim: int, epsilon: float) -> None:
        self.lower: FloatArray = zeros((dim, dim), np.float64)
        np.fill_diagonal(self.lower, 1.0 / epsilon)
        self.waiting: FloatArray = np.zeros((2, dim))
        self._back = False

    def turn(self) -> bool:
        """Whether the next pass over A⁻¹ goes back: every other one does, since what was read last is still at hand."""
        self._back = not self._back
        return self._back

    def settle(self) -> FloatArray:
        """Do the update that waits; gives A⁻¹, of which only the lower triangle counts."""
        if self.waiting[0].any():
            core.settle(self.lower, self.waiting)
        return self.lower

    @property
    def inverse(self) -> FloatArray:
        """A⁻¹; an update that waits is done on the way."""
        core.mirror(self.settle())
        return self.lower

    @inverse.setter
    def inverse(self, given: FloatArray) -> None:
        self.lower, self.waiting = aligned(np.asarray(given, dtype=np.float64)), np.zeros((2, len(given)))
