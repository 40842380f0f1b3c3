"""Checkpoint files next to the database: snapshots of learners, and log heads.

After every commit the heads that moved are written, without a sync of their own. So a head that is behind its log is
normal (the machine stopped in between). A head or a snapshot that names an event which the log does not have means that
acknowledged events are lost: the database or its ``-wal`` file was lost, or an older copy was put back. Then the
service does not start: it would overwrite the checkpoint files and hide the loss.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from smidgen.service.errors import StorageFailed
from smidgen.service.storage import data_dir
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import State
from smidgen.service.storage.sqlite_schema import FILE

KEPT = 3
#: How many bytes of an event's chain are the mark of a snapshot.
MARK = 8


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of a learner, and the last event that it contains. Recovery without it replays more of the log.

    Attributes
    ----------
    path
        The file.
    seq
        The last event of the log that it contains.
    mark
        The mark of that event, which tells this log from another with as many events: an older copy of the database
        that was put back and went on differently.
    """

    path: Path
    seq: int
    mark: str = ""

    def state(self, *, own: bool) -> State:
        """Read the state in the file; empty if it cannot be read."""
        try:
            file, content = self.path.stat(), self.path.read_bytes()
        except OSError:
            return State(self.seq, b"", str(self.path), own, 0, 0.0)
        return State(self.seq, content, str(self.path), own, file.st_size, file.st_mtime)


class Snapshots:
    """The snapshots of one data folder; a shard's are found by its number, never by a name."""

    NAME = "snapshots"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.NAME

    def shards(self) -> list[int]:
        """The shards that have a folder here."""
        found = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(int(path.name) for path in found if path.name.isascii() and path.name.isdigit())

    def write(self, shard: int, seq: int, mark: str, content: bytes) -> Snapshot:
        """Write a snapshot to a temporary file, sync, rename, sync the folder. Keeps the newest three.

        Files that run ahead of this one belong to another past of the database; they are dropped first.
        """
        folder = self.folder / str(shard)
        data_dir.make_folder(self.folder)
        data_dir.make_folder(folder)
        path = folder / f"{seq:015d}-{mark}.smidgen"
        _replace(path, folder / "aside", content)
        crash_point("snapshot-synced")
        found = list(self.of(shard))
        ahead = [old for old in found if old.seq > seq]
        for old in [*ahead, *[old for old in found if old.seq <= seq][KEPT:]]:
            old.path.unlink(missing_ok=True)
        return Snapshot(path, seq, mark)

    def of(self, shard: int) -> Iterator[Snapshot]:
        """The shard's snapshots, newest first."""
        folder = self.folder / str(shard)
        for path in sorted(folder.glob("*.smidgen"), reverse=True) if folder.is_dir() else ():
            seq, _, mark = path.stem.partition("-")
            if seq.isascii() and seq.isdigit() and len(seq) < 19:
                yield Snapshot(path, int(seq), mark)


def _replace(path: Path, temporary: Path, content: bytes) -> None:
    """Replace a file atomically. A temporary file left by a crash is overwritten next time."""
    try:
        with data_dir.create(temporary) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        crash_point("snapshot-aside")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    crash_point("snapshot-renamed")
    data_dir.sync_folder(path.parent)


NAME = "smidgen.db.heads"
_RECORD = struct.Struct("<Q16s")
_CHECK = 8
_SIZE = _RECORD.size + _CHECK
#: The largest number of a shard that has a place: in a database that is not damaged they count from 1.
MOST = 1 << 20


class Head(NamedTuple):
    """The end of a shard's chain.

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
    """The file of heads: a record of 32 bytes for each shard, at the place of its number, with a checksum.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._handle: int | None = None

    def write(self, heads: Mapping[int, Head]) -> None:
        """Write these heads; one that cannot be written stays behind its log, which is normal."""
        with suppress(OSError, struct.error):
            if self._handle is None:
                self._handle = data_dir.open_file(self.path, os.O_WRONLY | os.O_CREAT)
            for shard, head in heads.items():
                if not 0 < shard <= MOST:
                    continue
                record = _RECORD.pack(head.seq, head.chain)
                os.pwrite(self._handle, record + _checksum(shard, record), shard * _SIZE)

    def read(self) -> dict[int, Head]:
        """The heads that can be read, without torn records."""
        content, found = self._content(), {}
        for shard in range(1, len(content) // _SIZE):
            record = content[shard * _SIZE : shard * _SIZE + _RECORD.size]
            if content[shard * _SIZE + _RECORD.size : (shard + 1) * _SIZE] == _checksum(shard, record):
                found[shard] = Head(*_RECORD.unpack(record))
        return found

    def damaged_shards(self) -> list[int]:
        """The shards whose record is there and cannot be read."""
        content, known = self._content(), self.read()
        shards = range(1, -(-len(content) // _SIZE))
        return [shard for shard in shards if shard not in known and any(content[shard * _SIZE : (shard + 1) * _SIZE])]

    def _content(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read((MOST + 1) * _SIZE)
        except FileNotFoundError:
            return b""

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _checksum(shard: int, record: bytes) -> bytes:
    return blake2b(shard.to_bytes(8, "little") + record, digest_size=_CHECK).digest()


_MARK = re.compile(r"[0-9a-f]{16}")


class LostTail(NamedTuple):
    """An event that a checkpoint file names and the log does not have.

    Attributes
    ----------
    shard, seq
        The event.
    is_replaced
        Whether the log has another event of this number.
    source
        The checkpoint file that names it.
    """

    shard: int
    seq: int
    is_replaced: bool
    source: Path

    def __str__(self) -> str:
        what = "is another one" if self.is_replaced else "is missing"
        return f"event {self.seq} of {{}} {what} in the database"


class TailCheck:
    """Compares a log with the files next to the database; read those first, because the log may grow meanwhile.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self.heads: Mapping[int, Head] = Heads(folder).read()
            self.snapshots: Sequence[tuple[int, Snapshot]] = list(_marked_snapshots(folder))
        except OSError as error:
            raise StorageFailed(
                f"{error.filename or folder} cannot be read: {error.strerror}", "check its owner and permissions"
            ) from error

    def refuse_alone(self) -> None:
        """Refuse checkpoint files without a database."""
        if (self._folder / FILE).exists():
            return
        left = [NAME] if _is_nonempty(self._folder / NAME) else []
        left += [f"{FILE}-wal"] if _is_nonempty(self._folder / f"{FILE}-wal") else []
        left += [Snapshots.NAME] if self.snapshots else []
        if left:
            raise StorageFailed(
                f"the database {FILE} is missing in {self._folder}: {left[0]} belongs to it and is still there",
                "put the database back, or run smidgen restore FILE --force; to start from scratch, choose another"
                " --data",
            )

    def find_lost(self, chain: Callable[[int, int], bytes | None], first: Callable[[int], int]) -> Iterator[LostTail]:
        """Find events that the files name and the log does not have.

        Parameters
        ----------
        chain
            The chain of a shard at an event; None if there is no such event.
        first
            The first event of a shard whose chain is known: events under a base are erased.
        """
        for shard, head in self.heads.items():
            if head.seq >= first(shard) and (found := chain(shard, head.seq)) != head.chain:
                yield LostTail(shard, head.seq, found is not None, self._folder / NAME)
        for shard, snapshot in self.snapshots:
            if snapshot.seq < first(shard):
                continue
            found = chain(shard, snapshot.seq)
            if found is None or found[:MARK].hex() != snapshot.mark:
                yield LostTail(shard, snapshot.seq, found is not None, snapshot.path)

    def refuse_loss(
        self,
        chain: Callable[[int, int], bytes | None],
        first: Callable[[int], int],
        name: Callable[[int], str],
    ) -> None:
        """Refuse a log that lacks events which the files name.

        Parameters
        ----------
        chain, first
            As in `lost`.
        name
            Names a shard for people.
        """
        for lost in self.find_lost(chain, first):
            raise StorageFailed(
                f"acknowledged events are lost: {str(lost).format(name(lost.shard))}, according to the checkpoint file"
                f" {lost.source.relative_to(self._folder)}",
                "put the whole data folder back, including smidgen.db-wal, or run smidgen restore FILE --force; to"
                f" continue without these events, delete {self._folder / NAME} and {self._folder / Snapshots.NAME}",
            )


def _is_nonempty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _marked_snapshots(folder: Path) -> Iterator[tuple[int, Snapshot]]:
    """The snapshots of a folder that name their event, with their shards."""
    snapshots = Snapshots(folder)
    for shard in snapshots.shards():
        for snapshot in snapshots.of(shard):
            if _MARK.fullmatch(snapshot.mark) is not None:
                yield shard, snapshot
