"""Ridge regression on the fly: w = A⁻¹b with A = aI + Σxxᵀ and b = Σyx, in forms that answer the same two questions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core import filter as core
from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.features import Row
from smidgen.state.dual import DualClasses, KernelFunction
from smidgen.state.second_order import DiagonalClasses, FullClasses
from smidgen.state.sqrt_ridge import LEARNT, NO_STARTS, SqrtRidge


class Ridge(ABC):
    """Interface of a ridge estimator: read w·x and xᵀA⁻¹x, and add an example."""

    @abstractmethod
    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x; changes nothing."""

    @abstractmethod
    def learn(self, row: Row, y: float) -> None:
        """A ← A + xxᵀ, b ← b + yx; refused, and nothing changed, where `moments` are not finite."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray | None:
        """The weights w, if they live in feature space."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""

    @abstractmethod
    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""


def check_moments(mean: float, width: float) -> None:
    """Refuse an example that a ridge estimator cannot learn from."""
    if not (math.isfinite(mean) and math.isfinite(width)):
        raise NotFinite("the features lead to a margin that is not finite", "scale them down")


class _BlockRidge(Ridge):
    """A ridge estimator that is a class of its own: the blocks of the label loop, with a place for one."""

    blocks: FullClasses | DiagonalClasses

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return np.asarray(self.blocks.weights(1)[0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return self.blocks.arrays()

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.blocks.restore(arrays)


class FullRidge(_BlockRidge):
    """A⁻¹ as a full matrix: 4d² operations per example learnt, d² memory."""

    def __init__(self, dim: int, a: float) -> None:
        self.blocks: FullClasses = FullClasses(dim, 1, a, np.float64)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        return core.full_moments(self.blocks.W, self.blocks.B, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Add an example."""
        check_moments(*core.learn_full(self.blocks.W, self.blocks.B, row.indices, row.values, y))


class DiagonalRidge(_BlockRidge):
    """Only the diagonal of A, for large sparse features: nnz operations, 2d memory; not the same estimator.

    It departs from ridge regression: features are corrected each by its own count, by the residual rule that full A
    obeys, as if they were uncorrelated.
    """

    def __init__(self, dim: int, a: float) -> None:
        self.blocks: DiagonalClasses = DiagonalClasses(dim, 1, a, np.float64)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        return core.diagonal_moments(self.blocks.S, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Add an example."""
        check_moments(*core.learn_diagonal(self.blocks.S, row.indices, row.values, y))


class ForgettingRidge(Ridge):
    """A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx: old examples fade. Every example costs a new root of A⁻¹, d³ operations."""

    def __init__(self, dim: int, a: float, forgetting: float) -> None:
        self._root = SqrtRidge(dim, a, forgetting)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        return core.root_moments(self._root.R, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Let the old fade, add the new."""
        check_moments(*self.moments(row))
        F, R = self._root.F.copy(), self._root.R.copy()
        why = self._root.fade((row.indices, row.values, NO_STARTS), 0, y)
        if why != LEARNT or not np.isfinite(self._root.R).all():
            self._root.F, self._root.R = F, R
            raise NotFinite("the features lead to a matrix that has no inverse", "scale them down")

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return self._root.weights

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"A": self._root.F[:, :-1].copy(), "b": self._root.F[:, -1].copy()}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        A, b = arrays["A"], arrays["b"]
        F, R = np.column_stack([A, b]), self._root.R.copy()
        if not (np.isfinite(F).all() and np.diag(A).min() > 0.0 and core.take_root(F, self._root.ridge, R)):
            raise NotFinite("the matrix has no inverse", "pass the arrays that arrays returned")
        self._root.F, self._root.R = F, R


class KernelRidge(Ridge):
    """In a kernel's feature space, by the examples learnt from: n² operations and memory for n of them."""

    def __init__(self, dim: int, a: float, kernel: KernelFunction) -> None:
        self.dual = DualClasses(dim, 1, a, kernel)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·φ(x) and φ(x)ᵀA⁻¹φ(x)."""
        return self._ask(row.dense())[:2]

    def learn(self, row: Row, y: float) -> None:
        """Add an example."""
        x = row.dense()
        mean, width, solved = self._ask(x)
        check_moments(mean, width)
        point = self.dual.remember(x)
        self.dual.shift(0, point, solved, (y - mean) / (1.0 + width))
        self.dual.absorb(0, point, solved, width)

    def _ask(self, x: FloatArray) -> tuple[float, float, FloatArray]:
        means, widths = np.empty(1), np.empty(1)
        with np.errstate(over="ignore", invalid="ignore"):
            solved = self.dual.moments(x, means, widths)[0]
        return float(means[0]), float(widths[0]), solved

    @property
    def weights(self) -> None:
        """None: they do not live in feature space."""
        return

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return self.dual.arrays()

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.dual.restore(arrays)
