"""What a second-order learner remembers: the inverse of A = εI + Σ γ·x·xᵀ."""

from __future__ import annotations

import math

import numpy as np

from smidgen.errors import NotFinite
from smidgen.features import dense_scores
from smidgen.geometry import grow_inverse
from smidgen.types import FloatArray


class FullSecondOrder:
    """A⁻¹ as a full matrix, kept by rank-one updates.

    Parameters
    ----------
    dim
        The number of features N.
    epsilon
        A starts as epsilon·I, and so the inverse as I/epsilon.

    Notes
    -----
    **Cost**: N² floats; 2N² operations for `product`, 2N² for `absorb`.

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
        self.inverse: FloatArray = np.eye(dim) / epsilon

    def product(self, x: FloatArray) -> tuple[FloatArray, float]:
        """A⁻¹x and xᵀA⁻¹x (the squared width of x); changes nothing."""
        product = dense_scores(self.inverse, x)
        with np.errstate(over="ignore", invalid="ignore"):
            quadratic, length = float(np.dot(x, product)), float(np.dot(product, product))
        if not (math.isfinite(quadratic) and math.isfinite(length)):
            raise NotFinite(
                f"the features have the width {quadratic} under this state",
                "scale the features down; unit length is a good choice",
            )
        return product, quadratic

    def absorb(self, product: FloatArray, quadratic: float, gain: float) -> None:
        """A ← A + gain·x·xᵀ, given what `product` said of x."""
        grow_inverse(self.inverse, product, quadratic, gain)
