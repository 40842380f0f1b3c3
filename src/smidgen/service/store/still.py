"""A data folder looked at without changing a byte of it: while a service holds it, or after its end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from smidgen.service.refusals import Busy, StorageFailed
from smidgen.service.store.inspection import Inspection
from smidgen.service.store.lock import in_use
from smidgen.service.store.schema import FILE, connect

T = TypeVar("T")
_TIMES = 3
_BETWEEN = "locking protocol"  # how SQLite says that shared memory must be put in order first
_Stamp = tuple[tuple[int, int, int] | None, ...]


def look(folder: Path, question: Callable[[Inspection], T]) -> T:
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
            with opened(folder, running=running) as seen:
                answer = question(seen)
        except StorageFailed:
            if _stamp(folder) != before and not running:
                continue
            raise
        if running or _stamp(folder) == before:
            return answer
    raise Busy(f"{folder} is being written to", "try again, or stop what writes there")


@contextmanager
def opened(folder: Path, *, running: bool) -> Iterator[Inspection]:
    """The folder as it is.

    Parameters
    ----------
    folder
        The data folder.
    running
        Whether a service holds it. Its shared memory tells which pages are current; without it there is nobody to ask,
        and nobody to disturb: then SQLite may neither lock anything nor put the write-ahead log in order.
    """
    with _as_it_is(folder, running=running) as seen:
        if not seen.outdated:
            yield seen
            return
        with _up_to_date(seen) as copy, Inspection(folder, database=copy) as seen_there:
            yield seen_there


@contextmanager
def _as_it_is(folder: Path, *, running: bool) -> Iterator[Inspection]:
    wal, shared = folder / f"{FILE}-wal", folder / f"{FILE}-shm"
    if running:
        access = "mode=ro"
    elif not wal.exists() or not wal.stat().st_size:
        access = "mode=ro&immutable=1"
    elif shared.exists() and (seen := _with_memory(folder)) is not None:
        with seen:
            yield seen
        return
    else:
        with _copied(folder, wal) as copy, Inspection(folder, database=copy) as seen:
            yield seen
        return
    with Inspection(folder, access=access) as seen:
        yield seen


def _with_memory(folder: Path) -> Inspection | None:
    """The folder with the shared memory that a kill has left; None if it was left in the midst of a change."""
    try:
        return Inspection(folder, access="mode=ro&readonly_shm=1")
    except StorageFailed as error:
        if _BETWEEN in error.problem:
            return None
        raise


@contextmanager
def _up_to_date(seen: Inspection) -> Iterator[Path]:
    """The database of an earlier smidgen in a temporary place, with the tables of today."""
    with tempfile.TemporaryDirectory(prefix="smidgen-") as place:
        seen.file.copy(Path(place) / FILE, lambda done, of: None)
        connect(Path(place), synchronous="OFF").close()
        yield Path(place)


@contextmanager
def _copied(folder: Path, wal: Path) -> Iterator[Path]:
    """Database and write-ahead log in a temporary place, where SQLite may make what it needs to read them."""
    with tempfile.TemporaryDirectory(prefix="smidgen-") as place:
        try:
            shutil.copyfile(folder / FILE, Path(place) / FILE)
            shutil.copyfile(wal, Path(place) / wal.name)
        except OSError as error:
            raise StorageFailed(
                f"{folder} cannot be read: {error.strerror}", "a copy is needed: set TMPDIR to a place with room for it"
            ) from error
        yield Path(place)


def _stamp(folder: Path) -> _Stamp:
    """What changes when somebody writes."""

    def of(path: Path) -> tuple[int, int, int] | None:
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    wal = of(folder / f"{FILE}-wal")
    return of(folder / FILE), wal if wal is not None and wal[1] else None
