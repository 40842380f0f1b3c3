"""Reading from PostgreSQL: connections of their own for readers, one snapshot for a moment, long answers in parts."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_pool import Wires
from smidgen.service.store.postgres_schema import refuse_other
from smidgen.service.store.postgres_wire import Rows, Sent, Wire, call
from smidgen.service.store.rows import State
from smidgen.service.store.snapshots import MARK
from smidgen.service.store.sql_reads import SQLReads

_PAGE = "SELECT * FROM ({sql}) AS page LIMIT {size}"
_MOMENT = call("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_END = call("COMMIT")
_SEQS = "SELECT seq FROM states WHERE slot = ? ORDER BY seq DESC"
_STATE = "SELECT seq, state, mark, at FROM states WHERE slot = ? AND seq = ?"
#: About how many bytes are fetched at once of a long answer, and how many rows at least and at most.
_PART, _FEWEST, _MOST = 4 << 20, 16, 2048
_names = itertools.count()

Asking = Callable[..., Rows]


class PostgresReads(SQLReads):
    """What the writer and the readers have in common: states are rows."""

    def states(self, slot: int, key: str | None = None) -> Iterator[State]:
        """The states that were published for a learner, newest first."""
        if key is not None:
            yield from self._states_of_key(slot, key)
            return
        for (seq,) in self._rows(_SEQS, (slot,)):
            if (row := self._row(_STATE, (slot, seq))) is not None:
                _, content, mark, at = row
                own = mark[:MARK].hex() == self._mark(slot, seq)
                yield State(seq, content, f"the state after event {seq}", own, len(content), at)


class PostgresReader(PostgresReads):
    """A store to be looked at beside a running service, all of it as of the moment when it was opened.

    Parameters
    ----------
    address
        Where; tables are not made, and those of another smidgen are refused.
    """

    def __init__(self, address: Address) -> None:
        self._wire = Wire(address, reading=True, statement_s=None, idle_s=None)
        self._lock = threading.RLock()
        try:
            refuse_other(self._wire)
            _begin(self._wire)
        except BaseException:
            self._wire.close()
            raise

    def moment(self) -> AbstractContextManager[None]:
        """It is one."""
        return nullcontext()

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _ask(self, *calls: Sent) -> Rows:
        with self._lock:
            return self._wire.ask(calls)

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return self._ask(call(sql, values))[0]

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        return in_parts(self._ask, sql, values, size)


class PostgresReaders(PostgresReads):
    """The questions, for many threads: whoever asks has a connection of his own meanwhile.

    Parameters
    ----------
    address
        Where.
    most
        How many connections there may be at once.
    """

    def __init__(self, address: Address, most: int = 8) -> None:
        self.address = address
        self._wires = Wires(address, most)
        self._own = threading.local()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Answer all questions of this thread within the block as of one moment."""
        if getattr(self._own, "wire", None) is not None:
            yield
            return
        with self._taken() as wire:
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

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return self._ask(call(sql, values))[0]

    def _ask(self, *calls: Sent) -> Rows:
        held: Wire | None = getattr(self._own, "wire", None)
        if held is not None:
            return held.ask(calls)
        while True:
            with self._taken() as wire:
                used = wire.trips > 1
                try:
                    return wire.ask(calls)
                except StorageFailed:
                    if wire.open or not used:
                        raise
            # it had died since it was last used, and nothing was changed over it: ask another

    def _each(self, sql: str, values: Any, size: int) -> Iterator[Any]:
        if getattr(self._own, "wire", None) is not None:
            yield from in_parts(self._ask, sql, values, size)
            return
        if len(rows := self._rows(page(sql, size), values)) < size:
            yield from rows
            return
        with self._taken() as wire:
            _begin(wire)
            try:
                yield from _fetched(lambda *calls: wire.ask(calls), sql, values, size)
            finally:
                if wire.open:
                    wire.ask([_END])

    @contextmanager
    def _taken(self) -> Iterator[Wire]:
        wire = self._wires.take()
        try:
            yield wire
        finally:
            self._wires.give(wire)


def page(sql: str, size: int) -> str:
    """A statement for the first rows only."""
    return _PAGE.format(sql=sql, size=size)


def in_parts(ask: Asking, sql: str, values: Any, size: int) -> Iterator[Any]:
    """The rows of a statement within a transaction: the first ones at once, and if there are more, some at a time."""
    (rows,) = ask(call(page(sql, size), values))
    if len(rows) < size:
        yield from rows
    else:
        yield from _fetched(ask, sql, values, size)


def _fetched(ask: Asking, sql: str, values: Any, size: int) -> Iterator[Any]:
    name, asked = f"part{next(_names)}", call(sql, values)
    declared = Sent(f"DECLARE {name} NO SCROLL CURSOR FOR {asked.sql}", asked.values, asked.formats, plain=True)
    _, rows = ask(declared, _fetch(name, size))
    while rows:
        yield from rows
        if len(rows) < size:
            break
        bytes_of = sum(len(value) for row in rows for value in row if isinstance(value, bytes)) + 64 * len(rows)
        size = max(_FEWEST, min(_MOST, _PART * len(rows) // bytes_of))
        (rows,) = ask(_fetch(name, size))
    ask(Sent(f"CLOSE {name}", [], [], plain=True))


def _fetch(name: str, count: int) -> Sent:
    return Sent(f"FETCH {count} FROM {name}", [], [], plain=True)


def _begin(wire: Wire) -> None:
    wire.ask([_MOMENT, call("SELECT 1 FROM catalogue")])
