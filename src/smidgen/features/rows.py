"""Rows of features, dense or sparse (CSR): checked once at the entrance, then only read.

`as_rows` is the entrance. What it returns never changes: arrays that the caller could still write to are copied
(pass a read-only array to share it), so a decision learns from what was shown, whatever happens to the
caller's array in the meantime.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures
from smidgen.features.blocks import in_blocks, write_block_scores
from smidgen.vector.lanes import prefetch_later

#: Vectors longer than this are refused where lengths are squared and multiplied: floating point ends at 1e308.
LONGEST = 1e100
#: A matrix of so many numbers is copied into blocks once it has been read more than a few times.
LARGE, FEW = 10_000, 8
#: Memory is asked for so many numbers ahead: they should fit into the second cache.
AHEAD = 32_768

Four: TypeAlias = tuple[float, float, float, float]


@inlined
def _add_four(rows: FloatArray, i: int, w: FloatArray, first: int, last: int, sums: Four) -> Four:
    """The sums of rows i … i + 3 with what the features first … last − 1 add to them."""
    s0, s1, s2, s3 = sums
    for j in range(first, last):
        s0 += rows[i, j] * w[j]
        s1 += rows[i + 1, j] * w[j]
        s2 += rows[i + 2, j] * w[j]
        s3 += rows[i + 3, j] * w[j]
    return s0, s1, s2, s3


@inlined
def _row_score(row: FloatArray, w: FloatArray) -> float:
    total = 0.0
    for j in range(w.shape[0]):
        total += row[j] * w[j]
    return total


@kernel
def _write_dense_scores(rows: FloatArray, w: FloatArray, out: FloatArray) -> None:
    """Out = rows @ w. Four rows at once; each sum runs in the order of the features, as in the sparse kernel."""
    n, d = rows.shape
    m = n - n % 4
    for i in range(0, m, 4):
        out[i], out[i + 1], out[i + 2], out[i + 3] = _add_four(rows, i, w, 0, d, (0.0, 0.0, 0.0, 0.0))
    for i in range(m, n):
        out[i] = _row_score(rows[i], w)


@kernel
def dense_scores(rows: FloatArray, w: FloatArray) -> FloatArray:
    """Rows @ w as a new array."""
    out = np.empty(rows.shape[0])
    _write_dense_scores(rows, w, out)
    return out


@kernel
def write_scores_ahead(X: FloatArray, first: int, last: int, then: int, w: FloatArray, out: FloatArray) -> None:
    """`dense_scores` of the rows first … last − 1 of X; meanwhile memory is asked for what comes after them.

    That are the rows from ``then`` on. So memory is not idle while the scores are made use of.
    """
    n, d = last - first, X.shape[1]
    m, whole, ahead = n - n % 4, d - d % 8, min(n * d, AHEAD)
    for k in range(0, m, 4):
        i, sums = first + k, (0.0, 0.0, 0.0, 0.0)
        at = i * d + ahead
        if at >= last * d:
            at += (then - last) * d
        for j in range(0, whole, 8):
            for line in range(0, 32, 8):
                prefetch_later(X, at + line)
            at += 32
            sums = _add_four(X, i, w, j, j + 8, sums)
        out[k], out[k + 1], out[k + 2], out[k + 3] = _add_four(X, i, w, whole, d, sums)
    for k in range(m, n):
        out[k] = _row_score(X[first + k], w)


@kernel
def scores_ahead(X: FloatArray, first: int, last: int, then: int, w: FloatArray) -> FloatArray:
    """What `write_scores_ahead` writes, as a new array."""
    out = np.empty(last - first)
    write_scores_ahead(X, first, last, then, w, out)
    return out


@kernel
def combine_dense(rows: FloatArray, index: IntArray, weight: FloatArray, out: FloatArray) -> None:
    """Out = Σ_k weight_k · rows[index_k]."""
    out[:] = 0.0
    for k in range(index.shape[0]):
        c, row = weight[k], rows[index[k]]
        if c != 0.0:
            for j in range(row.shape[0]):
                out[j] += c * row[j]


@kernel
def _write_sparse_scores(data: FloatArray, indices: IntArray, indptr: IntArray, w: FloatArray, out: FloatArray) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        out[i] = total


@kernel
def _sparse_combine(
    data: FloatArray, indices: IntArray, indptr: IntArray, index: IntArray, weight: FloatArray, out: FloatArray
) -> None:
    out[:] = 0.0
    for k in range(index.shape[0]):
        if weight[k] != 0.0:
            for e in range(indptr[index[k]], indptr[index[k] + 1]):
                out[indices[e]] += weight[k] * data[e]


class DenseRows:
    """An n × dim matrix whose rows describe candidates."""

    __slots__ = ("_blocks", "_readings", "array", "offer", "shape")

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self.shape: tuple[int, int] = array.shape  #: number of rows, number of features
        self._blocks: FloatArray | None = None
        self._readings = 0
        self.offer: Any = (
            None  #: for `smidgen.state.offers`: the same as compiled code reads it, once that was asked for
        )

    def scores(self, w: FloatArray, often: bool = False) -> FloatArray:
        """One inner product with ``w`` per row.

        Of rows that are asked ``often``, a second copy is made at some point that gives the same answers sooner.
        """
        n, dim = self.shape
        out, weights = np.empty(n), as_weights(w, dim)
        if often and self._blocks is None and n * dim >= LARGE:
            self._readings += 1
            self._blocks = in_blocks(self.array) if self._readings > FEW else None
        if self._blocks is None:
            _write_dense_scores(self.array, weights, out)
        else:
            write_block_scores(self._blocks, weights, out)
        return out

    def combine(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Σ_k weight_k · row[index_k], as a dense vector."""
        out = np.empty(self.shape[1])
        combine_dense(self.array, index, weight, out)
        return out

    def stacked(self, more: Rows) -> Rows:
        """These rows, followed by more of the same dimension."""
        return as_rows(np.vstack([self.array, more.dense()]))

    def dense(self) -> FloatArray:
        """The rows as one dense array."""
        return self.array

    def public(self) -> FloatArray:
        """The rows in the form in which users hand them over."""
        return self.array

    def to_record(self) -> Any:
        """The rows as a value that `smidgen.records` can write."""
        return self.array


class SparseRows:
    """The same as three arrays (compressed sparse rows)."""

    __slots__ = ("data", "dim", "indices", "indptr", "offer", "shape")

    def __init__(self, data: FloatArray, indices: IntArray, indptr: IntArray, dim: int) -> None:
        self.data, self.indices, self.indptr, self.dim = data, indices, indptr, dim
        self.shape: tuple[int, int] = (len(indptr) - 1, dim)  #: number of rows, number of features
        self.offer: Any = None  #: as of dense rows

    def scores(self, w: FloatArray, often: bool = False) -> FloatArray:
        """One inner product with ``w`` per row."""
        out = np.empty(self.shape[0])
        _write_sparse_scores(self.data, self.indices, self.indptr, as_weights(w, self.dim), out)
        return out

    def combine(self, index: IntArray, weight: FloatArray) -> FloatArray:
        """Σ_k weight_k · row[index_k], as a dense vector."""
        out = np.empty(self.dim)
        _sparse_combine(self.data, self.indices, self.indptr, index, weight, out)
        return out

    def stacked(self, more: Rows) -> Rows:
        """These rows, followed by more of the same dimension."""
        from scipy import sparse

        return as_rows(sparse.vstack([self.public(), sparse.csr_array(more.public())], format="csr"))

    def dense(self) -> FloatArray:
        """The rows as one dense array."""
        return np.asarray(self.public().toarray(), dtype=np.float64)

    def public(self) -> Any:
        """The rows as a scipy CSR array."""
        from scipy import sparse

        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def to_record(self) -> Any:
        """The rows as a value that `smidgen.records` can write."""
        return {"data": self.data, "indices": self.indices, "indptr": self.indptr, "dim": self.dim}


Rows: TypeAlias = DenseRows | SparseRows


def is_sparse_type(kind: type) -> bool:
    """Whether a class is one of scipy's sparse matrices or arrays, without importing scipy to find out."""
    return kind.__module__.startswith("scipy.sparse")


def is_sparse(value: object) -> bool:
    """Whether ``value`` is a scipy sparse matrix or array."""
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


def as_weights(w: Any, dim: int) -> FloatArray:
    """Check a weight vector against the features: a kernel would read beyond its end."""
    weights = np.asarray(w, dtype=np.float64)
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
    """Whether nobody can write to an array: neither through it nor through what it is a view of."""
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
            raise ValueError("an index points outside")
    except ValueError as error:
        raise InvalidFeatures(f"{name} is not a valid sparse matrix: {error}", hint) from error
    csr = value.tocsr(copy=True)
    csr.sum_duplicates()
    return _frozen(csr.data, csr.indices, csr.indptr, csr.shape[1], name, hint)


def _from_record(value: dict[str, Any], name: str) -> SparseRows:
    from scipy import sparse

    if value.keys() != {"data", "indices", "indptr", "dim"}:
        raise InvalidFeatures(f"{name} is a dict", "give a 2-D array or a CSR matrix, one row per candidate")
    shape = (len(value["indptr"]) - 1, value["dim"])
    return from_scipy(sparse.csr_array((value["data"], value["indices"], value["indptr"]), shape=shape), name)


def _frozen(data: Any, indices: Any, indptr: Any, dim: int, name: str, hint: str) -> SparseRows:
    values = np.ascontiguousarray(data, dtype=np.float64)
    check_finite(values, name, hint)
    where, starts = indices.astype(np.int64), indptr.astype(np.int64)
    for array in (values, where, starts):
        array.flags.writeable = False
    return SparseRows(values, where, starts, int(dim))


def check_finite(array: NDArray[Any], name: str, hint: str) -> None:
    """Refuse an array that holds NaN or infinity."""
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0]
        raise InvalidFeatures(f"{name} holds {bad} and must be finite", hint)
