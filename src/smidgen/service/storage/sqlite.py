"""The SQLite store: connection, write buffer, readers.

The rows that a batch writes most, kept until somebody asks, and then written many at a time.

An event, the row of a decision, and the answer in it are the same three statements, over and over. They wait here, and
so does the savepoint of a command: one that is undone, or that is done before anything else is asked, needs none. What
is asked meanwhile is answered as if all had been written: everything goes first, but for a decision by its id, if
nothing of that decision waits.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from smidgen.service.errors import StorageFailed
from smidgen.service.storage import data_dir, snapshots
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.protocol import Reading
from smidgen.service.storage.records import LeaseRow, State, Verdict
from smidgen.service.storage.snapshots import Snapshots, Witnesses
from smidgen.service.storage.sql import DECISION_BY_ID, TORN, SQLAsking, SQLReads, SQLTelling
from smidgen.service.storage.sql_writes import CLOSE, COUNTS, DECISION, EVENT, KEY_STATE, SQLModels
from smidgen.service.storage.sqlite_schema import (
    ERRORS,
    FRAGMENTED,
    connect,
    connect_reading,
    of_disk,
    refusal,
    refuse_damaged,
    told,
)

# A store with one writer: nobody to wait for, nothing to be fenced off from.


class Sole:
    """What `smidgen.service.storage.protocol.Sharing` comes to where nobody shares."""

    @property
    def shared(self) -> bool:
        """Nobody else writes to it."""
        return False

    def enter(self, *shards: int) -> None:
        """All shards are the writer's."""

    def expect(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """What is near need not be fetched."""

    def catalogue(self) -> int:
        """The one writer knows what it changed."""
        return 0

    def kinds(self, shard: int, after: int) -> set[str]:
        """Nobody else wrote anything."""
        return set()

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Whoever asks is the one writer."""
        return dict.fromkeys(shards, 1)

    def leases(self) -> list[LeaseRow]:
        """There is nobody to tell of."""
        return []

    def leave(self, owner: str, *shards: int) -> None:
        """There is nobody to leave them to."""


# One connection to SQLite that any thread may ask; what the disk refuses is told as a refusal of ours.


class SQLiteAsking(SQLAsking):
    """Rows, over one connection; a lock lets any thread ask.

    Parameters
    ----------
    connection
        The connection.
    snapshots
        The states of models without keys.
    """

    def __init__(self, connection: sqlite3.Connection, snapshots: Snapshots) -> None:
        self.connection = connection
        self.snapshots = snapshots
        self._lock = threading.RLock()

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        try:
            with self._lock:
                return self.connection.execute(sql, values).fetchall()
        except ERRORS as error:
            if of_disk(error):
                raise refusal(error) from error
            raise

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
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
            if of_disk(error):
                raise refusal(error) from error
            raise


#: In the order in which they are written, with the place of the decision's id among their values.
_DEFERRED = {EVENT: None, DECISION: 0, CLOSE: -1}
#: How many rows may wait, and how many of them one statement writes.
MOST, TOGETHER = 2048, 50
_TOGETHER = {sql: sql + f", {sql[sql.rindex('(') :]}" * (TOGETHER - 1) for sql in (EVENT, DECISION)}


class SQLiteDeferred(SQLiteAsking, SQLTelling):
    """Statements over one connection, the commonest of them deferred.

    Parameters
    ----------
    connection, snapshots
        As of `SQLiteAsking`.
    """

    def __init__(self, connection: sqlite3.Connection, snapshots: Snapshots) -> None:
        super().__init__(connection, snapshots)
        self._waiting: dict[str, list[Any]] = {sql: [] for sql in _DEFERRED}
        self._ids: set[bytes] = set()  # decisions of which something waits
        self._marks: tuple[int, ...] | None = None  # how much waited when the command began
        self._saved = False  # whether the command has its savepoint

    def mark(self) -> None:
        """A command begins."""
        events, decisions, closings = self._waiting.values()
        self._marks, self._saved = (len(events), len(decisions), len(closings)), False

    def unmark(self) -> None:
        """The command is done."""
        if self._saved:
            self._at_once("RELEASE command")
        self._marks, self._saved = None, False

    def undone(self) -> None:
        """The command is undone."""
        for rows, mark in zip(self._waiting.values(), self._marks or (0,) * len(_DEFERRED), strict=True):
            del rows[mark:]
        if self._saved:
            self._at_once("ROLLBACK TO command")
            self._at_once("RELEASE command")
        self._marks, self._saved = None, False

    def drop(self) -> None:
        """The batch is undone: nothing waits any more."""
        for rows in self._waiting.values():
            rows.clear()
        self._ids.clear()
        self._marks, self._saved = None, False

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
        self._at_once("SAVEPOINT command")
        self._marks, self._saved = (0,) * len(_DEFERRED), True

    def _write(self, sql: str, rows: Sequence[Any]) -> None:
        if not rows:
            return
        many, changed, written = _TOGETHER.get(sql), 0, 0
        with told():
            while many is not None and len(rows) - written >= TOGETHER:
                some = list(chain.from_iterable(rows[written : written + TOGETHER]))
                changed += self.connection.execute(many, some).rowcount
                written += TOGETHER
            if written < len(rows):
                changed += self.connection.executemany(sql, rows[written:]).rowcount
        if changed != len(rows):  # an answer to a decision that has one: nothing of the batch may last
            raise RuntimeError(f"{len(rows) - changed} of {len(rows)} rows do not fit what the store holds")

    def _at_once(self, sql: str, values: Any = ()) -> None:
        try:
            self.connection.execute(sql, values)
        except ERRORS as error:
            if of_disk(error):
                raise refusal(error) from error
            raise

    def _run(self, sql: str, values: Any = ()) -> None:
        rows = self._waiting.get(sql)
        if rows is None:
            self._before()
            self._at_once(sql, values)
            return
        rows.append(values)
        if (place := _DEFERRED[sql]) is not None:
            self._ids.add(values[place])
        if len(rows) >= MOST:
            self.flush()

    def _run_many(self, sql: str, values: Sequence[Any]) -> None:
        self._before()
        with told():
            self.connection.executemany(sql, values)

    def _run_for(self, sql: str, values: Any = ()) -> list[Any]:
        self._before()
        return super()._rows(sql, values)

    def _before(self) -> None:
        """Before a statement that changes something: what waits comes first, and a command has its savepoint."""
        self.flush()
        if self._marks is not None and not self._saved:
            self._save()

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        if sql is not DECISION_BY_ID or values[0] in self._ids:
            self.flush()
        return super()._rows(sql, values)

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        self.flush()
        return super()._each(sql, values, size)


# Reading from SQLite: one connection for the writer, others for readers beside it.

_PAGES = 2048  # copied at a time


class SQLiteReads(SQLiteAsking, SQLReads):
    """The questions, over one connection; a lock lets any thread ask.

    Parameters
    ----------
    connection
        The connection.
    snapshots
        The states of models without keys.
    """

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Answer all questions within the block as of one moment; an open batch, or another block, is one already."""
        with self._lock:
            if self.connection.in_transaction:
                yield
                return
            self._rows("BEGIN")
            try:
                yield
            finally:
                self._rows("COMMIT")

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is not None:
            yield from self._states_of_key(shard, key)
            return
        for found in self.snapshots.of(shard):
            yield found.state(own=found.mark == self._mark(shard, found.seq))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self.connection.close()


class SQLiteReader(SQLiteReads):
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
        super().__init__(connect_reading(database or folder, access), Snapshots(folder))
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
        with told(), closing(sqlite3.connect(file, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # who keeps it syncs what he makes of it
            self.connection.backup(
                target, pages=_PAGES, progress=lambda status, left, total: passed(total - left, total)
            )
            if target.execute("PRAGMA user_version").fetchone() == (FRAGMENTED,):
                target.execute("VACUUM")
                target.execute("PRAGMA user_version = 0")


class SQLiteReaders(SQLiteReads):
    """The same for many threads: each has a connection of its own, so that nobody waits for somebody else's question.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = threading.local()
        self._all: list[SQLiteReader] = []
        super().__init__(self._mine().connection, Snapshots(folder))

    def _mine(self) -> SQLiteReader:
        found: SQLiteReader | None = getattr(self._own, "reader", None)
        if found is None:
            found = self._own.reader = SQLiteReader(self._folder)
            self._all.append(found)
        return found

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return self._mine()._rows(sql, values)

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        return self._mine()._each(sql, values, size)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Answer all questions of this thread within the block as of one moment."""
        with self._mine().moment():
            yield

    def close(self) -> None:
        """Close all connections."""
        while self._all:
            self._all.pop().close()


# The store in one file: SQLite in WAL mode, every commit synced, one writer.

#: A database of so many bytes is written anew at once, if it is fragmented; that takes less than half a second.
SMALL = 16 << 20
_PROBE = 32_768  # bytes; a decision on 50 candidates with 100 features takes 21,000


class SQLiteStore(Sole, SQLiteDeferred, SQLiteReads, SQLModels):
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
        witnesses = Witnesses(folder)  # before the database, which may go on while we look
        witnesses.refuse_alone()
        data_dir.tighten(folder)
        SQLiteDeferred.__init__(self, connect(folder, synchronous=synchronous), Snapshots(folder))
        SQLModels.__init__(self)
        try:
            self._refuse_torn()
            witnesses.refuse_loss(self.chain, self.floor, self._name)
            self._heads.write(self._unseen(witnesses))
        except BaseException as error:
            try:
                refuse_damaged(self.connection, error)
            finally:
                self.close()
            raise

    # The batch

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        return self.connection.in_transaction

    def begin(self) -> None:
        """Open a batch."""
        reach("before-begin")
        self._run("BEGIN IMMEDIATE")
        reach("after-begin")

    def begin_at_once(self) -> bool:
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
        self.flush()
        moved = self._counting.moved()
        for shard, counts in moved.items():
            self._run(COUNTS, {"shard": shard, **msgspec.structs.asdict(counts)})
        reach("before-commit")
        self._run("COMMIT")
        self._counting.keep()
        reach("after-commit")
        self._heads.write({shard: snapshots.Head(counts.seq, counts.chain) for shard, counts in moved.items()})

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.restore()
        self.drop()
        if self.connection.in_transaction:
            self._run("ROLLBACK")

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self.mark()
        self._counting.mark()

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self.unmark()
        self._counting.release()

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.back()
        self.undone()

    # What is written

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event: a file, or a row that joins the open batch."""
        if key is not None:
            self._run(KEY_STATE, (shard, key, seq, time.time(), content))
            reach("key-state-written")
        elif (mark := self._mark(shard, seq)) is not None:
            self.snapshots.take(shard, seq, mark, content)
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: keep no state of the shard itself from before an event."""
        for found in self.snapshots.of(shard):
            if found.seq < before:
                found.path.unlink(missing_ok=True)

    def cleanse(self) -> bool:
        """Between batches: let nothing that was erased stay in the files."""
        (busy, *_) = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        if busy or not self.fragmented:
            return not busy
        ((pages,),), ((size,),) = self._rows("PRAGMA page_count"), self._rows("PRAGMA page_size")
        if pages * size <= SMALL:
            self.compact()
        return True

    @property
    def fragmented(self) -> bool:
        """Whether unused parts of the file may still hold parts of rows that were erased.

        SQLite overwrites what is deleted where it lies. But when it puts the rows of a page in order, copies of them
        may stay in the unused part of the page.
        """
        return bool(self._rows("PRAGMA user_version")[0][0] == FRAGMENTED)

    def compact(self) -> None:
        """Between batches: write a file anew that is fragmented; nobody can write meanwhile."""
        if self.fragmented:
            self._at_once("VACUUM")
            self._at_once("PRAGMA user_version = 0")
            reach("file-compacted")
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget(
        self,
        shard: int,
        key: str,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
    ) -> tuple[int, Verdict]:
        """Erase the events of a key, and let events of others say something else (`Store.forget`)."""
        told = super().forget(shard, key, at, places, rewrites)
        self._run(f"PRAGMA user_version = {FRAGMENTED}")
        return told

    # Reading, as the writer needs it

    def probe(self) -> None:
        """Write as much as an ordinary decision takes: whether the batch lasts says whether anything would."""
        self._run("INSERT OR REPLACE INTO probe VALUES (1, randomblob(?))", (_PROBE,))

    def reader(self) -> Reading:
        """A reading view of its own."""
        return SQLiteReaders(self.folder)

    def close(self) -> None:
        """Close the files."""
        super().close()
        self._heads.close()

    def _unseen(self, witnesses: Witnesses) -> dict[int, snapshots.Head]:
        """The heads that nobody has: their file is new, was torn, or was deleted."""
        rows = self._rows("SELECT id, seq, chain FROM shards WHERE seq > 0")
        return {shard: snapshots.Head(seq, chain) for shard, seq, chain in rows if shard not in witnesses.heads}

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the counts of its shard say."""
        for shard, seq in self._rows(TORN):
            raise StorageFailed(
                f"the log of {self._name(shard)} does not end with event {seq}, as the database says elsewhere",
                f"smidgen fsck --data {self.folder} tells more; put the whole data folder back, or smidgen restore a"
                " backup with --force",
            )

    def _name(self, shard: int) -> str:
        row = self._row("SELECT m.name FROM shards s JOIN models m ON m.id = s.model WHERE s.id = ?", (shard,))
        return f"the model {row[0]!r}" if row is not None else f"the model number {shard}"
