"""Rank-one steps of an inverse where rounding would eat it up: by square roots, which cannot become negative.

Sherman and Morrison's B − vvᵀ takes a number of size 1 from a number of size 1 when a direction is long under B. What
is left should be 1e-24 and is rounding: B has lost its positive eigenvalues, and the next step runs away. A column of
milliseconds is enough for that. Here B is brought to a unit diagonal, so that every column counts by its own measure,
and is factored; the step is taken on the factor F, and B is F·Fᵀ again (Bierman 1977 on square-root filters).
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.decision import FloatArray

#: A direction longer than this under B (squared) takes the careful way.
LONG = 1e8
#: A squared product beyond this is refused: the factor of the step must fit beside it.
LONGEST = 1e200
#: What is left of a pivot when rounding has eaten it up; the diagonal is 1.
_PIVOT = 1e-15


@borrowing
def sound(diagonal: FloatArray, product: FloatArray, quadratic: float) -> bool:
    """Whether B·x and x·B·x can come of a B without negative eigenvalues: (B·x)_i² ≤ B_ii · x·B·x."""
    if not quadratic >= 0.0:
        return False
    worst = 0
    for i in range(diagonal.shape[0]):
        worst += product[i] * product[i] > 2.0 * diagonal[i] * quadratic + 1e-300
    return worst == 0


@kernel
def _factored(B: FloatArray, sizes: FloatArray) -> FloatArray:
    """L with B = S·L·Lᵀ·S, S = diag(sizes), for the next B without negative eigenvalues; writes the sizes."""
    n = sizes.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        sizes[i] = math.sqrt(max(B[i, i], 1e-300))
    for i in range(n):
        for j in range(i):
            rest = min(max(B[i, j] / sizes[i] / sizes[j], -1.0), 1.0)
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            L[i, j] = rest / L[j, j]
        rest = 1.0
        for k in range(i):
            rest -= L[i, k] * L[i, k]
        L[i, i] = math.sqrt(max(rest, _PIVOT))
    return L


@kernel
def absorb_carefully(B: FloatArray, d: FloatArray, gamma: float, product: FloatArray) -> float:
    """B ← (B⁻¹ + gamma·d·dᵀ)⁻¹; writes B·d with the new B, and gives d·B·d with the old one.

    A result that is not finite, or a product whose square is not, says that nothing was done to B.
    """
    n = B.shape[0]
    sizes, u = np.empty(n), np.zeros(n)
    L = _factored(B, sizes)
    for i in range(n):
        for j in range(i + 1):
            u[j] += L[i, j] * (sizes[i] * d[i])
    squares = 0.0
    for j in range(n):
        squares += u[j] * u[j]
    if not math.isfinite(gamma * squares):
        return math.inf
    growth = 1.0 + gamma * squares
    shrinking = (1.0 / math.sqrt(growth) - 1.0) / squares if squares > 0.0 else 0.0
    length = 0.0
    for i in range(n):  # F = L·(I + shrinking·u·uᵀ), a row at a time
        along = 0.0
        for j in range(i + 1):
            along += L[i, j] * u[j]
        product[i] = sizes[i] * along / growth
        length += product[i] * product[i]
        for j in range(n):
            L[i, j] += shrinking * along * u[j]
    if not length < LONGEST:
        return math.inf
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += L[i, k] * L[j, k]
            B[i, j] = B[j, i] = sizes[i] * sizes[j] * total
    return squares
