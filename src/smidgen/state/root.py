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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.errors import InvalidRecord
from smidgen.geometry.cholesky import factor, invert_lower
from smidgen.state.classes import Indices
from smidgen.state.offers import Offer, row_indices, row_values, usable
from smidgen.types import FloatArray, IntArray
from smidgen.vector.arrays import dot
from smidgen.vector.memory import aligned, zeros
from smidgen.vector.row_sums import sum_rows

Slots = NDArray[np.int32]
#: Room for the rows of R that an example meets, and for its values there.
Rooms: TypeAlias = tuple[Indices, FloatArray]
#: What became of an example: learnt; refused, since a number is not finite; not learnt, for want of free rows.
LEARNT, STRANGE, FULL = 0, 1, 2
#: How many rows there are at first where columns claim them one by one.
FEW = 16


def _width(rows: int) -> int:
    """The length of a row of R: S, w and the diagonal of A, filled up to a multiple of eight."""
    return -(-(rows + 2) // 8) * 8


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
    R: FloatArray, slots: Slots, idx: Indices, val: FloatArray, rooms: Rooms, out: FloatArray
) -> tuple[float, float]:
    """Out = Sᵀx, zero behind it; returns w·x, and the sum of squares of entries whose columns have no row yet."""
    rows, rest, (where, what) = R.shape[0], 0.0, rooms
    if slots.shape[0] == 0:
        sum_rows(R, idx, val, out)
    else:
        n, rest = _known(slots, idx, val, where, what)
        sum_rows(R, where[:n], what[:n], out)
    mean = float(out[rows])
    for j in range(rows, out.shape[0]):
        out[j] = 0.0
    return mean, rest


@kernel
def room_for(R: FloatArray, slots: Slots) -> Rooms:
    """Room to gather the entries of one row in."""
    n = R.shape[0] if slots.shape[0] > 0 else 0
    return np.empty(n, np.uint32), np.empty(n)


@borrowing
def write_moments(
    R: FloatArray, slots: Slots, offer: Offer, first: int, ridge: float, rooms: Rooms, room: FloatArray, out: FloatArray
) -> None:
    """w·x and xᵀA⁻¹x of the rows from the first-th on, into the first two rows of ``out``."""
    idx, val, starts = offer
    for k in range(out.shape[1]):
        x, indices = row_values(idx, val, starts, first + k), row_indices(idx, starts, first + k)
        mean, rest = lean(R, slots, indices, x, rooms, room)
        out[0, k], out[1, k] = mean, dot(room, room) + rest / ridge


@kernel
def root_moments(R: FloatArray, slots: Slots, offer: Offer, first: int, ridge: float, out: FloatArray) -> None:
    """The same, in room of its own."""
    write_moments(R, slots, offer, first, ridge, room_for(R, slots), np.empty(R.shape[1]), out)


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
        share = shrink * product
        for j in range(out.shape[0]):
            R[i, j] -= share * out[j]
        R[i, rows] += rate * product


@borrowing
def write_step(
    R: FloatArray,
    slots: Slots,
    used: IntArray,
    idx: Indices,
    val: FloatArray,
    y: float,
    rooms: Rooms,
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
    mean, _ = lean(R, slots, idx, val, rooms, out)
    spread = dot(out, out)
    if not (math.isfinite(mean) and math.isfinite(spread)):
        _give_back(slots, idx, used, before)
        return STRANGE
    grown = 1.0 + spread
    _step(R, out, (y - mean) / grown, 1.0 / (grown + math.sqrt(grown)))
    for k in range(idx.shape[0]):
        if val[k] != 0.0:
            row = slots[idx[k]] if many else idx[k]
            R[row, rows + 1] += val[k] * val[k]
    return LEARNT


@kernel
def _step_alone(R: FloatArray, slots: Slots, used: IntArray, idx: Indices, val: FloatArray, y: float) -> int:
    """`write_step` in room of its own."""
    return write_step(R, slots, used, idx, val, y, room_for(R, slots), np.empty(R.shape[1]))


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


class RootRidge:
    """w, a root of A⁻¹ and the diagonal of A: d² operations to ask, 2d² to learn; d³ with forgetting.

    Parameters
    ----------
    dim
        Columns of the features.
    ridge
        a; A starts as a·I.
    keep
        λ, what is left of the past with every new example.
    most
        If given, columns claim rows as they come into use, up to so many; else each has its own from the start.
    """

    covariance = "full"

    def __init__(self, dim: int, ridge: float, keep: float = 1.0, most: int | None = None) -> None:
        self.dim, self.ridge, self.keep, self.most = dim, ridge, keep, most
        self.slots: Slots = np.full(0 if most is None else dim, -1, np.int32)
        self.used: IntArray = np.array([dim if most is None else 0])
        self.R, self.F = self._fresh(dim if most is None else min(FEW, most))

    def _fresh(self, rows: int) -> tuple[FloatArray, FloatArray]:
        R = zeros((rows, _width(rows)), np.float64)
        every = np.arange(rows)
        R[every, every], R[:, rows + 1] = 1.0 / math.sqrt(self.ridge), self.ridge
        F = np.zeros((rows, rows + 1) if self.keep < 1.0 else (0, 0))
        if self.keep < 1.0:
            F[every, every] = self.ridge
        return R, F

    def hear(self, offer: Offer, row: int, y: float) -> int:
        """Learn one row of an offer, if that leads to finite numbers and each of its columns has a row of R."""
        idx, val, starts = offer
        if self.keep < 1.0:
            x, indices = row_values(idx, val, starts, row), row_indices(idx, starts, row)
            return fading_learn(self.R, self.slots, self.used, self.F, indices, x, y, self.ridge, self.keep)
        return root_learn(self.R, self.slots, self.used, idx, val, starts, row, y)

    def missing(self, offer: Offer, row: int) -> int:
        """How many rows of R the columns of an example still lack."""
        idx, val, starts = offer
        x, indices = row_values(idx, val, starts, row), row_indices(idx, starts, row)
        return int(np.count_nonzero(self.slots[indices[x != 0.0]] < 0))

    def grow(self, rows: int) -> None:
        """Make room for more rows."""
        old, R, F = len(self.R), *self._fresh(rows)
        R[:old, :old], R[:old, rows : rows + 2] = self.R[:, :old], self.R[:, old : old + 2]
        if self.keep < 1.0:
            F[:old, :old], F[:old, rows] = self.F[:, :old], self.F[:, old]
        self.R, self.F = R, F

    @property
    def columns(self) -> IntArray:
        """The columns in use, in the order of the rows of R."""
        if self.most is None:
            return np.arange(self.dim)
        known = np.flatnonzero(self.slots >= 0)
        return known[np.argsort(self.slots[known])]

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        w = np.zeros(self.dim)
        w[self.columns] = self.R[: self.used[0], len(self.R)]
        return w

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of A."""
        a = np.full(self.dim, self.ridge)
        a[self.columns] = self.R[: self.used[0], len(self.R) + 1]
        return a

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        arrays: dict[str, NDArray[Any]] = {"R": self.R}
        arrays |= {} if self.most is None else {"slots": self.slots, "used": self.used}
        return arrays | ({"F": self.F} if self.keep < 1.0 else {})

    def of_rows(self, rows: int) -> dict[str, NDArray[Any]]:
        """Arrays as they would be for so many rows, within what there may be."""
        R, F = self._fresh(max(1, min(rows, self.most or rows)))
        return {"R": R, **({"F": F} if self.keep < 1.0 else {})}

    def check_slots(self, arrays: Any) -> None:
        """Refuse saved slots that are not those of the rows in use, each once: kernels go where they point."""
        slots, used, R = arrays.get("slots"), arrays.get("used"), arrays.get("R")
        if slots is None or used is None or R is None or used.shape != (1,):
            raise InvalidRecord("the rows in use are not all there", "give what Learner.save wrote")
        known = np.sort(slots[slots >= 0])
        if not np.array_equal(known, np.arange(int(used[0]))) or int(used[0]) > len(R) or (slots < -1).any():
            raise InvalidRecord("columns and rows do not fit together", "give what Learner.save wrote")

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.R, self.F = aligned(arrays["R"]), arrays.get("F", self.F)
        self.slots, self.used = arrays.get("slots", self.slots), arrays.get("used", self.used)
