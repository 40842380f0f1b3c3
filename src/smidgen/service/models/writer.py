"""One writer, group commit: take everything that is queued, commit once, answer all."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from smidgen.service.models.engine import SWEPT, Engine
from smidgen.service.refusals import Busy, StorageFailed, Taken

T = TypeVar("T")
_Answer = tuple["asyncio.Future[Any]", Any, Exception | None]
#: How often windows are looked after when nobody asks for anything.
WATCH_S = 0.5
#: How long the writer pauses between two steps of erasing, if nobody asks for anything.
PAUSE_S = 0.01
#: How often it is looked whether other workers made or changed models, or tokens; and after windows, among others.
LOOK_S, SWEEP_S = 0.05, 0.25
#: How often a command begins anew because another worker writes to the same slots.
TRIES = 200
_log = logging.getLogger("smidgen.service")


@dataclass(slots=True)
class _Job:
    """Commands of one caller.

    Attributes
    ----------
    commands, each, future
        What is to be done, whether each is answered for itself, and who waits.
    told
        The answers so far.
    wanted, tries
        The slots that it could not have, and how often that was.
    """

    commands: Sequence[Callable[[], Any]]
    each: bool
    future: asyncio.Future[Any]
    told: list[Any] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    tries: int = 0

    def answer(self) -> _Answer:
        """What the caller is told once it lasts."""
        if self.each:
            return self.future, self.told, None
        refused = self.told[0] if isinstance(self.told[0], Exception) else None
        return self.future, None if refused is not None else self.told[0], refused


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
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._aside: list[_Job] = []  # what another worker was in the way of
        self._shared = engine.store.shared
        self._looked = self._swept = 0.0
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

    async def _queued(self, commands: Sequence[Callable[[], Any]], *, each: bool) -> Any:
        self.open()
        if self._waiting.qsize() >= self._limit:
            raise Busy(f"{self._limit} requests are waiting", "slow down; nothing was lost, send it again")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.put(_Job(commands, each, future))
        return await future

    def own(self, slots: list[int]) -> None:
        """Look after slots that are this worker's from now on; any thread may say so."""
        future: asyncio.Future[Any] = asyncio.Future(loop=self._loop)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # the next to own it tries again
        self._waiting.put(_Job([lambda: self.engine.owned(slots)], False, future))

    def open(self) -> None:
        """Refuse if the service is stopping."""
        if self._closing:
            raise Busy("the service is stopping", "try again in a moment")

    async def stop(self) -> None:
        """Finish what is queued, then stop."""
        self._closing = True
        if self._loop is not None:
            self._waiting.put(None)
            await self._loop.run_in_executor(None, self._thread.join)

    # In the engine's thread

    def _work(self) -> None:
        while (batch := self._taken()) is not None:
            if batch or self.engine.untidy or self._overdue():
                self._one_commit(batch)

    def _overdue(self) -> bool:
        """Whether silence is to be learnt; a disk that refuses to say so must not end the thread."""
        try:
            self._look()
            if not self._sweeps():
                return False
            if not (found := self.engine.overdue()):
                self._swept = time.monotonic()
            return found
        except Exception as error:
            if self.able or not self._shared:
                _log.warning("windows could not be looked after: %s", error)
            self.able = self.able and not self._shared
            return False

    def _look(self) -> None:
        """See what other workers made of the rows of models, every now and then."""
        if self._shared and (now := time.monotonic()) - self._looked >= LOOK_S:
            self._looked = now
            self.engine.look()

    def _sweeps(self) -> bool:
        """Whether windows are looked after now: where there are others, by who owns slots, and not with every batch."""
        if not self._shared:
            return True
        owning = self.engine.owning
        return time.monotonic() - self._swept >= SWEEP_S and owning is not None and owning.any()

    def _taken(self) -> list[_Job] | None:
        """What is queued; nothing, if nothing comes for a while; None at the end."""
        if self._aside:
            batch, self._aside = self._aside, []
        else:
            patience = LOOK_S if self._shared else WATCH_S
            try:
                first = self._waiting.get(timeout=PAUSE_S if self.engine.untidy else patience)
            except queue.Empty:
                return []
            if first is None:
                return None
            batch = [first]
        while len(batch) < self._largest:
            try:
                job = self._waiting.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._waiting.put(None)  # again, for the next time
                break
            batch.append(job)
        return batch

    def _one_commit(self, batch: list[_Job]) -> None:
        answers: list[_Answer] = []
        aside: list[_Job] = []
        committed = False
        try:
            if self._stale:
                self._undo()
            again = [job.wanted for job in batch if job.tries]
            self.engine.begin(set[int]().union(*again) if again else None)
            if self._sweeps():
                more = self.engine.sweep() == SWEPT  # windows that are over come before what is asked now
                self._swept = 0.0 if more else time.monotonic()
            for job in batch:
                if self._done(job):
                    answers.append(job.answer())
                else:
                    aside.append(job)
            self.engine.commit()
            committed = True
            self.able, self.proved = True, time.monotonic()
        except Exception as error:
            refusal = _refusal(error)
            self.able = self.able and not isinstance(refusal, StorageFailed)
            self._abandon()
            aside, answers = [], [(job.future, None, refusal) for job in batch]
        self._aside = aside
        self.commits += committed
        self.commands += sum(len(job.commands) for job in batch)
        if self._loop is not None and answers:
            self._loop.call_soon_threadsafe(_tell, answers)
        if committed:
            try:
                self.engine.maintain()
            except Exception as error:
                _log.warning("no snapshots: %s", error)

    def _done(self, job: _Job) -> bool:
        """Do what a caller wants; whether that is done, or another worker is in the way of the rest."""
        for command in job.commands[len(job.told) :]:
            try:
                job.told.append(self._attempt(command))
            except Taken as error:
                job.wanted |= self.engine.wanted
                job.tries += 1
                if job.tries < TRIES:
                    return False
                job.told.append(Busy(error.problem, "try again in a moment"))
        return True

    def _attempt(self, command: Callable[[], Any]) -> Any:
        """A command's answer, or its refusal; if the disk refuses, the whole batch does."""
        try:
            return self.engine.attempt(command)
        except Taken:
            raise
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


def _tell(answers: list[_Answer]) -> None:
    """Answer those who still wait; on the event loop."""
    for future, answer, refused in answers:
        if future.done():
            continue
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
