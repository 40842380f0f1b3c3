"""Writing events and decisions, within the batch that is open."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smidgen.service.store.counting import Counting
from smidgen.service.store.crash_points import reach
from smidgen.service.store.events import ERASED, Salts, content, digest_of, link
from smidgen.service.store.rows import Asked, Counts, DecisionRow, Expiry, Told, Verdict, again
from smidgen.service.store.sql_asking import SQLTelling
from smidgen.service.store.sql_reads import OF_KEY, SQLReads, event_of

EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
DECISION = """
    INSERT INTO decisions (
        id, slot, seq, number, expires_at, request, request_hash, explored, forwarded, waits, shown,
        beside, agreed, target, chance
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TAUGHT = "UPDATE decisions SET feedback_seq = ?, feedback_hash = ?, version = ? WHERE id = ?"
CLOSE = """
    UPDATE decisions SET feedback_seq = ?, feedback_hash = ?, version = ?, measure = ?, position = ?, shown = 1
    WHERE id = ? AND feedback_seq IS NULL
"""
#: What is told of the decisions of a key, and what goes with it; ``?3`` is the base, under which there are none.
_DECISIONS_OF_KEY = """
    SELECT count(*), count(*) FILTER (WHERE feedback_hash IS NOT NULL AND beside IS NULL),
        count(*) FILTER (WHERE (feedback_hash IS NOT NULL AND version IS NULL) OR late_hash IS NOT NULL)
    FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.slot = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type = 'decision'
    )
"""
_LEAVE_KEY = (
    """
    DELETE FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.slot = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type = 'decision'
    )
    """,
    """
    DELETE FROM calls WHERE slot = ?1 AND seq IN (
        SELECT e.seq FROM events e INDEXED BY event_keys
        WHERE e.slot = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.decision IS NULL
    )
    """,
)
_ERASE = """
    UPDATE events SET type = 'erased', version = 0, at = 0.0, decision = NULL, key = NULL, salt = NULL, body = ?
    WHERE slot = ? AND seq = ?
"""
_OPEN = """
    UPDATE decisions SET feedback_seq = NULL, feedback_hash = NULL, version = NULL, measure = NULL, position = NULL,
        late_hash = NULL WHERE id = ?
"""


class SQLWrites(SQLReads, SQLTelling):
    """The verbs that write events."""

    #: Whether nobody else writes, so that what the writer knows is so.
    _sole = False

    def __init__(self) -> None:
        self._salts = Salts()
        self._counting = Counting()

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
        counts = self._touched(slot)
        counts.version += changes
        made = counts.version if changes else None
        counts.keys += key is not None and self._new(slot, key)
        seq = self._append(slot, counts, type, version, at, None, key, made, body)
        if call is not None:
            self._run("INSERT INTO calls VALUES (?, ?, ?, ?)", (slot, *call, seq))
        reach("event-appended")
        return seq

    def decided(self, slot: int, rows: Sequence[Asked]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        counts = self._touched(slot)
        first = counts.seq + 1
        for row in rows:
            new = row.key is not None and row.number == 1 and self._new(slot, row.key)
            seq = self._append(slot, counts, "decision", 1, row.at, row.decision, row.key, None, row.body)
            self._run(
                DECISION,
                (
                    bytes.fromhex(row.decision),
                    slot,
                    seq,
                    row.number,
                    row.expires_at,
                    row.request,
                    row.request_hash,
                    row.explored,
                    row.forwarded,
                    row.waits,
                    row.shown,
                    bytes.fromhex(row.beside) if row.beside is not None else None,
                    row.agreed,
                    row.target,
                    row.chance,
                ),
            )
            counts.decisions += 1
            if row.key is None:
                counts.number = row.number
            else:
                counts.keys += new
            reach("decision-appended")
        return first

    def answered(self, slot: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        counts = self._touched(slot)
        return [self._answer(slot, counts, row) for row in rows]

    def _answer(self, slot: int, counts: Counts, row: Told) -> Verdict:
        if self._sole and row.open_until is not None:
            return self._close(slot, counts, row, row.open_until)
        made = self._own(slot, row.decision)
        if made is None:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            if (known := again(made, row.hash)) is not None:
                return Verdict(known, None, counts.version)
            counts.answered += 1
            counts.late += 1
            seq = self._append(slot, counts, "feedback", 1, row.at, row.decision, row.key, None, row.body)
            self._run("UPDATE decisions SET late_hash = ? WHERE id = ?", (row.hash, bytes.fromhex(row.decision)))
            return Verdict("late", seq, counts.version)
        return self._close(slot, counts, row, made.expires_at)

    def _close(self, slot: int, counts: Counts, row: Told, expires_at: float) -> Verdict:
        """Write the first answer to a decision."""
        learnt = row.at <= expires_at
        counts.answered += 1
        counts.version += learnt
        counts.late += not learnt
        version = counts.version if learnt else None
        seq = self._append(slot, counts, "feedback", 1, row.at, row.decision, row.key, version, row.body)
        self._run(CLOSE, (seq, row.hash, version, row.measure, row.position, bytes.fromhex(row.decision)))
        reach("feedback-appended")
        return Verdict("learnt" if learnt else "late", seq, counts.version)

    def expired(self, slot: int, rows: Sequence[Expiry]) -> list[Verdict]:
        """Write that windows closed without feedback, where that is so and still to be learnt."""
        counts = self._touched(slot)
        return [self._expire(slot, counts, row) for row in rows]

    def _expire(self, slot: int, counts: Counts, row: Expiry) -> Verdict:
        made = self._own(slot, row.decision)
        if made is None:
            return Verdict("unknown", None, counts.version)
        if not made.due or row.at <= made.expires_at:
            return Verdict("duplicate", None, counts.version)
        counts.version += 1
        seq = self._append(slot, counts, "expired", 1, row.at, row.decision, row.key, counts.version, row.body)
        self._run(CLOSE, (seq, None, counts.version, row.measure, row.position, bytes.fromhex(row.decision)))
        reach("expiry-appended")
        return Verdict("learnt", seq, counts.version)

    def taught(self, slot: int, row: Told) -> Verdict:
        """Write that a decision beside another was taught what came of that one, if it is open; this closes it."""
        counts, made = self._touched(slot), self._own(slot, row.decision)
        if made is None or made.beside is None:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return Verdict("duplicate", None, counts.version)
        counts.version += 1
        seq = self._append(slot, counts, "taught", 1, row.at, row.decision, row.key, counts.version, row.body)
        self._run(_TAUGHT, (seq, row.hash, counts.version, bytes.fromhex(row.decision)))
        reach("lesson-appended")
        return Verdict("learnt", seq, counts.version)

    def unwait(self, slot: int) -> None:
        """Let the silence of the open decisions of a slot mean nothing any more."""
        self.enter(slot)
        self._run("UPDATE decisions SET waits = 0 WHERE slot = ? AND waits = 1 AND feedback_seq IS NULL", (slot,))

    def shown(self, slot: int, decision: str, at: float, key: str | None) -> bool | None:
        """Let a decision count; False if it does already, None if its window is over or it is not of this slot."""
        made = self._own(slot, decision)
        if made is None:
            return None
        if made.shown:
            return False
        if at > made.expires_at:
            return None
        self._append(slot, self._touched(slot), "shown", 1, at, decision, key, None, None)
        self._run("UPDATE decisions SET shown = 1 WHERE id = ?", (bytes.fromhex(decision),))
        reach("showing-appended")
        return True

    def retracted(self, slot: int, decision: str, at: float, key: str | None) -> Verdict:
        """Take back what was learnt of a decision, which is open again; ``"unknown"`` if nothing was."""
        counts, made = self._touched(slot), self._own(slot, decision)
        if made is None or made.version is None:
            return Verdict("unknown", None, counts.version)
        counts.version += 1
        counts.answered -= made.status == "learnt" and made.beside is None
        body = msgspec.msgpack.encode({"version": made.version})
        seq = self._append(slot, counts, "retracted", 1, at, decision, key, counts.version, body)
        self._run(_OPEN, (bytes.fromhex(decision),))
        reach("retraction-appended")
        return Verdict("learnt", seq, counts.version)

    def rolled_back(self, slot: int, version: int, at: float) -> Verdict:
        """Go back to what was learnt at a version: the answers after it stay in the log, and are not measured."""
        counts = self._touched(slot)
        if not 0 <= version <= counts.version:
            return Verdict("unknown", None, counts.version)
        counts.version += 1
        body = msgspec.msgpack.encode({"version": version})
        seq = self._append(slot, counts, "rolled_back", 1, at, None, None, counts.version, body)
        self._run(
            "UPDATE decisions INDEXED BY decision_versions SET measure = NULL, position = NULL"
            " WHERE slot = ? AND version > ?",
            (slot, version),
        )
        reach("rollback-appended")
        return Verdict("learnt", seq, counts.version)

    def forget(self, slot: int, key: str, at: float) -> tuple[int, Verdict]:
        """Erase the events of a key: what they say, its decisions, its state."""
        counts, erased_now, after = self._touched(slot), 0, self._floor(slot)
        decisions, answered, late = self._row(_DECISIONS_OF_KEY, (slot, key, after))
        counts.decisions -= decisions
        counts.answered -= answered
        counts.late -= late
        for sql in _LEAVE_KEY:
            self._run(sql, (slot, key, after))
        while rows := self._rows(OF_KEY, (slot, key, after)):
            events = [event_of(row) for row in rows]
            self._run_many(_ERASE, [(digest_of(event), slot, event.seq) for event in events])
            erased_now, after = erased_now + len(events), events[-1].seq
        counts.keys -= erased_now > 0
        self._run("DELETE FROM key_states WHERE slot = ? AND key = ?", (slot, key))
        self._run("DELETE FROM base_states WHERE slot = ? AND key = ?", (slot, key))  # of a base that did not come
        counts.version += 1
        body = msgspec.msgpack.encode({"events": erased_now})
        seq = self._append(slot, counts, ERASED, 1, at, None, None, counts.version, body)
        reach("forgetting-appended")
        return erased_now, Verdict("learnt", seq, counts.version)

    def erase(self, slot: int, seq: int) -> None:
        """Erase what one event says; its number, its version and the chain stay."""
        self.enter(slot)
        event = self.event(slot, seq)
        if event is not None and event.salt is not None:
            self._run(_ERASE, (digest_of(event), slot, seq))

    # Reading, as the writer needs it

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is, the open batch included: the same object as long as the store is open."""
        if (held := self._counting.get(slot)) is None and (held := super().counts(slot)) is not None:
            self._counting.enter(slot, held)
        return held

    def last_number(self, slot: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, the open batch included."""
        if key is None and upto is None and (held := self.counts(slot)) is not None:
            return held.number
        return super().last_number(slot, key, upto)

    def _new(self, slot: int, key: str) -> bool:
        """Whether nothing has been said of a key."""
        sql = "SELECT 1 FROM events INDEXED BY event_keys WHERE slot = ? AND key = ? LIMIT 1"
        return self._row(sql, (slot, key)) is None and self.base_state(slot, key) is None

    def _own(self, slot: int, decision: str) -> DecisionRow | None:
        made = self.decision(decision)
        return made if made is not None and made.slot == slot else None

    def _touched(self, slot: int) -> Counts:
        counts = self.counts(slot)
        if counts is None:
            raise KeyError(f"there is no slot {slot}")
        self._counting.touch(slot)
        return counts

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
        salt, seq = self._salts.next(), counts.seq + 1
        chain = link(counts.chain, seq, content(salt, type, version, at, decision, key, body))
        named = bytes.fromhex(decision) if decision is not None else None
        self._run(EVENT, (slot, seq, type, version, at, named, key, made, salt, chain, body))
        counts.seq, counts.chain = seq, chain
        return seq
