"""Work that is done aside and put in its place by a single rename; a kill leaves nothing half."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from smidgen.service.refusals import StorageFailed
from smidgen.service.store import modes

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def aside(parent: Path, name: str) -> Iterator[Path]:
    """A hidden folder for work on something; gone at the end. What a kill left of it is removed by the next one.

    Parameters
    ----------
    parent
        Where it is made.
    name
        What is worked on.
    """
    try:
        _sweep(parent, name)
        place = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".aside", dir=parent))
        place.chmod(modes.FOLDER)
        handle = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise StorageFailed(f"{parent} cannot be written to: {error.strerror}", "choose another place") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Let two folders take each other's place at once; False, and nothing is done, where that cannot be."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another system than Linux
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _sweep(parent: Path, name: str) -> None:
    """Remove what others left who were killed; who is alive holds his folder."""
    for place in parent.glob(f".{escape(name)}.*.aside"):
        if place.is_symlink() or not place.is_dir():
            continue
        handle = os.open(place, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)
