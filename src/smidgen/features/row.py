"""One feature vector, or a whole stream of them, in the form that the kernels of the label loop read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from smidgen._core import rows as core
from smidgen.arrays import is_sparse_type, read_only, writable
from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures, NotFinite
from smidgen.features.rows import LONGEST, Compressed, SparseRows, as_rows, check_finite, from_scipy, is_sparse
from smidgen.serialization import same, structure

#: The precision of rows unless said otherwise: as a dtype, which numpy compares sooner than a class.
DOUBLE = np.dtype(np.float64)


@structure
class Row(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A feature vector as (indices, values): all indices if it is dense, the non-zero ones if it is sparse.

    ``values`` has the dtype of the learner that it was made for. Its indices may not be written to: those of a
    dense vector are shared by all rows of its length.
    """

    indices: NDArray[np.uint32]
    values: NDArray[Any]
    dim: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and same(self, other)

    def __repr__(self) -> str:
        return f"Row({len(self.indices)} of {self.dim} features)"

    def dense(self) -> FloatArray:
        """The vector as one dense array of float64."""
        x = np.zeros(self.dim)
        x[self.indices] += self.values  # added, not assigned: -0.0 becomes 0.0, as if it had been left out
        return x

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """For learners of others that work on plain arrays: ``np.asarray(row)``."""
        return np.asarray(self.dense(), dtype=dtype)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this row."""
        everything = _everything(self.dim) if len(self.indices) == self.dim else None
        all_of_them = self.indices is everything or (everything is not None and same(self.indices, everything))
        return {"indices": None if all_of_them else self.indices, "values": self.values, "dim": self.dim}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Row:
        """Rebuild from `to_record`, with every check: the bytes may come from anywhere."""
        given, values, dim = fields["indices"], np.asarray(fields["values"]), int(fields["dim"])
        if given is None:
            if values.shape != (dim,) or values.dtype.kind != "f":
                raise InvalidFeatures(f"the row does not have {dim} values", "pass the value that to_record returned")
            check_finite(values, "the row", "give finite numbers")
            return cls(_everything(dim), writable(values), dim)
        indices = np.asarray(given)
        fits = indices.ndim == 1 and indices.shape == values.shape and indices.dtype.kind in "iu"
        if not fits or values.dtype.kind != "f" or len(np.unique(indices)) != len(indices):
            raise InvalidFeatures(
                "the row has indices and values of different lengths", "pass the value that to_record returned"
            )
        if len(indices) and not (indices.min() >= 0 and indices.max() < dim):
            raise InvalidFeatures(
                f"the row has an index outside 0 … {dim - 1}", "pass the value that to_record returned"
            )
        check_finite(values, "the row", "give finite numbers")
        return cls(read_only(indices.astype(np.uint32, copy=False)), writable(values), dim)

    @classmethod
    def from_records(cls, many: Sequence[dict[str, Any]]) -> list[Row]:
        """Rebuild many from `to_record`; dense ones of one form are checked in one pass."""
        dim, values = many[0]["dim"], [fields["values"] for fields in many]
        plain = all(type(each) is np.ndarray and each.shape == (dim,) and each.dtype == DOUBLE for each in values)
        if plain and type(dim) is int and all(fields["indices"] is None and fields["dim"] == dim for fields in many):
            numbers, everything = np.stack(values), _everything(dim)
            if np.isfinite(numbers).all():
                return [cls(everything, each.copy(), dim) for each in numbers]
        return list(map(cls.from_record, many))


def as_row(value: Any, dim: int, dtype: DTypeLike = DOUBLE, longest: float = math.inf, unit: bool = False) -> Row:
    """Check one vector of features at the entrance: a 1-D array of length dim, or a 1 × dim sparse matrix.

    A row that is longer than ``longest`` is refused: its length could not be squared and multiplied. With ``unit``
    the row comes back scaled to unit length; a zero vector stays zero.
    """
    kind: Any = type(value)
    form = _form(kind)
    if form == "row":
        if value.dim != dim:
            raise InvalidFeatures(f"the row has {value.dim} features and the learner has dim={dim}", _hint(dim))
        indices, values = value.indices, value.values
        if values.dtype != dtype:
            values = values.astype(dtype)
        if unit:
            given, values = values, np.empty(values.shape, dtype)
            length = core.write_unit_row(given, values)
        else:
            length = core.squares(values) if longest < math.inf else 0.0
        row = value if values is value.values else Row(indices, values, dim)
    elif form == "dense":
        plain = kind is np.ndarray and value.dtype == dtype and value.shape == (dim,) and value.flags.carray
        given = value if plain else _dense_values(value, dim, dtype)
        values = np.empty(dim, dtype)
        length = core.write_unit_row(given, values) if unit else core.copy_row(given, values)
        row = Row(_everything(dim), values, dim)
    else:
        indices, values, length = _sparse_parts(value, form, dim, dtype, unit)
        row = Row(indices, values, dim)
    if not length < longest * longest:  # NaN and infinity too
        check_finite(row.values, "the features", _hint(dim))
        if unit or longest < math.inf:
            raise NotFinite(
                f"the norm of the features is above {longest:g}", "scale them down; unit length is a good choice"
            )
    return row


@lru_cache(maxsize=64)
def _form(kind: type) -> str:
    """Form of a class of contexts: "row", "csr", "sparse" (any other sparse type), or "dense"."""
    if issubclass(kind, Row):
        return "row"
    if not is_sparse_type(kind):
        return "dense"
    return "csr" if kind.__name__ in ("csr_array", "csr_matrix") else "sparse"


def _hint(dim: int) -> str:
    return f"give {dim} finite numbers: a 1-D array, or a 1 × {dim} CSR matrix"


def _dense_values(value: Any, dim: int, dtype: DTypeLike) -> NDArray[Any]:
    """A dense vector; whether it is finite is still to be seen."""
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"the features are not a vector: {error}", _hint(dim)) from error
    values = _cast(given, dim, dtype)
    if given.shape != (dim,):
        raise InvalidFeatures(f"the features have shape {given.shape} and the learner has dim={dim}", _hint(dim))
    return values


def _cast(values: NDArray[Any], dim: int, dtype: DTypeLike) -> NDArray[Any]:
    """A copy; what is too large becomes infinite, and is refused as such."""
    if values.dtype.kind not in "fiub":
        raise InvalidFeatures(f"the features have dtype {values.dtype} and must be real numbers", _hint(dim))
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _sparse_parts(
    value: Any, form: str, dim: int, dtype: DTypeLike, unit: bool
) -> tuple[NDArray[np.uint32], NDArray[Any], float]:
    """Copies of the indices and values of a sparse row, in order, and its ‖x‖² before it is scaled."""
    shape = value.shape
    if form == "csr" and shape == (1, dim):
        data = value.data if value.data.dtype == dtype else _cast(value.data, dim, dtype)
        where, values = np.empty(data.size, np.uint32), np.empty(data.size, dtype)
        try:
            length = core.take_csr_row(value.indices, data, value.indptr, dim, unit, where, values)
        except (TypeError, ValueError):  # indices of another dtype, or arrays with gaps: checked and copied below
            length = -1.0
        if length >= 0.0 or math.isnan(length):
            where.setflags(write=False)
            return where, values, length
    if shape not in ((1, dim), (dim,)):
        raise InvalidFeatures(f"the features have shape {shape} and the learner has dim={dim}", _hint(dim))
    rows = from_scipy(value.reshape((1, dim)), "the features")
    values = _cast(rows.data, dim, dtype)
    where = read_only(rows.indices.astype(np.uint32))
    return where, values, core.write_unit_row(values, values) if unit else core.squares(values)


@lru_cache(maxsize=32)
def _everything(dim: int) -> NDArray[np.uint32]:
    indices = np.arange(dim, dtype=np.uint32)
    indices.flags.writeable = False
    return indices


def as_stream(X: Any, dim: int, dtype: DTypeLike) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    """Check examples and return them as CSR arrays: indices (unsigned), values, row starts.

    A CSR matrix of the right dtype with sorted indices is not copied: a stream is over before its caller can change it.
    None of the three arrays may be written to.
    """
    given: Any = X if is_sparse(X) or isinstance(X, SparseRows) else as_rows(X, "X").dense()
    if len(given.shape) != 2 or given.shape[1] != dim or not given.shape[0]:
        raise InvalidFeatures(
            f"X has shape {given.shape} and the learner has dim={dim}", f"give an n × {dim} array or CSR matrix, n >= 1"
        )
    if isinstance(given, np.ndarray):
        with np.errstate(over="ignore"):
            values = given.astype(dtype, copy=False).ravel()
        indices = read_only(np.tile(np.arange(dim, dtype=np.uint32), len(given)))
        values, starts = read_only(values), read_only(np.arange(0, values.size + 1, dim, dtype=np.int64))
    else:
        indices, values, starts = _arrays(_parts(given), dtype)
    sound = core.sound_rows(indices, values, starts, dim, LONGEST)
    if sound and is_sparse(X) and not given.has_canonical_format:  # asked only now: the question trusts the indices
        indices, values, starts = _arrays(from_scipy(given, "X").parts(), dtype)
        sound = core.sound_rows(indices, values, starts, dim, LONGEST)
    if not sound:
        raise InvalidFeatures(
            f"X holds values that are not finite, rows longer than {LONGEST:g}, or indices out of range",
            "clean it, and scale it down; unit length is a good choice",
        )
    return indices, values, starts


def _parts(X: Any) -> Compressed:
    """The three arrays of sparse rows; those of a CSR matrix as they are, whatever they hold."""
    if isinstance(X, SparseRows):
        return X.parts()
    return Compressed(X.data, X.indices, X.indptr) if X.format == "csr" else from_scipy(X, "X").parts()


def _arrays(csr: Compressed, dtype: Any) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    if csr.data.dtype.kind not in "fiub":
        raise InvalidFeatures(f"X has dtype {csr.data.dtype} and must hold real numbers", "give a CSR matrix of floats")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(csr.data, dtype)
    indices = csr.indices.view(np.uint32) if csr.indices.dtype == np.int32 else csr.indices.astype(np.uint32)
    return read_only(indices), read_only(values), read_only(np.ascontiguousarray(csr.starts, np.int64))
