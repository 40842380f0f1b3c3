"""The tables in SQLite: migrations, each committed with its own record."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smidgen.errors import FOREIGN, SmidgenError
from smidgen.service.errors import DatabaseFailed, NoData, StorageFailed
from smidgen.service.storage import data_dir
from smidgen.service.storage.crash_points import crash_point

FILE = "smidgen.db"
RESTORE = "restore a backup: smidgen restore FILE --force; until then, what can be read is safe with smidgen log export"
#: Migrations by schema number; a new database runs all of them. Schema 1 was never released.
MIGRATIONS: dict[int, tuple[str, str]] = {
    2: (
        "models, slots, events in a chain, decisions, states of keys, tokens",
        """
        CREATE TABLE models (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB NOT NULL, resolved BLOB NOT NULL,
            created_at REAL NOT NULL, archived_at REAL
        ) STRICT;
        CREATE TABLE slots (
            id INTEGER PRIMARY KEY, model INTEGER NOT NULL REFERENCES models, place INTEGER NOT NULL DEFAULT 0,
            seq INTEGER NOT NULL, version INTEGER NOT NULL, decisions INTEGER NOT NULL, late INTEGER NOT NULL,
            keys INTEGER NOT NULL, number INTEGER NOT NULL, chain BLOB NOT NULL, UNIQUE (model, place)
        ) STRICT;
        CREATE TABLE events (
            slot INTEGER NOT NULL REFERENCES slots, seq INTEGER NOT NULL, type TEXT NOT NULL,
            version INTEGER NOT NULL, at REAL NOT NULL, decision BLOB, key TEXT, made INTEGER, salt BLOB,
            chain BLOB NOT NULL, body BLOB
        ) STRICT;
        CREATE UNIQUE INDEX event_order ON events (slot, seq);
        CREATE INDEX event_keys ON events (slot, key, seq) WHERE key IS NOT NULL;
        CREATE TABLE decisions (
            id BLOB PRIMARY KEY, slot INTEGER NOT NULL REFERENCES slots, seq INTEGER NOT NULL,
            number INTEGER NOT NULL, expires_at REAL NOT NULL, request TEXT, request_hash BLOB,
            explored INTEGER NOT NULL, forwarded INTEGER, feedback_seq INTEGER, feedback_hash BLOB,
            version INTEGER, measure REAL, position REAL
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX decision_requests ON decisions (slot, request) WHERE request IS NOT NULL;
        CREATE INDEX decision_order ON decisions (slot, seq, explored, forwarded);
        CREATE INDEX decision_versions ON decisions (slot, version, measure, position, seq, feedback_seq)
            WHERE version IS NOT NULL;
        CREATE TABLE key_states (
            slot INTEGER NOT NULL REFERENCES slots, key TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL,
            state BLOB NOT NULL, PRIMARY KEY (slot, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, scopes TEXT NOT NULL, model TEXT,
            created_at REAL NOT NULL, revoked_at REAL
        ) STRICT, WITHOUT ROWID;
        """,
    ),
    3: (
        "silence that is learnt, decisions that count later, events that take back, calls that can be repeated",
        """
        ALTER TABLE decisions ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE decisions ADD COLUMN shown INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE decisions ADD COLUMN late_hash BLOB;
        ALTER TABLE slots ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
        UPDATE slots SET answered = version + late;
        CREATE INDEX decision_due ON decisions (expires_at, slot, seq)
            WHERE waits = 1 AND shown = 1 AND feedback_seq IS NULL;
        CREATE TABLE calls (
            slot INTEGER NOT NULL REFERENCES slots, id TEXT NOT NULL, hash BLOB NOT NULL, seq INTEGER NOT NULL,
            PRIMARY KEY (slot, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX event_wide ON events (slot, seq) WHERE decision IS NULL;
        CREATE INDEX event_rewinds ON events (slot, seq) WHERE type IN ('retracted', 'rolled_back');
        """,
    ),
    4: (
        "where copies are from; base states of logs whose beginning is erased",
        """
        CREATE TABLE lineage (
            slot INTEGER NOT NULL REFERENCES slots, source INTEGER NOT NULL REFERENCES slots, seq INTEGER NOT NULL,
            PRIMARY KEY (slot, source)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE bases (
            slot INTEGER PRIMARY KEY REFERENCES slots, seq INTEGER NOT NULL, version INTEGER NOT NULL,
            chain BLOB NOT NULL, at REAL NOT NULL, decisions INTEGER NOT NULL, late INTEGER NOT NULL,
            floor INTEGER NOT NULL, body BLOB NOT NULL, erased INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE base_states (
            slot INTEGER NOT NULL REFERENCES slots, key TEXT NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL,
            digest BLOB NOT NULL, state BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX base_state_order ON base_states (slot, key, seq, digest);
        CREATE TABLE carried (
            slot INTEGER NOT NULL REFERENCES slots, seq INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (slot, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE gone (id BLOB PRIMARY KEY, slot INTEGER NOT NULL REFERENCES slots) STRICT, WITHOUT ROWID;
        """,
    ),
    5: (
        "decisions beside others, and what agrees with what was shown",
        """
        ALTER TABLE decisions ADD COLUMN beside BLOB;
        ALTER TABLE decisions ADD COLUMN agreed INTEGER;
        ALTER TABLE decisions ADD COLUMN target REAL;
        ALTER TABLE decisions ADD COLUMN chance REAL;
        CREATE INDEX decision_beside ON decisions (beside) WHERE beside IS NOT NULL;
        CREATE INDEX decision_agreed ON decisions (slot, seq, agreed) WHERE agreed IS NOT NULL;
        """,
    ),
    6: (
        "names, expiry and last use of tokens",
        """
        ALTER TABLE tokens ADD COLUMN name TEXT;
        ALTER TABLE tokens ADD COLUMN expires_at REAL;
        ALTER TABLE tokens ADD COLUMN used_at REAL;
        """,
    ),
    7: (
        "shards: what was called slots",
        """
        ALTER TABLE slots RENAME TO shards;
        ALTER TABLE events RENAME COLUMN slot TO shard;
        ALTER TABLE decisions RENAME COLUMN slot TO shard;
        ALTER TABLE key_states RENAME COLUMN slot TO shard;
        ALTER TABLE calls RENAME COLUMN slot TO shard;
        ALTER TABLE lineage RENAME COLUMN slot TO shard;
        ALTER TABLE bases RENAME COLUMN slot TO shard;
        ALTER TABLE base_states RENAME COLUMN slot TO shard;
        ALTER TABLE carried RENAME COLUMN slot TO shard;
        ALTER TABLE gone RENAME COLUMN slot TO shard;
        """,
    ),
    8: (
        "holdouts: units, the group of each decision, the share of the holdout then",
        """
        ALTER TABLE decisions ADD COLUMN unit TEXT;
        ALTER TABLE decisions ADD COLUMN holdout INTEGER;
        ALTER TABLE decisions ADD COLUMN share REAL;
        CREATE INDEX decision_holdout ON decisions (shard, seq) WHERE holdout IS NOT NULL;
        """,
    ),
    9: (
        "reports that are learned together",
        """
        ALTER TABLE decisions ADD COLUMN reported INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE decisions ADD COLUMN reports BLOB;
        DROP INDEX decision_due;
        CREATE INDEX decision_due ON decisions (expires_at, shard, seq)
            WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL;
        """,
    ),
}
NEWEST = max(MIGRATIONS)


#: The ``user_version`` of a database whose unused parts may hold parts of rows that were erased.
FRAGMENTED = 1


def sqlite_version() -> tuple[int, int, int]:
    """The version of SQLite in Python."""
    return sqlite3.sqlite_version_info


#: The table of `Store.probe`; its content has no meaning.
_PROBE = "CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY CHECK (id = 1), content BLOB NOT NULL) STRICT"


#: Codes with which SQLite reports a damaged file: bad pages, values of another type, missing tables.
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
)


#: Errors of SQLite; Python cannot decode a message that quotes a damaged file.
ERRORS = (sqlite3.Error, UnicodeDecodeError)


def is_disk_error(error: BaseException) -> bool:
    """True if the disk or the file refused, not if a statement was wrong."""
    known = (sqlite3.OperationalError, sqlite3.DataError, UnicodeDecodeError, OSError)
    return isinstance(error, known) or type(error) is sqlite3.DatabaseError


def is_damage(error: BaseException) -> bool:
    """True if SQLite reports a damaged file: truncated, overwritten, not a database, or without our tables."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python itself
        return isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8")
    return code & 0xFF in _DAMAGE


def storage_error(error: BaseException) -> StorageFailed:
    """An error of the disk as callers receive it."""
    if is_damage(error):
        return StorageFailed(f"the database {FILE} is damaged: {error}", RESTORE)
    said = error.strerror if isinstance(error, OSError) and error.strerror else error  # without the path of a file
    return StorageFailed(
        f"a write to the disk failed: {said}", "the request changed nothing; free disk space, then try again"
    )


def refuse_damaged(connection: sqlite3.Connection, error: BaseException | None) -> None:
    """Raise `StorageFailed` if the file is damaged: then reading its rows may raise any error."""
    if isinstance(error, SmidgenError) or not isinstance(error, FOREIGN):
        return
    try:
        ((found, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    except ERRORS as damage:
        raise storage_error(damage) from error
    if found != "ok":
        raise StorageFailed(f"the database {FILE} is damaged: {' '.join(str(found).split())}", RESTORE) from error


def _refuse_open(folder: Path, what: str, error: BaseException) -> DatabaseFailed:
    """The error for a database that cannot be opened or read; a damaged one needs a backup."""
    hint = RESTORE if is_damage(error) else "check who may read and write the folder, or choose another --data"
    return DatabaseFailed(f"the database in {folder} cannot be {what}: {error}", hint)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of the disk as `StorageFailed`."""
    try:
        yield
    except ERRORS as error:
        if is_disk_error(error):
            raise storage_error(error) from error
        raise


def connect(folder: Path, *, synchronous: str = "FULL", name: str = FILE) -> sqlite3.Connection:
    """Open the database of a data folder for writing, with up-to-date tables; the folder is created if needed.

    Parameters
    ----------
    folder
        The data folder.
    synchronous
        ``"FULL"`` syncs every commit. ``"OFF"`` is for the test that shows what is lost without.
    name
        The file.
    """
    try:
        data_dir.make_folder(folder)
        data_dir.touch(folder / name)  # SQLite gives its other files the mode of this one
        connection = sqlite3.connect(folder / name, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection)
            number = schema_number(connection)
            refuse_other(number, folder)  # before anything is written to the file
            if number == 0:  # the process that created the folder may have been killed before its name was durable
                data_dir.sync_folder(folder.resolve().parent)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA secure_delete = ON")  # erased data is overwritten
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
    except (*ERRORS, OSError) as error:
        raise _refuse_open(folder, "opened", error) from error
    return connection


def no_data(folder: Path) -> NoData:
    """The error for a folder in which no service has written."""
    why = "" if folder.exists() else ": the folder does not exist"
    return NoData(f"there is no database in {folder}{why}", "give the data folder of a service with --data")


def connect_reading(folder: Path, access: str = "mode=ro") -> sqlite3.Connection:
    """Open the database of a data folder for reading only.

    Parameters
    ----------
    folder
        The data folder.
    access
        How, as a query of SQLite's URI.
    """
    path = folder / FILE
    if not path.exists():
        raise no_data(folder)
    try:
        uri = f"{path.absolute().as_uri()}?{access}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection)
            connection.execute("PRAGMA cache_size = -8192")  # there may be several
            refuse_other(schema_number(connection), folder)
        except BaseException:
            connection.close()
            raise
    except ERRORS as error:
        raise _refuse_open(folder, "read", error) from error
    return connection


def schema_number(connection: sqlite3.Connection) -> int:
    """The number of the database's schema, 0 if it is new."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchone()
    if found is None:
        return 0
    (number,) = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    return int(number)


def refuse_other(number: int, folder: Path) -> None:
    """Refuse a database with the tables of another version of smidgen."""
    if 0 < number < min(MIGRATIONS):
        raise StorageFailed(
            f"the database in {folder} has schema {number}, from a build before the first release",
            "choose another --data; smidgen creates a new database there",
        )
    if number > NEWEST:
        raise StorageFailed(
            f"the database has schema {number}, and this version of smidgen reads up to {NEWEST}", "upgrade smidgen"
        )


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply what is missing. A migration commits together with its own record, or not at all."""
    done = schema_number(connection)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations"
        " (version INTEGER PRIMARY KEY, what TEXT NOT NULL, at REAL NOT NULL) STRICT"
    )
    for version, (what, script) in MIGRATIONS.items():
        if version <= done:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in script.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (version, what, time.time()))
            crash_point("migration")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    connection.execute(_PROBE)
