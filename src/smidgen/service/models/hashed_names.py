"""The names of a model whose features are hashed: who falls into which column, with which sign.

A hash forgets names. So a decision's event tells those that no event told before, and the service keeps them, up to a
limit: weights, contributions and stories then speak of names. They are for people; no learner reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.errors import SmidgenError
from smidgen.learners import storage
from smidgen.service.loops.vectors import hashed_place
from smidgen.service.store import bodies
from smidgen.service.store.protocol import Reading

#: So many names of a model are kept, of so many characters each; who comes later shares a column with "…".
MOST, LONGEST = 65_536, 200
KIND = "Names"
#: Under this key the names of a slot are written aside; no app can send an empty key.
PLACE = ""
_UNREADABLE = (SmidgenError, msgspec.DecodeError, ValueError, KeyError, TypeError)


class HashedNames:
    """Names by column.

    Parameters
    ----------
    dim
        How many columns there are.
    names
        Those that are known.

    Examples
    --------
    >>> from smidgen.service.models.hashed_names import HashedNames
    >>> names = HashedNames(64, ["country=se", "country=no"])
    >>> names.new(["country=se", "plan=free"])
    ['plan=free']
    >>> column, sign = names.place("country=se")
    >>> names.called(column), names.sign(column) == sign
    ('country=se', True)
    """

    def __init__(self, dim: int, names: Iterable[str] = ()) -> None:
        self._dim = dim
        self._known: dict[str, None] = {}
        self._columns: dict[int, list[str]] = {}
        self._crowded: set[int] = set()
        self.changed = False
        self.add(names)

    def __len__(self) -> int:
        return len(self._known)

    def place(self, name: str) -> tuple[int, int]:
        """The column of a name, and the sign with which it counts there."""
        return hashed_place(name, self._dim)

    def new(self, names: Iterable[str]) -> list[str]:
        """Those that are not known and can be kept; columns of others are noted as shared."""
        found: dict[str, None] = {}
        for name in names:
            if name in self._known or name in found:
                continue
            if len(name) > LONGEST or len(self._known) + len(found) >= MOST:
                self._crowded.add(self.place(name)[0])
            else:
                found[name] = None
        return list(found)

    def add(self, names: Iterable[str]) -> None:
        """Keep names."""
        for name in self.new(names):
            self._known[name] = None
            self._columns.setdefault(self.place(name)[0], []).append(name)
            self.changed = True

    def drop(self, names: Iterable[str]) -> None:
        """Keep names no longer: the events that told them were undone."""
        for name in names:
            if name in self._known:
                del self._known[name]
                self._columns[self.place(name)[0]].remove(name)

    def sign(self, column: int) -> int:
        """With which sign the first name of a column counts; + if there is none."""
        names = self._columns.get(column)
        return self.place(names[0])[1] if names else 1

    def signs(self) -> NDArray[np.float64]:
        """The same of all columns."""
        signs = np.ones(self._dim)
        for column, names in self._columns.items():
            if names:
                signs[column] = self.place(names[0])[1]
        return signs

    def called(self, column: int) -> str | None:
        """The names of a column; those that count against the first have a minus. None if there is none."""
        names = self._columns.get(column)
        if not names:
            return None
        first = self.sign(column)
        told = [name if self.place(name)[1] == first else f"−{name}" for name in names]
        told += ["…"] if column in self._crowded else []
        return " | ".join(told) + (" (share a column)" if len(told) > 1 else "")

    def told(self) -> list[str]:
        """All that are known, in the order in which they came."""
        return list(self._known)

    def all(self) -> Iterator[tuple[int, str]]:
        """Every column that has a name, and what it is called."""
        for column in sorted(self._columns):
            if (name := self.called(column)) is not None:
                yield column, name

    def to_bytes(self) -> bytes:
        """All that is known, for a state of the store."""
        told = np.frombuffer(msgspec.json.encode(list(self._known)), np.uint8)
        crowded = np.array(sorted(self._crowded), np.int64)
        header = storage.Header(
            kind=KIND, settings_version=1, state_version=1, params={}, decided=0, taught=0, notes={}
        )
        return storage.encode(header, {"names": told, "crowded": crowded})

    @classmethod
    def read(cls, reading: Reading, slot: int, dim: int) -> HashedNames:
        """What was written aside; what was told since is told again when it comes again."""
        made = cls(dim)
        for state in reading.states(slot, PLACE):
            try:
                header, arrays = storage.decode(state.content, state.place)
                if header.kind == KIND:
                    made.add(msgspec.json.decode(arrays["names"].tobytes(), type=list[str]))
                    made._crowded = set(arrays["crowded"].tolist())
            except _UNREADABLE:
                continue
        made.changed = False
        return made

    @classmethod
    def folded(cls, reading: Reading, slot: int, dim: int) -> HashedNames:
        """What all events of a slot tell."""
        made = cls(dim)
        if (base := reading.base(slot)) is not None:
            made.add(told(bodies.read_fields(base.body, base.seq)))
        made.follow(reading, slot, 0)
        return made

    def follow(self, reading: Reading, slot: int, after: int) -> None:
        """Keep what the events of a slot after one tell."""
        while chunk := reading.events(slot, after):
            for event in chunk:
                if event.type == "decision":
                    self.add(told(bodies.read_decision(event.body, event.seq).shared))
                elif event.type in ("taught", "imported"):
                    self.add(told(bodies.read_fields(event.body, event.seq)))
            after = chunk[-1].seq


def told(shared: dict[str, Any] | None) -> list[str]:
    """The names that an event tells."""
    names = (shared or {}).get("hashed") or []
    return [name for name in names if isinstance(name, str)]


def named_in(body: Any) -> Iterator[str]:
    """The names of the features in a request."""
    features = getattr(body, "features", None)
    if isinstance(features, dict):
        yield from features
    candidates = getattr(body, "candidates", None)
    for each in candidates if isinstance(candidates, list) else ():
        if isinstance(each.features, dict):
            yield from each.features
