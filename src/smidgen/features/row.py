"""One vector of features, dense or sparse, in the one form that the kernels of the label loop read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.errors import InvalidFeatures
from smidgen.features.rows import check_finite, from_scipy, is_sparse
from smidgen.records import same, structure
from smidgen.types import FloatArray


@structure
class Row:
    """One vector of features as (indices, values): all indices for a dense one, the non-zero ones for a sparse one.

    ``values`` has the dtype of the learner that it was made for.
    """

    __slots__ = ("dim", "indices", "values")

    def __init__(self, indices: NDArray[np.uint32], values: NDArray[Any], dim: int) -> None:
        self.indices, self.values, self.dim = indices, values, dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and same(self, other)

    def __repr__(self) -> str:
        return f"Row({len(self.indices)} of {self.dim} features)"

    def dense(self) -> FloatArray:
        """The vector as one dense array of float64."""
        x = np.zeros(self.dim)
        x[self.indices] += self.values  # added, not assigned: -0.0 becomes 0.0, as if it had been left out
        return x

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild this row."""
        return {"indices": self.indices, "values": self.values, "dim": self.dim}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Row:
        """Rebuild from `to_record`, with every check: the bytes may come from anywhere."""
        indices, values, dim = np.asarray(fields["indices"]), np.asarray(fields["values"]), int(fields["dim"])
        fits = indices.ndim == 1 and indices.shape == values.shape and indices.dtype.kind in "iu"
        if not fits or values.dtype.kind != "f" or len(np.unique(indices)) != len(indices):
            raise InvalidFeatures("the row's indices and values do not fit together", "give what to_record gave")
        if len(indices) and not (indices.min() >= 0 and indices.max() < dim):
            raise InvalidFeatures(f"the row has an index outside 0 … {dim - 1}", "give what to_record gave")
        check_finite(values, "the row", "give finite numbers")
        return cls(indices.astype(np.uint32, copy=False), values, dim)


def as_row(value: Any, dim: int, dtype: type[np.floating[Any]] = np.float64) -> Row:
    """Check one vector of features at the entrance: a 1-D array of length dim, or a 1 × dim sparse matrix."""
    way_out = f"give {dim} finite numbers: a 1-D array, or a 1 × {dim} CSR matrix"
    if isinstance(value, Row):
        if value.dim != dim:
            raise InvalidFeatures(f"the row has {value.dim} features and the learner has dim={dim}", way_out)
        return value if value.values.dtype == dtype else Row(value.indices, value.values.astype(dtype), dim)
    if is_sparse(value):
        if value.shape not in ((1, dim), (dim,)):
            raise InvalidFeatures(f"the features have shape {value.shape} and the learner has dim={dim}", way_out)
        indices, data = _parts(value, dim)
        with np.errstate(over="ignore"):
            row = Row(indices.astype(np.uint32), data.astype(dtype), dim)
        check_finite(row.values, "the features", way_out)
        return row
    try:
        given = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"the features are not a vector: {error}", way_out) from error
    if given.dtype.kind not in "fiub":
        raise InvalidFeatures(f"the features have dtype {given.dtype} and must be real numbers", way_out)
    if given.shape != (dim,):
        raise InvalidFeatures(f"the features have shape {given.shape} and the learner has dim={dim}", way_out)
    with np.errstate(over="ignore"):
        values = given.astype(dtype)
    check_finite(values, "the features", way_out)
    return Row(_everything(dim), values, dim)


@kernel
def _rising_below(indices: NDArray[Any], dim: int) -> bool:
    """Whether indices rise strictly from 0 or more to less than dim."""
    before = -1
    for k in range(indices.shape[0]):
        if indices[k] <= before or indices[k] >= dim:
            return False
        before = indices[k]
    return True


def _parts(value: Any, dim: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Indices and values of a sparse row: its own if it is sound CSR, else those of a copy that scipy puts in order."""
    if value.format == "csr" and value.dtype.kind in "fiub" and value.shape == (1, dim):
        indices, data, ends = value.indices, value.data, value.indptr
        whole = len(ends) == 2 and ends[0] == 0 and ends[1] == len(indices) == len(data)
        if whole and _rising_below(indices, dim):
            return indices, data
    rows = from_scipy(value.reshape((1, dim)), "the features")
    return rows.indices, rows.data


@lru_cache(maxsize=32)
def _everything(dim: int) -> NDArray[np.uint32]:
    indices = np.arange(dim, dtype=np.uint32)
    indices.flags.writeable = False
    return indices
