"""The PostgreSQL store: write buffer, leases, vacuum, and the store; `postgres_batch` has the batch of the writer."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from smidgen.service.errors import DatabaseFailed, StorageFailed, Taken
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint
from smidgen.service.storage import sql, sql_writes
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_batch import Batch, PostgresLocks, as_parameters
from smidgen.service.storage.postgres_connection import (
    BoundStatement,
    Connection,
    PooledConnections,
    SnapshotConnection,
    bind_statement,
    read_in_pages,
)
from smidgen.service.storage.postgres_schema import prepare, refuse_other
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.reader import PublishedStates, SqlStoreReader, Statements
from smidgen.service.storage.records import LeaseRow, State, WorkerRow, WriteResult
from smidgen.service.storage.snapshots import KEPT, MARK
from smidgen.service.storage.store import SqlStore
from smidgen.service.storage.transitions import LiveCounts
from smidgen.service.storage.writer import SqlStoreWriter

#: How many rows of a statement are deferred at most.
_MOST_ROWS = 4096
#: Queries whose answers do not depend on deferred rows, and are not kept in memory.
_SETTLED = {sql.FLOOR, sql.ERASED_DECISION, sql.CALL}


class PostgresWriteBuffer:
    """The statements of the writer: those of the open batch are sent on its connection, others on those of readers.

    On the fast path a query for single rows is answered from what is committed, if the rows of the batch do not matter
    to it: the commit checks that it was still true. Before all other queries the batch locks its shards: what learners
    are recovered from must be as of the events that memory knows.

    Parameters
    ----------
    batch
        The writer's connection.
    readers
        The connections of readers.
    locks
        Knows rows that need no query.
    """

    def __init__(self, batch: Batch, readers: PooledConnections, locks: PostgresLocks) -> None:
        self._batch, self._readers, self._locks = batch, readers, locks
        self.stored_bytes = readers.stored_bytes

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """All rows."""
        if not self._batch.is_open_here:
            return self._readers.rows(query, values)
        known = self._locks.known_rows(query, values)
        if known is not None:
            return known
        if self._is_settled(query, values):
            rows = self._readers.rows(query, values)
            if query is not sql.DECISION_BY_ID or self._locks.keep_decision(values[0], rows):
                return rows
        self._locks.lock_trusted()
        known = self._locks.known_rows(query, values)
        return known if known is not None else self._batch.ask(bind_statement(query, values))[0]

    def _is_settled(self, query: str, values: Any) -> bool:
        """True if a query can be answered from what is committed: the commit checks that it was still true."""
        if not self._locks.is_trusting or self._locks.is_local or not self._batch.is_unsent:
            return False
        deferred = self._batch.deferred
        if query in _SETTLED or (query is sql.DUE_DECISIONS and not deferred):
            return True
        if query is sql.DECISION_BY_ID:
            return values[0] not in deferred.ids
        if query is sql.EVENT:
            return self._locks.is_committed(*values)
        # An id of the app in several shards is protected by a lock, not by an event that the commit would notice.
        return query is sql.decision_by_request(1) and values[0] not in deferred.requests

    def each(self, query: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; about ``size`` of them are fetched at a time."""
        if not self._batch.is_open_here:
            return self._readers.each(query, values, size)
        known = self._locks.news.changes(*values) if query in (sql.CHANGES, sql.CHANGES_OF_KEY) else None
        if known is not None:
            return known
        self._locks.lock_trusted()
        return read_in_pages(self._batch.ask, query, values, size)

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all queries within the block as of one moment; an open batch is one already."""
        return nullcontext() if self._batch.is_open_here else self._readers.snapshot()

    def run(self, statement: str, values: Any = ()) -> None:
        """Run a statement with the next query, or defer it."""
        self._locks.invalidate(statement, values)
        count = self._batch.deferred.add(statement, values) if self._batch.open else None
        if count is None:
            self._locks.lock_trusted()
            self._batch.run(bind_statement(statement, values))
        elif (count >= _MOST_ROWS and not self._locks.is_local) or self._batch.is_idle:
            self._locks.lock_trusted()
            self._batch.send()

    def run_many(self, statement: str, values: Sequence[Any]) -> None:
        """Run a statement once for each of the values."""
        for each in values:
            self.run(statement, each)

    def run_for(self, statement: str, values: Any = ()) -> list[Any]:
        """Run a statement now; the rows that it returns."""
        self._locks.invalidate(statement, values)
        self._locks.lock_trusted()
        return self._batch.run_for(bind_statement(statement, values))

    def close(self) -> None:
        """Close the connections; an open batch is undone."""
        self._batch.close()
        self._readers.close()


#: Before the renewal of what ends by itself: one that a crash loses does no harm.
_RENEWAL = bind_statement("BEGIN"), bind_statement("SET LOCAL synchronous_commit = off")
_COMMIT = bind_statement("COMMIT")


class Leases:
    """The living workers and the leases of shards, by the clock of the database.

    A change is durable at once, whatever batch is open.

    Parameters
    ----------
    side
        A connection of its own.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side
        self._listening: Connection | None = None

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Acquire or renew leases (`SharedWriting.lease`); the epochs by shard."""
        if not shards:
            return {}
        renewing = bind_statement(sql_writes.RENEW_LEASES, (owner, float(seconds), as_parameters(shards)[0]))
        *_, renewed, _ = self._side.ask(*_RENEWAL, renewing, _COMMIT)
        epochs = dict(renewed)
        if rest := [shard for shard in shards if shard not in epochs]:
            values = (owner, float(seconds), as_parameters(rest)[0])
            epochs |= dict(self._side.ask(bind_statement(sql_writes.GRANT_LEASES, values))[0])
        return epochs

    def leases(self) -> list[LeaseRow]:
        """All leases, by shard."""
        (rows,) = self._side.ask(bind_statement(sql.LEASES))
        return [LeaseRow(*row) for row in rows]

    def release_leases(self, owner: str, *shards: int) -> None:
        """Release leases; those of another owner stay."""
        self._side.ask(bind_statement(sql_writes.RELEASE_LEASES, (owner, 0.0, as_parameters(shards)[0])))

    def join(self, worker: str, addresses: str, seconds: float) -> list[WorkerRow]:
        """Enter this worker among the living, or renew that (`SharedWriting.join`)."""
        joining = bind_statement(sql_writes.JOIN_WORKERS, (worker, addresses, float(seconds)))
        *_, living = self._side.ask(*_RENEWAL, joining, _COMMIT, bind_statement(sql.LIVING_WORKERS))
        return [WorkerRow(*row) for row in living]

    def leave(self, worker: str) -> None:
        """Delete a worker that stops."""
        self._side.ask(bind_statement(sql_writes.LEAVE_WORKERS, (worker,)))

    def announce(self) -> None:
        """Wake all workers that wait for an announcement."""
        self._side.ask(bind_statement(sql.ANNOUNCE, (self._side.address.schema,)))

    def wait_for_announcement(self, seconds: float) -> bool:
        """Wait for an announcement of any worker of the schema (`SharedWriting.wait_for_announcement`)."""
        if self._listening is None or not self._listening.open:
            self._listening = Connection(self._side.address, reading=True, idle_s=None)
            self._listening.ask([BoundStatement("LISTEN smidgen", [], [], plain=True)])
            return True
        return self._side.address.schema in self._listening.notifications(seconds)

    def secret(self, name: str) -> bytes:
        """The secret of this name, created when it is first asked for."""
        keeping = bind_statement(sql_writes.KEEP_KEY, (name, secrets.token_bytes(32)))
        _, ((content,),) = self._side.ask(keeping, bind_statement(sql.SHARED_KEY, (name,)))
        return bytes(content)

    def close(self) -> None:
        """Close the connection that waits for announcements."""
        if self._listening is not None:
            self._listening.close()


_log = logging.getLogger("smidgen.service")
_VACUUM_LOCK = 0x73766163
_ERASED_FROM = ("events", "decisions", "calls", "states", "key_states", "base_states", "carried")


class VacuumThread:
    """Vacuums the tables after rows were erased, in a thread: it may take long. One worker does it for all.

    Parameters
    ----------
    side
        A connection for queries.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side
        self._thread: threading.Thread | None = None

    def is_done(self) -> bool:
        """True if nothing is left to do; otherwise a vacuum is running or is started."""
        if self._thread is not None and self._thread.is_alive():
            return False
        (((unclean,),),) = self._side.ask(bind_statement(sql.UNVACUUMED))
        if not unclean:
            return True
        self._thread = threading.Thread(target=self._vacuum, args=(unclean,), name="smidgen vacuum", daemon=True)
        self._thread.start()
        return False

    def close(self) -> None:
        """Wait one second for a running vacuum; the server continues without the client."""
        if self._thread is not None:
            self._thread.join(1.0)

    def _vacuum(self, unclean: int) -> None:
        try:
            wire = Connection(self._side.address, statement_s=None)
        except StorageFailed as error:
            _log.warning("erased rows are still in the tables: %s", error)
            return
        try:
            locked = bind_statement(sql.VACUUM_LOCK, (_VACUUM_LOCK, self._side.address.schema), plain=True)
            (((mine,),),) = wire.ask([locked])
            if mine:
                for table in _ERASED_FROM:
                    wire.ask([BoundStatement(f"VACUUM (TRUNCATE FALSE) {table}", [], [], plain=True)])
                wire.ask([bind_statement(sql_writes.NOTE_VACUUMED, (unclean,))])
        except StorageFailed as error:
            _log.warning("erased rows are still in the tables: %s", error)
        finally:
            wire.close()


_PROBE = 8192  # random bytes: the server cannot compress them
_UPSERT_STATE = sql_writes.UPSERT_STATE.format(mark=MARK)
_DELETE_OLD_STATES = sql_writes.DELETE_OLD_STATES.format(kept=KEPT)


def _states_in(statements: Statements) -> PublishedStates:
    def published(shard: int, mark: Callable[[int, int], str | None]) -> Iterator[State]:
        for (seq,) in statements.rows(sql.STATE_SEQS, (shard,)):
            for _, content, made, at in statements.rows(sql.STATE, (shard, seq)):
                own = made[:MARK].hex() == mark(shard, seq)
                yield State(seq, content, f"the state after event {seq}", own, len(content), at)

    return published


def _reader(statements: Statements) -> SqlStoreReader:
    return SqlStoreReader(statements, _states_in(statements))


def open_snapshot_reader(address: Address) -> SqlStoreReader:
    """Open a database for reading as of this moment, while a service may be running.

    Tables are not created, and those of another version of smidgen are refused.
    """
    wire = Connection(address, reading=True, statement_s=None, idle_s=None)
    try:
        refuse_other(wire)
        return _reader(SnapshotConnection(wire))
    except BaseException:
        wire.close()
        raise


class PostgresStore(SqlStore):
    """A schema of a PostgreSQL database, for one of its writers.

    The tables are created if they do not exist. When a commit returns, it is on the server's disk. If the connection is
    lost, the open batch fails (nobody has received an acknowledgment), and the next batch reconnects.

    Parameters
    ----------
    url
        ``postgresql://user:password@host/database``, with options of libpq and of `Address`.
    readers
        The maximum number of connections of a reader.
    """

    def __init__(self, url: str, *, readers: int = 8) -> None:
        self.address = Address.of(url)
        wire = Connection(self.address)
        try:
            prepare(wire)
        except BaseException:
            wire.close()
            raise
        self._batch, self._side = Batch(self.address, wire), Batch(self.address)
        self._counting = LiveCounts()
        pool = PooledConnections(self.address, 2)
        self._locks = PostgresLocks(self._batch, pool, self._counting)
        self._buffer = PostgresWriteBuffer(self._batch, pool, self._locks)
        self._writes = SqlStoreWriter(
            self._buffer, _reader(self._buffer), self._counting, self._locks, trusts=self._locks.trusts
        )
        super().__init__(_reader(self._buffer), self._writes)
        self.acquire, self.prefetch = self._locks.acquire, self._locks.prefetch
        self._leases = leases = Leases(self._side)
        self.lease, self.leases, self.release_leases = leases.lease, leases.leases, leases.release_leases
        self.join, self.leave, self.secret = leases.join, leases.leave, leases.secret
        self.announce, self.wait_for_announcement = leases.announce, leases.wait_for_announcement
        self._vacuum_thread = VacuumThread(self._side)
        self._most_readers = readers
        try:
            self._refuse_torn()
        except BaseException:
            self.close()
            raise

    # The batch

    @property
    def shared(self) -> bool:
        """Always True: others may write to it too."""
        return True

    @property
    def round_trips(self) -> int:
        """Number of round trips of its batches to the database."""
        return self._batch.round_trips

    @property
    def in_batch(self) -> bool:
        """True if a batch is open."""
        return self._batch.open

    def begin(self) -> None:
        """Open a batch; nothing is sent yet."""
        crash_point("before-begin")
        self._locks.begin()
        self._batch.begin()
        crash_point("after-begin")

    def try_begin(self) -> bool:
        """Open a batch that never waits for the database before its commit; False if memory cannot be relied on.

        A command that needs the database raises `NeedsDatabase`.
        """
        if self._batch.open or not self._locks.begin(local=True):
            return False
        crash_point("before-begin")
        self._batch.begin()
        crash_point("after-begin")
        return True

    def trust(self, owns: Callable[[int], bool]) -> None:
        """Rely on memory for shards that this worker owns (`SharedWriting.trust`)."""
        self._locks.owns = owns

    def trusts(self, shard: int) -> bool:
        """True if the open batch relies on memory for a shard (`SharedWriting.trusts`)."""
        return self._locks.trusts(shard)

    def commit(self) -> None:
        """Commit the batch; returns when it is on the server's disk.

        `Outdated` is raised, and nothing is committed, if another worker has written to a shard that was trusted.
        """
        self._batch.commit(*self._locks.checks(self._counting.changed()))
        self._counting.commit()
        self._locks.end()

    def rollback(self) -> None:
        """Undo the batch, if one is open; if it was outdated, the next one locks its shards."""
        if self._batch.is_outdated:
            self._locks.doubt()
        self._counting.rollback()
        self._batch.rollback()
        self._locks.end()

    def savepoint(self) -> None:
        """Begin a command within the batch."""
        self._batch.savepoint()
        self._counting.savepoint()
        self._locks.savepoint()

    def release(self) -> None:
        """End the command."""
        self._batch.release()
        self._counting.release()

    def rollback_to_savepoint(self) -> None:
        """Undo the command and nothing else of the batch."""
        self._counting.rollback_to_savepoint()
        self._batch.rollback_to_savepoint()
        self._locks.rollback_to_savepoint()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """The open batch, or a batch of its own."""
        if self._batch.is_open_here:
            yield
            return
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    # Writing

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep the state of a learner after an event, as a row; False if another worker holds the shard."""
        with self._transaction():
            if epoch is not None and self._buffer.rows(sql.LEASED_SINCE, (shard, epoch)):
                return False
            try:
                self._locks.acquire(shard)  # rows of states are locked in the order of shards too
            except Taken:
                return False
            if key is not None:
                self._buffer.run(sql_writes.UPSERT_KEY_STATE, (shard, key, seq, time.time(), content))
                crash_point("key-state-written")
            else:
                self._buffer.run(_UPSERT_STATE, (shard, seq, time.time(), content))
                self._buffer.run(_DELETE_OLD_STATES, (shard,))
        return True

    def drop_states(self, shard: int, before: int) -> None:
        """Between batches: delete the states of the shard itself from before an event."""
        with self._transaction():
            if self._buffer.run_for(sql_writes.DELETE_STATES_BEFORE, (shard, before)):
                self._buffer.run(sql_writes.NOTE_UNVACUUMED)

    def forget(
        self,
        shard: int,
        key: str | None,
        at: float,
        places: tuple[int, int] | None = None,
        rewrites: Mapping[int, bytes] | None = None,
        own: Sequence[int] = (),
    ) -> tuple[int, WriteResult]:
        """Erase the events of a key, and rewrite events of others (`Store.forget`)."""
        result = self._events.forget(shard, key, at, places, rewrites, own)
        self._buffer.run(sql_writes.NOTE_UNVACUUMED)
        return result

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let the log of a shard begin after a base; published states from before it are deleted."""
        seq = self._writes.write_checkpoint(shard, base, carried, at)
        self._buffer.run(sql_writes.DELETE_STATES_BEFORE, (shard, base.seq))
        return seq

    def purge(self, limit: int) -> bool:
        """Erase rows of about ``limit`` events under a base; False if none are left."""
        more = self._writes.purge(limit)
        if more:
            self._buffer.run(sql_writes.NOTE_UNVACUUMED)
        return more

    def vacuum(self) -> bool:
        """Between batches: vacuum the tables if rows were erased; False while that is running."""
        return self._vacuum_thread.is_done()

    @property
    def is_fragmented(self) -> bool:
        """Always False: the server manages its files."""
        return False

    def compact(self) -> None:
        """Do nothing: a client can only vacuum (`vacuum`)."""

    def probe(self) -> None:
        """Write random bytes: the commit shows whether the server accepts writes."""
        self._buffer.run(sql_writes.POSTGRES_PROBE, (os.getpid(), os.urandom(_PROBE)))

    def seems_writable(self) -> bool:
        """Ask the server for a number."""
        self.catalogue_number()
        return True

    # Other writers

    def catalogue_number(self, *, now: bool = False) -> int:
        """A number that grows with every committed change of the rows of models and tokens."""
        if self._batch.is_open_here:
            return self._locks.catalogue_number(now=now)
        (((number,),),) = self._side.ask(bind_statement(sql.CATALOGUE_NUMBER))
        self._locks.note_catalogue(number)
        return int(number)

    def event_types(self, shard: int, after: int) -> set[str]:
        """The types of the events of a shard after one."""
        known = self._locks.news.event_types(shard, after) if self._batch.is_open_here else None
        if known is not None:
            return known
        return {type for (type,) in self._buffer.rows(sql.EVENT_TYPES, (shard, after))}

    def reader(self) -> StoreReader:
        """A reading view of its own."""
        return _reader(PooledConnections(self.address, self._most_readers))

    def close(self) -> None:
        """Close the connections; an open batch is undone."""
        self._vacuum_thread.close()
        self._buffer.close()
        self._leases.close()
        self._side.close()

    def _refuse_torn(self) -> None:
        """Refuse a log whose last event is not that of the counts of its shard."""
        for shard, seq in self._buffer.rows(sql.TORN_LOGS):
            raise DatabaseFailed(
                f"the log of shard {shard} in {self.address} does not end with event {seq}, the event of its head",
                "restore the whole database from a backup",
            )
