"""One connection to SQLite that any thread may ask; what the disk refuses is told as a refusal of ours."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

from smidgen.service.store.schema import of_disk, refusal
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sql_asking import SQLAsking


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
