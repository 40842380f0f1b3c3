"""Ridge regression on the fly: w = A⁻¹b with A = aI + Σxxᵀ and b = Σyx, in forms that answer the same two questions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.features import Row
from smidgen.state.classes import Block, Indices
from smidgen.state.diagonal import DiagonalClasses, diagonal_absorb, diagonal_moments
from smidgen.state.dual import DualClasses
from smidgen.state.full import FullClasses, full_absorb, full_products, full_shift, full_width, sparse_dot
from smidgen.state.kernel_functions import KernelFunction


class Ridge(ABC):
    """What a ridge estimator can be asked: w·x and xᵀA⁻¹x; and told: an example."""

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


@kernel
def ridge_full(W: Block, B: Block, idx: Indices, val: Block, out: Block) -> tuple[float, float]:
    """w·x and xᵀA⁻¹x; writes A⁻¹x, one row."""
    full_products(B, idx, val, out)
    return sparse_dot(W[0], idx, val), sparse_dot(out[0], idx, val)


@kernel
def ridge_full_learn(W: Block, B: Block, product: Block, y: float, mean: float, width: float) -> None:
    """W ← w + (y − w·x)·A_new⁻¹x; A ← A + xxᵀ."""
    width = full_width(B, 0, product[0], width)
    full_shift(W, 0, product[0], (y - mean) / (1.0 + width))
    full_absorb(B, 0, product[0], width)


@kernel
def _full_moments(W: Block, B: Block, idx: Indices, val: Block) -> tuple[float, float]:
    return ridge_full(W, B, idx, val, np.empty(W.shape))


@kernel
def ridge_full_hear(W: Block, B: Block, idx: Indices, val: Block, y: float) -> tuple[float, float]:
    """Learn one example, if w·x and xᵀA⁻¹x are finite; returns both as they were."""
    product = np.empty(W.shape)
    mean, width = ridge_full(W, B, idx, val, product)
    if math.isfinite(mean) and math.isfinite(width):
        ridge_full_learn(W, B, product, y, mean, width)
    return mean, width


@kernel
def ridge_diagonal(S: Block, idx: Indices, val: Block) -> tuple[float, float]:
    """w·x and xᵀA⁻¹x with diagonal A."""
    moments = np.empty((2, 1))
    diagonal_moments(S, idx, val, moments)
    return moments[0, 0], moments[1, 0]


@kernel
def ridge_diagonal_learn(S: Block, idx: Indices, val: Block, y: float, mean: float, width: float) -> None:
    """W ← w + (y − w·x)·u/(1 + x·u), u = x/a; a ← a + x²."""
    diagonal_absorb(S, 0, idx, val, (y - mean) / (1.0 + width))


@kernel
def _diagonal_hear(S: Block, idx: Indices, val: Block, y: float) -> tuple[float, float]:
    """Learn one example, if w·x and xᵀA⁻¹x are finite; returns both as they were."""
    mean, width = ridge_diagonal(S, idx, val)
    if math.isfinite(mean) and math.isfinite(width):
        ridge_diagonal_learn(S, idx, val, y, mean, width)
    return mean, width


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
        return _full_moments(self.blocks.W, self.blocks.B, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Add an example."""
        check_moments(*ridge_full_hear(self.blocks.W, self.blocks.B, row.indices, row.values, y))


class DiagonalRidge(_BlockRidge):
    """Only the diagonal of A, for large sparse features: nnz operations, 2d memory; not the same estimator.

    It departs from ridge regression: features are corrected each by its own count, by the residual rule that full A
    obeys, as if they were uncorrelated.
    """

    def __init__(self, dim: int, a: float) -> None:
        self.blocks: DiagonalClasses = DiagonalClasses(dim, 1, a, np.float64)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        return ridge_diagonal(self.blocks.S, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Add an example."""
        check_moments(*_diagonal_hear(self.blocks.S, row.indices, row.values, y))


def inverted(A: FloatArray) -> FloatArray:
    """A⁻¹ of a matrix with positive eigenvalues, where rounding may have taken some; infinite if there is none.

    Where the columns are of very different sizes, each is first brought to its own: by a power of two, which rounds
    nothing. If there is then no inverse, or one with negative eigenvalues, the diagonal is raised by what rounding is.
    """
    diagonal = np.diag(A)
    if not (np.isfinite(A).all() and diagonal.min() > 0.0):
        return np.full_like(A, np.inf)
    if diagonal.max() <= 1e8 * diagonal.min():
        sizes = np.ones(len(A))
    else:
        sizes = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
    scaled = A * sizes[:, None] * sizes
    for jitter in (0.0, 1e-14, 1e-8):
        try:
            inverse = np.asarray(np.linalg.inv(scaled + jitter * len(A) * np.diag(np.diag(scaled))))
        except np.linalg.LinAlgError:
            continue
        if np.diag(inverse).min() > 0.0:
            return inverse * sizes[:, None] * sizes
    return np.full_like(A, np.inf)


class ForgettingRidge(Ridge):
    """A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx: old examples fade. Every example costs a new inverse, d³ operations."""

    def __init__(self, dim: int, a: float, forgetting: float) -> None:
        self._a, self._lambda = a, forgetting
        self._take(a * np.eye(dim), np.zeros(dim))

    def _take(self, A: FloatArray, b: FloatArray) -> None:
        """Take over A and b with what follows from them, or nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            inverse = inverted(A)
            w = np.asarray(inverse @ b)
        if not (np.isfinite(inverse).all() and np.isfinite(w).all()):
            raise NotFinite("the features lead to a matrix that has no inverse", "scale them down")
        self._inverse, self._w = inverse, w
        self.A, self.b = A, b

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        x = row.dense()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._w @ x), float(x @ self._inverse @ x)

    def learn(self, row: Row, y: float) -> None:
        """Let the old fade, add the new."""
        check_moments(*self.moments(row))
        x, keep = row.dense(), self._lambda
        with np.errstate(over="ignore"):
            A = keep * self.A + (1.0 - keep) * self._a * np.eye(len(x)) + np.outer(x, x)
            b = keep * self.b + y * x
        self._take(A, b)

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return self._w.copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"A": self.A, "b": self.b}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self._take(arrays["A"], arrays["b"])


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
