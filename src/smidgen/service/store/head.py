"""The heads of the chains, kept beside the database: what tells that the end of a log is missing.

After every commit the heads that moved are written, without a sync of their own. So a head that is behind its log is
normal (the machine stopped in between). A head that is ahead of its log, or on another chain, means that acknowledged
events are gone: the database or its ``-wal`` file was lost, or an older copy was put back. Then the service does not
start.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from smidgen.service.store import modes

NAME = "smidgen.db.heads"
_RECORD = struct.Struct("<Q16s")
_CHECK = 8
_SIZE = _RECORD.size + _CHECK


class Head(NamedTuple):
    """The end of a slot's chain.

    Attributes
    ----------
    seq
        The last event.
    chain
        The digest of it and of all before it.
    """

    seq: int
    chain: bytes


class Heads:
    """The file of heads: a record of 32 bytes for each slot, at the place of its number, with a checksum.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._handle: int | None = None

    def write(self, heads: Mapping[int, Head]) -> None:
        """Write these heads; one that cannot be written stays behind, which is normal."""
        with suppress(OSError):
            if self._handle is None:
                self._handle = modes.open_file(self.path, os.O_WRONLY | os.O_CREAT)
            for slot, head in heads.items():
                record = _RECORD.pack(head.seq, head.chain)
                os.pwrite(self._handle, record + _checksum(slot, record), slot * _SIZE)

    def read(self) -> dict[int, Head]:
        """The heads that can be read; a record that was torn says nothing."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        found = {}
        for slot in range(1, len(content) // _SIZE):
            record = content[slot * _SIZE : slot * _SIZE + _RECORD.size]
            if content[slot * _SIZE + _RECORD.size : (slot + 1) * _SIZE] == _checksum(slot, record):
                found[slot] = Head(*_RECORD.unpack(record))
        return found

    def torn(self) -> list[int]:
        """The slots whose record is there and cannot be read."""
        content, known = self.path.read_bytes() if self.path.exists() else b"", self.read()
        slots = range(1, -(-len(content) // _SIZE))
        return [slot for slot in slots if slot not in known and any(content[slot * _SIZE : (slot + 1) * _SIZE])]

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _checksum(slot: int, record: bytes) -> bytes:
    return blake2b(slot.to_bytes(8, "little") + record, digest_size=_CHECK).digest()
