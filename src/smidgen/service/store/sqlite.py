"""The store in one file: SQLite in WAL mode, every commit synced, one writer."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from smidgen.service.refusals import StorageFailed
from smidgen.service.store import head, modes
from smidgen.service.store.crash_points import reach
from smidgen.service.store.protocol import Reading
from smidgen.service.store.questions import TORN
from smidgen.service.store.schema import connect
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sole import Sole
from smidgen.service.store.sql_models import COUNTS, KEY_STATE, SQLModels
from smidgen.service.store.sqlite_deferred import SQLiteDeferred
from smidgen.service.store.sqlite_reads import SQLiteReaders, SQLiteReads
from smidgen.service.store.witnesses import Witnesses

_PROBE = 32_768  # bytes; a decision on 50 candidates with 100 features takes 21,000


class SQLiteStore(Sole, SQLiteDeferred, SQLiteReads, SQLModels):
    """The database of a data folder, for its one writer.

    Opening compares the log with its witnesses, the heads and snapshots beside it, and refuses if acknowledged events
    are gone. Files that others can read are closed to them.

    Parameters
    ----------
    folder
        The data folder; made if it is not there.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    """

    _sole = True

    def __init__(self, folder: Path, *, synchronous: str = "FULL") -> None:
        self.folder = folder
        self._heads = head.Heads(folder)
        witnesses = Witnesses(folder)  # before the database, which may go on while we look
        witnesses.refuse_alone()
        modes.tighten(folder)
        SQLiteDeferred.__init__(self, connect(folder, synchronous=synchronous), Snapshots(folder))
        SQLModels.__init__(self)
        try:
            self._refuse_torn()
            witnesses.refuse_loss(self.chain, self.floor, self._name)
            self._heads.write(self._unseen(witnesses))
        except BaseException:
            self.close()
            raise

    # The batch

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        return self.connection.in_transaction

    def begin(self) -> None:
        """Open a batch."""
        reach("before-begin")
        self._run("BEGIN IMMEDIATE")
        reach("after-begin")

    def begin_at_once(self) -> bool:
        """Open a batch unless another process writes just now."""
        self._run("PRAGMA busy_timeout = 0")
        try:
            self.begin()
        except StorageFailed:
            return False
        finally:
            self._run("PRAGMA busy_timeout = 5000")
        return True

    def commit(self) -> None:
        """Make the batch last: returns when it is on the disk."""
        self.flush()
        moved = self._counting.moved()
        for slot, counts in moved.items():
            self._run(COUNTS, {"slot": slot, **msgspec.structs.asdict(counts)})
        reach("before-commit")
        self._run("COMMIT")
        self._counting.keep()
        reach("after-commit")
        self._heads.write({slot: head.Head(counts.seq, counts.chain) for slot, counts in moved.items()})

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.restore()
        self.drop()
        if self.connection.in_transaction:
            self._run("ROLLBACK")

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self.mark()
        self._counting.mark()

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self.unmark()
        self._counting.release()

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.back()
        self.undone()

    # What is written

    def publish(self, slot: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event: a file, or a row that joins the open batch."""
        if key is not None:
            self._run(KEY_STATE, (slot, key, seq, time.time(), content))
            reach("key-state-written")
        elif (mark := self._mark(slot, seq)) is not None:
            self.snapshots.take(slot, seq, mark, content)
        return True

    def drop_states(self, slot: int, before: int) -> None:
        """Between batches: keep no state of the slot itself from before an event."""
        for found in self.snapshots.of(slot):
            if found.seq < before:
                found.path.unlink(missing_ok=True)

    def cleanse(self) -> bool:
        """Between batches: let nothing that was erased stay in the files."""
        (busy, *_) = self._rows("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        return not busy

    # Reading, as the writer needs it

    def probe(self) -> None:
        """Write as much as an ordinary decision takes: whether the batch lasts says whether anything would."""
        self._run("INSERT OR REPLACE INTO probe VALUES (1, randomblob(?))", (_PROBE,))

    def reader(self) -> Reading:
        """A reading view of its own."""
        return SQLiteReaders(self.folder)

    def close(self) -> None:
        """Close the files."""
        super().close()
        self._heads.close()

    def _unseen(self, witnesses: Witnesses) -> dict[int, head.Head]:
        """The heads that nobody has: their file is new, was torn, or was deleted."""
        rows = self._rows("SELECT id, seq, chain FROM slots WHERE seq > 0")
        return {slot: head.Head(seq, chain) for slot, seq, chain in rows if slot not in witnesses.heads}

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the counts of its slot say."""
        for slot, seq in self._rows(TORN):
            raise StorageFailed(
                f"the log of {self._name(slot)} does not end with event {seq}, as the database says elsewhere",
                f"smidgen fsck --data {self.folder} tells more; put the whole data folder back, or smidgen restore a"
                " backup with --force",
            )

    def _name(self, slot: int) -> str:
        row = self._row("SELECT m.name FROM slots s JOIN models m ON m.id = s.model WHERE s.id = ?", (slot,))
        return f"the model {row[0]!r}" if row is not None else f"the model number {slot}"
