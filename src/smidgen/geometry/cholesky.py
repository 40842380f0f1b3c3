"""The Cholesky factor of a symmetric positive-definite matrix, and the inverse of that factor, in compiled code.

Written out here, and not left to a library, so that a replayed log gives the same bits whatever is installed.
"""

from __future__ import annotations

import math

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.vector.arrays import dot

#: What rounding leaves of a number that should have vanished beside it.
ROUNDING = 1e-14


@kernel
def factor(A: FloatArray, n: int, least: float, L: FloatArray) -> None:
    """A = L·Lᵀ for the leading n × n block; L is lower triangular, and not touched above its diagonal.

    ``least`` is a lower bound on the eigenvalues of A. So is it on what stands under each root, and rounding may not
    lead below it; nor below what rounding is beside the diagonal, or columns of very different sizes would run away.
    """
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - dot(L[i, :j], L[j, :j])) / L[j, j]
        L[i, i] = math.sqrt(max(least, ROUNDING * A[i, i], A[i, i] - dot(L[i, :i], L[i, :i])))


@kernel
def invert_lower(L: FloatArray, n: int, X: FloatArray) -> None:
    """X = L⁻¹ for the leading n × n block of a lower triangular L; X is zero above its diagonal."""
    for i in range(n):
        for j in range(n):
            X[i, j] = 0.0
        over = 1.0 / L[i, i]
        for k in range(i):
            share = L[i, k] * over
            for j in range(k + 1):
                X[i, j] -= share * X[k, j]
        X[i, i] = over
