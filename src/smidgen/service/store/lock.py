"""One process at a time may write to a data folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from smidgen.service.refusals import StorageFailed
from smidgen.service.store import modes

NAME = "lock"
#: For how many seconds somebody who only asks whether the folder is in use may be in the way.
PATIENCE_S = 0.5


@contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Hold the data folder: two services on one log would not know of each other's events."""
    try:
        modes.make_folder(data)
        lock = os.fdopen(modes.open_file(data / NAME, os.O_RDWR | os.O_CREAT), "a")
    except OSError as error:
        raise StorageFailed(
            f"the data folder {data} cannot be used: {error.strerror}", "choose another --data"
        ) from error
    with lock:
        if not _obtained(lock):
            raise StorageFailed(f"another service uses the data folder {data}", "stop it, or choose another --data")
        yield


def in_use(data: Path) -> bool:
    """Whether a service holds the data folder now."""
    try:
        lock = (data / NAME).open("rb")
    except FileNotFoundError:
        return False
    with lock:
        return not _taken(lock, fcntl.LOCK_SH)


def _obtained(lock: IO[str]) -> bool:
    """Take the lock for oneself, after a little patience."""
    until = time.monotonic() + PATIENCE_S
    while not (taken := _taken(lock, fcntl.LOCK_EX)) and time.monotonic() < until:
        time.sleep(0.02)
    return taken


def _taken(lock: IO[str] | IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
