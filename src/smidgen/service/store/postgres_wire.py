"""One connection to PostgreSQL: many statements in one round trip, every statement prepared once."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from smidgen.errors import MissingExtra
from smidgen.service.refusals import StorageFailed
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_dialect import BINARY, READ, Statement, said, values_of

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


_AGAIN = "nothing of the request was done, as far as is known; it is tried anew by itself, so send it again"
_NO_SESSIONS = "connect to the server itself, or to a pooler that keeps sessions"
#: Refusals that come again whoever asks: what they are, and the way out.
_LASTING: dict[type[psycopg.Error], str] = {
    psycopg.errors.InsufficientPrivilege: "let the owner of the schema grant what the role lacks, or be that role",
    psycopg.errors.ReadOnlySqlTransaction: "give the address of a server that can be written to",
    psycopg.errors.DuplicatePreparedStatement: _NO_SESSIONS,
    psycopg.errors.InvalidSqlStatementName: _NO_SESSIONS,
}


#: The rows of each of several statements.
Rows = list[list[tuple[Any, ...]]]


class Sent(NamedTuple):
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


def call(sql: str, values: Any = (), *, plain: bool = False) -> Sent:
    """A statement of the store's, translated; a value that cannot be sent is refused here."""
    statement: Statement = said(sql)
    return Sent(statement.sql, *values_of(statement, values), plain)


class Wire:
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
        self.trips = 0
        self._patience = None if statement_s is None else statement_s + PATIENCE_S
        self._prepared: dict[str, bytes] = {}
        self._connection = _connected(address)
        self._poll = select.poll()
        self._poll.register(self._connection.socket, select.POLLIN)
        try:
            self._settle(reading, statement_s, idle_s)
        except BaseException:
            self.close()
            raise

    @property
    def open(self) -> bool:
        """Whether it can still be used, as far as one knows without asking."""
        return self._connection.status == pq.ConnStatus.OK

    @property
    def quiet(self) -> bool:
        """Whether nothing has come unasked while nobody used it; a server that goes away says so."""
        return not self._poll.poll(0)

    def close(self) -> None:
        """Let go of it."""
        self._connection.finish()

    def ask(self, calls: Sequence[Sent]) -> Rows:
        """Send statements together and wait once; the rows of each.

        Raises
        ------
        StorageFailed
            If the server, or the way to it, failed; the connection may be closed then.
        psycopg.Error
            If a statement was refused for what it says.
        """
        answers: Rows = []
        for first in range(0, len(calls), _TOGETHER):
            answers += self._together(calls[first : first + _TOGETHER])
        return answers

    def _together(self, calls: Sequence[Sent]) -> Rows:
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
            raise refusal(error, self.address) from error
        except BaseException:  # nobody knows what is still to come
            self.close()
            raise
        if failed is not None:
            raise failed
        return answers

    def _answers(self, calls: Sequence[Sent], new: dict[str, bytes]) -> tuple[Rows, Exception | None]:
        """What comes back until the end of what was sent: of each preparation and of each statement."""
        self.trips += 1
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
                failed = refusal("what was to be committed had failed", self.address)
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
            raise psycopg.OperationalError(_said(connection.error_message) or "the connection is gone")
        return result

    def _problem(self, result: pq.abc.PGresult) -> Exception | None:
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            return None
        if self._connection.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(_said(result.error_message))
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        return _problem(state, _said(result.error_message), self.address)

    def _settle(self, reading: bool, statement_s: float | None, idle_s: float | None) -> None:
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
        calls = [Sent(setting, [name.encode(), value.encode()], [1, 1]) for name, value in wanted.items()]
        kept = Sent(
            "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'off'"
            " THEN 'on' ELSE current_setting('synchronous_commit') END, false), current_setting('fsync')",
            [],
            [],
            plain=True,
        )
        *_, ((_, fsync),) = self.ask([*calls, kept])
        if fsync != "on" and self.address.durable:
            self.close()
            raise StorageFailed(
                f"the server of {self.address} runs with fsync = {fsync}: it can lose what it acknowledged",
                "set fsync = on there; or take the risk and say so: &durable=no in the URL",
            )


def refusal(error: BaseException | str, address: Address, hint: str = _AGAIN) -> StorageFailed:
    """The refusal of the database, as callers are told."""
    return StorageFailed(f"the database {address} refused: {error}", hint)


def _problem(state: str, message: str, address: Address) -> Exception:
    """What a statement was refused for: an error of ours, or a refusal of the server."""
    try:
        kind: type[psycopg.Error] = psycopg.errors.lookup(state)
    except KeyError:
        kind = psycopg.DatabaseError
    if (hint := _LASTING.get(kind)) is not None:
        return refusal(message, address, hint)
    if issubclass(kind, _OURS):
        return kind(message)
    return refusal(message, address)


def _said(message: bytes) -> str:
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


def _connected(address: Address) -> pq.abc.PGconn:
    connection = pq.PGconn.connect(address.url.encode())
    if connection.status != pq.ConnStatus.OK:
        told = _said(connection.error_message)
        connection.finish()
        raise StorageFailed(
            f"there is no connection to {address}: {told}",
            "see whether the server runs, and the URL, user and password",
        )
    return connection
