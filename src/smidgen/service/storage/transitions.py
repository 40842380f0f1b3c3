"""What each event does to counts and decisions, for every store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from smidgen.service.log.events import (
    AUTHOR,
    ERASED,
    KEPT,
    SIGNED,
    Event,
    Salts,
    content,
    link,
    present_digest,
    rewritten,
)
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.records import Asked, Counts, DecisionRow, Expiry, Told, Verdict, again

# What each event does to the counts and the decisions of its shard: the same rules for every store of the house.

#: What stands in an `Event`, in order.
Fields = tuple[int, str, int, float, str | None, str | None, int | None, bytes, bytes, bytes | None]


class Verbs(ABC):
    """The verbs that write events; a store says how rows are written.

    Attributes
    ----------
    author
        The id of the token by whose call events are being written, or None. Events that operators cause (`SIGNED`) keep
        it.
    """

    #: Whether nobody else writes, so that what the writer knows is so.
    _sole = False

    def __init__(self) -> None:
        self._salts = Salts()
        self.author: str | None = None

    def append(
        self,
        shard: int,
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
        counts = self._touched(shard)
        counts.version += changes
        made = counts.version if changes else None
        counts.keys += key is not None and self._new(shard, key)
        seq = self._append(shard, counts, type, at, body, key=key, made=made, version=version)
        if call is not None:
            self._enter_call(shard, call[0], call[1], seq)
        reach("event-appended")
        return seq

    def decided(self, shard: int, rows: Sequence[Asked]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        counts = self._touched(shard)
        first = counts.seq + 1
        for row in rows:
            counts.decisions += 1
            if row.key is None:
                counts.number = row.number
            elif row.number == 1:
                counts.keys += self._new(shard, row.key)
            seq = self._append(shard, counts, "decision", row.at, row.body, row.decision, row.key)
            self._enter_decision(shard, seq, row)
            reach("decision-appended")
        return first

    def answered(self, shard: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        counts = self._touched(shard)
        return [self._answer(shard, counts, row) for row in rows]

    def _answer(self, shard: int, counts: Counts, row: Told) -> Verdict:
        late, until = False, row.open_until if self._sole else None
        if until is None:
            if (made := self._own(shard, row.decision)) is None:
                return Verdict("unknown", None, counts.version)
            late, until = made.feedback_seq is not None, made.expires_at
            if late and (known := again(made, row.hash)) is not None:
                return Verdict(known, None, counts.version)
        learnt = not late and row.at <= until
        counts.answered += 1
        counts.version += learnt
        counts.late += not learnt
        version = counts.version if learnt else None
        seq = self._append(shard, counts, "feedback", row.at, row.body, row.decision, row.key, version)
        if late:
            self._note(row.decision, late_hash=row.hash)
        else:
            self._close(row, seq, row.hash, version)
            reach("feedback-appended")
        return Verdict("learnt" if learnt else "late", seq, counts.version)

    def expired(self, shard: int, rows: Sequence[Expiry]) -> list[Verdict]:
        """Write that windows closed without feedback, where that is so and still to be learnt."""
        counts = self._touched(shard)
        return [self._expire(shard, counts, row) for row in rows]

    def _expire(self, shard: int, counts: Counts, row: Expiry) -> Verdict:
        made = self._own(shard, row.decision)
        if made is None:
            return Verdict("unknown", None, counts.version)
        if not made.due or row.at <= made.expires_at:
            return Verdict("duplicate", None, counts.version)
        counts.version += not row.refused
        version = None if row.refused else counts.version
        seq = self._append(shard, counts, "expired", row.at, row.body, row.decision, row.key, version)
        self._close(row, seq, None, version)
        reach("expiry-appended")
        return Verdict("late" if row.refused else "learnt", seq, counts.version)

    def taught(self, shard: int, row: Told) -> Verdict:
        """Write that a decision beside another was taught what came of that one, if it is open; this closes it."""
        counts, made = self._touched(shard), self._own(shard, row.decision)
        if made is None or made.beside is None:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return Verdict("duplicate", None, counts.version)
        verdict = self._learnt(shard, counts, "taught", row.at, row.body, row.decision, row.key)
        self._note(row.decision, feedback_seq=counts.seq, feedback_hash=row.hash, version=counts.version)
        reach("lesson-appended")
        return verdict

    def shown(self, shard: int, decision: str, at: float, key: str | None) -> bool | None:
        """Let a decision count; False if it does already, None if its window is over or it is not of this shard."""
        made = self._own(shard, decision)
        if made is None:
            return None
        if made.shown:
            return False
        if at > made.expires_at:
            return None
        self._append(shard, self._touched(shard), "shown", at, None, decision, key)
        self._note(decision, shown=True)
        reach("showing-appended")
        return True

    def retracted(self, shard: int, decision: str, at: float, key: str | None) -> Verdict:
        """Take back what was learnt of a decision, which is open again; ``"unknown"`` if nothing was.

        Silence that was taken back is not learnt a second time.
        """
        counts, made = self._touched(shard), self._own(shard, decision)
        if made is None or made.version is None:
            return Verdict("unknown", None, counts.version)
        counts.answered -= made.answered
        verdict = self._learnt(shard, counts, "retracted", at, _told(version=made.version, columns=KEPT), decision, key)
        gone = ("feedback_seq", "feedback_hash", "version", "measure", "position", "late_hash")
        self._note(decision, **dict.fromkeys(gone), waits=made.waits and made.status != "expired")
        reach("retraction-appended")
        return verdict

    def rolled_back(self, shard: int, version: int, at: float) -> Verdict:
        """Go back to what was learnt at a version: the answers after it stay in the log, and are not measured."""
        counts = self._touched(shard)
        if not 0 <= version <= counts.version:
            return Verdict("unknown", None, counts.version)
        verdict = self._learnt(shard, counts, "rolled_back", at, _told(version=version, columns=KEPT))
        self._unmeasure(shard, version)
        reach("rollback-appended")
        return verdict

    def forget(
        self,
        shard: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, Verdict]:
        """Erase the events of a key, and let events of others say something else (`Store.forget`)."""
        counts = self._touched(shard)
        events, decisions, answered, late = self._leave_key(shard, key)
        counts.decisions -= decisions
        counts.answered -= answered
        counts.late -= late
        counts.keys -= events > 0
        told: dict[str, Any] = {"events": events} if places is None else {"events": events, "places": places}
        if rewrites:
            changed = [self._rewritten(shard, seq, rewrites[seq]) for seq in sorted(rewrites)]
            self._enter_again(shard, changed)
            digests = b"".join(map(present_digest, changed))
            told |= {"rewritten": [event.seq for event in changed], "digests": digests}
            reach("events-rewritten")
        verdict = self._learnt(shard, counts, ERASED, at, _told(**told))
        reach("forgetting-appended")
        return events, verdict

    def _rewritten(self, shard: int, seq: int, body: bytes) -> Event:
        """An event that says something else."""
        if (event := self.event(shard, seq)) is None or event.salt is None:
            raise KeyError(f"there is no event {seq} in shard {shard}")
        return rewritten(event, body, self._salts.next())

    def _own(self, shard: int, decision: str) -> DecisionRow | None:
        made = self.decision(decision)
        return made if made is not None and made.shard == shard else None

    def _learnt(
        self,
        shard: int,
        counts: Counts,
        type: str,
        at: float,
        body: bytes,
        decision: str | None = None,
        key: str | None = None,
    ) -> Verdict:
        """Write an event that changes weights."""
        counts.version += 1
        seq = self._append(shard, counts, type, at, body, decision, key, counts.version)
        return Verdict("learnt", seq, counts.version)

    def _append(
        self,
        shard: int,
        counts: Counts,
        type: str,
        at: float,
        body: bytes | None,
        decision: str | None = None,
        key: str | None = None,
        made: int | None = None,
        version: int = 1,
    ) -> int:
        if self.author is not None and type in SIGNED:
            body = _told(**(msgspec.msgpack.decode(body) if body else {}), **{AUTHOR: self.author})
        salt, seq = self._salts.next(), counts.seq + 1
        chain = link(counts.chain, seq, content(salt, type, version, at, decision, key, body))
        counts.seq, counts.chain = seq, chain
        self._enter(shard, counts, (seq, type, version, at, decision, key, made, salt, chain, body))
        return seq

    # What a store gives

    @abstractmethod
    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""

    @abstractmethod
    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""

    @abstractmethod
    def _enter_again(self, shard: int, events: Sequence[Event]) -> None:
        """Put events with other bodies in the places of themselves; the states of their keys go."""

    @abstractmethod
    def _touched(self, shard: int) -> Counts:
        """The counts of a shard, about to be changed into those after an event."""

    @abstractmethod
    def _new(self, shard: int, key: str) -> bool:
        """Whether nothing has been said of a key."""

    @abstractmethod
    def _enter(self, shard: int, counts: Counts, event: Fields) -> None:
        """Write an event, after which the counts are these."""

    @abstractmethod
    def _enter_decision(self, shard: int, seq: int, row: Asked) -> None:
        """Write the row of a decision."""

    @abstractmethod
    def _enter_call(self, shard: int, id: str, hash: bytes, seq: int) -> None:
        """Write that an event was a call of this id; an id is entered once."""

    @abstractmethod
    def _close(self, row: Told | Expiry, seq: int, hash: bytes | None, version: int | None) -> None:
        """Note what a decision came to, that was open."""

    @abstractmethod
    def _note(self, decision: str, **changed: Any) -> None:
        """Change the row of a decision."""

    @abstractmethod
    def _unmeasure(self, shard: int, version: int) -> None:
        """Let the answers after a version not be measured."""

    @abstractmethod
    def _leave_key(self, shard: int, key: str) -> tuple[int, int, int, int]:
        """Erase what is kept of a key; how many events, and decisions, of these answered, and late."""


def _told(**what: Any) -> bytes:
    return msgspec.msgpack.encode(what)


# The counts of shards while they are written to: kept per batch and per command, so that either can be undone.


class Counting:
    """Live counts by shard. An undo puts the old values back into the very objects that others hold."""

    def __init__(self) -> None:
        self._live: dict[int, Counts] = {}
        self._batch: dict[int, Counts | None] = {}
        self._command: dict[int, Counts | None] | None = None

    def get(self, shard: int) -> Counts | None:
        """The counts of a shard, if they are here."""
        return self._live.get(shard)

    def enter(self, shard: int, counts: Counts, *, new: bool = False) -> None:
        """Hold a shard's counts; a new shard is gone again when it is undone."""
        self._live[shard] = counts
        if new:
            self._open().setdefault(shard, None)

    def renew(self, shard: int, counts: Counts) -> Counts:
        """Others have moved a shard: put its counts into the object that is held."""
        live = self._live.setdefault(shard, counts)
        if live is not counts:
            put(counts, live)
        return live

    def touch(self, shard: int) -> None:
        """Remember the counts before they change."""
        held = self._open()
        if shard not in held:
            held[shard] = msgspec.structs.replace(self._live[shard])

    def moved(self) -> dict[int, Counts]:
        """The counts that changed in the batch."""
        return {shard: self._live[shard] for shard in self._batch if shard in self._live}

    def mark(self) -> None:
        """A command begins."""
        self._command = {}

    def release(self) -> None:
        """The command is done."""
        for shard, before in (self._command or {}).items():
            self._batch.setdefault(shard, before)
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
        for shard, before in held.items():
            if before is None:
                self._live.pop(shard, None)
                continue
            put(before, self._live[shard])


def put(of: Counts, to: Counts) -> None:
    """Give counts the values of others."""
    for name, value in msgspec.structs.asdict(of).items():
        setattr(to, name, value)
