"""Second order: the inverse of A = εI + Σ γ·x·xᵀ, of one learner or of each class, diagonal or full.

With classes there is one weight vector per class, stored by feature: the weights of all classes for one feature lie
side by side. A sparse example touches few features and all classes, so this layout reads memory in the order in which
it lies (class by class it would be an order of magnitude slower). The number of classes is padded to a multiple of
four.

`ActiveColumns` has a matrix per class that grows with the features that have come. Hashed features have many columns
and few in use. What has not come yet has weight 0 and A⁻¹ = I/start, so it needs no space: it adds ‖x‖²/start to a
width, and nothing to a score.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core import geometry as core
from smidgen._core import hinge, second_order
from smidgen.arrays import aligned, empty, zeros
from smidgen.decision import FloatArray

Block = NDArray[Any]  # float64 or float32
Indices = NDArray[np.uint32]


def padded(n_classes: int) -> int:
    """The number of columns that ``n_classes`` take."""
    return -(-n_classes // 4) * 4


class FullSecondOrder:
    """A⁻¹ as a full matrix, kept by rank-one updates.

    Half of the matrix is kept up to date, and the last update waits for the next product, which does both in one pass
    over memory: A⁻¹ = lower − v·vᵀ, v the first row of `waiting` (see symmetric.hpp). `inverse` is the whole of it.

    Parameters
    ----------
    dim
        The number of features N.
    epsilon
        A starts as epsilon·I, and so the inverse as I/epsilon.

    Notes
    -----
    **Cost**: N² floats. Products and updates run in the compiled core (symmetric.hpp), both in one pass: 3N²
    operations.

    Examples
    --------
    >>> from smidgen.state import FullSecondOrder
    >>> FullSecondOrder(dim=2, epsilon=2.0).inverse
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    def __init__(self, dim: int, epsilon: float) -> None:
        self.lower: FloatArray = zeros((dim, dim), np.float64)
        np.fill_diagonal(self.lower, 1.0 / epsilon)
        self.waiting: FloatArray = np.zeros((2, dim))
        self._back = False

    def turn(self) -> bool:
        """True if the next pass over A⁻¹ runs backwards: the rows read last are still in the cache."""
        self._back = not self._back
        return self._back

    def settle(self) -> FloatArray:
        """Do the update that waits; gives A⁻¹, of which only the lower triangle counts."""
        if self.waiting[0].any():
            core.settle(self.lower, self.waiting)
        return self.lower

    @property
    def inverse(self) -> FloatArray:
        """A⁻¹; an update that waits is done on the way."""
        core.mirror(self.settle())
        return self.lower

    @inverse.setter
    def inverse(self, given: FloatArray) -> None:
        self.lower, self.waiting = aligned(np.asarray(given, dtype=np.float64)), np.zeros((2, len(given)))


#: Numbers filled in at a time.
PART = 2_000_000


def _fill(S: Block, inverse: float) -> None:
    """Begin in parts: the memory of a large state takes long to come, and other threads have a turn in between."""
    step = max(1, PART // max(1, S.shape[1]))
    for first in range(0, len(S), step):
        second_order.begin_diagonal(S[first : first + step], inverse)


class DiagonalClasses:
    """w and 1/diag(A) of every class, in one row per feature: columns 0 … C−1 are weights, C … 2C−1 inverses.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    """

    covariance = "diagonal"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any) -> None:
        self._start = start
        self.S: Block = empty((dim, 2 * columns), dtype)
        _fill(self.S, 1.0 / start)
        self.moments: Block = np.empty((2, columns), dtype)  #: space for what `diagonal_moments` writes

    @property
    def columns(self) -> int:
        """Places for classes."""
        return int(self.S.shape[1]) // 2

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        old, C = self.S, self.columns
        self.S = empty((len(old), 2 * columns), old.dtype)
        _fill(self.S, 1.0 / self._start)
        self.S[:, :C], self.S[:, columns : columns + C] = old[:, :C], old[:, C:]
        self.moments = np.empty((2, columns), old.dtype)

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.ascontiguousarray(self.S[:, :n_classes].T, dtype=np.float64)

    def inverses(self, n_classes: int) -> NDArray[np.float64]:
        """The diagonals of A⁻¹, one row per class."""
        C = self.columns
        return np.ascontiguousarray(self.S[:, C : C + n_classes].T, dtype=np.float64)

    def begin(self, weights: NDArray[np.float64]) -> None:
        """Start from these weights, one row per class; A stays as it is."""
        self.S[:, : len(weights)] = weights.T

    def log_determinant(self) -> float:
        """Σ_i log(|A_i| / |A_i,0|)."""
        inverses = self.S[:, self.columns :]
        return float(np.log(inverses.dtype.type(1.0 / self._start) / inverses).sum(dtype=np.float64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"S": self.S}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.S = aligned(arrays["S"])
        self.moments = np.empty((2, self.columns), self.S.dtype)


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
        self.moments: Block = np.empty((2, columns), dtype)  #: space for what the core's `full_moments` writes
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


Slots = NDArray[np.int32]  # by column: where it stands, or −1
FIRST = 16  # columns that it holds at first; it doubles


class ActiveColumns:
    """w and A⁻¹ of every class over the columns in use, up to a limit.

    Parameters
    ----------
    dim, columns
        Features, and places for classes.
    start
        A starts as start·I.
    dtype
        float64 or float32.
    limit
        How many columns may be in use.
    """

    covariance = "full"

    def __init__(self, dim: int, columns: int, start: float, dtype: Any, limit: int) -> None:
        self.start, self.limit = start, limit
        self.slots: Slots = np.full(dim, -1, np.int32)
        self.used = 0
        self.in_use: Indices = np.zeros(limit, np.uint32)  #: column by slot
        self.full = FullClasses(min(FIRST, limit), columns, start, dtype)
        self._where, self._values = np.empty(limit, np.uint32), np.empty(limit, dtype)

    @property
    def columns(self) -> int:
        """Places for classes."""
        return self.full.columns

    def part(self, idx: Indices, val: Block) -> tuple[Indices, Block, int, float]:
        """The part of a row that is in use, how many of its columns are new, and what they add to a width."""
        n, new, beyond = hinge.take_slots(self.slots, idx, val, self._where, self._values)
        return self._where[:n], self._values[:n], new, beyond / self.start

    def use(self, idx: Indices, val: Block, new: int) -> None:
        """Take the new columns of a row into use."""
        self.reserve(self.used + new)
        self.used = hinge.give_slots(self.slots, self.in_use, self.used, idx, val)

    def reserve(self, used: int) -> None:
        """Make space for this many columns."""
        size = old = self.full.W.shape[1]
        while size < used:
            size = min(2 * size, self.limit)
        if size > old:
            grown = FullClasses(size, self.columns, self.start, self.full.W.dtype)
            grown.W[:, :old], grown.B[:old, :, :old] = self.full.W, self.full.B
            self.full = grown

    def widen(self, columns: int) -> None:
        """Make places for more classes, which start as all started."""
        self.full.widen(columns)

    def block(self) -> Block:
        """The weights of all columns, one row per class."""
        W = np.zeros((self.columns, len(self.slots)), self.full.W.dtype)
        W[:, self.in_use[: self.used]] = self.full.W[:, : self.used]
        return W

    def weights(self, n_classes: int) -> NDArray[np.float64]:
        """The weights, one row per class."""
        return np.array(self.block()[:n_classes], dtype=np.float64)

    def diagonals(self) -> NDArray[np.float64]:
        """The diagonals of A, one row per class, for the columns in use."""
        inverses = self.full.inverses(self.columns)[:, : self.used, : self.used]
        found = np.empty((self.columns, self.used))
        for each, out in zip(inverses, found, strict=True):
            second_order.inverse_diagonal(np.ascontiguousarray(each), out)
        return found

    def room_for(self, weights: NDArray[np.float64]) -> bool:
        """True if the columns that have weights can all be in use."""
        return int(np.count_nonzero(weights.any(axis=0))) <= self.limit

    def begin(self, weights: NDArray[np.float64]) -> None:
        """Start from these weights, one row per class, with their columns in use; A stays as it is."""
        columns = np.flatnonzero(weights.any(axis=0)).astype(np.uint32)
        self.use(columns, np.ones(len(columns), self.full.W.dtype), len(columns))
        self.full.W[: len(weights), : self.used] = weights[:, self.in_use[: self.used]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        return {"in_use": self.in_use[: self.used].copy(), **self.full.arrays()}

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        self.used = len(arrays["in_use"])
        self.in_use[: self.used] = arrays["in_use"]
        self.slots[:] = -1
        self.slots[self.in_use[: self.used]] = np.arange(self.used)
        self.full.restore(arrays)
