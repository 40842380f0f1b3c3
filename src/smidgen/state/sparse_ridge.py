"""Exact ridge regression on very many sparse features: by the examples learnt from, never a d × d matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import constant, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features import Row
from smidgen.features.compressed import Compressed, squared_lengths, write_products
from smidgen.state.classes import Block, Indices
from smidgen.state.dual import least_width, shortening
from smidgen.state.full import sparse_dot
from smidgen.state.ridge import Ridge, check_moments
from smidgen.vector.arrays import dot, shift

Examples = tuple[Indices, Block, IntArray]


@kernel
def _inner_products(examples: Examples, n: int, idx: Indices, val: Block, scratch: FloatArray) -> FloatArray:
    """x_m · x for the first n examples; scratch is zero before and after."""
    indices, values, starts = examples
    out = np.empty(n)
    for k in range(idx.shape[0]):
        scratch[idx[k]] = val[k]
    for m in range(n):
        total = 0.0
        for e in range(starts[m], starts[m + 1]):
            total += values[e] * scratch[indices[e]]
        out[m] = total
    for k in range(idx.shape[0]):
        scratch[idx[k]] = 0.0
    return out


@kernel
def _solve(G: FloatArray, n: int, near: FloatArray) -> FloatArray:
    """G · near on the first n rows and columns."""
    out = np.zeros(n)
    for i in range(n):
        for j in range(n):
            out[j] += near[i] * G[i, j]
    return out


@kernel
def _shift(w: FloatArray, examples: Examples, solved: FloatArray, idx: Indices, val: Block, rate: float) -> None:
    """W ← w + rate·(x − Σ_m solved_m·x_m)."""
    indices, values, starts = examples
    for k in range(idx.shape[0]):
        w[idx[k]] += rate * val[k]
    for m in range(solved.shape[0]):
        for e in range(starts[m], starts[m + 1]):
            w[indices[e]] -= rate * solved[m] * values[e]


@kernel
def _grow(G: FloatArray, n: int, solved: FloatArray, pivot: float) -> None:
    """(Gram + aI)⁻¹ with one more example: a Schur complement."""
    for i in range(n):
        for j in range(n):
            G[i, j] += solved[i] * solved[j] / pivot
        G[i, n] = -solved[i] / pivot
        G[n, i] = G[i, n]
    G[n, n] = 1.0 / pivot


@kernel
def _drop_first(G: FloatArray, n: int) -> None:
    """(Gram + aI)⁻¹ without the oldest of n examples."""
    first = G[:n, 0].copy()
    for i in range(1, n):
        for j in range(1, n):
            G[i - 1, j - 1] = G[i, j] - first[i] * first[j] / first[0]


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


@kernel
def asked_moments(r: AskedRows, i: int) -> tuple[float, float]:
    """w·x and xᵀA⁻¹x of the i-th row."""
    indices, values, starts = r.rows
    idx, val, n = indices[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]], r.counts[0]
    own = r.inner[i, i]
    width = (own - dot(r.near[i, :n], r.solved[i, :n])) / r.start
    return sparse_dot(r.w, idx, val), max(width, least_width(own, r.start, r.squares[0]))


@kernel
def asked_learn(r: AskedRows, i: int, y: float, mean: float, width: float) -> None:
    """Learn the i-th row; those after it learn of it.

    With s = G·k(x) and the pivot p of x, a later row z has the product (G·k(z) − c·s, c) with the larger G,
    c = (x·z − s·k(z))/p.
    """
    indices, values, starts = r.rows
    idx, val, n = indices[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]], r.counts[0]
    solved, pivot, added = r.solved[i, :n], r.start * (1.0 + width), n - r.counts[1]
    _shift(r.w, r.examples, solved, idx, val, (y - mean) / (1.0 + width) / r.start)
    for j in range(i + 1, r.near.shape[0]):
        c = (r.inner[i, j] - dot(solved, r.near[j, :n])) / pivot
        shift(r.solved[j, :n], r.solved[j, :n], solved, -c)
        r.near[j, n], r.solved[j, n] = r.inner[i, j], c
    own_indices, own_values, own_starts = r.examples
    end = own_starts[n]
    for k in range(idx.shape[0]):
        if val[k] != 0.0:
            own_indices[end], own_values[end] = idx[k], val[k]
            end += 1
    own_starts[n + 1], r.y[n], r.pivots[added], r.learnt[added] = end, y, pivot, i
    r.squares[0] += r.inner[i, i]
    r.counts[0] = n + 1


class SparseRidge(Ridge):
    """w in feature space, and the inverse of the examples' Gram matrix in place of A⁻¹ [d × d].

    A⁻¹x = (x − Σ_m [G k(x)]_m x_m)/a with k(x)_m = x_m·x and G = (Gram + aI)⁻¹, exactly. For n examples of s
    non-zero features each: n·s + n² operations per question, memory n² + n·s + d. ``window`` keeps the latest
    examples only, and with them a bound on all of it. A row longer than 1,000·√a counts as one of that length: beside a
    longer one, the Gram matrix would lose the others (`shortening`).
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
    def _examples(self) -> Examples:
        return self._indices, self._values, self._starts

    def _ask(self, row: Row) -> tuple[float, float, FloatArray]:
        n = len(self._y)
        near = _inner_products(self._examples, n, row.indices, row.values, self._scratch)
        solved = _solve(self._G, n, near)
        with np.errstate(over="ignore", invalid="ignore"):
            own = float(row.values @ row.values)
            least = least_width(own, self._a, float(self._values @ self._values))
            width = max((own - float(near @ solved)) / self._a, least)  # NaN stays NaN
        return sparse_dot(self._w, row.indices, row.values), width, solved

    def _shortened(self, row: Row) -> Row:
        with np.errstate(over="ignore"):
            size = shortening(float(row.values @ row.values), self._a)
        return row if size == 1.0 else Row(row.indices, row.values * size, row.dim)

    def moments(self, row: Row) -> tuple[float, float]:
        """w·x and xᵀA⁻¹x."""
        mean, width, _ = self._ask(self._shortened(row))
        return mean, width

    def learn(self, row: Row, y: float) -> None:
        """Add an example; the oldest one goes if the window is full."""
        check_moments(*self.moments(row))
        row = self._shortened(row)
        if self.window is not None and len(self._y) == self.window:
            self._forget_oldest()
        mean, width, solved = self._ask(row)
        n = len(self._y)
        _shift(self._w, self._examples, solved, row.indices, row.values, (y - mean) / (1.0 + width) / self._a)
        self._make_room(n + 1)
        _grow(self._G, n, solved, self._a * (1.0 + width))
        there = row.values != 0.0
        self._indices = np.concatenate([self._indices, row.indices[there]])
        self._values = np.concatenate([self._values, row.values[there]])
        self._starts = np.append(self._starts, len(self._values))
        self._y = np.append(self._y, y)

    def _make_room(self, examples: int) -> None:
        """Let G hold so many."""
        n = len(self._y)
        if examples > len(self._G):
            grown = np.empty((max(examples, 2 * n), max(examples, 2 * n)))
            grown[:n, :n] = self._G[:n, :n]
            self._G = grown

    def __len__(self) -> int:
        return len(self._y)

    def asked(self, indices: Indices, values: Block, starts: IntArray, rows: IntArray) -> AskedRows:
        """What some rows of a CSR matrix ask, all at once."""
        n, m, dim = len(self), len(rows), len(self._w)
        block = Compressed(values, indices, starts).picked(rows)
        sizes = [shortening(float(own), self._a) for own in squared_lengths(block.data, block.starts)]
        block.data[:] *= np.repeat(sizes, np.diff(block.starts))
        near, inner, solved = np.zeros((m, n + m)), np.zeros((m, m)), np.zeros((m, n + m))
        write_products(block, Compressed(self._values, self._indices, self._starts), dim, near)
        write_products(block, block, dim, inner)
        solved[:, :n] = near[:, :n] @ self._G[:n, :n]
        examples = (
            np.concatenate([self._indices, np.zeros(len(block.data), np.uint32)]),
            np.concatenate([self._values, np.zeros(len(block.data))]),
            np.concatenate([self._starts, np.zeros(m, np.int64)]),
        )
        return AskedRows(
            counts=np.array([n, n]),
            start=self._a,
            squares=np.array([float(self._values @ self._values)]),
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
        self._G[:n, :n] += (U / asked.pivots[:added, None]).T @ U
        end = int(asked.examples[2][n])
        self._indices, self._values = asked.examples[0][:end].copy(), asked.examples[1][:end].copy()
        self._starts, self._y = asked.examples[2][: n + 1].copy(), asked.y[:n].copy()

    def _forget_oldest(self) -> None:
        """Drop the first example and find w anew: w = Xᵀ(Gram + aI)⁻¹y."""
        n, cut = len(self._y), int(self._starts[1])
        _drop_first(self._G, n)
        self._indices, self._values = self._indices[cut:].copy(), self._values[cut:].copy()
        self._starts, self._y = self._starts[1:] - cut, self._y[1:].copy()
        coefficients = _solve(self._G, n - 1, self._y)
        self._w = np.zeros(len(self._w))
        _shift(self._w, self._examples, -coefficients, constant(self._indices[:0]), self._values[:0], 1.0)

    @property
    def positives(self) -> int:
        """How many of the examples that count have y > 0."""
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
            raise InvalidRecord("the examples do not fit together", "give what arrays gave")
        self._w, self._y, self._indices, self._values, self._starts = w, y, indices, values, starts
        self._G = np.empty((max(16, 2 * n), max(16, 2 * n)))
        self._G[:n, :n] = arrays["G"]
