"""A board in memory that the workers of one supervisor share: each writes how it is, all can read it."""

from __future__ import annotations

import mmap
import struct
import time
from typing import Any

import msgspec

#: How many bytes each worker may write, and after how many seconds without a word one counts as gone.
SIZE, GONE_S = 32 << 10, 3.0
_HEAD = struct.Struct("<QQ")  # how often it was written (odd: it is being written), and how many bytes there are


class Board:
    """One page for each worker. Make it before the workers are; each writes its own page only.

    Parameters
    ----------
    workers
        How many there are.

    Examples
    --------
    >>> from smidgen.service.http.board import Board
    >>> board = Board(2)
    >>> board.write(1, {"commits": 7})
    >>> [(note["worker"], note["commits"]) for note in board.read()]
    [(1, 7)]
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, workers * SIZE)

    def write(self, worker: int, note: dict[str, Any]) -> None:
        """Put up how a worker is; what is too long is left out."""
        content = msgspec.json.encode({**note, "worker": worker, "at": time.monotonic()})
        start = worker * SIZE
        if len(content) > SIZE - _HEAD.size:
            return
        count, _ = _HEAD.unpack_from(self._memory, start)
        count += count % 2  # whoever died while writing left an odd number
        _HEAD.pack_into(self._memory, start, count + 1, 0)
        self._memory[start + _HEAD.size : start + _HEAD.size + len(content)] = content
        _HEAD.pack_into(self._memory, start, count + 2, len(content))

    def read(self) -> list[dict[str, Any]]:
        """How the workers are that have written lately, in their order."""
        found = (self._read(worker * SIZE) for worker in range(self.workers))
        now = time.monotonic()
        return [note for note in found if note is not None and now - note["at"] < GONE_S]

    def _read(self, start: int) -> dict[str, Any] | None:
        for _ in range(100):
            count, size = _HEAD.unpack_from(self._memory, start)
            if count % 2 or not size:
                if not count:
                    return None
                continue
            content = self._memory[start + _HEAD.size : start + _HEAD.size + size]
            if _HEAD.unpack_from(self._memory, start)[0] == count:
                note: dict[str, Any] = msgspec.json.decode(content)
                return note
        return None
