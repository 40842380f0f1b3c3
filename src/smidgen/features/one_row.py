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
from smidgen.features.scanning import NOTHING, Bytes, write_terms
from smidgen.features.words import weigh_one


@borrowing
def _lay(
    ids: IntArray,
    cats: int,
    raw: FloatArray,
    lines: FloatArray,
    number_ids: IntArray,
    scale: bool,
    text: Bytes,
    seed: int,
    keys: IntArray,
    table: IntArray,
    terms: IntArray,
    df: FloatArray,
    texts: float,
    column_of: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: FloatArray,
) -> tuple[int, int, int]:
    """Columns and values of the row: how many are left when those of one column are added up.

    Also how many numbers were clipped, and how many terms there are; −1 of them where the text has one that is not
    known. ``ids`` has ids of so many categories, then slots of numbers, whose statistics are ``lines`` and
    ``number_ids``. The terms are those of the text, found by the index of its field; without a text they are there,
    each with a weight in its place among the values. How many of so many ``texts`` had a term says ``df``. (One by one,
    as numba takes arrays sooner than tuples of them.)
    """
    last, found, clipped = ids.shape[0], terms.shape[0], 0
    if text.shape[0] > 0:
        found = write_terms(text, seed, keys, table, terms, values[last:])
        if found < 0:
            return 0, 0, -1
    for k in range(cats):
        columns[k], values[k] = column_of[ids[k]], 1.0
    for k in range(cats, last):
        columns[k] = column_of[number_ids[ids[k]]]
    if scale:
        clipped = standardise(lines, ids[cats:], raw, values[cats:last])
    else:
        for k in range(cats, last):
            values[k] = raw[k - cats]
    for k in range(found):
        columns[last + k] = column_of[terms[k]]
    if found > 0:
        weigh_one(df, terms[:found], texts, values[last : last + found])
    return sort_row(columns, values, 0, last + found), clipped, found


@lru_cache(maxsize=1024)
def _starts(kept: int) -> IntArray:
    starts = np.array([0, kept])
    starts.flags.writeable = False
    return starts


#: As dtypes, which numpy takes sooner than classes.
WHOLE, DOUBLE, COLUMN, LETTER = (np.dtype(kind) for kind in (np.int64, np.float64, np.uint32, np.uint8))


class Laid(NamedTuple):
    """A row, and what it was made of: ids of categories and slots of numbers in a row, the numbers, ids of terms."""

    columns: NDArray[np.uint32]
    values: FloatArray
    ids: IntArray
    raw: FloatArray
    clipped: int
    path: str  # of its text
    terms: IntArray


def lay_one(g: Gathered, memory: Memory, scale: bool) -> Laid | None:
    """The row of what was gathered; None if a text that waits to be scanned has a term that is not known."""
    first, letters, index, path = len(g.cats) + len(g.slots), _NO_LETTERS, NOTHING, ""
    if g.later:
        field, value = g.later[0]
        letters, index, path = np.frombuffer(value.encode(), LETTER), field.index, field.path
        n, terms = first + len(value), np.empty(len(value), WHOLE)  # of w words there are 2·w − 1 terms
        columns, values = np.empty(n, COLUMN), np.empty(n)
    else:
        n, terms, path = first + len(g.terms), _NO_TERMS, ""
        columns, values = np.empty(n, COLUMN), np.empty(n)
        if g.terms:
            terms, path, values[first:] = np.array(g.terms, np.int64), g.texts[0][0], 1.0
            for at, weight in g.weights.items():
                values[first + at] = weight
    ids, raw, numbers = np.array(g.cats + g.slots, WHOLE), np.array(g.raw, DOUBLE), memory.scaling
    kept, clipped, found = _lay(
        ids,
        len(g.cats),
        raw,
        numbers.table,
        numbers.ids,
        scale,
        letters,
        index.seed,
        index.keys,
        index.ids,
        terms,
        memory.frequencies.df,
        float(memory.frequencies.rows.get(path, 0)),
        memory.book.columns,
        columns,
        values,
    )
    if found < 0:
        return None
    if kept < n:
        columns.resize(kept, refcheck=False)  # nobody else holds them
        values.resize(kept, refcheck=False)
    return Laid(columns, values, ids, raw, clipped, path, terms[:found])


def one_row(laid: Laid, memory: Memory, cats: int) -> Encoded:
    """The same, with all that learning from it needs; so many of the ids are of categories."""
    more: dict[str, Any] = {}
    if len(laid.terms):
        more = {"terms": laid.terms.copy(), "texts": (laid.path,), "text_counts": _ONE}
    if len(memory.book.names) >= memory.book.capacity:
        more["forgotten"] = memory.book.forgotten(np.concatenate([laid.ids, laid.terms]))
    return Encoded(
        dim=memory.book.dim,
        starts=_starts(len(laid.columns)),
        indices=laid.columns,
        values=laid.values,
        slots=laid.ids[cats:],
        raw=laid.raw,
        clipped=laid.clipped,
        **more,
    )


_ONE: IntArray = np.ones(1, np.int64)
_NO_TERMS: IntArray = np.empty(0, np.int64)
_NO_LETTERS: Bytes = np.empty(0, np.uint8)
_ONE.flags.writeable = _NO_LETTERS.flags.writeable = False
