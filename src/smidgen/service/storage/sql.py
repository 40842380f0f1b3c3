"""Every SELECT of the stores.

How SQL is asked: the one door between the store's statements and whichever database runs them.

Statements are written once, in SQLite's spelling (``?``, ``?1`` or ``:name`` for values, ``INDEXED BY`` where the plan
matters) and as far as both understand it. `smidgen.service.storage.postgres_connection` says what differs elsewhere.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from smidgen.serialization import UNREADABLE
from smidgen.service.errors import StorageFailed
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, Lineage
from smidgen.service.log.events import Event
from smidgen.service.storage.protocol import Question
from smidgen.service.storage.records import CallRow, Counts, DecisionRow, GroupRow, ModelRow, Outcome, State, TokenRow
from smidgen.service.storage.snapshots import MARK
from smidgen.service.storage.sqlite_schema import RESTORE


class Statements(ABC):
    """Runs statements: one connection, several of them, or one with a buffer of writes."""

    @abstractmethod
    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""

    @abstractmethod
    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""

    def row(self, sql: str, values: Any = ()) -> Any:
        """The first row, or None."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None


class WriteStatements(Statements):
    """Runs statements that change something too, within the open batch."""

    @abstractmethod
    def run(self, sql: str, values: Any = ()) -> None:
        """Run a statement whose rows nobody needs; a remote database may get it later, but in order."""

    @abstractmethod
    def run_many(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""

    @abstractmethod
    def run_for(self, sql: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""


# Reading the bases of logs, and where copies are from.

#: Whether a row of events or decisions lies above the base, or is kept although it does not. While what lies under a
#: new base is being erased, some of it is still there.
SEEN = """
    ({table}.seq > coalesce((SELECT b.seq FROM bases b WHERE b.shard = {table}.shard), 0)
        OR EXISTS (SELECT 1 FROM carried c WHERE c.shard = {table}.shard AND c.seq = {table}.seq))
"""
_STATES = "SELECT key, seq, number, digest, state FROM base_states"
_IN_FORCE = "(SELECT seq FROM bases WHERE shard = ?1)"
_NEWEST = "seq = (SELECT max(t.seq) FROM base_states t WHERE t.shard = ?1 AND t.key = s.key AND t.seq <= {base})"
_ALL_STATES = f"{_STATES} s WHERE shard = ?1 AND {_NEWEST.format(base=_IN_FORCE)} ORDER BY key"
# The order of the join is said outright: from the few later events to their decisions.
_CROSSING = """
    SELECT DISTINCT x.seq FROM events e CROSS JOIN decisions x ON x.id = e.decision
    WHERE e.shard = ?1 AND e.seq > ?2 AND e.type NOT IN ('decision', 'held_out') AND x.shard = ?1 AND x.seq <= ?3
"""
_OPEN = """
    SELECT seq FROM decisions INDEXED BY decision_order WHERE shard = ?1 AND seq <= ?2 AND feedback_seq IS NULL
        AND (expires_at >= ?3 OR ((waits = 1 OR reported = 1) AND shown = 1))
"""


def _to_checkpoint_state(row: Any) -> CheckpointState:
    key, *rest = row
    return CheckpointState(key or None, *rest)


# The named questions of the store, as SQL answers them; `Reading.look` of the protocol has the list.

DECISIONS = (
    "SELECT id, shard, seq, expires_at, request_hash, explored, forwarded, feedback_seq, feedback_hash, version,"
    " measure, position, waits, shown, late_hash, beside, agreed, holdout, reported, reports FROM decisions"
)
_OUTCOMES = """
    SELECT x.seq, d.at, d.key, x.expires_at, x.explored, x.forwarded, x.feedback_seq, x.version, x.measure, f.type,
        f.at, x.reported
    FROM decisions x INDEXED BY {index} JOIN events d ON d.shard = x.shard AND d.seq = x.seq
    LEFT JOIN events f ON f.shard = x.shard AND f.seq = x.feedback_seq
    WHERE x.shard = :shard AND {which} ORDER BY {order} DESC LIMIT :limit
"""
_LAST = "(SELECT seq FROM shards WHERE id = :shard)"
# Few may count, since what was never shown does not: so only five times as many of the latest are looked through.
_NOT_BEFORE = """
    SELECT min(seq) FROM (
        SELECT seq FROM decisions INDEXED BY decision_order WHERE shard = :shard AND seq <= {end}
        ORDER BY seq DESC LIMIT 5 * :limit
    ) AS few
"""
# The last decision whose window is over, by halving: the first one at or after the middle has ended, or has not.
_OVER = """
    coalesce((
        SELECT CASE WHEN expires_at < :now THEN 1 ELSE 0 END FROM decisions INDEXED BY decision_order
        WHERE shard = :shard AND seq >= {middle} ORDER BY seq LIMIT 1
    ), 0)
"""
_HALVES = """
    WITH RECURSIVE halves (low, high, over) AS (
        SELECT CAST(0 AS BIGINT), seq + 1, {first} FROM shards WHERE id = :shard
        UNION ALL
        SELECT CASE WHEN over = 1 THEN (low + high) / 2 ELSE low END,
            CASE WHEN over = 1 THEN high ELSE (low + high) / 2 END, {next}
        FROM halves WHERE high - low > 1
    )
    SELECT max(low) FROM halves
"""
_LAST_ENDED = _HALVES.format(
    first=_OVER.format(middle="(shards.seq + 1) / 2"),
    next=_OVER.format(middle="((low + high) / 2 + CASE WHEN over = 1 THEN high ELSE low END) / 2"),
)

_MODELS_OWN = "AND coalesce(x.holdout, 0) = 0 "
_LATELY = _OUTCOMES.format(
    index="decision_order", which=f"x.shown = 1 {{but}}AND x.seq >= ({_NOT_BEFORE.format(end=_LAST)})", order="x.seq"
)
_ENDED = _OUTCOMES.format(
    index="decision_order",
    which=f"""x.shown = 1 {{but}}AND x.expires_at < :now AND x.seq <= ({_LAST_ENDED})
        AND x.seq >= ({_NOT_BEFORE.format(end=f"({_LAST_ENDED})")})""",
    order="x.seq",
)
_TALLY = """
    WITH base (seq, version) AS (
        SELECT coalesce(max(seq), 0), coalesce(max(version), 0) FROM bases WHERE shard = :shard
    )
    SELECT count(*), count(*) FILTER (WHERE x.version > base.version),
        count(*) FILTER (WHERE x.feedback_seq > base.seq AND x.version IS NULL AND x.feedback_hash IS NOT NULL
            AND NOT (coalesce(x.holdout, 0) = 1 AND x.measure IS NOT NULL)),
        count(*) FILTER (WHERE e.decision IS NOT x.id OR coalesce(e.type, '') NOT IN ('decision', 'held_out'))
    FROM base, decisions x LEFT JOIN events e ON e.shard = x.shard AND e.seq = x.seq
    WHERE x.shard = :shard AND {seen}
"""

QUESTIONS: dict[Question, str] = {
    # The lag is how many events, and so updates, came between a decision and its feedback, at most.
    "learnt_blocks": """
        SELECT (version - 1) / :block, count(*), count(measure), total(measure), total(measure * measure),
            count(position), total(position), max(
                CASE WHEN feedback_seq - seq < version THEN feedback_seq - seq - 1 ELSE version - 1 END
            )
        FROM decisions INDEXED BY decision_versions
        WHERE shard = :shard AND version > :after AND version <= :upto GROUP BY 1 ORDER BY 1
    """,
    "made_blocks": """
        SELECT (seq - 1) / :block, count(*), total(explored), count(forwarded), total(forwarded)
        FROM decisions INDEXED BY decision_order
        WHERE shard = :shard AND seq > :after AND seq <= :upto AND coalesce(holdout, 0) = 0 GROUP BY 1 ORDER BY 1
    """,
    "waits": """
        SELECT f.at - d.at FROM decisions x INDEXED BY decision_versions
        JOIN events f ON f.shard = x.shard AND f.seq = x.feedback_seq
        JOIN events d ON d.shard = x.shard AND d.seq = x.seq
        WHERE x.shard = :shard AND x.version > :after ORDER BY x.version
    """,
    "measures": """
        SELECT measure FROM decisions INDEXED BY decision_versions
        WHERE shard = :shard AND version > :after AND measure IS NOT NULL ORDER BY version
    """,
    "latest": DECISIONS
    + " INDEXED BY decision_order WHERE shard = :shard AND seq < :before ORDER BY seq DESC LIMIT :limit",
    "keys": """
        WITH RECURSIVE found (key) AS (
            SELECT min(key) FROM (
                SELECT min(key) AS key FROM events INDEXED BY event_keys WHERE shard = :shard AND key >= :prefix
                UNION ALL
                SELECT min(key) FROM base_states WHERE shard = :shard AND key >= :prefix AND key > ''
            ) AS first
            UNION ALL
            SELECT (
                SELECT min(key) FROM (
                    SELECT min(key) AS key FROM events INDEXED BY event_keys WHERE shard = :shard AND key > found.key
                    UNION ALL
                    SELECT min(key) FROM base_states WHERE shard = :shard AND key > found.key
                ) AS next
            )
            FROM found WHERE found.key IS NOT NULL AND substr(found.key, 1, length(:prefix)) = :prefix
        )
        SELECT key FROM found WHERE key IS NOT NULL AND substr(key, 1, length(:prefix)) = :prefix LIMIT :limit
    """,
    # Of what lies above the base: answers under it are counted there.
    "tally": _TALLY.format(seen=SEEN.format(table="x")),
    "lately": _LATELY.format(but=_MODELS_OWN),
    "lately_all": _LATELY.format(but=""),
    "ended": _ENDED.format(but=_MODELS_OWN),
    "ended_all": _ENDED.format(but=""),
    "answers": _OUTCOMES.format(
        index="decision_versions", which="x.version IS NOT NULL AND x.beside IS NULL", order="x.version"
    ),
    "pairs": """
        SELECT s.seq, s.agreed, s.target, s.chance, d.shard, d.seq, d.expires_at, d.shown, d.forwarded, d.agreed,
            d.feedback_seq, d.measure, d.unit
        FROM decisions s INDEXED BY decision_order JOIN decisions d ON d.id = s.beside
        WHERE s.shard = :shard AND s.seq > :after ORDER BY s.seq LIMIT :limit
    """,
    "groups": """
        SELECT x.seq, x.unit, x.holdout, x.share, d.expires_at, d.shown, d.feedback_seq, d.feedback_hash, d.measure,
            d.version
        FROM decisions x INDEXED BY decision_holdout JOIN decisions d ON d.id = coalesce(x.beside, x.id)
        WHERE x.shard = :shard AND x.holdout IS NOT NULL ORDER BY x.seq DESC LIMIT :limit
    """,
    "answered_at": """
        SELECT f.at FROM decisions x INDEXED BY decision_versions
        JOIN events f ON f.shard = x.shard AND f.seq = x.feedback_seq
        WHERE x.shard = :shard AND x.version <= :version ORDER BY x.version DESC LIMIT 1
    """,
    "settings": """
        SELECT seq, type, at FROM events INDEXED BY event_wide
        WHERE shard = :shard AND decision IS NULL AND key IS NULL AND type IN ('amended', 'promoted', 'rolled_back')
        ORDER BY seq DESC LIMIT :limit
    """,
    "agreement": """
        SELECT count(*), total(agreed) FROM (
            SELECT agreed FROM decisions INDEXED BY decision_agreed WHERE shard = :shard AND agreed IS NOT NULL
            ORDER BY seq DESC LIMIT :limit
        ) AS latest
    """,
    "open": """
        SELECT count(*) FILTER (WHERE shown = 1), count(*) FILTER (WHERE shown = 0) FROM (
            SELECT shown, feedback_seq, reported, expires_at, forwarded, beside FROM decisions INDEXED BY decision_order
            WHERE shard = :shard ORDER BY seq DESC LIMIT :limit
        ) AS latest
        WHERE feedback_seq IS NULL AND reported = 0 AND beside IS NULL AND expires_at >= :now
            AND (forwarded IS NULL OR forwarded = 1)
    """,
}
#: Shards whose last event is not where their counts say, or not what they say.
TORN = """
    SELECT s.id, s.seq FROM shards s LEFT JOIN events e ON e.shard = s.id AND e.seq = s.seq
    WHERE (s.seq > 0 AND e.chain IS NOT s.chain)
        OR EXISTS (SELECT 1 FROM events x WHERE x.shard = s.id AND x.seq > s.seq)
    ORDER BY s.id
"""


# The tables that every database of ours has, with the same columns: so all of one can be written into another.


class TableLayout(NamedTuple):
    """A table.

    Attributes
    ----------
    columns
        Their names.
    order
        By which its rows come in one order.
    """

    columns: tuple[str, ...]
    order: str


def _table(columns: str, order: str) -> TableLayout:
    return TableLayout(tuple(columns.split()), order)


#: In an order in which what is referred to comes first. States of shards are no rows everywhere.
TABLES = {
    "models": _table("id name body resolved created_at archived_at", "id"),
    "shards": _table("id model place seq version decisions late keys number chain answered", "id"),
    "events": _table("shard seq type version at decision key made salt chain body", "shard, seq"),
    "decisions": _table(
        "id shard seq number expires_at request request_hash explored forwarded feedback_seq feedback_hash version"
        " measure position waits shown late_hash beside agreed target chance unit holdout share reported reports",
        "id",
    ),
    "calls": _table("shard id hash seq", "shard, id"),
    "key_states": _table("shard key seq at state", "shard, key"),
    "tokens": _table("id hash scopes model created_at revoked_at name expires_at used_at", "id"),
    "lineage": _table("shard source seq", "shard, source"),
    "bases": _table("shard seq version chain at decisions late floor body erased", "shard"),
    "base_states": _table("shard key seq number digest state", "shard, key, seq, digest"),
    "carried": _table("shard seq digest", "shard, seq"),
    "gone": _table("id shard", "id"),
}
_ALL = "SELECT {columns} FROM {table} ORDER BY {order}"
_ROW = "INSERT INTO {table} ({columns}) VALUES ({values})"
_COUNT = "SELECT count(*) FROM {table}"


def select_all(name: str) -> str:
    """The statement that reads a table."""
    table = TABLES[name]
    return _ALL.format(columns=", ".join(table.columns), table=name, order=table.order)


def insert_row(name: str) -> str:
    """The statement that writes a row of it."""
    columns = TABLES[name].columns
    return _ROW.format(table=name, columns=", ".join(columns), values=", ".join("?" * len(columns)))


def count_rows(name: str) -> str:
    """The statement that counts its rows."""
    return _COUNT.format(table=name)


# Reading: the same questions for the writer and for readers beside it, whatever database answers.

ID = re.compile(r"[0-9a-f]{24}")
EVENTS = "SELECT seq, type, version, at, decision, key, made, salt, chain, body FROM events"
_COUNTS = "SELECT seq, version, decisions, late, keys, number, chain, answered FROM shards WHERE id = ?"
_CHANGES = """
    SELECT f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.body,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM events f {index} LEFT JOIN decisions x ON x.id = f.decision
    LEFT JOIN events d ON d.shard = x.shard AND d.seq = x.seq
    WHERE f.shard = ?1 AND f.seq > ?2 AND (f.made IS NOT NULL OR f.type = 'amended') AND {key}
"""
_CHANGES_ALL = _CHANGES.format(index="", key="1 = 1") + " ORDER BY 1"
_CHANGES_BY_KEY = (
    _CHANGES.format(index="INDEXED BY event_keys", key="f.key = ?3")
    + " UNION ALL "
    + _CHANGES.format(index="INDEXED BY event_wide", key="f.decision IS NULL AND f.key IS NULL")
    + " ORDER BY 1"
)
OF_KEY = f"{EVENTS} INDEXED BY event_keys WHERE shard = ? AND key = ? AND seq > ? ORDER BY seq LIMIT 256"
_FORGOTTEN = """
    SELECT seq FROM events INDEXED BY event_wide
    WHERE shard = ? AND decision IS NULL AND type = 'erased' AND salt IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
_REWINDS = (
    f"{EVENTS} INDEXED BY event_rewinds WHERE shard = ? AND seq > ?"
    " AND type IN ('retracted', 'rolled_back') ORDER BY seq"
)
_VERSION_AT = (
    "SELECT made FROM events WHERE shard = ? AND seq <= ? AND seq > ? AND made IS NOT NULL ORDER BY seq DESC LIMIT 1"
)
_EVENT = f"{EVENTS} WHERE shard = ? AND seq = ? AND {SEEN.format(table='events')}"
DECISION_BY_ID = f"{DECISIONS} WHERE id = ? AND {SEEN.format(table='decisions')}"
_REQUESTED = f"{DECISIONS} WHERE request = ? AND shard IN ({{shards}}) AND {SEEN.format(table='decisions')}"
_NUMBER = (
    "SELECT number FROM decisions INDEXED BY decision_order WHERE shard = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
)
_BESIDE = f"{DECISIONS} INDEXED BY decision_beside WHERE beside = ? AND {SEEN.format(table='decisions')} ORDER BY shard"
_KEYS_NUMBER = (
    "SELECT x.number FROM events e INDEXED BY event_keys JOIN decisions x ON x.id = e.decision"
    " WHERE e.shard = ? AND e.key = ? AND e.seq <= ? AND e.type = 'decision' ORDER BY e.seq DESC LIMIT 1"
)
_DUE = (
    f"{DECISIONS} INDEXED BY decision_due WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL"
    " AND expires_at < ?"
    " ORDER BY expires_at, shard, seq LIMIT ?"
)
#: The earliest end of a window that is still to be learnt when it is over.
NEXT_DUE = """
    SELECT min(expires_at) FROM decisions INDEXED BY decision_due
    WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL
"""


@lru_cache(maxsize=256)
def _request_query(shards: int) -> str:
    """The question for the app's own id in so many shards."""
    return _REQUESTED.format(shards=", ".join("?" * shards))


def _resolved_settings(name: str, resolved: bytes) -> dict[str, Any]:
    """Decode the resolved settings of a model."""
    try:
        return msgspec.json.decode(resolved, type=dict[str, Any])
    except (TypeError, *UNREADABLE) as error:
        raise StorageFailed(f"the settings of the model {name!r} cannot be read: {error}", RESTORE) from error


class SqlStoreReader(ABC):
    """The questions that a store answers by SQL; any thread may ask.

    Parameters
    ----------
    statements
        Runs them.
    """

    def __init__(self, statements: Statements) -> None:
        self._rows, self._each, self._row = statements.rows, statements.each, statements.row

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment."""

    @abstractmethod
    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""

    @abstractmethod
    def stored_bytes(self) -> int:
        """Size of the database in bytes."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""

    # Retention checkpoints and lineage

    def checkpoint(self, shard: int) -> Checkpoint | None:
        """Where the log of a shard begins, if not with its first event."""
        sql = "SELECT seq, version, chain, at, decisions, late, floor, body, erased FROM bases WHERE shard = ?"
        row = self._row(sql, (shard,))
        return Checkpoint(*row) if row is not None else None

    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        """Read the state of a learner at the checkpoint; None if it has none."""
        sql = f"{_STATES} WHERE shard = ?1 AND key = ?2 AND seq <= {_IN_FORCE} ORDER BY seq DESC LIMIT 1"
        row = self._row(sql, (shard, key or ""))
        return _to_checkpoint_state(row) if row is not None else None

    def checkpoint_states(self, shard: int) -> Iterator[CheckpointState]:
        """Yield the states of all learners at the checkpoint, in the order of their keys."""
        for row in self._each(_ALL_STATES, (shard,), 16):
            yield _to_checkpoint_state(row)

    def carried_decisions(self, shard: int) -> list[CarriedDecision]:
        """The decisions under the base that are kept, in order."""
        rows = self._rows("SELECT seq, digest FROM carried WHERE shard = ? ORDER BY seq", (shard,))
        return [CarriedDecision(*row) for row in rows]

    def decisions_to_carry(self, shard: int, seq: int, now: float, after: int) -> list[int]:
        """The decisions up to an event that later events are about, or that are open at a moment, in order.

        With ``after`` beyond ``seq``: only those that events after it are about.
        """
        found = {found for (found,) in self._rows(_CROSSING, (shard, after, seq))}
        if after <= seq:
            found |= {found for (found,) in self._rows(_OPEN, (shard, seq, now))}
        return sorted(found)

    def counts_up_to(self, shard: int, seq: int) -> tuple[int, int]:
        """Count decisions and late answers up to an event."""
        row = self._row(
            "SELECT count(*) FILTER (WHERE type IN ('decision', 'held_out')),"
            " count(*) FILTER (WHERE type = 'feedback' AND made IS NULL) FROM events WHERE shard = ?1 AND seq <= ?2"
            " AND seq > coalesce((SELECT seq FROM bases WHERE shard = ?1), 0)",
            (shard, seq),
        )
        base = self.checkpoint(shard)
        return (row[0] + base.decisions, row[1] + base.late) if base is not None else (row[0], row[1])

    def find_erased_decision(self, id: str) -> int | None:
        """The shard of a decision that was erased with its base; None if none is known."""
        try:
            name = bytes.fromhex(id)
        except ValueError:
            return None
        row = self._row("SELECT shard FROM gone WHERE id = ?", (name,))
        if row is None:  # not yet, perhaps
            row = self._row(
                "SELECT x.shard FROM decisions x JOIN bases b ON b.shard = x.shard AND b.seq >= x.seq WHERE x.id = ?"
                " AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = x.shard AND c.seq = x.seq)",
                (name,),
            )
        return int(row[0]) if row is not None else None

    def lineage(self) -> list[Lineage]:
        """Which models began with what others had learnt, in the order of their making."""
        rows = self._rows("SELECT shard, source, seq FROM lineage ORDER BY shard, source")
        return [Lineage(*row) for row in rows]

    def floor(self, shard: int) -> int:
        """The first event of a shard whose chain is known: that of its base, else 0."""
        row = self._row("SELECT seq FROM bases WHERE shard = ?", (shard,))
        return int(row[0]) if row is not None else 0

    # Models, decisions, events and tokens

    def models(self) -> list[ModelRow]:
        """The models in the order of their making."""
        rows = self._rows(
            "SELECT m.id, m.name, s.id, m.body, m.resolved, m.created_at, m.archived_at"
            " FROM models m JOIN shards s ON s.model = m.id AND s.place = 0 ORDER BY m.id"
        )
        return [
            ModelRow(id, name, shard, body, _resolved_settings(name, resolved), created, archived)
            for id, name, shard, body, resolved, created, archived in rows
        ]

    def counts(self, shard: int) -> Counts | None:
        """Read the counts of a shard."""
        row = self._row(_COUNTS, (shard,))
        return Counts(*row) if row is not None else None

    def decision(self, id: str) -> DecisionRow | None:
        """A decision by its id."""
        if ID.fullmatch(id) is None:
            return None
        return to_decision(self._row(DECISION_BY_ID, (bytes.fromhex(id),)))

    def find_request(self, shard: int, request: str, *others: int) -> DecisionRow | None:
        """The decision that the app asked for under this id of its own, in a shard or in others."""
        return to_decision(self._row(_request_query(1 + len(others)), (request, shard, *others)))

    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        """The decisions that were made beside this one, by shard."""
        if ID.fullmatch(decision) is None:
            return []
        return [DecisionRow(*_decision_row(row)) for row in self._rows(_BESIDE, (bytes.fromhex(decision),))]

    def find_call(self, shard: int, id: str) -> CallRow | None:
        """The call that the app made under this id of its own."""
        row = self._row("SELECT hash, seq FROM calls WHERE shard = ? AND id = ?", (shard, id))
        return CallRow(*row) if row is not None and row[1] > self.floor(shard) else None

    def event(self, shard: int, seq: int) -> Event | None:
        """One event."""
        row = self._row(_EVENT, (shard, seq))
        return to_event(row) if row is not None else None

    def events(self, shard: int, after: int = 0, limit: int = 1000, most: int = 4 << 20) -> list[Event]:
        """The next events after one: at most so many, and no more once their bodies reach so many bytes."""
        sql = f"{EVENTS} WHERE shard = ? AND seq > ? ORDER BY seq LIMIT ?"
        found: list[Event] = []
        size = 0
        for row in self._each(sql, (shard, max(after, self.floor(shard)), limit), 64):
            found.append(to_event(row))
            size += len(row[9] or b"")
            if size >= most:
                break
        return found

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version, after an event, in order, each with the decision that it is about."""
        after = max(after, self.floor(shard))
        sql, values = (_CHANGES_ALL, (shard, after)) if key is None else (_CHANGES_BY_KEY, (shard, after, key))
        for row in self._each(sql, values, 256):
            yield to_event(row[:10]), to_event(row[10:]) if row[10] is not None else None

    def undo_events(self, shard: int) -> list[Event]:
        """The events that take back what earlier ones did, in order."""
        return [to_event(row) for row in self._rows(_REWINDS, (shard, self.floor(shard)))]

    def events_of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        after = self.floor(shard)
        while rows := self._rows(OF_KEY, (shard, key, after)):
            yield from map(to_event, rows)
            after = rows[-1][0]

    def last_forgetting(self, shard: int) -> int:
        """The last event that forgot a key, 0 if there is none."""
        row = self._row(_FORGOTTEN, (shard,))
        return int(row[0]) if row is not None else 0

    def version_at(self, shard: int, seq: int) -> int:
        """The version after an event."""
        base = self.checkpoint(shard)
        row = self._row(_VERSION_AT, (shard, seq, base.seq if base is not None else 0))
        return int(row[0]) if row is not None else base.version if base is not None else 0

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """The decisions of all shards whose windows are over and whose silence is still to be learnt."""
        return [DecisionRow(*_decision_row(row)) for row in self._rows(_DUE, (now, limit))]

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision, 0 if there is none."""
        if upto is not None and key is None:
            row = self._row(_NUMBER, (shard, upto))
        elif key is None:
            row = self._row("SELECT number FROM shards WHERE id = ?", (shard,))
        else:
            row = self._row(_KEYS_NUMBER, (shard, key, upto if upto is not None else 1 << 62))
        based = self.checkpoint_state(shard, key) if key is not None or upto is not None else None
        return max(int(row[0]) if row is not None else 0, based.number if based is not None else 0)

    def _states_of_key(self, shard: int, key: str) -> Iterator[State]:
        row = self._row("SELECT seq, state, at FROM key_states WHERE shard = ? AND key = ?", (shard, key))
        if row is not None:
            yield State(row[0], row[1], f"the state of key {key!r}", True, len(row[1]), row[2])

    def state_keys(self, shard: int) -> list[str]:
        """The keys that have a published state."""
        return [key for (key,) in self._rows("SELECT key FROM key_states WHERE shard = ? ORDER BY key", (shard,))]

    def query(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The rows that answer a named question about a shard."""
        rows = self._rows(QUESTIONS[question], {"shard": shard, **values})
        if question == "groups":
            return [
                GroupRow(seq, unit, bool(holdout), share, ends, bool(shown), *rest)
                for seq, unit, holdout, share, ends, shown, *rest in rows
            ]
        if question in ("lately", "ended", "answers"):
            return [_to_outcome(*row) for row in rows]
        return [DecisionRow(*_decision_row(row)) for row in rows] if question == "latest" else rows

    def contradictions(self, rule: str) -> Iterator[tuple[int, int]]:
        """The rows of (shard, event) that break a rule of the tables."""
        return self._each(rule, (), 256)

    def rows_of(self, table: str) -> Iterator[Any]:
        """All rows of a table, in order."""
        return self._each(select_all(table), (), 64)

    def count_of_rows(self, table: str) -> int:
        """Count the rows of a table."""
        return int(self._row(count_rows(table))[0])

    def tokens(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        sql = "SELECT * FROM tokens ORDER BY created_at, id"  # tables of schema 5 lack the last columns
        return [TokenRow(*row) for row in self._rows(sql)]

    def token(self, hash: bytes) -> TokenRow | None:
        """The token with this digest."""
        row = self._row("SELECT * FROM tokens WHERE hash = ?", (hash,))
        return TokenRow(*row) if row is not None else None

    def chain(self, shard: int, seq: int) -> bytes | None:
        """The chain of a shard at an event; None if there is no such event."""
        if (base := self.checkpoint(shard)) is not None and seq <= base.seq:
            return base.chain if seq == base.seq else None
        row = self._row("SELECT chain FROM events WHERE shard = ? AND seq = ?", (shard, seq))
        return bytes(row[0]) if row is not None else None

    def _mark(self, shard: int, seq: int) -> str | None:
        """A short name for an event and all before it, None if there is no such event."""
        chain = self.chain(shard, seq)
        return chain[:MARK].hex() if chain is not None else None


def to_event(row: Any) -> Event:
    """An event from the columns of its row."""
    seq, type, version, at, decision, key, made, salt, chain, body = row
    return Event(seq, type, version, at, decision.hex() if decision is not None else None, key, made, salt, chain, body)


def to_decision(row: Any) -> DecisionRow | None:
    """A decision from the columns of its row, if there is one."""
    return DecisionRow(*_decision_row(row)) if row is not None else None


def _to_outcome(
    seq: int, at: float, key: str | None, ends: float, explored: int, sent: int | None, *rest: Any
) -> Outcome:
    answer: Any = rest[:-1]
    found = Outcome(seq, at, key, ends, bool(explored), None if sent is None else bool(sent), *answer)
    return found._replace(reported=bool(rest[-1]))


def _decision_row(row: Any) -> Any:
    (id, shard, seq, expires_at, request_hash, explored, forwarded, *answer) = row[:12]
    waits, shown, late_hash, beside, agreed, holdout, reported, reports = row[12:]
    went = bool(forwarded) if forwarded is not None else None
    return (
        id.hex(),
        shard,
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
        bool(holdout) if holdout is not None else None,
        bool(reported),
        reports,
    )
