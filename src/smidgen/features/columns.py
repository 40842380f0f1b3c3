"""Columns of comparable size: each brought to [0, 1] over the rows of one matrix."""

from __future__ import annotations

import numpy as np

from smidgen._core.matrix import write_unit_columns, write_unit_queries
from smidgen.arrays import read_only
from smidgen.decision import FloatArray, IntArray
from smidgen.features.rows import DenseRows, Rows, SparseRows


def unit_columns(rows: Rows) -> Rows:
    """The same rows with each column brought to [0, 1]; a column that is the same in all rows becomes 0.

    Sparse rows stay sparse: features that occur in no row are the same in all of them.
    """
    if isinstance(rows, DenseRows):
        out = np.empty(rows.shape)
        write_unit_columns(rows.array, out)
        return DenseRows(read_only(out))
    n = rows.shape[0]
    columns, where = np.unique(rows.indices, return_inverse=True)
    block, out = np.zeros((n, len(columns))), np.empty((n, len(columns)))
    block[np.repeat(np.arange(n), np.diff(rows.indptr)), where] = rows.data
    write_unit_columns(block, out)
    starts = np.arange(n + 1) * len(columns)
    return SparseRows(read_only(out.ravel()), read_only(np.tile(columns, n)), read_only(starts), rows.dim)


def unit_queries(X: FloatArray, starts: IntArray) -> FloatArray:
    """The same for many blocks of rows, one below the other, which begin at ``starts``."""
    out = np.empty(X.shape)
    write_unit_queries(X, starts, out)
    return out
