"""Writing events and decisions, within the batch that is open."""

from __future__ import annotations

from typing import Any

from smidgen.service.store.counting import Counting
from smidgen.service.store.events import digest_of
from smidgen.service.store.rows import Asked, Counts, Expiry, Told
from smidgen.service.store.sql_asking import SQLTelling
from smidgen.service.store.sql_reads import OF_KEY, SQLReads, event_of
from smidgen.service.store.verbs import Fields, Verbs

EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
DECISION = """
    INSERT INTO decisions (
        id, slot, seq, number, expires_at, request, request_hash, explored, forwarded, waits, shown,
        beside, agreed, target, chance
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NOTE = "UPDATE decisions SET {columns} WHERE id = ?"
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


class SQLWrites(SQLReads, SQLTelling, Verbs):
    """How the verbs that write events write their rows."""

    def __init__(self) -> None:
        super().__init__()
        self._counting = Counting()

    def unwait(self, slot: int) -> None:
        """Let the silence of the open decisions of a slot mean nothing any more."""
        self.enter(slot)
        self._run("UPDATE decisions SET waits = 0 WHERE slot = ? AND waits = 1 AND feedback_seq IS NULL", (slot,))

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

    def _touched(self, slot: int) -> Counts:
        counts = self.counts(slot)
        if counts is None:
            raise KeyError(f"there is no slot {slot}")
        self._counting.touch(slot)
        return counts

    def _enter(self, slot: int, counts: Counts, event: Fields) -> None:
        seq, type, version, at, decision, key, made, salt, chain, body = event
        named = bytes.fromhex(decision) if decision is not None else None
        self._run(EVENT, (slot, seq, type, version, at, named, key, made, salt, chain, body))

    def _enter_decision(self, slot: int, seq: int, row: Asked) -> None:
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

    def _enter_call(self, slot: int, id: str, hash: bytes, seq: int) -> None:
        self._run("INSERT INTO calls VALUES (?, ?, ?, ?)", (slot, id, hash, seq))

    def _close(self, row: Told | Expiry, seq: int, hash: bytes | None, version: int | None) -> None:
        self._run(CLOSE, (seq, hash, version, row.measure, row.position, bytes.fromhex(row.decision)))

    def _note(self, decision: str, **changed: Any) -> None:
        sql = _NOTE.format(columns=", ".join(f"{name} = ?" for name in changed))
        self._run(sql, (*changed.values(), bytes.fromhex(decision)))

    def _unmeasure(self, slot: int, version: int) -> None:
        self._run(
            "UPDATE decisions INDEXED BY decision_versions SET measure = NULL, position = NULL"
            " WHERE slot = ? AND version > ?",
            (slot, version),
        )

    def _leave_key(self, slot: int, key: str) -> tuple[int, int, int, int]:
        count, after = 0, self.floor(slot)
        decisions, answered, late = self._row(_DECISIONS_OF_KEY, (slot, key, after))
        for sql in _LEAVE_KEY:
            self._run(sql, (slot, key, after))
        while rows := self._rows(OF_KEY, (slot, key, after)):
            events = [event_of(row) for row in rows]
            self._run_many(_ERASE, [(digest_of(event), slot, event.seq) for event in events])
            count, after = count + len(events), events[-1].seq
        self._run("DELETE FROM key_states WHERE slot = ? AND key = ?", (slot, key))
        self._run("DELETE FROM base_states WHERE slot = ? AND key = ?", (slot, key))  # of a base that did not come
        return count, decisions, answered, late
