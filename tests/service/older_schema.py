"""Statements that undo the newest migrations, for tests that build the tables of an earlier smidgen."""

from __future__ import annotations

_TABLES = ("events", "decisions", "key_states", "calls", "lineage", "bases", "base_states", "carried", "gone")
_POSTGRES_TABLES = (*_TABLES, "states", "leases")
_HOLDOUTS = [
    "DROP INDEX decision_holdout",
    *(f"ALTER TABLE decisions DROP COLUMN {each}" for each in ("unit", "holdout", "share")),
]


def _back(tables: tuple[str, ...]) -> list[str]:
    columns = [f"ALTER TABLE {each} RENAME COLUMN shard TO slot" for each in tables]
    return [*_HOLDOUTS, "ALTER TABLE shards RENAME TO slots", *columns]


#: Schema 8 of SQLite to schema 6.
SQLITE = _back(_TABLES)
#: Schema 4 of PostgreSQL to schema 2.
POSTGRES = _back(_POSTGRES_TABLES)
