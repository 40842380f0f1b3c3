"""A store with one writer: nobody to wait for, nothing to be fenced off from."""

from __future__ import annotations

from collections.abc import Sequence

from smidgen.service.store.rows import LeaseRow


class Sole:
    """What `smidgen.service.store.sharing_protocol.Sharing` comes to where nobody shares."""

    @property
    def shared(self) -> bool:
        """Nobody else writes to it."""
        return False

    def enter(self, *slots: int) -> None:
        """All slots are the writer's."""

    def expect(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """What is near need not be fetched."""

    def catalogue(self) -> int:
        """The one writer knows what it changed."""
        return 0

    def kinds(self, slot: int, after: int) -> set[str]:
        """Nobody else wrote anything."""
        return set()

    def lease(self, owner: str, seconds: float, *slots: int) -> dict[int, int]:
        """Whoever asks is the one writer."""
        return dict.fromkeys(slots, 1)

    def leases(self) -> list[LeaseRow]:
        """There is nobody to tell of."""
        return []

    def leave(self, owner: str, *slots: int) -> None:
        """There is nobody to leave them to."""
