"""From what was gathered to rows: statistics, weights of words, indicators, crosses, columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.features.crossing import Crossing, Entries, Told
from smidgen.features.encoded import Encoded, lay_row, lay_rows
from smidgen.features.gathered import Gathered
from smidgen.features.memory import CONTEXT, Memory
from smidgen.features.reading import Reader
from smidgen.features.scaling import standardise
from smidgen.features.words import weigh
from smidgen.types import FloatArray, IntArray

_NONE: IntArray = np.empty(0, np.int64)
_NOTHING: FloatArray = np.empty(0)
for _empty in (_NONE, _NOTHING):
    _empty.flags.writeable = False


class Encoder:
    """Encodes records and candidates by what memory knows; changes nothing but its own tables of known names."""

    __slots__ = ("_absent", "_constant", "_cross", "_memory", "_scale", "reader")

    def __init__(self, memory: Memory, reader: Reader, crossing: Crossing, constant: bool, scale: bool) -> None:
        self._memory, self.reader, self._cross = memory, reader, crossing
        self._constant, self._scale = constant, scale
        self._absent: dict[int, int] = {}  # of each number, the id of its indicator

    def forget(self) -> None:
        """Drop all tables; they fill up again."""
        self.reader.forget()
        self._cross.forget()
        self._absent = {}

    def record(self, record: Any, mains: bool = True) -> Encoded:
        """One record as one row."""
        g = Gathered()
        self.reader.read(record, self.reader.root(""), "", g)
        for slot in sorted(self._memory.expected[""].difference(g.slots)):
            self._indicate(slot, g)
        if self._constant and mains:
            g.cats.append(0)
        crosses = self._cross.within(self._told(g), g) if self._cross.pairs and self._cross.pairs != "auto" else []
        if g.names or crosses or len(g.texts) > 1:
            g.end_row()
            return self._laid(g, 1, [crosses] if crosses else [])
        return self._one_row(g)

    def _one_row(self, g: Gathered) -> Encoded:
        """The common case: everything is known, and there is at most one text."""
        memory, cats, slots = self._memory, len(g.cats), g.slots
        numbers = memory.scaling.ids
        ids = np.array(g.cats + [numbers[slot] for slot in slots] + g.terms, np.int64)
        values = np.ones(len(ids))
        where, raw = np.array(slots, np.int64), np.array(g.raw, np.float64)
        clipped = self._scaled(where, raw, values[cats : cats + len(slots)])
        terms, counts = _NONE, _NONE
        texts: tuple[str, ...] = ()
        if g.terms:
            path, terms, part = g.texts[0][0], ids[cats + len(slots) :], values[cats + len(slots) :]
            part[:] = g.weights
            seen = np.array([memory.frequencies.rows.get(path, 0)], np.float64)
            weigh(memory.frequencies.df, np.array([0, len(part)]), terms, seen, part)
            texts, counts = (path,), np.ones(1, np.int64)
        columns = np.empty(len(ids), np.uint32)
        kept = lay_row(ids, values, memory.book.columns, columns)
        return Encoded(
            dim=memory.book.dim,
            starts=np.array([0, kept]),
            indices=columns[:kept],
            values=values[:kept],
            new_rows=_NONE,
            new_names=_NONE,
            new_values=_NOTHING,
            slots=where,
            raw=raw,
            new_numbers=_NONE,
            new_raw=_NOTHING,
            terms=terms,
            new_terms=_NONE,
            texts=texts,
            text_counts=counts,
            clipped=clipped,
        )

    def laid(self, g: Gathered, n: int, mains: bool = True) -> Encoded:
        """So many records as rows, without a context."""
        extra = [self._indicators(g, n)]
        if self._constant and mains:
            extra.append((np.arange(n), np.zeros(n, np.int64), np.ones(n)))
        return self._laid(g, n, extra)

    def candidates(self, g: Gathered, n: int, context: Any, mains: bool, ids: Any, top: int | None) -> Encoded:
        """So many candidates, crossed with their context; with ``mains`` also what all of them share."""
        extra, about = [self._indicators(g, n)], Gathered()
        if self._constant and mains:
            extra.append((np.arange(n), np.zeros(n, np.int64), np.ones(n)))
        if context is not None:
            self.reader.read(context, self.reader.root(CONTEXT), CONTEXT, about)
            for slot in sorted(self._memory.expected[CONTEXT].difference(about.slots)):
                self._indicate(slot, about)
            told = self._told(about)
            new: list[Any] = []
            if told and self._cross.pairs:
                fresh = [(row, name, 1.0, False) for (row, _), name in zip(g.new, _names(g), strict=True)]
                *known, new = self._cross.cross(told, self._entries(g), fresh, g)
                extra.append(tuple(known))
            extra.append([(-1 - place, value, row) for row, place, value in new])
            if mains:
                extra += self._shared(about, n, g)
        return self._laid(g, n, extra, about, candidates=True, ids=ids, top=top)

    def _shared(self, about: Gathered, n: int, g: Gathered) -> list[Any]:
        """What the context says by itself, the same in every row; its texts are read once per row."""
        told, rows = self._told(about), np.arange(n)
        out: list[Any] = []
        for each in told:
            found = self._memory.book.find(each.name)
            place = found if found >= 0 else -1 - g.place(each.name)
            if found >= 0:
                out.append((rows, np.full(n, place), np.full(n, each.value)))
            else:
                out.append([(place, each.value, row) for row in range(n)])
        names = list(about.names)
        for (path, _, first), (_, _, last) in zip(
            about.texts, [*about.texts[1:], ("", 0, len(about.terms))], strict=True
        ):
            for row in range(n):
                g.texts.append((path, row, len(g.terms)))
                g.terms += about.terms[first:last]
                g.weights += about.weights[first:last]
                g.places += [p if p < 0 else g.place(names[p]) for p in about.places[first:last]]
        return out

    def _entries(self, g: Gathered) -> Entries:
        """Categories and numbers with an id, for crosses."""
        rows, ids = g.categories()
        more, slots, raw = g.numbers()
        z = np.empty(len(raw))
        self._scaled(slots, raw, z)
        every = np.array(self._memory.scaling.ids, np.int64)[slots] if len(slots) else _NONE
        values = np.concatenate([np.ones(len(ids)), z])
        return Entries(np.concatenate([rows, more]), np.concatenate([ids, every]), values, len(ids))

    def _told(self, g: Gathered) -> list[Told]:
        """The features of one record by name: categories, then numbers that are not 0."""
        names, capacity = self._memory.book.names, self._memory.book.capacity
        told = [
            Told(names[i] if i < capacity else f"#{i - capacity}", 1.0, False)
            for i in g.cats
            if i or not self._constant
        ]
        told += [Told(name, 1.0, False) for name in _names(g)]
        if g.slots:
            z = np.empty(len(g.slots))
            self._scaled(np.array(g.slots, np.int64), np.array(g.raw, np.float64), z)
            paths = self._memory.scaling.paths
            told += [Told(paths[slot], value, True) for slot, value in zip(g.slots, z.tolist(), strict=True) if value]
        return told

    def _scaled(self, slots: IntArray, raw: FloatArray, out: FloatArray) -> int:
        if self._scale:
            return standardise(self._memory.scaling.lines, slots, raw, out)
        out[:] = raw
        return 0

    def _indicate(self, slot: int, g: Gathered) -> None:
        """A number is absent from the present row."""
        found = self._indicator(slot, g)
        if found >= 0:
            g.cats.append(found)
        else:
            g.new.append((g.row, -1 - found))

    def _indicator(self, slot: int, g: Gathered) -> int:
        """The id of a number's indicator; −1 − its place where the name is new."""
        known = self._absent.get(slot)
        if known is not None:
            return known
        name = f"{self._memory.scaling.paths[slot]} (missing)"
        found = self._memory.book.find(name)
        if 0 <= found < self._memory.book.capacity:
            self._absent[slot] = found
        return found if found >= 0 else -1 - g.place(name)

    def _indicators(self, g: Gathered, n: int) -> Any:
        """The numbers that are absent from some rows."""
        expected = sorted(self._memory.expected[""])
        if not expected:
            return []
        rows, slots, _ = g.numbers()
        present = np.zeros((n, len(self._memory.scaling.paths)), np.bool_)
        present[rows, slots] = True
        out: list[tuple[int, float, int]] = []
        for slot in expected:
            absent = np.flatnonzero(~present[:, slot]).tolist()
            if absent:
                found = self._indicator(slot, g)
                out += [(found, 1.0, row) for row in absent]
        return out

    def _laid(
        self,
        g: Gathered,
        n: int,
        extra: list[Any],
        about: Gathered | None = None,
        **more: Any,
    ) -> Encoded:
        """All rows. ``extra`` has arrays (rows, ids, values), and lists of (id, value, row); −1 − place if new."""
        memory = self._memory
        known = self._entries(g)
        rows, ids, values = [known.rows], [known.ids], [known.values]
        new: list[tuple[int, int, float]] = [(row, place, 1.0) for row, place in g.new]
        new += [(row, place, 0.0 if self._scale else number) for row, place, number in g.new_numbers]
        for part in extra:
            if isinstance(part, tuple):
                rows.append(part[0])
                ids.append(part[1])
                values.append(part[2])
            elif part:
                old = [entry for entry in part if entry[0] >= 0]
                rows.append(np.array([entry[2] if len(entry) > 2 else 0 for entry in old], np.int64))
                ids.append(np.array([entry[0] for entry in old], np.int64))
                values.append(np.array([entry[1] for entry in old], np.float64))
                new += [(entry[2] if len(entry) > 2 else 0, -1 - entry[0], entry[1]) for entry in part if entry[0] < 0]
        terms, new_terms = self._weighed(g, rows, ids, values, new)
        columns: NDArray[np.uint32] = memory.book.columns[np.concatenate(ids)]
        starts, indices, laid = lay_rows(n, np.concatenate(rows), columns, np.concatenate(values))
        _, slots, raw = g.numbers()
        clipped = self._clipped(slots, raw)
        numbers = [(place, number) for _, place, number in g.new_numbers]
        if about is not None:
            slots, raw = np.concatenate([slots, about.slots]).astype(np.int64), np.concatenate([raw, about.raw])
            old_names = list(about.names)
            numbers += [(g.place(old_names[place]), number) for _, place, number in about.new_numbers]
        texts: dict[str, int] = {}
        for path, _, _ in g.texts:
            texts[path] = texts.get(path, 0) + 1
        return Encoded(
            dim=memory.book.dim,
            starts=starts,
            indices=indices,
            values=laid,
            names=tuple(g.names),
            new_rows=np.array([entry[0] for entry in new], np.int64),
            new_names=np.array([entry[1] for entry in new], np.int64),
            new_values=np.array([entry[2] for entry in new], np.float64),
            slots=slots,
            raw=raw,
            new_numbers=np.array([place for place, _ in numbers], np.int64),
            new_raw=np.array([number for _, number in numbers], np.float64),
            terms=terms,
            new_terms=new_terms,
            texts=tuple(texts),
            text_counts=np.array(list(texts.values()), np.int64),
            clipped=clipped,
            **more,
        )

    def _clipped(self, slots: IntArray, raw: FloatArray) -> int:
        return self._scaled(slots, raw, np.empty(len(raw)))

    def _weighed(
        self, g: Gathered, rows: list[IntArray], ids: list[IntArray], values: list[FloatArray], new: list[Any]
    ) -> tuple[IntArray, IntArray]:
        """Weigh all texts; known terms join the known features, new ones the new. Returns known ids and new places."""
        if not g.terms:
            return _NONE, _NONE
        starts = np.array([*(first for _, _, first in g.texts), len(g.terms)])
        seen = np.array([self._memory.frequencies.rows.get(path, 0) for path, _, _ in g.texts], np.float64)
        terms, worth = np.array(g.terms, np.int64), np.array(g.weights, np.float64)
        weigh(self._memory.frequencies.df, starts, terms, seen, worth)
        where, places = np.repeat(np.array([row for _, row, _ in g.texts]), np.diff(starts)), np.array(g.places)
        known = places < 0
        rows.append(where[known])
        ids.append(terms[known])
        values.append(worth[known])
        fresh = ~known
        new += zip(where[fresh].tolist(), places[fresh].tolist(), worth[fresh].tolist(), strict=True)
        return terms[known], places[fresh]


def _names(g: Gathered) -> list[str]:
    """The names of the new features that are 1."""
    names = list(g.names)
    return [names[place] for _, place in g.new]
