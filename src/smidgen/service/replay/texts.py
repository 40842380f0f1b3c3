"""A file of a log: its lines one after the other, and a line at its place. This one is NDJSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


class LogFile(ABC):
    """One file of a log.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The place of each line, and the line; places fit into 48 bits."""

    @abstractmethod
    def line(self, place: int) -> bytes:
        """The line at a place."""

    @abstractmethod
    def count(self) -> int:
        """How many lines there are."""

    def holding(self, *words: bytes) -> Iterator[bytes]:
        """The lines that have one of these words in them, and perhaps others."""
        return (text for _, text in self.lines() if any(word in text for word in words))

    def close(self) -> None:
        """Let go of what is open."""
        return


class NdjsonLog(LogFile):
    """A file with a line of JSON for each event."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file: BinaryIO | None = None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The place of each line, and the line; empty ones are passed over."""
        place = 0
        with self.path.open("rb") as file:
            for text in file:
                if text.strip():
                    yield place, text
                place += len(text)

    def line(self, place: int) -> bytes:
        """The line that begins at this byte."""
        if self._file is None:
            self._file = self.path.open("rb")
        self._file.seek(place)
        return self._file.readline()

    def count(self) -> int:
        """How many lines the file has."""
        with self.path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
