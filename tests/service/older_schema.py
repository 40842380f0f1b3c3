"""Statements that undo the newest migrations, for tests that build the tables of an earlier smidgen."""

from __future__ import annotations

_TABLES = ("events", "decisions", "key_states", "calls", "lineage", "bases", "base_states", "carried", "gone")
_POSTGRES_TABLES = (*_TABLES, "states", "leases")
_HOLDOUTS = [
    "DROP INDEX decision_holdout",
    *(f"ALTER TABLE decisions DROP COLUMN {each}" for each in ("unit", "holdout", "share")),
]
_REPORTS = [
    "DROP INDEX decision_due",
    *(f"ALTER TABLE decisions DROP COLUMN {each}" for each in ("reported", "reports")),
    "CREATE INDEX decision_due ON decisions (expires_at, shard, seq)"
    " WHERE waits = 1 AND shown = 1 AND feedback_seq IS NULL",
]


def _back(tables: tuple[str, ...]) -> list[str]:
    columns = [f"ALTER TABLE {each} RENAME COLUMN shard TO slot" for each in tables]
    return [*_REPORTS, *_HOLDOUTS, "ALTER TABLE shards RENAME TO slots", *columns]


#: Schema 9 of SQLite to schema 6.
SQLITE = _back(_TABLES)
#: Schema 6 of PostgreSQL to schema 2.
POSTGRES = ["DROP TABLE workers", "DROP TABLE secrets", *_back(_POSTGRES_TABLES)]
