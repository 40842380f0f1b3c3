"""A disk that misbehaves on request: built from shim.c, loaded into services, steered by a shared page of memory."""

from __future__ import annotations

import errno
import mmap
import shutil
import struct
import subprocess
from enum import IntEnum
from pathlib import Path
from typing import Any

from service.faults.journal import Kind

#: The fields of ``struct control`` of shim.c, in order.
FIELDS = (
    "clock_ns",
    "delay_us",
    "full",
    "action",
    "kinds",
    "files",
    "nth",
    "times",
    "error",
    "part",
    "unsynced",
    "seen",
    "fired",
)


class Action(IntEnum):
    """Effect on the chosen operations; the numbers of ``enum action`` in shim.c."""

    NOTHING = 0
    FAIL = 1
    TEAR = 2  # part of it is written, then it fails
    SHORT = 3  # part of it is written, and the caller receives the number of bytes: allowed, and rare
    DROP = 4  # nothing is done, and the call reports success
    KILL = 5
    TEAR_AND_KILL = 6


class Files(IntEnum):
    """Kinds of files; the same numbers as ``enum file`` of shim.c."""

    WAL = 1
    DATABASE = 2
    HEADS = 4
    SNAPSHOTS = 8
    OTHER = 16


EVERYWHERE = sum(Files)
#: What can be hit by a fault.
ANYTHING = (Kind.WRITE, Kind.SYNC, Kind.TRUNCATE, Kind.RENAME, Kind.UNLINK, Kind.MKDIR)


def reason() -> str | None:
    """Why it cannot be used here, or None."""
    return None if shutil.which("cc") is not None else "there is no C compiler (cc)"


def build(folder: Path) -> Path:
    """Compile it into a folder."""
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Control:
    """The page of orders, shared with a service. Fields are attributes; all are 0 at first.

    Parameters
    ----------
    path
        The file that is shared; made again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(8 * len(FIELDS)))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8 * len(FIELDS))

    def __getattr__(self, name: str) -> int:
        if name not in FIELDS:
            raise AttributeError(name)
        (value,) = struct.unpack_from("<q", self._page, 8 * FIELDS.index(name))
        return int(value)

    def set(self, **values: int) -> None:
        """Set some fields. The action comes last, so that a service never acts on half an order."""
        for name, value in sorted(values.items(), key=lambda item: item[0] == "action"):
            struct.pack_into("<q", self._page, 8 * FIELDS.index(name), value)

    def order(
        self,
        action: Action,
        *,
        kinds: Any = (Kind.WRITE, Kind.SYNC),
        files: int = EVERYWHERE,
        nth: int = 1,
        times: int = 1,
        error: int = errno.EIO,
        part: int = 500,
    ) -> None:
        """From now on, the n-th of these operations (and as many after it as ``times`` says) goes wrong."""
        self.set(action=Action.NOTHING)
        mask = sum(1 << kind for kind in kinds)
        self.set(kinds=mask, files=files, nth=nth, times=times, error=error, part=part, seen=0, fired=0, action=action)

    def peace(self) -> None:
        """Stop injecting faults."""
        self.set(action=Action.NOTHING, delay_us=0, full=0)

    def close(self) -> None:
        self._page.close()
