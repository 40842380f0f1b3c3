"""One writer, group commit: take everything that is queued, commit once, answer all."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from smidgen.service.models.engine import Engine
from smidgen.service.refusals import Busy, StorageFailed

T = TypeVar("T")
_Commands = Sequence[Callable[[], Any]]
#: Who waits for commands: called on the event loop with their answer, or with why there is none.
Done = Callable[[Any, Exception | None], None]
#: Commands, whether each is answered for itself, and who waits for them.
_Job = tuple[_Commands, bool, Done]
_Answer = tuple[Done, Any, Exception | None]
#: How often windows are looked after when nobody asks for anything.
WATCH_S = 0.5
#: How long the writer pauses between two steps of erasing, if nobody asks for anything.
PAUSE_S = 0.01
_log = logging.getLogger("smidgen.service")


class Writer:
    """The only one who touches the engine.

    Commands run one after the other in a thread of their own, and so do commits and snapshots: however long one takes,
    requests are read and answered on the event loop meanwhile. Nobody is answered before the commit of his command.

    Parameters
    ----------
    engine
        What it writes to.
    limit
        How many commands may wait; beyond that callers are told to come back.
    largest
        How many commands at most share a commit.

    Attributes
    ----------
    commits, commands
        How many there were.
    able
        Whether the last commit succeeded.
    proved
        When that was, by the monotonic clock.
    """

    def __init__(self, engine: Engine, *, limit: int = 10_000, largest: int = 512) -> None:
        self.engine = engine
        self._limit = limit
        self._largest = largest
        self._gathered: list[_Job] = []  # what came since the event loop last looked, handed over in one go
        self._waiting: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._taken: deque[_Job] = deque()  # the thread's own
        self._ended = False
        self._entered = self._begun = 0  # jobs: counted by the event loop, and by the thread
        self._closing = False
        self._stale = False
        self._thread = threading.Thread(target=self._work, name="smidgen engine")
        self._loop: asyncio.AbstractEventLoop | None = None
        self.commits = 0
        self.commands = 0
        self.able = True
        self.proved = -1e9

    def start(self) -> None:
        """Begin to work; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def do(self, command: Callable[[], T]) -> T:
        """Run a command; returns when what it did is on the disk."""
        answer: T = await self._queued([command], each=False)
        return answer

    async def do_each(self, commands: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Run commands in order, in one commit; of each its answer, or its refusal, which undoes it alone."""
        answers: list[T | Exception] = await self._queued(commands, each=True)
        return answers

    async def _queued(self, commands: _Commands, *, each: bool) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._enter((commands, each, partial(_settle, future)))
        return await future

    def put(self, command: Callable[[], Any], done: Done) -> None:
        """Run a command; ``done`` is called when what it did is on the disk, or why it was not done."""
        self._enter(((command,), False, done))

    def _enter(self, job: _Job) -> None:
        self.open()
        if self.waiting >= self._limit:
            raise Busy(f"{self._limit} requests are waiting", "slow down; nothing was lost, send it again")
        self._entered += 1
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._gathered.append(job)

    def _hand_over(self) -> None:
        """Wake the thread once for all that came in one turn of the event loop."""
        if self._gathered:
            self._waiting.put(self._gathered)
            self._gathered = []

    @property
    def waiting(self) -> int:
        """How many wait, beside those whose commands are run or committed now."""
        return self._entered - self._begun

    def open(self) -> None:
        """Refuse if the service is stopping."""
        if self._closing:
            raise Busy("the service is stopping", "try again in a moment")

    async def stop(self) -> None:
        """Finish what is queued, then stop."""
        self._closing = True
        if self._loop is not None:
            self._hand_over()
            self._waiting.put(None)
            await self._loop.run_in_executor(None, self._thread.join)

    # In the engine's thread

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            if batch or self.engine.untidy or self._overdue():
                self._one_commit(batch)

    def _overdue(self) -> bool:
        """Whether silence is to be learnt; a disk that refuses to say so must not end the thread."""
        try:
            return self.engine.overdue()
        except Exception as error:
            _log.warning("windows could not be looked after: %s", error)
            return False

    def _next(self) -> list[_Job] | None:
        """What is queued; nothing, if nothing comes for a while; None at the end."""
        taken = self._taken
        try:
            if not taken and not self._ended:
                self._take(self._waiting.get(timeout=PAUSE_S if self.engine.untidy else WATCH_S))
            while len(taken) < self._largest and not self._ended:
                self._take(self._waiting.get_nowait())
        except queue.Empty:
            pass
        if not taken and self._ended:
            return None
        batch = [taken.popleft() for _ in range(min(len(taken), self._largest))]
        self._begun += len(batch)
        return batch

    def _take(self, jobs: list[_Job] | None) -> None:
        if jobs is None:
            self._ended = True
        else:
            self._taken.extend(jobs)

    def _one_commit(self, batch: list[_Job]) -> None:
        answers: list[_Answer] = []
        committed = False
        try:
            if self._stale:
                self._undo()
            self.engine.begin()
            self.engine.sweep()  # windows that are over come before what is asked now
            for commands, each, done in batch:
                told = [self._attempt(command) for command in commands]
                if each:
                    answers.append((done, told, None))
                else:
                    refused = told[0] if isinstance(told[0], Exception) else None
                    answers.append((done, None if refused is not None else told[0], refused))
            self.engine.commit()
            committed = True
            self.able, self.proved = True, time.monotonic()
        except Exception as error:
            refusal = _refusal(error)
            self.able = self.able and not isinstance(refusal, StorageFailed)
            self._abandon()
            answers = [(done, None, refusal) for _, _, done in batch]
        self.commits += committed
        self.commands += sum(len(commands) for commands, _, _ in batch)
        if self._loop is not None and answers:
            self._loop.call_soon_threadsafe(self._tell, answers)
        if committed:
            try:
                self.engine.maintain()
            except Exception as error:
                _log.warning("no snapshots: %s", error)

    def _tell(self, answers: list[_Answer]) -> None:
        """Answer those who still wait; on the event loop."""
        for done, answer, refused in answers:
            try:
                done(answer, refused)
            except Exception:
                _log.exception("an answer could not be told")

    def _attempt(self, command: Callable[[], Any]) -> Any:
        """A command's answer, or its refusal; if the disk refuses, the whole batch does."""
        try:
            return self.engine.attempt(command)
        except Exception as error:
            if _of_disk(error):
                raise
            return error

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


def _settle(future: asyncio.Future[Any], answer: Any, refused: Exception | None) -> None:
    """Tell one who waits, if he still does."""
    if future.done():
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
