"""State of a vectorizer: names and their columns, statistics of numbers, frequencies of words.

Numbers are brought to comparable size by statistics that one strange value cannot spoil. Of each number the lowest and
the highest value so far are held back; mean and spread are those of the rest. So a value of 1e100, wherever it comes,
counts for nothing until a second one like it arrives; and what is counted is first brought within four standard
deviations (winsorised), so that statistics can widen but not jump.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core import records
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import CorruptFile, InvalidRecord
from smidgen.features import limits
from smidgen.features.encoded import Encoded
from smidgen.features.names import HOLE, FeatureNames
from smidgen.features.vectors import Lengths
from smidgen.features.words import Frequencies

#: The line of a number: values seen; mean and sum of squares of those not held back; the two that are.
WIDTH = 5


class Scaling:
    """The statistics of every number that has a name in the book.

    Parameters
    ----------
    capacity
        How many numbers there can be: the places of the book.
    """

    __slots__ = ("_capacity", "clipped", "ids", "paths", "slots", "table")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.paths: list[str] = []
        self.slots: dict[str, int] = {}
        self.ids: IntArray = np.zeros(8, np.int64)  # of each number, its place in the book
        self.clipped = 0
        self.table: FloatArray = np.zeros((8, WIDTH))  # lines, and space for more

    @property
    def lines(self) -> FloatArray:
        """Statistics, one line per number."""
        return self.table[: len(self.paths)]

    def add(self, path: str, place: int) -> int:
        """Make space for a number; return its slot."""
        if path in self.slots:
            return self.slots[path]
        self.slots[path] = slot = len(self.paths)
        self._append(path, place)
        return slot

    def _append(self, path: str, place: int) -> None:
        slot = len(self.paths)
        self._widen(slot + 1)
        self.paths.append(path)
        self.ids[slot] = place

    def _widen(self, count: int) -> None:
        """Make space for a number of lines."""
        while count > len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)])

    def put(self, path: str, place: int, slot: int) -> bool:
        """Let a number have this very slot; says no where another has it, or where the number has another."""
        self.reserve(slot + 1)
        if self.paths[slot] == HOLE and path not in self.slots:
            self.paths[slot], self.slots[path], self.ids[slot] = path, slot, place
        return self.paths[slot] == path

    def reserve(self, count: int) -> None:
        """Reserve a number of slots, with or without known names."""
        if count > self._capacity:
            raise InvalidRecord(f"a number has the slot {count - 1}", f"slots are below {self._capacity}")
        if (first := len(self.paths)) < count:
            self._widen(count)
            self.paths += [HOLE] * (count - first)
            self.ids[first:count] = -1

    def state(self) -> dict[str, NDArray[Any]]:
        """Places in the book, statistics, and how many values were clipped."""
        return {
            "number_ids": self.ids[: len(self.paths)].copy(),
            "number_lines": self.lines.copy(),
            "clipped": np.array(self.clipped),
        }

    def restore(self, state: Mapping[str, NDArray[Any]], names: list[str]) -> None:
        """Take over what `state` gave."""
        self.paths, self.slots = [], {}
        self.table, self.ids = np.zeros((8, WIDTH)), np.zeros(8, np.int64)
        for slot, place in enumerate(state["number_ids"].tolist()):
            if place < 0:
                self._append(HOLE, -1)
            else:
                self.put(names[place], place, slot)
        self.table[: len(self.paths)] = state["number_lines"]
        self.clipped = int(state["clipped"])


CONTEXT = "context."
#: Where new names go, as a log says it: their places in the book, and the slots of the numbers among them (−1: none).
Places: TypeAlias = tuple[list[int], list[int]]
#: Names that are recorded again: place in the book, name, slot if it is a number (else −1).
Carried: TypeAlias = Sequence[tuple[int, str, int]]


class VectorizerState:
    """All that changes: in `absorb`, and the lengths of vectors in the first decision that has them."""

    __slots__ = ("book", "changes", "expected", "frequencies", "lengths", "scaling")

    def __init__(self, dim: int, constant: bool) -> None:
        self.book = FeatureNames(dim, constant)
        self.scaling = Scaling(self.book.capacity)
        self.frequencies = Frequencies(self.book.capacity)
        self.lengths = Lengths()
        self.changes = 0  #: how often it has changed
        #: the numbers that a context, or any other record, is expected to have: where one is absent, that is a feature
        self.expected: dict[str, frozenset[int]] = {"": frozenset(), CONTEXT: frozenset()}

    def planned(self, encoded: Encoded) -> tuple[IntArray, NDArray[np.uint32]]:
        """Ids and columns of the new names of an encoded record, if it were learnt now."""
        ids = self.book.planned(encoded.names)
        return ids, self.book.columns_of(encoded.names, ids)

    def columns_with(self, ids: IntArray) -> int:
        """Number of columns in use once these ids are known."""
        known = ids[ids < self.book.capacity]
        return max(self.book.columns_in_use, min(self.book.dim, int(known.max()) + 1 if len(known) else 0))

    def absorb(self, encoded: Encoded, ids: IntArray) -> None:
        """Learn names, numbers and words; ``ids`` is what `planned` gave."""
        self.note(encoded, ids)
        self._count(encoded, ids, encoded.slots, encoded.raw)

    def note(self, encoded: Encoded, ids: IntArray) -> None:
        """Learn names only; ``ids`` is what `planned` gave."""
        self.changes += 1
        self.book.add(encoded.names)
        for place in encoded.new_numbers.tolist():
            if ids[place] < self.book.capacity:
                self._expect(encoded.names[place], int(ids[place]))

    def places(self, encoded: Encoded, ids: IntArray) -> Places:
        """The places that new names, and new numbers among them, get if this is learnt now; for `absorb_at`."""
        slots, free = [], len(self.scaling.paths)
        given: dict[str, int] = {}
        for place in encoded.new_numbers.tolist():
            name = encoded.names[place]
            slot = self.scaling.slots.get(name, given.get(name, -1))
            if slot < 0 and ids[place] < self.book.capacity:
                slot, free = free, free + 1
                given[name] = slot
            slots.append(slot)
        return ids.tolist(), slots

    def carried(self, encoded: Encoded, known: NDArray[np.uint32]) -> Carried:
        """Names that a row holds by their own columns and that a log does not have: id, name, slot of a number.

        Names that share a column cannot be distinguished in a row. Of these only numbers and words are returned: any
        other name may be one that only another key has sent.
        """
        columns = np.unique(encoded.indices)
        new = columns[~np.isin(columns, known, assume_unique=True)]
        if len(self.book) > self.book.dim:
            shared = self.book.shared
            shared[encoded.forgotten] = True
            certain = np.concatenate([self.scaling.ids[encoded.slots], encoded.terms])
            new = new[~shared[new] | np.isin(new, certain)]
        names, slots = self.book.names, self.scaling.slots
        return [(i, names[i], slots.get(names[i], -1)) for i in new.tolist() if i < len(names) and names[i] != HOLE]

    def known(self) -> Carried:
        """Every name that is known, where it is: id, name, slot of a number."""
        slots = self.scaling.slots
        return [(i, name, slots.get(name, -1)) for i, name in enumerate(self.book.names) if name != HOLE]

    def adopt(self, carried: Carried) -> frozenset[int]:
        """Let names have the places that a log says; gives the slots that are others' by now."""
        self.changes += 1
        others = set()
        for place, name, slot in carried:
            self.book.put(name, place)
            if slot >= 0 and not self._put_number(name, place, slot):
                others.add(slot)
        return frozenset(others)

    def absorb_at(self, encoded: Encoded, places: Places, carried: Carried) -> None:
        """Learn names, numbers and words at the places that the log says."""
        others = self.note_at(encoded, places, carried)
        mine = np.array(
            [slot not in others and slot < len(self.scaling.paths) for slot in encoded.slots.tolist()], bool
        )
        self._count(encoded, np.array(places[0], np.int64), encoded.slots[mine], encoded.raw[mine])

    def note_at(self, encoded: Encoded, places: Places, carried: Carried) -> frozenset[int]:
        """Learn names only, at the places that the log says; gives the slots that are others' by now."""
        others, (ids, slots) = self.adopt(carried), places
        for name, place in zip(encoded.names, ids, strict=True):
            self.book.put(name, place)
        for place, slot in zip(encoded.new_numbers.tolist(), slots, strict=True):
            if slot >= 0:
                self._put_number(encoded.names[place], ids[place], slot)
        return others

    @property
    def extent(self) -> tuple[int, int]:
        """Number of places and of slots for numbers in use, including those without a known name."""
        return len(self.book), len(self.scaling.paths)

    def reserve(self, extent: tuple[int, int]) -> None:
        """Give no name a place that was another's before: those of names that are gone stay empty."""
        self.changes += 1
        self.book.reserve(extent[0])
        self.scaling.reserve(extent[1])

    def _count(self, encoded: Encoded, ids: IntArray, slots: IntArray, raw: Any) -> None:
        """Numbers, words, and what was clipped or had no place."""
        records.count_numbers(self.scaling.lines, slots, raw)
        if len(encoded.new_numbers):
            new = [self.scaling.slots.get(encoded.names[place], -1) for place in encoded.new_numbers.tolist()]
            records.count_numbers(self.scaling.lines, np.array(new, np.int64), encoded.new_raw)
        self.scaling.clipped += encoded.clipped
        self.lengths.learn(encoded.vectors, encoded.vector_lengths)
        self.book.crowded[encoded.forgotten] = True
        if encoded.texts:
            terms = np.concatenate([encoded.terms, ids[encoded.new_terms]])
            self.frequencies.take_in(encoded.texts, encoded.text_counts, terms)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that `restore` takes."""
        return {**self.book.state(), **self.scaling.state(), **self.frequencies.state(), **self.lengths.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        self.changes += 1
        self.book.restore(state)
        if len(state["df"]) > len(self.book) or len(state["number_ids"]) != len(state["number_lines"]):
            raise CorruptFile("the saved counts do not match the names", "restore the file from a copy")
        self.scaling.restore(state, self.book.names)
        self.frequencies.restore(state)
        self.lengths.restore(state)
        self.expected = {"": frozenset(), CONTEXT: frozenset()}
        for slot, path in enumerate(self.scaling.paths):
            if path != HOLE:
                self._count_on(path, slot)

    def _put_number(self, path: str, place: int, slot: int) -> bool:
        known = path in self.scaling.slots
        mine = self.scaling.put(path, place, slot)
        if mine and not known:
            self._count_on(path, slot)
        return mine

    def _expect(self, path: str, place: int) -> None:
        if path not in self.scaling.slots:
            self._count_on(path, self.scaling.add(path, place))

    def _count_on(self, path: str, slot: int) -> None:
        kind = CONTEXT if path.startswith(CONTEXT) else ""
        if len(self.expected[kind]) < limits.INDICATORS:
            self.expected[kind] |= {slot}
