"""The part of the store's door that is about others who write to the same store: slots that are taken, and leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smidgen.service.store.rows import LeaseRow


class Sharing(Protocol):
    """What lets several writers share a store. Where there is one writer only, all of it is granted at once."""

    @property
    def shared(self) -> bool:
        """Whether others may write to it too."""
        ...

    def enter(self, *slots: int) -> None:
        """Take slots for the open batch: nobody else writes to them until it ends, and their counts are fresh.

        It waits for others only while the batch holds no slot. If it holds some and another is busy, `Taken` is
        raised, and nothing is taken: so nobody ever waits in a ring. A slot that the batch holds, or has made, is
        entered already. Whoever writes to a slot that was not entered enters it by that.
        """
        ...

    def expect(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """A hint: the open batch will be about these slots and about these decisions; their slots are entered.

        A store far away fetches them together, in one round trip. Any text may be given. It waits, as `enter` does, for
        what comes first, if the batch holds nothing yet, and never for what comes then.
        """
        ...

    def catalogue(self) -> int:
        """A number that grows with every committed change of the rows of models and of tokens, by whomever.

        Any thread may ask. Within a batch it is the number as of the last `enter` (no round trip of its own), and
        exact for the slots that are entered. Where there is one writer, who knows what it changed, it stays the same.
        """
        ...

    def kinds(self, slot: int, after: int) -> set[str]:
        """The types of the events of a slot after one, each once: what others wrote, for one who wrote that one."""
        ...

    def lease(self, owner: str, seconds: float, *slots: int) -> dict[int, int]:
        """Own slots, or go on owning them, for so long; those that somebody else owns are left out.

        The numbers are the epochs: one grows each time the owner changes, and lasts at once, whatever batch is open.
        Any thread may ask.
        """
        ...

    def leases(self) -> list[LeaseRow]:
        """Who owns which slot until when, by slot; those that have run out too. Any thread may ask."""
        ...

    def leave(self, owner: str, *slots: int) -> None:
        """Own slots no more, so that another need not wait; nothing of those that somebody else owns."""
        ...
