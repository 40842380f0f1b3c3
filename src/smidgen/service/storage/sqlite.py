"""The SQLite store: connection, write buffer, readers.

The rows that a batch writes most, kept until somebody asks, and then written many at a time.

An event, the row of a decision, and the answer in it are the same three statements, over and over. They wait here, and
so does the savepoint of a command: one that is undone, or that is done before anything else is asked, needs none. What
is asked meanwhile is answered as if all had been written: everything goes first, but for a decision by its id, if
nothing of that decision waits.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from smidgen.service.errors import StorageFailed
from smidgen.service.storage import data_dir, snapshots
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import DecisionRow, LeaseRow, State, WriteResult
from smidgen.service.storage.snapshots import Snapshots, TailCheck
from smidgen.service.storage.sql import DECISION_BY_ID, NEXT_DUE, TORN, SqlStoreReader, Statements, WriteStatements
from smidgen.service.storage.sql_writes import CLOSE, COUNTS, DECISION, EVENT, KEY_STATE, SqlStoreWriter
from smidgen.service.storage.sqlite_schema import (
    ERRORS,
    FRAGMENTED,
    connect,
    connect_reading,
    is_disk_error,
    refuse_damaged,
    storage_error,
    translate_errors,
)

# A store with one writer: nobody to wait for, nothing to be fenced off from.


class SingleWriter:
    """Implements `smidgen.service.storage.protocol.SharedWriting` for a single writer."""

    @property
    def shared(self) -> bool:
        """Nobody else writes to it."""
        return False

    def acquire(self, *shards: int) -> None:
        """All shards are the writer's."""

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Do nothing: local rows need not be fetched."""

    def catalogue_number(self) -> int:
        """The one writer knows what it changed."""
        return 0

    def event_types(self, shard: int, after: int) -> set[str]:
        """Nobody else wrote anything."""
        return set()

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Whoever asks is the one writer."""
        return dict.fromkeys(shards, 1)

    def leases(self) -> list[LeaseRow]:
        """There is nobody to tell of."""
        return []

    def release_leases(self, owner: str, *shards: int) -> None:
        """There is nobody to leave them to."""


# One connection to SQLite that any thread may ask; what the disk refuses is told as a refusal of ours.


class SQLiteConnection(Statements):
    """One connection; a lock lets any thread ask.

    Parameters
    ----------
    connection
        The connection.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._lock = threading.RLock()

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        try:
            with self._lock:
                return self.connection.execute(sql, values).fetchall()
        except ERRORS as error:
            if is_disk_error(error):
                raise storage_error(error) from error
            raise

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""
        try:
            with self._lock:
                cursor = self.connection.execute(sql, values)
            while True:
                with self._lock:
                    rows = cursor.fetchmany(size)
                if not rows:
                    return
                yield from rows
        except ERRORS as error:
            if is_disk_error(error):
                raise storage_error(error) from error
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all questions within the block as of one moment; an open batch, or another block, is one already."""
        with self._lock:
            if self.connection.in_transaction:
                yield
                return
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self.connection.close()


#: In the order in which they are written, with the place of the decision's id among their values.
_DEFERRED = {EVENT: None, DECISION: 0, CLOSE: -1}
#: Places among the values of `DECISION`.
_EXPIRES_AT, _WAITS, _SHOWN = 4, 9, 10
#: How many rows may wait, and how many of them one statement writes.
MOST, TOGETHER = 2048, 50
_TOGETHER = {sql: sql + f", {sql[sql.rindex('(') :]}" * (TOGETHER - 1) for sql in (EVENT, DECISION)}


class SQLiteWriteBuffer(SQLiteConnection, WriteStatements):
    """The writer's connection, with the commonest of its statements deferred.

    Parameters
    ----------
    connection
        The connection.

    Attributes
    ----------
    none_due_before
        No window of a waiting decision ends before this time.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._waiting: dict[str, list[Any]] = {sql: [] for sql in _DEFERRED}
        self._ids: set[bytes] = set()  # decisions of which something waits
        self._marks: tuple[int, ...] | None = None  # how much waited when the command began
        self._saved = False  # whether the command has its savepoint
        self.none_due_before = -math.inf

    def begin_command(self) -> None:
        """A command begins."""
        events, decisions, closings = self._waiting.values()
        self._marks, self._saved = (len(events), len(decisions), len(closings)), False

    def end_command(self) -> None:
        """The command is done."""
        if self._saved:
            self.run_now("RELEASE command")
        self._marks, self._saved = None, False

    def undo_command(self) -> None:
        """The command is undone."""
        for rows, mark in zip(self._waiting.values(), self._marks or (0,) * len(_DEFERRED), strict=True):
            del rows[mark:]
        if self._saved:
            self.run_now("ROLLBACK TO command")
            self.run_now("RELEASE command")
        self._marks, self._saved = None, False
        self.none_due_before = -math.inf

    def discard(self) -> None:
        """The batch is undone: nothing waits any more."""
        for rows in self._waiting.values():
            rows.clear()
        self._ids.clear()
        self._marks, self._saved = None, False
        self.none_due_before = -math.inf

    def flush(self) -> None:
        """Write what waits."""
        if not any(self._waiting.values()):
            return
        if self._marks is not None and not self._saved:
            for (sql, rows), mark in zip(self._waiting.items(), self._marks, strict=True):
                self._write(sql, rows[:mark])
                del rows[:mark]
            self._save()
        for sql, rows in self._waiting.items():
            self._write(sql, rows)
            rows.clear()
        self._ids.clear()

    def _save(self) -> None:
        self.run_now("SAVEPOINT command")
        self._marks, self._saved = (0,) * len(_DEFERRED), True

    def _write(self, sql: str, rows: Sequence[Any]) -> None:
        if not rows:
            return
        many, changed, written = _TOGETHER.get(sql), 0, 0
        with translate_errors():
            while many is not None and len(rows) - written >= TOGETHER:
                some = list(chain.from_iterable(rows[written : written + TOGETHER]))
                changed += self.connection.execute(many, some).rowcount
                written += TOGETHER
            if written < len(rows):
                changed += self.connection.executemany(sql, rows[written:]).rowcount
        if changed != len(rows):  # an answer to a decision that has one: nothing of the batch may last
            raise RuntimeError(f"{len(rows) - changed} of {len(rows)} rows do not fit what the store holds")

    def run_now(self, sql: str, values: Any = ()) -> None:
        """Run a statement now, before those that wait."""
        try:
            self.connection.execute(sql, values)
        except ERRORS as error:
            if is_disk_error(error):
                raise storage_error(error) from error
            raise

    def run(self, sql: str, values: Any = ()) -> None:
        """Run a statement, or let it wait."""
        rows = self._waiting.get(sql)
        if sql is DECISION and values[_WAITS] and values[_SHOWN]:
            self.none_due_before = min(self.none_due_before, values[_EXPIRES_AT])
        if rows is None:
            self._flush_before(sql)
            self.run_now(sql, values)
            return
        rows.append(values)
        if (place := _DEFERRED[sql]) is not None:
            self._ids.add(values[place])
        if len(rows) >= MOST:
            self.flush()

    def run_many(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""
        self._flush_before(sql)
        with translate_errors():
            self.connection.executemany(sql, values)

    def run_for(self, sql: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""
        self._flush_before(sql)
        return super().rows(sql, values)

    def _flush_before(self, sql: str) -> None:
        """Before a statement that changes something: what waits comes first, and a command has its savepoint."""
        if "UPDATE decisions" in sql or "INTO decisions" in sql:
            self.none_due_before = -math.inf  # the statement may open a decision again
        self.flush()
        if self._marks is not None and not self._saved:
            self._save()

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows; what waits is written first if the answer may depend on it."""
        if sql is not DECISION_BY_ID or values[0] in self._ids:
            self.flush()
        return super().rows(sql, values)

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; what waits is written first."""
        self.flush()
        return super().each(sql, values, size)


# Reading from SQLite: one connection for the writer, others for readers beside it.

_PAGES = 2048  # copied at a time


class SQLiteStoreReader(SqlStoreReader):
    """The questions, over a connection.

    Parameters
    ----------
    statements
        The connection, or the connections of all threads.
    snapshots
        The states of models without keys.
    """

    def __init__(self, statements: SQLiteConnection | ThreadConnections, snapshots: Snapshots) -> None:
        super().__init__(statements)
        self._statements = statements
        self.snapshots = snapshots

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions of this thread within the block as of one moment."""
        return self._statements.snapshot()

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is not None:
            yield from self._states_of_key(shard, key)
            return
        for found in self.snapshots.of(shard):
            yield found.state(own=found.mark == self._mark(shard, found.seq))

    def stored_bytes(self) -> int:
        """Size of the database in bytes, without the write-ahead log and the files of snapshots."""
        ((size,),) = self._rows("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(size)

    def close(self) -> None:
        """Close the connection."""
        self._statements.close()


class SQLiteFolderReader(SQLiteStoreReader):
    """A data folder, to be looked at beside a running service.

    Parameters
    ----------
    folder
        The data folder.
    still
        Whether all questions are to be answered as of one moment.
    access, database
        See `connect_reading`; the database may be elsewhere than the rest.
    """

    def __init__(
        self, folder: Path, *, still: bool = False, access: str = "mode=ro", database: Path | None = None
    ) -> None:
        self.connection = connect_reading(database or folder, access)
        super().__init__(SQLiteConnection(self.connection), Snapshots(folder))
        if still:
            self._rows("BEGIN")
            self._rows("SELECT count(*) FROM models")

    def copy(self, file: Path, passed: Callable[[int, int], None]) -> None:
        """Copy the database as it is at this moment into a new file, which only its owner can read.

        Parameters
        ----------
        file
            The file; an old one is replaced.
        passed
            Told how many pages are copied, and of how many.
        """
        file.unlink(missing_ok=True)
        data_dir.touch(file)
        with translate_errors(), closing(sqlite3.connect(file, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # who keeps it syncs what he makes of it
            self.connection.backup(
                target, pages=_PAGES, progress=lambda status, left, total: passed(total - left, total)
            )
            if target.execute("PRAGMA user_version").fetchone() == (FRAGMENTED,):
                target.execute("VACUUM")
                target.execute("PRAGMA user_version = 0")


class ThreadConnections(Statements):
    """A connection for each thread that asks, so that none waits for another.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = threading.local()
        self._all: list[SQLiteConnection] = []
        self._of_thread()  # refuses a folder that cannot be read

    def _of_thread(self) -> SQLiteConnection:
        found: SQLiteConnection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = SQLiteConnection(connect_reading(self._folder))
            self._all.append(found)
        return found

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        return self._of_thread().rows(sql, values)

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""
        return self._of_thread().each(sql, values, size)

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions of this thread within the block as of one moment."""
        return self._of_thread().snapshot()

    def close(self) -> None:
        """Close all connections."""
        while self._all:
            self._all.pop().close()


# The store in one file: SQLite in WAL mode, every commit synced, one writer.

#: A database of so many bytes is written anew at once, if it is fragmented; that takes less than half a second.
SMALL = 16 << 20
_PROBE = 32_768  # bytes; a decision on 50 candidates with 100 features takes 21,000


class SQLiteStore(SingleWriter, SqlStoreWriter):
    """The database of a data folder, for its one writer.

    Opening compares the log with its witnesses, the heads and snapshots beside it, and refuses if acknowledged events
    are gone. Files that others can read are closed to them.

    Parameters
    ----------
    folder
        The data folder; made if it is not there.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    """

    _sole = True

    def __init__(self, folder: Path, *, synchronous: str = "FULL") -> None:
        self.folder = folder
        self._heads = snapshots.Heads(folder)
        witnesses = TailCheck(folder)  # before the database, which may go on while we look
        witnesses.refuse_alone()
        data_dir.restrict(folder)
        self.connection = connect(folder, synchronous=synchronous)
        self.snapshots = Snapshots(folder)
        self._buffer = SQLiteWriteBuffer(self.connection)
        self._reads = SQLiteStoreReader(self._buffer, self.snapshots)
        super().__init__(self._buffer)
        try:
            self._refuse_torn()
            witnesses.refuse_loss(self.chain, self.floor, self._name)
            self._heads.write(self._missing_heads(witnesses))
        except BaseException as error:
            try:
                refuse_damaged(self.connection, error)
            finally:
                self.close()
            raise

    # The batch

    @property
    def in_batch(self) -> bool:
        """True if a batch is open."""
        return self.connection.in_transaction

    def begin(self) -> None:
        """Open a batch."""
        crash_point("before-begin")
        self._run("BEGIN IMMEDIATE")
        crash_point("after-begin")

    def try_begin(self) -> bool:
        """Open a batch unless another process writes just now."""
        self._run("PRAGMA busy_timeout = 0")
        try:
            self.begin()
        except StorageFailed:
            return False
        finally:
            self._run("PRAGMA busy_timeout = 5000")
        return True

    def commit(self) -> None:
        """Make the batch last: returns when it is on the disk."""
        self._buffer.flush()
        moved = self._counting.changed()
        for shard, counts in moved.items():
            self._run(COUNTS, {"shard": shard, **msgspec.structs.asdict(counts)})
        crash_point("before-commit")
        self._run("COMMIT")
        self._counting.commit()
        crash_point("after-commit")
        self._heads.write({shard: snapshots.Head(counts.seq, counts.chain) for shard, counts in moved.items()})

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.rollback()
        self._buffer.discard()
        if self.connection.in_transaction:
            self._run("ROLLBACK")

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._buffer.begin_command()
        self._counting.savepoint()

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._buffer.end_command()
        self._counting.release()

    def rollback_to_savepoint(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.rollback_to_savepoint()
        self._buffer.undo_command()

    # What is written

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event: a file, or a row that joins the open batch."""
        if key is not None:
            self._run(KEY_STATE, (shard, key, seq, time.time(), content))
            crash_point("key-state-written")
        elif (mark := self._mark(shard, seq)) is not None:
            self.snapshots.write(shard, seq, mark, content)
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: keep no state of the shard itself from before an event."""
        for found in self.snapshots.of(shard):
            if found.seq < before:
                found.path.unlink(missing_ok=True)

    def vacuum(self) -> bool:
        """Between batches: let nothing that was erased stay in the files."""
        (busy, *_) = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        if busy or not self.is_fragmented:
            return not busy
        ((pages,),), ((size,),) = self._rows("PRAGMA page_count"), self._rows("PRAGMA page_size")
        if pages * size <= SMALL:
            self.compact()
        return True

    @property
    def is_fragmented(self) -> bool:
        """True if unused parts of the file may still hold parts of rows that were erased.

        SQLite overwrites what is deleted where it lies. But when it puts the rows of a page in order, copies of them
        may stay in the unused part of the page.
        """
        return bool(self._rows("PRAGMA user_version")[0][0] == FRAGMENTED)

    def compact(self) -> None:
        """Between batches: write a file anew that is fragmented; nobody can write meanwhile."""
        if self.is_fragmented:
            self._buffer.run_now("VACUUM")
            self._buffer.run_now("PRAGMA user_version = 0")
            crash_point("file-compacted")
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget(
        self,
        shard: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, and let events of others say something else (`Store.forget`)."""
        told = super().forget(shard, key, at, places, rewrites)
        self._run(f"PRAGMA user_version = {FRAGMENTED}")
        return told

    # Reading, as the writer needs it

    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        """Read the decisions whose windows are over (`Store.due_decisions`); no statement while none can be over."""
        if now <= self._buffer.none_due_before:
            return []
        rows = super().due_decisions(now, limit)
        if not rows:
            ((first,),) = self._rows(NEXT_DUE)
            self._buffer.none_due_before = math.inf if first is None else first
        return rows

    def probe(self) -> None:
        """Write as much as an ordinary decision takes: whether the batch lasts says whether anything would."""
        self._run("INSERT OR REPLACE INTO probe VALUES (1, randomblob(?))", (_PROBE,))

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        return SQLiteStoreReader(ThreadConnections(self.folder), Snapshots(self.folder))

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment; an open batch is one already."""
        return self._reads.snapshot()

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        return self._reads.states(shard, key)

    def stored_bytes(self) -> int:
        """Size of the database in bytes, without the write-ahead log and the files of snapshots."""
        return self._reads.stored_bytes()

    def close(self) -> None:
        """Close the files."""
        self._reads.close()
        self._heads.close()

    def _missing_heads(self, witnesses: TailCheck) -> dict[int, snapshots.Head]:
        """The heads that nobody has: their file is new, was torn, or was deleted."""
        rows = self._rows("SELECT id, seq, chain FROM shards WHERE seq > 0")
        return {shard: snapshots.Head(seq, chain) for shard, seq, chain in rows if shard not in witnesses.heads}

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the counts of its shard say."""
        for shard, seq in self._rows(TORN):
            raise StorageFailed(
                f"the log of {self._name(shard)} does not end with event {seq}, the event of its head",
                f"run smidgen fsck --data {self.folder} for details; put the whole data folder back, or run"
                " smidgen restore FILE --force",
            )

    def _name(self, shard: int) -> str:
        row = self._row("SELECT m.name FROM shards s JOIN models m ON m.id = s.model WHERE s.id = ?", (shard,))
        return f"the model {row[0]!r}" if row is not None else f"the model number {shard}"
