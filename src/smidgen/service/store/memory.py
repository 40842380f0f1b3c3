"""The store in memory, for tests that need no disk: the same contract, where "lasts" means "was committed"."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from smidgen.service.store.events import Event, Salts, content, link
from smidgen.service.store.memory_reads import MemoryReads, Tables
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import Asked, Counts, DecisionRow, ModelRow, State, TokenRow, Told, Verdict, again


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


class MemoryStore(MemoryReads):
    """Everything in dictionaries. A batch is a list of changes, made to a copy now and to the shelf at the commit.

    Parameters
    ----------
    shelf
        Where what is committed stays; a new one, if left out.

    Examples
    --------
    >>> from smidgen.service.store.memory import MemoryStore, Shelf
    >>> shelf = Shelf()
    >>> store = MemoryStore(shelf)
    >>> store.begin(); model = store.create("news", b"{}", {}, 0.0); len(store.reader().models())
    0
    >>> store.commit(); len(MemoryStore(shelf).models())
    1
    """

    def __init__(self, shelf: Shelf | None = None) -> None:
        self.shelf = shelf if shelf is not None else Shelf()
        super().__init__(self.shelf.tables.fork(), threading.RLock())
        self._salts = Salts()
        self._changes: list[Callable[[Tables], None]] | None = None
        self._marked = 0
        self._live: dict[int, Counts] = {}

    # The batch

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        return self._changes is not None

    def begin(self) -> None:
        """Open a batch."""
        if self._changes is not None:
            raise RuntimeError("a batch is open already")
        self._changes = []

    def commit(self) -> None:
        """Make the batch last."""
        with self.shelf.lock:
            for change in self._open():
                change(self.shelf.tables)
        self._changes = None

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        if self._changes is not None:
            self._back_to(0)
            self._changes = None

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._marked = len(self._open())

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._marked = len(self._open())

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._back_to(self._marked)

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

    # What is written

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one slot; its first event is appended by the caller."""
        number = max((model.id for model in self._tables.models.values()), default=0) + 1
        row = ModelRow(number, name, number, body, resolved, at)

        def enter(tables: Tables) -> None:
            tables.models[row.id] = row
            tables.counts[row.slot] = Counts()
            tables.events[row.slot] = []

        self._do(enter)
        return row

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""

        def note(tables: Tables) -> None:
            tables.models[model] = tables.models[model]._replace(archived_at=at)

        self._do(note)

    def append(self, slot: int, type: str, at: float, body: bytes | None, version: int = 1) -> int:
        """Write an event that is about no decision; its number."""
        return self._append(slot, self._after(slot), type, version, at, None, None, None, body)

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
                counts.keys += row.number == 1
            seq = self._append(slot, counts, "decision", 1, row.at, row.decision, row.key, None, row.body)
            self._do(_entering(slot, seq, row))
        return first

    def answered(self, slot: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        return [self._answer(slot, row) for row in rows]

    def _answer(self, slot: int, row: Told) -> Verdict:
        made, counts = self._tables.decisions.get(row.decision), self._after(slot)
        if made is None or made.slot != slot:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return Verdict(again(made, row.hash), None, counts.version)
        learnt = row.at <= made.expires_at
        counts.version += learnt
        counts.late += not learnt
        version = counts.version if learnt else None
        seq = self._append(slot, counts, "feedback", 1, row.at, row.decision, row.key, version, row.body)

        def note(tables: Tables) -> None:
            tables.decisions[row.decision] = made._replace(
                feedback_seq=seq, feedback_hash=row.hash, version=version, measure=row.measure, position=row.position
            )

        self._do(note)
        return Verdict("learnt" if learnt else "late", seq, counts.version)

    def publish(self, slot: int, key: str | None, seq: int, content: bytes) -> None:
        """Keep what a learner has become after an event; without a key at once, as a file would be."""
        place = f"the state of key {key!r}" if key is not None else f"the state after event {seq}"
        state = State(seq, content, place, True, len(content), time.time())
        if key is not None:
            self._do(lambda tables: tables.states.__setitem__((slot, key), [state]))
            return
        with self.shelf.lock:
            for tables in (self.shelf.tables, self._tables):
                older = [kept for kept in tables.states.get((slot, None), []) if kept.seq < seq]
                tables.states[slot, None] = [state, *older][:3]

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._do(lambda tables: tables.tokens.__setitem__(token.id, token))

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        token = self._tables.tokens.get(id)
        if token is None or token.revoked_at is not None:
            return False
        ended = token._replace(revoked_at=at)
        self._do(lambda tables: tables.tokens.__setitem__(id, ended))
        return True

    # Reading, as the writer needs it

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is, the open batch included: the same object as long as the store is open."""
        if slot not in self._live and (kept := super().counts(slot)) is not None:
            self._live[slot] = kept
        return self._live.get(slot)

    def probe(self) -> None:
        """Memory takes what it is given."""

    def reader(self) -> Reading:
        """A reading view of its own."""
        return MemoryReads(self.shelf.tables, self.shelf.lock)

    def close(self) -> None:
        """Leave the batch that is open behind; the shelf keeps what was committed."""
        self._changes = None

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
    )

    def enter(tables: Tables) -> None:
        tables.decisions[row.decision] = made
        tables.numbers[slot, row.key] = row.number
        if row.request is not None:
            tables.requests[slot, row.request] = row.decision

    return enter


def _copy(source: Counts, target: Counts) -> None:
    for name, value in msgspec.structs.asdict(source).items():
        setattr(target, name, value)
