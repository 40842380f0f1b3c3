"""The journal that the shim writes: every change that a service made under its folder, in order."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_HEAD = struct.Struct("<IIIIq")  # `struct entry` of shim.c


class Kind(IntEnum):
    """Kind of operation; the numbers of ``enum kind`` in shim.c."""

    WRITE = 1
    SYNC = 2
    TRUNCATE = 3
    RENAME = 4
    UNLINK = 5
    CREATE = 6
    MKDIR = 7
    SYNC_FAILED = 8
    LINK = 9


class Change(NamedTuple):
    """A line of the journal.

    Attributes
    ----------
    kind
        What was done.
    path, other
        To which file; of a rename or a link, also the new name.
    at
        The place of a write, or the new length of a file.
    content
        What was written.
    """

    kind: Kind
    path: str
    other: str = ""
    at: int = 0
    content: bytes = b""


def read(path: Path) -> list[Change]:
    """The whole journal; none, if nothing was done."""
    return list(_changes(path.read_bytes())) if path.exists() else []


def _changes(text: bytes) -> Iterator[Change]:
    place = 0
    while place < len(text):
        kind, path, other, size, at = _HEAD.unpack_from(text, place)
        begin = place + _HEAD.size
        parts = [begin, begin + path, begin + path + other, begin + path + other + size]
        first, second, content = (text[a:b] for a, b in pairwise(parts))
        yield Change(Kind(kind), first.decode(), second.decode(), at, content)
        place = parts[-1]
