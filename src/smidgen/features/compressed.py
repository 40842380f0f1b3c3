"""Compressed sparse rows as three arrays: checked, put in order, joined, laid out, and multiplied.

scipy does all of this as well, and would be a quarter of what a service has to install. Products are summed in the
order in which scipy sums them, so that the bits are what they were when it did.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray


class Compressed(NamedTuple):
    """Row i has the values ``data[starts[i]:starts[i + 1]]`` in the columns ``indices[starts[i]:starts[i + 1]]``."""

    data: NDArray[Any]
    indices: NDArray[Any]
    starts: IntArray

    def row_of_each(self) -> IntArray:
        """The row of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def laid_out(self, dim: int) -> FloatArray:
        """All rows as one dense array."""
        out = np.zeros((len(self.starts) - 1, dim))
        out[self.row_of_each(), self.indices] += self.data  # added, not assigned: -0.0 becomes 0.0
        return out

    def joined(self, more: Compressed) -> Compressed:
        """These rows, and more below them."""
        return Compressed(
            np.concatenate([self.data, more.data]),
            np.concatenate([self.indices, more.indices]),
            np.concatenate([self.starts, self.starts[-1] + more.starts[1:]]),
        )

    def picked(self, rows: IntArray) -> Compressed:
        """Some of the rows, in the order that is asked for."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Compressed(self.data[places], self.indices[places], starts)


def compressed(array: FloatArray) -> Compressed:
    """What is not zero in a dense array."""
    rows, columns = np.nonzero(array)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(array)))])
    return Compressed(array[rows, columns], columns, starts)


def in_order(data: Any, indices: Any, starts: Any, dim: int) -> Compressed:
    """Three arrays, checked: columns rise within each row, none of them twice. A ValueError says what does not fit."""
    values, where, bounds = np.asarray(data), np.asarray(indices), np.asarray(starts)
    if any(array.ndim != 1 for array in (values, where, bounds)) or len(where) != len(values) or not len(bounds):
        raise ValueError("its values, columns and row starts do not fit together")
    if (where.dtype.kind not in "iu" and len(where)) or bounds.dtype.kind not in "iu":
        raise ValueError("columns and row starts must be whole numbers")
    where, bounds = where.astype(np.int64), bounds.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any():
        raise ValueError("row starts must rise from 0 to the number of values")
    if len(where) and not (where.min() >= 0 and where.max() < dim):
        raise ValueError("an index points outside")
    parts = Compressed(values, where, bounds)
    row = parts.row_of_each()
    if ((np.diff(where) > 0) | (np.diff(row) > 0)).all():
        return parts
    order = np.lexsort((where, row))
    where, row, values = where[order], row[order], values[order]
    first = np.concatenate([[True], (np.diff(where) > 0) | (np.diff(row) > 0)])
    sums = np.zeros(int(first.sum()), np.result_type(values.dtype, np.float64))
    np.add.at(sums, np.cumsum(first) - 1, values)
    counts = np.bincount(row[first], minlength=len(bounds) - 1)
    return Compressed(sums, where[first], np.concatenate([[0], np.cumsum(counts)]))
