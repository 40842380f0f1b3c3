"""Scores of rows and sums of rows, dense and sparse: each sum in the order of the features, whatever the form."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.vector.arrays import shift
from smidgen.vector.lanes import prefetch_later

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
def write_dense_scores(rows: FloatArray, w: FloatArray, out: FloatArray) -> None:
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
    write_dense_scores(rows, w, out)
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
        if weight[k] != 0.0:
            shift(out, out, rows[index[k]], weight[k])


@kernel
def write_sparse_scores(data: FloatArray, indices: IntArray, indptr: IntArray, w: FloatArray, out: FloatArray) -> None:
    """Out = rows @ w."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        out[i] = total


@kernel
def combine_sparse(
    data: FloatArray, indices: IntArray, indptr: IntArray, index: IntArray, weight: FloatArray, out: FloatArray
) -> None:
    """Out = Σ_k weight_k · rows[index_k]."""
    out[:] = 0.0
    for k in range(index.shape[0]):
        if weight[k] != 0.0:
            for e in range(indptr[index[k]], indptr[index[k] + 1]):
                out[indices[e]] += weight[k] * data[e]
