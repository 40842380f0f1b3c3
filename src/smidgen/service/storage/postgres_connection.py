"""Connections to PostgreSQL: one connection, and those of readers."""

from __future__ import annotations

import itertools
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from smidgen.errors import MissingExtra
from smidgen.service.errors import DatabaseFailed, StorageFailed
from smidgen.service.storage import sql
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_dialect import (
    BINARY,
    READ,
    ArrayType,
    Statement,
    encode_array,
    encode_values,
    translate,
)

try:
    import psycopg
    from psycopg import pq
except ImportError as error:
    raise MissingExtra("a store on PostgreSQL needs psycopg", "pip install 'smidgen[postgresql]'") from error

#: How long the client waits beyond the time limit of a statement, in seconds.
PATIENCE_S = 10.0
#: Statements per pipeline: their results fit into the buffer of a socket, so client and server never block each other.
_TOGETHER = 256
_STATEMENT_S = 60.0
_LOCK_S = 10.0
_IDLE_S = 60.0
#: Errors of statements and values, not of the server or the network.
_OURS = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError)


_AGAIN = "the request probably changed nothing; send it again, smidgen reconnects by itself"
_NO_SESSIONS = "connect to the server itself, or to a pooler that keeps sessions"
#: Errors that a new connection would get too, with their hints.
_LASTING: dict[type[psycopg.Error], str] = {
    psycopg.errors.InsufficientPrivilege: "let the owner of the schema grant what the role lacks, or be that role",
    psycopg.errors.ReadOnlySqlTransaction: "give the address of a server that can be written to",
    psycopg.errors.DuplicatePreparedStatement: _NO_SESSIONS,
    psycopg.errors.InvalidSqlStatementName: _NO_SESSIONS,
}


#: The rows of each of several statements.
Rows = list[list[tuple[Any, ...]]]


class BoundStatement(NamedTuple):
    """A statement with its encoded values.

    Attributes
    ----------
    sql
        The statement, with numbered places.
    values, formats
        The values and their formats.
    plain
        Whether it is sent without being prepared.
    """

    sql: str
    values: list[bytes | None]
    formats: list[int]
    plain: bool = False

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(len(value) for value in self.values if value is not None) + 64


def bind_statement(sql: str, values: Any = (), *, plain: bool = False) -> BoundStatement:
    """Translate a statement and encode its values; raises TypeError for a value that cannot be sent."""
    statement: Statement = translate(sql)
    return BoundStatement(statement.sql, *encode_values(statement, values), plain)


def bind_arrays(sql: str, kinds: Sequence[ArrayType], columns: Iterable[Sequence[Any]]) -> BoundStatement:
    """Bind a statement that takes each column of many rows as an array."""
    values = [encode_array(kind, column) for kind, column in zip(kinds, columns, strict=True)]
    return BoundStatement(translate(sql).sql, values, [BINARY] * len(values))


class Connection:
    """A connection, for one thread at a time: many statements in one round trip, each prepared once.

    Parameters
    ----------
    address
        The database.
    reading
        Whether the session is read-only.
    statement_s
        The time limit of a statement; None for no limit.
    idle_s
        The time limit of an idle transaction of a reader; the address has that of a writer.

    Attributes
    ----------
    round_trips
        The number of round trips.
    """

    def __init__(
        self,
        address: Address,
        *,
        reading: bool = False,
        statement_s: float | None = _STATEMENT_S,
        idle_s: float | None = _IDLE_S,
    ) -> None:
        self.address = address
        self.round_trips = 0
        self._patience = None if statement_s is None else statement_s + PATIENCE_S
        self._prepared: dict[str, bytes] = {}
        self._connection = _connect(address)
        self._poll = select.poll()
        self._poll.register(self._connection.socket, select.POLLIN)
        try:
            self._configure_session(reading, statement_s, idle_s)
        except BaseException:
            self.close()
            raise

    @property
    def open(self) -> bool:
        """True unless the connection is known to be lost."""
        return self._connection.status == pq.ConnStatus.OK

    @property
    def is_quiet(self) -> bool:
        """True if the server has sent nothing while the connection was idle; a server that stops sends a message."""
        return not self._poll.poll(0)

    def close(self) -> None:
        """Close the connection."""
        self._connection.finish()

    def ask(self, calls: Sequence[BoundStatement]) -> Rows:
        """Send statements together and wait once; the rows of each.

        Raises
        ------
        DatabaseFailed
            If the server or the network failed; the connection may be closed then.
        psycopg.Error
            If the server refused a statement or its values.
        """
        answers: Rows = []
        for first in range(0, len(calls), _TOGETHER):
            answers += self._pipeline(calls[first : first + _TOGETHER])
        return answers

    def notifications(self, seconds: float) -> set[str]:
        """Wait for notifications, at most ``seconds``; return their payloads."""
        connection, found = self._connection, set[str]()
        try:
            if self._poll.poll(seconds * 1000):
                connection.consume_input()
            while (notification := connection.notifies()) is not None:
                found.add(notification.extra.decode())
        except psycopg.OperationalError as error:
            self.close()
            raise database_error(error, self.address) from error
        return found

    def _pipeline(self, calls: Sequence[BoundStatement]) -> Rows:
        connection = self._connection
        new: dict[str, bytes] = {}
        try:
            if connection.pipeline_status == pq.PipelineStatus.OFF:
                connection.enter_pipeline_mode()
            for each in calls:
                sent = each.values or None
                formats = each.formats or None
                if each.plain:
                    connection.send_query_params(each.sql.encode(), sent, param_formats=formats, result_format=BINARY)
                    continue
                if (name := self._prepared.get(each.sql) or new.get(each.sql)) is None:
                    name = new[each.sql] = b"s%d" % (len(self._prepared) + len(new))
                    connection.send_prepare(name, each.sql.encode())
                connection.send_query_prepared(name, sent, param_formats=formats, result_format=BINARY)
            connection.pipeline_sync()
            answers, failed = self._answers(calls, new)
        except psycopg.OperationalError as error:
            self.close()
            raise database_error(error, self.address) from error
        except BaseException:  # further results may still arrive
            self.close()
            raise
        if failed is not None:
            raise failed
        return answers

    def _answers(self, calls: Sequence[BoundStatement], new: dict[str, bytes]) -> tuple[Rows, Exception | None]:
        """Read the results of a pipeline: of each preparation and of each statement."""
        self.round_trips += 1
        answers: Rows = []
        failed: Exception | None = None
        pending = dict.fromkeys(new)
        for each in calls:
            if not each.plain and each.sql in pending:
                del pending[each.sql]
                failed = failed or self._problem(self._next())
                if failed is None:
                    self._prepared[each.sql] = new[each.sql]
            result = self._next()
            failed = failed or self._problem(result)
            if failed is None and each.sql == "COMMIT" and result.command_status != b"COMMIT":
                failed = database_error("what was to be committed had failed", self.address)
            answers.append([] if failed is not None else _rows(result))
        while (last := self._wait()) is None or last.status != pq.ExecStatus.PIPELINE_SYNC:
            pass
        return answers, failed

    def _next(self) -> pq.abc.PGresult:
        """The next result; each is followed by an empty one."""
        result, end = self._wait(), self._wait()
        if result is None or end is not None:
            raise psycopg.OperationalError("a statement had no answer, or two")
        return result

    def _wait(self) -> pq.abc.PGresult | None:
        connection = self._connection
        deadline = None if self._patience is None else time.monotonic() + self._patience
        while connection.is_busy():
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if not self._poll.poll(left):
                raise psycopg.OperationalError("there was no answer in time")
            connection.consume_input()
        result = connection.get_result()
        if result is None and connection.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(_first_line(connection.error_message) or "the connection is gone")
        return result

    def _problem(self, result: pq.abc.PGresult) -> Exception | None:
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            return None
        if self._connection.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(_first_line(result.error_message))
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        return _error_of_state(state, _first_line(result.error_message), self.address)

    def _configure_session(self, reading: bool, statement_s: float | None, idle_s: float | None) -> None:
        """Set the parameters of the session; raises DatabaseFailed if one cannot be set."""
        limit = 0 if statement_s is None else int(statement_s * 1000)
        idle = (idle_s or 0.0) if reading else self.address.idle_s
        wanted = {
            "search_path": self.address.schema,
            "statement_timeout": str(limit),
            "lock_timeout": str(int(_LOCK_S * 1000)),
            "idle_in_transaction_session_timeout": str(int(idle * 1000)),
            "default_transaction_isolation": "read committed",
            "default_transaction_read_only": "on" if reading else "off",
            "jit": "off",
        }
        if not reading:  # a writer finds all rows by keys: plans are made once, and must not fit small tables only
            wanted |= {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
        calls = [bind_statement(sql.SET_CONFIG, item) for item in wanted.items()]
        kept = bind_statement(sql.REQUIRE_SYNC, plain=True)
        *_, ((_, fsync),) = self.ask([*calls, kept])
        if fsync != "on" and self.address.durable:
            self.close()
            raise DatabaseFailed(
                f"the server of {self.address} runs with fsync = {fsync}: it can lose acknowledged events",
                "set fsync = on; or accept the risk with &durable=no in the URL",
            )


def database_error(error: BaseException | str, address: Address, hint: str = _AGAIN) -> DatabaseFailed:
    """An error of the database as callers receive it."""
    return DatabaseFailed(f"the database {address} returned an error: {error}", hint)


def _error_of_state(state: str, message: str, address: Address) -> Exception:
    """Translate the SQLSTATE of a refused statement into an error."""
    try:
        kind: type[psycopg.Error] = psycopg.errors.lookup(state)
    except KeyError:
        kind = psycopg.DatabaseError
    if (hint := _LASTING.get(kind)) is not None:
        return database_error(message, address, hint)
    if issubclass(kind, _OURS):
        return kind(message)
    return database_error(message, address)


def _first_line(message: bytes) -> str:
    return " ".join(message.decode("utf-8", "replace").split())


def _rows(result: pq.abc.PGresult) -> list[tuple[Any, ...]]:
    columns = range(result.nfields)
    read = [READ[result.ftype(column)] for column in columns]
    value = result.get_value
    found = []
    for row in range(result.ntuples):
        content = [value(row, column) for column in columns]
        found.append(tuple(None if given is None else read[column](given) for column, given in enumerate(content)))
    return found


def _connect(address: Address) -> pq.abc.PGconn:
    connection = pq.PGconn.connect(address.url.encode())
    if connection.status != pq.ConnStatus.OK:
        reason = _first_line(connection.error_message)
        connection.finish()
        raise DatabaseFailed(
            f"there is no connection to {address}: {reason}",
            "check that the server is running, and the URL, user and password",
        )
    return connection


_WAIT_S = 60.0


class ConnectionPool:
    """A bounded pool of read-only connections. Further callers wait.

    Parameters
    ----------
    address
        The database.
    most
        The maximum number of connections.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self._address = address
        self._free: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(most)
        self._closed = False

    def acquire(self) -> Connection:
        """Take a connection; `release` gives it back."""
        if not self._places.acquire(timeout=_WAIT_S):
            raise database_error("all connections for readers are busy", self._address)
        try:
            with self._lock:
                while self._free:
                    wire = self._free.pop()
                    if wire.open and wire.is_quiet:
                        return wire
                    wire.close()
            return Connection(self._address, reading=True)
        except BaseException:
            self._places.release()
            raise

    def release(self, wire: Connection) -> None:
        """Give a connection back."""
        with self._lock:
            if self._closed or not wire.open:
                wire.close()
            else:
                self._free.append(wire)
        self._places.release()

    def close(self) -> None:
        """Close all free connections, and the others when they are given back."""
        with self._lock:
            self._closed = True
            while self._free:
                self._free.pop().close()


# Queries outside of the writer's batch

#: The rows of a query are read in parts: about this many bytes each, with this least and this largest number of rows.
_PART, _FEWEST, _MOST_ROWS = 4 << 20, 16, 2048
_SNAPSHOT = bind_statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_END = bind_statement("COMMIT")
_cursors = itertools.count()

Ask = Callable[..., Rows]


class SnapshotConnection:
    """A read-only connection that answers all queries as of one moment.

    Parameters
    ----------
    wire
        The connection.
    """

    def __init__(self, wire: Connection) -> None:
        _begin_snapshot(wire)
        self._wire = wire
        self._lock = threading.RLock()

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """All rows."""
        return self._ask(bind_statement(query, values))[0]

    def each(self, query: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; about ``size`` of them are fetched at a time."""
        return read_in_pages(self._ask, query, values, size)

    def snapshot(self) -> AbstractContextManager[None]:
        """Do nothing: all queries are answered as of one moment."""
        return nullcontext()

    def stored_bytes(self) -> int:
        """Size of the database in bytes."""
        return int(self.rows(sql.POSTGRES_BYTES)[0][0])

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _ask(self, *calls: BoundStatement) -> Rows:
        with self._lock:
            return self._wire.ask(calls)


class PooledConnections:
    """Connections for many threads: each has its own during a query or a snapshot.

    Parameters
    ----------
    address
        The database.
    most
        The maximum number of connections.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self._wires = ConnectionPool(address, most)
        self._own = threading.local()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all queries of this thread within the block as of one moment."""
        if getattr(self._own, "wire", None) is not None:
            yield
            return
        with self._connection_of_thread() as wire:
            self._own.wire = wire
            try:
                _begin_snapshot(wire)
                yield
            finally:
                self._own.wire = None
                if wire.open:
                    wire.ask([_END])

    def stored_bytes(self) -> int:
        """Size of the database in bytes."""
        return int(self.rows(sql.POSTGRES_BYTES)[0][0])

    def close(self) -> None:
        """Close the connections."""
        self._wires.close()

    def rows(self, query: str, values: Any = ()) -> list[Any]:
        """All rows."""
        return self._ask(bind_statement(query, values))[0]

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
            # the connection was lost while it was idle: use another one

    def each(self, query: str, values: Any, size: int) -> Iterator[Any]:
        """The rows one by one; about ``size`` of them are fetched at a time."""
        if getattr(self._own, "wire", None) is not None:
            yield from read_in_pages(self._ask, query, values, size)
            return
        if len(rows := self.rows(sql.first_page(query, size), values)) < size:
            yield from rows
            return
        with self._connection_of_thread() as wire:
            _begin_snapshot(wire)
            try:
                yield from _fetch_pages(lambda *calls: wire.ask(calls), query, values, size)
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


def _begin_snapshot(wire: Connection) -> None:
    wire.ask([_SNAPSHOT, bind_statement(sql.SNAPSHOT_START)])


def read_in_pages(ask: Ask, query: str, values: Any, size: int) -> Iterator[Any]:
    """Yield the rows of a query within a transaction: the first page at once, further ones from a cursor."""
    (rows,) = ask(bind_statement(sql.first_page(query, size), values))
    if len(rows) < size:
        yield from rows
    else:
        yield from _fetch_pages(ask, query, values, size)


def _fetch_pages(ask: Ask, query: str, values: Any, size: int) -> Iterator[Any]:
    name, bound = f"part{next(_cursors)}", bind_statement(query, values)
    declared = bound._replace(sql=f"DECLARE {name} NO SCROLL CURSOR FOR {bound.sql}", plain=True)
    _, rows = ask(declared, _fetch(name, size))
    while rows:
        yield from rows
        if len(rows) < size:
            break
        bytes_of = sum(len(value) for row in rows for value in row if isinstance(value, bytes)) + 64 * len(rows)
        size = max(_FEWEST, min(_MOST_ROWS, _PART * len(rows) // bytes_of))
        (rows,) = ask(_fetch(name, size))
    ask(BoundStatement(f"CLOSE {name}", [], [], plain=True))


def _fetch(name: str, count: int) -> BoundStatement:
    return BoundStatement(f"FETCH {count} FROM {name}", [], [], plain=True)
