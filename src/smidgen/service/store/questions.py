"""The named questions of the store, as SQLite answers them; `Reading.look` of the protocol has the list."""

from __future__ import annotations

from smidgen.service.store.protocol import Question

QUESTIONS: dict[Question, str] = {
    # The lag is how many events, and so updates, came between a decision and its feedback, at most.
    "learnt_blocks": """
        SELECT (version - 1) / :block, count(*), count(measure), total(measure), total(measure * measure),
            count(position), total(position), max(min(feedback_seq - seq - 1, version - 1))
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
    "latest": """
        SELECT id, slot, seq, expires_at, request_hash, explored, forwarded, feedback_seq, feedback_hash,
            version, measure, position, waits, shown, late_hash
        FROM decisions INDEXED BY decision_order WHERE slot = :slot AND seq < :before ORDER BY seq DESC LIMIT :limit
    """,
    "keys": """
        WITH RECURSIVE found (key) AS (
            SELECT min(key) FROM events INDEXED BY event_keys WHERE slot = :slot AND key >= :prefix
            UNION ALL
            SELECT (SELECT min(key) FROM events INDEXED BY event_keys WHERE slot = :slot AND key > found.key)
            FROM found WHERE found.key IS NOT NULL AND substr(found.key, 1, length(:prefix)) = :prefix
        )
        SELECT key FROM found WHERE key IS NOT NULL AND substr(key, 1, length(:prefix)) = :prefix LIMIT :limit
    """,
    "tally": """
        SELECT count(*), count(*) FILTER (WHERE x.version IS NOT NULL),
            count(*) FILTER (WHERE x.feedback_seq IS NOT NULL AND x.version IS NULL),
            count(*) FILTER (WHERE e.decision IS NOT x.id OR e.type IS NOT 'decision')
        FROM decisions x LEFT JOIN events e ON e.slot = x.slot AND e.seq = x.seq WHERE x.slot = :slot
    """,
}
#: Slots whose last event is not where their counts say, or not what they say.
TORN = """
    SELECT s.id, s.seq FROM slots s LEFT JOIN events e ON e.slot = s.id AND e.seq = s.seq
    WHERE (s.seq > 0 AND e.chain IS NOT s.chain)
        OR EXISTS (SELECT 1 FROM events x WHERE x.slot = s.id AND x.seq > s.seq)
    ORDER BY s.id
"""
