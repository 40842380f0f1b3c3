"""The known categories of one field for compiled code: the strings of a whole column become ids, to the letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core.records import add_category, find_categories
from smidgen.decision import IntArray

Bytes = NDArray[np.uint8]

#: What stands for a value that is absent, and for one that is not known.
NONE, UNKNOWN = -1, -2
#: What is written of each known value: its hash, its id, where its letters begin and end.
_HASH, _ID, _FIRST, _LAST, _LINES = 0, 1, 2, 3, 4
_ROOM = 64
NO_BYTES: Bytes = np.empty(0, np.uint8)
NO_BYTES.flags.writeable = False


class Strings(NamedTuple):
    """A column of strings as Arrow keeps it: all letters in a row, where each begins, and bits of those that are there.

    The i-th string is ``letters[starts[i]:starts[i + 1]]``; no bits at all say that every one is there. ``offset`` is
    the place of the first string among the bits.
    """

    letters: Bytes
    starts: IntArray
    there: Bytes
    offset: int

    def at(self, i: int) -> str:
        """One of them."""
        return self.letters[self.starts[i] : self.starts[i + 1]].tobytes().decode()


def one_after_the_other(values: Sequence[str | None]) -> Strings:
    """Strings in the same form; None is an empty one."""
    told = [b"" if value is None else value.encode("utf-8", "surrogatepass") for value in values]
    letters, starts = np.frombuffer(b"".join(told), np.uint8), np.zeros(len(told) + 1, np.int64)
    np.cumsum([len(value) for value in told], out=starts[1:])
    return Strings(letters, starts, NO_BYTES, 0)


class CategoryIndex:
    """Values of one field and their ids, derived from the book and never saved. It holds known names only."""

    __slots__ = ("_filled", "_known", "_letters", "_table")

    def __init__(self) -> None:
        self._table: IntArray = np.full((_ROOM, _LINES), -1, np.int64)
        self._known: Bytes = np.empty(16 * _ROOM, np.uint8)
        self._letters = 0
        self._filled = 0

    def find(self, strings: Strings, ids: IntArray) -> bool:
        """Write the ids of strings, `NONE` where there is none; whether all of them are known."""
        return find_categories(self._table, self._known, strings, ids) == 0

    def add(self, value: str, found: int) -> None:
        """Enter a value."""
        content = np.frombuffer(value.encode("utf-8", "surrogatepass"), np.uint8)
        first, self._letters = self._letters, self._letters + len(content)
        if self._letters > len(self._known):
            self._known = np.concatenate([self._known, np.empty(self._letters, np.uint8)])
        self._known[first : self._letters] = content
        if 2 * (self._filled + 1) > len(self._table):
            old = self._table[self._table[:, _HASH] >= 0]
            self._table = np.full((2 * len(self._table), _LINES), -1, np.int64)
            for line in old.tolist():
                add_category(self._table, self._known, line[_FIRST], line[_LAST], line[_ID])
        add_category(self._table, self._known, first, self._letters, found)
        self._filled += 1
