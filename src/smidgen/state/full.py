"""Second order by class: beside each weight vector the inverse of its own full matrix A."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.state.classes import Block, Indices


@kernel
def full_products(B: Block, idx: Indices, val: Block, P: Block) -> None:
    """P_i = A_i⁻¹x for every class, by rows, so that a sparse x reads only its own rows; four features at once."""
    (C, d), n = P.shape, idx.shape[0]
    P[:] = 0.0
    for k in range(n % 4):
        i, v = idx[k], val[k]
        for c in range(C):
            for j in range(d):
                P[c, j] += v * B[c, i, j]
    for k in range(n % 4, n, 4):
        i0, i1, i2, i3 = idx[k], idx[k + 1], idx[k + 2], idx[k + 3]
        v0, v1, v2, v3 = val[k], val[k + 1], val[k + 2], val[k + 3]
        for c in range(C):
            for j in range(d):
                s = (P[c, j] + v0 * B[c, i0, j]) + v1 * B[c, i1, j]
                P[c, j] = (s + v2 * B[c, i2, j]) + v3 * B[c, i3, j]


@kernel
def sparse_dot(dense: Block, idx: Indices, val: Block) -> float:
    """Dense · x."""
    total = 0.0
    for k in range(idx.shape[0]):
        total += float(dense[idx[k]]) * float(val[k])
    return total


@kernel
def full_moments(W: Block, B: Block, idx: Indices, val: Block, means: Block, widths: Block, P: Block) -> None:
    """means_i = w_i · x, P_i = A_i⁻¹x and widths_i = xᵀA_i⁻¹x for every class."""
    full_products(B, idx, val, P)
    for c in range(W.shape[0]):
        mean, width = 0.0, 0.0  # each a `sparse_dot`; both at once, so that neither waits for the other
        for k in range(idx.shape[0]):
            mean += float(W[c, idx[k]]) * float(val[k])
            width += float(P[c, idx[k]]) * float(val[k])
        means[c], widths[c] = mean, width


@kernel
def full_shift(W: Block, c: int, product: Block, rate: float) -> None:
    """w_c ← w_c + rate · A_c⁻¹x, given the product."""
    r = W.dtype.type(rate)
    for j in range(product.shape[0]):
        W[c, j] += r * product[j]


@kernel
def full_absorb(B: Block, c: int, product: Block, width: float) -> tuple[float, float]:
    """A_c ← A_c + xxᵀ, given A_c⁻¹x and xᵀA_c⁻¹x; returns the width with the new A_c, and the growth of log|A_c|."""
    f = B.dtype.type(1.0 / (1.0 + width))
    for i in range(product.shape[0]):
        for j in range(product.shape[0]):
            B[c, i, j] -= f * (product[i] * product[j])
    return width / (1.0 + width), math.log1p(width)


class FullClasses:
    """w and A⁻¹ of every class: arrays of shape (columns, dim) and (columns, dim, dim).

    Parameters
    ----------
    dim, columns
        Features, and room for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    """

    covariance = "full"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any) -> None:
        self._start = start
        self.W: Block = np.zeros((columns, dim), dtype)
        self.B: Block = np.zeros((columns, dim, dim), dtype)
        self.B[:, np.arange(dim), np.arange(dim)] = 1.0 / start

    @property
    def columns(self) -> int:
        """Room for classes."""
        return len(self.W)

    def widen(self, columns: int) -> None:
        """Make room for more classes, which start as all started."""
        wider = FullClasses(self.W.shape[1], columns, self._start, self.W.dtype)
        wider.W[: self.columns], wider.B[: self.columns] = self.W, self.B
        self.W, self.B = wider.W, wider.B

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.array(self.W[:n_classes], dtype=np.float64)

    def inverses(self, n_classes: int) -> NDArray[np.float64]:
        """A⁻¹ of every class."""
        return np.array(self.B[:n_classes], dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"W": self.W, "B": self.B}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.W, self.B = arrays["W"], arrays["B"]
