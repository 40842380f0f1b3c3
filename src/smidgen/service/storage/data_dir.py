"""The data folder: its lock and its permissions.

One process at a time may write to a data folder.

Two locks say that a folder is in use: one on the folder itself, which lasts as long as the process whatever is deleted
in the folder, and one on a file in it, for file systems that lock only files (NFS).
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from smidgen.service.errors import StorageFailed

# Who may read a data folder: its owner, and nobody else, whatever the umask says.

FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077
_log = logging.getLogger("smidgen.service")


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can open, and those above it as usual; one that is there stays as it is.

    Its name is sure to be found after a power failure, and so are those of the folders above it.
    """
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(FOLDER)  # a strict umask takes from the owner too
    for place in new:
        sync_folder(place.parent)


def open_file(path: Path, flags: int) -> int:
    """Open a file by ``os.open``; if it is made by that, only its owner can read it."""
    new = bool(flags & os.O_CREAT) and not path.exists()
    handle = os.open(path, flags | os.O_CLOEXEC, FILE)
    if new:
        os.fchmod(handle, FILE)
    return handle


def touch(path: Path) -> None:
    """Make an empty file that only its owner can read, if there is none."""
    os.close(open_file(path, os.O_WRONLY | os.O_CREAT))


def create(path: Path) -> BinaryIO:
    """A new file, or an old one emptied, that only its owner can read."""
    handle = open_file(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.fchmod(handle, FILE)
    return os.fdopen(handle, "wb")


def exposed_paths(folder: Path) -> list[Path]:
    """List the paths of a data folder that other users can read or change."""
    return [path for path in (folder, *_own_paths(folder)) if _is_exposed(path)]


def restrict(folder: Path) -> None:
    """Close a data folder that others can open, and say so in one line.

    A folder that belongs to somebody else, or to everybody (a sticky one, such as /tmp), is left as it is.
    """
    found = exposed_paths(folder)
    left = [path for path in found if not _restrict_path(path)]
    if left:
        _log.warning("others can open %s; give the data a folder of its own, with mode 0700", left[0])
    elif found:
        _log.warning("others could open %s (and %d more); it is for its owner only now", found[0], len(found) - 1)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _own_paths(folder: Path) -> Iterator[Path]:
    """The service's own files and folders; links are nobody's."""
    for path in sorted(folder.glob("smidgen*.db*")):
        if not path.is_symlink() and path.is_file():
            yield path
    if (lock := folder / "lock").is_file() and not lock.is_symlink():
        yield lock
    if (snapshots := folder / "snapshots").is_dir() and not snapshots.is_symlink():
        yield snapshots
        for place, folders, files in os.walk(snapshots):
            yield from (path for name in (*folders, *files) if not (path := Path(place) / name).is_symlink())


def _is_exposed(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & _OTHERS)
    except FileNotFoundError:  # a snapshot that has just been dropped
        return False


def _restrict_path(path: Path) -> bool:
    """Take the rights of others away; whether that was possible, and right."""
    try:
        found = path.stat()
        if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX or path.resolve() in _SHARED:
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _shared() -> frozenset[Path]:
    try:
        return frozenset({Path("/"), Path.home().resolve()})
    except RuntimeError:  # a user without a home
        return frozenset({Path("/")})


_SHARED = _shared()


NAME = "lock"
#: For how many seconds somebody who only asks whether the folder is in use may be in the way.
PATIENCE_S = 0.5
#: How a file system says that another process has the lock.
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


@contextmanager
def lock_folder(data: Path) -> Iterator[None]:
    """Hold the data folder: two services on one log would not know of each other's events."""
    with ExitStack() as opened:
        try:
            make_folder(data)
            file = open_file(data / NAME, os.O_RDWR | os.O_CREAT)
            opened.callback(os.close, file)
            folder = _open_folder(data, opened)
            held = _acquire(folder, is_folder=True) and _acquire(file)
        except OSError as error:
            raise StorageFailed(
                f"the data folder {data} cannot be used: {error.strerror}", "choose another --data"
            ) from error
        if not held:
            raise StorageFailed(f"another service is using the data folder {data}", "stop it, or choose another --data")
        yield


def in_use(data: Path) -> bool:
    """Check whether a service holds the data folder now."""
    with ExitStack() as opened:
        try:
            if not _try_acquire(_open_folder(data, opened), fcntl.LOCK_SH, is_folder=True):
                return True
            lock = opened.enter_context((data / NAME).open("rb"))
        except FileNotFoundError:
            return False
        return not _try_acquire(lock.fileno(), fcntl.LOCK_SH)


def _open_folder(data: Path, opened: ExitStack) -> int:
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    opened.callback(os.close, folder)
    return folder


def _acquire(lock: int, *, is_folder: bool = False) -> bool:
    """Acquire a lock for this process, after a little patience."""
    until = time.monotonic() + PATIENCE_S
    while not (taken := _try_acquire(lock, fcntl.LOCK_EX, is_folder=is_folder)) and time.monotonic() < until:
        time.sleep(0.02)
    return taken


def _try_acquire(lock: int, kind: int, *, is_folder: bool = False) -> bool:
    """Acquire a lock unless another process holds it; a folder that cannot be locked counts as acquired."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        if not is_folder:
            raise
    return True
