"""A read-only view of a store, for commands."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from smidgen.checks import suggest
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.registry import load_models
from smidgen.service.errors import Busy, StorageFailed, Unknown
from smidgen.service.storage.address import Place, open_store, parse_address
from smidgen.service.storage.data_dir import in_use
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.protocol import Store
from smidgen.service.storage.reader import SqlStoreReader
from smidgen.service.storage.sqlite import SQLiteFolder, open_folder_reader
from smidgen.service.storage.sqlite_schema import FILE, NEWEST, connect, no_data, refuse_damaged, schema_number

# What the commands look at, while a service may be running: read only, one moment for all questions.


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

    def __init__(self, where: Place | str, *, access: str = "mode=ro", database: Path | None = None) -> None:
        self.where = parse_address(where)
        self.reading = _reading(self.where, access, database)
        self.log = EventLog(self.reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(self.reading.statements, SQLiteFolder):
                refuse_damaged(self.reading.statements.connection, error)
        finally:
            self.reading.close()

    @property
    def is_outdated(self) -> bool:
        """True if the tables are those of an earlier smidgen, which the next start will bring up to date."""
        return 0 < schema_number(self.file.connection) < NEWEST

    @property
    def file(self) -> SQLiteFolder:
        """The database file of a data folder."""
        if not isinstance(self.reading.statements, SQLiteFolder):
            raise StorageFailed(f"{self.where} is not a data folder", "give the data folder of a service with --data")
        return self.reading.statements

    def models(self) -> list[ServedModel]:
        """The models, in the order of their making: of each its first shard, which knows the others."""
        return [model for model in load_models(self.reading) if model.part == 0]

    def model(self, name: str) -> ServedModel:
        """The model of this name."""
        models = {model.name: model for model in self.models()}
        if name not in models:
            raise Unknown(
                f'there is no model "{name}" in {self.where}',
                suggest(name, models, "it has no models yet: smidgen models create"),
            )
        return models[name]


def _reading(where: Place, access: str, database: Path | None) -> SqlStoreReader:
    if isinstance(where, Path):
        return open_folder_reader(where, still=True, access=access, database=database)
    from smidgen.service.storage.postgres import open_snapshot_reader

    return open_snapshot_reader(Address.of(where.url))


def require_existing(where: Place) -> Place:
    """The place, if a service has used it; commands that only change something should not make one."""
    if not isinstance(where, Path):
        Inspection(where).reading.close()
    elif not (where / FILE).exists():
        raise no_data(where)
    return where


@contextmanager
def open_for_change(where: Place) -> Iterator[Store]:
    """The store, opened for a small change while a service may be running. Waits for the lock; durable on return."""
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


# A data folder looked at without changing a byte of it: while a service holds it, or after its end.

T = TypeVar("T")
_TIMES = 3
_BETWEEN = "locking protocol"  # how SQLite says that shared memory must be put in order first
_Stamp = tuple[tuple[int, int, int] | None, ...]


def query_offline(folder: Path, question: Callable[[Inspection], T]) -> T:
    """The answer to a question about a data folder that stays as it is.

    If somebody begins to write to it meanwhile, it is asked again.

    Parameters
    ----------
    folder
        The data folder.
    question
        Takes the folder, as of one moment.
    """
    for _ in range(_TIMES):
        running, before = in_use(folder), _stamp(folder)
        try:
            with open_read_only(folder, running=running) as seen:
                answer = question(seen)
        except StorageFailed:
            if _stamp(folder) != before and not running:
                continue
            raise
        if running or _stamp(folder) == before:
            return answer
    raise Busy(f"{folder} is being written to", "try again, or stop the process that writes to it")


@contextmanager
def open_read_only(folder: Path, *, running: bool) -> Iterator[Inspection]:
    """The folder as it is.

    Parameters
    ----------
    folder
        The data folder.
    running
        Whether a service holds it. Its shared memory tells which pages are current; without it there is nobody to ask,
        and nobody to disturb: then SQLite may neither lock anything nor put the write-ahead log in order.
    """
    with _open_unchanged(folder, running=running) as seen:
        if not seen.is_outdated:
            yield seen
            return
        with _migrated_copy(seen) as copy, Inspection(folder, database=copy) as seen_there:
            yield seen_there


@contextmanager
def _open_unchanged(folder: Path, *, running: bool) -> Iterator[Inspection]:
    wal, shared = folder / f"{FILE}-wal", folder / f"{FILE}-shm"
    if running:
        access = "mode=ro"
    elif not wal.exists() or not wal.stat().st_size:
        access = "mode=ro&immutable=1"
    elif shared.exists() and (seen := _open_with_shm(folder)) is not None:
        with seen:
            yield seen
        return
    else:
        with _copy_to_temporary(folder, wal) as copy, Inspection(folder, database=copy) as seen:
            yield seen
        return
    with Inspection(folder, access=access) as seen:
        yield seen


def _open_with_shm(folder: Path) -> Inspection | None:
    """The folder with the shared memory that a kill has left; None if it was left in the midst of a change."""
    try:
        return Inspection(folder, access="mode=ro&readonly_shm=1")
    except StorageFailed as error:
        if _BETWEEN in error.problem:
            return None
        raise


@contextmanager
def _migrated_copy(seen: Inspection) -> Iterator[Path]:
    """The database of an earlier smidgen in a temporary place, with the tables of today."""
    with tempfile.TemporaryDirectory(prefix="smidgen-") as place:
        seen.file.copy(Path(place) / FILE, lambda done, of: None)
        connect(Path(place), synchronous="OFF").close()
        yield Path(place)


@contextmanager
def _copy_to_temporary(folder: Path, wal: Path) -> Iterator[Path]:
    """Database and write-ahead log in a temporary place, where SQLite may make what it needs to read them."""
    with tempfile.TemporaryDirectory(prefix="smidgen-") as place:
        try:
            shutil.copyfile(folder / FILE, Path(place) / FILE)
            shutil.copyfile(wal, Path(place) / wal.name)
        except OSError as error:
            raise StorageFailed(
                f"{folder} cannot be read: {error.strerror}",
                "smidgen needs a temporary copy: set TMPDIR to a folder with enough free space",
            ) from error
        yield Path(place)


def _stamp(folder: Path) -> _Stamp:
    """Fingerprint of the files of a database; it changes when a process writes."""

    def of(path: Path) -> tuple[int, int, int] | None:
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    wal = of(folder / f"{FILE}-wal")
    return of(folder / FILE), wal if wal is not None and wal[1] else None
