"""The SQLite store: connections, the write buffer, and the store.

An event, the row of a decision and the feedback in it are the same three statements again and again. The write buffer
defers them, and runs each for many rows at a time. It defers the savepoint of a command too: a command that is undone,
or finished, before anything else is asked needs none. A query sees what was deferred: everything is written first,
except before the query of a decision by its id, if nothing of that decision is deferred.
"""

from __future__ import annotations

import math
import os
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
from smidgen.service.storage import data_dir, snapshots, sql, sql_writes
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.deferred_rows import DeferredRows
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.reader import PublishedStates, SqlStoreReader
from smidgen.service.storage.records import LeaseRow, State, WorkerRow, WriteResult
from smidgen.service.storage.snapshots import Snapshots, TailCheck
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
from smidgen.service.storage.store import SqlStore
from smidgen.service.storage.transitions import LiveCounts
from smidgen.service.storage.writer import SqlStoreWriter


class SQLiteConnection:
    """A connection that any thread may use, one at a time. Refusals of the disk are raised as `StorageFailed`.

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
        """The rows one by one; ``size`` of them are fetched at a time."""
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
        """Answer all queries within the block as of one moment; an open batch, or another block, is one already."""
        with self._lock:
            if self.connection.in_transaction:
                yield
                return
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    def stored_bytes(self) -> int:
        """Size of the database in bytes, without the write-ahead log and the files of snapshots."""
        ((size,),) = self.rows(sql.SQLITE_BYTES)
        return int(size)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self.connection.close()


#: Indexes among the values of `INSERT_DECISION`.
_EXPIRES_AT, _WAITS, _SHOWN = 4, 9, 10
#: How many rows are deferred at most, and how many of them one statement writes.
MOST, TOGETHER = 2048, 50
_TOGETHER = {
    insert: insert + f", {insert[insert.rindex('(') :]}" * (TOGETHER - 1)
    for insert in (sql_writes.INSERT_EVENT, sql_writes.INSERT_DECISION)
}


class SQLiteWriteBuffer(SQLiteConnection):
    """The writer's connection, which defers its most frequent statements.

    Parameters
    ----------
    connection
        The connection.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._deferred = DeferredRows()
        self._saved = False  # whether the command has its savepoint
        self._none_due_before = -math.inf  # no decision that is to be learned from expires before this time

    def begin_command(self) -> None:
        """Begin a command."""
        self._deferred.savepoint()
        self._saved = False

    def end_command(self) -> None:
        """End the command."""
        if self._saved:
            self.run_now("RELEASE command")
        self._deferred.release()
        self._saved = False

    def undo_command(self) -> None:
        """Undo the command."""
        self._deferred.rollback_to_savepoint()
        if self._saved:
            self.run_now("ROLLBACK TO command")
            self.run_now("RELEASE command")
        self._saved = False
        self._none_due_before = -math.inf

    def discard(self) -> None:
        """Undo the batch: drop all deferred rows."""
        self._deferred.clear()
        self._saved = False
        self._none_due_before = -math.inf

    def flush(self) -> None:
        """Write the deferred rows."""
        if not self._deferred:
            return
        if self._deferred.in_command and not self._saved:
            for statement, rows in self._deferred.take_before_command():
                self._write(statement, rows)
            self._save()
        for statement, rows in self._deferred.take():
            self._write(statement, rows)

    def _save(self) -> None:
        self.run_now("SAVEPOINT command")
        self._saved = True

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
        if changed != len(rows):  # feedback of a decision that has some: nothing of the batch may last
            raise RuntimeError(f"{len(rows) - changed} of {len(rows)} rows do not fit what the store holds")

    def run_now(self, sql: str, values: Any = ()) -> None:
        """Run a statement now, before the deferred ones."""
        try:
            self.connection.execute(sql, values)
        except ERRORS as error:
            if is_disk_error(error):
                raise storage_error(error) from error
            raise

    def run(self, statement: str, values: Any = ()) -> None:
        """Run a statement, or defer it."""
        if statement is sql_writes.INSERT_DECISION and values[_WAITS] and values[_SHOWN]:
            self._none_due_before = min(self._none_due_before, values[_EXPIRES_AT])
        count = self._deferred.add(statement, values)
        if count is None:
            self._flush_before(statement)
            self.run_now(statement, values)
        elif count >= MOST:
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
        """Before another statement that writes: write the deferred rows, and set the savepoint of the command."""
        if "UPDATE decisions" in sql or "INTO decisions" in sql:
            self._none_due_before = -math.inf  # the statement may reopen a decision
        self.flush()
        if self._deferred.in_command and not self._saved:
            self._save()

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """All rows; the deferred rows are written first if the answer may depend on them."""
        if query is sql.DUE_DECISIONS and values[0] <= self._none_due_before:
            return []
        if query is not sql.DECISION_BY_ID or values[0] in self._deferred.ids:
            self.flush()
        rows = super().rows(query, values)
        if query is sql.DUE_DECISIONS and not rows:
            ((first,),) = super().rows(sql.NEXT_DUE)
            self._none_due_before = math.inf if first is None else first
        return rows

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; the deferred rows are written first."""
        self.flush()
        return super().each(sql, values, size)


_PAGES = 2048  # copied at a time


class SQLiteFolder(SQLiteConnection):
    """A read-only connection to a data folder, which a service may be using.

    Parameters
    ----------
    folder
        The data folder.
    access, database
        See `connect_reading`; the database may be in another folder than the rest.
    """

    def __init__(self, folder: Path, access: str = "mode=ro", database: Path | None = None) -> None:
        super().__init__(connect_reading(database or folder, access))

    def copy(self, file: Path, passed: Callable[[int, int], None]) -> None:
        """Copy the database as of this moment into a new file, which only its owner can read.

        Parameters
        ----------
        file
            The file; an old one is replaced.
        passed
            Called with the number of pages copied, and of all pages.
        """
        file.unlink(missing_ok=True)
        data_dir.touch(file)
        with translate_errors(), closing(sqlite3.connect(file, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # the caller syncs the file
            self.connection.backup(
                target, pages=_PAGES, progress=lambda status, left, total: passed(total - left, total)
            )
            if target.execute("PRAGMA user_version").fetchone() == (FRAGMENTED,):
                target.execute("VACUUM")
                target.execute("PRAGMA user_version = 0")


class ThreadConnections:
    """A connection for each thread that reads, so that none waits for another.

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
        """Answer all queries of this thread within the block as of one moment."""
        return self._of_thread().snapshot()

    def stored_bytes(self) -> int:
        """Size of the database in bytes, without the write-ahead log and the files of snapshots."""
        return self._of_thread().stored_bytes()

    def close(self) -> None:
        """Close all connections."""
        while self._all:
            self._all.pop().close()


def _states_in(files: Snapshots) -> PublishedStates:
    def published(shard: int, mark: Callable[[int, int], str | None]) -> Iterator[State]:
        for found in files.of(shard):
            yield found.state(own=found.mark == mark(shard, found.seq))

    return published


def open_folder_reader(
    folder: Path, *, still: bool = False, access: str = "mode=ro", database: Path | None = None
) -> SqlStoreReader:
    """Open a data folder for reading, which a service may be using.

    Parameters
    ----------
    folder, access, database
        As of `SQLiteFolder`.
    still
        Whether all queries are answered as of one moment.
    """
    connection = SQLiteFolder(folder, access, database)
    if still:
        connection.rows("BEGIN")
        connection.rows(sql.MODEL_COUNT)
    return SqlStoreReader(connection, _states_in(Snapshots(folder)))


class SingleWriter:
    """Implements `smidgen.service.storage.protocol.SharedWriting` for a store with one writer."""

    @property
    def shared(self) -> bool:
        """Always False."""
        return False

    def trust(self, owns: Callable[[int], bool]) -> None:
        """Do nothing: the writer knows all that is written."""

    def trusts(self, shard: int) -> bool:
        """Always True."""
        return True

    def acquire(self, *shards: int) -> None:
        """Do nothing: the writer holds all shards."""

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Do nothing: local rows need not be fetched."""

    def catalogue_number(self, *, now: bool = False) -> int:
        """Always 0: the writer knows its changes."""
        return 0

    def event_types(self, shard: int, after: int) -> set[str]:
        """Always empty: nobody else writes."""
        return set()

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Grant all shards."""
        return dict.fromkeys(shards, 1)

    def leases(self) -> list[LeaseRow]:
        """Always empty."""
        return []

    def release_leases(self, owner: str, *shards: int) -> None:
        """Do nothing: nobody waits for them."""

    def join(self, worker: str, addresses: str, seconds: float) -> list[WorkerRow]:
        """The only worker."""
        return [WorkerRow(worker, addresses)]

    def leave(self, worker: str) -> None:
        """Do nothing."""

    def announce(self) -> None:
        """Do nothing: there are no other workers."""

    def wait_for_announcement(self, seconds: float) -> bool:
        """Wait; there is never one."""
        time.sleep(seconds)
        return False

    def secret(self, name: str) -> bytes:
        """Not kept: there are no other workers to share it with."""
        return b""


class _NoLocks:
    """Implements `smidgen.service.storage.writer.ShardLocks` for a store with one writer."""

    def acquire(self, *shards: int) -> None:
        """Do nothing: the writer holds all shards."""

    def is_held(self, shard: int) -> bool:
        """Always True."""
        return True

    def on_new_shard(self, shard: int) -> None:
        """Do nothing."""

    def change_catalogue(self, name: str | None = None) -> None:
        """Do nothing: nobody else has taken the name."""


#: A fragmented database of at most this size is compacted at once, which takes less than half a second.
SMALL = 16 << 20
_PROBE = 32_768  # bytes; a decision on 50 candidates with 100 features takes 21,000
_SPACE = 1 << 20  # bytes; with less, only a write shows whether there is enough


class SQLiteStore(SingleWriter, SqlStore):
    """The database of a data folder, for its one writer: SQLite in WAL mode, every commit synced.

    Opening compares the log with the checkpoint files next to the database (heads and snapshots), and fails if
    acknowledged events are lost. It removes the permissions of others on the files.

    Parameters
    ----------
    folder
        The data folder; it is created if it does not exist.
    synchronous
        SQLite's setting; anything but FULL can lose acknowledged events.
    """

    def __init__(self, folder: Path, *, synchronous: str = "FULL") -> None:
        self.folder = folder
        self._heads = snapshots.Heads(folder)
        tail = TailCheck(folder)  # before the database, which may grow meanwhile
        tail.refuse_alone()
        data_dir.restrict(folder)
        self.connection = connect(folder, synchronous=synchronous)
        self.snapshots = Snapshots(folder)
        self._buffer = SQLiteWriteBuffer(self.connection)
        self._counting = LiveCounts()
        self._reads = SqlStoreReader(self._buffer, _states_in(self.snapshots))
        self._writes = SqlStoreWriter(self._buffer, self._reads, self._counting, _NoLocks(), trusts=self.trusts)
        super().__init__(self._reads, self._writes)
        self.write_checkpoint, self.purge = self._writes.write_checkpoint, self._writes.purge
        try:
            self._refuse_torn()
            tail.refuse_loss(self.chain, self.floor, self._name)
            self._heads.write(self._missing_heads(tail))
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
        self._buffer.run("BEGIN IMMEDIATE")
        crash_point("after-begin")

    def try_begin(self) -> bool:
        """Open a batch unless another process writes just now."""
        self._buffer.run("PRAGMA busy_timeout = 0")
        try:
            self.begin()
        except StorageFailed:
            return False
        finally:
            self._buffer.run("PRAGMA busy_timeout = 5000")
        return True

    def commit(self) -> None:
        """Commit the batch; returns when it is on the disk."""
        self._buffer.flush()
        moved = self._counting.changed()
        for shard, counts in moved.items():
            self._buffer.run(sql_writes.UPDATE_COUNTS, {"shard": shard, **msgspec.structs.asdict(counts)})
        crash_point("before-commit")
        self._buffer.run("COMMIT")
        self._counting.commit()
        crash_point("after-commit")
        self._heads.write({shard: snapshots.Head(counts.seq, counts.chain) for shard, counts in moved.items()})

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.rollback()
        self._buffer.discard()
        if self.connection.in_transaction:
            self._buffer.run("ROLLBACK")

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._buffer.begin_command()
        self._counting.savepoint()

    def release(self) -> None:
        """End the command."""
        self._buffer.end_command()
        self._counting.release()

    def rollback_to_savepoint(self) -> None:
        """Undo the command and nothing else of the batch."""
        self._counting.rollback_to_savepoint()
        self._buffer.undo_command()

    # Writing

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep the state of a learner after an event: a file, or for a key a row that joins the open batch."""
        if key is not None:
            self._buffer.run(sql_writes.UPSERT_KEY_STATE, (shard, key, seq, time.time(), content))
            crash_point("key-state-written")
        elif (mark := self._reads.mark(shard, seq)) is not None:
            self.snapshots.write(shard, seq, mark, content)
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: delete the states of the shard itself from before an event."""
        for found in self.snapshots.of(shard):
            if found.seq < before:
                found.path.unlink(missing_ok=True)

    def vacuum(self) -> bool:
        """Between batches: remove erased data from the files."""
        (busy, *_) = self._buffer.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        if busy or not self.is_fragmented:
            return not busy
        ((pages,),), ((size,),) = self._buffer.rows("PRAGMA page_count"), self._buffer.rows("PRAGMA page_size")
        if pages * size <= SMALL:
            self.compact()
        return True

    @property
    def is_fragmented(self) -> bool:
        """True if unused parts of the file may still hold parts of rows that were erased.

        SQLite overwrites what is deleted where it lies. But when it puts the rows of a page in order, copies of them
        may stay in the unused part of the page.
        """
        return bool(self._buffer.rows("PRAGMA user_version")[0][0] == FRAGMENTED)

    def compact(self) -> None:
        """Between batches: rewrite a fragmented file; nobody can write meanwhile."""
        if self.is_fragmented:
            self._buffer.run_now("VACUUM")
            self._buffer.run_now("PRAGMA user_version = 0")
            crash_point("file-compacted")
            self._buffer.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget(
        self,
        shard: int,
        key: str | None,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
        own: Sequence[int] = (),
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, and rewrite events of others (`Store.forget`)."""
        result = self._events.forget(shard, key, at, places, rewrites, own)
        self._buffer.run(f"PRAGMA user_version = {FRAGMENTED}")
        return result

    def probe(self) -> None:
        """Write as many bytes as an ordinary decision: the commit shows whether the disk accepts writes."""
        self._buffer.run(sql_writes.SQLITE_PROBE, (_PROBE,))

    def seems_writable(self) -> bool:
        """Ask the file system whether it is writable and has space."""
        try:
            disk = os.statvfs(self.folder)
        except OSError:
            return False
        return not disk.f_flag & os.ST_RDONLY and disk.f_bavail * disk.f_frsize > _SPACE

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        return SqlStoreReader(ThreadConnections(self.folder), _states_in(Snapshots(self.folder)))

    def close(self) -> None:
        """Close the files."""
        self._buffer.close()
        self._heads.close()

    def _missing_heads(self, tail: TailCheck) -> dict[int, snapshots.Head]:
        """Log heads that the file of heads lacks: it is new, was torn, or was deleted."""
        rows = self._buffer.rows(sql.LOG_HEADS)
        return {shard: snapshots.Head(seq, chain) for shard, seq, chain in rows if shard not in tail.heads}

    def _refuse_torn(self) -> None:
        """Refuse a log whose last event is not that of the counts of its shard."""
        for shard, seq in self._buffer.rows(sql.TORN_LOGS):
            raise StorageFailed(
                f"the log of {self._name(shard)} does not end with event {seq}, the event of its head",
                f"run smidgen fsck --data {self.folder} for details; put the whole data folder back, or run"
                " smidgen restore FILE --force",
            )

    def _name(self, shard: int) -> str:
        rows = self._buffer.rows(sql.MODEL_OF_SHARD, (shard,))
        return f"the model {rows[0][0]!r}" if rows else f"the model number {shard}"
