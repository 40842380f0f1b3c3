"""Writing events and decisions to memory: a list of changes, made to a copy now and to the shelf at the commit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from smidgen.service.store.events import ERASED, Event, Salts, content, erased, link
from smidgen.service.store.memory_reads import MemoryReads
from smidgen.service.store.memory_tables import Tables
from smidgen.service.store.rows import Asked, CallRow, Counts, DecisionRow, Expiry, Told, Verdict, again


@dataclass
class Shelf:
    """What outlives a store that is closed, or left behind as a crash would: all that was committed.

    Attributes
    ----------
    tables
        What was committed.
    lock
        Held while a batch is put there, and while somebody reads.
    """

    tables: Tables = field(default_factory=Tables)
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryWrites(MemoryReads):
    """The verbs that write events.

    Parameters
    ----------
    shelf
        Where what is committed stays; a new one, if left out.
    """

    def __init__(self, shelf: Shelf | None = None) -> None:
        self.shelf = shelf if shelf is not None else Shelf()
        super().__init__(self.shelf.tables.fork(), threading.RLock())
        self._salts = Salts()
        self._changes: list[Callable[[Tables], None]] | None = None
        self._marked = 0
        self._live: dict[int, Counts] = {}

    def _open(self) -> list[Callable[[Tables], None]]:
        if self._changes is None:
            raise RuntimeError("no batch is open")
        return self._changes

    def _do(self, change: Callable[[Tables], None]) -> None:
        changes = self._open()
        change(self._tables)
        changes.append(change)

    def _back_to(self, mark: int) -> None:
        """Begin anew from what was committed, with the changes before the mark."""
        changes = self._open()
        if len(changes) == mark:
            return
        del changes[mark:]
        self._tables = self.shelf.tables.fork()
        for change in changes:
            change(self._tables)
        for slot in list(self._live):
            if (kept := self._tables.counts.get(slot)) is None:
                del self._live[slot]
            else:
                _copy(kept, self._live[slot])

    def append(
        self,
        slot: int,
        type: str,
        at: float,
        body: bytes | None,
        version: int = 1,
        *,
        key: str | None = None,
        changes: bool = False,
        call: tuple[str, bytes] | None = None,
    ) -> int:
        """Write an event that is about no decision; its number."""
        counts = self._after(slot)
        counts.version += changes
        made = counts.version if changes else None
        counts.keys += key is not None and self._new(slot, key)
        if call is not None and (slot, call[0]) in self._tables.calls:
            raise ValueError(f"the call {call[0]!r} is there already")
        seq = self._append(slot, counts, type, version, at, None, key, made, body)
        if call is not None:
            id, row = call[0], CallRow(call[1], seq)
            self._do(lambda tables: tables.calls.__setitem__((slot, id), row))
        return seq

    def decided(self, slot: int, rows: Sequence[Asked]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        first = self._after(slot).seq + 1
        for row in rows:
            if row.decision in self._tables.decisions or (
                row.request is not None and (slot, row.request) in self._tables.requests
            ):
                raise ValueError(f"decision {row.decision} or its request {row.request!r} is there already")
            counts = self._after(slot)
            counts.decisions += 1
            if row.key is None:
                counts.number = row.number
            else:
                counts.keys += row.number == 1 and self._new(slot, row.key)
            seq = self._append(slot, counts, "decision", 1, row.at, row.decision, row.key, None, row.body)
            self._do(_entering(slot, seq, row))
        return first

    def answered(self, slot: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        return [self._answer(slot, row) for row in rows]

    def _answer(self, slot: int, row: Told) -> Verdict:
        made, counts = self._own(slot, row.decision), self._after(slot)
        if made is None:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None and (known := again(made, row.hash)) is not None:
            return Verdict(known, None, counts.version)
        learnt = made.feedback_seq is None and row.at <= made.expires_at
        counts.answered += 1
        counts.version += learnt
        counts.late += not learnt
        version = counts.version if learnt else None
        seq = self._append(slot, counts, "feedback", 1, row.at, row.decision, row.key, version, row.body)
        if made.feedback_seq is not None:
            self._note(row.decision, late_hash=row.hash)
        else:
            self._close(row, seq, row.hash, version)
        return Verdict("learnt" if learnt else "late", seq, counts.version)

    def expired(self, slot: int, rows: Sequence[Expiry]) -> list[Verdict]:
        """Write that windows closed without feedback, where that is so and still to be learnt."""
        return [self._expire(slot, row) for row in rows]

    def _expire(self, slot: int, row: Expiry) -> Verdict:
        made, counts = self._own(slot, row.decision), self._after(slot)
        if made is None:
            return Verdict("unknown", None, counts.version)
        if not made.due or row.at <= made.expires_at:
            return Verdict("duplicate", None, counts.version)
        counts.version += 1
        seq = self._append(slot, counts, "expired", 1, row.at, row.decision, row.key, counts.version, row.body)
        self._close(row, seq, None, counts.version)
        return Verdict("learnt", seq, counts.version)

    def taught(self, slot: int, row: Told) -> Verdict:
        """Write that a decision beside another was taught what came of that one, if it is open; this closes it."""
        made, counts = self._own(slot, row.decision), self._after(slot)
        if made is None or made.beside is None:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return Verdict("duplicate", None, counts.version)
        counts.version += 1
        seq = self._append(slot, counts, "taught", 1, row.at, row.decision, row.key, counts.version, row.body)
        self._note(row.decision, feedback_seq=seq, feedback_hash=row.hash, version=counts.version)
        return Verdict("learnt", seq, counts.version)

    def unwait(self, slot: int) -> None:
        """Let the silence of the open decisions of a slot mean nothing any more."""
        for row in list(self._tables.decisions.values()):
            if row.slot == slot and row.waits and row.feedback_seq is None:
                self._note(row.id, waits=False)

    def shown(self, slot: int, decision: str, at: float, key: str | None) -> bool | None:
        """Let a decision count; False if it does already, None if its window is over or it is not of this slot."""
        made = self._own(slot, decision)
        if made is None:
            return None
        if made.shown:
            return False
        if at > made.expires_at:
            return None
        self._append(slot, self._after(slot), "shown", 1, at, decision, key, None, None)
        self._note(decision, shown=True)
        return True

    def retracted(self, slot: int, decision: str, at: float, key: str | None) -> Verdict:
        """Take back what was learnt of a decision, which is open again; ``"unknown"`` if nothing was."""
        made, counts = self._own(slot, decision), self._after(slot)
        if made is None or made.version is None:
            return Verdict("unknown", None, counts.version)
        counts.version += 1
        counts.answered -= made.status == "learnt" and made.beside is None
        body = msgspec.msgpack.encode({"version": made.version})
        seq = self._append(slot, counts, "retracted", 1, at, decision, key, counts.version, body)
        self._note(
            decision,
            feedback_seq=None,
            feedback_hash=None,
            version=None,
            measure=None,
            position=None,
            late_hash=None,
        )
        return Verdict("learnt", seq, counts.version)

    def rolled_back(self, slot: int, version: int, at: float) -> Verdict:
        """Go back to what was learnt at a version: the answers after it stay in the log, and are not measured."""
        counts = self._after(slot)
        if not 0 <= version <= counts.version:
            return Verdict("unknown", None, counts.version)
        counts.version += 1
        body = msgspec.msgpack.encode({"version": version})
        seq = self._append(slot, counts, "rolled_back", 1, at, None, None, counts.version, body)
        for row in list(self._tables.decisions.values()):
            if row.slot == slot and row.version is not None and row.version > version:
                self._note(row.id, measure=None, position=None)
        return Verdict("learnt", seq, counts.version)

    def forget(self, slot: int, key: str, at: float) -> tuple[int, Verdict]:
        """Erase the events of a key: what they say, its decisions, its state."""
        counts = self._after(slot)
        mine = [event for event in self._tables.events[slot][self._tables.floor(slot) :] if event.key == key]
        made = {event.decision for event in mine if event.type == "decision"}
        gone = [row for id, row in self._tables.decisions.items() if id in made]
        counts.decisions -= len(gone)
        counts.answered -= sum(row.status in ("learnt", "late") and row.beside is None for row in gone)
        counts.late -= sum(row.status == "late" or row.late_hash is not None for row in gone)
        counts.keys -= bool(mine)

        def erase(tables: Tables) -> None:
            for event in mine:
                tables.events[slot][event.seq - 1] = erased(event)
            for row in gone:
                tables.decisions.pop(row.id)
                tables.shares.pop(row.id)
            numbers = {event.seq for event in mine}
            tables.requests = {place: id for place, id in tables.requests.items() if id not in made}
            tables.calls = {
                place: row for place, row in tables.calls.items() if row.seq not in numbers or place[0] != slot
            }
            tables.states.pop((slot, key), None)
            tables.base_states.pop((slot, key), None)  # of a base that did not come
            tables.numbers.pop((slot, key), None)

        self._do(erase)
        counts.version += 1
        body = msgspec.msgpack.encode({"events": len(mine)})
        seq = self._append(slot, counts, ERASED, 1, at, None, None, counts.version, body)
        return len(mine), Verdict("learnt", seq, counts.version)

    def erase(self, slot: int, seq: int) -> None:
        """Erase what one event says; its number, its version and the chain stay."""
        event = self.event(slot, seq)
        if event is not None and event.salt is not None:
            gone = erased(event)
            self._do(lambda tables: tables.events[slot].__setitem__(seq - 1, gone))

    def cleanse(self) -> bool:
        """Memory keeps nothing of what was erased."""
        return True

    # Reading, as the writer needs it

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is, the open batch included: the same object as long as the store is open."""
        if slot not in self._live and (kept := super().counts(slot)) is not None:
            self._live[slot] = kept
        return self._live.get(slot)

    def _new(self, slot: int, key: str) -> bool:
        """Whether nothing has been said of a key."""
        return (key,) not in self.look("keys", slot, prefix=key, limit=1)

    def _own(self, slot: int, decision: str) -> DecisionRow | None:
        made = self.decision(decision)
        return made if made is not None and made.slot == slot else None

    def _close(self, row: Told | Expiry, seq: int, hash: bytes | None, version: int | None) -> None:
        """Note what a decision came to."""
        self._note(
            row.decision,
            feedback_seq=seq,
            feedback_hash=hash,
            version=version,
            measure=row.measure,
            position=row.position,
            shown=True,
        )

    def _note(self, decision: str, **changed: Any) -> None:
        row = self._tables.decisions[decision]._replace(**changed)
        self._do(lambda tables: tables.decisions.__setitem__(decision, row))

    def _after(self, slot: int) -> Counts:
        """The counts of a slot, to be changed into those after an event."""
        return copy.copy(self._tables.counts[slot])

    def _append(
        self,
        slot: int,
        counts: Counts,
        type: str,
        version: int,
        at: float,
        decision: str | None,
        key: str | None,
        made: int | None,
        body: bytes | None,
    ) -> int:
        salt, counts.seq = self._salts.next(), counts.seq + 1
        counts.chain = link(counts.chain, counts.seq, content(salt, type, version, at, decision, key, body))
        event = Event(counts.seq, type, version, at, decision, key, made, salt, counts.chain, body)

        def enter(tables: Tables) -> None:
            tables.events[slot].append(event)
            tables.counts[slot] = copy.copy(counts)

        self._do(enter)
        _copy(counts, self._live.setdefault(slot, copy.copy(counts)))
        return counts.seq


def _entering(slot: int, seq: int, row: Asked) -> Callable[[Tables], None]:
    made = DecisionRow(
        row.decision,
        slot,
        seq,
        row.expires_at,
        row.request_hash,
        row.explored,
        row.forwarded,
        feedback_seq=None,
        feedback_hash=None,
        version=None,
        measure=None,
        position=None,
        waits=row.waits,
        shown=row.shown,
        beside=row.beside,
        agreed=row.agreed,
    )

    def enter(tables: Tables) -> None:
        tables.decisions[row.decision] = made
        tables.shares[row.decision] = (row.target, row.chance)
        tables.numbers[slot, row.key] = tables.given[row.decision] = row.number
        if row.request is not None:
            tables.requests[slot, row.request] = row.decision

    return enter


def _copy(source: Counts, target: Counts) -> None:
    for name, value in msgspec.structs.asdict(source).items():
        setattr(target, name, value)
