"""Symmetric matrices of which only one half is kept: products, and rank-one steps in the same pass over memory.

A matrix B is an n × n array whose numbers on and below the diagonal count. (Those above it count only within the
8 × 8 blocks on the diagonal; `mirror` sets them all.) Half the numbers are half the memory to read and write, and that
is what the time of these operations goes to. Where n is a multiple of eight only because zeros were added, the last
four rows may be missing.

A large matrix is gone through in panels of rows, forth or back: what was read last is still at hand when the next pass
begins there. Each panel adds up sums of its own, and they are added in the order of the panels, so that the way that a
pass goes does not show in the results.

An inverse that grows old by rank one is kept in this form: with u = B·x and B = A⁻¹,
(A + γxxᵀ)⁻¹ = B − vvᵀ for v = u·√(γ/(1 + γx·u)) (Sherman and Morrison, 1950).
"""

from __future__ import annotations

import numpy as np

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.decision import FloatArray
from smidgen.vector.arrays import clear, dot
from smidgen.vector.lanes import Lanes, add_to, fill, load, store, total, totals

PANEL = 128  # rows


@kernel
def shrink(B: FloatArray, v: FloatArray) -> None:
    """B ← B − v·vᵀ."""
    n = v.shape[0]
    for i in range(B.shape[0]):
        vi = v[i]
        for j in range(min(i - i % 8 + 8, n)):
            B[i, j] -= vi * v[j]


@borrowing
def settle(B: FloatArray, waiting: FloatArray) -> None:
    """B ← B − v·vᵀ, v the first row of ``waiting``, after which nothing waits."""
    shrink(B, waiting[0])
    clear(waiting[0])


@inlined
def _four_rows(B: FloatArray, x: FloatArray, out: FloatArray, i: int) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """What rows i … i + 3 have to do with `multiply`: each number counts for its own place, and for the one across.

    Adds to the products of the rows above; gives those of these four rows with the columns up to their own block.
    """
    n, block = x.shape[0], i - i % 8
    a, b, c, d = i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n
    x0, x1, x2, x3 = fill(x[i]), fill(x[i + 1]), fill(x[i + 2]), fill(x[i + 3])
    s0, s1, s2, s3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    for j in range(0, block, 8):
        xj, b0, b1, b2, b3 = load(x, j), load(B, a + j), load(B, b + j), load(B, c + j), load(B, d + j)
        s0, s1, s2, s3 = s0 + b0 * xj, s1 + b1 * xj, s2 + b2 * xj, s3 + b3 * xj
        add_to(out, j, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
    b0, b1, b2, b3 = load(B, a + block), load(B, b + block), load(B, c + block), load(B, d + block)
    add_to(out, block, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
    return s0, s1, s2, s3


@inlined
def _multiply_rows(B: FloatArray, x: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """What the rows first … last − 1 add to B·x; their numbers are multiples of eight, but for n."""
    n = x.shape[0]
    whole = last - last % 8
    for i in range(first, whole, 8):
        s0, s1, s2, s3 = _four_rows(B, x, out, i)
        s4, s5, s6, s7 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        if i + 4 < B.shape[0]:
            s4, s5, s6, s7 = _four_rows(B, x, out, i + 4)
        if i > 0:
            add_to(out, i, totals(s0, s1, s2, s3, s4, s5, s6, s7))
    for i in range(whole, last):  # the rows and columns that make no block of eight
        s0, x0 = fill(0.0), fill(x[i])
        for j in range(0, whole, 8):
            b0 = load(B, i * n + j)
            s0 = s0 + b0 * load(x, j)
            add_to(out, j, b0 * x0)
        out[i] += total(s0) + B[i, i] * x[i]
        for j in range(whole, i):
            out[i] += B[i, j] * x[j]
            out[j] += B[i, j] * x[i]


@inlined
def _add_panels(parts: FloatArray, out: FloatArray) -> None:
    """Out = the sum of the parts, of which the k-th ends with its panel."""
    n = out.shape[0]
    clear(out)
    for k in range(parts.shape[0]):
        for j in range(min((k + 1) * PANEL, n)):
            out[j] += parts[k, j]


@kernel
def _multiply_panels(B: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> None:
    """Out = B·x, panel by panel."""
    n = x.shape[0]
    parts = np.empty((-(-n // PANEL), n))
    for turn in range(parts.shape[0]):
        k = parts.shape[0] - 1 - turn if back else turn
        last = min((k + 1) * PANEL, n)
        clear(parts[k, :last])
        _multiply_rows(B, x, parts[k], k * PANEL, last)
    _add_panels(parts, out)


@borrowing
def multiply(B: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> float:
    """Out = B·x; gives x·B·x. It may go back from the end of B: the result is the same."""
    if x.shape[0] > PANEL:
        _multiply_panels(B, x, out, back)
    else:
        clear(out)
        _multiply_rows(B, x, out, 0, x.shape[0])
    return dot(x, out)


@inlined
def _four_rows_shrunk(
    B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, i: int
) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """`_four_rows` after `shrink`."""
    n, block, v, diagonal = x.shape[0], i - i % 8, waiting[0], waiting[1]
    a, b, c, d = i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n
    x0, x1, x2, x3 = fill(x[i]), fill(x[i + 1]), fill(x[i + 2]), fill(x[i + 3])
    v0, v1, v2, v3 = fill(v[i]), fill(v[i + 1]), fill(v[i + 2]), fill(v[i + 3])
    s0, s1, s2, s3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    for k in range(i, i + 4):  # before the rows are written: to read what was just written in lanes is slow
        diagonal[k] = B[k, k] - v[k] * v[k]
    for j in range(0, block + 8, 8):
        xj, vj = load(x, j), load(v, j)
        b0, b1 = load(B, a + j) - v0 * vj, load(B, b + j) - v1 * vj
        b2, b3 = load(B, c + j) - v2 * vj, load(B, d + j) - v3 * vj
        store(B, a + j, b0)
        store(B, b + j, b1)
        store(B, c + j, b2)
        store(B, d + j, b3)
        add_to(out, j, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3))
        if j < block:
            s0, s1, s2, s3 = s0 + b0 * xj, s1 + b1 * xj, s2 + b2 * xj, s3 + b3 * xj
    return s0, s1, s2, s3


@inlined
def _shrink_rows(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, first: int, last: int) -> None:
    """`_multiply_rows` after `shrink`."""
    n, v, diagonal = x.shape[0], waiting[0], waiting[1]
    whole = last - last % 8
    for i in range(first, whole, 8):
        s0, s1, s2, s3 = _four_rows_shrunk(B, waiting, x, out, i)
        s4, s5, s6, s7 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        if i + 4 < B.shape[0]:
            s4, s5, s6, s7 = _four_rows_shrunk(B, waiting, x, out, i + 4)
        if i > 0:
            add_to(out, i, totals(s0, s1, s2, s3, s4, s5, s6, s7))
    for i in range(whole, last):
        s0, x0, v0 = fill(0.0), fill(x[i]), fill(v[i])
        for j in range(0, whole, 8):
            b0 = load(B, i * n + j) - v0 * load(v, j)
            store(B, i * n + j, b0)
            s0 = s0 + b0 * load(x, j)
            add_to(out, j, b0 * x0)
        for j in range(whole, n):
            B[i, j] -= v[i] * v[j]
        diagonal[i] = B[i, i]
        out[i] += total(s0) + B[i, i] * x[i]
        for j in range(whole, i):
            out[i] += B[i, j] * x[j]
            out[j] += B[i, j] * x[i]


@kernel
def _shrink_panels(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> None:
    """`_multiply_panels` after `shrink`."""
    n = x.shape[0]
    parts = np.empty((-(-n // PANEL), n))
    for turn in range(parts.shape[0]):
        k = parts.shape[0] - 1 - turn if back else turn
        last = min((k + 1) * PANEL, n)
        clear(parts[k, :last])
        _shrink_rows(B, waiting, x, parts[k], k * PANEL, last)
    _add_panels(parts, out)


@borrowing
def shrink_and_multiply(B: FloatArray, waiting: FloatArray, x: FloatArray, out: FloatArray, back: bool) -> float:
    """`shrink` and `multiply` in one pass: B ← B − v·vᵀ, then out = B·x; gives x·B·x.

    v is the first row of ``waiting``; its second row takes B's diagonal, which is at hand now and scattered later.
    """
    if x.shape[0] > PANEL:
        _shrink_panels(B, waiting, x, out, back)
    else:
        clear(out)
        _shrink_rows(B, waiting, x, out, 0, x.shape[0])
    return dot(x, out)


@kernel
def mirror(B: FloatArray) -> None:
    """Copy what is below the diagonal above it."""
    for i in range(B.shape[0]):
        for j in range(i):
            B[j, i] = B[i, j]
