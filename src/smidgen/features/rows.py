"""Rows of features, dense or sparse (CSR): checked once at the entrance, then only read.

`as_rows` is the entrance. What it returns never changes: arrays that the caller could still write to are copied
(pass a read-only array to share it), so a decision learns from what was shown, whatever happens to the
caller's array in the meantime.

Sparse rows are three arrays here (`Compressed`), not scipy's: scipy would be a quarter of what a service has to
install. Products are summed in the order in which scipy sums them, so the bits are the same. Scores, lengths,
differences and unit columns of rows are below.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core import matrix
from smidgen.arrays import is_sparse_type, read_only, scipy
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures


class Compressed(NamedTuple):
    """Row i has the values ``data[starts[i]:starts[i + 1]]`` in the columns ``indices[starts[i]:starts[i + 1]]``."""

    data: NDArray[Any]
    indices: NDArray[Any]
    starts: IntArray

    def row_of_each(self) -> IntArray:
        """The row of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def laid_out(self, dim: int) -> FloatArray:
        """All rows as one dense array."""
        out = np.zeros((len(self.starts) - 1, dim))
        out[self.row_of_each(), self.indices] += self.data  # added, not assigned: -0.0 becomes 0.0
        return out

    def joined(self, more: Compressed) -> Compressed:
        """These rows, and more below them."""
        return Compressed(
            np.concatenate([self.data, more.data]),
            np.concatenate([self.indices, more.indices]),
            np.concatenate([self.starts, self.starts[-1] + more.starts[1:]]),
        )

    def picked(self, rows: IntArray) -> Compressed:
        """Some of the rows, in the order that is asked for."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Compressed(self.data[places], self.indices[places], starts)


def compressed(array: FloatArray) -> Compressed:
    """The non-zero entries of a dense array."""
    rows, columns = np.nonzero(array)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(array)))])
    return Compressed(array[rows, columns], columns, starts)


def in_order(data: Any, indices: Any, starts: Any, dim: int) -> Compressed:
    """Three arrays, checked: columns rise within each row, none of them twice. A ValueError says what does not fit."""
    values, where, bounds = np.asarray(data), np.asarray(indices), np.asarray(starts)
    if any(array.ndim != 1 for array in (values, where, bounds)) or len(where) != len(values) or not len(bounds):
        raise ValueError("its values, columns and row starts have different lengths")
    if (where.dtype.kind not in "iu" and len(where)) or bounds.dtype.kind not in "iu":
        raise ValueError("columns and row starts must be whole numbers")
    where, bounds = where.astype(np.int64), bounds.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any():
        raise ValueError("row starts must rise from 0 to the number of values")
    if len(where) and not (where.min() >= 0 and where.max() < dim):
        raise ValueError("an index is out of range")
    parts = Compressed(values, where, bounds)
    row = parts.row_of_each()
    if ((np.diff(where) > 0) | (np.diff(row) > 0)).all():
        return parts
    order = np.lexsort((where, row))
    where, row, values = where[order], row[order], values[order]
    first = np.concatenate([[True], (np.diff(where) > 0) | (np.diff(row) > 0)])
    sums = np.zeros(int(first.sum()), np.result_type(values.dtype, np.float64))
    np.add.at(sums, np.cumsum(first) - 1, values)
    counts = np.bincount(row[first], minlength=len(bounds) - 1)
    return Compressed(sums, where[first], np.concatenate([[0], np.cumsum(counts)]))


ROWS = 32  # as in _core/matrix.cpp


def in_blocks(rows: FloatArray) -> FloatArray:
    """A copy of the rows in blocks, the last one filled up with zeros: line k·dim + j is feature j of block k."""
    n, d = rows.shape
    blocks = np.zeros((-(-n // ROWS) * d, ROWS))
    matrix.write_blocks(rows, blocks)
    return blocks


#: Vectors longer than this are refused where lengths are squared and multiplied: floating point ends at 1e308.
LONGEST = 1e100
#: A matrix of at least this many numbers is copied into blocks once it has been read more than a few times.
LARGE, FEW = 10_000, 8


NO_ARMS: NDArray[np.uint32] = np.empty(0, np.uint32)
NO_ARMS.flags.writeable = False


@lru_cache(maxsize=1024)
def arm_names(ids: tuple[str | int, ...]) -> NDArray[np.uint32]:
    """Names of candidates in one word each, never 0, for learners that know candidates by their ids."""
    names = np.array([zlib.crc32(str(each).encode("utf-8", "surrogatepass")) or 1 for each in ids], np.uint32)
    names.flags.writeable = False
    return names


class Direction(NamedTuple):
    """The vectors of a context that a learner crosses with its candidates: their columns and values.

    ``groups`` has a line of keys of categories per candidate (0: none), ``names`` what `arm_names` says, or nothing.
    """

    columns: NDArray[np.uint32]
    values: FloatArray
    groups: NDArray[np.uint32]
    names: NDArray[np.uint32]


class DenseRows:
    """An n × dim matrix whose rows describe candidates."""

    __slots__ = ("_blocks", "_readings", "arms", "array", "direction", "offer", "shape")

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self.shape: tuple[int, int] = array.shape  #: number of rows, number of features
        self._blocks: FloatArray | None = None
        self._readings = 0
        self.offer: Any = (
            None  #: for `smidgen.state.sqrt_ridge`: the same as compiled code reads it, once that was asked for
        )
        self.arms: NDArray[np.uint32] = NO_ARMS  #: whose rows they are, as `arm_names` says it; nothing if not known
        self.direction: Direction | None = None  #: the vectors of their context, for a learner that crosses them

    def scores(self, w: FloatArray, often: bool = False) -> FloatArray:
        """The inner product of each row with ``w``.

        Of rows that are asked ``often``, a second copy is made at some point that gives the same answers sooner.
        """
        n, dim = self.shape
        out, weights = np.empty(n), as_weights(w, dim)
        if often and self._blocks is None and n * dim >= LARGE:
            self._readings += 1
            self._blocks = in_blocks(self.array) if self._readings > FEW else None
        if self._blocks is None:
            matrix.write_dense_scores(self.array, weights, out)
        else:
            matrix.write_block_scores(self._blocks, weights, out)
        return out

    def combine(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Σ_k weight_k · row[index_k], as a dense vector."""
        out = np.empty(self.shape[1])
        matrix.combine_dense(self.array, index, weight, out)
        return out

    def stacked(self, more: Rows) -> Rows:
        """These rows, followed by more of the same dimension."""
        return as_rows(np.vstack([self.array, more.dense()]))

    def scaled(self, factor: float) -> Rows:
        """The rows times a factor."""
        return as_rows(self.array * factor)

    def parts(self) -> Compressed:
        """The non-zero entries of the rows, as three arrays."""
        return compressed(self.array)

    def dense(self) -> FloatArray:
        """The rows as one dense array."""
        return self.array

    def public(self) -> FloatArray:
        """The rows in the form in which users hand them over."""
        return self.array

    def to_record(self) -> Any:
        """The rows as a value that `smidgen.serialization` can write."""
        return self.array


class SparseRows:
    """Rows as three arrays (compressed sparse rows)."""

    __slots__ = ("arms", "data", "dim", "direction", "indices", "indptr", "offer", "shape")

    def __init__(self, data: FloatArray, indices: IntArray, indptr: IntArray, dim: int) -> None:
        self.data, self.indices, self.indptr, self.dim = data, indices, indptr, dim
        self.shape: tuple[int, int] = (len(indptr) - 1, dim)  #: number of rows, number of features
        self.offer: Any = None  #: as of dense rows
        self.arms: NDArray[np.uint32] = NO_ARMS  #: as of dense rows
        self.direction: Direction | None = None  #: as of dense rows

    def scores(self, w: FloatArray, often: bool = False) -> FloatArray:
        """The inner product of each row with ``w``."""
        out = np.empty(self.shape[0])
        matrix.write_sparse_scores((self.data, self.indices, self.indptr), as_weights(w, self.dim), out)
        return out

    def combine(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Σ_k weight_k · row[index_k], as a dense vector."""
        out = np.empty(self.dim)
        matrix.combine_sparse((self.data, self.indices, self.indptr), index, weight, out)
        return out

    def stacked(self, more: Rows) -> Rows:
        """These rows, followed by more of the same dimension."""
        return sparse_rows(*self.parts().joined(more.parts()), self.dim)

    def scaled(self, factor: float) -> Rows:
        """The rows times a factor."""
        return sparse_rows(self.data * factor, self.indices, self.indptr, self.dim)

    def parts(self) -> Compressed:
        """The rows as three arrays."""
        return Compressed(self.data, self.indices, self.indptr)

    def dense(self) -> FloatArray:
        """The rows as one dense array."""
        return self.parts().laid_out(self.dim)

    def public(self) -> Any:
        """The rows as a scipy CSR array."""
        sparse = scipy("sparse", "a matrix of sparse rows")
        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def to_record(self) -> Any:
        """The rows as a value that `smidgen.serialization` can write."""
        return {"data": self.data, "indices": self.indices, "indptr": self.indptr, "dim": self.dim}


Rows: TypeAlias = DenseRows | SparseRows


def is_sparse(value: object) -> bool:
    """True if ``value`` is a SciPy sparse matrix or array."""
    return is_sparse_type(type(value))


def as_rows(value: Any, name: str = "features") -> Rows:
    """Check a matrix of features at the entrance and return it as rows that never change.

    Parameters
    ----------
    value
        A 2-D array of numbers, a list of equally long lists, or a scipy sparse matrix.
    name
        What to call it in a refusal.
    """
    if isinstance(value, (DenseRows, SparseRows)):
        return value
    if isinstance(value, dict):
        return _from_record(value, name)
    return from_scipy(value, name) if is_sparse(value) else _from_array(value, name)


def all_rows(values: Sequence[Any], name: str = "features") -> list[Rows]:
    """Apply `as_rows` to each value. Read-only dense arrays are checked in one pass."""
    plain = all(
        type(each) is np.ndarray and each.dtype == np.float64 and each.ndim == 2 and each.size for each in values
    )
    if plain and not any(each.flags.writeable or each.base is not None for each in values):
        numbers = np.concatenate([each.ravel() for each in values]) if values else np.empty(0)
        if all(each.flags.c_contiguous for each in values) and np.isfinite(numbers).all():
            return [DenseRows(each) for each in values]
    return [as_rows(each, name) for each in values]


def as_weights(w: Any, dim: int) -> FloatArray:
    """Check a weight vector against the features: a kernel would read beyond its end."""
    weights = np.ascontiguousarray(w, dtype=np.float64)
    if weights.shape != (dim,):
        raise InvalidFeatures(
            f"the weights have shape {weights.shape} and there are {dim} features", f"give {dim} weights as a 1-D array"
        )
    return weights


def check_dim(rows: Rows, dim: int, name: str) -> None:
    """Refuse rows that a learner of ``dim`` features cannot score."""
    if rows.shape[1] != dim:
        raise InvalidFeatures(
            f"{name} has {rows.shape[1]} features and the learner has dim={dim}",
            f"give {dim} features, or make a learner with dim={rows.shape[1]}",
        )


def _from_array(value: Any, name: str) -> DenseRows:
    hint = "give one row of finite numbers per candidate, e.g. np.array([[0.2, 1.0], [0.7, 0.0]])"
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"{name} is not a matrix: {error}", hint) from error
    if given.dtype.kind not in "fiub":
        raise InvalidFeatures(f"{name} has dtype {given.dtype} and must hold real numbers", hint)
    if given.ndim != 2 or 0 in given.shape:
        raise InvalidFeatures(f"{name} has shape {given.shape} and must be n × dim with n, dim >= 1", hint)
    array = np.ascontiguousarray(given, dtype=np.float64)
    if np.may_share_memory(array, given) and not _constant(given):
        array = array.copy()
    check_finite(array, name, hint)
    array.flags.writeable = False
    return DenseRows(array)


def _constant(array: Any) -> bool:
    """True if an array is read-only, and so is every array that it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def from_scipy(value: Any, name: str) -> SparseRows:
    """Check a sparse matrix: sorted, without duplicates, finite, and a copy."""
    hint = "give a CSR matrix of finite numbers with one row per candidate"
    if value.dtype.kind not in "fiub":
        raise InvalidFeatures(f"{name} has dtype {value.dtype} and must hold real numbers", hint)
    if value.ndim != 2 or 0 in value.shape:
        raise InvalidFeatures(f"{name} has shape {value.shape} and must be n × dim with n, dim >= 1", hint)
    try:  # before the conversion, which trusts the indices and would write wherever they point
        if hasattr(value, "check_format"):
            value.check_format(full_check=True)
        elif hasattr(value, "coords") and any(
            len(where) and not (where.min() >= 0 and where.max() < size)
            for where, size in zip(value.coords, value.shape, strict=True)
        ):
            raise ValueError("an index is out of range")
    except ValueError as error:
        raise InvalidFeatures(f"{name} is not a valid sparse matrix: {error}", hint) from error
    csr = value.tocsr(copy=True)
    csr.sum_duplicates()
    return _frozen(Compressed(csr.data, csr.indices, csr.indptr), csr.shape[1], name, hint)


def _from_record(value: dict[str, Any], name: str) -> SparseRows:
    if value.keys() != {"data", "indices", "indptr", "dim"}:
        raise InvalidFeatures(f"{name} is a dict", "give a 2-D array or a CSR matrix, one row per candidate")
    return sparse_rows(value["data"], value["indices"], value["indptr"], value["dim"], name)


def sparse_rows(data: Any, indices: Any, starts: Any, dim: int, name: str = "features") -> SparseRows:
    """Check three arrays of compressed rows: whatever they hold, the rows are in order, finite, and a copy.

    Examples
    --------
    >>> from smidgen.features.rows import sparse_rows
    >>> sparse_rows([0.5, 2.0, 1.0], [3, 0, 1], [0, 2, 3], dim=4).dense()
    array([[2. , 0. , 0. , 0.5],
           [0. , 1. , 0. , 0. ]])
    """
    hint = "give a CSR matrix of finite numbers with one row per candidate"
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
        raise InvalidFeatures(f"{name} has dim={dim!r} and must have a whole number of features", hint)
    try:
        parts = in_order(data, indices, starts, dim)
    except ValueError as error:
        raise InvalidFeatures(f"{name} is not a valid sparse matrix: {error}", hint) from error
    if parts.data.dtype.kind not in "fiub":
        raise InvalidFeatures(f"{name} has dtype {parts.data.dtype} and must hold real numbers", hint)
    if len(parts.starts) < 2 or dim < 1:
        raise InvalidFeatures(f"{name} has shape {len(parts.starts) - 1, dim} and must be n × dim, n, dim >= 1", hint)
    return _frozen(parts, dim, name, hint)


def _frozen(parts: Compressed, dim: int, name: str, hint: str) -> SparseRows:
    data, where, starts = parts.data.astype(np.float64), parts.indices.astype(np.int64), parts.starts.astype(np.int64)
    check_finite(data, name, hint)
    for array in (data, where, starts):
        array.flags.writeable = False
    return SparseRows(data, where, starts, int(dim))


def check_finite(array: NDArray[Any], name: str, hint: str) -> None:
    """Refuse an array that holds NaN or infinity."""
    if array.dtype == np.float64 and math.isfinite(np.vdot(array, array)):  # the quick way; squares may be too large
        return
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise InvalidFeatures(f"{name} holds {bad} and must be finite", hint)


def dense_scores(rows: FloatArray, w: FloatArray) -> FloatArray:
    """Rows @ w as a new array; each sum runs in the order of the features, as for sparse rows."""
    out = np.empty(len(rows))
    matrix.write_dense_scores(rows, w, out)
    return out


#: Largest length that is reported.
END = math.ldexp(1.0, 1000)


def longest_row(rows: Rows) -> float:
    """The length of the longest row; 0 if all are zero."""
    if isinstance(rows, DenseRows):
        return longest(rows.array)
    largest = float(np.abs(rows.data).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    squares = np.add.reduceat(np.append((rows.data / largest) ** 2, 0.0), rows.indptr[:-1])
    squares[np.diff(rows.indptr) == 0] = 0.0
    return min(largest * math.sqrt(float(squares.max())), END)


def longest(rows: NDArray[np.float64]) -> float:
    """Length of the longest row of a dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.features.rows import longest
    >>> longest(np.array([[3e200, 4e200], [1.0, 0.0]]))
    5e+200
    """
    squares = max(np.einsum("ij,ij->i", rows, rows).tolist(), default=0.0)
    if 1e-200 < squares < math.inf:
        return math.sqrt(squares)
    with np.errstate(over="ignore", under="ignore"):
        largest = float(np.abs(rows).max(initial=0.0))
        if largest == 0.0:
            return 0.0
        shares = rows / largest
        return min(largest * math.sqrt(float(np.einsum("ij,ij->i", shares, shares).max())), END)


def longest_of_each(rows: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Length of the longest row in each of several stacked matrices. ``starts`` has their ends too."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.maximum.reduceat(np.einsum("ij,ij->i", rows, rows), starts[:-1])
    out: NDArray[np.float64] = np.sqrt(squares)
    for i in np.flatnonzero(~((squares > 1e-200) & (squares < math.inf))).tolist():
        out[i] = longest(rows[starts[i] : starts[i + 1]])
    return out


def unit_columns(rows: Rows) -> Rows:
    """The rows with each column scaled to [0, 1]. A column that is equal in all rows becomes 0.

    Sparse rows stay sparse: features that occur in no row are the same in all of them.
    """
    if isinstance(rows, DenseRows):
        out = np.empty(rows.shape)
        matrix.write_unit_columns(rows.array, out)
        return DenseRows(read_only(out))
    n = rows.shape[0]
    columns, where = np.unique(rows.indices, return_inverse=True)
    block, out = np.zeros((n, len(columns))), np.empty((n, len(columns)))
    block[np.repeat(np.arange(n), np.diff(rows.indptr)), where] = rows.data
    matrix.write_unit_columns(block, out)
    starts = np.arange(n + 1) * len(columns)
    return SparseRows(read_only(out.ravel()), read_only(np.tile(columns, n)), read_only(starts), rows.dim)


def unit_queries(X: FloatArray, starts: IntArray) -> FloatArray:
    """Scale many stacked blocks of rows, each by itself. The blocks begin at ``starts``."""
    out = np.empty(X.shape)
    matrix.write_unit_queries(X, starts, out)
    return out


def differences(rows: Rows, pairs: IntArray) -> FloatArray:
    """Row minus row for each of the pairs, as dense vectors."""
    out = np.empty((len(pairs), rows.shape[1]))
    if isinstance(rows, DenseRows):
        matrix.write_dense_differences(rows.array, pairs, out)
    else:
        matrix.write_sparse_differences((rows.data, rows.indices, rows.indptr), pairs, out)
    return out
