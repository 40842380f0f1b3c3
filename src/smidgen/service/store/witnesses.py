"""What lies beside the database and knows what it must hold: the heads of the chains, and the marks of snapshots.

A witness that has seen an event which the log does not have means that acknowledged events are gone. Then the service
does not start: it would go on as if nothing had happened, and the witnesses would be overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.head import NAME, Head, Heads
from smidgen.service.store.schema import FILE
from smidgen.service.store.snapshots import MARK, Snapshot, Snapshots

_MARK = re.compile(r"[0-9a-f]{16}")


class Lost(NamedTuple):
    """An event that a witness has seen and the log does not have.

    Attributes
    ----------
    slot, seq
        The event.
    another
        Whether there is one of this number, which is not the same.
    witness
        The file that has seen it.
    """

    slot: int
    seq: int
    another: bool
    witness: Path

    def __str__(self) -> str:
        what = "is another one" if self.another else "is missing"
        return f"event {self.seq} of {{}} {what} in the database"


class Witnesses:
    """What the files beside a database say of it; read them before the database, which may go on meanwhile.

    Parameters
    ----------
    folder
        The data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self.heads: Mapping[int, Head] = Heads(folder).read()
            self.snapshots: Sequence[tuple[int, Snapshot]] = list(_marked(folder))
        except OSError as error:
            raise StorageFailed(
                f"{error.filename or folder} cannot be read: {error.strerror}", "see who owns it, and what it is"
            ) from error

    def refuse_alone(self) -> None:
        """Refuse witnesses without a database: it was there once."""
        if (self._folder / FILE).exists():
            return
        left = [NAME] if _filled(self._folder / NAME) else []
        left += [f"{FILE}-wal"] if _filled(self._folder / f"{FILE}-wal") else []
        left += [Snapshots.NAME] if self.snapshots else []
        if left:
            raise StorageFailed(
                f"there is no {FILE} in {self._folder}, and there was one: {left[0]} is still there",
                "put the database back, or smidgen restore a backup with --force; to begin with nothing, choose another"
                " --data",
            )

    def lost(self, chain: Callable[[int, int], bytes | None], first: Callable[[int], int]) -> Iterator[Lost]:
        """What they have seen and the log does not have.

        Parameters
        ----------
        chain
            The chain of a slot at an event; None if there is no such event.
        first
            The first event of a slot whose chain is known: what lies under a base is erased, and nobody misses it.
        """
        for slot, head in self.heads.items():
            if head.seq >= first(slot) and (found := chain(slot, head.seq)) != head.chain:
                yield Lost(slot, head.seq, found is not None, self._folder / NAME)
        for slot, snapshot in self.snapshots:
            if snapshot.seq < first(slot):
                continue
            found = chain(slot, snapshot.seq)
            if found is None or found[:MARK].hex() != snapshot.mark:
                yield Lost(slot, snapshot.seq, found is not None, snapshot.path)

    def refuse_loss(
        self,
        chain: Callable[[int, int], bytes | None],
        first: Callable[[int], int],
        name: Callable[[int], str],
    ) -> None:
        """Refuse a log that lacks what they have seen.

        Parameters
        ----------
        chain, first
            As in `lost`.
        name
            What a slot is called.
        """
        for lost in self.lost(chain, first):
            raise StorageFailed(
                f"events that were acknowledged are lost: {str(lost).format(name(lost.slot))}, and"
                f" {lost.witness.relative_to(self._folder)} has seen it",
                "put the whole data folder back, smidgen.db-wal among it, or smidgen restore a backup with --force; to"
                f" go on without what is lost, delete {self._folder / NAME} and {self._folder / Snapshots.NAME}",
            )


def _filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _marked(folder: Path) -> Iterator[tuple[int, Snapshot]]:
    """The snapshots of a folder that say of which event they are, with their slots."""
    snapshots = Snapshots(folder)
    for slot in snapshots.slots():
        for snapshot in snapshots.of(slot):
            if _MARK.fullmatch(snapshot.mark) is not None:
                yield slot, snapshot
