"""Numbers brought to comparable size, by statistics that one strange value cannot spoil.

Of each number the lowest and the highest value so far are held back; mean and spread are those of the rest. So a value
of 1e100, wherever it comes, counts for nothing until a second one like it arrives; and what is counted is first brought
within four standard deviations (winsorised), so that statistics can widen but not jump.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features.book import HOLE

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
        """One line of statistics per number."""
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
        """Make space for so many lines."""
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
        """Let so many slots be taken, if only by nobody who is known."""
        if count > self._capacity:
            raise InvalidRecord(f"a number has the slot {count - 1}", f"slots lie below {self._capacity}")
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
