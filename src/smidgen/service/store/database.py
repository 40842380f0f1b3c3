"""The file on disk: SQLite in WAL mode, every commit synced, one writer, migrations with their own record."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.crash_points import reach

MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "models, events, decisions, states of keys, tokens",
        """
        CREATE TABLE models (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB NOT NULL,
            created_at REAL NOT NULL, archived_at REAL
        ) STRICT;
        CREATE TABLE events (
            model INTEGER NOT NULL REFERENCES models, seq INTEGER NOT NULL, type TEXT NOT NULL,
            decision TEXT, key TEXT, at REAL NOT NULL, body BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX event_order ON events (model, seq);
        CREATE INDEX event_keys ON events (model, key, seq) WHERE key IS NOT NULL;
        CREATE TABLE decisions (
            id TEXT PRIMARY KEY, model INTEGER NOT NULL REFERENCES models, seq INTEGER NOT NULL, key TEXT,
            number INTEGER NOT NULL, made_at REAL NOT NULL, expires_at REAL NOT NULL,
            request_id TEXT, request_hash BLOB, explored INTEGER NOT NULL, forwarded INTEGER,
            feedback_seq INTEGER, feedback_hash BLOB, feedback_at REAL, status TEXT, learnt_version INTEGER,
            measure REAL, position REAL
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX decision_requests ON decisions (model, request_id) WHERE request_id IS NOT NULL;
        CREATE INDEX decision_order ON decisions (model, seq, explored, forwarded);
        CREATE INDEX decision_versions ON decisions (model, learnt_version, measure, position, seq, feedback_seq)
            WHERE learnt_version IS NOT NULL;
        CREATE TABLE key_states (
            model INTEGER NOT NULL REFERENCES models, key TEXT NOT NULL, seq INTEGER NOT NULL, state BLOB NOT NULL,
            PRIMARY KEY (model, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, scopes TEXT NOT NULL, model TEXT,
            created_at REAL NOT NULL, revoked_at REAL
        ) STRICT, WITHOUT ROWID;
        """,
    ),
)


def open_database(folder: Path, *, synchronous: str = "FULL", readonly: bool = False) -> sqlite3.Connection:
    """Open the database of a data folder, and bring its tables up to date.

    Parameters
    ----------
    folder
        The service's data folder; made if it is not there.
    synchronous
        ``"FULL"`` syncs every commit. ``"OFF"`` is for the test that shows what is lost without.
    readonly
        For commands that only look.
    """
    path = folder / "smidgen.db"
    if readonly:
        if not path.exists():
            raise StorageFailed(f"there is no database in {folder}", "give the --data folder of a service")
        return _prepared(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None))
    folder.mkdir(parents=True, exist_ok=True)
    connection = _prepared(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    _migrate(connection)
    return connection


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply what is missing. A migration commits together with its own record, or not at all."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (version INTEGER PRIMARY KEY, what TEXT NOT NULL, at REAL NOT NULL) STRICT"
    )
    (done,) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    if done > len(MIGRATIONS):
        raise StorageFailed(
            f"the database has schema {done} and this smidgen knows {len(MIGRATIONS)}", "upgrade smidgen to open it"
        )
    for version, (what, script) in enumerate(MIGRATIONS[done:], done + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in script.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (version, what, time.time()))
            reach("migration")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
