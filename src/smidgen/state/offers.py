"""Rows of several candidates as compiled code reads them, dense and sparse alike."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from smidgen._kernel import inlined, ordinary
from smidgen.decision import FloatArray, IntArray
from smidgen.features import LONGEST, Rows
from smidgen.features.rows import DenseRows
from smidgen.state.classes import Indices
from smidgen.vector.arrays import dot

#: Of each candidate: its estimate, its spread (a width in the end), its probability.
Estimates: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
#: Indices, values and row starts. Dense rows have no starts: there the indices are those of every row.
Offer: TypeAlias = tuple[Indices, FloatArray, IntArray]

_NO_STARTS: IntArray = np.empty(0, np.int64)


@lru_cache(maxsize=32)
def _everything(dim: int) -> Indices:
    return np.arange(dim, dtype=np.uint32)


def offer(rows: Rows) -> Offer:
    """The arrays of rows; kept with them, as deciding and learning both ask.

    The values are read-only, as they may be the caller's. Indices and starts are ours, and of the kind that numba takes
    sooner: it looks longer at an array that may not be written to.
    """
    made: Offer | None = rows.offer
    if made is None:
        if isinstance(rows, DenseRows):
            made = _everything(rows.shape[1]), rows.array.reshape(-1), _NO_STARTS
        else:
            made = rows.indices.astype(np.uint32), rows.data, ordinary(rows.indptr)
        rows.offer = made
    return made


@inlined
def row_indices(idx: Indices, starts: IntArray, k: int) -> Indices:
    """The columns of row k."""
    return idx[0 : idx.shape[0]] if starts.shape[0] == 0 else idx[starts[k] : starts[k + 1]]


@inlined
def row_values(idx: Indices, val: FloatArray, starts: IntArray, k: int) -> FloatArray:
    """The values of row k."""
    if starts.shape[0] == 0:
        return val[k * idx.shape[0] : (k + 1) * idx.shape[0]]
    return val[starts[k] : starts[k + 1]]


@inlined
def usable(val: FloatArray) -> bool:
    """Whether a row is short enough for its length to be squared and multiplied."""
    return dot(val, val) < LONGEST * LONGEST
