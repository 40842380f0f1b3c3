"""Snapshots: a model's learner as a file, so that recovery need not replay the whole log. Never needed for truth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.learners.storage import write

KEPT = 3


@dataclass(frozen=True)
class Snapshot:
    """A file and the last event that it has learnt.

    Attributes
    ----------
    path
        The file.
    seq
        The last event of the model's log that went into it.
    """

    path: Path
    seq: int

    def load(self) -> Learner:
        """The learner; refused if the file is damaged."""
        return Learner.from_bytes(self.path.read_bytes(), str(self.path))

    def problem(self) -> str | None:
        """Why the file cannot be used, or None."""
        try:
            self.load()
        except (SmidgenError, OSError, ValueError, KeyError, TypeError) as error:
            return str(error)
        return None


class Snapshots:
    """The snapshots of one data folder; a model's are found by its number, never by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "snapshots"

    def take(self, model: int, seq: int, content: bytes) -> Snapshot:
        """Write a snapshot aside, sync, rename, sync the folder; then drop all but the newest three."""
        folder = self.folder / str(model)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{seq:015d}.smidgen"
        write(path, content)
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        for old in list(self.of(model))[KEPT:]:
            old.path.unlink(missing_ok=True)
        return Snapshot(path, seq)

    def of(self, model: int) -> Iterator[Snapshot]:
        """The model's snapshots, newest first."""
        folder = self.folder / str(model)
        for path in sorted(folder.glob("*.smidgen"), reverse=True) if folder.is_dir() else ():
            if path.stem.isdigit():
                yield Snapshot(path, int(path.stem))

    def newest_good(self, model: int, not_after: int) -> tuple[Learner, int] | None:
        """The newest snapshot that can be read and does not run ahead of the log, with its last event."""
        for snapshot in self.of(model):
            if snapshot.seq > not_after:
                continue
            try:
                return snapshot.load(), snapshot.seq
            except (SmidgenError, OSError, ValueError, KeyError, TypeError):
                continue
        return None
