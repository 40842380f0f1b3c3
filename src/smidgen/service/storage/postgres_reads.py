"""Readers, leases and vacuum on PostgreSQL."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from smidgen.service.errors import StorageFailed
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import (
    Batch,
    BoundStatement,
    Connection,
    ConnectionPool,
    Rows,
    bind_statement,
)
from smidgen.service.storage.postgres_schema import refuse_other
from smidgen.service.storage.records import LeaseRow, State
from smidgen.service.storage.snapshots import MARK
from smidgen.service.storage.sql import SqlStoreReader, Statements

# Reading from PostgreSQL: connections of their own for readers, one snapshot for a moment, long answers in parts.

_PAGE = "SELECT * FROM ({sql}) AS page LIMIT {size}"
_MOMENT = bind_statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_END = bind_statement("COMMIT")
_SEQS = "SELECT seq FROM states WHERE shard = ? ORDER BY seq DESC"
_STATE = "SELECT seq, state, mark, at FROM states WHERE shard = ? AND seq = ?"
#: About how many bytes are fetched at once of a long answer, and how many rows at least and at most.
_PART, _FEWEST, _MOST = 4 << 20, 16, 2048
_names = itertools.count()

Asking = Callable[..., Rows]


class PostgresStoreReader(SqlStoreReader):
    """The questions, over a connection of somebody else; published states are rows."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Do nothing: the connection answers as of one moment, or its owner sees to that."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing: the owner closes the connection."""

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is not None:
            yield from self._states_of_key(shard, key)
            return
        for (seq,) in self._rows(_SEQS, (shard,)):
            if (row := self._row(_STATE, (shard, seq))) is not None:
                _, content, mark, at = row
                own = mark[:MARK].hex() == self._mark(shard, seq)
                yield State(seq, content, f"the state after event {seq}", own, len(content), at)

    def stored_bytes(self) -> int:
        """Size of the database in bytes."""
        ((size,),) = self._rows("SELECT pg_database_size(current_database())")
        return int(size)


class SnapshotConnection(Statements):
    """A connection whose answers are all as of one moment.

    Parameters
    ----------
    wire
        The connection.
    """

    def __init__(self, wire: Connection) -> None:
        self._wire = wire
        self._lock = threading.RLock()

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        return self._ask(bind_statement(sql, values))[0]

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""
        return read_in_pages(self._ask, sql, values, size)

    def _ask(self, *calls: BoundStatement) -> Rows:
        with self._lock:
            return self._wire.ask(calls)


class PostgresSnapshotReader(PostgresStoreReader):
    """A store to be looked at beside a running service, all of it as of the moment when it was opened.

    Parameters
    ----------
    address
        Where; tables are not made, and those of another smidgen are refused.
    """

    def __init__(self, address: Address) -> None:
        self._wire = Connection(address, reading=True, statement_s=None, idle_s=None)
        try:
            refuse_other(self._wire)
            _begin(self._wire)
        except BaseException:
            self._wire.close()
            raise
        super().__init__(SnapshotConnection(self._wire))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()


class PooledConnections(Statements):
    """Connections for many threads: each has its own while it asks.

    Parameters
    ----------
    address
        Where.
    most
        How many connections there may be at once.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self.address = address
        self._wires = ConnectionPool(address, most)
        self._own = threading.local()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all questions of this thread within the block as of one moment."""
        if getattr(self._own, "wire", None) is not None:
            yield
            return
        with self._connection_of_thread() as wire:
            self._own.wire = wire
            try:
                _begin(wire)
                yield
            finally:
                self._own.wire = None
                if wire.open:
                    wire.ask([_END])

    def close(self) -> None:
        """Close the connections."""
        self._wires.close()

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows."""
        return self._ask(bind_statement(sql, values))[0]

    def _ask(self, *calls: BoundStatement) -> Rows:
        held: Connection | None = getattr(self._own, "wire", None)
        if held is not None:
            return held.ask(calls)
        while True:
            with self._connection_of_thread() as wire:
                used = wire.round_trips > 1
                try:
                    return wire.ask(calls)
                except StorageFailed:
                    if wire.open or not used:
                        raise
            # it had died since it was last used, and nothing was changed over it: ask another

    def each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one, read some at a time."""
        if getattr(self._own, "wire", None) is not None:
            yield from read_in_pages(self._ask, sql, values, size)
            return
        if len(rows := self.rows(first_page(sql, size), values)) < size:
            yield from rows
            return
        with self._connection_of_thread() as wire:
            _begin(wire)
            try:
                yield from _fetch_pages(lambda *calls: wire.ask(calls), sql, values, size)
            finally:
                if wire.open:
                    wire.ask([_END])

    @contextmanager
    def _connection_of_thread(self) -> Iterator[Connection]:
        wire = self._wires.acquire()
        try:
            yield wire
        finally:
            self._wires.release(wire)


class PostgresReaderPool(PostgresStoreReader):
    """The questions, for many threads: each has a connection of its own while it asks.

    Parameters
    ----------
    address, most
        As of `PooledConnections`.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self.connections = PooledConnections(address, most)
        super().__init__(self.connections)

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer all questions of this thread within the block as of one moment."""
        return self.connections.snapshot()

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()


def first_page(sql: str, size: int) -> str:
    """A statement for the first rows only."""
    return _PAGE.format(sql=sql, size=size)


def read_in_pages(ask: Asking, sql: str, values: Any, size: int) -> Iterator[Any]:
    """The rows of a statement within a transaction: the first ones at once, and if there are more, some at a time."""
    (rows,) = ask(bind_statement(first_page(sql, size), values))
    if len(rows) < size:
        yield from rows
    else:
        yield from _fetch_pages(ask, sql, values, size)


def _fetch_pages(ask: Asking, sql: str, values: Any, size: int) -> Iterator[Any]:
    name, asked = f"part{next(_names)}", bind_statement(sql, values)
    declared = BoundStatement(
        f"DECLARE {name} NO SCROLL CURSOR FOR {asked.sql}", asked.values, asked.formats, plain=True
    )
    _, rows = ask(declared, _fetch(name, size))
    while rows:
        yield from rows
        if len(rows) < size:
            break
        bytes_of = sum(len(value) for row in rows for value in row if isinstance(value, bytes)) + 64 * len(rows)
        size = max(_FEWEST, min(_MOST, _PART * len(rows) // bytes_of))
        (rows,) = ask(_fetch(name, size))
    ask(BoundStatement(f"CLOSE {name}", [], [], plain=True))


def _fetch(name: str, count: int) -> BoundStatement:
    return BoundStatement(f"FETCH {count} FROM {name}", [], [], plain=True)


def _begin(wire: Connection) -> None:
    wire.ask([_MOMENT, bind_statement("SELECT 1 FROM catalogue")])


# Who owns which shard, by the clock of the database: leases with epochs.

_NOW = "CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
_SHARDS = "CAST(string_to_array(?3, ',') AS BIGINT[])"
# Rows are locked in the order of shards, so that nobody waits in a ring.
_RENEWAL = """
    WITH held AS (
        SELECT shard FROM leases WHERE shard = ANY ({shards}) AND owner = ?1 AND until > {now} ORDER BY shard FOR UPDATE
    ) UPDATE leases SET until = {now} + ?2 FROM held WHERE leases.shard = held.shard RETURNING leases.shard, epoch
"""
_RENEW = _RENEWAL.format(now=_NOW, shards=_SHARDS)
_GRANTING = """
    INSERT INTO leases AS l SELECT wanted, ?1, 1, {now} + ?2 FROM unnest({shards}) AS wanted WHERE NOT EXISTS (
        SELECT 1 FROM leases WHERE shard = wanted AND owner <> ?1 AND until > {now}
    ) ORDER BY wanted
    ON CONFLICT (shard) DO UPDATE
        SET owner = excluded.owner, until = excluded.until,
            epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
    WHERE l.owner = excluded.owner OR l.until <= {now} RETURNING shard, epoch
"""
_GRANT = _GRANTING.format(now=_NOW, shards=_SHARDS)
_LEAVING = """
    WITH held AS (SELECT shard FROM leases WHERE shard = ANY ({shards}) AND owner = ?1 ORDER BY shard FOR UPDATE)
    UPDATE leases SET until = ?2 FROM held WHERE leases.shard = held.shard
"""
_LEAVE = _LEAVING.format(shards=_SHARDS)


class Leases:
    """The leases, over a connection of their own: they last at once, whatever batch is open.

    Parameters
    ----------
    side
        The connection.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side

    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        """Own shards, or go on owning them, for so long; those that somebody else owns are left out."""
        if not shards:
            return {}
        given = (owner, float(seconds), _as_parameters(shards))
        renewing = (
            bind_statement("BEGIN"),
            bind_statement("SET LOCAL synchronous_commit = off"),
            bind_statement(_RENEW, given),
            bind_statement("COMMIT"),
        )
        *_, renewed, _ = self._side.ask(*renewing)  # a renewal that a crash forgets does no harm
        epochs = dict(renewed)
        if rest := [shard for shard in shards if shard not in epochs]:
            epochs |= dict(self._side.ask(bind_statement(_GRANT, (owner, float(seconds), _as_parameters(rest))))[0])
        return epochs

    def leases(self) -> list[LeaseRow]:
        """Read all leases, by shard."""
        (rows,) = self._side.ask(
            bind_statement("SELECT shard, owner, epoch, until FROM leases WHERE until > 0 ORDER BY shard")
        )
        return [LeaseRow(*row) for row in rows]

    def release_leases(self, owner: str, *shards: int) -> None:
        """Own shards no more."""
        self._side.ask(bind_statement(_LEAVE, (owner, 0.0, _as_parameters(shards))))


def _as_parameters(shards: Sequence[int]) -> str:
    return ",".join(map(str, shards))


# Taking what was erased out of PostgreSQL's tables: a vacuum aside, by one worker for all.

_log = logging.getLogger("smidgen.service")
_LOCK = 0x73766163
_TABLES = ("events", "decisions", "calls", "states", "key_states", "base_states", "carried")


class VacuumThread:
    """Vacuums the tables after something was erased; it may take long, so it happens in a thread of its own.

    Parameters
    ----------
    side
        A connection for questions.
    """

    def __init__(self, side: Batch) -> None:
        self._side = side
        self._thread: threading.Thread | None = None

    def is_done(self) -> bool:
        """Check whether nothing is left to do; else it is begun, or goes on."""
        if self._thread is not None and self._thread.is_alive():
            return False
        (((unclean,),),) = self._side.ask(bind_statement("SELECT unclean FROM catalogue"))
        if not unclean:
            return True
        self._thread = threading.Thread(target=self._vacuum, args=(unclean,), name="smidgen vacuum", daemon=True)
        self._thread.start()
        return False

    def close(self) -> None:
        """Wait a little for a vacuum that is under way; else the server goes on alone."""
        if self._thread is not None:
            self._thread.join(1.0)

    def _vacuum(self, unclean: int) -> None:
        try:
            wire = Connection(self._side.address, statement_s=None)
        except StorageFailed as error:
            _log.warning("what was erased is still in the tables: %s", error)
            return
        try:
            schema = self._side.address.schema
            locked = f"SELECT pg_try_advisory_lock({_LOCK}, hashtext('{schema}'))"
            (((mine,),),) = wire.ask([BoundStatement(locked, [], [], plain=True)])
            if mine:
                for table in _TABLES:
                    wire.ask([BoundStatement(f"VACUUM (TRUNCATE FALSE) {table}", [], [], plain=True)])
                wire.ask([bind_statement("UPDATE catalogue SET unclean = 0 WHERE unclean = ?", (unclean,))])
        except StorageFailed as error:
            _log.warning("what was erased is still in the tables: %s", error)
        finally:
            wire.close()
