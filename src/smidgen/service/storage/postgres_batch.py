"""The batch of the PostgreSQL store: what waits to be sent, the locks or the trust of its shards, and its queries.

The row of a shard holds the head of its log. A batch writes to a shard in one of two ways:

- The lock path: the batch locks the row, and is the only writer of the shard until it ends. So what it reads of the
  shard after that stays valid, and is read once.
- The fast path, for shards that this worker owns: the batch relies on memory and sends nothing. Its commit is one
  pipeline, which compares the last event of each shard with the one that memory knows. If another worker has written to
  one of them, the pipeline fails (`Outdated`), nothing is acknowledged, and the batch is repeated on the lock path. A
  batch that needs more than its memory locks its shards, compares, and continues on the lock path.

Ownership decides only which path is tried first; correctness does not depend on it.

Statements whose rows nobody needs wait, and are sent together with the next query. The savepoint of a command is set
only if part of the command has to be sent before the command ends. So a command that is undone before any of it was
sent costs nothing, and a batch of many commands costs as many round trips as they have queries.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from smidgen.service.errors import NeedsDatabase, Outdated, StorageFailed, Taken
from smidgen.service.storage import sql, sql_writes
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.deferred_rows import DeferredRows
from smidgen.service.storage.foreign_events import ForeignEvents
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import (
    BoundStatement,
    Connection,
    bind_arrays,
    bind_statement,
    database_error,
)
from smidgen.service.storage.postgres_dialect import (
    BIGINT,
    BYTES,
    DOUBLE,
    SMALLINT,
    STRING,
)
from smidgen.service.storage.reader import ID, Statements
from smidgen.service.storage.records import Counts
from smidgen.service.storage.transitions import LiveCounts


def _outdated() -> Outdated:
    return Outdated("another worker has written to the same shards", "the batch is repeated with locks")


def _needs_database() -> NeedsDatabase:
    return NeedsDatabase("a command needs the database", "the batch is repeated in the writer's thread")


_EVENT = (BIGINT, BIGINT, STRING, BIGINT, DOUBLE, BYTES, STRING, BIGINT, BYTES, BYTES, BYTES)
_DECISION = (
    *(BYTES, BIGINT, BIGINT, BIGINT, DOUBLE, STRING, BYTES, SMALLINT, SMALLINT, SMALLINT, SMALLINT, BYTES),
    *(SMALLINT, DOUBLE, DOUBLE, STRING, SMALLINT, DOUBLE),
)
_FEEDBACK = (BIGINT, BYTES, BIGINT, DOUBLE, DOUBLE, BYTES)
#: By deferred statement: the statement that writes many of its rows, and the types of their columns.
_ARRAYS = {
    sql_writes.INSERT_EVENT: (sql_writes.INSERT_EVENTS, _EVENT),
    sql_writes.INSERT_DECISION: (sql_writes.INSERT_DECISIONS, _DECISION),
    sql_writes.CLOSE_DECISION: (sql_writes.CLOSE_DECISIONS, _FEEDBACK),
}


_BEGIN, _COMMIT, _ROLLBACK = bind_statement("BEGIN"), bind_statement("COMMIT"), bind_statement("ROLLBACK")
_SAVEPOINT, _RELEASE, _BACK = (
    bind_statement("SAVEPOINT command"),
    bind_statement("RELEASE command"),
    bind_statement("ROLLBACK TO command"),
)
#: How many statements, bytes and seconds may wait at most.
_MOST, _BYTES, _SECONDS = 512, 4 << 20, 0.25


class Batch:
    """The writer's connection, and the statements that wait to be sent.

    If the connection is lost, the open batch fails; the next batch gets a new connection.

    Parameters
    ----------
    address
        The database.
    wire
        The first connection; if None, it is opened when it is needed.

    Attributes
    ----------
    deferred
        Rows that are sent as arrays, before the next statement or query.
    open
        Whether a batch is open.
    thread
        The thread that opened it.
    """

    def __init__(self, address: Address, wire: Connection | None = None) -> None:
        self.address = address
        self._wire = wire
        self._waiting: list[BoundStatement] = []
        self._size = 0
        self._sent_at = 0.0
        self._mark: int | None = None  # index of the command's first waiting statement
        self._saved = False  # whether the command's savepoint was sent
        self._begun = False  # whether part of the batch was sent
        self._failed: StorageFailed | None = None
        self._trips = 0
        self.deferred = DeferredRows()
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
        """Add a statement to those that wait."""
        with self.lock:
            if not self.open:
                raise RuntimeError("no batch is open")
            self._bind_deferred()
            self._waiting.append(one)
            self._size += one.size
            if len(self._waiting) >= _MOST or self._size > _BYTES or self.is_idle:
                self._send([])

    def _bind_deferred(self) -> None:
        """Let deferred rows wait as arrays: those of earlier commands before the savepoint of the open one."""
        if not self.deferred:
            return
        for statement, rows in self.deferred.take_before_command():
            place = self._mark if self._mark is not None else len(self._waiting)
            self._waiting.insert(place, bind_arrays(*_ARRAYS[statement], zip(*rows, strict=True)))
            self._mark = place + 1
        for statement, rows in self.deferred.take():
            self._waiting.append(bind_arrays(*_ARRAYS[statement], zip(*rows, strict=True)))

    @property
    def is_outdated(self) -> bool:
        """True if the batch failed because another worker has written to its shards."""
        return isinstance(self._failed, Outdated)

    @property
    def is_idle(self) -> bool:
        """True if the batch has begun on the server, and has sent nothing for some time: the server may end it."""
        return self._begun and time.monotonic() - self._sent_at > _SECONDS

    @property
    def is_unsent(self) -> bool:
        """True if nothing of the open batch was sent, and nothing but deferred rows waits."""
        return not self._begun and not self._waiting

    def ask(self, *calls: BoundStatement) -> list[list[tuple[Any, ...]]]:
        """Run queries after all statements that wait; the rows of each."""
        with self.lock:
            return self._send(list(calls))[-len(calls) :]

    def ask_before_command(self, *calls: BoundStatement) -> list[list[tuple[Any, ...]]]:
        """Run queries before the savepoint of the open command, and before deferred rows.

        Locks that they take last if the command is undone. If part of the command was sent, they come after it.
        """
        with self.lock:
            if self._saved:
                return self.ask(*calls)
            place = self._mark if self._mark is not None else len(self._waiting)
            later, self._waiting = self._waiting[place:], self._waiting[:place]
            mark, self._mark = self._mark, None
            try:
                return self._send(list(calls), bind=False)[-len(calls) :]
            finally:
                self._waiting, self._mark = later, 0 if mark is not None else None

    def send(self) -> None:
        """Send all statements that wait."""
        with self.lock:
            self._send([])

    def run_for(self, one: BoundStatement) -> list[tuple[Any, ...]]:
        """Run a statement now; the rows that it returns."""
        with self.lock:
            self.run(one)
            return self._send([])[-1]

    def savepoint(self) -> None:
        """Begin a command."""
        with self.lock:
            self._mark, self._saved = len(self._waiting), False
            self.deferred.savepoint()

    def release(self) -> None:
        """End the command."""
        with self.lock:
            if self._saved:
                self.run(_RELEASE)
            self._mark, self._saved = None, False
            self.deferred.release()

    def rollback_to_savepoint(self) -> bool:
        """Undo the command; True if part of it had been sent."""
        with self.lock:
            saved = self._saved
            self.deferred.rollback_to_savepoint()
            if self._mark is not None:
                del self._waiting[self._mark :]
            if saved:
                self._waiting += [_BACK, _RELEASE]
            self._mark, self._saved = None, False
            return saved

    def commit(self, *moves: BoundStatement) -> None:
        """Commit the batch in one round trip; returns when the server has confirmed it.

        Parameters
        ----------
        moves
            Statements that the batch begins with, if nothing of it was sent; else it ends with them.
        """
        with self.lock:
            if self._failed is not None:
                raise self._failed
            if not self.open:
                raise RuntimeError("no batch is open")
            self.thread = threading.get_ident()
            crash_point("before-commit")
            self._bind_deferred()
            if self._begun or self._waiting or moves:
                self._waiting[:0] = moves if not self._begun else ()
                self._send([*(moves if self._begun else ()), _COMMIT], again=False)
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
                except StorageFailed:  # then the server undoes it
                    self._drop()

    def close(self) -> None:
        """Close the connection, which undoes an open batch."""
        with self.lock:
            self._end()
            self._drop()

    def _end(self) -> None:
        self._waiting.clear()
        self._size = 0
        self._mark, self._saved = None, False
        self.deferred.clear()
        self.open = self._begun = False
        self._failed = None

    def _drop(self) -> None:
        if self._wire is not None:
            self._trips += self._wire.round_trips
            self._wire.close()
            self._wire = None

    def _send(
        self, asked: list[BoundStatement], *, again: bool = True, bind: bool = True
    ) -> list[list[tuple[Any, ...]]]:
        """Send all waiting statements and queries; a connection that was lost before the batch is replaced, once.

        With ``again`` False nothing is sent a second time: the server may have committed it. With ``bind`` False
        deferred rows stay where they are.
        """
        if self._failed is not None:
            raise self._failed
        if bind:
            self._bind_deferred()
        if self._mark is not None and not self._saved and len(self._waiting) > self._mark:
            self._waiting.insert(self._mark, _SAVEPOINT)
            self._saved = True
        first = self.open and not self._begun
        calls = [*([_BEGIN] if first else []), *self._waiting, *asked]
        self._waiting.clear()
        self._size = 0
        if self._mark is not None:
            self._mark = 0
        if first and self._wire is not None and self._alive and not self._wire.is_quiet:  # the server has closed it
            self._drop()
        again = again and self._alive and (first or not self.open)
        try:
            try:
                answers = self._connection(new=not self._begun).ask(calls)
            except StorageFailed:
                if self._alive or not again:
                    raise
                answers = self._connection(new=True).ask(calls)
        except psycopg.errors.DivisionByZero as error:
            outdated = _outdated()
            self._break(outdated)
            raise outdated from error
        except Exception as error:
            self._break(error)
            raise
        self._begun = self._begun or self.open
        self._sent_at = time.monotonic()
        return answers

    @property
    def _alive(self) -> bool:
        return self._wire is not None and self._wire.open

    def _break(self, error: Exception) -> None:
        """Mark the batch as failed, unless the statement was refused after a savepoint."""
        if not self._alive or not self.open:  # outside of a batch no transaction may stay open
            self._drop()
        if self.open and not (self._saved and self._alive):
            self._failed = error if isinstance(error, StorageFailed) else database_error(error, self.address)
            self._begun = True

    def _connection(self, *, new: bool) -> Connection:
        """The connection; a batch stays on the connection on which it began."""
        wire = self._wire
        if wire is None or not wire.open:
            if not new:
                raise database_error("the connection was lost", self.address)
            self._drop()
            wire = self._wire = Connection(self.address)
        return wire


def _owns_nothing(shard: int) -> bool:
    return False


_MOVED = ("seq", "version", "decisions", "late", "keys", "number", "chain", "answered")
_MOVED_TYPES = (*(BIGINT,) * 8, BYTES, BIGINT)
_CHECKED_TYPES = (BIGINT, BIGINT, BIGINT)


class PostgresLocks:
    """The shards of the open batch, and their rows that were fetched with a lock.

    The batch relies on memory for its shards (`trusts`), or has locked all of them.

    Parameters
    ----------
    batch
        The writer's connection.
    readers
        Answers queries outside of a batch.
    counting
        The counts of shards; they are fresh for locked shards.

    Attributes
    ----------
    news
        Events of other workers.
    owns
        Tells whether this worker owns a shard.
    is_local
        True if the open batch must not wait for the database.
    """

    def __init__(self, batch: Batch, readers: Statements, counting: LiveCounts) -> None:
        self._batch, self._readers, self._counting = batch, readers, counting
        self.news = ForeignEvents()
        self.owns: Callable[[int], bool] = _owns_nothing
        self.is_local = False
        self._held: set[int] = set()
        self._expected: dict[int, int] = {}  # by shard of the batch: its last event before the batch
        self._trusting = False  # whether the batch relies on memory
        self._doubts = False  # whether the next batch does not
        self._floors: dict[int, int] = {}
        self._last_floors: dict[int, int] = {}  # as of the last lock of a shard
        self._decisions: dict[bytes, list[Any]] = {}  # by id, the rows of `sql.DECISION_BY_ID`
        self._events: dict[tuple[int, int], Any] = {}
        self._number: int | None = None  # of the catalogue
        self._last_number: int | None = None  # … as this worker last read it
        self._cataloguing = False  # whether the batch changes the catalogue
        self._was_cataloguing = False  # … at the savepoint

    def begin(self, *, local: bool = False) -> bool:
        """Begin a batch; ``local`` if it must not wait for the database. False if that cannot be."""
        trusting = not self._doubts and self._last_number is not None and self.owns is not _owns_nothing
        if local and not trusting:
            return False
        self.end()
        self._trusting, self._doubts, self.is_local = trusting, False, local
        return True

    def doubt(self) -> None:
        """Lock the shards of the next batch."""
        self._doubts = True

    def trusts(self, shard: int) -> bool:
        """True if the open batch relies, or would rely, on memory for a shard."""
        if not self._trusting:
            return False
        if shard in self._held:
            return True
        known = shard in self._last_floors and self._counting.get(shard) is not None
        return known and not self.news.is_lively(shard) and self.owns(shard)

    def is_committed(self, shard: int, seq: int) -> bool:
        """True if an event of a shard was committed before the batch."""
        return seq <= self._expected.get(shard, 0)

    @property
    def is_trusting(self) -> bool:
        """True if the open batch relies on memory for its shards."""
        return self._trusting

    def checks(self, moved: Mapping[int, Counts]) -> list[BoundStatement]:
        """Statements that write the counts of shards, and fail if another worker has written to shards of the batch."""
        statements = []
        if moved:
            shards = sorted(moved)
            every = [moved[shard] for shard in shards]
            columns: list[list[Any]] = [shards, [self._expected[shard] for shard in shards]]
            columns += [[getattr(counts, name) for counts in every] for name in _MOVED]
            statements.append(bind_arrays(sql_writes.MOVE_SHARDS, _MOVED_TYPES, columns))
        if self._trusting and self._held:
            others = sorted(self._held - moved.keys())
            check = bind_arrays(
                sql.CHECK_TRUST,
                _CHECKED_TYPES,
                [[self.catalogue_number()], others, [self._expected[shard] for shard in others]],
            )
            statements.append(check)
        return statements

    def lock_trusted(self, more: Sequence[int] = ()) -> None:
        """Continue on the lock path: lock the shards of the batch and others; `Outdated` if memory was not true."""
        if self.is_local:
            raise _needs_database()
        if not self._trusting:
            return
        trusted = self._held.copy()
        self._trusting = False
        if not trusted:
            return
        values = (",".join(map(str, sorted({*trusted, *more}))),)
        self._held.clear()
        self._lock([bind_statement(sql.LOCK_SHARDS, values)], bind_statement(sql.FLOORS, values), None, trusted=trusted)

    def acquire(self, *shards: int) -> None:
        """Acquire shards for the open batch (`SharedWriting.acquire`); without a query if the batch trusts all."""
        wanted = sorted(set(shards) - self._held)
        if not wanted:
            return
        if self._batch.open and all(map(self.trusts, wanted)):
            self._trust(wanted)
            return
        if self._batch.open and self._trusting:
            self.lock_trusted(wanted)
            wanted = [shard for shard in wanted if shard not in self._held]
            if not wanted:
                return
        if not self._batch.open:  # there is no batch to hold them, but their counts must be fresh
            for shard in wanted:
                for row in self._readers.rows(sql.SHARD_COUNTS, (shard,)):
                    self._counting.replace(shard, Counts(*row))
            return
        values = (",".join(map(str, wanted)),)
        locking = sql.LOCK_FREE_SHARDS if self._must_not_wait else sql.LOCK_SHARDS
        self._lock([bind_statement(locking, values)], bind_statement(sql.FLOORS, values), wanted)
        busy = [shard for shard in wanted if shard not in self._held]
        if busy and (len(self._held) > len(wanted) - len(busy) or self._cataloguing):
            raise Taken(f"another worker is writing to shard {busy[0]}", "retry in the next batch")

    def _trust(self, shards: Iterable[int]) -> None:
        for shard in shards:
            live = self._counting.get(shard)
            if live is not None:
                self._number = self.catalogue_number()
                self._held.add(shard)
                self._expected[shard] = live.seq
                self._floors[shard] = self._last_floors[shard]

    def prefetch(self, first: Sequence[int | str], then: Sequence[int | str] = ()) -> None:
        """Lock shards and fetch decisions in one round trip (`SharedWriting.prefetch`)."""
        if not self._batch.is_open_here:
            return
        self._trust(each for each in [*first, *then] if isinstance(each, int) and self.trusts(each))
        ahead, after = self._unknown(first), self._unknown(then)
        if not ahead and not after:
            return
        self.lock_trusted()
        shards, ids = as_parameters([*ahead, *after])
        locking = sql.LOCK_FREE_SHARDS_OF_IDS if self._must_not_wait else sql.LOCK_SHARDS_OF_IDS
        statements = [bind_statement(locking, as_parameters(ahead))] if ahead else []
        statements += [bind_statement(sql.LOCK_FREE_SHARDS_OF_IDS, as_parameters(after))] if after else []
        decisions = bind_statement(sql.DECISIONS_BY_ID, (ids,)), bind_statement(sql.EVENTS_OF_DECISIONS, (ids,))
        floors = bind_statement(sql.FLOORS_OF_IDS, (shards, ids))
        answers = self._lock(statements, floors, None, *(decisions if ids else ()))
        if ids:
            self._keep_fetched(ids.split(","), *answers)

    def _unknown(self, named: Sequence[int | str]) -> list[int | str]:
        """The shards that are not locked, and the ids of decisions that were not fetched."""

        def new(each: int | str) -> bool:
            if isinstance(each, int):
                return each not in self._held
            return ID.fullmatch(each) is not None and bytes.fromhex(each) not in self._decisions

        return [each for each in dict.fromkeys(named) if new(each)]

    def _keep_fetched(self, ids: Sequence[str], rows: Sequence[Any], events: Sequence[Any]) -> None:
        found = {row[0]: row for row in rows}
        for id in map(bytes.fromhex, ids):
            row = found.get(id)
            if row is None or row[1] in self._held:
                self._decisions[id] = [row] if row is not None else []
        self._events.update({(shard, row[0]): row for shard, *row in events if shard in self._held})

    @property
    def _must_not_wait(self) -> bool:
        """True if another batch may be waiting for this one: then waiting could be a deadlock."""
        return bool(self._held) or self._cataloguing

    def _lock(
        self,
        locking: list[BoundStatement],
        floors: BoundStatement,
        shards: Sequence[int] | None,
        *more: BoundStatement,
        trusted: Iterable[int] = (),
    ) -> list[list[tuple[Any, ...]]]:
        """Lock shards (None: they are not known yet); the rows of further queries as of then.

        Shards that the batch trusted must be as memory knows them.
        """
        self._trusting = False
        news = self.news.query(shards, self._counting)
        answers = self._batch.ask_before_command(*locking, floors, *news, *more)
        locked, (above, *rest) = answers[: len(locking)], answers[len(locking) :]
        number = above[0][0]
        ends = {row[0]: row[1] for rows in locked for row in rows}
        if any(ends.get(shard) != self._expected[shard] for shard in trusted) or (trusted and number != self._number):
            self._doubts = True
            raise _outdated()
        self._number = self._last_number = number
        for shard in trusted:
            self._held.add(shard)
        bases, foreign = {shard: seq for _, shard, seq in above}, dict[int, list[Any]]()
        for shard, *row in rest.pop(0) if news else ():
            foreign.setdefault(shard, []).append(row)
        for shard, *counts in (row for rows in locked for row in rows):
            if shard not in self._held:
                self._held.add(shard)
                self._floors[shard] = self._last_floors[shard] = bases.get(shard, 0)
                now = Counts(*counts)
                self._expected[shard] = now.seq
                self.news.add(shard, self._counting.get(shard), now, foreign.get(shard, ()))
                self._counting.replace(shard, now)
        return rest

    def is_held(self, shard: int) -> bool:
        """True if the open batch has locked a shard, or trusts its memory of it."""
        return shard in self._held

    def on_new_shard(self, shard: int) -> None:
        """Hold a shard that the batch has created."""
        self._held.add(shard)
        self._expected[shard] = 0
        self._floors[shard] = self._last_floors[shard] = 0

    def change_catalogue(self, name: str | None = None) -> None:
        """Change the number of the catalogue, which locks its row: a name that is free stays free."""
        self.lock_trusted()
        if not self._cataloguing:
            self._batch.run(bind_statement(sql_writes.INCREMENT_CATALOGUE))
            self._cataloguing = True
        if name is not None and self._batch.ask(bind_statement(sql.MODEL_EXISTS, (name,)))[0]:
            raise Taken(f"another worker has just created a model {name!r}", "retry in the next batch")

    def catalogue_number(self, *, now: bool = False) -> int:
        """The number of the catalogue as of the last lock of the open batch, or as memory has it; or now."""
        if self._number is None and self._trusting and not now:
            self._number = self._last_number
        if self._number is not None and not (now and self._trusting):
            return self._number
        if self.is_local:
            raise _needs_database()
        query = sql.CATALOGUE_NUMBER
        rows = self._readers.rows(query) if self._trusting else self._batch.ask(bind_statement(query))[0]
        ((number,),) = rows
        self._last_number = number
        if self._trusting and self._held and number != self._number:
            self._doubts = True
            raise _outdated()
        self._number = number
        return int(number)

    def note_catalogue(self, number: int) -> None:
        """Note the number of the catalogue, which was read outside of a batch."""
        self._last_number = number

    def savepoint(self) -> None:
        """Begin a command."""
        self._was_cataloguing = self._cataloguing

    def rollback_to_savepoint(self) -> None:
        """Undo the command. Its shards stay locked: they were locked before its savepoint."""
        self._cataloguing = self._was_cataloguing
        self._decisions.clear()
        self._events.clear()

    def end(self) -> None:
        """Hold nothing: a batch begins or has ended."""
        if self._cataloguing:
            self._last_number = None
        self._held.clear()
        self._expected.clear()
        self._number, self._cataloguing = None, False
        self._trusting = self.is_local = False
        self._floors.clear()
        self._decisions.clear()
        self._events.clear()
        self.news.forget()

    # Rows that need no query

    def known_rows(self, query: str, values: Any) -> list[Any] | None:
        """The rows of a query, if they were fetched with a lock."""
        if query is sql.DECISION_BY_ID:
            return self._decision_rows(values[0])
        if query is sql.FLOOR:
            floor = self._floors.get(values[0])
            return None if floor is None else [(floor,)] if floor else []
        if query is sql.EVENT:
            row = self._events.get(values)
            return [row] if row is not None else None
        return None

    def _decision_rows(self, id: bytes) -> list[Any] | None:
        """The row of a decision; a batch that holds nothing yet locks its shard with the same round trip."""
        if self._trusting:
            return self._decisions.get(id)
        if id not in self._decisions and not self._must_not_wait:
            self.prefetch([id.hex()])
        if id not in self._decisions:
            (rows,) = self._batch.ask(bind_statement(sql.DECISION_BY_ID, (id,)))
            if not rows or rows[0][1] not in self._held:
                return rows
            self._decisions[id] = rows
        return self._decisions[id]

    def keep_decision(self, id: bytes, rows: list[Any]) -> bool:
        """Keep the row of a decision that was read without a lock, if the batch trusts its shard; else return False."""
        if not rows or not self.trusts(rows[0][1]):
            return not rows
        self._trust([rows[0][1]])
        self._decisions[id] = rows
        return True

    def invalidate(self, query: str, values: Any) -> None:
        """Drop fetched rows that a statement changes."""
        table, place = sql_writes.written_table(query)
        if table == "decisions":
            if place is None:
                self._decisions.clear()
            else:
                self._decisions.pop(values[place], None)
        elif table == "events" and place == 0:
            self.news.forget(values[0])
        elif table == "events":
            self._events.clear()
            self.news.forget()
        elif table in ("bases", "carried"):
            self._floors.clear()
            self._decisions.clear()
            self.news.forget()


def as_parameters(named: Sequence[int | str]) -> tuple[str, str]:
    """Shards, and ids of decisions, as the parameters of a statement."""
    shards = ",".join(str(each) for each in named if isinstance(each, int))
    return shards, ",".join(each for each in named if isinstance(each, str))
