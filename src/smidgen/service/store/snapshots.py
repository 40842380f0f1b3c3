"""Snapshots: a model's learner as a file, so that recovery need not replay the whole log. Never needed for truth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import Log

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
    mark
        The mark of that event, which tells this log from another with as many events: an older copy of the database
        that was put back and went on differently.
    """

    path: Path
    seq: int
    mark: str = ""

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

    def take(self, model: int, seq: int, mark: str, content: bytes) -> Snapshot:
        """Write a snapshot aside, sync, rename, sync the folder; then drop all but the newest three.

        Files that run ahead of this one belong to another past of the database; they are dropped first.
        """
        folder = self.folder / str(model)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{seq:015d}-{mark}.smidgen"
        _replace(path, folder / "aside", content)
        reach("snapshot-synced")
        found = list(self.of(model))
        ahead = [old for old in found if old.seq > seq]
        for old in [*ahead, *[old for old in found if old.seq <= seq][KEPT:]]:
            old.path.unlink(missing_ok=True)
        return Snapshot(path, seq, mark)

    def of(self, model: int) -> Iterator[Snapshot]:
        """The model's snapshots, newest first."""
        folder = self.folder / str(model)
        for path in sorted(folder.glob("*.smidgen"), reverse=True) if folder.is_dir() else ():
            seq, _, mark = path.stem.partition("-")
            if seq.isdigit():
                yield Snapshot(path, int(seq), mark)

    def of_log(self, model: int, log: Log) -> Iterator[Snapshot]:
        """Those that this very log has led to, newest first."""
        for snapshot in self.of(model):
            if snapshot.mark == log.mark(model, snapshot.seq):
                yield snapshot

    def newest_good(self, model: int, log: Log) -> tuple[Learner, int] | None:
        """The newest snapshot of this log that can be read, with its last event."""
        for snapshot in self.of_log(model, log):
            try:
                return snapshot.load(), snapshot.seq
            except (SmidgenError, OSError, ValueError, KeyError, TypeError):
                continue
        return None


def _replace(path: Path, aside: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all; what a crash leaves aside is overwritten the next time."""
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        reach("snapshot-aside")
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    reach("snapshot-renamed")
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
