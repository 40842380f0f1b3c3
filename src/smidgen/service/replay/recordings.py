"""A log in one file or several, in bounded memory, however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from smidgen.errors import InvalidRecord
from smidgen.service.models.rewinds import Rewind, Undone
from smidgen.service.replay.places import Places
from smidgen.service.replay.texts import LogFile
from smidgen.service.store.events import KEPT, REWINDS
from smidgen.service.store.lines import Line, parse
from smidgen.service.store.recording import Recording

_FILE = 48  # the bits of a place within its file
_REWINDS = tuple(name.encode() for name in REWINDS)


class FilesRecording(Recording):
    """A log that was exported, as a whole or in pieces that follow each other.

    Decisions are looked up where they stand, so only sixteen bytes of each are kept.

    Parameters
    ----------
    name
        What it is called.
    files
        In any order: the numbers of their events say how they follow each other.
    """

    def __init__(self, name: str, files: Sequence[LogFile]) -> None:
        self.name = name
        self._files = _in_order(files) if len(files) > 1 else list(files)
        self._places = Places()

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        last: dict[int | None, int] = {}
        for number, file in enumerate(self._files):
            begun = set[int | None]()
            for count, (place, text) in enumerate(file.lines(), 1):
                event = parse(text, f"line {count} of {file.path}")
                before = last.get(event.slot, 0)
                if event.slot not in begun and number and event.seq != before + 1:
                    raise InvalidRecord(
                        f"{file.path} begins with event {event.seq}, and the one before it ends with {before}",
                        "give all pieces of the log, each once",
                    )
                begun.add(event.slot)
                last[event.slot] = event.seq
                if event.type == "decision" and event.decision is not None:
                    self._places.put(event.decision, (number << _FILE) | place)
                yield event

    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""
        for found in self._places.find(id):
            number, place = found >> _FILE, found & ((1 << _FILE) - 1)
            file = self._files[number]
            event = parse(file.line(place), f"decision {id} of {file.path}")
            if event.decision == id:
                return event
        return None

    def count(self) -> int:
        """How many events there are."""
        return sum(file.count() for file in self._files)

    def undone(self, slot: int | None = None) -> Undone:
        """What was taken back, in all of the log."""
        rewinds: list[Rewind] = []
        for file in self._files:
            for text in file.holding(*_REWINDS):
                event = parse(text, f"a line of {file.path}")
                if event.type in REWINDS and event.model_version is not None and event.slot == slot:
                    rewinds.append(Rewind(event.type, event.model_version, event.version, event.columns == KEPT))
        return Undone(rewinds)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _in_order(files: Sequence[LogFile]) -> list[LogFile]:
    """Files by the number of their first event, or, if it is that of a slot, by its time; empty ones are left out."""
    begun: list[tuple[str, int, Path, LogFile]] = []
    for file in files:
        first = next(file.lines(), None)
        if first is not None:
            event = parse(first[1], f"line 1 of {file.path}")
            begun.append(("" if event.slot is None else event.at, event.seq, file.path, file))
    return [file for *_, file in sorted(begun, key=lambda each: each[:3])]
