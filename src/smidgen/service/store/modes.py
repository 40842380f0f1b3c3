"""Who may read a data folder: its owner, and nobody else, whatever the umask says."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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


def loose(folder: Path) -> list[Path]:
    """What of a data folder others can read or change: the folder itself, and what the service has in it."""
    return [path for path in (folder, *_within(folder)) if _is_loose(path)]


def tighten(folder: Path) -> None:
    """Close a data folder that others can open, and say so in one line.

    A folder that belongs to somebody else, or to everybody (a sticky one, such as /tmp), is left as it is.
    """
    found = loose(folder)
    left = [path for path in found if not _close(path)]
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


def _within(folder: Path) -> Iterator[Path]:
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


def _is_loose(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & _OTHERS)
    except FileNotFoundError:  # a snapshot that has just been dropped
        return False


def _close(path: Path) -> bool:
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
