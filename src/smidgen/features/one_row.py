"""The common case in one compiled step: one record, all of whose names are known, with at most one text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

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
    sizes: tuple[int, int],
    raw: FloatArray,
    scaling: tuple[FloatArray, IntArray, bool],
    words: tuple[FloatArray, float],
    column_of: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: FloatArray,
) -> tuple[int, int]:
    """Columns and values of the row; how many are left when those of one column are added up, how many were clipped.

    ``ids`` has ids of categories, slots of numbers, ids of terms; ``sizes`` says how many of the first two.
    """
    lines, number_ids, scale = scaling
    cats, numbers = sizes
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
    if last < ids.shape[0]:
        weigh_one(words[0], ids[last:], words[1], values[last:])
    return sort_row(columns, values, 0, ids.shape[0]), clipped


@lru_cache(maxsize=1024)
def _starts(kept: int) -> IntArray:
    starts = np.array([0, kept])
    starts.flags.writeable = False
    return starts


def one_row(g: Gathered, memory: Memory, scale: bool) -> Encoded:
    """The row of what was gathered."""
    cats, numbers = len(g.cats), len(g.slots)
    ids, raw = np.array(g.cats + g.slots + g.terms, np.int64), np.array(g.raw, np.float64)
    columns, values = np.empty(len(ids), np.uint32), np.empty(len(ids))
    seen = 0.0
    more: dict[str, Any] = {}
    if g.terms:
        values[cats + numbers :] = 1.0
        for at, weight in g.weights.items():
            values[cats + numbers + at] = weight
        path = g.texts[0][0]
        seen = float(memory.frequencies.rows.get(path, 0))
        more = {"terms": ids[cats + numbers :], "texts": (path,), "text_counts": _ONE}
    if len(memory.book.names) >= memory.book.capacity:
        more["forgotten"] = memory.book.forgotten(ids)
    tables: Any = (memory.scaling.table, memory.scaling.ids, scale)
    words = (memory.frequencies.df, seen)
    kept, clipped = _lay(ids, (cats, numbers), raw, tables, words, memory.book.columns, columns, values)
    if kept < len(ids):
        columns, values = columns[:kept], values[:kept]
    return Encoded(
        dim=memory.book.dim,
        starts=_starts(kept),
        indices=columns,
        values=values,
        slots=ids[cats : cats + numbers],
        raw=raw,
        clipped=clipped,
        **more,
    )


_ONE: IntArray = np.ones(1, np.int64)
_ONE.flags.writeable = False
