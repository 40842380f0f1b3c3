"""The common case in one compiled step: one record, all of whose names are known, with at most one text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core.records import lay_record
from smidgen._core.text import count_terms
from smidgen.decision import FloatArray, IntArray
from smidgen.features.encoded import Encoded
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory
from smidgen.features.scanning import NOTHING


@lru_cache(maxsize=1024)
def _starts(kept: int) -> IntArray:
    starts = np.array([0, kept])
    starts.flags.writeable = False
    return starts


#: As dtypes, which numpy takes sooner than classes.
WHOLE, COLUMN = np.dtype(np.int64), np.dtype(np.uint32)


class Laid(NamedTuple):
    """A row, how many of its numbers were clipped, and the path and the ids of the terms of its text."""

    columns: NDArray[np.uint32]
    values: FloatArray
    clipped: int
    path: str
    terms: IntArray


def lay_one(g: Gathered, memory: Memory, scale: bool) -> Laid | None:
    """The row of what was gathered; None if a text that waits to be scanned has a term that is not known."""
    first, text, known, path = len(g.cats) + len(g.slots), "", NOTHING.known, ""
    if g.later:
        field, text = g.later[0]
        known, path, terms = field.index.known, field.path, np.empty(count_terms(text), WHOLE)
        n = first + len(terms)
        columns, values = np.empty(n, COLUMN), np.empty(n)
    else:
        n, terms = first + len(g.terms), _NO_TERMS
        columns, values = np.empty(n, COLUMN), np.empty(n)
        if g.terms:
            terms, path, values[first:] = np.array(g.terms, np.int64), g.texts[0][0], 1.0
            for at, weight in g.weights.items():
                values[first + at] = weight
    numbers, frequencies = memory.scaling, memory.frequencies
    learnt = (numbers.table, numbers.ids), frequencies.df, memory.book.columns
    texts = float(frequencies.rows.get(path, 0))
    kept, clipped, found = lay_record(g.cats, g.slots, g.raw, scale, text, known, terms, texts, learnt, columns, values)
    if found < 0:
        return None
    if kept < n:
        columns.resize(kept, refcheck=False)  # nobody else holds them
        values.resize(kept, refcheck=False)
    return Laid(columns, values, clipped, path, terms[:found] if found < len(terms) else terms)


def one_row(laid: Laid, memory: Memory, g: Gathered) -> Encoded:
    """The same, with all that learning from it needs."""
    more: dict[str, Any] = {}
    if len(laid.terms):
        more = {"terms": laid.terms.copy(), "texts": (laid.path,), "text_counts": _ONE}
    if len(memory.book.names) >= memory.book.capacity:
        more["forgotten"] = memory.book.forgotten(np.concatenate([np.array(g.cats, WHOLE), laid.terms]))
    return Encoded(
        dim=memory.book.dim,
        starts=_starts(len(laid.columns)),
        indices=laid.columns,
        values=laid.values,
        slots=np.array(g.slots, WHOLE),
        raw=np.array(g.raw, np.float64),
        clipped=laid.clipped,
        **more,
    )


_ONE: IntArray = np.ones(1, np.int64)
_NO_TERMS: IntArray = np.empty(0, np.int64)
_ONE.flags.writeable = False
