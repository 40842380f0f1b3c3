"""What a vectorizer makes of a record, or of candidates and their context: all that learning from it needs later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures
from smidgen.features.book import column_at
from smidgen.features.rows import check_finite
from smidgen.records import same, structure

FEW = 64  # entries that are sorted by insertion
BLOCK = 256  # rows that are laid together
_NONE: IntArray = np.empty(0, np.int64)
_NOTHING: FloatArray = np.empty(0)
for _empty in (_NONE, _NOTHING):
    _empty.flags.writeable = False


@kernel
def order_row(columns: NDArray[np.uint32], values: FloatArray, first: int, last: int) -> None:
    """Sort the entries first … last − 1 by column; those of one column keep their order."""
    if last - first <= FEW:
        for i in range(first + 1, last):
            c, v, j = columns[i], values[i], i
            while j > first and columns[j - 1] > c:
                columns[j], values[j] = columns[j - 1], values[j - 1]
                j -= 1
            columns[j], values[j] = c, v
    else:
        order = np.argsort(columns[first:last], kind="mergesort")
        columns[first:last] = columns[first:last][order]
        values[first:last] = values[first:last][order]


@kernel
def sort_row(columns: NDArray[np.uint32], values: FloatArray, first: int, last: int) -> int:
    """Sort the entries first … last − 1 by column, add up those of one column; return how many are left."""
    order_row(columns, values, first, last)
    kept = first
    for i in range(first + 1, last):
        if columns[i] == columns[kept]:
            values[kept] += values[i]
        else:
            kept += 1
            columns[kept], values[kept] = columns[i], values[i]
    return kept - first + 1 if last > first else 0


@kernel
def _by_column(
    columns: NDArray[np.uint32], entries: IntArray, places: NDArray[np.int32], order: IntArray
) -> NDArray[np.int64]:
    """These entries by column, the first of equals first: whoever lays them in this order has sorted their rows.

    ``places`` has one number more than there are columns. Where entries are few they stay as they are.
    """
    if 2 * entries.shape[0] < places.shape[0]:
        return entries
    places[:] = 0
    for k in entries:
        places[columns[k] + 1] += 1
    for c in range(places.shape[0] - 1):
        places[c + 1] += places[c]
    for k in entries:
        order[places[columns[k]]] = k
        places[columns[k]] += 1
    return order[: entries.shape[0]]


@kernel
def _by_block(rows: IntArray, starts: IntArray) -> IntArray:
    """Entries in the order of blocks of neighbouring rows, as near to each other in memory as they will be used."""
    n = starts.shape[0] - 1
    places = np.empty((n + BLOCK - 1) // BLOCK, np.int64)
    for b in range(places.shape[0]):
        places[b] = starts[b * BLOCK]
    order = np.empty(rows.shape[0], np.int64)
    for k in range(rows.shape[0]):
        b = rows[k] // BLOCK
        order[places[b]] = k
        places[b] += 1
    return order


@kernel
def lay_rows(
    n: int, rows: IntArray, columns: NDArray[np.uint32], values: FloatArray
) -> tuple[IntArray, NDArray[np.uint32], FloatArray]:
    """Entries (row, column, value) in any order as CSR arrays: each row sorted, entries of one column added up."""
    starts, top = np.zeros(n + 1, np.int64), np.int64(0)
    for k in range(rows.shape[0]):
        starts[rows[k] + 1] += 1
        top = max(top, np.int64(columns[k]) + 1)
    for i in range(n):
        starts[i + 1] += starts[i]
    next_place, laid, worth = starts[:-1].copy(), np.empty(rows.shape[0], np.uint32), np.empty(rows.shape[0])
    places, order, near = np.empty(top + 1, np.int32), np.empty(rows.shape[0], np.int64), _by_block(rows, starts)
    filled = 0
    for b in range(0, n, BLOCK):
        end = min(b + BLOCK, n)
        entries = near[starts[b] : starts[end]]
        ready = _by_column(columns, entries, places, order)
        for k in ready:
            at = next_place[rows[k]]
            laid[at], worth[at] = columns[k], values[k]
            next_place[rows[k]] = at + 1
    for i in range(n):
        first, last = starts[i], starts[i + 1]
        count = sort_row(laid, worth, first, last)
        starts[i] = filled
        for k in range(first, first + count):
            laid[filled], worth[filled] = laid[k], worth[k]
            filled += 1
    starts[n] = filled
    return starts, laid[:filled].copy(), worth[:filled].copy()


@structure
class Encoded(msgspec.Struct, frozen=True, eq=False, kw_only=True, repr_omit_defaults=True):
    """Rows of features with known columns, and what must still find its place.

    Attributes
    ----------
    dim, starts, indices, values
        The rows, as CSR arrays: one of a record, one per candidate.
    names
        Names that had no column when this was made. They get one when it is learnt.
    new_rows, new_names, new_values
        The features with those names: row, place in ``names``, value.
    slots, raw
        Numbers whose statistics were known, as they came.
    new_numbers, new_raw
        Those that were not: place in ``names``, and the number as it came.
    terms, new_terms
        The words and pairs of texts: places in the book, and places in ``names``.
    texts, text_counts
        Which texts there were, and in how many rows.
    forgotten
        Columns of features whose names the book does not hold.
    clipped
        How many numbers were clipped.
    ids, top
        Of candidates: their ids, and how many places of the ranking count (None: one item is to be chosen).
    """

    dim: int
    starts: IntArray
    indices: NDArray[np.uint32]
    values: FloatArray
    names: tuple[str, ...] = ()
    new_rows: IntArray = _NONE
    new_names: IntArray = _NONE
    new_values: FloatArray = _NOTHING
    slots: IntArray = _NONE
    raw: FloatArray = _NOTHING
    new_numbers: IntArray = _NONE
    new_raw: FloatArray = _NOTHING
    terms: IntArray = _NONE
    new_terms: IntArray = _NONE
    texts: tuple[str, ...] = ()
    text_counts: IntArray = _NONE
    forgotten: IntArray = _NONE
    clipped: int = 0
    ids: tuple[str | int, ...] | None = None
    top: int | None = None
    candidates: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoded) and same(self, other)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"Encoded({len(self)} rows, {len(self.indices)} features and {len(self.names)} new names)"

    def columns_at(self, places: Sequence[int]) -> NDArray[np.uint32]:
        """The columns of the new names at these places of a book that has a constant."""
        found = [column_at(name, place, self.dim) for name, place in zip(self.names, places, strict=True)]
        return np.array(found, np.uint32)

    def with_columns(self, columns: NDArray[np.uint32]) -> tuple[IntArray, NDArray[np.uint32], FloatArray]:
        """The rows as CSR arrays, the new names in these columns."""
        if not len(self.new_values):
            return self.starts, self.indices, self.values
        n = len(self)
        rows = np.concatenate([np.repeat(np.arange(n), np.diff(self.starts)), self.new_rows])
        where = np.concatenate([self.indices, columns[self.new_names]])
        return lay_rows(n, rows, where, np.concatenate([self.values, self.new_values]))

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild it."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Encoded:
        """Rebuild from `to_record`, with every check: the bytes may come from anywhere."""
        try:
            made = cls(**{name: fields[name] for name in cls.__struct_fields__})
            sound = _sound(made)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise InvalidFeatures(f"the encoded record is not whole: {error!r}", "give what to_record gave") from error
        if not sound or len(fields) != len(cls.__struct_fields__):
            raise InvalidFeatures("the parts of the encoded record do not fit together", "give what to_record gave")
        return made


_TYPES = {
    "starts": np.int64,
    "indices": np.uint32,
    "values": np.float64,
    "new_rows": np.int64,
    "new_names": np.int64,
    "new_values": np.float64,
    "slots": np.int64,
    "raw": np.float64,
    "new_numbers": np.int64,
    "new_raw": np.float64,
    "terms": np.int64,
    "new_terms": np.int64,
    "text_counts": np.int64,
    "forgotten": np.int64,
}


def _sound(e: Encoded) -> bool:
    arrays = {name: getattr(e, name) for name in _TYPES}
    if any(array.dtype != _TYPES[name] or array.ndim != 1 for name, array in arrays.items()):
        return False
    for name in ("values", "new_values", "raw", "new_raw"):
        check_finite(arrays[name], f"the record's {name}", "give what to_record gave")
    n, m = len(e), len(e.names)
    steps = np.diff(e.starts)
    rising = len(e.indices) == 0 or bool((np.diff(e.indices.astype(np.int64))[_inside(e.starts)] > 0).all())
    return (
        n >= 1
        and e.starts[0] == 0
        and e.starts[-1] == len(e.indices) == len(e.values)
        and bool((steps >= 0).all())
        and rising
        and (not len(e.indices) or int(e.indices.max()) < e.dim)
        and len(e.new_rows) == len(e.new_names) == len(e.new_values)
        and len(e.slots) == len(e.raw)
        and len(e.new_numbers) == len(e.new_raw)
        and len(e.texts) == len(e.text_counts)
        and _below(e.new_rows, n)
        and _below(e.forgotten, e.dim)
        and all(_below(array, m) for array in (e.new_names, e.new_numbers, e.new_terms))
        and all(isinstance(name, str) for name in (*e.names, *e.texts))
        and isinstance(e.clipped, int)
        and isinstance(e.candidates, bool)
        and (e.ids is None or (len(e.ids) == n and all(isinstance(i, (str, int)) for i in e.ids)))
        and (e.top is None or (isinstance(e.top, int) and e.top >= 1))
    )


def _below(places: IntArray, n: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < n)


def _inside(starts: IntArray) -> NDArray[np.bool_]:
    """Which neighbours among the entries lie in one row."""
    inside = np.ones(max(int(starts[-1]) - 1, 0), np.bool_)
    borders = starts[1:-1]
    inside[borders[(borders > 0) & (borders < starts[-1])] - 1] = False
    return inside
