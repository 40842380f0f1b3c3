"""A model's log from beginning to end; one out of an exported file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from smidgen.service.models.rewinds import Rewind, Undone
from smidgen.service.store.events import KEPT, REWINDS
from smidgen.service.store.lines import Line, parse

#: Every type of event that this smidgen writes; others are passed over, and counted.
TYPES = (
    "created",
    "decision",
    "shown",
    "feedback",
    "expired",
    "taught",
    "amended",
    "rolled_back",
    "retracted",
    "erased",
    "imported",
    "promoted",
    "archived",
    "revived",
    "renamed",
    "retained",
    "base",
    "base_state",
)
_REWINDS = [name.encode() for name in REWINDS]


class Recording(ABC):
    """A log that can be read from the beginning, and asked for the decisions that were passed on the way."""

    name: str
    #: Whether one of our learners wrote it.
    ours: bool = True
    #: Whether its events say of which slot they are.
    slotted: bool = False

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """The events in order."""

    @abstractmethod
    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""

    @abstractmethod
    def undone(self, slot: int | None = None) -> Undone:
        """What was taken back, in all of the log, or in all that it says of a slot."""

    @abstractmethod
    def count(self) -> int:
        """How many events there are."""

    def text(self, event: Line) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        text: bytes = event.__dict__["its text"]
        return text.rstrip(b"\n")


class FileRecording(Recording):
    """A log that was exported as NDJSON. Decisions are looked up in the file, so a long log needs little memory.

    Parameters
    ----------
    path
        The file.
    name
        What it is called in refusals, if not by its path.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = name or str(path)
        self._path = path
        self._places: dict[str, int] = {}
        self._file: BinaryIO | None = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        place = 0
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if text.strip():
                    event = parse(text, f"line {count} of {self.name}")
                    if event.type == "decision" and event.decision is not None:
                        self._places[event.decision] = place
                    yield event
                place += len(text)

    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""
        if id not in self._places:
            return None
        if self._file is None:
            self._file = self._path.open("rb")
        self._file.seek(self._places[id])
        return parse(self._file.readline(), f"decision {id} of {self.name}")

    def count(self) -> int:
        """How many lines the file has."""
        with self._path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def undone(self, slot: int | None = None) -> Undone:
        """What was taken back, in all of the file."""
        rewinds: list[Rewind] = []
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if any(mark in text for mark in _REWINDS):
                    event = parse(text, f"line {count} of {self.name}")
                    if event.type in REWINDS and event.model_version is not None and event.slot == slot:
                        rewinds.append(Rewind(event.type, event.model_version, event.version, event.columns == KEPT))
        return Undone(rewinds)
