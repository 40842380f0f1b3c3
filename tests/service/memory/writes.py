"""Writing events and decisions to memory: a list of changes, made to a copy now and to the shelf at the commit."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.memory.reads import MemoryReader
from service.memory.tables import Tables
from smidgen.service.log.events import DECIDED, Event, erase_event
from smidgen.service.storage.records import CallRow, Counts, DecisionRow, NewDecision, NewExpiry, NewFeedback
from smidgen.service.storage.transitions import EventWriter, Fields, copy_counts


@dataclass
class CommittedTables:
    """Committed data, which survives closing and crashes.

    Attributes
    ----------
    tables
        What was committed.
    lock
        Held while a batch is put there, and while somebody reads.
    """

    tables: Tables = field(default_factory=Tables)
    lock: threading.RLock = field(default_factory=threading.RLock)


class MemoryEventWriter(MemoryReader, EventWriter):
    """Writes of events to tables.

    Parameters
    ----------
    shelf
        Where what is committed stays; a new one, if left out.
    """

    def __init__(self, shelf: CommittedTables | None = None) -> None:
        self.shelf = shelf if shelf is not None else CommittedTables()
        MemoryReader.__init__(self, self.shelf.tables.fork(), threading.RLock())
        EventWriter.__init__(self, self, trusts=self._knows)
        self._changes: list[Callable[[Tables], None]] | None = None
        self._marked = 0
        self._live: dict[int, Counts] = {}

    def _knows(self, shard: int) -> bool:
        """True if what the caller knows of decisions is true; the store looks for itself."""
        return False

    def _open(self) -> list[Callable[[Tables], None]]:
        if self._changes is None:
            raise RuntimeError("no batch is open")
        return self._changes

    def _do(self, change: Callable[[Tables], None]) -> None:
        changes = self._open()
        change(self._tables)
        changes.append(change)

    def _back_to(self, mark: int) -> None:
        """Begin again from what was committed, with the changes before the mark."""
        changes = self._open()
        if len(changes) == mark:
            return
        del changes[mark:]
        self._tables = self.shelf.tables.fork()
        for change in changes:
            change(self._tables)
        for shard in list(self._live):
            if (kept := self._tables.counts.get(shard)) is None:
                del self._live[shard]
            else:
                copy_counts(kept, self._live[shard])

    def cancel_expiries(self, shard: int) -> None:
        """Let the silence of the open decisions of a shard mean nothing any more."""
        for row in list(self._tables.decisions.values()):
            if row.shard == shard and row.waits and row.feedback_seq is None:
                self.update_decision(row.id, waits=False)

    def replace_events(self, shard: int, events: Sequence[Event]) -> None:
        def enter(tables: Tables) -> None:
            for event in events:
                tables.events[shard][event.seq - 1] = event
                if event.key is not None:
                    tables.states.pop((shard, event.key), None)

        self._do(enter)

    def vacuum(self) -> bool:
        """Memory keeps nothing of what was erased."""
        return True

    @property
    def is_fragmented(self) -> bool:
        """There is no file."""
        return False

    def compact(self) -> None:
        """There is no file."""

    # Reading, as the writer needs it

    def counts(self, shard: int) -> Counts | None:
        """Counts of a shard, including the open batch: the same object while the store is open."""
        if shard not in self._live and (kept := super().counts(shard)) is not None:
            self._live[shard] = kept
        return self._live.get(shard)

    def is_new_key(self, shard: int, key: str) -> bool:
        """True if the key has no events."""
        above = self._tables.events[shard][self._tables.floor(shard) :]
        return all(event.key != key for event in above) and self.checkpoint_state(shard, key) is None

    def close_decision(self, row: NewFeedback | NewExpiry, seq: int, hash: bytes | None, version: int | None) -> None:
        self.update_decision(
            row.decision,
            feedback_seq=seq,
            feedback_hash=hash,
            version=version,
            measure=row.measure,
            position=row.position,
            shown=True,
        )

    def _note_model(self, model: int, **changed: Any) -> None:
        row = self._tables.models[model]._replace(**changed)
        self._do(lambda tables: tables.models.__setitem__(model, row))

    def update_decision(self, decision: str, **changed: Any) -> None:
        row = self._tables.decisions[decision]._replace(**changed)
        self._do(lambda tables: tables.decisions.__setitem__(decision, row))

    def counts_to_change(self, shard: int) -> Counts:
        return copy.copy(self._tables.counts[shard])

    def insert_event(self, shard: int, counts: Counts, event: Fields) -> None:
        found, after = Event(*event), copy.copy(counts)

        def enter(tables: Tables) -> None:
            tables.events[shard].append(found)
            tables.counts[shard] = after

        self._do(enter)
        copy_counts(counts, self._live.setdefault(shard, copy.copy(counts)))

    def insert_decision(self, shard: int, seq: int, row: NewDecision) -> None:
        tables, old = self._tables, self._tables.requests.get((shard, row.request or ""))
        if row.decision in tables.decisions or (old is not None and self.decision(old) is not None):
            raise ValueError(f"decision {row.decision} or its request {row.request!r} is there already")
        self._do(_entering(shard, seq, row))

    def insert_call(self, shard: int, id: str, hash: bytes, seq: int) -> None:
        if self.find_call(shard, id) is not None:
            raise ValueError(f"the call {id!r} is there already")
        self._do(lambda tables: tables.calls.__setitem__((shard, id), CallRow(hash, seq)))

    def clear_measures(self, shard: int, version: int) -> None:
        for row in list(self._tables.decisions.values()):
            if row.shard == shard and row.version is not None and row.version > version:
                self.update_decision(row.id, measure=None, position=None)

    def delete_events(self, shard: int, own: Sequence[int]) -> tuple[int, int, int, int]:
        return self._delete(shard, [event for event in self._tables.events[shard] if event.seq in set(own)], None)

    def delete_key(self, shard: int, key: str) -> tuple[int, int, int, int]:
        events = self._tables.events[shard][self._tables.floor(shard) :]
        return self._delete(shard, [event for event in events if event.key == key], key)

    def _delete(self, shard: int, mine: list[Event], key: str | None) -> tuple[int, int, int, int]:
        made = {event.decision for event in mine if event.type in DECIDED}
        gone = [row for id, row in self._tables.decisions.items() if id in made]

        def erase(tables: Tables) -> None:
            for event in mine:
                tables.events[shard][event.seq - 1] = erase_event(event)
            for row in gone:
                tables.decisions.pop(row.id)
                tables.shares.pop(row.id)
                tables.groups.pop(row.id)
            numbers = {event.seq for event in mine}
            tables.requests = {place: id for place, id in tables.requests.items() if id not in made}
            tables.calls = {
                place: row for place, row in tables.calls.items() if row.seq not in numbers or place[0] != shard
            }
            if key is not None:
                tables.states.pop((shard, key), None)
                tables.base_states.pop((shard, key), None)  # of a base that did not come
                tables.numbers.pop((shard, key), None)

        self._do(erase)
        late = sum(event.type == "feedback" and event.made is None for event in mine)
        return len(mine), len(gone), sum(row.answered for row in gone), late


def _entering(shard: int, seq: int, row: NewDecision) -> Callable[[Tables], None]:
    made = DecisionRow(
        row.decision,
        shard,
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
        holdout=row.holdout,
    )

    def enter(tables: Tables) -> None:
        tables.decisions[row.decision] = made
        tables.shares[row.decision] = (row.target, row.chance)
        tables.groups[row.decision] = (row.unit, row.share)
        tables.numbers[shard, row.key] = tables.given[row.decision] = row.number
        if row.request is not None:
            tables.requests[shard, row.request] = row.decision

    return enter
