"""Second order by class: beside each weight vector the inverse of its own full matrix A."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.state.classes import Block, Indices
from smidgen.vector.lanes import fill, load, total
from smidgen.vector.row_sums import sum_rows

#: How many times larger a number of the diagonal can be than rounding has left it.
MENDED = 1e6
#: A width between these is taken as it is, if it is not small beside the squares of the product: rounding is smaller.
SMALL, LONG = 1e-6, 1e4
#: How small it may be beside them.
SHORT = 1e-3
#: What two sides of an inequality may differ by, and yet be equal but for rounding.
NEARLY = 1.0 - 1e-6
#: What the diagonal of A⁻¹ is never below, with rows no longer than 1e100; and the largest width that is told.
LEAST, WIDEST = 1e-220, 1e300


@inlined
def full_products(B: Block, idx: Indices, val: Block, P: Block) -> None:
    """P_i = A_i⁻¹x for the classes that P holds, by rows, so that a sparse x reads only its own rows."""
    sum_rows(B, idx, val, P)


@kernel
def sparse_dot(dense: Block, idx: Indices, val: Block) -> float:
    """Dense · x."""
    total = 0.0
    for k in range(idx.shape[0]):
        total += float(dense[idx[k]]) * float(val[k])
    return total


@inlined
def _dot_row(rows: Block, i: int, x: Block) -> float:
    """The i-th row · x, both whole and contiguous, summed in lanes of double precision."""
    n = x.shape[0]
    whole, lanes, rest = n - n % 8, fill(0.0), 0.0
    for j in range(0, whole, 8):
        lanes = lanes + load(rows, i * n + j) * load(x, j)
    for j in range(whole, n):
        rest += float(rows[i, j]) * float(x[j])
    return float(total(lanes)) + rest


@kernel
def full_moments(W: Block, B: Block, idx: Indices, val: Block, means: Block, widths: Block, P: Block) -> None:
    """means_i = w_i · x, P_i = A_i⁻¹x and widths_i = xᵀA_i⁻¹x for the classes that P holds."""
    full_products(B, idx, val, P)
    x = val
    if idx.shape[0] < P.shape[1]:  # sums over all features, so that they run alike for a sparse row and a dense one
        x = np.zeros(P.shape[1], P.dtype)
        for k in range(idx.shape[0]):
            x[idx[k]] = val[k]
    for c in range(P.shape[0]):
        means[c], widths[c] = _dot_row(W, c, x), _dot_row(P, c, x)


@inlined
def full_shift(W: Block, c: int, product: Block, rate: float) -> None:
    """w_c ← w_c + rate · A_c⁻¹x, given the product."""
    r = W.dtype.type(rate)
    for j in range(product.shape[0]):
        W[c, j] += r * product[j]


@inlined
def full_width(B: Block, c: int, product: Block, width: float) -> float:
    """xᵀA_c⁻¹x, where rounding has not made it less than it can be: (A⁻¹x)_i² ≤ (A⁻¹)_ii · xᵀA⁻¹x for every i.

    Where the two sides contradict each other the diagonal is mended, up to `MENDED` times, and then the width. With
    that no step can run away: |A_new⁻¹x|_i ≤ √(A⁻¹)_ii / 2.
    """
    largest = 0.0
    for i in range(product.shape[0]):
        largest = max(largest, abs(float(product[i])))
    if max(SHORT * largest * largest, SMALL) < width < LONG:
        return width
    least = max(width, 0.0)
    for i in range(product.shape[0]):
        least = max(least, float(product[i]) * float(product[i]) / (MENDED * max(float(B[i, c, i]), LEAST)))
    least = min(least, WIDEST)
    if least > 0.0:
        for i in range(product.shape[0]):
            B[i, c, i] = max(B[i, c, i], B.dtype.type(NEARLY * float(product[i]) * float(product[i]) / least))
    return least


@inlined
def full_absorb(B: Block, c: int, product: Block, width: float) -> tuple[float, float]:
    """A_c ← A_c + xxᵀ, given A_c⁻¹x and its `full_width`; returns the new width, and the growth of log|A_c|.

    The diagonal of the new inverse is at least 1/(1 + width) of the old one; what rounding takes is put back.
    """
    f, nearly = B.dtype.type(1.0 / (1.0 + width)), B.dtype.type(NEARLY / (1.0 + width))
    for i in range(product.shape[0]):
        least = nearly * B[i, c, i]
        for j in range(product.shape[0]):
            B[i, c, j] -= f * (product[i] * product[j])
        B[i, c, i] = max(B[i, c, i], least)
    return width / (1.0 + width), math.log1p(width)


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
        self.moments: Block = np.empty((2, columns), dtype)  #: space for what `full_moments` writes
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
