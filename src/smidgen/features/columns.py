"""Columns of comparable size: each brought to [0, 1] over the rows of one matrix."""

from __future__ import annotations

import numpy as np

from smidgen._kernel import constant, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.rows import DenseRows, Rows, SparseRows


@kernel
def write_unit_columns(rows: FloatArray, out: FloatArray) -> None:
    """Out = (rows − least)/(greatest − least), column by column; a constant column becomes 0."""
    n, d = rows.shape
    for j in range(d):
        low, high = rows[0, j], rows[0, j]
        for i in range(1, n):
            low, high = min(low, rows[i, j]), max(high, rows[i, j])
        spread = high - low
        for i in range(n):
            out[i, j] = (rows[i, j] - low) / spread if spread > 0.0 else 0.0


def unit_columns(rows: Rows) -> Rows:
    """The same rows with each column brought to [0, 1]; a column that is the same in all rows becomes 0.

    Sparse rows stay sparse: features that occur in no row are the same in all of them.
    """
    if isinstance(rows, DenseRows):
        out = np.empty(rows.shape)
        write_unit_columns(rows.array, out)
        return DenseRows(constant(out))
    n = rows.shape[0]
    columns, where = np.unique(rows.indices, return_inverse=True)
    block, out = np.zeros((n, len(columns))), np.empty((n, len(columns)))
    block[np.repeat(np.arange(n), np.diff(rows.indptr)), where] = rows.data
    write_unit_columns(constant(block), out)
    starts = np.arange(n + 1) * len(columns)
    return SparseRows(constant(out.ravel()), constant(np.tile(columns, n)), constant(starts), rows.dim)


@kernel
def _write_unit_queries(X: FloatArray, starts: IntArray, out: FloatArray) -> None:
    for i in range(starts.shape[0] - 1):
        write_unit_columns(X[starts[i] : starts[i + 1]], out[starts[i] : starts[i + 1]])


def unit_queries(X: FloatArray, starts: IntArray) -> FloatArray:
    """The same for many blocks of rows, one below the other, which begin at ``starts``."""
    out = np.empty(X.shape)
    _write_unit_queries(X, starts, out)
    out.flags.writeable = X.flags.writeable  # the same kind of array: one compiled stream serves both
    return out
