"""Rows of several candidates as compiled code reads them, dense and sparse alike."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.features import Rows
from smidgen.features.rows import DenseRows
from smidgen.state.classes import Indices

#: Of each candidate: its estimate, its spread (a width in the end), its probability.
Estimates: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
#: Indices, values and row starts. Dense rows have no starts: there the indices are those of every row.
Offer: TypeAlias = tuple[Indices, FloatArray, IntArray]

#: In the place of the row starts of dense rows.
NO_STARTS: IntArray = np.empty(0, np.int64)


@lru_cache(maxsize=32)
def _everything(dim: int) -> Indices:
    return np.arange(dim, dtype=np.uint32)


def offer(rows: Rows) -> Offer:
    """The arrays of rows; kept with them, as deciding and learning both ask.

    The values may be the caller's: compiled code does not write to them.
    """
    made: Offer | None = rows.offer
    if made is None:
        if isinstance(rows, DenseRows):
            made = _everything(rows.shape[1]), rows.array.reshape(-1), NO_STARTS
        else:
            made = rows.indices.astype(np.uint32), rows.data, rows.indptr
        rows.offer = made
    return made
