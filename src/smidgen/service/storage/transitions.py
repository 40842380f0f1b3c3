"""The effect of each event on counts and decisions, for every store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from smidgen.service.log.events import (
    AUTHOR,
    ERASED,
    HELD_OUT,
    KEPT,
    SIGNED,
    Event,
    Salts,
    chain_digest,
    content_digest,
    present_digest,
    rewrite_event,
)
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import (
    Counts,
    DecisionRow,
    NewDecision,
    NewExpiry,
    NewFeedback,
    NewReport,
    WriteResult,
    classify_repeat,
)

#: The fields of an `Event`, in order.
Fields = tuple[int, str, int, float, str | None, str | None, int | None, bytes, bytes, bytes | None]


class EventRows(Protocol):
    """The rows that events change: what a store gives to `EventWriter`."""

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""
        ...

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        ...

    def counts_to_change(self, shard: int) -> Counts:
        """The counts of a shard, which the caller is about to change into those after an event."""
        ...

    def is_new_key(self, shard: int, key: str) -> bool:
        """True if the log has nothing about a key."""
        ...

    def insert_event(self, shard: int, counts: Counts, event: Fields) -> None:
        """Write an event, after which the counts are these."""
        ...

    def replace_events(self, shard: int, events: Sequence[Event]) -> None:
        """Write events in the place of those with their numbers, and delete the states of their keys."""
        ...

    def insert_decision(self, shard: int, seq: int, row: NewDecision) -> None:
        """Write the row of a decision."""
        ...

    def insert_call(self, shard: int, id: str, hash: bytes, seq: int) -> None:
        """Write the app's id of a call and its event; an id is entered once."""
        ...

    def close_decision(self, row: NewFeedback | NewExpiry, seq: int, hash: bytes | None, version: int | None) -> None:
        """Write the feedback of an open decision."""
        ...

    def update_decision(self, decision: str, **changed: Any) -> None:
        """Change columns of a decision."""
        ...

    def clear_measures(self, shard: int, version: int) -> None:
        """Delete the measures of feedback after a version."""
        ...

    def delete_events(self, shard: int, own: Sequence[int]) -> tuple[int, int, int, int]:
        """Erase events, and decisions that they made; the same numbers as of a key."""
        ...

    def delete_key(self, shard: int, key: str) -> tuple[int, int, int, int]:
        """Erase a key; its number of events, and of decisions, those with feedback, and those with late feedback."""
        ...


class EventWriter:
    """Writes events: what each of them does to the counts and the decisions of its shard.

    Parameters
    ----------
    rows
        Writes the rows.
    trusts
        Tells whether what the caller knows of the decisions of a shard is true, or is checked at the commit.

    Attributes
    ----------
    author
        The id of the token whose call causes the events, or None. Events that operators cause (`SIGNED`) keep it.
    """

    def __init__(self, rows: EventRows, trusts: Callable[[int], bool]) -> None:
        self._rows = rows
        self._trusts = trusts
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
        counts = self._rows.counts_to_change(shard)
        counts.version += changes
        made = counts.version if changes else None
        counts.keys += key is not None and self._rows.is_new_key(shard, key)
        seq = self.write_event(shard, counts, type, at, body, key=key, made=made, version=version)
        if call is not None:
            self._rows.insert_call(shard, call[0], call[1], seq)
        crash_point("event-appended")
        return seq

    def write_decisions(self, shard: int, rows: Sequence[NewDecision]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        counts = self._rows.counts_to_change(shard)
        first = counts.seq + 1
        for row in rows:
            counts.decisions += 1
            if row.key is None:
                counts.number = row.number
            elif row.number <= 1:
                counts.keys += self._rows.is_new_key(shard, row.key)
            type = HELD_OUT if row.holdout else "decision"
            seq = self.write_event(shard, counts, type, row.at, row.body, row.decision, row.key)
            self._rows.insert_decision(shard, seq, row)
            crash_point("decision-appended")
        return first

    def write_feedback(self, shard: int, rows: Sequence[NewFeedback]) -> list[WriteResult]:
        """Write feedback, in order, where it is the first of its decision; the result of each."""
        counts = self._rows.counts_to_change(shard)
        return [self._write_answer(shard, counts, row) for row in rows]

    def _write_answer(self, shard: int, counts: Counts, row: NewFeedback) -> WriteResult:
        made: DecisionRow | None = None
        late, until = False, row.open_until if self._trusts(shard) else None
        if until is None:
            if (made := self._decision_in(shard, row.decision)) is None:
                return WriteResult("unknown", None, counts.version)
            late, until = made.feedback_seq is not None, made.expires_at
            if late and (known := classify_repeat(made, row.hash)) is not None:
                return WriteResult(known, None, counts.version)
        in_time = not late and row.at <= until
        learnt, recorded = in_time and not row.recorded, in_time and row.recorded
        counts.answered += made is None or not made.answered
        counts.version += learnt
        counts.late += not in_time
        version = counts.version if learnt else None
        type = "recorded" if recorded else "feedback"
        seq = self.write_event(shard, counts, type, row.at, row.body, row.decision, row.key, version)
        if late:
            self._rows.update_decision(row.decision, late_hash=row.hash)
        else:
            if row.recorded and not recorded:
                row = row._replace(measure=None, position=None)  # late: it does not count
            self._rows.close_decision(row, seq, row.hash, version)
            crash_point("feedback-appended")
        return WriteResult("learnt" if learnt else "recorded" if recorded else "late", seq, counts.version)

    def write_expiries(self, shard: int, rows: Sequence[NewExpiry]) -> list[WriteResult]:
        """Write that windows closed without feedback, where a decision is still to be learned from."""
        counts = self._rows.counts_to_change(shard)
        return [self._write_expiry(shard, counts, row) for row in rows]

    def _write_expiry(self, shard: int, counts: Counts, row: NewExpiry) -> WriteResult:
        made = self._decision_in(shard, row.decision)
        if made is None:
            return WriteResult("unknown", None, counts.version)
        if not made.is_due or made.reported != row.settled or (row.at <= made.expires_at and not row.settled):
            return WriteResult("duplicate", None, counts.version)
        counts.version += not row.refused
        version = None if row.refused else counts.version
        type = "settled" if row.settled else "expired"
        seq = self.write_event(shard, counts, type, row.at, row.body, row.decision, row.key, version)
        self._rows.close_decision(row, seq, None, version)
        crash_point("expiry-appended")
        return WriteResult("late" if row.refused else "learnt", seq, counts.version)

    def write_report(self, shard: int, row: NewReport) -> WriteResult:
        """Write a report that does not close its decision; the decision counts as shown."""
        counts, made = self._rows.counts_to_change(shard), self._decision_in(shard, row.decision)
        if made is None:
            return WriteResult("unknown", None, counts.version)
        counts.answered += row.rewards and not made.answered
        seq = self.write_event(shard, counts, "reported", row.at, row.body, row.decision, row.key)
        reported = made.reported or row.rewards
        self._rows.update_decision(row.decision, reports=row.reports, reported=reported, shown=True)
        crash_point("report-appended")
        return WriteResult("recorded", seq, counts.version)

    def withdraw_reports(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Drop the reports on an open decision; this makes no version."""
        counts, made = self._rows.counts_to_change(shard), self._decision_in(shard, decision)
        if made is None or not made.reported or made.feedback_seq is not None:
            return WriteResult("unknown", None, counts.version)
        counts.answered -= made.answered
        seq = self.write_event(shard, counts, "withdrawn", at, None, decision, key)
        self._rows.update_decision(decision, reports=None, reported=False)
        crash_point("withdrawal-appended")
        return WriteResult("recorded", seq, counts.version)

    def write_follower_update(self, shard: int, row: NewFeedback) -> WriteResult:
        """Write that a shadow learned from the feedback of what was shown; this closes the decision of the shadow."""
        counts, made = self._rows.counts_to_change(shard), self._decision_in(shard, row.decision)
        if made is None or made.beside is None:
            return WriteResult("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return WriteResult("duplicate", None, counts.version)
        verdict = self._append_change(shard, counts, "taught", row.at, row.body, row.decision, row.key)
        self._rows.update_decision(
            row.decision, feedback_seq=counts.seq, feedback_hash=row.hash, version=counts.version
        )
        crash_point("lesson-appended")
        return verdict

    def mark_shown(self, shard: int, decision: str, at: float, key: str | None) -> bool | None:
        """Mark a decision as shown; False if it is already, None if its window is over or it is not of this shard."""
        made = self._decision_in(shard, decision)
        if made is None:
            return None
        if made.shown:
            return False
        if at > made.expires_at:
            return None
        self.write_event(shard, self._rows.counts_to_change(shard), "shown", at, None, decision, key)
        self._rows.update_decision(decision, shown=True)
        crash_point("showing-appended")
        return True

    def write_retraction(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        """Retract what was learned of a decision, which is open again; ``"unknown"`` if nothing was.

        An expiry that was retracted is not learned a second time.
        """
        counts, made = self._rows.counts_to_change(shard), self._decision_in(shard, decision)
        if made is None or made.version is None:
            return WriteResult("unknown", None, counts.version)
        counts.answered -= made.answered
        verdict = self._append_change(
            shard, counts, "retracted", at, _feedback_body(version=made.version, columns=KEPT), decision, key
        )
        gone = ("feedback_seq", "feedback_hash", "version", "measure", "position", "late_hash")
        waits = made.waits and made.status != "expired"
        self._rows.update_decision(decision, **dict.fromkeys((*gone, "reports")), reported=False, waits=waits)
        crash_point("retraction-appended")
        return verdict

    def write_rollback(self, shard: int, version: int, at: float) -> WriteResult:
        """Roll back to a version; later feedback stays in the log and is not measured."""
        counts = self._rows.counts_to_change(shard)
        if not 0 <= version <= counts.version:
            return WriteResult("unknown", None, counts.version)
        verdict = self._append_change(shard, counts, "rolled_back", at, _feedback_body(version=version, columns=KEPT))
        self._rows.clear_measures(shard, version)
        crash_point("rollback-appended")
        return verdict

    def forget(
        self,
        shard: int,
        key: str | None,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
        own: Sequence[int] = (),
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, and rewrite events of others (`Store.forget`)."""
        counts = self._rows.counts_to_change(shard)
        deleted = self._rows.delete_events(shard, own) if key is None else self._rows.delete_key(shard, key)
        events, decisions, answered, late = deleted
        counts.decisions -= decisions
        counts.answered -= answered
        counts.late -= late
        counts.keys -= key is not None and events > 0
        body: dict[str, Any] = {"events": events} if places is None else {"events": events, "places": places}
        if rewrites:
            changed = [self._rewrite(shard, seq, rewrites[seq]) for seq in sorted(rewrites)]
            self._rows.replace_events(shard, changed)
            digests = b"".join(map(present_digest, changed))
            body |= {"rewritten": [event.seq for event in changed], "digests": digests}
            crash_point("events-rewritten")
        verdict = self._append_change(shard, counts, ERASED, at, _feedback_body(**body))
        crash_point("forgetting-appended")
        return events, verdict

    def _rewrite(self, shard: int, seq: int, body: bytes) -> Event:
        """An event with another body."""
        if (event := self._rows.event(shard, seq)) is None or event.salt is None:
            raise KeyError(f"there is no event {seq} in shard {shard}")
        return rewrite_event(event, body, self._salts.next())

    def _decision_in(self, shard: int, decision: str) -> DecisionRow | None:
        made = self._rows.decision(decision)
        return made if made is not None and made.shard == shard else None

    def _append_change(
        self,
        shard: int,
        counts: Counts,
        type: str,
        at: float,
        body: bytes,
        decision: str | None = None,
        key: str | None = None,
    ) -> WriteResult:
        """Write an event that changes weights."""
        counts.version += 1
        seq = self.write_event(shard, counts, type, at, body, decision, key, counts.version)
        return WriteResult("learnt", seq, counts.version)

    def write_event(
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
        """Write an event of any type, after which the counts are those given; its number."""
        if self.author is not None and type in SIGNED:
            body = _feedback_body(**(msgspec.msgpack.decode(body) if body else {}), **{AUTHOR: self.author})
        salt, seq = self._salts.next(), counts.seq + 1
        chain = chain_digest(counts.chain, seq, content_digest(salt, type, version, at, decision, key, body))
        counts.seq, counts.chain = seq, chain
        self._rows.insert_event(shard, counts, (seq, type, version, at, decision, key, made, salt, chain, body))
        return seq


def _feedback_body(**what: Any) -> bytes:
    return msgspec.msgpack.encode(what)


class LiveCounts:
    """Counts of shards, with undo per batch and per command; an undo restores the very objects that others hold."""

    def __init__(self) -> None:
        self._live: dict[int, Counts] = {}
        self._batch: dict[int, Counts | None] = {}
        self._command: dict[int, Counts | None] | None = None

    def get(self, shard: int) -> Counts | None:
        """The counts of a shard, if they are loaded."""
        return self._live.get(shard)

    def add(self, shard: int, counts: Counts, *, new: bool = False) -> None:
        """Keep the counts of a shard; an undo removes those of a new shard."""
        self._live[shard] = counts
        if new:
            self._open().setdefault(shard, None)

    def replace(self, shard: int, counts: Counts) -> Counts:
        """Copy counts that were read into the object that others hold, which is returned."""
        live = self._live.setdefault(shard, counts)
        if live is not counts:
            copy_counts(counts, live)
        return live

    def touch(self, shard: int) -> None:
        """Save the counts before they change."""
        held = self._open()
        if shard not in held:
            held[shard] = msgspec.structs.replace(self._live[shard])

    def changed(self) -> dict[int, Counts]:
        """The counts that changed in the batch."""
        return {shard: self._live[shard] for shard in self._batch if shard in self._live}

    def savepoint(self) -> None:
        """Begin a command."""
        self._command = {}

    def release(self) -> None:
        """End the command."""
        for shard, before in (self._command or {}).items():
            self._batch.setdefault(shard, before)
        self._command = None

    def rollback_to_savepoint(self) -> None:
        """Undo the command."""
        self._undo(self._command or {})
        self._command = None

    def commit(self) -> None:
        """End the batch."""
        self._batch.clear()

    def rollback(self) -> None:
        """Undo the batch."""
        self.rollback_to_savepoint()
        self._undo(self._batch)
        self._batch.clear()

    def _open(self) -> dict[int, Counts | None]:
        return self._batch if self._command is None else self._command

    def _undo(self, held: dict[int, Counts | None]) -> None:
        for shard, before in held.items():
            if before is None:
                self._live.pop(shard, None)
                continue
            copy_counts(before, self._live[shard])


def copy_counts(of: Counts, to: Counts) -> None:
    """Copy the values of counts into other counts."""
    for name, value in msgspec.structs.asdict(of).items():
        setattr(to, name, value)
