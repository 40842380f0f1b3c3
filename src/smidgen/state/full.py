"""Second order by class: beside each weight vector the inverse of its own full matrix A."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.state.classes import Block


class FullClasses:
    """w and A⁻¹ of every class: arrays of shape (columns, dim) and (dim, columns, dim).

    In B, the i-th rows of all classes lie side by side.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    """

    covariance = "full"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any) -> None:
        self._start = start
        self.W: Block = np.zeros((columns, dim), dtype)
        self.B: Block = np.zeros((dim, columns, dim), dtype)
        self.B[np.arange(dim), :, np.arange(dim)] = 1.0 / start
        self.moments: Block = np.empty((2, columns), dtype)  #: space for what the core's `full_moments` writes
        self.products: Block = np.empty((columns, dim), dtype)

    @property
    def columns(self) -> int:
        """Places for classes."""
        return len(self.W)

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        wider = FullClasses(self.W.shape[1], columns, self._start, self.W.dtype)
        wider.W[: self.columns], wider.B[:, : self.columns] = self.W, self.B
        self.W, self.B, self.moments, self.products = wider.W, wider.B, wider.moments, wider.products

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.array(self.W[:n_classes], dtype=np.float64)

    def inverses(self, n_classes: int) -> NDArray[np.float64]:
        """A⁻¹ of every class."""
        return np.array(self.B[:, :n_classes].swapaxes(0, 1), dtype=np.float64, order="C")

    def begin(self, weights: NDArray[np.float64]) -> None:
        """Start from these weights, one row per class; A stays as it is."""
        self.W[: len(weights)] = weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"W": self.W, "B": self.B}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.W, self.B = arrays["W"], arrays["B"]
        self.moments, self.products = np.empty((2, self.columns), self.W.dtype), np.empty_like(self.W)
