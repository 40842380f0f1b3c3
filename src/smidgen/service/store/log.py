"""The log: what happened, in order, for good. Weights are a fold over it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from smidgen import records
from smidgen.errors import InvalidRecord
from smidgen.service.clock import stamp
from smidgen.types import Decision


class DecisionEvent(msgspec.Struct):
    """The body of a decision's event.

    Attributes
    ----------
    number
        The learner's own number of it.
    reply
        What the app was told.
    ids
        The candidates' ids, in the order of their features.
    record
        The learner's own record, all that learning needs.
    """

    number: int
    reply: dict[str, Any]
    ids: list[str]
    record: msgspec.Raw

    def decision(self) -> Decision:
        """The learner's own record."""
        return Decision.from_json(bytes(self.record))


class Answered(msgspec.Struct):
    """The body of a feedback's event.

    Attributes
    ----------
    feedback
        What the app sent.
    status
        ``"learnt"`` or ``"late"``.
    learn
        What the learner was told, packed by `smidgen.records`.
    model_version
        The model's version after it was learnt.
    """

    feedback: dict[str, Any]
    status: str
    learn: Any
    model_version: int | None


class _Recorded(msgspec.Struct):
    """What replay needs of a decision's event; the rest is passed over unread."""

    record: dict[str, Any]


class _Told(msgspec.Struct):
    """What replay needs of a feedback's event."""

    learn: Any


class Learnt(NamedTuple):
    """One step of the fold."""

    seq: int
    decision: Decision
    feedback: Any


_EVENTS = "SELECT seq, type, decision, key, at, body FROM events"
_LEARNT = """
    SELECT f.seq, f.body, d.body FROM events f
    JOIN decisions x ON x.id = f.decision JOIN events d ON d.model = x.model AND d.seq = x.seq
    WHERE f.model = ?1 AND f.seq > ?2 AND f.type = 'feedback' AND x.status = 'learnt' AND ?3 IS NULL
    ORDER BY f.seq
"""
_LEARNT_BY_KEY = """
    SELECT f.seq, f.body, d.body FROM events f INDEXED BY event_keys
    JOIN decisions x ON x.id = f.decision JOIN events d ON d.model = x.model AND d.seq = x.seq
    WHERE f.model = ?1 AND f.seq > ?2 AND f.type = 'feedback' AND x.status = 'learnt' AND f.key = ?3
    ORDER BY f.seq
"""
_decisions = msgspec.json.Decoder(DecisionEvent)
_answers = msgspec.json.Decoder(Answered)
_recorded = msgspec.json.Decoder(_Recorded)
_told = msgspec.json.Decoder(_Told)


class Log:
    """The tables of events and decisions, over the one writing connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def append(
        self, model: int, seq: int, type: str, decision: str | None, key: str | None, at: float, body: Any
    ) -> None:
        """Write the next event of a model."""
        self.connection.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
            (model, seq, type, decision, key, at, msgspec.json.encode(body)),
        )

    def enter(self, values: dict[str, Any]) -> None:
        """Enter a decision, by the names of the table's columns."""
        self.connection.execute(
            "INSERT INTO decisions (id, model, seq, key, number, made_at, expires_at, request_id, request_hash,"
            " explored, forwarded) VALUES (:id, :model, :seq, :key, :number, :made_at, :expires_at, :request_id,"
            " :request_hash, :explored, :forwarded)",
            values,
        )

    def answer(self, values: dict[str, Any]) -> None:
        """Enter a decision's feedback, by the names of the table's columns."""
        self.connection.execute(
            "UPDATE decisions SET feedback_seq = :feedback_seq, feedback_hash = :feedback_hash,"
            " feedback_at = :feedback_at, status = :status, learnt_version = :learnt_version, measure = :measure,"
            " position = :position WHERE id = :id",
            values,
        )

    def row(self, decision: str) -> sqlite3.Row | None:
        """A decision's row."""
        cursor = self.connection.execute("SELECT * FROM decisions WHERE id = ?", (decision,))
        cursor.row_factory = sqlite3.Row
        row: sqlite3.Row | None = cursor.fetchone()
        return row

    def requested(self, model: int, request: str) -> tuple[int, bytes] | None:
        """The event and the body's hash of the decision that the app asked for under this id."""
        row: tuple[int, bytes] | None = self.connection.execute(
            "SELECT seq, request_hash FROM decisions WHERE model = ? AND request_id = ?", (model, request)
        ).fetchone()
        return row

    def decision(self, model: int, seq: int) -> DecisionEvent:
        """A decision's event."""
        return _decisions.decode(self._body(model, seq))

    def answered(self, model: int, seq: int) -> Answered:
        """A feedback's event."""
        return _answers.decode(self._body(model, seq))

    def learnt(self, model: int, key: str | None, after: int) -> Iterator[Learnt]:
        """What a learner has learnt after an event, in the order of the log."""
        rows = self.connection.execute(_LEARNT if key is None else _LEARNT_BY_KEY, (model, after, key))
        for seq, feedback, decision in rows:
            try:
                made = Decision.of(records.unpack(_recorded.decode(decision).record))
                told = records.unpack(_told.decode(feedback).learn)
            except (msgspec.DecodeError, ValueError, TypeError, KeyError) as error:
                raise InvalidRecord(
                    f"event {seq} or its decision cannot be read: {error}", "restore the database from a backup"
                ) from error
            yield Learnt(seq, made, told)

    def last_number(self, model: int, key: str | None) -> int:
        """The number of the learner's latest decision, 0 if there is none."""
        row = self.connection.execute(
            "SELECT number FROM decisions WHERE model = :model ORDER BY seq DESC LIMIT 1"
            if key is None
            else "SELECT x.number FROM events e INDEXED BY event_keys JOIN decisions x ON x.id = e.decision"
            " WHERE e.model = :model AND e.key = :key AND e.type = 'decision' ORDER BY e.seq DESC LIMIT 1",
            {"model": model, "key": key},
        ).fetchone()
        return int(row[0]) if row else 0

    def counts(self, model: int) -> dict[str, int]:
        """The model's last event, version, decisions, late answers and keys."""
        (seq,) = self.connection.execute(
            "SELECT coalesce(max(seq), 0) FROM events WHERE model = ?", (model,)
        ).fetchone()
        version, decisions, late, keys = self.connection.execute(
            "SELECT coalesce(max(learnt_version), 0), count(*), count(*) FILTER (WHERE status = 'late'),"
            " count(*) FILTER (WHERE number = 1 AND key IS NOT NULL) FROM decisions WHERE model = ?",
            (model,),
        ).fetchone()
        return {"seq": seq, "version": version, "decisions": decisions, "late": late, "keys": keys}

    def lines(self, model: int, after: int = 0, limit: int = 1000) -> list[bytes]:
        """The model's next events as lines of JSON."""
        rows = self.connection.execute(
            f"{_EVENTS} WHERE model = ? AND seq > ? ORDER BY seq LIMIT ?", (model, after, limit)
        )
        return [line(*row) for row in rows]

    def all_lines(self, model: int, after: int = 0) -> Iterator[bytes]:
        """All events after one, read a thousand at a time."""
        while chunk := self.lines(model, after):
            yield from chunk
            after += len(chunk)

    def mark(self, model: int, seq: int) -> str | None:
        """A short name for an event by what it says, None if there is no such event."""
        found = self.connection.execute(f"{_EVENTS} WHERE model = ? AND seq = ?", (model, seq)).fetchone()
        return hashlib.sha256(line(*found)).hexdigest()[:16] if found is not None else None

    def _body(self, model: int, seq: int) -> bytes:
        sql = "SELECT body FROM events WHERE model = ? AND seq = ?"
        return bytes(self.connection.execute(sql, (model, seq)).fetchone()[0])


def line(seq: int, type: str, decision: str | None, key: str | None, at: float, body: bytes) -> bytes:
    """An event as a line of the log: its head, then the fields of its body."""
    head = msgspec.json.encode({"seq": seq, "type": type, "decision": decision, "key": key, "at": stamp(at)})
    return head if len(body) <= 2 else head[:-1] + b"," + body[1:]
