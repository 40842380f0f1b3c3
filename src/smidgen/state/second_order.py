"""What a second-order learner remembers: the inverse of A = εI + Σ γ·x·xᵀ."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.geometry.symmetric import mirror, settle, shrink_and_multiply
from smidgen.vector.memory import aligned, zeros


class FullSecondOrder:
    """A⁻¹ as a full matrix, kept by rank-one updates.

    Half of the matrix is kept up to date, and the last update waits for the next product, which does both in one pass
    over memory: A⁻¹ = lower − waiting·waitingᵀ (see `smidgen.geometry.symmetric`). `inverse` is the whole of it.

    Parameters
    ----------
    dim
        The number of features N.
    epsilon
        A starts as epsilon·I, and so the inverse as I/epsilon.

    Notes
    -----
    **Cost**: N² floats; 3N² operations for `product` and `absorb` together.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.state import FullSecondOrder
    >>> state, x = FullSecondOrder(dim=2, epsilon=2.0), np.array([1.0, 0.0])
    >>> product, quadratic = state.product(x)
    >>> state.absorb(product, quadratic, gain=1.0)
    >>> state.inverse @ (2 * np.eye(2) + np.outer(x, x))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, dim: int, epsilon: float) -> None:
        self.lower: FloatArray = zeros((dim, dim), np.float64)
        np.fill_diagonal(self.lower, 1.0 / epsilon)
        self.waiting: FloatArray = np.zeros(dim)
        self._back = False

    def turn(self) -> bool:
        """Whether the next pass over A⁻¹ goes back: every other one does, since what was read last is still at hand."""
        self._back = not self._back
        return self._back

    def settle(self) -> FloatArray:
        """Do the update that waits; gives A⁻¹, of which only the lower triangle counts."""
        if self.waiting.any():
            settle(self.lower, self.waiting)
        return self.lower

    @property
    def inverse(self) -> FloatArray:
        """A⁻¹."""
        mirror(self.settle())
        return self.lower

    @inverse.setter
    def inverse(self, given: FloatArray) -> None:
        self.lower, self.waiting = aligned(np.asarray(given, dtype=np.float64)), np.zeros(len(given))

    def product(self, x: FloatArray) -> tuple[FloatArray, float]:
        """A⁻¹x and xᵀA⁻¹x (the squared width of x); changes nothing."""
        product, d = np.empty(len(x)), np.ascontiguousarray(x, dtype=np.float64)
        quadratic = shrink_and_multiply(self.lower, self.waiting, d, product, self.turn())
        self.waiting[:] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.dot(product, product))
        if not (math.isfinite(quadratic) and math.isfinite(length)):
            raise NotFinite(
                f"the features have the width {quadratic} under this state",
                "scale the features down; unit length is a good choice",
            )
        return product, max(quadratic, 0.0)  # it is not negative but by rounding

    def absorb(self, product: FloatArray, quadratic: float, gain: float) -> None:
        """A ← A + gain·x·xᵀ, given what `product` said of x."""
        self.settle()
        self.waiting = product * math.sqrt(gain / (1.0 + gain * quadratic))
