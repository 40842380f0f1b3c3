"""One writer, group commit: take everything that is queued, commit once, answer all."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from smidgen.errors import SmidgenError
from smidgen.service.engine import Engine
from smidgen.service.refusals import Busy, StorageFailed

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Writer:
    """The only one who touches the engine.

    Commands run one after the other on the event loop; the commit that makes them last runs aside, so that requests are
    read and parsed while the disk works. Nobody is answered before the commit of his command.

    Parameters
    ----------
    engine
        What it writes to.
    limit
        How many commands may wait; beyond that callers are told to come back.
    largest
        How many commands at most share a commit.
    """

    def __init__(self, engine: Engine, *, limit: int = 10_000, largest: int = 512) -> None:
        self.engine = engine
        self._limit = limit
        self._largest = largest
        self._waiting: list[_Job] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self.commits = 0
        self.commands = 0

    def start(self) -> None:
        """Begin to work; call it on the event loop."""
        self._task = asyncio.create_task(self._work(), name="smidgen writer")

    async def do(self, command: Callable[[], T]) -> T:
        """Run a command; returns when what it did is on the disk."""
        if self._closing:
            raise Busy("the service is stopping", "try again in a moment")
        if len(self._waiting) >= self._limit:
            raise Busy(f"{self._limit} requests are waiting", "slow down; nothing was lost, send it again")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((command, future))
        self._wake.set()
        return await future

    async def stop(self) -> None:
        """Finish what is queued, then stop."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def _work(self) -> None:
        while self._waiting or not self._closing:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
            await self._one_commit(batch)

    async def _one_commit(self, batch: list[_Job]) -> None:
        answers: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
        try:
            self.engine.begin()
            for command, future in batch:
                try:
                    answers.append((future, command(), None))
                except SmidgenError as error:
                    answers.append((future, None, error))
            await asyncio.to_thread(self.engine.commit)
            self.engine.maintain()
        except Exception as error:
            refusal = _refusal(error)
            self._abandon()
            answers = [(future, None, refusal) for _, future in batch]
        self.commits += 1
        self.commands += len(batch)
        for future, answer, refused in answers:
            if future.cancelled():
                continue
            if refused is None:
                future.set_result(answer)
            else:
                future.set_exception(refused)

    def _abandon(self) -> None:
        """Undo the batch; if even that fails, the next batch tries again."""
        try:
            self.engine.abandon()
        except sqlite3.Error:
            return


def _refusal(error: Exception) -> Exception:
    if isinstance(error, sqlite3.Error | OSError):
        return StorageFailed(
            f"the disk refused: {error}", "nothing of the request was done; free some space, then try again"
        )
    return error
