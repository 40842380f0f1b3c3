"""Inverse document frequencies on the fly, for streams in their order: nothing looks ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smidgen.decision import FloatArray
from smidgen_papers.compiled.kernel import kernel


@kernel
def _weigh(
    indices: NDArray[np.int32], values: FloatArray, starts: NDArray[np.int64], order: NDArray[np.int64], df: FloatArray
) -> None:
    """x_f ← x_f·ln(1 + (t+1)/(df_f+1)), this row counted, then unit length; in the order of play."""
    for t in range(order.shape[0]):
        row, squares = order[t], 0.0
        for k in range(starts[row], starts[row + 1]):
            df[indices[k]] += values[k] != 0.0
        for k in range(starts[row], starts[row + 1]):
            values[k] *= np.log(1.0 + (t + 2.0) / (df[indices[k]] + 1.0))
            squares += values[k] * values[k]
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 1.0
        for k in range(starts[row], starts[row + 1]):
            values[k] *= scale


@kernel
def _weigh_frozen(
    indices: NDArray[np.int32], values: FloatArray, starts: NDArray[np.int64], seen: float, df: FloatArray
) -> None:
    """The same with frequencies that are not counted on."""
    for row in range(starts.shape[0] - 1):
        squares = 0.0
        for k in range(starts[row], starts[row + 1]):
            values[k] *= np.log(1.0 + (seen + 1.0) / (df[indices[k]] + 1.0))
            squares += values[k] * values[k]
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 1.0
        for k in range(starts[row], starts[row + 1]):
            values[k] *= scale


def online_idf(X: Any, order: Any = None) -> Any:
    """The rows of a CSR matrix, each weighed by what the rows before it (and itself) say.

    Parameters
    ----------
    X
        Counts, one row per document.
    order
        In which order they come; as they stand if left out.
    """
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    turn = np.arange(rows.shape[0]) if order is None else np.asarray(order, np.int64)
    _weigh(rows.indices, rows.data, rows.indptr.astype(np.int64), turn, np.zeros(rows.shape[1]))
    return rows


def idf_of(X: Any, others: Any) -> Any:
    """Rows weighed by the frequencies of all of the others, which they are not among: test documents, say."""
    rows, df = sparse.csr_matrix(X, dtype=np.float64, copy=True), np.zeros(X.shape[1])
    df += np.bincount(others.indices, minlength=X.shape[1])
    _weigh_frozen(rows.indices, rows.data, rows.indptr.astype(np.int64), float(others.shape[0]), df)
    return rows
