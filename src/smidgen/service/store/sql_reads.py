"""Reading: the same questions for the writer and for readers beside it, whatever database answers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import msgspec

from smidgen.service.store.events import Event
from smidgen.service.store.protocol import Question
from smidgen.service.store.questions import DECISIONS, QUESTIONS
from smidgen.service.store.rows import CallRow, Counts, DecisionRow, ModelRow, Outcome, State, TokenRow
from smidgen.service.store.snapshots import MARK
from smidgen.service.store.sql_bases import SEEN, SQLBases
from smidgen.service.store.sql_tables import all_of, count_of

ID = re.compile(r"[0-9a-f]{24}")
EVENTS = "SELECT seq, type, version, at, decision, key, made, salt, chain, body FROM events"
_COUNTS = "SELECT seq, version, decisions, late, keys, number, chain, answered FROM slots WHERE id = ?"
_CHANGES = """
    SELECT f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.body,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM events f {index} LEFT JOIN decisions x ON x.id = f.decision
    LEFT JOIN events d ON d.slot = x.slot AND d.seq = x.seq
    WHERE f.slot = ?1 AND f.seq > ?2 AND (f.made IS NOT NULL OR f.type = 'amended') AND {key}
"""
_CHANGES_ALL = _CHANGES.format(index="", key="1 = 1") + " ORDER BY 1"
_CHANGES_BY_KEY = (
    _CHANGES.format(index="INDEXED BY event_keys", key="f.key = ?3")
    + " UNION ALL "
    + _CHANGES.format(index="INDEXED BY event_wide", key="f.decision IS NULL AND f.key IS NULL")
    + " ORDER BY 1"
)
OF_KEY = f"{EVENTS} INDEXED BY event_keys WHERE slot = ? AND key = ? AND seq > ? ORDER BY seq LIMIT 256"
_FORGOTTEN = """
    SELECT seq FROM events INDEXED BY event_wide
    WHERE slot = ? AND decision IS NULL AND type = 'erased' AND salt IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
_REWINDS = (
    f"{EVENTS} INDEXED BY event_rewinds WHERE slot = ? AND seq > ?"
    " AND type IN ('retracted', 'rolled_back') ORDER BY seq"
)
_VERSION_AT = (
    "SELECT made FROM events WHERE slot = ? AND seq <= ? AND seq > ? AND made IS NOT NULL ORDER BY seq DESC LIMIT 1"
)
_EVENT = f"{EVENTS} WHERE slot = ? AND seq = ? AND {SEEN.format(table='events')}"
DECISION_BY_ID = f"{DECISIONS} WHERE id = ? AND {SEEN.format(table='decisions')}"
_REQUESTED = f"{DECISIONS} WHERE request = ? AND slot IN ({{slots}}) AND {SEEN.format(table='decisions')}"
_NUMBER = "SELECT number FROM decisions INDEXED BY decision_order WHERE slot = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
_BESIDE = f"{DECISIONS} INDEXED BY decision_beside WHERE beside = ? AND {SEEN.format(table='decisions')} ORDER BY slot"
_KEYS_NUMBER = (
    "SELECT x.number FROM events e INDEXED BY event_keys JOIN decisions x ON x.id = e.decision"
    " WHERE e.slot = ? AND e.key = ? AND e.seq <= ? AND e.type = 'decision' ORDER BY e.seq DESC LIMIT 1"
)
_DUE = (
    f"{DECISIONS} INDEXED BY decision_due WHERE waits = 1 AND shown = 1 AND feedback_seq IS NULL AND expires_at < ?"
    " ORDER BY expires_at, slot, seq LIMIT ?"
)


@lru_cache(maxsize=256)
def _requested(slots: int) -> str:
    """The question for the app's own id in so many slots."""
    return _REQUESTED.format(slots=", ".join("?" * slots))


class SQLReads(SQLBases):
    """The questions; any thread may ask."""

    @abstractmethod
    def moment(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment."""

    @abstractmethod
    def states(self, slot: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""

    def models(self) -> list[ModelRow]:
        """The models in the order of their making."""
        rows = self._rows(
            "SELECT m.id, m.name, s.id, m.body, m.resolved, m.created_at, m.archived_at"
            " FROM models m JOIN slots s ON s.model = m.id AND s.place = 0 ORDER BY m.id"
        )
        return [
            ModelRow(id, name, slot, body, msgspec.json.decode(resolved), created, archived)
            for id, name, slot, body, resolved, created, archived in rows
        ]

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is."""
        row = self._row(_COUNTS, (slot,))
        return Counts(*row) if row is not None else None

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""
        if ID.fullmatch(id) is None:
            return None
        return decision_of(self._row(DECISION_BY_ID, (bytes.fromhex(id),)))

    def requested(self, slot: int, request: str, *others: int) -> DecisionRow | None:
        """The decision that the app asked for under this id of its own, in a slot or in others."""
        return decision_of(self._row(_requested(1 + len(others)), (request, slot, *others)))

    def beside(self, decision: str) -> list[DecisionRow]:
        """The decisions that were made beside this one, by slot."""
        if ID.fullmatch(decision) is None:
            return []
        return [DecisionRow(*_decided(row)) for row in self._rows(_BESIDE, (bytes.fromhex(decision),))]

    def called(self, slot: int, id: str) -> CallRow | None:
        """The call that the app made under this id of its own."""
        row = self._row("SELECT hash, seq FROM calls WHERE slot = ? AND id = ?", (slot, id))
        return CallRow(*row) if row is not None and row[1] > self.floor(slot) else None

    def event(self, slot: int, seq: int) -> Event | None:
        """One event."""
        row = self._row(_EVENT, (slot, seq))
        return event_of(row) if row is not None else None

    def events(self, slot: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most so many, and no more once their bodies reach so many bytes."""
        sql = f"{EVENTS} WHERE slot = ? AND seq > ? ORDER BY seq LIMIT ?"
        found: list[Event] = []
        size = 0
        for row in self._each(sql, (slot, max(after, self.floor(slot)), limit), 64):
            found.append(event_of(row))
            size += len(row[9] or b"")
            if size >= most:
                break
        return found

    def changes(self, slot: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version, after an event, in order, each with the decision that it is about."""
        after = max(after, self.floor(slot))
        sql, values = (_CHANGES_ALL, (slot, after)) if key is None else (_CHANGES_BY_KEY, (slot, after, key))
        for row in self._each(sql, values, 256):
            yield event_of(row[:10]), event_of(row[10:]) if row[10] is not None else None

    def rewinds(self, slot: int) -> list[Event]:
        """The events that take back what earlier ones did, in order."""
        return [event_of(row) for row in self._rows(_REWINDS, (slot, self.floor(slot)))]

    def of_key(self, slot: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        after = self.floor(slot)
        while rows := self._rows(OF_KEY, (slot, key, after)):
            yield from map(event_of, rows)
            after = rows[-1][0]

    def forgotten(self, slot: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        row = self._row(_FORGOTTEN, (slot,))
        return int(row[0]) if row is not None else 0

    def version_at(self, slot: int, seq: int) -> int:
        """The version after an event."""
        base = self.base(slot)
        row = self._row(_VERSION_AT, (slot, seq, base.seq if base is not None else 0))
        return int(row[0]) if row is not None else base.version if base is not None else 0

    def due(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all slots whose windows are over and whose silence is still to be learnt."""
        return [DecisionRow(*_decided(row)) for row in self._rows(_DUE, (now, limit))]

    def last_number(self, slot: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, 0 if there is none."""
        if upto is not None and key is None:
            row = self._row(_NUMBER, (slot, upto))
        elif key is None:
            row = self._row("SELECT number FROM slots WHERE id = ?", (slot,))
        else:
            row = self._row(_KEYS_NUMBER, (slot, key, upto if upto is not None else 1 << 62))
        based = self.base_state(slot, key) if key is not None or upto is not None else None
        return max(int(row[0]) if row is not None else 0, based.number if based is not None else 0)

    def _states_of_key(self, slot: int, key: str) -> Iterator[State]:
        row = self._row("SELECT seq, state, at FROM key_states WHERE slot = ? AND key = ?", (slot, key))
        if row is not None:
            yield State(row[0], row[1], f"the state of key {key!r}", True, len(row[1]), row[2])

    def state_keys(self, slot: int) -> list[str]:
        """The keys that have a published state."""
        return [key for (key,) in self._rows("SELECT key FROM key_states WHERE slot = ? ORDER BY key", (slot,))]

    def look(self, question: Question, slot: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a slot."""
        rows = self._rows(QUESTIONS[question], {"slot": slot, **values})
        if question in ("lately", "ended", "answers"):
            return [_outcome(*row) for row in rows]
        return [DecisionRow(*_decided(row)) for row in rows] if question == "latest" else rows

    def contradictions(self, rule: str) -> Iterator[tuple[int, int]]:
        """The rows of (slot, event) that break a rule of the tables."""
        return self._each(rule, (), 256)

    def rows_of(self, table: str) -> Iterator[Any]:
        """All rows of a table, in order."""
        return self._each(all_of(table), (), 64)

    def count_of_rows(self, table: str) -> int:
        """How many there are."""
        return int(self._row(count_of(table))[0])

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        sql = "SELECT id, hash, scopes, model, created_at, revoked_at FROM tokens ORDER BY created_at, id"
        return [TokenRow(*row) for row in self._rows(sql)]

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        sql = "SELECT id, hash, scopes, model, created_at, revoked_at FROM tokens WHERE hash = ?"
        row = self._row(sql, (hash,))
        return TokenRow(*row) if row is not None else None

    def chain(self, slot: int, seq: int) -> bytes | None:
        """The chain of a slot at an event; None if there is no such event."""
        if (base := self.base(slot)) is not None and seq <= base.seq:
            return base.chain if seq == base.seq else None
        row = self._row("SELECT chain FROM events WHERE slot = ? AND seq = ?", (slot, seq))
        return bytes(row[0]) if row is not None else None

    def _mark(self, slot: int, seq: int) -> str | None:
        """A short name for an event and all before it, None if there is no such event."""
        chain = self.chain(slot, seq)
        return chain[:MARK].hex() if chain is not None else None


def event_of(row: Any) -> Event:
    """An event from the columns of its row."""
    seq, type, version, at, decision, key, made, salt, chain, body = row
    return Event(seq, type, version, at, decision.hex() if decision is not None else None, key, made, salt, chain, body)


def decision_of(row: Any) -> DecisionRow | None:
    """A decision from the columns of its row, if there is one."""
    return DecisionRow(*_decided(row)) if row is not None else None


def _outcome(seq: int, at: float, key: str | None, ends: float, explored: int, sent: int | None, *rest: Any) -> Outcome:
    return Outcome(seq, at, key, ends, bool(explored), None if sent is None else bool(sent), *rest)


def _decided(row: Any) -> Any:
    id, slot, seq, expires_at, request_hash, explored, forwarded, *answer, waits, shown, late_hash, beside, agreed = row
    went = bool(forwarded) if forwarded is not None else None
    return (
        id.hex(),
        slot,
        seq,
        expires_at,
        request_hash,
        bool(explored),
        went,
        *answer,
        bool(waits),
        bool(shown),
        late_hash,
        beside.hex() if beside is not None else None,
        bool(agreed) if agreed is not None else None,
    )
