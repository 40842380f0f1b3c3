"""Observations on their way from those who look at some keys to the one who counts, in the order of the log."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

#: So many observations are packed together.
BLOCK = 10_000

#: The place of an event in the log, who observed, what, and the values.
Observation = tuple[int, int, str, list[Any]]

_packer, _unpacker = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[Observation])


class Tape:
    """Observations, packed as they come.

    Attributes
    ----------
    seq
        How many events were read before the one that is being read.
    """

    def __init__(self) -> None:
        self.seq = 0
        self._open: list[Any] = []
        self._blocks: list[bytes] = []

    def add(self, who: int, what: str, values: Sequence[Any]) -> None:
        """Take down an observation."""
        self._open.append((self.seq, who, what, values))
        if len(self._open) >= BLOCK:
            self._pack()

    def blocks(self) -> list[bytes]:
        """All of it, in blocks."""
        self._pack()
        return self._blocks

    def _pack(self) -> None:
        if self._open:
            self._blocks.append(zlib.compress(_packer.encode(self._open), 1))
            self._open = []


def played(blocks: Sequence[bytes]) -> Iterator[Observation]:
    """The observations of a tape, in order."""
    for block in blocks:
        yield from _unpacker.decode(zlib.decompress(block))


def together(tapes: Sequence[Sequence[bytes]]) -> Iterator[Observation]:
    """The observations of several tapes, in the order of the log; an event is on one tape only."""
    return heapq.merge(*(played(blocks) for blocks in tapes), key=lambda each: each[0])
