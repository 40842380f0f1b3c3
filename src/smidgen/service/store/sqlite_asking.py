"""One connection to SQLite that any thread may ask; what the disk refuses is told as a refusal of ours."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from smidgen.service.store.schema import of_disk, refusal, told
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sql_asking import SQLAsking, SQLTelling


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
        except sqlite3.Error as error:
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
        except sqlite3.Error as error:
            if of_disk(error):
                raise refusal(error) from error
            raise


class SQLiteTelling(SQLiteAsking, SQLTelling):
    """Statements that change something, over the same connection: SQLite runs each at once."""

    def _run(self, sql: str, values: Any = ()) -> None:
        try:
            self.connection.execute(sql, values)
        except sqlite3.Error as error:
            if of_disk(error):
                raise refusal(error) from error
            raise

    def _run_many(self, sql: str, values: Sequence[Any]) -> None:
        with told():
            self.connection.executemany(sql, values)

    def _run_for(self, sql: str, values: Any = ()) -> list[Any]:
        return self._rows(sql, values)
