"""Reading a database of the unreleased 0.1: schema 1, bodies of JSON."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.rows import TokenRow
from smidgen.service.store.schema import FILE, schema


class OldModel(NamedTuple):
    """A row of the table of models."""

    id: int
    name: str
    body: bytes
    created_at: float
    archived_at: float | None


class OldEvent(NamedTuple):
    """An event with the row of its decision, if it is about one.

    Attributes
    ----------
    seq, type, decision, key, at
        The event's head.
    body
        The fields of its JSON.
    row
        The decision's row, by the names of its columns.
    """

    seq: int
    type: str
    decision: str | None
    key: str | None
    at: float
    body: dict[str, Any]
    row: dict[str, Any]


class OldDatabase:
    """A database of 0.1, opened for reading.

    Parameters
    ----------
    folder
        The data folder.
    mend
        Whether what a crash has left unfinished may be put in order; else the files stay as they are.
    """

    def __init__(self, folder: Path, *, mend: bool = False) -> None:
        self.path = folder / FILE
        if not self.path.exists():
            raise StorageFailed(f"there is no database in {folder}", "give the --data folder of a service")
        access = f"{self.path.absolute().as_uri()}?mode={'rw' if mend else 'ro'}"
        self._connection = sqlite3.connect(access, uri=True, isolation_level=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def schema(self) -> int:
        """The number of its schema."""
        return schema(self._connection)

    def models(self) -> list[OldModel]:
        """The models in the order of their making."""
        sql = "SELECT id, name, body, created_at, archived_at FROM models ORDER BY id"
        return [OldModel(*row) for row in self._connection.execute(sql)]

    def events(self, model: int) -> Iterator[OldEvent]:
        """The events of a model in order."""
        sql = """
            SELECT e.seq, e.type, e.decision, e.key, e.at, e.body, x.expires_at, x.request_id, x.request_hash,
                x.explored, x.forwarded, x.feedback_hash, x.measure, x.position
            FROM events e LEFT JOIN decisions x ON x.id = e.decision WHERE e.model = ? ORDER BY e.seq
        """
        names = (
            "expires_at",
            "request",
            "request_hash",
            "explored",
            "forwarded",
            "feedback_hash",
            "measure",
            "position",
        )
        for seq, type, decision, key, at, body, *row in self._connection.execute(sql, (model,)):
            fields = msgspec.json.decode(body)
            yield OldEvent(seq, type, decision, key, at, fields, dict(zip(names, row, strict=True)))

    def tokens(self) -> list[TokenRow]:
        """All tokens."""
        sql = "SELECT id, hash, scopes, model, created_at, revoked_at FROM tokens ORDER BY created_at"
        return [TokenRow(*row) for row in self._connection.execute(sql)]


def settle(folder: Path) -> None:
    """Bring what is still in the write-ahead log into the file itself."""
    connection = sqlite3.connect(folder / FILE, isolation_level=None)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        connection.close()
