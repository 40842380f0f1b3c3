"""Every SELECT of the stores, by name, from the simplest to those of one task.

SQL is written once, in SQLite's spelling: ``?``, ``?1`` or ``:name`` for values, ``INDEXED BY`` where the plan matters.
`smidgen.service.storage.postgres_dialect` has the few differences of PostgreSQL. Statements that only PostgreSQL runs
stand at the end. `smidgen.service.storage.sql_writes` has what changes rows; `sqlite_schema` and `postgres_schema` have
the tables.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from smidgen.service.storage.protocol import Question

# The tables, with the same columns in every database: so all rows of one can be written into another.


class TableLayout(NamedTuple):
    """A table.

    Attributes
    ----------
    columns
        Their names.
    order
        The columns that put its rows in one order.
    """

    columns: tuple[str, ...]
    order: str


def _table(columns: str, order: str) -> TableLayout:
    return TableLayout(tuple(columns.split()), order)


#: A table comes after the tables that it refers to. Published states of shards are not rows in every database.
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
_ALL_ROWS = "SELECT {columns} FROM {table} ORDER BY {order}"
_ROW_COUNT = "SELECT count(*) FROM {table}"


def select_all(name: str) -> str:
    """Statement that reads all rows of a table."""
    table = TABLES[name]
    return _ALL_ROWS.format(columns=", ".join(table.columns), table=name, order=table.order)


def count_rows(name: str) -> str:
    """Statement that counts the rows of a table."""
    return _ROW_COUNT.format(table=name)


# Models and shards

MODELS = """
    SELECT m.id, m.name, s.id, m.body, m.resolved, m.created_at, m.archived_at
    FROM models m JOIN shards s ON s.model = m.id AND s.place = 0 ORDER BY m.id
"""
MODEL_EXISTS = "SELECT 1 FROM models WHERE name = ?"
MODEL_OF_SHARD = "SELECT m.name FROM shards s JOIN models m ON m.id = s.model WHERE s.id = ?"
MODEL_COUNT = "SELECT count(*) FROM models"
LINEAGE = "SELECT shard, source, seq FROM lineage ORDER BY shard, source"
SHARD_COUNTS = "SELECT seq, version, decisions, late, keys, number, chain, answered FROM shards WHERE id = ?"
SHARD_NUMBER = "SELECT number FROM shards WHERE id = ?"
LOG_HEADS = "SELECT id, seq, chain FROM shards WHERE seq > 0"
#: Shards whose last event is not where their counts say, or has another chain.
TORN_LOGS = """
    SELECT s.id, s.seq FROM shards s LEFT JOIN events e ON e.shard = s.id AND e.seq = s.seq
    WHERE (s.seq > 0 AND e.chain IS NOT s.chain)
        OR EXISTS (SELECT 1 FROM events x WHERE x.shard = s.id AND x.seq > s.seq)
    ORDER BY s.id
"""

# Tokens; tables of an older schema lack the last columns

TOKENS = "SELECT * FROM tokens ORDER BY created_at, id"
TOKENS_BY_HASH = "SELECT * FROM tokens WHERE hash = ?"

# Retention checkpoints: the base of a log, its states, and the decisions that it carries

#: Condition: a row of events or decisions lies above the base of its log, or is carried. While the rows under a new
#: base are being erased, some of them are still there.
SEEN = """
    ({table}.seq > coalesce((SELECT b.seq FROM bases b WHERE b.shard = {table}.shard), 0)
        OR EXISTS (SELECT 1 FROM carried c WHERE c.shard = {table}.shard AND c.seq = {table}.seq))
"""
CHECKPOINT = "SELECT seq, version, chain, at, decisions, late, floor, body, erased FROM bases WHERE shard = ?"
FLOOR = "SELECT seq FROM bases WHERE shard = ?"
_STATES = "SELECT key, seq, number, digest, state FROM base_states"
_IN_FORCE = "(SELECT seq FROM bases WHERE shard = ?1)"
_NEWEST = "seq = (SELECT max(t.seq) FROM base_states t WHERE t.shard = ?1 AND t.key = s.key AND t.seq <= {base})"
CHECKPOINT_STATE = f"{_STATES} WHERE shard = ?1 AND key = ?2 AND seq <= {_IN_FORCE} ORDER BY seq DESC LIMIT 1"
CHECKPOINT_STATES = f"{_STATES} s WHERE shard = ?1 AND {_NEWEST.format(base=_IN_FORCE)} ORDER BY key"
_DIGESTS = "SELECT digest FROM base_states s WHERE shard = ?1 AND {newest} ORDER BY key"
CHECKPOINT_DIGESTS = _DIGESTS.format(newest=_NEWEST.format(base="?2"))
CARRIED = "SELECT seq, digest FROM carried WHERE shard = ? ORDER BY seq"
CARRIED_OF_KEY = """
    SELECT e.seq, e.decision FROM events e INDEXED BY event_keys JOIN carried c ON c.shard = e.shard AND c.seq = e.seq
    WHERE e.shard = ? AND e.key = ?
"""
#: Decisions up to an event that later events are about. The order of the join is fixed: from the few later events to
#: their decisions.
DECISIONS_OF_LATER_EVENTS = """
    SELECT DISTINCT x.seq FROM events e CROSS JOIN decisions x ON x.id = e.decision
    WHERE e.shard = ?1 AND e.seq > ?2 AND e.type NOT IN ('decision', 'held_out') AND x.shard = ?1 AND x.seq <= ?3
"""
OPEN_DECISIONS = """
    SELECT seq FROM decisions INDEXED BY decision_order WHERE shard = ?1 AND seq <= ?2 AND feedback_seq IS NULL
        AND (expires_at >= ?3 OR ((waits = 1 OR reported = 1) AND shown = 1))
"""
COUNTS_UP_TO = """
    SELECT count(*) FILTER (WHERE type IN ('decision', 'held_out')),
        count(*) FILTER (WHERE type = 'feedback' AND made IS NULL)
    FROM events WHERE shard = ?1 AND seq <= ?2 AND seq > coalesce((SELECT seq FROM bases WHERE shard = ?1), 0)
"""
#: Late feedback after the base is counted with the events of its key, not with the decisions that the base carries.
LATE_AFTER_CHECKPOINT = """
    SELECT 1 FROM events INDEXED BY event_keys
    WHERE shard = ? AND key = ? AND seq > ? AND type = 'feedback' AND made IS NULL AND decision = ? LIMIT 1
"""
ERASED_DECISION = "SELECT shard FROM gone WHERE id = ?"
#: The same before the rows under the base are erased.
DECISION_UNDER_CHECKPOINT = """
    SELECT x.shard FROM decisions x JOIN bases b ON b.shard = x.shard AND b.seq >= x.seq
    WHERE x.id = ? AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = x.shard AND c.seq = x.seq)
"""
UNFINISHED_PURGE = "SELECT shard FROM bases WHERE erased < seq ORDER BY shard LIMIT 1"
PURGE_PROGRESS = "SELECT seq, erased FROM bases WHERE shard = ?"
#: The last of the next ?4 events between ?2 and ?3 that are not carried.
PURGE_UP_TO = """
    SELECT max(seq) FROM (
        SELECT e.seq FROM events e WHERE e.shard = ?1 AND e.seq > ?2 AND e.seq <= ?3
            AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.shard = e.shard AND c.seq = e.seq)
        ORDER BY e.seq LIMIT ?4
    ) AS next
"""

# Published states

KEY_STATE = "SELECT seq, state, at FROM key_states WHERE shard = ? AND key = ?"
STATE_KEYS = "SELECT key FROM key_states WHERE shard = ? ORDER BY key"

# Events

_EVENTS = "SELECT seq, type, version, at, decision, key, made, salt, chain, body FROM events"
EVENT = f"{_EVENTS} WHERE shard = ? AND seq = ? AND {SEEN.format(table='events')}"
EVENTS_AFTER = f"{_EVENTS} WHERE shard = ? AND seq > ? ORDER BY seq LIMIT ?"
EVENTS_OF_KEY = f"{_EVENTS} INDEXED BY event_keys WHERE shard = ? AND key = ? AND seq > ? ORDER BY seq LIMIT 256"
UNDO_EVENTS = f"""
    {_EVENTS} INDEXED BY event_rewinds WHERE shard = ? AND seq > ? AND type IN ('retracted', 'rolled_back')
    ORDER BY seq
"""
_CHANGES = """
    SELECT f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.body,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM events f {index} LEFT JOIN decisions x ON x.id = f.decision
    LEFT JOIN events d ON d.shard = x.shard AND d.seq = x.seq
    WHERE f.shard = ?1 AND f.seq > ?2 AND (f.made IS NOT NULL OR f.type = 'amended') AND {key}
"""
CHANGES = _CHANGES.format(index="", key="1 = 1") + " ORDER BY 1"
CHANGES_OF_KEY = (
    _CHANGES.format(index="INDEXED BY event_keys", key="f.key = ?3")
    + " UNION ALL "
    + _CHANGES.format(index="INDEXED BY event_wide", key="f.decision IS NULL AND f.key IS NULL")
    + " ORDER BY 1"
)
CHAIN = "SELECT chain FROM events WHERE shard = ? AND seq = ?"
KEY_HAS_EVENTS = "SELECT 1 FROM events INDEXED BY event_keys WHERE shard = ? AND key = ? AND seq > ? LIMIT 1"
LAST_FORGETTING = """
    SELECT seq FROM events INDEXED BY event_wide
    WHERE shard = ? AND decision IS NULL AND type = 'erased' AND salt IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
VERSION_AT = """
    SELECT made FROM events WHERE shard = ? AND seq <= ? AND seq > ? AND made IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
CALL = "SELECT hash, seq FROM calls WHERE shard = ? AND id = ?"

# Decisions

_DECISIONS = (
    "SELECT id, shard, seq, expires_at, request_hash, explored, forwarded, feedback_seq, feedback_hash, version,"
    " measure, position, waits, shown, late_hash, beside, agreed, holdout, reported, reports FROM decisions"
)
_SEEN_DECISION = SEEN.format(table="decisions")
DECISION_BY_ID = f"{_DECISIONS} WHERE id = ? AND {_SEEN_DECISION}"
_DECISION_BY_REQUEST = f"{_DECISIONS} WHERE request = ? AND shard IN ({{shards}}) AND {_SEEN_DECISION}"
FOLLOWER_DECISIONS = f"{_DECISIONS} INDEXED BY decision_beside WHERE beside = ? AND {_SEEN_DECISION} ORDER BY shard"
DUE_DECISIONS = f"""
    {_DECISIONS} INDEXED BY decision_due
    WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL AND expires_at < ?
    ORDER BY expires_at, shard, seq LIMIT ?
"""
#: The earliest end of a window that is to be learned from when it is over.
NEXT_DUE = """
    SELECT min(expires_at) FROM decisions INDEXED BY decision_due
    WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL
"""
NUMBER_UP_TO = """
    SELECT number FROM decisions INDEXED BY decision_order WHERE shard = ? AND seq <= ? ORDER BY seq DESC LIMIT 1
"""
NUMBER_OF_KEY = """
    SELECT x.number FROM events e INDEXED BY event_keys JOIN decisions x ON x.id = e.decision
    WHERE e.shard = ? AND e.key = ? AND e.seq <= ? AND e.type = 'decision' ORDER BY e.seq DESC LIMIT 1
"""
#: How many decisions a key has, how many of them have feedback, and how much feedback came late; ``?3`` is the base.
KEY_TOTALS = """
    SELECT count(*), count(*) FILTER (
            WHERE (feedback_hash IS NOT NULL OR late_hash IS NOT NULL OR reported = 1) AND beside IS NULL
        ),
        (
            SELECT count(*) FROM events f INDEXED BY event_keys
            WHERE f.shard = ?1 AND f.key = ?2 AND f.seq > ?3 AND f.type = 'feedback' AND f.made IS NULL
        )
    FROM decisions WHERE id IN (
        SELECT e.decision FROM events e INDEXED BY event_keys
        WHERE e.shard = ?1 AND e.key = ?2 AND e.seq > ?3 AND e.type IN ('decision', 'held_out')
    )
"""


@lru_cache(maxsize=256)
def decision_by_request(shards: int) -> str:
    """Statement that finds a decision by the app's own id in a number of shards."""
    return _DECISION_BY_REQUEST.format(shards=", ".join("?" * shards))


# Named questions about a shard; `LogReader.query` of the protocol says what each returns

_OUTCOMES = """
    SELECT x.seq, d.at, d.key, x.expires_at, x.explored, x.forwarded, x.feedback_seq, x.version, x.measure, f.type,
        f.at, x.reported
    FROM decisions x INDEXED BY {index} JOIN events d ON d.shard = x.shard AND d.seq = x.seq
    LEFT JOIN events f ON f.shard = x.shard AND f.seq = x.feedback_seq
    WHERE x.shard = :shard AND {which} ORDER BY {order} DESC LIMIT :limit
"""
_LAST = "(SELECT seq FROM shards WHERE id = :shard)"
# Decisions that were never shown do not count: so the latest five times as many are searched.
_NOT_BEFORE = """
    SELECT min(seq) FROM (
        SELECT seq FROM decisions INDEXED BY decision_order WHERE shard = :shard AND seq <= {end}
        ORDER BY seq DESC LIMIT 5 * :limit
    ) AS few
"""
# The last decision whose window is over, by binary search over the events.
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
    # The lag is an upper bound of the updates between a decision and its feedback.
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
    "latest": _DECISIONS
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
    # Rows above the base only: the base has the counts of what lies under it.
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
            d.feedback_seq, d.measure, d.unit, s.share
        FROM decisions s INDEXED BY decision_order JOIN decisions d ON d.id = s.beside
        WHERE s.shard = :shard AND s.seq > :after ORDER BY s.seq LIMIT :limit
    """,
    "groups": """
        SELECT x.seq, x.unit, x.holdout, x.share, d.expires_at, d.shown, d.feedback_seq, d.feedback_hash, d.measure,
            d.version, d.reports
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

# Rows of (shard, event) that contradict the log; `smidgen fsck` runs these, none reads a body

DECISIONS_WITHOUT_ROW = """
    SELECT e.shard, e.seq FROM events e LEFT JOIN decisions x ON x.id = e.decision
    WHERE e.type IN ('decision', 'held_out') AND (x.shard IS NOT e.shard OR x.seq IS NOT e.seq)
"""
ROWS_WITHOUT_DECISION = """
    SELECT x.shard, x.seq FROM decisions x LEFT JOIN events e ON e.shard = x.shard AND e.seq = x.seq
    WHERE e.type IS NULL
        OR (e.type <> 'erased' AND (e.type NOT IN ('decision', 'held_out') OR e.decision IS NOT x.id))
"""
#: Except feedback after an expiry that was learned, and feedback that was retracted later.
FEEDBACK_WITHOUT_ROW = """
    SELECT e.shard, e.seq FROM events e LEFT JOIN decisions x ON x.id = e.decision
    WHERE (e.type IN ('feedback', 'expired', 'settled', 'recorded')
            OR (e.type = 'taught' AND e.decision IS NOT NULL))
        AND (x.feedback_seq IS NOT e.seq OR x.version IS NOT e.made)
        AND NOT (e.type = 'feedback' AND e.made IS NULL AND x.late_hash IS NOT NULL)
        AND NOT EXISTS (
            SELECT 1 FROM events r INDEXED BY event_rewinds WHERE r.shard = e.shard AND r.seq > e.seq
                AND r.type IN ('retracted', 'rolled_back') AND r.type = 'retracted' AND r.decision = e.decision
        )
"""
ROWS_WITHOUT_FEEDBACK = """
    SELECT x.shard, x.feedback_seq FROM decisions x
    LEFT JOIN events e ON e.shard = x.shard AND e.seq = x.feedback_seq
    WHERE x.feedback_seq IS NOT NULL AND e.type IS NOT 'erased'
        AND (e.type IS NULL OR e.decision IS NOT x.id
            OR e.type NOT IN ('feedback', 'recorded', 'expired', 'settled', 'taught'))
"""
SHARDS_OUT_OF_PLACE = "SELECT id, place FROM shards WHERE place <> 0"
SHARDS_OUT_OF_RANGE = "SELECT id, id FROM shards WHERE id < 1 OR id > 1 << 20"

# Sizes

SQLITE_BYTES = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
POSTGRES_BYTES = "SELECT pg_database_size(current_database())"

# PostgreSQL only: published states of shards, the catalogue, leases

STATE_SEQS = "SELECT seq FROM states WHERE shard = ? ORDER BY seq DESC"
STATE = "SELECT seq, state, mark, at FROM states WHERE shard = ? AND seq = ?"
SNAPSHOT_START = "SELECT 1 FROM catalogue"
CATALOGUE_NUMBER = "SELECT number FROM catalogue"
UNVACUUMED = "SELECT unclean FROM catalogue"
LEASES = "SELECT shard, owner, epoch, until FROM leases WHERE until > 0 ORDER BY shard"
LIVING_WORKERS = """
    SELECT name, addresses FROM workers
    WHERE until > CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION) ORDER BY name
"""
#: Other workers of the schema read the notification (`PostgresStore.wait_for_announcement`).
ANNOUNCE = "SELECT pg_notify('smidgen', ?)"
SHARED_KEY = "SELECT content FROM secrets WHERE name = ?"
LEASED_SINCE = "SELECT 1 FROM leases WHERE shard = ? AND epoch > ?"
VACUUM_LOCK = "SELECT pg_try_advisory_lock(?, hashtext(?))"
SET_CONFIG = "SELECT set_config(?, ?, false)"
#: Commits wait for the disk, whatever the default of the role says; and whether the server itself does.
REQUIRE_SYNC = """
    SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'off'
        THEN 'on' ELSE current_setting('synchronous_commit') END, false), current_setting('fsync')
"""

_PAGE = "SELECT * FROM ({query}) AS page LIMIT {size}"


def first_page(query: str, size: int) -> str:
    """Statement for the first rows of a query."""
    return _PAGE.format(query=query, size=size)


# PostgreSQL only: a batch locks the rows of its shards and fetches what it needs of them, in one round trip

_LOCKED_COUNTS = "SELECT id, seq, version, decisions, late, keys, number, chain, answered FROM shards"
_SHARD_LIST = "CAST(string_to_array(?, ',') AS BIGINT[])"
_ID_LIST = "SELECT decode(found, 'hex') FROM unnest(string_to_array(?, ',')) AS found"
_UNION = "SELECT unnest({shards}) UNION SELECT shard FROM decisions WHERE id IN ({ids})"
_SHARDS_OF_IDS = _UNION.format(shards=_SHARD_LIST, ids=_ID_LIST)
LOCK_SHARDS = f"{_LOCKED_COUNTS} WHERE id = ANY ({_SHARD_LIST}) ORDER BY id FOR NO KEY UPDATE"
LOCK_FREE_SHARDS = f"{LOCK_SHARDS} SKIP LOCKED"
LOCK_SHARDS_OF_IDS = f"{_LOCKED_COUNTS} WHERE id IN ({_SHARDS_OF_IDS}) ORDER BY id FOR NO KEY UPDATE"
LOCK_FREE_SHARDS_OF_IDS = f"{LOCK_SHARDS_OF_IDS} SKIP LOCKED"
_FLOORS = "SELECT number, shard, seq FROM catalogue LEFT JOIN bases ON shard"
#: The number of the catalogue, and the bases of shards.
FLOORS = f"{_FLOORS} = ANY ({_SHARD_LIST})"
FLOORS_OF_IDS = f"{_FLOORS} IN ({_SHARDS_OF_IDS})"
DECISIONS_BY_ID = f"{_DECISIONS} WHERE id IN ({_ID_LIST}) AND {_SEEN_DECISION}"
#: The events of decisions, without large ones: those are read one by one, if at all.
_EVENTS_OF_DECISIONS = """
    SELECT x.shard, e.* FROM decisions x JOIN LATERAL (
        {events} WHERE shard = x.shard AND seq = x.seq AND octet_length(body) < 65536
    ) AS e ON 1 = 1 WHERE x.id IN ({ids})
"""
EVENTS_OF_DECISIONS = _EVENTS_OF_DECISIONS.format(events=_EVENTS, ids=_ID_LIST)
#: Fails with a division by zero unless the catalogue has a number and shards end with these events.
CHECK_TRUST = """
    SELECT 1 / CASE WHEN (SELECT number FROM catalogue) = (CAST(?1 AS BIGINT[]))[1] AND NOT EXISTS (
        SELECT 1 FROM unnest(CAST(?2 AS BIGINT[]), CAST(?3 AS BIGINT[])) AS n (id, expected)
        JOIN shards s ON s.id = n.id WHERE s.seq <> n.expected
    ) THEN 1 ELSE 0 END
"""
EVENT_TYPES = "SELECT DISTINCT type FROM events WHERE shard = ? AND seq > ?"
#: At most how many events of a shard `FOREIGN_EVENTS` fetches.
FOREIGN_EVENTS_LIMIT = 128
_NUMBER_LIST = "CAST(string_to_array(?{n}, ',') AS BIGINT[])"
#: Events that other workers wrote since this worker held a shard; what changes weights comes with its decision. Large
#: bodies are not fetched ahead.
_FOREIGN_EVENTS = """
    SELECT f.shard, f.seq, f.type, f.version, f.at, f.decision, f.key, f.made, f.salt, f.chain, f.content,
           d.seq, d.type, d.version, d.at, d.decision, d.key, d.made, d.salt, d.chain, d.body
    FROM unnest({lists}) AS asked (shard, after, known) JOIN shards s ON s.id = asked.shard AND s.seq > asked.known
    JOIN LATERAL (
        SELECT *, CASE WHEN made IS NOT NULL AND octet_length(body) < 65536 THEN body END AS content
        FROM events WHERE shard = asked.shard AND seq > asked.after ORDER BY seq LIMIT {limit}
    ) AS f ON 1 = 1
    LEFT JOIN decisions x ON x.id = f.decision AND f.content IS NOT NULL
    LEFT JOIN events d ON d.shard = x.shard AND d.seq = x.seq AND octet_length(d.body) < 65536
    ORDER BY 1, 2
"""
FOREIGN_EVENTS = _FOREIGN_EVENTS.format(
    lists=", ".join(_NUMBER_LIST.format(n=n) for n in (1, 2, 3)), limit=FOREIGN_EVENTS_LIMIT
)
