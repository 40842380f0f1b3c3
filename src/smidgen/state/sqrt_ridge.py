"""Ridge regression for choosing among candidates: with full A, as a square root of its inverse, or with diagonal A.

Full A is kept as S·Sᵀ = A⁻¹ (Potter 1963 [1]_). xᵀA⁻¹x = ‖Sᵀx‖² can then never come out below zero, however badly
features are scaled, and w + S·z with normal z is a draw from the posterior. One array R holds all of it, a row per
column of the features: S, then w, then the diagonal of A. So one pass over R gives Sᵀx and w·x. What is done with it
stands in `_core/ridge.hpp`. Features may have many more columns than are in use. `slots` says which row of R belongs to
a column, −1 if none does yet: such a column has w = 0 and A = a. Without slots every column has its own row.

Diagonal A has per column its weight and its entry of A, for many columns and sparse rows. With forgetting, λ < 1,
columns fade together but are written only when they are next met: m rounds without an example turn a into
a₀ + λᵐ(a − a₀) and w into λᵐ·a·w over the new a, which is λᵐb over it. So a column also keeps the round in which it was
last written.

References
----------
.. [1] J. E. Potter, R. G. Stern. Statistical filtering of space navigation measurements. AIAA Guidance and Control
   Conference, 1963.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core import choose
from smidgen.arrays import aligned, zeros
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features import Rows
from smidgen.features.rows import DenseRows
from smidgen.state.second_order import Indices

#: Of each candidate: its estimate, its spread (a width in the end), its probability.
Estimates: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
#: Indices, values and row starts. Dense rows have no starts: there the indices are those of every row.
CandidateArrays: TypeAlias = tuple[Indices, FloatArray, IntArray]

#: Instead of the row starts of dense rows.
NO_STARTS: IntArray = np.empty(0, np.int64)


@lru_cache(maxsize=32)
def _everything(dim: int) -> Indices:
    return np.arange(dim, dtype=np.uint32)


def candidate_arrays(rows: Rows) -> CandidateArrays:
    """The arrays of rows; kept with them, as deciding and learning both ask.

    The values may be the caller's: compiled code does not write to them.
    """
    made: CandidateArrays | None = rows.offer
    if made is None:
        if isinstance(rows, DenseRows):
            made = _everything(rows.shape[1]), rows.array.reshape(-1), NO_STARTS
        else:
            made = rows.indices.astype(np.uint32), rows.data, rows.indptr
        rows.offer = made
    return made


Slots = NDArray[np.int32]
#: Outcome of an example: learnt; refused, since a number is not finite; not learnt, for want of free rows.
LEARNT, STRANGE, FULL = 0, 1, 2
#: Initial number of rows if columns claim them one by one.
FEW = 16


def _width(rows: int) -> int:
    """The length of a row of R: S, w and the diagonal of A, filled up to a multiple of eight."""
    return -(-(rows + 2) // 8) * 8


class SqrtRidge:
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
        If given, columns claim rows when they are first used, up to this many; otherwise each column has its own row
        from the start.
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

    def fade(self, offer: CandidateArrays, row: int, y: float) -> int:
        """Learn one row of an offer, and let all before fade."""
        return choose.fade_root(self.R, self.slots, self.used, self.F, offer, row, y, self.ridge, self.keep)

    def missing(self, offer: CandidateArrays, row: int) -> int:
        """Number of rows of R that the columns of an example still lack."""
        idx, val, starts = offer
        if len(starts):
            x, indices = val[starts[row] : starts[row + 1]], idx[starts[row] : starts[row + 1]]
        else:
            x, indices = val[row * len(idx) : (row + 1) * len(idx)], idx
        return int(np.count_nonzero(self.slots[indices[x != 0.0]] < 0))

    def grow(self, rows: int) -> None:
        """Make space for more rows."""
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

    def begin(self, w: FloatArray, a: FloatArray) -> bool:
        """Start from given weights and a diagonal A; says no, and changes nothing, if there are too many columns."""
        known = np.arange(self.dim)
        if self.most is not None:
            known = np.flatnonzero((w != 0.0) | (a != self.ridge))
            if len(known) > self.most:
                return False
            self.R, self.F = self._fresh(max(len(self.R), len(known)))
            self.slots[:] = -1
            self.slots[known], self.used[0] = np.arange(len(known)), len(known)
        rows, every = len(self.R), np.arange(len(known))
        self.R[every, every] = 1.0 / np.sqrt(a[known])
        self.R[every, rows], self.R[every, rows + 1] = w[known], a[known]
        if self.keep < 1.0:
            self.F[every, every], self.F[every, rows] = a[known], a[known] * w[known]
        return True

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        arrays: dict[str, NDArray[Any]] = {"R": self.R}
        arrays |= {} if self.most is None else {"slots": self.slots, "used": self.used}
        return arrays | ({"F": self.F} if self.keep < 1.0 else {})

    def of_rows(self, rows: int) -> dict[str, NDArray[Any]]:
        """Arrays enlarged to this many rows, up to the limit."""
        R, F = self._fresh(max(1, min(rows, self.most or rows)))
        return {"R": R, **({"F": F} if self.keep < 1.0 else {})}

    def check_slots(self, arrays: Any) -> None:
        """Refuse saved slots that are not those of the rows in use, each once: kernels go where they point."""
        slots, used, R = arrays.get("slots"), arrays.get("used"), arrays.get("R")
        if slots is None or used is None or R is None or used.shape != (1,):
            raise InvalidRecord("some of the rows in use are missing", "use a file that Learner.save wrote")
        known = np.sort(slots[slots >= 0])
        if not np.array_equal(known, np.arange(int(used[0]))) or int(used[0]) > len(R) or (slots < -1).any():
            raise InvalidRecord("columns and rows have different lengths", "use a file that Learner.save wrote")

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.R, self.F = aligned(arrays["R"]), arrays.get("F", self.F)
        self.slots, self.used = arrays.get("slots", self.slots), arrays.get("used", self.used)


#: What columns fade by: a₀, λ, and the rounds learnt.
Fading: TypeAlias = tuple[float, float, float]


class ColumnRidge:
    """Weights and the diagonal of A: nnz operations to ask and to learn, 2·dim numbers (3·dim with forgetting).

    It is not ridge regression: columns are corrected each by its own count, by the residual rule that full A obeys, as
    if they were uncorrelated.

    Parameters
    ----------
    dim
        Columns of the features.
    ridge
        a₀; A starts as a₀·I.
    keep
        λ, what is left of the past with every new example.
    """

    covariance = "diagonal"

    def __init__(self, dim: int, ridge: float, keep: float = 1.0) -> None:
        self.ridge, self.keep = ridge, keep
        self.D: FloatArray = np.zeros((dim, 2 if keep == 1.0 else 3))
        self.D[:, 1] = ridge

    @classmethod
    def of(cls, w: FloatArray, a: FloatArray, ridge: float, keep: float, now: float) -> ColumnRidge:
        """State that starts from given weights and a given diagonal, after ``now`` rounds."""
        made = cls(len(w), ridge, keep)
        made.begin(w, a, now)
        return made

    def fading(self, now: float) -> Fading:
        """Parameters for discounting in the kernels: a₀, λ, and the rounds learned."""
        return self.ridge, self.keep, now

    def hear(self, offer: CandidateArrays, row: int, y: float, now: float) -> int:
        """Learn one row of an offer, if that leads to finite numbers."""
        return choose.hear_columns(self.D, offer, row, y, self.fading(now))

    def faded(self, now: float) -> tuple[FloatArray, FloatArray]:
        """The weights and the diagonal of A, as they are after ``now`` rounds."""
        w, a = np.empty(len(self.D)), np.empty(len(self.D))
        choose.faded_columns(self.D, self.fading(now), w, a)
        return w, a

    def begin(self, w: FloatArray, a: FloatArray, now: float) -> None:
        """Start from given weights and a given diagonal, after ``now`` rounds."""
        self.D[:, 0], self.D[:, 1], self.D[:, 2:] = w, a, now

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"D": self.D}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.D = arrays["D"]
