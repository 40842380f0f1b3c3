"""Snapshots: a model's learner as a file, so that recovery need not replay the whole log. Never needed for truth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smidgen.service.store import modes
from smidgen.service.store.crash_points import reach
from smidgen.service.store.rows import State

KEPT = 3
#: How many bytes of an event's chain are the mark of a snapshot.
MARK = 8


@dataclass(frozen=True)
class Snapshot:
    """A file and the last event that it has learnt.

    Attributes
    ----------
    path
        The file.
    seq
        The last event of the log that went into it.
    mark
        The mark of that event, which tells this log from another with as many events: an older copy of the database
        that was put back and went on differently.
    """

    path: Path
    seq: int
    mark: str = ""

    def state(self, *, own: bool) -> State:
        """What the file holds; nothing, if it cannot be read."""
        try:
            file, content = self.path.stat(), self.path.read_bytes()
        except OSError:
            return State(self.seq, b"", str(self.path), own, 0, 0.0)
        return State(self.seq, content, str(self.path), own, file.st_size, file.st_mtime)


class Snapshots:
    """The snapshots of one data folder; a slot's are found by its number, never by a name."""

    NAME = "snapshots"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.NAME

    def slots(self) -> list[int]:
        """The slots that have a folder here."""
        found = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(int(path.name) for path in found if path.name.isascii() and path.name.isdigit())

    def take(self, slot: int, seq: int, mark: str, content: bytes) -> Snapshot:
        """Write a snapshot aside, sync, rename, sync the folder; then drop all but the newest three.

        Files that run ahead of this one belong to another past of the database; they are dropped first.
        """
        folder = self.folder / str(slot)
        modes.make_folder(self.folder)
        modes.make_folder(folder)
        path = folder / f"{seq:015d}-{mark}.smidgen"
        _replace(path, folder / "aside", content)
        reach("snapshot-synced")
        found = list(self.of(slot))
        ahead = [old for old in found if old.seq > seq]
        for old in [*ahead, *[old for old in found if old.seq <= seq][KEPT:]]:
            old.path.unlink(missing_ok=True)
        return Snapshot(path, seq, mark)

    def of(self, slot: int) -> Iterator[Snapshot]:
        """The slot's snapshots, newest first."""
        folder = self.folder / str(slot)
        for path in sorted(folder.glob("*.smidgen"), reverse=True) if folder.is_dir() else ():
            seq, _, mark = path.stem.partition("-")
            if seq.isascii() and seq.isdigit() and len(seq) < 19:
                yield Snapshot(path, int(seq), mark)


def _replace(path: Path, aside: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all; what a crash leaves aside is overwritten the next time."""
    try:
        with modes.create(aside) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        reach("snapshot-aside")
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    reach("snapshot-renamed")
    modes.sync_folder(path.parent)
