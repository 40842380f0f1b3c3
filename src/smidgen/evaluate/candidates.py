"""The argmax over items that go one by one: exact, and cheap.

*Near* scores are in single precision: one product of the features that are left with w. Weights that move along
differences of items need not even that: a step along x_j − x_i moves the score of item k by G_jk − G_ik, G the Gram
matrix, which is kept as 16-bit numbers in units of ``unit``. How wrong a near score can be is known; the items
within twice that of the highest near score, few as they are, get exact scores, whose sums run in the order of the
features, as everywhere else. So the choice is that of `Choice.argmax`, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, kernel
from smidgen.features import as_rows
from smidgen.types import FloatArray, IntArray
from smidgen.vector.arrays import dot
from smidgen.vector.single_scores import highest_score, move_scores

Short = NDArray[np.int16]
Near = NDArray[np.float32]

COLUMNS, MOVES, STALE = 0, 1, 2
UNIT, ERROR, LONGEST = 0, 1, 2

_BLOCK = 1024  # columns that are scored together: their scores stay in the nearest cache
_NEAR = 128  # near scores that share a peak
_MOVES = 96  # steps by the Gram matrix between two products
_ROUNDING = 2.0**-24  # of single precision


class Candidates(NamedTuple):
    """The items that are left for one user."""

    rows: FloatArray  # the features of all items
    features: Near  # dim × columns: those of the items that are left (with a Gram matrix: of all), in any order
    items: IntArray  # the item of each column
    column: IntArray  # the column of each item; −1: gone
    gram: Short  # in units of UNIT, with room for whole blocks; empty if it is not used
    near: Near  # scores by column, with room for whole blocks; −inf: gone, or never there
    peaks: Near  # the highest near score of each block
    counts: IntArray  # COLUMNS; MOVES since the last product; STALE: 1 if w has moved in another way
    errors: FloatArray  # UNIT; ERROR of near scores at most; LONGEST: the largest norm of an item


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Items to choose from, checked once, for streams of many users.

    Parameters
    ----------
    rows
        One row of features per item.
    """

    rows: FloatArray

    @classmethod
    def of(cls, items: Any) -> ItemTable:
        """From a 2-D array or a CSR matrix, or the table itself."""
        if isinstance(items, ItemTable):
            return items
        public = as_rows(items, "items").public()
        dense = public.toarray() if hasattr(public, "toarray") else public
        return cls(np.array(dense, dtype=np.float64, order="C"))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def gram(self) -> tuple[Short, float]:
        """The products of all pairs as 16-bit numbers, and their unit."""
        products = self.rows @ self.rows.T
        unit = float(np.abs(products).max(initial=0.0)) / 32767.0 or 1.0
        gram = np.zeros((len(self), self._room), np.int16)
        gram[:, : len(self)] = np.rint(products / unit)
        return gram, unit

    def candidates(self, near: bool) -> Candidates:
        """All items, for one more user; ``near``: for weights that move along differences of items."""
        n = len(self)
        gram, unit = self.gram if near else (np.empty((0, 0), np.int16), 1.0)
        near_scores = np.zeros(self._room, np.float32)
        near_scores[n:] = -math.inf
        return Candidates(
            rows=self.rows,
            features=self._columns if near else self._columns.copy(),
            items=np.arange(n),
            column=np.arange(n),
            gram=gram,
            near=near_scores,
            peaks=np.zeros(self._room // _NEAR, np.float32),
            counts=np.array([n, 0, 1]),
            errors=np.array([unit, 0.0, self.longest]),
        )

    @property
    def _room(self) -> int:
        """The number of items, rounded up to whole blocks."""
        return -(-len(self) // _NEAR) * _NEAR

    @cached_property
    def longest(self) -> float:
        """The largest norm of an item."""
        return math.sqrt(float((self.rows * self.rows).sum(axis=1).max(initial=0.0)))

    @cached_property
    def _columns(self) -> Near:
        return np.array(self.rows.T, dtype=np.float32, order="C")


@borrowing
def choose(c: Candidates, w: FloatArray) -> int:
    """The item that is left of highest w·x, the first of equals."""
    if not w.any():  # all are equal: no need to score them one by one
        return _first(c)
    if c.counts[STALE] == 1 or c.counts[MOVES] >= _MOVES:
        _product(c, w)
    limit = -math.inf
    for b in range(c.peaks.shape[0]):
        limit = max(limit, c.peaks[b])
    limit -= 2.0 * c.errors[ERROR]
    best, top = -1, -math.inf
    for b in range(c.peaks.shape[0]):
        if c.peaks[b] >= limit:
            for k in range(b * _NEAR, (b + 1) * _NEAR):
                if c.near[k] >= limit:
                    item, score = c.items[k], 0.0
                    for f in range(w.shape[0]):
                        score += c.rows[item, f] * w[f]
                    if score > top or (score == top and item < best):
                        best, top = item, score
    return int(best)


@borrowing
def _first(c: Candidates) -> int:
    item = 0
    while c.column[item] < 0:
        item += 1
    return item


@borrowing
def moved(c: Candidates) -> None:
    """Say that w has moved, no matter how."""
    c.counts[STALE] = 1


@borrowing
def moved_along(c: Candidates, w: FloatArray, better: int, shown: int, rate: float) -> None:
    """Say that w has moved to the given place, by rate·(x_better − x_shown)."""
    if c.gram.shape[0] == 0:
        c.counts[STALE] = 1
        return
    plus, minus, factor = c.gram[better], c.gram[shown], np.float32(rate * c.errors[UNIT])
    for b in range(c.peaks.shape[0]):
        c.peaks[b] = move_scores(c.near, plus, minus, factor, b * _NEAR, (b + 1) * _NEAR)
    largest = c.errors[LONGEST] * (_norm(w) + 2.0 * rate * c.errors[LONGEST])
    c.errors[ERROR] += rate * c.errors[UNIT] + 4.0 * _ROUNDING * largest
    c.counts[MOVES] += 1


@borrowing
def remove(c: Candidates, item: int) -> None:
    """Take one item out; it must still be there. The last column moves to its place, unless G has a say."""
    k = c.column[item]
    c.column[item] = -1
    if c.gram.shape[0] > 0:
        c.near[k] = -math.inf
    else:
        last = c.counts[COLUMNS] - 1
        c.counts[COLUMNS] = last
        if k != last:
            c.items[k], c.near[k] = c.items[last], c.near[last]
            c.column[c.items[k]] = k
            for f in range(c.features.shape[0]):
                c.features[f, k] = c.features[f, last]
        c.near[last] = -math.inf
        _peak(c, last // _NEAR)
    _peak(c, k // _NEAR)


@kernel
def _product(c: Candidates, w: FloatArray) -> None:
    """Near scores of all that are left, and how wrong they can be: rounding of w and x, and of the sum."""
    m, dim, v = c.counts[COLUMNS], w.shape[0], w.astype(np.float32)
    for start in range(0, m, _BLOCK):
        stop = min(start + _BLOCK, m)
        s = c.near[start:stop]
        _set(s, v[0], c.features[0, start:stop])
        f = 1
        while f + 4 <= dim:
            x, y, z = c.features[f, start:stop], c.features[f + 1, start:stop], c.features[f + 2, start:stop]
            _add_four(s, v[f : f + 4], x, y, z, c.features[f + 3, start:stop])
            f += 4
        while f < dim:
            _add(s, v[f], c.features[f, start:stop])
            f += 1
    if c.gram.shape[0] > 0:
        for k in range(m):
            if c.column[k] < 0:
                c.near[k] = -math.inf
    for b in range(c.peaks.shape[0]):
        _peak(c, b)
    c.errors[ERROR] = (dim + 8.0) * _ROUNDING * c.errors[LONGEST] * _norm(w)
    c.counts[MOVES], c.counts[STALE] = 0, 0


@borrowing
def _peak(c: Candidates, b: int) -> None:
    """The highest near score of a block."""
    c.peaks[b] = highest_score(c.near, b * _NEAR, (b + 1) * _NEAR)


@kernel
def _set(s: Near, w: np.float32, x: Near) -> None:
    for k in range(s.shape[0]):
        s[k] = w * x[k]


@kernel
def _add(s: Near, w: np.float32, x: Near) -> None:
    for k in range(s.shape[0]):
        s[k] += w * x[k]


@kernel
def _add_four(s: Near, w: Near, x: Near, y: Near, z: Near, v: Near) -> None:
    a, b, c, d = w[0], w[1], w[2], w[3]
    for k in range(s.shape[0]):
        s[k] = (((s[k] + a * x[k]) + b * y[k]) + c * z[k]) + d * v[k]


@borrowing
def _norm(w: FloatArray) -> float:
    return math.sqrt(dot(w, w))
