r"""Connections to PostgreSQL: pipeline, pool, dialect.

How the store's statements are said to PostgreSQL: each is translated once, values and rows one by one.

Texts may hold any character, and PostgreSQL takes no NUL. So NUL goes as ``\x01\x01`` and ``\x01`` as ``\x01\x02``: no
word of this code begins another, and order and beginnings of texts stay as they were.

The open batch on PostgreSQL: statements whose rows nobody needs wait, and go together with the next question.

A batch is opened by its first statement, and a command's savepoint is set only if some of the command has to go before
it is done. So a command that is undone before anything of it was sent costs nothing, and a batch of many commands
costs as many round trips as they have questions.
"""

from __future__ import annotations

import re
import select
import struct
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from smidgen.errors import MissingExtra
from smidgen.service.errors import DatabaseFailed, StorageFailed
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.postgres_address import Address

#: What is spelt otherwise; values are ``$1``, ``$2``, ….
_SPELLINGS = (
    (re.compile(r"\s+INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bIS NOT (?!NULL\b)"), "IS DISTINCT FROM "),
    (re.compile(r"\btotal\(([^()]*)\)"), r"coalesce(sum(CAST(\1 AS DOUBLE PRECISION)), 0.0)"),
    (re.compile(r"\s+"), " "),
)
_VALUE = re.compile(r"'[^']*'|\?(\d+)|\?|(?<![:\w]):([a-z_]+)")
#: Whether a value goes as text, to be read as whatever its place asks for, or as the very bytes.
TEXT, BINARY = 0, 1


class Statement(NamedTuple):
    """A statement as PostgreSQL takes it.

    Attributes
    ----------
    sql
        With numbered places for values.
    names
        The names of the values in the order of their places, of a statement whose values have names.
    """

    sql: str
    names: tuple[str, ...]


@lru_cache(maxsize=1024)
def translate(sql: str) -> Statement:
    """A statement in PostgreSQL's spelling."""
    for pattern, to in _SPELLINGS:
        sql = pattern.sub(to, sql)
    names: list[str] = []
    count = 0

    def place(found: re.Match[str]) -> str:
        nonlocal count
        number, name = found.groups()
        if found[0].startswith("'"):
            return found[0]
        if number is not None:
            return f"${number}"
        if name is None:
            count += 1
            return f"${count}"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Statement(_VALUE.sub(place, sql).strip(), tuple(names))


def encode_values(statement: Statement, values: Any) -> tuple[list[bytes | None], list[int]]:
    """The values of a statement as they go over the wire, and which of them go as bytes."""
    given: Sequence[Any] = [values[name] for name in statement.names] if statement.names else values
    sent: list[bytes | None] = []
    formats: list[int] = []
    for value in given:
        if isinstance(value, bytes):
            sent.append(value)
            formats.append(BINARY)
        elif isinstance(value, str):
            sent.append(escape(value))
            formats.append(BINARY)
        else:
            sent.append(None if value is None else _encode_value(value))
            formats.append(TEXT)
    return sent, formats


def _encode_value(value: Any) -> bytes:
    if isinstance(value, float):
        return float.__repr__(value).encode()
    if isinstance(value, int):
        return b"%d" % value
    raise TypeError(f"a {type(value).__name__} is no value of a statement")


def escape(text: str) -> bytes:
    """A text as PostgreSQL can keep it."""
    if "\x00" in text or "\x01" in text:
        text = text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    return text.encode()


def unescape(content: bytes) -> str:
    """The text that it was."""
    text = content.decode()
    return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01") if "\x01" in text else text


def _decoder_of(code: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(code).unpack
    return lambda content: unpack(content)[0]


#: How a column is read, by the number of its type; all columns come as bytes.
READ: dict[int, Callable[[bytes], Any]] = {
    16: lambda content: content == b"\x01",  # bool
    17: bytes,  # bytea
    18: bytes.decode,  # "char"
    19: bytes.decode,  # name
    20: _decoder_of("!q"),  # int8
    21: _decoder_of("!h"),  # int2
    23: _decoder_of("!i"),  # int4
    25: unescape,  # text
    26: _decoder_of("!I"),  # oid
    701: _decoder_of("!d"),  # float8
    1043: unescape,  # varchar
    2278: lambda content: None,  # void
}


# One connection to PostgreSQL: many statements in one round trip, every statement prepared once.

try:
    import psycopg
    from psycopg import pq
except ImportError as error:
    raise MissingExtra("a store on PostgreSQL needs psycopg", "pip install 'smidgen[postgresql]'") from error

#: How long an answer may take beyond what the server itself allows a statement, in seconds.
PATIENCE_S = 10.0
_TOGETHER = 256  # statements; the answers to so many fit into a socket's buffer, so that neither side waits for both
_STATEMENT_S = 60.0
_LOCK_S = 10.0
_IDLE_S = 60.0
#: Errors of statements and values, not of the server or the way to it.
_OURS = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError)


_AGAIN = "the request probably changed nothing; send it again, smidgen reconnects by itself"
_NO_SESSIONS = "connect to the server itself, or to a pooler that keeps sessions"
#: Errors that every connection would get, with their hints.
_LASTING: dict[type[psycopg.Error], str] = {
    psycopg.errors.InsufficientPrivilege: "let the owner of the schema grant what the role lacks, or be that role",
    psycopg.errors.ReadOnlySqlTransaction: "give the address of a server that can be written to",
    psycopg.errors.DuplicatePreparedStatement: _NO_SESSIONS,
    psycopg.errors.InvalidSqlStatementName: _NO_SESSIONS,
}


#: The rows of each of several statements.
Rows = list[list[tuple[Any, ...]]]


class BoundStatement(NamedTuple):
    """A statement with its values, as they go over the wire.

    Attributes
    ----------
    sql
        The statement, with numbered places.
    values, formats
        What goes there.
    plain
        Whether it is not worth preparing, or cannot be.
    """

    sql: str
    values: list[bytes | None]
    formats: list[int]
    plain: bool = False

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(len(value) for value in self.values if value is not None) + 64


def bind_statement(sql: str, values: Any = (), *, plain: bool = False) -> BoundStatement:
    """A statement of the store's, translated; a value that cannot be sent is refused here."""
    statement: Statement = translate(sql)
    return BoundStatement(statement.sql, *encode_values(statement, values), plain)


class Connection:
    """A connection. Not for several threads at once.

    Parameters
    ----------
    address
        Where.
    reading
        Whether nothing is ever written over it.
    statement_s
        How long the server lets a statement take; None for as long as it likes.
    idle_s
        How long it lets a reader pause within a moment; a writer may as long as the address says.

    Attributes
    ----------
    trips
        How often it was waited for an answer.
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
        """True if it can still be used, as far as one knows without asking."""
        return self._connection.status == pq.ConnStatus.OK

    @property
    def is_quiet(self) -> bool:
        """True if nothing has come unasked while nobody used it; a server that goes away says so."""
        return not self._poll.poll(0)

    def close(self) -> None:
        """Let go of it."""
        self._connection.finish()

    def ask(self, calls: Sequence[BoundStatement]) -> Rows:
        """Send statements together and wait once; the rows of each.

        Raises
        ------
        DatabaseFailed
            If the server, or the way to it, failed; the connection may be closed then.
        psycopg.Error
            If a statement was refused for what it says.
        """
        answers: Rows = []
        for first in range(0, len(calls), _TOGETHER):
            answers += self._pipeline(calls[first : first + _TOGETHER])
        return answers

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
        except BaseException:  # nobody knows what is still to come
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
        """The next answer; each is followed by an empty one."""
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
        """Say what the session needs; what cannot be set is refused."""
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
        if not reading:  # a writer finds all by keys: plans are made once, and never for tables as small as they were
            wanted |= {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
        setting = "SELECT set_config($1, $2, false)"
        calls = [BoundStatement(setting, [name.encode(), value.encode()], [1, 1]) for name, value in wanted.items()]
        kept = BoundStatement(
            "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'off'"
            " THEN 'on' ELSE current_setting('synchronous_commit') END, false), current_setting('fsync')",
            [],
            [],
            plain=True,
        )
        *_, ((_, fsync),) = self.ask([*calls, kept])
        if fsync != "on" and self.address.durable:
            self.close()
            raise DatabaseFailed(
                f"the server of {self.address} runs with fsync = {fsync}: it can lose acknowledged events",
                "set fsync = on; or accept the risk with &durable=no in the URL",
            )


def database_error(error: BaseException | str, address: Address, hint: str = _AGAIN) -> DatabaseFailed:
    """A database error as callers receive it."""
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


_BEGIN, _COMMIT, _ROLLBACK = bind_statement("BEGIN"), bind_statement("COMMIT"), bind_statement("ROLLBACK")
_SAVEPOINT, _RELEASE, _BACK = (
    bind_statement("SAVEPOINT command"),
    bind_statement("RELEASE command"),
    bind_statement("ROLLBACK TO command"),
)
#: How many statements, bytes and seconds may wait.
_MOST, _BYTES, _SECONDS = 512, 4 << 20, 0.25


class Batch:
    """The writer's connection, and what waits to go over it.

    A connection that is lost fails the batch that is open; the next one has a new connection.

    Parameters
    ----------
    address
        Where.
    wire
        A connection, to begin with; else it is made when it is needed.

    Attributes
    ----------
    open
        Whether a batch is open.
    thread
        Whose it is.
    """

    def __init__(self, address: Address, wire: Connection | None = None) -> None:
        self.address = address
        self._wire = wire
        self._waiting: list[BoundStatement] = []
        self._size = 0
        self._since = 0.0
        self._mark: int | None = None  # where the command begins among what waits
        self._saved = False  # whether the command's savepoint was sent
        self._begun = False  # whether anything of the batch was sent
        self._failed: StorageFailed | None = None
        self._trips = 0
        self.open = False
        self.thread = 0
        self.lock = threading.RLock()

    @property
    def round_trips(self) -> int:
        """Number of round trips."""
        return self._trips + (self._wire.round_trips if self._wire is not None else 0)

    @property
    def is_open_here(self) -> bool:
        """True if a batch of this thread is open."""
        return self.open and self.thread == threading.get_ident()

    def begin(self) -> None:
        """Open a batch."""
        with self.lock:
            if self.open:
                raise RuntimeError("a batch is open already")
            self.open, self._begun, self._failed = True, False, None
            self.thread = threading.get_ident()

    def run(self, one: BoundStatement) -> None:
        """Let a statement wait its turn."""
        with self.lock:
            if not self.open:
                raise RuntimeError("no batch is open")
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(one)
            self._size += one.size
            if len(self._waiting) >= _MOST or self._size > _BYTES or time.monotonic() - self._since > _SECONDS:
                self._send([])

    def ask(self, *calls: BoundStatement) -> list[list[tuple[Any, ...]]]:
        """Ask now, after all that waits; the rows of each."""
        with self.lock:
            return self._send(list(calls))[-len(calls) :]

    def run_for(self, one: BoundStatement) -> list[tuple[Any, ...]]:
        """Change something now; the rows that it returns."""
        with self.lock:
            self.run(one)
            return self._send([])[-1]

    def savepoint(self) -> None:
        """Begin a command."""
        with self.lock:
            self._mark, self._saved = len(self._waiting), False

    def release(self) -> None:
        """The command is done."""
        with self.lock:
            if self._saved:
                self.run(_RELEASE)
            self._mark, self._saved = None, False

    def rollback_to_savepoint(self) -> bool:
        """Undo the command; whether anything of it had been sent."""
        with self.lock:
            saved = self._saved
            if self._mark is not None:
                del self._waiting[self._mark :]
            if saved:
                self._waiting += [_BACK, _RELEASE]
            self._mark, self._saved = None, False
            return saved

    def commit(self) -> None:
        """Make the batch last; returns when the server says that it does."""
        with self.lock:
            if self._failed is not None:
                raise self._failed
            if not self.open:
                raise RuntimeError("no batch is open")
            crash_point("before-commit")
            if self._begun or self._waiting:
                if not self._begun:
                    self._send([])
                self._send([_COMMIT])
            self._end()
            crash_point("after-commit")

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        with self.lock:
            if not self.open:
                return
            begun, wire = self._begun, self._wire
            self._end()
            if begun and wire is not None and wire.open:
                try:
                    wire.ask([_ROLLBACK])
                except StorageFailed:  # then the server has undone it, or will
                    self._drop()

    def close(self) -> None:
        """Let go of the connection; a batch that is open is undone by that."""
        with self.lock:
            self._end()
            self._drop()

    def _end(self) -> None:
        self._waiting.clear()
        self._size = 0
        self._mark, self._saved = None, False
        self.open = self._begun = False
        self._failed = None

    def _drop(self) -> None:
        if self._wire is not None:
            self._trips += self._wire.round_trips
            self._wire.close()
            self._wire = None

    def _send(self, asked: list[BoundStatement]) -> list[list[tuple[Any, ...]]]:
        """Send what waits and what is asked; a connection that had died before the batch is renewed, once."""
        if self._failed is not None:
            raise self._failed
        if self._mark is not None and not self._saved and len(self._waiting) > self._mark:
            self._waiting.insert(self._mark, _SAVEPOINT)
            self._saved = True
        first = self.open and not self._begun
        calls = [*([_BEGIN] if first else []), *self._waiting, *asked]
        self._waiting.clear()
        self._size = 0
        if self._mark is not None:
            self._mark = 0
        again = self._alive and (first or not self.open)
        try:
            try:
                answers = self._connection(new=not self._begun).ask(calls)
            except StorageFailed:
                if self._alive or not again:
                    raise
                answers = self._connection(new=True).ask(calls)
        except Exception as error:
            self._break(error)
            raise
        self._begun = self._begun or self.open
        return answers

    @property
    def _alive(self) -> bool:
        return self._wire is not None and self._wire.open

    def _break(self, error: Exception) -> None:
        """Fail the batch, unless the statement was refused after a savepoint."""
        if not self._alive or not self.open:  # outside of a batch nothing may stay begun
            self._drop()
        if self.open and not (self._saved and self._alive):
            self._failed = error if isinstance(error, StorageFailed) else database_error(error, self.address)
            self._begun = True

    def _connection(self, *, new: bool) -> Connection:
        """The connection; what belongs to a batch goes over no other than the one that it began with."""
        wire = self._wire
        if wire is None or not wire.open:
            if not new:
                raise database_error("the connection was lost", self.address)
            self._drop()
            wire = self._wire = Connection(self.address)
        return wire


# Connections for readers: some, shared, with a bound.

_WAIT_S = 60.0


class ConnectionPool:
    """Pool of reader connections, with a bound. Further callers wait.

    Parameters
    ----------
    address
        Where.
    most
        The bound.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self._address = address
        self._free: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(most)
        self._closed = False

    def acquire(self) -> Connection:
        """A connection that is nobody else's until it is given back."""
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
        """Let go of all that are free, and of the others when they come back."""
        with self._lock:
            self._closed = True
            while self._free:
                self._free.pop().close()
