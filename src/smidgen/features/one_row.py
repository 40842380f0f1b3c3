"""The common case in one compiled step: one record, all of whose names are known, with at most one text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing
from smidgen.decision import FloatArray, IntArray
from smidgen.features.encoded import Encoded, sort_row
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory
from smidgen.features.scaling import standardise
from smidgen.features.words import weigh_one


@borrowing
def _lay(
    ids: IntArray,
    cats: int,
    raw: FloatArray,
    lines: FloatArray,
    number_ids: IntArray,
    scale: bool,
    df: FloatArray,
    texts: float,
    once: bool,
    column_of: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: FloatArray,
) -> tuple[int, int]:
    """Columns and values of the row; how many are left when those of one column are added up, how many were clipped.

    ``ids`` has ids of so many categories, slots of numbers, ids of terms. Statistics of the numbers are ``lines`` and
    ``number_ids``, of the terms ``df``, in so many ``texts``; whether each comes ``once``, or has a weight in its place
    among the values. (One by one, as numba takes arrays sooner than tuples of them.)
    """
    numbers = raw.shape[0]
    last = cats + numbers
    for k in range(cats):
        columns[k], values[k] = column_of[ids[k]], 1.0
    for k in range(cats, last):
        columns[k] = column_of[number_ids[ids[k]]]
    clipped = 0
    if scale:
        clipped = standardise(lines, ids[cats:last], raw, values[cats:last])
    else:
        for k in range(numbers):
            values[cats + k] = raw[k]
    for k in range(last, ids.shape[0]):
        columns[k] = column_of[ids[k]]
        if once:
            values[k] = 1.0
    if last < ids.shape[0]:
        weigh_one(df, ids[last:], texts, values[last:])
    return sort_row(columns, values, 0, ids.shape[0]), clipped


@lru_cache(maxsize=1024)
def _starts(kept: int) -> IntArray:
    starts = np.array([0, kept])
    starts.flags.writeable = False
    return starts


class Laid(NamedTuple):
    """A row, and what it was made of: ids of categories, slots of numbers and ids of terms in a row."""

    columns: NDArray[np.uint32]
    values: FloatArray
    ids: IntArray
    raw: FloatArray
    clipped: int


def lay_one(g: Gathered, memory: Memory, scale: bool) -> Laid:
    """The row of what was gathered."""
    first, n = len(g.cats) + len(g.slots), len(g.cats) + len(g.slots) + len(g.terms)
    ids, raw = np.array(g.cats + g.slots + g.terms, np.int64), np.array(g.raw, np.float64)
    columns, values = np.empty(n, np.uint32), np.empty(n)
    if g.weights:
        values[first:] = 1.0
        for at, weight in g.weights.items():
            values[first + at] = weight
    texts = float(memory.frequencies.rows.get(g.texts[0][0], 0)) if g.terms else 0.0
    numbers, df, column_of = memory.scaling, memory.frequencies.df, memory.book.columns
    table, places, once = numbers.table, numbers.ids, not g.weights
    kept, clipped = _lay(ids, len(g.cats), raw, table, places, scale, df, texts, once, column_of, columns, values)
    if kept < n:
        columns, values = columns[:kept], values[:kept]
    return Laid(columns, values, ids, raw, clipped)


def one_row(g: Gathered, memory: Memory, scale: bool) -> Encoded:
    """The same, with all that learning from it needs."""
    cats, numbers = len(g.cats), len(g.slots)
    columns, values, ids, raw, clipped = lay_one(g, memory, scale)
    more: dict[str, Any] = {}
    if g.terms:
        more = {"terms": ids[cats + numbers :], "texts": (g.texts[0][0],), "text_counts": _ONE}
    if len(memory.book.names) >= memory.book.capacity:
        more["forgotten"] = memory.book.forgotten(ids)
    return Encoded(
        dim=memory.book.dim,
        starts=_starts(len(columns)),
        indices=columns,
        values=values,
        slots=ids[cats : cats + numbers],
        raw=raw,
        clipped=clipped,
        **more,
    )


_ONE: IntArray = np.ones(1, np.int64)
_ONE.flags.writeable = False
