"""The same rows, laid out for vector code: blocks of 32 rows, and within a block feature by feature.

A sum over features must run in their order, so it cannot be split among the lanes of a vector. But 32 rows can be
summed side by side, if their values for one feature lie side by side.
"""

from __future__ import annotations

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.vector.lanes import fill, load, store

ROWS = 32  # four values of eight lanes each


@kernel
def _write_blocks(rows: FloatArray, blocks: FloatArray) -> None:
    n, d = rows.shape
    for i in range(n):
        for j in range(d):
            blocks[i // ROWS * d + j, i % ROWS] = rows[i, j]


def in_blocks(rows: FloatArray) -> FloatArray:
    """A copy of the rows in blocks, the last one filled up with zeros: line k·dim + j is feature j of block k."""
    n, d = rows.shape
    blocks = np.zeros((-(-n // ROWS) * d, ROWS))
    _write_blocks(rows, blocks)
    return blocks


@kernel
def write_block_scores(blocks: FloatArray, w: FloatArray, out: FloatArray) -> None:
    """Out = rows @ w; each sum runs in the order of the features."""
    d, n = w.shape[0], out.shape[0]
    for first in range(0, n, ROWS):
        s0, s1, s2, s3 = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        at = first * d
        for j in range(d):
            v = fill(w[j])
            s0, s1 = s0 + load(blocks, at) * v, s1 + load(blocks, at + 8) * v
            s2, s3 = s2 + load(blocks, at + 16) * v, s3 + load(blocks, at + 24) * v
            at += ROWS
        into = out[first:] if first + ROWS <= n else np.empty(ROWS)
        store(into, 0, s0)
        store(into, 8, s1)
        store(into, 16, s2)
        store(into, 24, s3)
        if first + ROWS > n:
            out[first:] = into[: n - first]
