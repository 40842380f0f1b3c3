"""The named questions of the store, as SQL answers them; `Reading.look` of the protocol has the list."""

from __future__ import annotations

from smidgen.service.store.protocol import Question
from smidgen.service.store.sql_bases import SEEN

DECISIONS = (
    "SELECT id, slot, seq, expires_at, request_hash, explored, forwarded, feedback_seq, feedback_hash, version,"
    " measure, position, waits, shown, late_hash, beside, agreed FROM decisions"
)
_OUTCOMES = """
    SELECT x.seq, d.at, d.key, x.expires_at, x.explored, x.forwarded, x.feedback_seq, x.version, x.measure, f.type, f.at
    FROM decisions x INDEXED BY {index} JOIN events d ON d.slot = x.slot AND d.seq = x.seq
    LEFT JOIN events f ON f.slot = x.slot AND f.seq = x.feedback_seq
    WHERE x.slot = :slot AND {which} ORDER BY {order} DESC LIMIT :limit
"""
_LAST = "(SELECT seq FROM slots WHERE id = :slot)"
# Few may count, since what was never shown does not: so only five times as many of the latest are looked through.
_NOT_BEFORE = """
    SELECT min(seq) FROM (
        SELECT seq FROM decisions INDEXED BY decision_order WHERE slot = :slot AND seq <= {end}
        ORDER BY seq DESC LIMIT 5 * :limit
    ) AS few
"""
# The last decision whose window is over, by halving: the first one at or after the middle has ended, or has not.
_OVER = """
    coalesce((
        SELECT CASE WHEN expires_at < :now THEN 1 ELSE 0 END FROM decisions INDEXED BY decision_order
        WHERE slot = :slot AND seq >= {middle} ORDER BY seq LIMIT 1
    ), 0)
"""
_HALVES = """
    WITH RECURSIVE halves (low, high, over) AS (
        SELECT CAST(0 AS BIGINT), seq + 1, {first} FROM slots WHERE id = :slot
        UNION ALL
        SELECT CASE WHEN over = 1 THEN (low + high) / 2 ELSE low END,
            CASE WHEN over = 1 THEN high ELSE (low + high) / 2 END, {next}
        FROM halves WHERE high - low > 1
    )
    SELECT max(low) FROM halves
"""
_LAST_ENDED = _HALVES.format(
    first=_OVER.format(middle="(slots.seq + 1) / 2"),
    next=_OVER.format(middle="((low + high) / 2 + CASE WHEN over = 1 THEN high ELSE low END) / 2"),
)

_TALLY = """
    WITH base (seq, version) AS (
        SELECT coalesce(max(seq), 0), coalesce(max(version), 0) FROM bases WHERE slot = :slot
    )
    SELECT count(*), count(*) FILTER (WHERE x.version > base.version),
        count(*) FILTER (WHERE x.feedback_seq > base.seq AND x.version IS NULL AND x.feedback_hash IS NOT NULL),
        count(*) FILTER (WHERE e.decision IS NOT x.id OR e.type IS NOT 'decision')
    FROM base, decisions x LEFT JOIN events e ON e.slot = x.slot AND e.seq = x.seq
    WHERE x.slot = :slot AND {seen}
"""

QUESTIONS: dict[Question, str] = {
    # The lag is how many events, and so updates, came between a decision and its feedback, at most.
    "learnt_blocks": """
        SELECT (version - 1) / :block, count(*), count(measure), total(measure), total(measure * measure),
            count(position), total(position), max(
                CASE WHEN feedback_seq - seq < version THEN feedback_seq - seq - 1 ELSE version - 1 END
            )
        FROM decisions INDEXED BY decision_versions
        WHERE slot = :slot AND version > :after AND version <= :upto GROUP BY 1 ORDER BY 1
    """,
    "made_blocks": """
        SELECT (seq - 1) / :block, count(*), total(explored), count(forwarded), total(forwarded)
        FROM decisions INDEXED BY decision_order
        WHERE slot = :slot AND seq > :after AND seq <= :upto GROUP BY 1 ORDER BY 1
    """,
    "waits": """
        SELECT f.at - d.at FROM decisions x INDEXED BY decision_versions
        JOIN events f ON f.slot = x.slot AND f.seq = x.feedback_seq
        JOIN events d ON d.slot = x.slot AND d.seq = x.seq
        WHERE x.slot = :slot AND x.version > :after ORDER BY x.version
    """,
    "measures": """
        SELECT measure FROM decisions INDEXED BY decision_versions
        WHERE slot = :slot AND version > :after AND measure IS NOT NULL ORDER BY version
    """,
    "latest": DECISIONS
    + " INDEXED BY decision_order WHERE slot = :slot AND seq < :before ORDER BY seq DESC LIMIT :limit",
    "keys": """
        WITH RECURSIVE found (key) AS (
            SELECT min(key) FROM (
                SELECT min(key) AS key FROM events INDEXED BY event_keys WHERE slot = :slot AND key >= :prefix
                UNION ALL
                SELECT min(key) FROM base_states WHERE slot = :slot AND key >= :prefix AND key > ''
            ) AS first
            UNION ALL
            SELECT (
                SELECT min(key) FROM (
                    SELECT min(key) AS key FROM events INDEXED BY event_keys WHERE slot = :slot AND key > found.key
                    UNION ALL
                    SELECT min(key) FROM base_states WHERE slot = :slot AND key > found.key
                ) AS next
            )
            FROM found WHERE found.key IS NOT NULL AND substr(found.key, 1, length(:prefix)) = :prefix
        )
        SELECT key FROM found WHERE key IS NOT NULL AND substr(key, 1, length(:prefix)) = :prefix LIMIT :limit
    """,
    # Of what lies above the base: answers under it are counted there.
    "tally": _TALLY.format(seen=SEEN.format(table="x")),
    "lately": _OUTCOMES.format(
        index="decision_order",
        which=f"x.shown = 1 AND x.seq >= ({_NOT_BEFORE.format(end=_LAST)})",
        order="x.seq",
    ),
    "ended": _OUTCOMES.format(
        index="decision_order",
        which=f"""x.shown = 1 AND x.expires_at < :now AND x.seq <= ({_LAST_ENDED})
            AND x.seq >= ({_NOT_BEFORE.format(end=f"({_LAST_ENDED})")})""",
        order="x.seq",
    ),
    "answers": _OUTCOMES.format(
        index="decision_versions", which="x.version IS NOT NULL AND x.beside IS NULL", order="x.version"
    ),
    "pairs": """
        SELECT s.seq, s.agreed, s.target, s.chance, d.slot, d.seq, d.expires_at, d.shown, d.forwarded, d.agreed,
            d.feedback_seq, d.measure
        FROM decisions s INDEXED BY decision_order JOIN decisions d ON d.id = s.beside
        WHERE s.slot = :slot AND s.seq > :after ORDER BY s.seq LIMIT :limit
    """,
    "agreement": """
        SELECT count(*), total(agreed) FROM (
            SELECT agreed FROM decisions INDEXED BY decision_agreed WHERE slot = :slot AND agreed IS NOT NULL
            ORDER BY seq DESC LIMIT :limit
        ) AS latest
    """,
}
#: Slots whose last event is not where their counts say, or not what they say.
TORN = """
    SELECT s.id, s.seq FROM slots s LEFT JOIN events e ON e.slot = s.id AND e.seq = s.seq
    WHERE (s.seq > 0 AND e.chain IS NOT s.chain)
        OR EXISTS (SELECT 1 FROM events x WHERE x.slot = s.id AND x.seq > s.seq)
    ORDER BY s.id
"""
