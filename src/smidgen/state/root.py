"""Ridge regression with full A, kept as a square root of its inverse: S·Sᵀ = A⁻¹ (Potter 1963).

xᵀA⁻¹x = ‖Sᵀx‖² can then never come out below zero, however badly features are scaled, and w + S·z with normal z is a
draw from the posterior. One array R holds all of it, a row per column of the features: S, then w, then the diagonal of
A. So one pass over R gives Sᵀx and w·x.

Features may have many more columns than are in use. `slots` says which row of R belongs to a column, −1 if none does
yet: such a column has w = 0 and A = a. Without slots every column has its own row.

References
----------
.. [1] J. E. Potter, R. G. Stern. Statistical filtering of space navigation measurements. AIAA Guidance and Control
   Conference, 1963.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.geometry.cholesky import factor, invert_lower
from smidgen.state.classes import Indices
from smidgen.state.offers import Estimates, Offer, row_indices, row_values, usable
from smidgen.vector.arrays import dot, shift
from smidgen.vector.row_sums import sum_all_rows, sum_rows

Slots = NDArray[np.int32]
#: Space for the rows of R that an example meets, and for its values there.
Scratch: TypeAlias = tuple[Indices, FloatArray]
#: What became of an example: learnt; refused, since a number is not finite; not learnt, for want of free rows.
LEARNT, STRANGE, FULL = 0, 1, 2


@inlined
def _known(slots: Slots, idx: Indices, val: FloatArray, where: Indices, what: FloatArray) -> tuple[int, float]:
    """Gather the entries whose columns have rows; their number, and the sum of squares of the others."""
    n, rest = 0, 0.0
    for k in range(idx.shape[0]):
        x = val[k]
        if x != 0.0:
            slot = slots[idx[k]]
            if slot < 0:
                rest += x * x
            else:
                where[n], what[n] = slot, x
                n += 1
    return n, rest


@inlined
def lean(
    R: FloatArray, slots: Slots, idx: Indices, val: FloatArray, scratch: Scratch, out: FloatArray
) -> tuple[float, float]:
    """Out = Sᵀx, zero behind it; returns w·x, and the sum of squares of entries whose columns have no row yet."""
    rows, rest, (where, what) = R.shape[0], 0.0, scratch
    if slots.shape[0] == 0 and val.shape[0] == rows:  # indices are sorted and differ: so these are all of them
        sum_all_rows(R, val, out)
    elif slots.shape[0] == 0:
        sum_rows(R, idx, val, out)
    else:
        n, rest = _known(slots, idx, val, where, what)
        sum_rows(R, where[:n], what[:n], out)
    mean = float(out[rows])
    for j in range(rows, out.shape[0]):
        out[j] = 0.0
    return mean, rest


@kernel
def scratch_for(R: FloatArray, slots: Slots, idx: Indices) -> Scratch:
    """Space to gather the entries of one row in; without slots none is needed, and nothing is made."""
    if slots.shape[0] == 0:
        return idx[:0], R[0][:0]
    return np.empty(R.shape[0], np.uint32), np.empty(R.shape[0])


@borrowing
def write_moments(
    R: FloatArray,
    slots: Slots,
    offer: Offer,
    first: int,
    ridge: float,
    scratch: Scratch,
    leans: FloatArray,
    out: Estimates,
) -> None:
    """w·x and xᵀA⁻¹x of the rows from the first-th on; ``leans`` keeps Sᵀx of each, if it has as many rows."""
    idx, val, starts = offer
    for k in range(out[0].shape[0]):
        x, indices = row_values(idx, val, starts, first + k), row_indices(idx, starts, first + k)
        work = leans[min(k, leans.shape[0] - 1)]
        mean, rest = lean(R, slots, indices, x, scratch, work)
        out[0][k], out[1][k] = mean, dot(work, work) + rest / ridge


@kernel
def root_moments(R: FloatArray, slots: Slots, offer: Offer, first: int, ridge: float, out: Estimates) -> None:
    """The same, with scratch of its own."""
    write_moments(R, slots, offer, first, ridge, scratch_for(R, slots, offer[0]), np.empty((1, R.shape[1])), out)


@inlined
def _claim(slots: Slots, idx: Indices, val: FloatArray, used: int) -> int:
    """Give a row to every column of an example that has none; returns how many rows are in use then."""
    for k in range(idx.shape[0]):
        if val[k] != 0.0 and slots[idx[k]] < 0:
            slots[idx[k]] = used
            used += 1
    return used


@inlined
def _new_columns(slots: Slots, idx: Indices, val: FloatArray) -> int:
    new = 0
    for k in range(idx.shape[0]):
        new += val[k] != 0.0 and slots[idx[k]] < 0
    return new


@inlined
def _step(R: FloatArray, out: FloatArray, rate: float, shrink: float) -> None:
    """S ← S − shrink·(S·out)·outᵀ, w ← w + rate·S·out, in one pass; out is zero behind Sᵀx."""
    rows = R.shape[0]
    for i in range(rows):
        product = dot(R[i], out)
        shift(R[i], R[i], out, -(shrink * product))
        R[i, rows] += rate * product


@borrowing
def write_step(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    idx: Indices,
    val: FloatArray,
    y: float,
    scratch: Scratch,
    out: FloatArray,
) -> int:
    """A ← A + xxᵀ, w ← w + (y − w·x)·A_new⁻¹x; changes nothing where it cannot."""
    rows, many = R.shape[0], slots.shape[0] > 0
    if not usable(val):
        return STRANGE
    if many and used[0] + _new_columns(slots, idx, val) > rows:
        return FULL
    before = used[0]
    if many:
        used[0] = _claim(slots, idx, val, before)
    mean, _ = lean(R, slots, idx, val, scratch, out)
    if not _absorb(R, slots, idx, val, y, mean, out):
        _give_back(slots, idx, used, before)
        return STRANGE
    return LEARNT


@inlined
def _absorb(
    R: FloatArray, slots: Slots, idx: Indices, val: FloatArray, y: float, mean: float, lean_of_x: FloatArray
) -> bool:
    """The step of an example whose w·x and Sᵀx are known, if that leads to finite numbers."""
    rows, spread = R.shape[0], dot(lean_of_x, lean_of_x)
    if not (math.isfinite(mean) and math.isfinite(spread)):
        return False
    grown = 1.0 + spread
    _step(R, lean_of_x, (y - mean) / grown, 1.0 / (grown + math.sqrt(grown)))
    for k in range(idx.shape[0]):
        if val[k] != 0.0:
            row = slots[idx[k]] if slots.shape[0] > 0 else idx[k]
            R[row, rows + 1] += val[k] * val[k]
    return True


@borrowing
def write_known_step(
    R: FloatArray, slots: Slots, idx: Indices, val: FloatArray, y: float, mean: float, lean_of_x: FloatArray
) -> int:
    """`write_step` of an example whose w·x and Sᵀx `write_moments` has just left; every column has its own row."""
    return LEARNT if usable(val) and _absorb(R, slots, idx, val, y, mean, lean_of_x) else STRANGE


@kernel
def _step_alone(R: FloatArray, slots: Slots, used: IntArray, idx: Indices, val: FloatArray, y: float) -> int:
    """`write_step` with scratch of its own."""
    return write_step(R, slots, used, idx, val, y, scratch_for(R, slots, idx), np.empty(R.shape[1]))


@borrowing
def root_learn(
    R: FloatArray, slots: Slots, used: IntArray, idx: Indices, val: FloatArray, starts: IntArray, row: int, y: float
) -> int:
    """The same for one of the rows of an offer."""
    x, indices = row_values(idx, val, starts, row), row_indices(idx, starts, row)
    return _step_alone(R, slots, used, indices, x, y)


@inlined
def _give_back(slots: Slots, idx: Indices, used: IntArray, before: int) -> None:
    """Undo `_claim`."""
    if slots.shape[0] > 0:
        for k in range(idx.shape[0]):
            if slots[idx[k]] >= before:
                slots[idx[k]] = -1
        used[0] = before


@kernel
def fading_learn(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    F: FloatArray,
    idx: Indices,
    val: FloatArray,
    y: float,
    ridge: float,
    keep: float,
) -> int:
    """A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx, and R from them; F holds A, and behind it b."""
    rows, many = R.shape[0], slots.shape[0] > 0
    if not usable(val):
        return STRANGE
    if many and used[0] + _new_columns(slots, idx, val) > rows:
        return FULL
    if many:
        used[0] = _claim(slots, idx, val, used[0])
    n = used[0] if many else rows
    for i in range(n):
        for j in range(n):
            F[i, j] *= keep
        F[i, i] += (1.0 - keep) * ridge
        F[i, rows] *= keep
    for e in range(idx.shape[0]):
        if val[e] != 0.0:
            row = slots[idx[e]] if many else np.int32(idx[e])
            for h in range(idx.shape[0]):
                if val[h] != 0.0:
                    F[row, slots[idx[h]] if many else np.int32(idx[h])] += val[e] * val[h]
            F[row, rows] += y * val[e]
    _renew(R, F, n, ridge)
    return LEARNT


@kernel
def _renew(R: FloatArray, F: FloatArray, n: int, ridge: float) -> None:
    """R from A and b: A = L·Lᵀ, S = L⁻ᵀ, w = S·Sᵀb."""
    rows, L, X, u = R.shape[0], np.empty((n, n)), np.empty((n, n)), np.zeros(n)
    factor(F, n, ridge, L)
    invert_lower(L, n, X)
    for j in range(n):
        for i in range(n):
            u[j] += X[j, i] * F[i, rows]
            R[i, j] = X[j, i]
    for i in range(n):
        R[i, rows], R[i, rows + 1] = 0.0, F[i, i]
    for j in range(n):
        for i in range(n):
            R[i, rows] += X[j, i] * u[j]
