"""The store in one file: SQLite in WAL mode, every commit synced, one writer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from smidgen.service.refusals import StorageFailed
from smidgen.service.store import head, modes
from smidgen.service.store.counting import Counting
from smidgen.service.store.crash_points import reach
from smidgen.service.store.events import Salts, content, link
from smidgen.service.store.protocol import Reading
from smidgen.service.store.questions import TORN
from smidgen.service.store.rows import Asked, Counts, ModelRow, TokenRow, Told, Verdict, again
from smidgen.service.store.schema import connect, of_disk, refusal
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.sqlite_reads import SQLiteReaders, SQLiteReads
from smidgen.service.store.witnesses import Witnesses

_PROBE = 32_768  # bytes; a decision on 50 candidates with 100 features takes 21,000
_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DECISION = "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL, NULL)"
_COUNTS = """
    UPDATE slots SET seq = :seq, version = :version, decisions = :decisions, late = :late, keys = :keys,
        number = :number, chain = :chain WHERE id = :slot
"""


class SQLiteStore(SQLiteReads):
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

    def __init__(self, folder: Path, *, synchronous: str = "FULL") -> None:
        self.folder = folder
        self._heads = head.Heads(folder)
        witnesses = Witnesses(folder)  # before the database, which may go on while we look
        witnesses.refuse_alone()
        modes.tighten(folder)
        super().__init__(connect(folder, synchronous=synchronous), Snapshots(folder))
        self._salts = Salts()
        self._counting = Counting()
        try:
            self._refuse_torn()
            witnesses.refuse_loss(self.chain, self._name)
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

    def commit(self) -> None:
        """Make the batch last: returns when it is on the disk."""
        moved = self._counting.moved()
        for slot, counts in moved.items():
            self._run(_COUNTS, {"slot": slot, **msgspec.structs.asdict(counts)})
        reach("before-commit")
        self._run("COMMIT")
        self._counting.keep()
        reach("after-commit")
        self._heads.write({slot: head.Head(counts.seq, counts.chain) for slot, counts in moved.items()})

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.restore()
        if self.connection.in_transaction:
            self._run("ROLLBACK")

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._run("SAVEPOINT command")
        self._counting.mark()

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._run("RELEASE command")
        self._counting.release()

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.back()
        self._run("ROLLBACK TO command")
        self._run("RELEASE command")

    # What is written

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one slot; its first event is appended by the caller."""
        told = msgspec.json.encode(resolved, order="deterministic")
        model = self._run(
            "INSERT INTO models (name, body, resolved, created_at) VALUES (?, ?, ?, ?)", (name, body, told, at)
        ).lastrowid
        slot = self._run(
            "INSERT INTO slots (model, seq, version, decisions, late, keys, number, chain)"
            " VALUES (?, 0, 0, 0, 0, 0, 0, ?)",
            (model, Counts().chain),
        ).lastrowid
        self._counting.enter(int(slot or 0), Counts(), new=True)
        return ModelRow(int(model or 0), name, int(slot or 0), body, resolved, at)

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""
        self._run("UPDATE models SET archived_at = ? WHERE id = ?", (at, model))

    def append(self, slot: int, type: str, at: float, body: bytes | None, version: int = 1) -> int:
        """Write an event that is about no decision; its number."""
        return self._append(slot, self._touched(slot), type, version, at, None, None, None, body)

    def decided(self, slot: int, rows: Sequence[Asked]) -> int:
        """Write decisions, in order; the number of the first one's event."""
        counts = self._touched(slot)
        first = counts.seq + 1
        for row in rows:
            seq = self._append(slot, counts, "decision", 1, row.at, row.decision, row.key, None, row.body)
            self._run(
                _DECISION,
                (
                    bytes.fromhex(row.decision),
                    slot,
                    seq,
                    row.number,
                    row.expires_at,
                    row.request,
                    row.request_hash,
                    row.explored,
                    row.forwarded,
                ),
            )
            counts.decisions += 1
            if row.key is None:
                counts.number = row.number
            else:
                counts.keys += row.number == 1
            reach("decision-appended")
        return first

    def answered(self, slot: int, rows: Sequence[Told]) -> list[Verdict]:
        """Write feedback, in order, where it is the first to its decision, and say what became of each."""
        counts = self._touched(slot)
        return [self._answer(slot, counts, row) for row in rows]

    def _answer(self, slot: int, counts: Counts, row: Told) -> Verdict:
        made = self.decision(row.decision)
        if made is None or made.slot != slot:
            return Verdict("unknown", None, counts.version)
        if made.feedback_seq is not None:
            return Verdict(again(made, row.hash), None, counts.version)
        learnt = row.at <= made.expires_at
        counts.version += learnt
        counts.late += not learnt
        version = counts.version if learnt else None
        seq = self._append(slot, counts, "feedback", 1, row.at, row.decision, row.key, version, row.body)
        self._run(
            "UPDATE decisions SET feedback_seq = ?, feedback_hash = ?, version = ?, measure = ?, position = ?"
            " WHERE id = ?",
            (seq, row.hash, version, row.measure, row.position, bytes.fromhex(row.decision)),
        )
        reach("feedback-appended")
        return Verdict("learnt" if learnt else "late", seq, counts.version)

    def publish(self, slot: int, key: str | None, seq: int, content: bytes) -> None:
        """Keep what a learner has become after an event: a file, or a row that joins the open batch."""
        if key is not None:
            self._run(
                "INSERT INTO key_states VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET seq = excluded.seq, at = excluded.at, state = excluded.state",
                (slot, key, seq, time.time(), content),
            )
            reach("key-state-written")
        elif (mark := self._mark(slot, seq)) is not None:
            self.snapshots.take(slot, seq, mark, content)

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", tuple(token))

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        sql = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        return self._run(sql, (at, id)).rowcount > 0

    # Reading, as the writer needs it

    def counts(self, slot: int) -> Counts | None:
        """How far a slot is, the open batch included: the same object as long as the store is open."""
        if (held := self._counting.get(slot)) is None and (held := super().counts(slot)) is not None:
            self._counting.enter(slot, held)
        return held

    def last_number(self, slot: int, key: str | None) -> int:
        """The number of a learner's latest decision, the open batch included."""
        if key is None and (held := self.counts(slot)) is not None:
            return held.number
        return super().last_number(slot, key)

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

    def _touched(self, slot: int) -> Counts:
        counts = self.counts(slot)
        if counts is None:
            raise KeyError(f"there is no slot {slot}")
        self._counting.touch(slot)
        return counts

    def _append(
        self,
        slot: int,
        counts: Counts,
        type: str,
        version: int,
        at: float,
        decision: str | None,
        key: str | None,
        made: int | None,
        body: bytes | None,
    ) -> int:
        salt, seq = self._salts.next(), counts.seq + 1
        chain = link(counts.chain, seq, content(salt, type, version, at, decision, key, body))
        named = bytes.fromhex(decision) if decision is not None else None
        self._run(_EVENT, (slot, seq, type, version, at, named, key, made, salt, chain, body))
        counts.seq, counts.chain = seq, chain
        return seq

    def _run(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        try:
            return self.connection.execute(sql, values)
        except sqlite3.Error as error:
            if of_disk(error):
                raise refusal(error) from error
            raise

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
