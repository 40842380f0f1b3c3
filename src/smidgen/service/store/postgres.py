"""The store in PostgreSQL: as many workers as there are, ordered by the row locks of the slots."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import msgspec

from smidgen.service.refusals import StorageFailed, Taken
from smidgen.service.store.bases import Base, Carried
from smidgen.service.store.crash_points import reach
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_batch import Batch
from smidgen.service.store.postgres_cleansing import Cleansing
from smidgen.service.store.postgres_leases import Leases
from smidgen.service.store.postgres_reads import PostgresReaders, in_parts
from smidgen.service.store.postgres_schema import prepare
from smidgen.service.store.postgres_slots import PostgresSlots
from smidgen.service.store.postgres_wire import Wire, call
from smidgen.service.store.protocol import Reading
from smidgen.service.store.questions import TORN
from smidgen.service.store.rows import LeaseRow, Verdict
from smidgen.service.store.snapshots import KEPT, MARK
from smidgen.service.store.sql_models import COUNTS, KEY_STATE

_PROBE = 8192  # bytes, at random: nothing makes them smaller
_STATE_OF = """
    INSERT INTO states SELECT ?1, ?2, ?3, substr(found.chain, 1, {mark}), ?4 FROM (
        SELECT chain FROM events WHERE slot = ?1 AND seq = ?2
        UNION ALL SELECT chain FROM bases WHERE slot = ?1 AND seq = ?2
    ) AS found LIMIT 1
    ON CONFLICT (slot, seq) DO UPDATE SET at = excluded.at, mark = excluded.mark, state = excluded.state
"""
_STATE = _STATE_OF.format(mark=MARK)
_NEWEST = """
    DELETE FROM states WHERE slot = ?1 AND seq < ALL (
        SELECT s.seq FROM states s WHERE s.slot = ?1 ORDER BY s.seq DESC LIMIT {kept}
    )
"""
_KEEP = _NEWEST.format(kept=KEPT)
_MOVE = "UPDATE catalogue SET number = number + 1"
_SOIL = "UPDATE catalogue SET unclean = unclean + 1"


class PostgresStore(PostgresSlots):
    """A schema of a PostgreSQL database, for one of its writers.

    The tables are made if they are not there. Every commit is on the server's disk when it returns. A connection that
    is lost fails the batch that is open, which was acknowledged to nobody; the next one connects anew.

    Parameters
    ----------
    url
        ``postgresql://user:password@host/database``, with libpq's options and our own (`Address`).
    readers
        How many connections those who read may have at once.
    """

    def __init__(self, url: str, *, readers: int = 8) -> None:
        self.address = Address.of(url)
        wire = Wire(self.address)
        try:
            prepare(wire)
        except BaseException:
            wire.close()
            raise
        super().__init__(Batch(self.address, wire))
        self._side = Batch(self.address)
        self._leases = Leases(self._side)
        self._cleansing = Cleansing(self._side)
        self._most = readers
        self._readers = PostgresReaders(self.address, 2)
        try:
            self._refuse_torn()
        except BaseException:
            self.close()
            raise

    # The batch

    @property
    def shared(self) -> bool:
        """Others may write to it too."""
        return True

    @property
    def trips(self) -> int:
        """How often its batches have waited for the database."""
        return self._batch.trips

    @property
    def in_batch(self) -> bool:
        """Whether a batch is open."""
        return self._batch.open

    def begin(self) -> None:
        """Open a batch; nothing is sent yet."""
        reach("before-begin")
        self._let_go()
        self._batch.begin()
        reach("after-begin")

    def begin_at_once(self) -> bool:
        """Never: the database may be far away, and others write to it."""
        return False

    def commit(self) -> None:
        """Make the batch last: returns when it is on the server's disk."""
        for slot, counts in self._counting.moved().items():
            self._run(COUNTS, {"slot": slot, **msgspec.structs.asdict(counts)})
        self._batch.commit()
        self._counting.keep()
        self._let_go()

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        self._counting.restore()
        self._batch.rollback()
        self._let_go()

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._batch.savepoint()
        self._counting.mark()
        self._before = frozenset(self._held), self._cataloguing

    def release(self) -> None:
        """The command is done; it lasts if the batch does."""
        self._batch.release()
        self._counting.release()

    def undo(self) -> None:
        """Undo the command, and nothing else of the batch."""
        self._counting.back()
        held, self._cataloguing = self._before
        self._let_go(self._held - held if self._batch.undo() else ())

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """The open batch, or one of its own."""
        if self._batch.mine:
            yield
            return
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    # What is written

    def publish(self, slot: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event, as a row; of a slot that another is writing to, nothing."""
        with self._whole():
            if epoch is not None:
                rows = self._rows("SELECT 1 FROM leases WHERE slot = ? AND epoch > ?", (slot, epoch))
                if rows:
                    return False
            try:
                self.enter(slot)  # rows of states are locked in the order of slots, too
            except Taken:
                return False
            if key is not None:
                self._run(KEY_STATE, (slot, key, seq, time.time(), content))
                reach("key-state-written")
            else:
                self._run(_STATE, (slot, seq, time.time(), content))
                self._run(_KEEP, (slot,))
        return True

    def drop_states(self, slot: int, before: int) -> None:
        """Between batches: keep no state of the slot itself from before an event."""
        with self._whole():
            if self._run_for("DELETE FROM states WHERE slot = ? AND seq < ? RETURNING seq", (slot, before)):
                self._run(_SOIL)

    def forget(self, slot: int, key: str, at: float, places: tuple[int, int] | None = None) -> tuple[int, Verdict]:
        """Erase the events of a key: what they say, its decisions, its state; its names leave these places empty."""
        told = super().forget(slot, key, at, places)
        self._run(_SOIL)
        return told

    def rebase(self, slot: int, base: Base, carried: Sequence[Carried], at: float) -> int:
        """Let a log begin after a base whose states are staged; what was published of earlier moments goes."""
        told = super().rebase(slot, base, carried, at)
        self._run("DELETE FROM states WHERE slot = ? AND seq < ?", (slot, base.seq))
        return told

    def erase(self, slot: int, seq: int) -> None:
        """Erase what one event says; its number, its version and the chain stay."""
        super().erase(slot, seq)
        self._run(_SOIL)

    def tidy(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        more = super().tidy(limit)
        if more:
            self._run(_SOIL)
        return more

    def cleanse(self) -> bool:
        """Between batches: have the tables vacuumed if something was erased; False while that goes on."""
        return self._cleansing.done()

    def probe(self) -> None:
        """Write something of its own: whether the batch lasts says whether anything would."""
        sql = "INSERT INTO probe VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content"
        self._run(sql, (os.getpid(), os.urandom(_PROBE)))

    def _catalogued(self, name: str | None = None) -> None:
        """Move the catalogue, whose row is locked by that until the batch ends; so a name that is free stays free."""
        if not self._cataloguing:
            self._run(_MOVE)
            self._cataloguing = True
        if name is not None and self._row("SELECT 1 FROM models WHERE name = ?", (name,)) is not None:
            raise Taken(f"there is a model {name!r}, made by another worker", "do it again in the next batch")

    # Others who write

    def catalogue(self) -> int:
        """A number that grows with every committed change of the rows of models and of tokens."""
        if self._batch.mine:
            if self._number is None:
                ((self._number,),) = self._rows("SELECT number FROM catalogue")
            return self._number
        (((number,),),) = self._side.ask(call("SELECT number FROM catalogue"))
        return int(number)

    def lease(self, owner: str, seconds: float, *slots: int) -> dict[int, int]:
        """Own slots, or go on owning them, for so long; those that somebody else owns are left out."""
        return self._leases.lease(owner, seconds, *slots)

    def leases(self) -> list[LeaseRow]:
        """Who owns which slot until when, by slot."""
        return self._leases.leases()

    def leave(self, owner: str, *slots: int) -> None:
        """Own slots no more."""
        self._leases.leave(owner, *slots)

    # Reading

    def moment(self) -> AbstractContextManager[None]:
        """Answer all questions within the block as of one moment; an open batch is one already."""
        return nullcontext() if self._batch.mine else self._readers.moment()

    def reader(self) -> Reading:
        """A reading view of its own."""
        return PostgresReaders(self.address, self._most)

    def close(self) -> None:
        """Close the connections; a batch that is open is undone by that."""
        self._cleansing.close()
        self._batch.close()
        self._side.close()
        self._readers.close()

    # How statements get there

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        if not self._batch.mine:
            return self._readers._rows(sql, values)
        return self._batch.ask(call(sql, values))[0]

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        if not self._batch.mine:
            return self._readers._each(sql, values, size)
        return in_parts(self._batch.ask, sql, values, size)

    def _run(self, sql: str, values: Any = ()) -> None:
        self._forget(sql, values)
        self._batch.run(call(sql, values))

    def _run_many(self, sql: str, values: Sequence[Any]) -> None:
        for each in values:
            self._run(sql, each)

    def _run_for(self, sql: str, values: Any = ()) -> list[Any]:
        self._forget(sql, values)
        return self._batch.run_for(call(sql, values))

    def _refuse_torn(self) -> None:
        """Refuse a log that does not end where the head of its slot says."""
        for slot, seq in self._rows(TORN):
            raise StorageFailed(
                f"the log of slot {slot} in {self.address} does not end with event {seq}, as its head says",
                "put the whole database back from a backup",
            )
