"""How SQL is asked: the one door between the store's statements and whichever database runs them.

Statements are written once, in SQLite's spelling (``?``, ``?1`` or ``:name`` for values, ``INDEXED BY`` where the plan
matters) and as far as both understand it. `smidgen.service.store.postgres_dialect` says what differs elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any


class SQLAsking(ABC):
    """Rows that answer a statement."""

    @abstractmethod
    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""

    @abstractmethod
    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""

    def _row(self, sql: str, values: Any = ()) -> Any:
        """The first row, or None."""
        rows = self._rows(sql, values)
        return rows[0] if rows else None


class SQLTelling(SQLAsking):
    """Statements that change something, within the open batch."""

    @abstractmethod
    def _run(self, sql: str, values: Any = ()) -> None:
        """Run a statement whose rows nobody needs; a database far away may get it later, but in order."""

    @abstractmethod
    def _run_many(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""

    @abstractmethod
    def _run_for(self, sql: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""

    @abstractmethod
    def enter(self, *slots: int) -> None:
        """Take slots for the open batch, where others write too."""
