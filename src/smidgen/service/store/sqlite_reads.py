"""Reading from SQLite: one connection for the writer, others for readers beside it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from smidgen.service.store import modes
from smidgen.service.store.rows import State
from smidgen.service.store.schema import connect_reading, told
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sql_reads import SQLReads
from smidgen.service.store.sqlite_asking import SQLiteAsking

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

    def states(self, slot: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is not None:
            yield from self._states_of_key(slot, key)
            return
        for found in self.snapshots.of(slot):
            yield found.state(own=found.mark == self._mark(slot, found.seq))

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
        modes.touch(file)
        with told(), closing(sqlite3.connect(file, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = OFF")  # who keeps it syncs what he makes of it
            self.connection.backup(
                target, pages=_PAGES, progress=lambda status, left, total: passed(total - left, total)
            )


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
