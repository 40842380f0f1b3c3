"""Rows of the most frequent statements that are written later and together, by the write buffer of a database."""

from __future__ import annotations

from typing import Any

from smidgen.service.storage.sql_writes import CLOSE_DECISION, INSERT_DECISION, INSERT_EVENT

#: The deferred statements, in the order in which they are written, and the index of the decision's id in the values.
_ID_PLACES = {INSERT_EVENT: None, INSERT_DECISION: 0, CLOSE_DECISION: -1}
_REQUEST = 5  # index of the app's own id in the values of `INSERT_DECISION`
#: Rows of a deferred statement.
Rows = list[tuple[str, list[Any]]]


class DeferredRows:
    """Deferred rows by statement. Those of the open command come last, and can be dropped.

    Attributes
    ----------
    ids, requests
        The decisions with deferred rows, and the app's own ids of their requests; some that were dropped may be among
        them.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[Any]] = {statement: [] for statement in _ID_PLACES}
        self._marks: list[int] | None = None  # how many rows are of earlier commands
        self.ids: set[bytes] = set()
        self.requests: set[str] = set()

    def __bool__(self) -> bool:
        return any(self._rows.values())

    def add(self, statement: str, values: Any) -> int | None:
        """Defer a row; the number of deferred rows of the statement, or None if it is not one of the deferred ones."""
        rows = self._rows.get(statement)
        if rows is None:
            return None
        rows.append(values)
        if (place := _ID_PLACES[statement]) is not None:
            self.ids.add(values[place])
        if statement is INSERT_DECISION and values[_REQUEST] is not None:
            self.requests.add(values[_REQUEST])
        return len(rows)

    def savepoint(self) -> None:
        """Begin a command."""
        self._marks = [len(rows) for rows in self._rows.values()]

    def release(self) -> None:
        """End the command."""
        self._marks = None

    def rollback_to_savepoint(self) -> None:
        """Drop the rows of the command."""
        for rows, mark in zip(self._rows.values(), self._marks or [0] * len(self._rows), strict=True):
            del rows[mark:]
        self._marks = None

    def clear(self) -> None:
        """Drop all rows."""
        for rows in self._rows.values():
            rows.clear()
        self._marks = None
        self.ids.clear()
        self.requests.clear()

    @property
    def in_command(self) -> bool:
        """True if a command is open."""
        return self._marks is not None

    def take_before_command(self) -> Rows:
        """Remove the rows of earlier commands; returns them."""
        taken: Rows = []
        for place, (statement, rows) in enumerate(self._rows.items()):
            mark = self._marks[place] if self._marks is not None else 0
            if mark:
                taken.append((statement, rows[:mark]))
                del rows[:mark]
        if self._marks is not None:
            self._marks = [0] * len(self._marks)
        return taken

    def take(self) -> Rows:
        """Remove all rows; returns them."""
        taken = [(statement, rows.copy()) for statement, rows in self._rows.items() if rows]
        for rows in self._rows.values():
            rows.clear()
        if self._marks is not None:
            self._marks = [0] * len(self._marks)
        self.ids.clear()
        self.requests.clear()
        return taken
