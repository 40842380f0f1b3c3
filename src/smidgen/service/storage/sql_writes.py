"""Every INSERT, UPDATE and DELETE of the stores, by name.

Statements are written as in `smidgen.service.storage.sql`. Those that only PostgreSQL or only SQLite runs stand at the
end.
"""

from __future__ import annotations

import re
from functools import lru_cache

from smidgen.service.storage.sql import TABLES

# Any table

_ROW = "INSERT INTO {table} ({columns}) VALUES ({values})"


def insert_row(name: str) -> str:
    """Statement that writes a row of a table with all its columns."""
    columns = TABLES[name].columns
    return _ROW.format(table=name, columns=", ".join(columns), values=", ".join("?" * len(columns)))


# Events, decisions and feedback: the statements of almost every batch

INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_DECISION = """
    INSERT INTO decisions (
        id, shard, seq, number, expires_at, request, request_hash, explored, forwarded, waits, shown,
        beside, agreed, target, chance, unit, holdout, share
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
#: Feedback of an open decision.
CLOSE_DECISION = """
    UPDATE decisions SET feedback_seq = ?, feedback_hash = ?, version = ?, measure = ?, position = ?, shown = 1
    WHERE id = ? AND feedback_seq IS NULL
"""
#: The counts of a shard, as they are when a batch ends.
UPDATE_COUNTS = """
    UPDATE shards SET seq = :seq, version = :version, decisions = :decisions, late = :late, keys = :keys,
        number = :number, chain = :chain, answered = :answered WHERE id = :shard
"""
_UPDATE_DECISION = "UPDATE decisions SET {columns} WHERE id = ?"
#: A decision under a base keeps the app's id of its request until it is erased.
RELEASE_REQUEST = "UPDATE decisions SET request = NULL WHERE shard = ? AND request = ?"
CANCEL_EXPIRIES = "UPDATE decisions SET waits = 0 WHERE shard = ? AND waits = 1 AND feedback_seq IS NULL"
CLEAR_MEASURES = """
    UPDATE decisions INDEXED BY decision_versions SET measure = NULL, position = NULL WHERE shard = ? AND version > ?
"""
INSERT_CALL = "INSERT INTO calls VALUES (?, ?, ?, ?)"
DELETE_CALL = "DELETE FROM calls WHERE shard = ? AND id = ?"


@lru_cache(maxsize=64)
def update_decision(columns: tuple[str, ...]) -> str:
    """Statement that sets columns of a decision."""
    return _UPDATE_DECISION.format(columns=", ".join(f"{name} = ?" for name in columns))


# Published states

UPSERT_KEY_STATE = """
    INSERT INTO key_states VALUES (?, ?, ?, ?, ?) ON CONFLICT (shard, key) DO UPDATE
        SET seq = excluded.seq, at = excluded.at, state = excluded.state
"""
DELETE_KEY_STATE = "DELETE FROM key_states WHERE shard = ? AND key = ?"

# Deleting the data of a key

DELETE_DECISIONS_OF_KEY = """
    DELETE FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type IN ('decision', 'held_out')
    )
"""
DELETE_DECISION = "DELETE FROM decisions WHERE id = ?"
DELETE_CALLS_OF_KEY = """
    DELETE FROM calls WHERE shard = ?1 AND seq IN (
        SELECT e.seq FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.decision IS NULL
    )
"""
#: An erased event keeps its number, its chain and the digest of its content.
ERASE_EVENT = """
    UPDATE events SET type = 'erased', version = 0, at = 0.0, decision = NULL, key = NULL, salt = NULL, body = ?
    WHERE shard = ? AND seq = ?
"""
REWRITE_EVENT = "UPDATE events SET salt = ?, body = ? WHERE shard = ? AND seq = ?"

# Retention checkpoints

UPSERT_CHECKPOINT = """
    INSERT INTO bases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq,
        version = excluded.version, chain = excluded.chain, at = excluded.at, decisions = excluded.decisions,
        late = excluded.late, floor = excluded.floor, body = excluded.body, erased = excluded.erased
"""
INSERT_CHECKPOINT_STATE = "INSERT INTO base_states VALUES (?, ?, ?, ?, ?, ?)"
DELETE_CHECKPOINT_STATE_FROM = "DELETE FROM base_states WHERE shard = ? AND key = ? AND seq >= ?"
DELETE_CHECKPOINT_STATES_OF_KEY = "DELETE FROM base_states WHERE shard = ? AND key = ?"
DELETE_STAGED_STATES = """
    DELETE FROM base_states WHERE shard = ?1 AND seq > coalesce((SELECT seq FROM bases WHERE shard = ?1), 0)
"""
INSERT_CARRIED = "INSERT INTO carried VALUES (?, ?, ?)"
DELETE_CARRIED = "DELETE FROM carried WHERE shard = ? AND seq = ?"
DELETE_ALL_CARRIED = "DELETE FROM carried WHERE shard = ?"

# Erasing the rows under a base, in this order; ``?2`` and ``?3`` are the ends of a range of events

REMEMBER_ERASED = """
    INSERT INTO gone SELECT x.id, x.shard FROM decisions x INDEXED BY decision_order
    WHERE x.shard = ?1 AND x.seq > ?2 AND x.seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = x.shard AND c.seq = x.seq)
    ON CONFLICT DO NOTHING
"""
PURGE_DECISIONS = """
    DELETE FROM decisions INDEXED BY decision_order WHERE shard = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = decisions.shard AND c.seq = decisions.seq)
"""
PURGE_CALLS = "DELETE FROM calls WHERE shard = ?1 AND seq > ?2 AND seq <= ?3"
PURGE_EVENTS = """
    DELETE FROM events WHERE shard = ?1 AND seq > ?2 AND seq <= ?3
        AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = events.shard AND c.seq = events.seq)
"""
PURGE_CHECKPOINT_STATES = """
    DELETE FROM base_states WHERE shard = ?1 AND seq < ?2 AND EXISTS (
        SELECT 1 FROM base_states t WHERE t.shard = ?1 AND t.key = base_states.key
            AND t.seq > base_states.seq AND t.seq <= ?2
    )
"""
SET_PURGE_PROGRESS = "UPDATE bases SET erased = ? WHERE shard = ?"

# Models and tokens

INSERT_MODEL = """
    INSERT INTO models (id, name, body, resolved, created_at)
    SELECT coalesce(max(id), 0) + 1, ?, ?, ?, ? FROM models RETURNING id
"""
INSERT_SHARD = """
    INSERT INTO shards (id, model, place, seq, version, decisions, late, keys, number, chain, answered)
    SELECT coalesce(max(id), 0) + 1, ?, 0, 0, 0, 0, 0, 0, 0, ?, 0 FROM shards RETURNING id
"""
ARCHIVE_MODEL = "UPDATE models SET archived_at = ? WHERE id = ?"
REVIVE_MODEL = "UPDATE models SET archived_at = NULL WHERE id = ?"
UPDATE_SETTINGS = "UPDATE models SET resolved = ? WHERE id = ?"
RENAME_MODEL = "UPDATE models SET name = ? WHERE id = ?"
UPSERT_LINEAGE = "INSERT INTO lineage VALUES (?, ?, ?) ON CONFLICT (shard, source) DO UPDATE SET seq = excluded.seq"
REVOKE_TOKENS = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
USE_TOKENS = "UPDATE tokens SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at < ?1)"

# SQLite only

SQLITE_PROBE = "INSERT OR REPLACE INTO probe VALUES (1, randomblob(?))"

# PostgreSQL only: published states of shards, the catalogue, the probe

#: The mark of a state is the beginning of the chain at its event.
UPSERT_STATE = """
    INSERT INTO states SELECT ?1, ?2, ?3, substr(found.chain, 1, {mark}), ?4 FROM (
        SELECT chain FROM events WHERE shard = ?1 AND seq = ?2
        UNION ALL SELECT chain FROM bases WHERE shard = ?1 AND seq = ?2
    ) AS found LIMIT 1
    ON CONFLICT (shard, seq) DO UPDATE SET at = excluded.at, mark = excluded.mark, state = excluded.state
"""
DELETE_OLD_STATES = """
    DELETE FROM states WHERE shard = ?1 AND seq < ALL (
        SELECT s.seq FROM states s WHERE s.shard = ?1 ORDER BY s.seq DESC LIMIT {kept}
    )
"""
DELETE_STATES_BEFORE = "DELETE FROM states WHERE shard = ? AND seq < ? RETURNING seq"
INCREMENT_CATALOGUE = "UPDATE catalogue SET number = number + 1"
NOTE_UNVACUUMED = "UPDATE catalogue SET unclean = unclean + 1"
NOTE_VACUUMED = "UPDATE catalogue SET unclean = 0 WHERE unclean = ?"
POSTGRES_PROBE = "INSERT INTO probe VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content"

# PostgreSQL only: many rows in one statement, each column as an array. A statement whose condition fails raises a
# division by zero, so that the whole pipeline of the batch is undone without a round trip

INSERT_EVENTS = """
    INSERT INTO events SELECT * FROM unnest(
        CAST(?1 AS BIGINT[]), CAST(?2 AS BIGINT[]), CAST(?3 AS TEXT[]), CAST(?4 AS BIGINT[]),
        CAST(?5 AS DOUBLE PRECISION[]), CAST(?6 AS BYTEA[]), CAST(?7 AS TEXT[]), CAST(?8 AS BIGINT[]),
        CAST(?9 AS BYTEA[]), CAST(?10 AS BYTEA[]), CAST(?11 AS BYTEA[])
    )
"""
INSERT_DECISIONS = """
    INSERT INTO decisions (
        id, shard, seq, number, expires_at, request, request_hash, explored, forwarded, waits, shown,
        beside, agreed, target, chance, unit, holdout, share
    ) SELECT * FROM unnest(
        CAST(?1 AS BYTEA[]), CAST(?2 AS BIGINT[]), CAST(?3 AS BIGINT[]), CAST(?4 AS BIGINT[]),
        CAST(?5 AS DOUBLE PRECISION[]), CAST(?6 AS TEXT[]), CAST(?7 AS BYTEA[]), CAST(?8 AS SMALLINT[]),
        CAST(?9 AS SMALLINT[]), CAST(?10 AS SMALLINT[]), CAST(?11 AS SMALLINT[]), CAST(?12 AS BYTEA[]),
        CAST(?13 AS SMALLINT[]), CAST(?14 AS DOUBLE PRECISION[]), CAST(?15 AS DOUBLE PRECISION[]),
        CAST(?16 AS TEXT[]), CAST(?17 AS SMALLINT[]), CAST(?18 AS DOUBLE PRECISION[])
    )
"""
#: Feedback of decisions that must all be open.
CLOSE_DECISIONS = """
    WITH closed AS (
        UPDATE decisions SET feedback_seq = n.seq, feedback_hash = n.hash, version = n.version,
            measure = n.measure, position = n.position, shown = 1
        FROM unnest(
            CAST(?1 AS BIGINT[]), CAST(?2 AS BYTEA[]), CAST(?3 AS BIGINT[]), CAST(?4 AS DOUBLE PRECISION[]),
            CAST(?5 AS DOUBLE PRECISION[]), CAST(?6 AS BYTEA[])
        ) AS n (seq, hash, version, measure, position, id)
        WHERE decisions.id = n.id AND decisions.feedback_seq IS NULL RETURNING 1
    ) SELECT 1 / CASE WHEN (SELECT count(*) FROM closed) = cardinality(CAST(?6 AS BYTEA[])) THEN 1 ELSE 0 END
"""
#: The counts of shards, each of which must still end with the event that the batch expects. Rows are locked in the
#: order of the arrays, which is that of shards: no deadlock.
MOVE_SHARDS = """
    WITH moved AS (
        UPDATE shards SET seq = n.seq, version = n.version, decisions = n.decisions, late = n.late, keys = n.keys,
            number = n.number, chain = n.chain, answered = n.answered
        FROM unnest(
            CAST(?1 AS BIGINT[]), CAST(?2 AS BIGINT[]), CAST(?3 AS BIGINT[]), CAST(?4 AS BIGINT[]),
            CAST(?5 AS BIGINT[]), CAST(?6 AS BIGINT[]), CAST(?7 AS BIGINT[]), CAST(?8 AS BIGINT[]),
            CAST(?9 AS BYTEA[]), CAST(?10 AS BIGINT[])
        ) AS n (id, expected, seq, version, decisions, late, keys, number, chain, answered)
        WHERE shards.id = n.id AND shards.seq = n.expected RETURNING 1
    ) SELECT 1 / CASE WHEN (SELECT count(*) FROM moved) = cardinality(CAST(?1 AS BIGINT[])) THEN 1 ELSE 0 END
"""

# PostgreSQL only: leases, by the clock of the database. Rows are locked in the order of shards: no deadlock

_NOW = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
_SHARDS = "CAST(string_to_array(?3, ',') AS BIGINT[])"
_RENEW_LEASES = """
    WITH held AS (
        SELECT shard FROM leases WHERE shard = ANY ({shards}) AND owner = ?1 AND until > {now}
        ORDER BY shard FOR UPDATE
    ) UPDATE leases SET until = {now} + ?2 FROM held WHERE leases.shard = held.shard RETURNING leases.shard, epoch
"""
_GRANT_LEASES = """
    INSERT INTO leases AS l SELECT wanted, ?1, 1, {now} + ?2 FROM unnest({shards}) AS wanted WHERE NOT EXISTS (
        SELECT 1 FROM leases WHERE shard = wanted AND owner <> ?1 AND until > {now}
    ) ORDER BY wanted
    ON CONFLICT (shard) DO UPDATE
        SET owner = excluded.owner, until = excluded.until,
            epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
    WHERE l.owner = excluded.owner OR l.until <= {now} RETURNING shard, epoch
"""
_RELEASE_LEASES = """
    WITH held AS (SELECT shard FROM leases WHERE shard = ANY ({shards}) AND owner = ?1 ORDER BY shard FOR UPDATE)
    UPDATE leases SET until = ?2 FROM held WHERE leases.shard = held.shard
"""
RENEW_LEASES, GRANT_LEASES, RELEASE_LEASES = (
    statement.format(now=_NOW, shards=_SHARDS) for statement in (_RENEW_LEASES, _GRANT_LEASES, _RELEASE_LEASES)
)
_JOIN_WORKERS = """
    INSERT INTO workers VALUES (?1, ?2, {now} + ?3)
    ON CONFLICT (name) DO UPDATE SET addresses = excluded.addresses, until = excluded.until
"""
#: Rows that nobody has renewed for an hour go with the next worker that leaves.
_LEAVE_WORKERS = "DELETE FROM workers WHERE name = ?1 OR until < {now} - 3600"
JOIN_WORKERS, LEAVE_WORKERS = (statement.format(now=_NOW) for statement in (_JOIN_WORKERS, _LEAVE_WORKERS))
KEEP_KEY = "INSERT INTO secrets VALUES (?, ?) ON CONFLICT (name) DO NOTHING"

_BY_ID = re.compile(r"WHERE id = \?[^?]*$")
_WRITTEN = re.compile(r"^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@lru_cache(maxsize=256)
def written_table(statement: str) -> tuple[str, int | None]:
    """The table that a statement changes, and the index of the decision's id among its values, if it has one."""
    found = _WRITTEN.match(statement)
    table = found[1] if found is not None else ""
    if statement.lstrip().startswith("INSERT"):
        return table, 0
    return table, -1 if _BY_ID.search(statement) is not None else None
