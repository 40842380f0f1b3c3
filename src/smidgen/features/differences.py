"""Differences of rows, several at once."""

from __future__ import annotations

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.rows import DenseRows, Rows


@kernel
def write_dense_differences(rows: FloatArray, pairs: IntArray, out: FloatArray) -> None:
    """Out[k] = rows[pairs[k, 0]] − rows[pairs[k, 1]]."""
    for k in range(out.shape[0]):
        first, second = rows[pairs[k, 0]], rows[pairs[k, 1]]
        for j in range(out.shape[1]):
            out[k, j] = first[j] - second[j]


@kernel
def _write_sparse_differences(
    data: FloatArray, indices: IntArray, indptr: IntArray, pairs: IntArray, out: FloatArray
) -> None:
    out[:] = 0.0
    for k in range(out.shape[0]):
        for e in range(indptr[pairs[k, 0]], indptr[pairs[k, 0] + 1]):
            out[k, indices[e]] = data[e]
        for e in range(indptr[pairs[k, 1]], indptr[pairs[k, 1] + 1]):
            out[k, indices[e]] -= data[e]


def differences(rows: Rows, pairs: IntArray) -> FloatArray:
    """Row minus row for each of the pairs, as dense vectors."""
    out = np.empty((len(pairs), rows.shape[1]))
    if isinstance(rows, DenseRows):
        write_dense_differences(rows.array, pairs, out)
    else:
        _write_sparse_differences(rows.data, rows.indices, rows.indptr, pairs, out)
    return out
