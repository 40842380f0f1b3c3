"""The rows that a batch writes most, kept until somebody asks, and then written many at a time.

An event, the row of a decision, and the answer in it are the same three statements, over and over. They wait here, and
so does the savepoint of a command: one that is undone, or that is done before anything else is asked, needs none. What
is asked meanwhile is answered as if all had been written: everything goes first, but for a decision by its id, if
nothing of that decision waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from smidgen.service.store.schema import of_disk, refusal, told
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sql_asking import SQLTelling
from smidgen.service.store.sql_reads import DECISION_BY_ID
from smidgen.service.store.sql_writes import CLOSE, DECISION, EVENT
from smidgen.service.store.sqlite_asking import SQLiteAsking

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
        except sqlite3.Error as error:
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
