"""Possible contents of a disk after a power failure.

A disk keeps what was synced. Of what was written since, each write is there, is not there, or is there in some of its
sectors of 512 bytes, in no particular order. A name (of a new file, a renamed one, a removed one) is sure only after
its folder was synced. After a sync that failed, the writes before it are no longer known to be dirty: no later sync
brings them back (so Linux does it), and they may be there or not.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from service.faults.journal import Change, Kind

SECTOR = 512


@dataclass
class Piece:
    """A write, or a new length (then without content).

    Attributes
    ----------
    at, content
        Where, and what.
    state
        ``"open"`` until it is synced, then ``"sure"``; ``"lost sight of"`` after a sync that failed.
    """

    at: int
    content: bytes | None
    state: str = "open"


@dataclass
class File:
    """A file by its content, whatever its name: what is sure, and the pieces after it."""

    sure: bytes = b""
    pieces: list[Piece] = field(default_factory=list)

    def sync(self) -> None:
        """All that was written is on the disk, but for what a failed sync lost sight of."""
        for piece in self.pieces:
            if piece.state == "open":
                piece.state = "sure"
        settled = bytearray(self.sure)
        while self.pieces and self.pieces[0].state == "sure":
            _apply(settled, self.pieces.pop(0))
        self.sure = bytes(settled)

    def fail(self) -> None:
        """A sync has failed."""
        for piece in self.pieces:
            if piece.state == "open":
                piece.state = "lost sight of"

    def now(self) -> bytes:
        """Contents that a process reads while the power is on."""
        content = bytearray(self.sure)
        for piece in self.pieces:
            _apply(content, piece)
        return bytes(content)

    def after_loss(self, chance: Chance) -> bytes:
        """Contents that may remain."""
        content = bytearray(self.sure)
        for piece in self.pieces:
            if piece.state == "sure":
                _apply(content, piece)
            else:
                _apply_torn(content, piece, chance)
        return bytes(content)


class Folder:
    """A folder; what is in it goes by its path."""


#: What a name stands for; None: there is no such name.
Entry = File | Folder | None


class Naming(NamedTuple):
    """A change in a folder that is not synced yet: what these names stand for now."""

    folder: str
    names: dict[str, Entry]


class Chance:
    """Random outcome of each unsynced write: kept, lost, or torn.

    Parameters
    ----------
    seed
        0 keeps nothing that is not sure, 1 keeps all; others draw.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._share = {0: 0.0, 1: 1.0}.get(seed, self.rng.choice([0.2, 0.5, 0.8, 0.95]))
        self._torn = 0.0 if seed < 2 else self.rng.choice([0.0, 0.3, 1.0])

    def kept(self) -> bool:
        """True if the write is kept."""
        return self.rng.random() < self._share

    def torn(self) -> bool:
        """True if only part of the write is kept."""
        return self.rng.random() < self._torn


class Disk:
    """A folder with all that is sure and all that is not.

    Parameters
    ----------
    root
        The folder as it is, all of it sure.
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self._names: dict[str, Entry] = {}  # as a process sees them
        for place, folders, files in os.walk(root):
            self._names |= {os.path.join(place, name): Folder() for name in folders}
            self._names |= {
                os.path.join(place, name): File(Path(place, name).read_bytes())
                for name in files
                if not name.endswith("-shm")  # the shim does not tell of it either
            }
        self._sure = dict(self._names)
        self._changes: list[Naming] = []

    def take(self, changes: Iterable[Change]) -> None:
        """Let all this happen."""
        for change in changes:
            self._take(change)

    def now(self) -> dict[str, bytes]:
        """The files as a process reads them while the power is on."""
        return {path: file.now() for path, file in self._names.items() if isinstance(file, File)}

    def lose_power(self, seed: int, target: Path) -> None:
        """Write the folder as it may look afterwards."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path, content in self.after_loss(seed).items():
            place = target / Path(path).relative_to(self.root)
            if content is None:
                place.mkdir()
            else:
                place.write_bytes(content)

    def after_loss(self, seed: int) -> dict[str, bytes | None]:
        """Files and folders (None) as they may be; folders come before what is in them."""
        chance, names = Chance(seed), dict(self._sure)
        for change in self._changes:
            if chance.kept():
                names |= change.names
        there, found = {self.root}, dict[str, bytes | None]()
        for path, entry in sorted(names.items()):
            if entry is None or os.path.dirname(path) not in there:  # what is in a folder that is gone is gone
                continue
            found[path] = entry.after_loss(chance) if isinstance(entry, File) else None
            if isinstance(entry, Folder):
                there.add(path)
        return found

    def _take(self, change: Change) -> None:
        path, entry = change.path, self._names.get(change.path)
        if change.kind in (Kind.WRITE, Kind.TRUNCATE):
            assert isinstance(entry, File), f"{path} is no file"
            entry.pieces.append(Piece(change.at, change.content if change.kind is Kind.WRITE else None))
        elif change.kind is Kind.SYNC and not isinstance(entry, File):
            self._sync_folder(path)
        elif isinstance(entry, File) and change.kind in (Kind.SYNC, Kind.SYNC_FAILED):
            entry.sync() if change.kind is Kind.SYNC else entry.fail()
        elif change.kind in (Kind.CREATE, Kind.MKDIR):
            self._name({path: File() if change.kind is Kind.CREATE else Folder()})
        elif change.kind is Kind.RENAME:
            self._name({change.other: entry, path: None})
        elif change.kind is Kind.LINK:
            self._name({change.other: entry})
        elif change.kind is Kind.UNLINK:
            self._name({path: None})

    def _sync_folder(self, path: str) -> None:
        for change in self._changes:
            if change.folder == path:
                self._sure |= change.names
        self._changes = [change for change in self._changes if change.folder != path]

    def _name(self, names: dict[str, Entry]) -> None:
        """The folder of the first of them has to be synced for it."""
        self._changes.append(Naming(os.path.dirname(next(iter(names))), names))
        self._names |= names


def _apply(content: bytearray, piece: Piece) -> None:
    if piece.content is None:
        del content[piece.at :]
        content.extend(bytes(piece.at - len(content)))
        return
    content.extend(bytes(max(0, piece.at - len(content))))
    content[piece.at : piece.at + len(piece.content)] = piece.content


def _apply_torn(content: bytearray, piece: Piece, chance: Chance) -> None:
    """Apply a piece as it may have reached the disk: whole, not at all, or some of its sectors."""
    if piece.content is None or not chance.torn():
        if chance.kept():
            _apply(content, piece)
        return
    for first in range(piece.at - piece.at % SECTOR, piece.at + len(piece.content), SECTOR):
        begin, end = max(first, piece.at), min(first + SECTOR, piece.at + len(piece.content))
        if chance.kept():
            _apply(content, Piece(begin, piece.content[begin - piece.at : end - piece.at]))
