"""What a vectorizer has learnt: names and their columns, statistics of numbers, frequencies of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import constant
from smidgen.decision import IntArray
from smidgen.errors import CorruptFile
from smidgen.features import limits
from smidgen.features.book import Book
from smidgen.features.encoded import Encoded
from smidgen.features.scaling import Scaling, take_in
from smidgen.features.words import Frequencies

CONTEXT = "context."


class Memory:
    """All that changes, and only in `absorb`."""

    __slots__ = ("book", "expected", "frequencies", "scaling")

    def __init__(self, dim: int, constant: bool) -> None:
        self.book = Book(dim, constant)
        self.scaling = Scaling()
        self.frequencies = Frequencies(self.book.capacity)
        #: the numbers that a context, or any other record, is expected to have: where one is absent, that is a feature
        self.expected: dict[str, frozenset[int]] = {"": frozenset(), CONTEXT: frozenset()}

    def planned(self, encoded: Encoded) -> tuple[IntArray, NDArray[np.uint32]]:
        """Ids and columns of the new names of an encoded record, if it were learnt now."""
        ids = self.book.planned(encoded.names)
        return ids, self.book.columns_of(encoded.names, ids)

    def columns_with(self, ids: IntArray) -> int:
        """How many columns are in use once these ids are known."""
        known = ids[ids < self.book.capacity]
        return max(self.book.columns_in_use, min(self.book.dim, int(known.max()) + 1 if len(known) else 0))

    def absorb(self, encoded: Encoded, ids: IntArray) -> None:
        """Learn names, numbers and words; ``ids`` is what `planned` gave."""
        self.book.add(encoded.names)
        for place in encoded.new_numbers.tolist():
            if ids[place] < self.book.capacity:
                self._expect(encoded.names[place], int(ids[place]))
        take_in(self.scaling.lines, constant(encoded.slots), constant(encoded.raw))
        if len(encoded.new_numbers):
            slots = [self.scaling.slots.get(encoded.names[place], -1) for place in encoded.new_numbers.tolist()]
            take_in(self.scaling.lines, constant(np.array(slots, np.int64)), constant(encoded.new_raw))
        self.scaling.clipped += encoded.clipped
        self.book.crowded[encoded.forgotten] = True
        if encoded.texts:
            terms = np.concatenate([encoded.terms, ids[encoded.new_terms]])
            self.frequencies.take_in(encoded.texts, encoded.text_counts, terms)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that `restore` takes."""
        return {**self.book.state(), **self.scaling.state(), **self.frequencies.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        self.book.restore(state)
        if len(state["df"]) > len(self.book) or len(state["number_ids"]) != len(state["number_lines"]):
            raise CorruptFile("the saved counts do not fit the names", "restore the file from a copy")
        self.scaling.restore(state, self.book.names)
        self.frequencies.restore(state)
        self.expected = {"": frozenset(), CONTEXT: frozenset()}
        for slot, path in enumerate(self.scaling.paths):
            self._count_on(path, slot)

    def _expect(self, path: str, place: int) -> None:
        if path not in self.scaling.slots:
            self._count_on(path, self.scaling.add(path, place))

    def _count_on(self, path: str, slot: int) -> None:
        kind = CONTEXT if path.startswith(CONTEXT) else ""
        if len(self.expected[kind]) < limits.INDICATORS:
            self.expected[kind] |= {slot}
