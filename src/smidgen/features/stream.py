"""A whole matrix of examples for compiled streams: checked in one pass, copied only where it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.errors import InvalidFeatures
from smidgen.features.rows import as_rows, is_sparse


@kernel
def _sound(indices: NDArray[Any], values: NDArray[Any], starts: NDArray[Any], dim: int) -> bool:
    """Whether every index is below dim, every value finite, and the row starts rise from 0 to the end."""
    if starts[0] != 0 or starts[-1] != values.shape[0] or indices.shape[0] != values.shape[0]:
        return False
    for i in range(starts.shape[0] - 1):
        if starts[i] > starts[i + 1]:
            return False
    largest, sound = 0, True
    for k in range(values.shape[0]):
        largest = max(largest, indices[k])
        sound = sound and bool(np.isfinite(values[k]))
    return sound and (largest < dim)


def as_stream(
    X: Any, dim: int, dtype: type[np.floating[Any]]
) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    """Check examples and return them as CSR arrays: indices (unsigned), values, row starts.

    A CSR matrix of the right dtype with sorted indices is not copied: a stream is over before its caller can change it.
    """
    if np.ndim(X) != 2 or X.shape[1] != dim:
        raise InvalidFeatures(
            f"X has shape {np.shape(X)} and the learner has dim={dim}", f"give an n × {dim} array or CSR matrix"
        )
    if not is_sparse(X):
        rows = as_rows(X, "X").dense().astype(dtype, copy=False)
        _refuse_overflow(rows)
        indices = np.tile(np.arange(dim, dtype=np.uint32), len(rows))
        return indices, rows.ravel(), np.arange(0, rows.size + 1, dim, dtype=np.int64)
    if X.format != "csr" or not X.has_canonical_format:
        X = X.tocsr(copy=True)
        X.sum_duplicates()
    if X.dtype.kind not in "fiub":
        raise InvalidFeatures(f"X has dtype {X.dtype} and must hold real numbers", "give a CSR matrix of floats")
    with np.errstate(over="ignore"):
        values = X.data.astype(dtype, copy=False)
    starts = X.indptr.astype(np.int64, copy=False)
    indices = X.indices.view(np.uint32) if X.indices.dtype == np.int32 else X.indices
    if not _sound(indices, values, starts, dim):
        raise InvalidFeatures("X holds values that are not finite, or indices out of range", "clean it first")
    return indices.astype(np.uint32, copy=False), values, starts


def _refuse_overflow(rows: NDArray[Any]) -> None:
    if not np.isfinite(rows).all():
        raise InvalidFeatures(f"X does not fit into {rows.dtype}", "scale it down, or use dtype='float64'")
