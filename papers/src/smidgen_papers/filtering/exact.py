"""RIDGE-FULL over whole streams of documents, exactly, for many topics at once.

With the Cholesky factor L of Gram + aI over all documents and z = L⁻¹y, the estimate of a document from those before it
is the product of its row of L, less the diagonal, with z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from smidgen.learners.filter import FilterHistory

Flags = NDArray[np.bool_]
BLOCK = 192


def ridge_full(X: Any, Y: Flags, *, a: float = 1.0, single: bool = False) -> list[FilterHistory]:
    """What `smidgen.RidgeFull` does on a stream of sparse rows, for each column of labels.

    The matrix does not depend on the labels, so that one factor serves all topics: n³/3 operations for n documents.
    ``single`` halves memory and time by single precision.
    """
    n, kind = X.shape[0], np.float32 if single else np.float64
    gram = np.empty((n, n), kind, order="F")
    for start in range(0, n, BLOCK):
        gram[:, start : start + BLOCK] = (X @ X[start : start + BLOCK].T.tocsr()).toarray()
    gram.flat[:: n + 1] += kind(a)
    factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    truth = np.asarray(Y, np.bool_)
    z = solve_triangular(factor, np.where(truth, 1.0, -1.0).astype(kind), lower=True, check_finite=False)
    factor.flat[:: n + 1] = 0.0
    forwarded = factor @ z >= 0.0
    return [FilterHistory(forwarded[:, k], forwarded[:, k], truth[:, k]) for k in range(truth.shape[1])]
