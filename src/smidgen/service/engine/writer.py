"""The write queue and group commit."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from smidgen.service.engine.engine import SWEPT, Engine
from smidgen.service.errors import Busy, StorageFailed, Taken

# What the writer is asked to do, and who waits for it.

#: Who waits for commands: called on the event loop with their answer, or with why there is none.
Done = Callable[[Any, Exception | None], None]


@dataclass(slots=True)
class Job:
    """Commands that belong together.

    Attributes
    ----------
    commands, each
        What is to be done, and whether each is answered for itself.
    done
        Who waits.
    at_hand
        Says whose learner is needed, if it and all else is in memory now, so that the commands may be quick.
    about
        The decisions that they are about, as far as that is known.
    told
        The answers so far.
    wanted, tries
        The shards that it could not have, and how often that was.
    """

    commands: Sequence[Callable[[], Any]]
    each: bool
    done: Done
    at_hand: Callable[[], str | None] | None = None
    about: Sequence[str] = ()
    told: list[Any] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    tries: int = 0

    def answer(self) -> Settled:
        """What the caller is told once it lasts."""
        if self.each:
            return Settled(self.done, self.told, None)
        (answer,) = self.told
        return Settled(self.done, None, answer) if isinstance(answer, Exception) else Settled(self.done, answer, None)


class Settled(NamedTuple):
    """What somebody is told after the commit."""

    done: Done
    answer: Any
    refused: Exception | None


def nobody(answer: Any, refused: Exception | None) -> None:
    """Nobody waits: who owns the shards next tries again."""


def settle(future: asyncio.Future[Any], answer: Any, refused: Exception | None) -> None:
    """Tell one who waits, if he still does."""
    if future.done():
        return
    if refused is None:
        future.set_result(answer)
    else:
        future.set_exception(refused)


# One writer, group commit: take everything that is queued, commit once, answer all.

T = TypeVar("T")
#: How many jobs may wait, beyond which callers are told to come back; and how many share a commit at most.
LIMIT, LARGEST = 10_000, 512
#: How often windows are looked after when nobody asks for anything.
WATCH_S = 0.5
#: After how many seconds without a commit a large file is written anew in which something erased may be.
QUIET_S = 2.0
#: How long the writer pauses between two steps of erasing, if nobody asks for anything.
PAUSE_S = 0.01
#: How often it is looked whether other workers made or changed models, or tokens; and after windows, among others.
LOOK_S, SWEEP_S = 0.05, 0.25
#: How often a command begins anew because another worker writes to the same shards.
TRIES = 200
#: How many seconds of CPU a quick command takes at most.
QUICK_S = 0.002
#: How long the event loop runs commands itself before it looks up again.
TURN_S = 0.005
_log = logging.getLogger("smidgen.service")


class Writer:
    """The only one who touches the engine.

    Commands run one after the other, and commits and snapshots in a thread of their own: however long one takes,
    requests are read and answered on the event loop meanwhile. Nobody is answered before the commit of his command.

    The engine is in one pair of hands at a time. Commands that are quick, as those before them of the same model were,
    are run by the event loop itself, a few milliseconds at most, and the thread is given the commit: two threads that
    run Python by turns cost twice as much as one. All others are run by the thread too, and so are all commands on a
    store that other workers write to: there one may have to wait, and what another worker is in the way of comes first
    in the next batch.

    Parameters
    ----------
    engine
        What it writes to.

    Attributes
    ----------
    commits, commands
        How many there were.
    able
        Whether the last commit succeeded.
    proved
        When that was, by the monotonic clock.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._queued: deque[Job] = deque()
        self._busy = False  # whether the thread has the engine
        self._turning = False  # whether the event loop is about to look at what is queued
        self._quick: set[str] = set()  # models whose commands are
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._shared = engine.store.shared
        self._looked = self._swept = 0.0
        self._closing = False
        self._stale = False
        self._thread = threading.Thread(target=self._run, name="smidgen engine")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._idle: asyncio.Future[None] | None = None
        self.commits = 0
        self.commands = 0
        self.able = True
        self.proved = -1e9

    def start(self) -> None:
        """Begin to work; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        self._watch = self._loop.call_later(self._patience, self._look)

    async def do(self, command: Callable[[], T], about: Sequence[str] = ()) -> T:
        """Run a command, which is about these decisions; returns when what it did is on the disk."""
        answer: T = await self._asked([command], about, each=False)
        return answer

    async def do_each(self, commands: Sequence[Callable[[], T]], about: Sequence[str] = ()) -> list[T | Exception]:
        """Run commands in order, in one commit; of each its answer, or its refusal, which undoes it alone."""
        answers: list[T | Exception] = await self._asked(commands, about, each=True)
        return answers

    async def _asked(self, commands: Sequence[Callable[[], Any]], about: Sequence[str], *, each: bool) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._enter(job := Job(commands, each, partial(settle, future), about=about))
        try:
            return await future
        except asyncio.CancelledError:  # the service ends; what has not begun is not done for nobody
            self._queued = deque(each for each in self._queued if each is not job)
            self._rest()
            raise

    def put(
        self,
        command: Callable[[], Any],
        done: Done,
        at_hand: Callable[[], str | None] | None = None,
        about: Sequence[str] = (),
    ) -> None:
        """Run a command; ``done`` is called when what it did is on the disk, or why it was not done.

        ``at_hand`` says which model's learner it needs, if that is in memory; ``about`` which decisions.
        """
        self._enter(Job((command,), False, done, at_hand, about))

    def own(self, shards: list[int]) -> None:
        """Look after shards that are this worker's from now on; any thread may say so."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._own, shards)

    @property
    def waiting(self) -> int:
        """How many wait, beside those whose commands are run or committed now."""
        return len(self._queued)

    def open(self) -> None:
        """Refuse if the service is stopping."""
        if self._closing:
            raise Busy("the service is stopping", "try again in a moment")

    async def stop(self) -> None:
        """Finish what is queued, then stop."""
        self._closing = True
        if self._loop is None:
            return
        if self._watch is not None:
            self._watch.cancel()
        while self._queued or self._busy:
            self._idle = self._loop.create_future()
            await self._idle
        self._work.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    # On the event loop

    @property
    def _patience(self) -> float:
        """How long nobody looks around, if nobody asks for anything."""
        return PAUSE_S if self.engine.untidy else LOOK_S if self._shared else WATCH_S

    def _own(self, shards: list[int]) -> None:
        if not self._closing:
            self._queued.append(Job([lambda: self.engine.owned(shards)], False, nobody))
            self._soon()

    def _enter(self, job: Job) -> None:
        self.open()
        if len(self._queued) >= LIMIT:
            raise Busy(f"{LIMIT} requests are waiting", "slow down; nothing was lost, send it again")
        self._queued.append(job)
        self._soon()

    def _soon(self) -> None:
        """Look at what is queued when all is read that has arrived."""
        if self._loop is not None and self._queued and not self._busy and not self._turning:
            self._turning = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turning = False
        if self._busy or not self._queued:
            return
        try:
            done = self._here()
        except Exception as error:  # the disk refuses: what was done here is undone, and nothing was answered
            if self.able:
                _log.warning("a batch is tried again aside: %s", error)
            done = None
        if done is not None:
            self._hand_over(partial(self._finish, done))
        else:
            some = [self._queued.popleft() for _ in range(min(len(self._queued), LARGEST))]
            self._hand_over(partial(self._all, some))

    def _here(self) -> list[Job] | None:
        """Run what is quick and comes first; None if that is nothing, or if something else comes before it."""
        engine = self.engine
        if (
            self._shared
            or self._stale
            or not self._is_quick(self._queued[0])
            or engine.overdue()
            or not engine.begin_at_once()
        ):
            return None
        some: list[Job] = []
        try:
            begun, until = time.thread_time(), time.perf_counter() + TURN_S
            for job in islice(self._queued, LARGEST):
                if some and (time.perf_counter() > until or not self._is_quick(job)):
                    break
                some.append(job)
                self._did(job)
            if time.thread_time() - begun > QUICK_S * len(some):
                self._quick.clear()
        except BaseException:
            self._abandon()
            for job in some:
                job.told.clear()
            raise
        for _ in some:
            self._queued.popleft()
        return some

    def _is_quick(self, job: Job) -> bool:
        return job.at_hand is not None and job.at_hand() in self._quick

    def _hand_over(self, work: Callable[[], None]) -> None:
        self._busy = True
        self._work.put(work)

    def _look(self) -> None:
        """See to windows that are over, and to what is still to be erased, while nobody asks."""
        if self._loop is None or self._closing:
            return
        if not self._busy and not self._queued:
            self._hand_over(self._idling)
        self._watch = self._loop.call_later(self._patience, self._look)

    def _tell(self, answers: list[Settled], aside: Sequence[Job], *, free: bool) -> None:
        """Answer those who still wait; ``free`` says that the thread has let go of the engine.

        What another worker was in the way of comes first.
        """
        self._queued.extendleft(reversed(aside))
        if free:
            self._busy = False
        for done, answer, refused in answers:
            try:
                done(answer, refused)
            except Exception:
                _log.exception("an answer could not be told")
        self._soon()
        self._rest()

    def _rest(self) -> None:
        """Tell who waits for the end of all work that there is none, if so."""
        if self._idle is not None and not self._queued and not self._busy and not self._idle.done():
            self._idle.set_result(None)

    # In the engine's thread

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _idling(self) -> None:
        if self.engine.untidy or self._overdue():
            self._all([])
        elif self.engine.fragmented and time.monotonic() - self.proved > QUIET_S:
            self.engine.compact()
            self._post([], free=True)
        else:
            self._post([], free=True)

    def _look_around(self) -> None:
        """See what other workers made of the rows of models, every now and then."""
        if self._shared and (now := time.monotonic()) - self._looked >= LOOK_S:
            self._looked = now
            self.engine.look()

    def _sweeps(self) -> bool:
        """Whether windows are looked after now: where there are others, not with every batch."""
        return not self._shared or time.monotonic() - self._swept >= SWEEP_S

    def _overdue(self) -> bool:
        """Whether silence is to be learnt; a disk that refuses to say so must not end the thread."""
        try:
            self._look_around()
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

    def _all(self, batch: list[Job]) -> None:
        """Run commands and commit."""
        done: list[Job] = []
        aside: list[Job] = []
        try:
            if self._stale:
                self._undo()
            self._look_around()
            again = [job.wanted for job in batch if job.tries]
            self.engine.begin(set[int]().union(*again) if again else None)
            if self._sweeps():
                more = self.engine.sweep() == SWEPT  # windows that are over come before what is asked now
                self._swept = 0.0 if more else time.monotonic()
            told = [(job.at_hand() if job.at_hand else None, job.about) for job in batch] if self._shared else []
            first = 0 if again or (told and any(told[0])) else 1  # once a shard is held, it waits for nobody
            for place, job in enumerate(batch):
                if told and place == first:
                    self.engine.expect(told[first:])
                (done if self._timed(job) else aside).append(job)
        except Exception as error:
            self._failed(error, batch)
        else:
            self._finish(done, aside)

    def _finish(self, done: list[Job], aside: Sequence[Job] = ()) -> None:
        """Commit what was done, and answer."""
        try:
            self.engine.commit()
        except Exception as error:
            self._failed(error, [*done, *aside])
            return
        self.able, self.proved = True, time.monotonic()
        self.commits += 1
        due = self.engine.due()
        self._post([job.answer() for job in done], aside, free=not due)
        if due:
            try:
                self.engine.maintain()
            except Exception as error:
                _log.warning("no snapshots: %s", error)
            self._post([], free=True)

    def _failed(self, error: Exception, jobs: list[Job]) -> None:
        refusal = _refusal(error)
        self.able = self.able and not isinstance(refusal, StorageFailed)
        self._abandon()
        self._post([Settled(job.done, None, refusal) for job in jobs], free=True)

    def _post(self, answers: list[Settled], aside: Sequence[Job] = (), *, free: bool) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(partial(self._tell, answers, aside, free=free))

    # In whichever has the engine

    def _timed(self, job: Job) -> bool:
        """Run a job, and note whether its model is quick; whether it is done."""
        name, begun = job.at_hand() if job.at_hand is not None else None, time.thread_time()
        done = self._did(job)
        if name is not None and time.thread_time() - begun < QUICK_S:  # of CPU: that others use it too is no fault
            self._quick.add(name)
        return done

    def _did(self, job: Job) -> bool:
        """Run the commands of a job; whether all is done, or another worker is in the way of the rest."""
        attempt, told = self.engine.attempt, job.told
        for command in job.commands[len(told) :]:
            try:
                told.append(attempt(command))
            except Taken as error:
                job.wanted |= self.engine.wanted
                job.tries += 1
                if job.tries < TRIES:
                    return False
                told.append(Busy(error.problem, "try again in a moment"))
            except Exception as error:
                if _of_disk(error):  # then the whole batch is refused
                    raise
                told.append(error)
            self.commands += 1
        return True

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


def _of_disk(error: Exception) -> bool:
    """Whether it is the disk that refused, not a command that was wrong."""
    return isinstance(error, StorageFailed | OSError)


def _refusal(error: Exception) -> Exception:
    if isinstance(error, StorageFailed) or not isinstance(error, OSError):
        return error
    return StorageFailed(
        f"the disk refused: {error.strerror or type(error).__name__}",
        "nothing of the request was done; free some space, then try again",
    )
