"""Rows of several candidates as compiled code reads them, dense and sparse alike."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined
from smidgen.decision import FloatArray, IntArray
from smidgen.features import LONGEST, Rows
from smidgen.features.rows import DenseRows
from smidgen.state.classes import Indices
from smidgen.vector.arrays import dot

#: Indices, values and row starts. Dense rows have no starts: there the indices are those of every row.
Offer: TypeAlias = tuple[Indices, FloatArray, IntArray]

_NO_STARTS: IntArray = np.empty(0, np.int64)
_NO_STARTS.flags.writeable = False


@lru_cache(maxsize=32)
def _everything(dim: int) -> Indices:
    indices = np.arange(dim, dtype=np.uint32)
    indices.flags.writeable = False
    return indices


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to: compiled code has one form for all rows, and it is that one."""
    view = array.view()
    view.flags.writeable = False
    return view


def offer(rows: Rows) -> Offer:
    """The arrays of rows, all of them read-only."""
    if isinstance(rows, DenseRows):
        return _everything(rows.shape[1]), rows.array.reshape(-1), _NO_STARTS
    return read_only(rows.indices.astype(np.uint32)), rows.data, rows.indptr


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
