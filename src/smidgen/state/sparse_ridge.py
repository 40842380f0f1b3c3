"""Exact ridge regression on very many sparse features: by the examples learnt from, never a d × d matrix."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core import dual, matrix
from smidgen._core import rows as core_rows
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features import Row
from smidgen.features.rows import Compressed
from smidgen.state.dual import shortening
from smidgen.state.ridge import Ridge, check_moments
from smidgen.state.second_order import Block, Indices

Examples: TypeAlias = tuple[Indices, FloatArray, IntArray]
#: Of an estimator: its examples, G, w, a place per feature that is zero between calls, and a.
Kept: TypeAlias = tuple[Examples, FloatArray, FloatArray, FloatArray, float]


class AskedRows(NamedTuple):
    """A ridge estimator that a block of rows asks, and learns from some of them, in compiled code.

    Attributes
    ----------
    counts
        Examples now; and before the block.
    start, squares
        A starts as start·I; the squared lengths of all examples, added up.
    w, indices, values, starts, y
        As `SparseRidge` keeps them, as long as the rows of the block need.
    rows
        The rows of the block: indices, values and where each begins.
    inner
        Their inner products with each other.
    near, solved
        A row for each: k(x) and G·k(x), as long as the block needs; the last ones, of what was learnt in it.
    pivots
        a(1 + xᵀA⁻¹x) of what was learnt, in turn; and which rows these were.
    """

    counts: IntArray
    start: float
    squares: FloatArray
    w: FloatArray
    examples: Examples
    y: FloatArray
    rows: Examples
    inner: FloatArray
    near: FloatArray
    solved: FloatArray
    pivots: FloatArray
    learnt: IntArray


class SparseRidge(Ridge):
    """w in feature space, and the inverse of the examples' Gram matrix in place of A⁻¹ [d × d].

    A⁻¹x = (x − Σ_m [G k(x)]_m x_m)/a with k(x)_m = x_m·x and G = (Gram + aI)⁻¹, exactly. For n examples of s non-zero
    features each: n·s + n² operations per question, memory n² + n·s + d. ``window`` keeps only the latest examples,
    which bounds time and memory. A row longer than 1,000·√a is shortened to that length: next to a longer one, the Gram
    matrix would lose the others to rounding (`shortening`).
    """

    def __init__(self, dim: int, a: float, window: int | None) -> None:
        self._a, self.window = a, window
        self._w: FloatArray = np.zeros(dim)
        self._scratch: FloatArray = np.zeros(dim)
        self._indices: Indices = np.empty(0, np.uint32)
        self._values: FloatArray = np.empty(0)
        self._starts: IntArray = np.zeros(1, np.int64)
        self._y: FloatArray = np.empty(0)
        self._G: FloatArray = np.empty((16, 16))

    @property
    def _kept(self) -> Kept:
        """Arrays that the compiled core reads."""
        return (self._indices, self._values, self._starts), self._G, self._w, self._scratch, self._a

    def _shortened(self, row: Row) -> Row:
        size = shortening(core_rows.squares(row.values), self._a)
        return row if size == 1.0 else Row(row.indices, row.values * size, row.dim)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        row = self._shortened(row)
        return dual.example_moments(self._kept, row.indices, row.values)

    def learn(self, row: Row, y: float) -> None:
        """Add an example; the oldest one goes if the window is full."""
        row = self._shortened(row)
        if self.window is not None and len(self._y) == self.window:
            check_moments(*dual.example_moments(self._kept, row.indices, row.values))
            self._forget_oldest()
        self._make_room(len(self._y) + 1)
        check_moments(*dual.learn_example(self._kept, row.indices, row.values, y))
        there = row.values != 0.0
        self._indices = np.concatenate([self._indices, row.indices[there]])
        self._values = np.concatenate([self._values, row.values[there]])
        self._starts = np.append(self._starts, len(self._values))
        self._y = np.append(self._y, y)

    def _make_room(self, examples: int) -> None:
        """Make space in G for this many examples."""
        n = len(self._y)
        if examples > len(self._G):
            grown = np.empty((max(examples, 2 * n), max(examples, 2 * n)))
            grown[:n, :n] = self._G[:n, :n]
            self._G = grown

    def __len__(self) -> int:
        return len(self._y)

    def asked(self, indices: Indices, values: Block, starts: IntArray, rows: IntArray) -> AskedRows:
        """Answers for several rows of a CSR matrix at once."""
        n, m, dim = len(self), len(rows), len(self._w)
        block = Compressed(values, indices, starts).picked(rows)
        lengths = np.empty(m)
        matrix.write_squared_lengths(block.data, block.starts, lengths)
        sizes = [shortening(own, self._a) for own in lengths.tolist()]
        block.data[:] *= np.repeat(sizes, np.diff(block.starts))
        near, inner, solved = np.zeros((m, n + m)), np.zeros((m, m)), np.zeros((m, n + m))
        matrix.write_products(block, Compressed(self._values, self._indices, self._starts), dim, near)
        matrix.write_products(block, block, dim, inner)
        matrix.add_product(np.ascontiguousarray(near[:, :n]), self._G, n, solved)
        examples = (
            np.concatenate([self._indices, np.zeros(len(block.data), np.uint32)]),
            np.concatenate([self._values, np.zeros(len(block.data))]),
            np.concatenate([self._starts, np.zeros(m, np.int64)]),
        )
        return AskedRows(
            counts=np.array([n, n]),
            start=self._a,
            squares=np.array([core_rows.squares(self._values)]),
            w=self._w,
            examples=examples,
            y=np.concatenate([self._y, np.empty(m)]),
            rows=(block.indices, block.data, block.starts),
            inner=inner,
            near=near,
            solved=solved,
            pivots=np.empty(m),
            learnt=np.empty(m, np.int64),
        )

    def take_over(self, asked: AskedRows) -> None:
        """Keep what was learnt of the rows that asked: G grows by all of it at once."""
        n, before = asked.counts
        added = n - before
        if not added:
            return
        U = np.zeros((added, n))
        for k, i in enumerate(asked.learnt[:added]):
            U[k, : before + k] = asked.solved[i, : before + k]
            U[k, before + k] = -1.0
        self._make_room(n)
        self._G[before:n, :n] = self._G[:before, before:n] = 0.0
        matrix.add_product(np.ascontiguousarray((U / asked.pivots[:added, None]).T), U, n, self._G)
        end = int(asked.examples[2][n])
        self._indices, self._values = asked.examples[0][:end].copy(), asked.examples[1][:end].copy()
        self._starts, self._y = asked.examples[2][: n + 1].copy(), asked.y[:n].copy()

    def _forget_oldest(self) -> None:
        """Drop the first example, and find w again from the others."""
        cut = int(self._starts[1])
        self._indices, self._values = self._indices[cut:].copy(), self._values[cut:].copy()
        self._starts, self._y = self._starts[1:] - cut, self._y[1:].copy()
        dual.forget_first(self._kept, self._y)

    @property
    def positives(self) -> int:
        """Number of current examples with y > 0."""
        return int(np.count_nonzero(self._y > 0.0))

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return self._w.copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        n = len(self._y)
        return {
            "w": self._w,
            "indices": self._indices,
            "values": self._values,
            "lengths": np.diff(self._starts),
            "y": self._y,
            "G": self._G[:n, :n].copy(),
        }

    def restore(self, arrays: Any) -> None:
        """Take over saved arrays."""
        w, y, indices, values, lengths = (arrays[name] for name in ("w", "y", "indices", "values", "lengths"))
        n, starts = len(y), np.concatenate([[0], np.cumsum(lengths)])
        fits = len(lengths) == n and len(indices) == len(values) == starts[-1] and arrays["G"].shape == (n, n)
        if not fits or (lengths < 0).any() or (indices >= len(w)).any():  # compiled code would read beyond the end
            raise InvalidRecord("the arrays of examples have different lengths", "pass the arrays that arrays returned")
        self._w, self._y, self._indices, self._values, self._starts = w, y, indices, values, starts
        self._G = np.empty((max(16, 2 * n), max(16, 2 * n)))
        self._G[:n, :n] = arrays["G"]
