"""Which events of a log count no more, because later ones took them back, and what stays of them all the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from smidgen.errors import InvalidRecord
from smidgen.service.store import bodies
from smidgen.service.store.events import KEPT, Event
from smidgen.service.store.protocol import Reading


class Rewind(NamedTuple):
    """An event that takes back.

    Attributes
    ----------
    type, by
        Its type, and the version that it made.
    version
        The version that it names: of ``rolled_back`` the one to go back to, of ``retracted`` the one that is undone.
    keeps
        Whether names of features that are taken back keep their columns; none did at first.
    """

    type: str
    by: int
    version: int
    keeps: bool = False

    @property
    def first(self) -> int:
        """The first version that it undoes."""
        return self.version + (self.type == "rolled_back")

    @property
    def last(self) -> int:
        """The last one: what goes back undoes itself too, as far as later ones go back beyond it."""
        return self.by if self.type == "rolled_back" else self.version


class Undone:
    """The versions whose events count no more, because later ones took them back.

    Parameters
    ----------
    rewinds
        The events that take back, in order (`Rewind`). One that was itself taken back does nothing.

    Examples
    --------
    >>> from smidgen.service.models.rewinds import Undone
    >>> undone = Undone([("retracted", 6, 2), ("rolled_back", 9, 4), ("retracted", 10, 3)])
    >>> [version for version in range(1, 11) if version in undone]
    [3, 5, 6, 7, 8, 9]
    >>> undone.spoils(2), undone.spoils(4), undone.spoils(10)
    (False, True, False)
    """

    def __init__(self, rewinds: Iterable[tuple[str, int, int] | tuple[str, int, int, bool]] = ()) -> None:
        given = [Rewind(*each) for each in rewinds]
        self._lost = [each for each in given if not each.keeps]
        self._count: list[Rewind] = []
        for each in reversed(given):
            if each.by not in self:
                self._count.append(each)

    def __contains__(self, version: int) -> bool:
        return bool(self._count) and any(each.first <= version <= each.last for each in self._count)

    def begins_anew(self, version: int) -> bool:
        """Whether a key that began at this version begins anew, since a rollback took back what it began with."""
        return any(each.first <= version < each.by for each in self._count if each.type == "rolled_back")

    def spoils(self, version: int) -> bool:
        """Whether a state of this version holds something that was taken back later."""
        return any(each.first <= version < each.by for each in self._count)

    def keeps(self, version: int) -> bool:
        """Whether names that the event of a version told keep their columns, though it was taken back."""
        return version in self and not any(each.first <= version <= each.last for each in self._lost)

    def until(self, version: int) -> int:
        """The version that took this one back."""
        return max(each.by for each in self._count if each.first <= version <= each.last)


class Kept:
    """Which events that were taken back still tell names of features, asked in the order of the log.

    A decision that is open, or counts, may stand on columns whose names such an event told. What was taken back
    together with a promotion, and came after it, is of another table.

    Parameters
    ----------
    undone
        What was taken back.
    """

    def __init__(self, undone: Undone) -> None:
        self._undone = undone
        self._elsewhere = 0  # up to this version another model's names were in force

    def has(self, type: str, version: int) -> bool:
        """Whether the next event that was taken back, of this type and version, tells names that are kept."""
        if type == "promoted":
            self._elsewhere = max(self._elsewhere, self._undone.until(version))
        return version > self._elsewhere and self._undone.keeps(version)


def rewinds(reading: Reading, slot: int) -> list[Rewind]:
    """The events of a slot that take back."""
    return [_rewind(event) for event in reading.rewinds(slot)]


def undone(reading: Reading, slot: int) -> Undone:
    """What was taken back in the log of a slot."""
    return Undone(rewinds(reading, slot))


def _rewind(event: Event) -> Rewind:
    fields = bodies.read_fields(event.body, event.seq)
    version = fields.get("version")
    if not isinstance(version, int):
        raise InvalidRecord(f"event {event.seq} takes back no version", "restore the database from a backup")
    return Rewind(event.type, event.made or 0, version, fields.get("columns") == KEPT)
