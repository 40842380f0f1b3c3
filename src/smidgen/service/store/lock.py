"""One process at a time may write to a data folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smidgen.service.refusals import StorageFailed
from smidgen.service.store import folders


@contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Hold the data folder: two services on one log would not know of each other's events."""
    try:
        folders.make(data)
        lock = (data / "lock").open("a")
    except OSError as error:
        raise StorageFailed(
            f"the data folder {data} cannot be used: {error.strerror}", "choose another --data"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StorageFailed(
                f"another service uses the data folder {data}", "stop it, or choose another --data"
            ) from error
        yield
