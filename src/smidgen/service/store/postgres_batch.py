"""The open batch on PostgreSQL: statements whose rows nobody needs wait, and go together with the next question.

A batch is opened by its first statement, and a command's savepoint is set only if some of the command has to go before
it is done. So a command that is undone before anything of it was sent costs nothing, and a batch of many commands
costs as many round trips as they have questions.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from smidgen.service.refusals import StorageFailed
from smidgen.service.store.crash_points import reach
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_wire import Sent, Wire, call, refusal

_BEGIN, _COMMIT, _ROLLBACK = call("BEGIN"), call("COMMIT"), call("ROLLBACK")
_SAVEPOINT, _RELEASE, _BACK = call("SAVEPOINT command"), call("RELEASE command"), call("ROLLBACK TO command")
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

    def __init__(self, address: Address, wire: Wire | None = None) -> None:
        self.address = address
        self._wire = wire
        self._waiting: list[Sent] = []
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
    def trips(self) -> int:
        """How often it was waited for an answer."""
        return self._trips + (self._wire.trips if self._wire is not None else 0)

    @property
    def mine(self) -> bool:
        """Whether a batch of this thread is open."""
        return self.open and self.thread == threading.get_ident()

    def begin(self) -> None:
        """Open a batch."""
        with self.lock:
            if self.open:
                raise RuntimeError("a batch is open already")
            self.open, self._begun, self._failed = True, False, None
            self.thread = threading.get_ident()

    def run(self, one: Sent) -> None:
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

    def ask(self, *calls: Sent) -> list[list[tuple[Any, ...]]]:
        """Ask now, after all that waits; the rows of each."""
        with self.lock:
            return self._send(list(calls))[-len(calls) :]

    def run_for(self, one: Sent) -> list[tuple[Any, ...]]:
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

    def undo(self) -> bool:
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
            reach("before-commit")
            if self._begun or self._waiting:
                if not self._begun:
                    self._send([])
                self._send([_COMMIT])
            self._over()
            reach("after-commit")

    def rollback(self) -> None:
        """Undo the batch, if one is open."""
        with self.lock:
            if not self.open:
                return
            begun, wire = self._begun, self._wire
            self._over()
            if begun and wire is not None and wire.open:
                try:
                    wire.ask([_ROLLBACK])
                except StorageFailed:  # then the server has undone it, or will
                    self._drop()

    def close(self) -> None:
        """Let go of the connection; a batch that is open is undone by that."""
        with self.lock:
            self._over()
            self._drop()

    def _over(self) -> None:
        self._waiting.clear()
        self._size = 0
        self._mark, self._saved = None, False
        self.open = self._begun = False
        self._failed = None

    def _drop(self) -> None:
        if self._wire is not None:
            self._trips += self._wire.trips
            self._wire.close()
            self._wire = None

    def _send(self, asked: list[Sent]) -> list[list[tuple[Any, ...]]]:
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
                answers = self._wired(new=not self._begun).ask(calls)
            except StorageFailed:
                if self._alive or not again:
                    raise
                answers = self._wired(new=True).ask(calls)
        except Exception as error:
            self._break(error)
            raise
        self._begun = self._begun or self.open
        return answers

    @property
    def _alive(self) -> bool:
        return self._wire is not None and self._wire.open

    def _break(self, error: Exception) -> None:
        """What fails in a batch fails all of it, but for a statement that is refused after a savepoint."""
        if not self._alive or not self.open:  # outside of a batch nothing may stay begun
            self._drop()
        if self.open and not (self._saved and self._alive):
            self._failed = error if isinstance(error, StorageFailed) else refusal(error, self.address)
            self._begun = True

    def _wired(self, *, new: bool) -> Wire:
        """The connection; what belongs to a batch goes over no other than the one that it began with."""
        wire = self._wire
        if wire is None or not wire.open:
            if not new:
                raise refusal("the connection was lost", self.address)
            self._drop()
            wire = self._wire = Wire(self.address)
        return wire
