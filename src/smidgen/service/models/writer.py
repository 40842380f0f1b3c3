"""One writer, group commit: take everything that is queued, commit once, answer all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from smidgen.service.models.engine import Engine
from smidgen.service.refusals import Busy, StorageFailed

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]
_Answer = tuple["asyncio.Future[Any]", Any, Exception | None]
_log = logging.getLogger("smidgen.service")


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
        self._stale = False
        self._task: asyncio.Task[None] | None = None
        self._disk = ThreadPoolExecutor(1, "smidgen disk")
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
        self._disk.shutdown()

    async def _work(self) -> None:
        while self._waiting or not self._closing:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch, self._waiting = self._waiting[: self._largest], self._waiting[self._largest :]
            await self._one_commit(batch)

    async def _one_commit(self, batch: list[_Job]) -> None:
        answers: list[_Answer] = []
        committed = False
        try:
            if self._stale:
                self._undo()
            self.engine.begin()
            for command, future in batch:
                try:
                    answers.append((future, self.engine.attempt(command), None))
                except Exception as error:
                    if _of_disk(error):
                        raise
                    answers.append((future, None, error))
            await asyncio.get_running_loop().run_in_executor(self._disk, self.engine.commit)
            committed = True
        except Exception as error:
            refusal = _refusal(error)
            self._abandon()
            answers = [(future, None, refusal) for _, future in batch]
        self.commits += committed
        self.commands += len(batch)
        for answer in answers:
            _tell(*answer)
        if committed:
            await asyncio.sleep(0)  # let the answers go out before the snapshots
            self.engine.maintain()

    def _abandon(self) -> None:
        """Undo the batch; if even that fails, the next batch tries again before it does anything."""
        try:
            self._undo()
        except Exception as error:
            _log.warning("the memory could not be read anew: %s", error)

    def _undo(self) -> None:
        self._stale = True
        self.engine.abandon()
        self._stale = False


def _tell(future: asyncio.Future[Any], answer: Any, refused: Exception | None) -> None:
    if future.cancelled():
        return
    if refused is None:
        future.set_result(answer)
    else:
        future.set_exception(refused)


def _of_disk(error: Exception) -> bool:
    """Whether it is the disk that refused, not a command that was wrong."""
    return isinstance(error, StorageFailed | OSError)


def _refusal(error: Exception) -> Exception:
    if isinstance(error, StorageFailed) or not isinstance(error, OSError):
        return error
    return StorageFailed(
        f"the disk refused: {error}", "nothing of the request was done; free some space, then try again"
    )
