"""Numbers brought to comparable size, by statistics that one strange value cannot spoil.

Of each number the lowest and the highest value so far are held back; mean and spread are those of the rest. So a value
of 1e100, wherever it comes, counts for nothing until a second one like it arrives; and what is counted is first brought
within four standard deviations (winsorised), so that statistics can widen but not jump.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.book import HOLE

#: z is clipped to ± this, and values are counted as if they lay within so many standard deviations.
REACH = 4.0
#: So many values between the lowest and the highest are needed before mean and spread are taken from them alone.
ENOUGH = 8
#: Where things stand in a number's line: values seen; mean and sum of squares of those not held back; the two that are.
SEEN, MEAN, SQUARES, LOW, HIGH, WIDTH = 0, 1, 2, 3, 4, 5


@inlined
def _centre_and_spread(line: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; of all values while there are few, or while those between are all the same."""
    n = line[SEEN]
    if n < 2.0:
        return 0.0, 0.0
    m = n - 2.0
    if m >= ENOUGH and line[SQUARES] > 0.0:
        return line[MEAN], math.sqrt(line[SQUARES] / m)
    mean = (m * line[MEAN] + line[LOW] + line[HIGH]) / n
    between, low, high = line[MEAN] - mean, line[LOW] - mean, line[HIGH] - mean
    return mean, math.sqrt((line[SQUARES] + m * between * between + low * low + high * high) / n)


@kernel
def standardise(lines: FloatArray, slots: IntArray, raw: FloatArray, out: FloatArray) -> int:
    """Out = (v − mean)/sd of each number, clipped; 0 while no two values differ. Returns how many were clipped."""
    clipped = 0
    for k in range(slots.shape[0]):
        centre, spread = _centre_and_spread(lines[slots[k]])
        z = (raw[k] - centre) / spread if spread > 0.0 else 0.0
        clipped += abs(z) > REACH
        out[k] = min(max(z, -REACH), REACH)
    return clipped


@kernel
def standardise_column(line: FloatArray, values: FloatArray) -> None:
    """The same for many values of one number, in place; NaN stays."""
    centre, spread = _centre_and_spread(line)
    for k in range(values.shape[0]):
        if not np.isnan(values[k]):
            z = (values[k] - centre) / spread if spread > 0.0 else 0.0
            values[k] = min(max(z, -REACH), REACH)


@kernel
def take_in(lines: FloatArray, slots: IntArray, raw: FloatArray) -> None:
    """Count values, one after the other (Welford's recurrence); slots that are not there are passed over."""
    for k in range(slots.shape[0]):
        if slots[k] < 0 or slots[k] >= lines.shape[0]:
            continue
        line, v = lines[slots[k]], raw[k]
        n = line[SEEN]
        line[SEEN] = n + 1.0
        if n < 2.0:
            line[LOW] = min(v, line[LOW]) if n else v
            line[HIGH] = max(v, line[HIGH]) if n else v
            continue
        if v < line[LOW]:
            v, line[LOW] = line[LOW], v
        elif v > line[HIGH]:
            v, line[HIGH] = line[HIGH], v
        m = n - 2.0
        if m >= ENOUGH and line[SQUARES] > 0.0:
            reach = REACH * math.sqrt(line[SQUARES] / m)
            v = min(max(v, line[MEAN] - reach), line[MEAN] + reach)
        step = v - line[MEAN]
        line[MEAN] += step / (m + 1.0)
        line[SQUARES] += step * (v - line[MEAN])


class Scaling:
    """The statistics of every number that has a name in the book."""

    __slots__ = ("clipped", "ids", "paths", "slots", "table")

    def __init__(self) -> None:
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
        if slot == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)])
        self.paths.append(path)
        self.ids[slot] = place

    def put(self, path: str, place: int, slot: int) -> bool:
        """Let a number have this very slot; says no where another has it, or where the number has another."""
        self.reserve(slot + 1)
        if self.paths[slot] == HOLE and path not in self.slots:
            self.paths[slot], self.slots[path], self.ids[slot] = path, slot, place
        return self.paths[slot] == path

    def reserve(self, count: int) -> None:
        """Let so many slots be taken, if only by nobody who is known."""
        while len(self.paths) < count:
            self._append(HOLE, -1)

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
