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
from smidgen.service.store.protocol import Store
from smidgen.service.store.schema import FILE, NEWEST, schema
from smidgen.service.store.sqlite import SQLiteStore
from smidgen.service.store.sqlite_reads import SQLiteReader


class Inspection:
    """A data folder as it was when it was opened; a running service is not disturbed.

    Parameters
    ----------
    folder
        The service's data folder.
    access
        How SQLite is to open the file.
    database
        Where the database is, if it is not in the folder itself.
    """

    def __init__(self, folder: Path, *, access: str = "mode=ro", database: Path | None = None) -> None:
        self.folder = folder
        self.reading = SQLiteReader(folder, still=True, access=access, database=database)
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
        return 0 < schema(self.reading.connection) < NEWEST

    def models(self) -> list[Served]:
        """The models, in the order of their making."""
        return served(self.reading)

    def model(self, name: str) -> Served:
        """The model of this name."""
        models = {model.name: model for model in self.models()}
        if name not in models:
            raise Unknown(f"there is no model {name!r} in {self.folder}", f"there are: {', '.join(models) or 'none'}")
        return models[name]


def existing(folder: Path) -> Path:
    """The folder, if a service has used it; commands that only change something should not make one."""
    if not (folder / FILE).exists():
        raise StorageFailed(f"there is no database in {folder}", "give the --data folder of a service")
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[Store]:
    """The store for a small change beside a running service: waits its turn, and lasts when it returns."""
    store = SQLiteStore(folder)
    try:
        store.begin()
        yield store
        store.commit()
    except BaseException:
        store.rollback()
        raise
    finally:
        store.close()
