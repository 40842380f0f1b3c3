"""Address of a store: a data folder, or a database URL; and the function that opens it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from smidgen.errors import InvalidArgument
from smidgen.service.storage.postgres_address import SCHEMES, Address
from smidgen.service.storage.sqlite import SQLiteStore

if TYPE_CHECKING:
    from smidgen.service.storage.postgres import PostgresStore

    #: A store that was opened by its place.
    Opened = SQLiteStore | PostgresStore


class Database(NamedTuple):
    """A database by its URL."""

    url: str

    def __str__(self) -> str:
        """For people: without the password."""
        return str(Address.of(self.url))


Place = Path | Database


def parse_address(text: str | Path | Database) -> Place:
    """Parse the address of a store.

    Parameters
    ----------
    text
        A folder; ``sqlite:FOLDER`` or ``sqlite:///FOLDER`` (an absolute one has a fourth slash); or
        ``postgresql://…``.

    Examples
    --------
    >>> folder = parse_address("/var/lib/smidgen")
    >>> parse_address("sqlite:////var/lib/smidgen") == parse_address("sqlite:/var/lib/smidgen") == folder
    True
    >>> print(parse_address("postgresql://ann:secret@db.example/smidgen"))
    postgresql://db.example/smidgen (schema smidgen)
    """
    if isinstance(text, Path | Database):
        return text
    if text.startswith(SCHEMES):
        return Database(text)
    if text.startswith("sqlite:"):
        rest = text.removeprefix("sqlite:")
        rest = rest.removeprefix("///") if rest.startswith("///") else rest
        if not rest or rest.startswith("//"):
            raise InvalidArgument(f"{text!r} does not name a folder", "write sqlite:FOLDER or sqlite:///FOLDER")
        return Path(rest)
    if not text or "://" in text:
        raise InvalidArgument(
            f"{text.split('://')[0]!r} is not a known kind of store",
            "give a folder, or postgresql://user@host/database",
        )
    return Path(text)


def open_store(where: Place | str, *, synchronous: str = "FULL") -> Opened:
    """Open a store for writing; it is made if it is not there.

    Parameters
    ----------
    where
        See `place`.
    synchronous
        SQLite's setting, of a folder.
    """
    where = parse_address(where)
    if isinstance(where, Path):
        return SQLiteStore(where, synchronous=synchronous)
    from smidgen.service.storage.postgres import PostgresStore

    return PostgresStore(where.url)
