"""The counts of slots while they are written to: kept per batch and per command, so that either can be undone."""

from __future__ import annotations

import msgspec

from smidgen.service.store.rows import Counts


class Counting:
    """Live counts by slot. An undo puts the old values back into the very objects that others hold."""

    def __init__(self) -> None:
        self._live: dict[int, Counts] = {}
        self._batch: dict[int, Counts | None] = {}
        self._command: dict[int, Counts | None] | None = None

    def get(self, slot: int) -> Counts | None:
        """The counts of a slot, if they are here."""
        return self._live.get(slot)

    def enter(self, slot: int, counts: Counts, *, new: bool = False) -> None:
        """Hold a slot's counts; a new slot is gone again when it is undone."""
        self._live[slot] = counts
        if new:
            self._open().setdefault(slot, None)

    def renew(self, slot: int, counts: Counts) -> Counts:
        """Others have moved a slot: put its counts into the object that is held."""
        live = self._live.setdefault(slot, counts)
        if live is not counts:
            put(counts, live)
        return live

    def touch(self, slot: int) -> None:
        """Remember the counts before they change."""
        held = self._open()
        if slot not in held:
            held[slot] = msgspec.structs.replace(self._live[slot])

    def moved(self) -> dict[int, Counts]:
        """The counts that changed in the batch."""
        return {slot: self._live[slot] for slot in self._batch if slot in self._live}

    def mark(self) -> None:
        """A command begins."""
        self._command = {}

    def release(self) -> None:
        """The command is done."""
        for slot, before in (self._command or {}).items():
            self._batch.setdefault(slot, before)
        self._command = None

    def back(self) -> None:
        """Undo the command."""
        self._undo(self._command or {})
        self._command = None

    def keep(self) -> None:
        """The batch is committed."""
        self._batch.clear()

    def restore(self) -> None:
        """Undo the batch."""
        self.back()
        self._undo(self._batch)
        self._batch.clear()

    def _open(self) -> dict[int, Counts | None]:
        return self._batch if self._command is None else self._command

    def _undo(self, held: dict[int, Counts | None]) -> None:
        for slot, before in held.items():
            if before is None:
                self._live.pop(slot, None)
                continue
            put(before, self._live[slot])


def put(of: Counts, to: Counts) -> None:
    """Give counts the values of others."""
    for name, value in msgspec.structs.asdict(of).items():
        setattr(to, name, value)
