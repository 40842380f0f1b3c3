"""Scores of dense rows."""

from __future__ import annotations

import numpy as np

from smidgen._core.matrix import write_dense_scores
from smidgen.decision import FloatArray


def dense_scores(rows: FloatArray, w: FloatArray) -> FloatArray:
    """Rows @ w as a new array; each sum runs in the order of the features, as for sparse rows."""
    out = np.empty(len(rows))
    write_dense_scores(rows, w, out)
    return out
