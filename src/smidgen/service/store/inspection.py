"""What the commands look at, while a service may be running: read only, one moment for all questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from smidgen.service.models.registry import served
from smidgen.service.models.served import Served
from smidgen.service.refusals import StorageFailed, Unknown
from smidgen.service.store.log import EventLog
from smidgen.service.store.places import Place, open_store
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.protocol import Store
from smidgen.service.store.schema import FILE, NEWEST, schema
from smidgen.service.store.sql_reads import SQLReads
from smidgen.service.store.sqlite_reads import SQLiteReader


class Inspection:
    """A store as it was when it was opened; a running service is not disturbed.

    Parameters
    ----------
    where
        The service's data folder, or its database.
    access
        How SQLite is to open the file.
    database
        Where SQLite's database is, if it is not in the folder itself.
    """

    def __init__(self, where: Place, *, access: str = "mode=ro", database: Path | None = None) -> None:
        self.where = where
        self.reading = _reading(where, access, database)
        self.log = EventLog(self.reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reading.close()

    @property
    def outdated(self) -> bool:
        """Whether the tables are those of an earlier smidgen, which the next start will bring up to date."""
        return 0 < schema(self.file.connection) < NEWEST

    @property
    def file(self) -> SQLiteReader:
        """The same, of a data folder: the file that SQLite keeps."""
        if not isinstance(self.reading, SQLiteReader):
            raise StorageFailed(f"{self.where} is no data folder", "give the --data folder of a service")
        return self.reading

    def models(self) -> list[Served]:
        """The models, in the order of their making: of each its first slot, which knows the others."""
        return [model for model in served(self.reading) if model.part == 0]

    def model(self, name: str) -> Served:
        """The model of this name."""
        models = {model.name: model for model in self.models()}
        if name not in models:
            raise Unknown(f"there is no model {name!r} in {self.where}", f"there are: {', '.join(models) or 'none'}")
        return models[name]


def _reading(where: Place, access: str, database: Path | None) -> SQLReads:
    if isinstance(where, Path):
        return SQLiteReader(where, still=True, access=access, database=database)
    from smidgen.service.store.postgres_reads import PostgresReader

    return PostgresReader(Address.of(where.url))


def existing(where: Place) -> Place:
    """The place, if a service has used it; commands that only change something should not make one."""
    if not isinstance(where, Path):
        Inspection(where).reading.close()
    elif not (where / FILE).exists():
        raise StorageFailed(f"there is no database in {where}", "give the --data folder of a service")
    return where


@contextmanager
def writing(where: Place) -> Iterator[Store]:
    """The store for a small change beside a running service: waits its turn, and lasts when it returns."""
    store = open_store(where)
    try:
        store.begin()
        yield store
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()
