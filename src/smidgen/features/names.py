"""Names of features and their columns: one column each while they are few, shared ones beyond.

`CategoryIndex` has the known categories of one field for compiled code: the strings of a whole column become ids.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen._core import records
from smidgen.decision import IntArray
from smidgen.errors import CorruptFile, InvalidRecord
from smidgen.features import limits
from smidgen.serialization import UNREADABLE

CONSTANT = "(constant)"
#: Placeholder of a place that is taken by a name that is not known (yet, or any more).
HOLE = "\0"


def bounded(name: str) -> str:
    """A name of at most `limits.NAME` characters. A longer one is cut, and a digest keeps it unique."""
    if len(name) <= limits.NAME:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: limits.NAME - 18]}…#{digest}"


def _together(names: list[str]) -> str:
    """Join the names that share a column."""
    return names[0] if len(names) == 1 else f"{' | '.join(names)} (share a column)"


class FeatureNames:
    """Names in the order in which they were learnt, and the column of each.

    The first ``dim`` names have a column of their own. The next ``dim`` share columns by a hash, and are remembered, so
    that a shared column can say who shares it. Names beyond that are hashed and not remembered.

    An *id* is the place of a name in the book; ids from ``capacity`` on stand for columns that a name without a place
    shares.
    """

    __slots__ = ("_first", "capacity", "columns", "crowded", "dim", "ids", "names")

    def __init__(self, dim: int, constant: bool) -> None:
        self.dim, self.capacity = dim, 2 * dim
        self._first = int(constant)
        self.names: list[str] = []
        self.ids: dict[str, int] = {}
        self.columns: NDArray[np.uint32] = np.zeros(self.capacity + dim, np.uint32)
        self.columns[self.capacity :] = np.arange(dim)
        self.crowded: NDArray[np.bool_] = np.zeros(dim, np.bool_)  # columns that forgotten names share
        if constant:
            self.add((CONSTANT,))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def columns_in_use(self) -> int:
        """Number of columns that have a name."""
        return min(len(self.names), self.dim)

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Mask of the columns that several names share."""
        found = self.crowded.copy()
        found[self.columns[self.dim : len(self.names)]] = True
        return found

    def find(self, name: str) -> int:
        """The id of a name; −1 if it has none yet and can still get one."""
        found = self.ids.get(name, -1)
        if found < 0 and len(self.names) >= self.capacity:
            return self.capacity + self._shared(name)
        return found

    def planned(self, names: Sequence[str]) -> IntArray:
        """The ids that names have, or would get if they were added now, in this order."""
        taken = len(self.names)
        out = np.empty(len(names), np.int64)
        for k, name in enumerate(names):
            found = self.ids.get(name, -1)
            if found < 0 and taken < self.capacity:
                found, taken = taken, taken + 1
            elif found < 0:
                found = self.capacity + self._shared(name)
            out[k] = found
        return out

    def columns_of(self, names: Sequence[str], ids: IntArray) -> NDArray[np.uint32]:
        """The columns of what `planned` gave."""
        out = np.empty(len(names), np.uint32)
        for k, (name, i) in enumerate(zip(names, ids.tolist(), strict=True)):
            out[k] = self._column(name, i)
        return out

    def add(self, names: Iterable[str]) -> None:
        """Give places to names, in this order; those that have one keep it."""
        for name in names:
            if name in self.ids:
                continue
            i = len(self.names)
            if i >= self.capacity:
                self.crowded[self._shared(name)] = True
                continue
            self.ids[name] = i
            self._append(name)

    def put(self, name: str, place: int) -> None:
        """Give a name this place, as a log records it, whatever happened to the names before it.

        A place that another name has stays with that one; so does a name that has a place.
        """
        if not 0 <= place < self.capacity + self.dim:
            raise InvalidRecord(f"the name {name!r} has the column {place}", f"columns are below {3 * self.dim}")
        if place >= self.capacity:
            self.crowded[place - self.capacity] = True
            return
        self.reserve(place + 1)
        if self.names[place] == HOLE and name not in self.ids:
            self.names[place], self.ids[name] = name, place
            self.columns[place] = self._column(name, place)

    def reserve(self, count: int) -> None:
        """Reserve a number of places, with or without known names."""
        first, end = len(self.names), min(count, self.capacity)
        if first < end:
            self.names += [HOLE] * (end - first)
            self.columns[first:end] = np.arange(first, end)
            self.columns[max(first, self.dim) : end] = self._shared(HOLE)

    def forgotten(self, ids: IntArray) -> IntArray:
        """The columns of ids that stand for names without a place."""
        return np.unique(ids[ids >= self.capacity]) - self.capacity

    def by_column(self) -> list[tuple[int, str]]:
        """Every column in use, and its name; of a shared one, all names that are known to share it."""
        known: dict[int, list[str]] = {}
        for i, name in enumerate(self.names):
            if name == HOLE:
                continue
            known.setdefault(int(self.columns[i]), []).append(name)
        return [(c, _together([*names, *(["…"] if self.crowded[c] else [])])) for c, names in known.items()]

    def state(self) -> dict[str, NDArray[Any]]:
        """The names but for the constant's (no bytes if there are none), and which columns forgotten names share."""
        names = msgspec.json.encode(self.names[self._first :]) if len(self.names) > self._first else b""
        return {"names": np.frombuffer(names, np.uint8), "crowded": self.crowded}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        try:
            names = msgspec.json.decode(state["names"].tobytes() or b"[]", type=list[str])
        except UNREADABLE as error:
            raise CorruptFile(f"the saved names cannot be read: {error}", "restore the file from a copy") from error
        self.names, self.ids = [], {}
        for place, name in enumerate([CONSTANT, *names] if self._first else names):
            self.put(name, place)
        self.crowded = np.array(state["crowded"])

    def _append(self, name: str) -> None:
        self.columns[len(self.names)] = self._column(name, len(self.names))
        self.names.append(name)

    def _column(self, name: str, i: int) -> int:
        return column_at(name, i, self.dim, constant=bool(self._first))

    def _shared(self, name: str) -> int:
        return _hashed(name, self.dim, self._first)


def column_at(name: str, place: int, dim: int, *, constant: bool = True) -> int:
    """The column of a name at a place of the book: its own while there are few, else by a hash."""
    if place >= 2 * dim:
        return place - 2 * dim
    return place if place < dim else _hashed(name, dim, int(constant))


def _hashed(name: str, dim: int, first: int) -> int:
    spread = dim - first
    return first + zlib.crc32(name.encode("utf-8", "surrogatepass")) % spread if spread else 0


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
        """The string at place i."""
        return self.letters[self.starts[i] : self.starts[i + 1]].tobytes().decode()


def one_after_the_other(values: Sequence[str | None]) -> Strings:
    """Strings in the same form; None is an empty one."""
    encoded = [b"" if value is None else value.encode("utf-8", "surrogatepass") for value in values]
    letters, starts = np.frombuffer(b"".join(encoded), np.uint8), np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(value) for value in encoded], out=starts[1:])
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
        return records.find_categories(self._table, self._known, strings, ids) == 0

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
                records.add_category(self._table, self._known, line[_FIRST], line[_LAST], line[_ID])
        records.add_category(self._table, self._known, first, self._letters, found)
        self._filled += 1
