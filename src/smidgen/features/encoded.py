"""Encoded records, or candidates with their context: rows, and the values that learning needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen._core import records as core
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures, InvalidRecord
from smidgen.features.names import column_at
from smidgen.features.rows import check_finite
from smidgen.serialization import same, structure

_NONE: IntArray = np.empty(0, np.int64)
_NOTHING: FloatArray = np.empty(0)
_NO_COLUMNS: NDArray[np.uint32] = np.empty(0, np.uint32)
for _empty in (_NONE, _NOTHING, _NO_COLUMNS):
    _empty.flags.writeable = False


def lay_rows(
    n: int, rows: IntArray, columns: NDArray[np.uint32], values: FloatArray
) -> tuple[IntArray, NDArray[np.uint32], FloatArray]:
    """Entries (row, column, value) in any order as CSR arrays: each row sorted, entries of one column added up."""
    starts, laid, worth = np.empty(n + 1, np.int64), np.empty(len(rows), np.uint32), np.empty(len(rows))
    filled = core.lay_rows(rows, columns, values, starts, laid, worth)
    if filled < len(rows):
        laid, worth = laid[:filled].copy(), worth[:filled].copy()
    return starts, laid, worth


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
    direction, direction_columns, direction_names
        The vectors of a context that is crossed with the candidates, one after the other: their features, the columns
        of these, and the places in ``names`` of those that have none (−1: it has one).
    groups
        Of each candidate as many keys of categories, 0 behind the last: what the vectors are crossed with after its id.
    vectors, vector_lengths
        The fields that held vectors, and how many numbers each of them had.
    entries
        Of candidates for several slots: the slots (`smidgen.structures.slots`). The rows are those of the first slot,
        then those of the next.
    source
        The record, or the candidates and their context, as JSON would say them, in MessagePack: they are encoded again
        when they are learnt. None where the rows stay as they are.
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
    direction: FloatArray = _NOTHING
    direction_columns: NDArray[np.uint32] = _NO_COLUMNS
    direction_names: IntArray = _NONE
    groups: NDArray[np.uint32] = _NO_COLUMNS
    vectors: tuple[str, ...] = ()
    vector_lengths: IntArray = _NONE
    entries: tuple[tuple[str, tuple[int, ...]], ...] = ()
    source: bytes | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoded) and same(self, other)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"Encoded({len(self)} rows, {len(self.indices)} features and {len(self.names)} new names)"

    @property
    def slot_ids(self) -> tuple[str, ...]:
        """The ids of the slots; none where one item is chosen."""
        return tuple(id for id, _ in self.entries)

    def at(self, i: int, kept: IntArray) -> Encoded:
        """The rows of one slot, of some of the candidates, as where one item is chosen."""
        rows = kept + i * (len(self) // len(self.entries))
        cuts = [np.arange(self.starts[row], self.starts[row + 1]) for row in rows.tolist()]
        where = np.concatenate(cuts)
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        new = place[self.new_rows] >= 0
        return structs.replace(
            self,
            starts=np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64),
            indices=self.indices[where],
            values=self.values[where],
            new_rows=place[self.new_rows[new]],
            new_names=self.new_names[new],
            new_values=self.new_values[new],
            ids=None if self.ids is None else tuple(self.ids[k] for k in kept.tolist()),
            groups=self.groups.reshape(len(self), -1)[rows].ravel() if len(self.groups) else self.groups,
            entries=(),
            source=None,
        )

    @property
    def lengths(self) -> dict[str, int]:
        """The fields that held vectors, and how many numbers each of them had."""
        return dict(zip(self.vectors, self.vector_lengths.tolist(), strict=True))

    def columns_at(self, places: Sequence[int]) -> NDArray[np.uint32]:
        """The columns of the new names at these places of a book that has a constant.

        A log gives the places, and compiled code goes by the columns: a place that no such book has is refused.
        """
        for name, place in zip(self.names, places, strict=True):
            if type(place) is not int or not 0 <= place < 3 * self.dim:
                raise InvalidRecord(f"the name {name!r} has the column {place!r}", f"columns are below {3 * self.dim}")
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

    def without(self, columns: IntArray, names: NDArray[np.bool_]) -> Encoded:
        """A copy without some columns and without the new names for which ``names`` is True."""
        kept = ~np.isin(self.indices, columns)
        place, new = np.cumsum(~names) - 1, ~names[self.new_names]
        more: dict[str, Any] = {}
        if len(self.direction):
            fresh = self.direction_names >= 0
            gone = np.where(fresh, names[np.maximum(self.direction_names, 0)] if len(names) else False, False)
            left = ~(gone | (~fresh & np.isin(self.direction_columns, columns)))
            where = np.where(fresh[left], place[self.direction_names[left]] if len(place) else -1, -1)
            more = {
                "direction": self.direction[left],
                "direction_columns": self.direction_columns[left],
                "direction_names": where.astype(np.int64),
            }
        return structs.replace(
            self,
            starts=np.concatenate([[0], np.cumsum(kept)])[self.starts].astype(np.int64),
            indices=self.indices[kept],
            values=self.values[kept],
            names=tuple(name for name, gone in zip(self.names, names.tolist(), strict=True) if not gone),
            new_rows=self.new_rows[new],
            new_names=place[self.new_names[new]],
            new_values=self.new_values[new],
            new_numbers=place[self.new_numbers],
            new_terms=place[self.new_terms],
            **more,
        )

    def direction_with(self, columns: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The columns of the direction, the new names in these columns."""
        fresh = self.direction_names >= 0
        if not fresh.any():
            return self.direction_columns
        return np.where(fresh, columns[np.maximum(self.direction_names, 0)], self.direction_columns).astype(np.uint32)

    def renamed(self, names: Mapping[int, str], known: Mapping[str, int]) -> Encoded:
        """Categories by another table: ``names`` by their columns here, and the columns ``known`` there, by name."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        moved, new, fresh = self.indices.copy(), dict[str, int](), np.full(len(self.indices), -1)
        for i, column in enumerate(self.indices.tolist()):
            name = names.get(column)
            if name is None:
                continue
            place = known.get(name)
            if place is not None and place < self.dim:
                moved[i] = place
            else:
                fresh[i] = new.setdefault(name, len(self.names) + len(new))
        old = fresh < 0
        starts, indices, values = lay_rows(len(self), rows[old], moved[old], self.values[old])
        return structs.replace(
            self,
            starts=starts,
            indices=indices,
            values=values,
            names=(*self.names, *new),
            new_rows=np.concatenate([self.new_rows, rows[~old]]),
            new_names=np.concatenate([self.new_names, fresh[~old]]),
            new_values=np.concatenate([self.new_values, self.values[~old]]),
        )

    def settled(self) -> Encoded:
        """A copy as rows that do not change later."""
        return self if self.source is None else structs.replace(self, source=None)

    def to_record(self) -> dict[str, Any]:
        """The fields that rebuild it."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "source"}
        for name in _OPTIONAL:  # of records with vectors
            if not len(fields[name]):
                del fields[name]
        return fields if self.source is None else {**fields, "source": np.frombuffer(self.source, np.uint8)}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Encoded:
        """Rebuild from `to_record`, with every check: the bytes may come from anywhere."""
        try:
            source = (
                np.asarray(fields["source"]).astype(np.uint8, casting="safe").tobytes() if "source" in fields else None
            )
            given = {
                name: fields[name]
                for name in cls.__struct_fields__
                if name != "source" and (name not in _OPTIONAL or name in fields)
            }
            made = cls(**given, source=source)
            sound = _sound(made)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            raise InvalidFeatures(
                f"the encoded record is incomplete: {error!r}", "pass the value that to_record returned"
            ) from error
        if not sound or fields.keys() - {*cls.__struct_fields__}:
            raise InvalidFeatures(
                "the parts of the encoded record have different lengths", "pass the value that to_record returned"
            )
        return made


def joined(parts: Sequence[Encoded], entries: tuple[tuple[str, tuple[int, ...]], ...]) -> Encoded:
    """Candidates as each of several slots sees them, as one: what they say is learned together."""
    names: dict[str, int] = {}
    places = [np.array([names.setdefault(name, len(names)) for name in part.names], np.int64) for part in parts]
    first = parts[0]
    ends = np.cumsum([0, *(len(part.indices) for part in parts)])
    texts: dict[str, int] = {}
    for part in parts:
        for text, count in zip(part.texts, part.text_counts.tolist(), strict=True):
            texts[text] = texts.get(text, 0) + count

    def together(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    def named(name: str) -> Any:
        return np.concatenate([place[getattr(part, name)] for part, place in zip(parts, places, strict=True)])

    fresh = first.direction_names
    return structs.replace(
        first,
        starts=np.concatenate([[0], *(part.starts[1:] + end for part, end in zip(parts, ends[:-1], strict=True))]),
        indices=together("indices"),
        values=together("values"),
        names=tuple(names),
        new_rows=np.concatenate([part.new_rows + i * len(first) for i, part in enumerate(parts)]),
        new_names=named("new_names"),
        new_values=together("new_values"),
        slots=together("slots"),
        raw=together("raw"),
        new_numbers=named("new_numbers"),
        new_raw=together("new_raw"),
        terms=together("terms"),
        new_terms=named("new_terms"),
        texts=tuple(texts),
        text_counts=np.array(list(texts.values()), np.int64),
        forgotten=np.unique(together("forgotten")),
        clipped=sum(part.clipped for part in parts),
        direction_names=np.where(fresh >= 0, places[0][fresh], -1) if len(places[0]) else fresh,
        groups=together("groups"),
        entries=entries,
    )


#: Fields that a record has only where there are vectors, or slots.
_OPTIONAL = ("direction", "direction_columns", "direction_names", "groups", "vectors", "vector_lengths", "entries")
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
    "direction": np.float64,
    "direction_columns": np.uint32,
    "direction_names": np.int64,
    "groups": np.uint32,
    "vector_lengths": np.int64,
}


def _sound(e: Encoded) -> bool:
    arrays = {name: getattr(e, name) for name in _TYPES}
    if any(array.dtype != _TYPES[name] or array.ndim != 1 for name, array in arrays.items()):
        return False
    for name in ("values", "new_values", "raw", "new_raw", "direction"):
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
        and len(e.direction) == len(e.direction_columns) == len(e.direction_names)
        and (not len(e.direction) or (int(e.direction_columns.max()) < e.dim and _below(e.direction_names + 1, m + 1)))
        and len(e.groups) % n == 0
        and len(e.vectors) == len(e.vector_lengths)
        and all(isinstance(path, str) for path in e.vectors)
        and isinstance(e.clipped, int)
        and (e.source is None or isinstance(e.source, bytes))
        and isinstance(e.candidates, bool)
        and (
            e.ids is None
            or (len(e.ids) * max(len(e.entries), 1) == n and all(isinstance(i, (str, int)) for i in e.ids))
        )
        and n % max(len(e.entries), 1) == 0
        and all(_is_entry(entry, n // len(e.entries)) for entry in e.entries)
        and (e.top is None or (isinstance(e.top, int) and e.top >= 1))
    )


def _is_entry(entry: Any, n: int) -> bool:
    """Check whether a slot has an id, and excludes some of ``n`` candidates."""
    id, excluded = entry
    return isinstance(id, str) and all(isinstance(place, int) and 0 <= place < n for place in excluded)


def _below(places: IntArray, n: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < n)


def _inside(starts: IntArray) -> NDArray[np.bool_]:
    """Mask of the neighboring entries that are in the same row."""
    inside = np.ones(max(int(starts[-1]) - 1, 0), np.bool_)
    borders = starts[1:-1]
    inside[borders[(borders > 0) & (borders < starts[-1])] - 1] = False
    return inside
