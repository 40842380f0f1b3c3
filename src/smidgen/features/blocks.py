"""The same rows, laid out for vector code: blocks of 32 rows, and within a block feature by feature.

A sum over features must run in their order, so it cannot be split among the lanes of a vector. But 32 rows can be
summed side by side, if their values for one feature lie side by side.
"""

from __future__ import annotations

import numpy as np

from smidgen._core.matrix import write_blocks
from smidgen.decision import FloatArray

ROWS = 32  # as in _core/matrix.cpp


def in_blocks(rows: FloatArray) -> FloatArray:
    """A copy of the rows in blocks, the last one filled up with zeros: line k·dim + j is feature j of block k."""
    n, d = rows.shape
    blocks = np.zeros((-(-n // ROWS) * d, ROWS))
    write_blocks(rows, blocks)
    return blocks
