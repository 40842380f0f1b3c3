"""Learned decisions, as ranges of their numbers."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np

from smidgen.decision import IntArray
from smidgen.errors import InvalidRecord

_HINT = "give what ranges gave"


class LearntNumbers:
    """A set of positive integers that stays small when they come nearly in order.

    Held as ranges [start, stop): a run without gaps is one range, however long. Feedback that comes late or never
    leaves a gap, and so at most one more range.

    Examples
    --------
    >>> from smidgen.state.learnt import LearntNumbers
    >>> learnt = LearntNumbers()
    >>> for number in (1, 2, 5, 3): learnt.add(number)
    >>> learnt.ranges()
    array([[1, 4],
           [5, 6]])
    >>> 4 in learnt, 5 in learnt
    (False, True)
    """

    __slots__ = ("_count", "_starts", "_stops", "end")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._count = 0
        self.end = 0  #: beyond all numbers of the set

    def __len__(self) -> int:
        return self._count

    def __contains__(self, number: int) -> bool:
        if number >= self.end:  # the common case
            return False
        i = bisect_right(self._starts, number)
        return i > 0 and number < self._stops[i - 1]

    def add(self, number: int) -> None:
        """Add a number that is not in the set yet."""
        starts, stops = self._starts, self._stops
        self._count += 1
        if self.end == number and stops:  # the next one: the common case
            self.end = stops[-1] = number + 1
            return
        i = bisect_right(starts, number)  # the range that begins after it
        joins_left = i > 0 and stops[i - 1] == number
        joins_right = i < len(starts) and starts[i] == number + 1
        if joins_left and joins_right:
            stops[i - 1] = stops.pop(i)
            starts.pop(i)
        elif joins_left:
            stops[i - 1] = number + 1
        elif joins_right:
            starts[i] = number
        else:
            starts.insert(i, number)
            stops.insert(i, number + 1)
        self.end = stops[-1]

    def add_range(self, start: int, stop: int) -> None:
        """Add start … stop−1, all of them beyond the largest number so far."""
        if start < stop:
            self.add(start)
            self.end = self._stops[-1] = stop
            self._count += stop - start - 1

    def ranges(self) -> IntArray:
        """The ranges as an array of shape (ranges, 2): first, last + 1."""
        return np.array([self._starts, self._stops], dtype=np.int64).T.copy()

    @classmethod
    def from_ranges(cls, ranges: Any) -> LearntNumbers:
        """Rebuild the set from `ranges`."""
        if ranges.ndim != 2 or ranges.shape[1] != 2 or ranges.dtype != np.int64:
            raise InvalidRecord(f"the learnt numbers have shape {ranges.shape} and dtype {ranges.dtype}", _HINT)
        flat = [0, *ranges.ravel().tolist()]
        if any(a >= b for a, b in pairwise(flat)):
            raise InvalidRecord("the learnt numbers are not in order", _HINT)
        result = cls()
        result._starts, result._stops = ranges[:, 0].tolist(), ranges[:, 1].tolist()
        result._count = sum(result._stops) - sum(result._starts)
        result.end = result._stops[-1] if result._stops else 0
        return result
