"""Differences of rows, several at once."""

from __future__ import annotations

import numpy as np

from smidgen._core.matrix import write_dense_differences, write_sparse_differences
from smidgen.decision import FloatArray, IntArray
from smidgen.features.rows import DenseRows, Rows


def differences(rows: Rows, pairs: IntArray) -> FloatArray:
    """Row minus row for each of the pairs, as dense vectors."""
    out = np.empty((len(pairs), rows.shape[1]))
    if isinstance(rows, DenseRows):
        write_dense_differences(rows.array, pairs, out)
    else:
        write_sparse_differences((rows.data, rows.indices, rows.indptr), pairs, out)
    return out
