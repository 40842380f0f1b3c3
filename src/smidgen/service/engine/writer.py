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
from smidgen.service.engine.leases import HANDOVER_S
from smidgen.service.errors import Busy, NeedsDatabase, Outdated, StorageFailed, Taken

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
    answers
        The answers so far.
    wanted, tries
        The shards that it could not have, and how often that was.
    committed
        How many of the answers are of earlier batches.
    """

    commands: Sequence[Callable[[], Any]]
    each: bool
    done: Done
    is_hot: Callable[[], str | None] | None = None
    about: Sequence[str] = ()
    answers: list[Any] = field(default_factory=list)
    wanted: set[int] = field(default_factory=set)
    tries: int = 0
    committed: int = 0

    def answer(self) -> Completion:
        """Completion of the job, to be delivered after the commit."""
        if self.each:
            return Completion(self.done, self.answers, None)
        (answer,) = self.answers
        return (
            Completion(self.done, None, answer)
            if isinstance(answer, Exception)
            else Completion(self.done, answer, None)
        )


class Completion(NamedTuple):
    """Answer or refusal of a caller, delivered after the commit."""

    done: Done
    answer: Any
    refused: Exception | None


def no_callback(answer: Any, refused: Exception | None) -> None:
    """Does not block: the next lease holder retries."""


def complete(future: asyncio.Future[Any], answer: Any, refused: Exception | None) -> None:
    """Tell one who waits, if he still does."""
    if future.done():
        return
    if refused is None:
        future.set_result(answer)
    else:
        future.set_exception(refused)


# One writer, group commit: take everything that is queued, commit once, answer all.

T = TypeVar("T")
#: Number of jobs that may wait, beyond which callers have to try again; and most jobs in one commit.
LIMIT, LARGEST = 10_000, 512
#: Seconds between two checks of windows when there are no requests.
WATCH_S = 0.5
#: Seconds without a commit after which a large file that may hold erased data is rewritten.
QUIET_S = 2.0
#: Seconds between two steps of erasing if there are no requests.
PAUSE_S = 0.01
#: How often it is looked whether other workers made or changed models, or tokens; and after windows, among others.
LOOK_S, SWEEP_S = 0.05, 0.25
#: How often a command is retried because another worker writes to the same shards.
TRIES = 200
#: Maximum CPU seconds of a quick command.
QUICK_S = 0.002
#: Seconds from which a commit is slow, and seconds for which the event loop then leaves commits to the thread.
SLOW_S, SLOW_FOR_S = 0.002, 1.0
#: How long the event loop runs commands itself before it looks up again.
TURN_S = 0.005
_log = logging.getLogger("smidgen.service")


class Writer:
    """The only one who touches the engine.

    Commands run one after the other, and commits and snapshots in a thread of their own: however long one takes,
    requests are read and answered on the event loop meanwhile. No caller gets a reply before the commit of its command.

    The engine is in one pair of hands at a time. Commands that are quick, as those before them of the same model were,
    are run by the event loop itself, a few milliseconds at most, and the thread is given the commit: two threads that
    run Python by turns cost twice as much as one. The commit of a single command runs on the event loop too, as long as
    the disk is quick. All others are run by the thread too. Where other workers write to the store, the thread runs
    all commands that need the database, and commits: it may have to wait. Commands whose shards another worker has
    locked come first in the next batch. A batch that relied on memory, and turns out to be outdated at its commit, is
    repeated with locks.

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
        self._slow_until = 0.0  # until when commits are the thread's, because one took long
        self._thread = threading.Thread(target=self._run_thread, name="smidgen engine")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._idle: asyncio.Future[None] | None = None
        self.commits = 0
        self.commands = 0
        self.healthy = True
        self.last_commit_at = -1e9

    def start(self) -> None:
        """Begin to work; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        self._watch = self._loop.call_later(self._patience, self._maintain)

    async def run(self, command: Callable[[], T], about: Sequence[str] = ()) -> T:
        """Run a command, which is about these decisions; returns when what it did is on the disk."""
        answer: T = await self._submit_all([command], about, each=False)
        return answer

    async def run_each(self, commands: Sequence[Callable[[], T]], about: Sequence[str] = ()) -> list[T | Exception]:
        """Run commands in order, in one commit; of each its answer, or its refusal, which undoes it alone."""
        answers: list[T | Exception] = await self._submit_all(commands, about, each=True)
        return answers

    async def _submit_all(self, commands: Sequence[Callable[[], Any]], about: Sequence[str], *, each: bool) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._enter(job := Job(commands, each, partial(complete, future), about=about))
        try:
            return await future
        except asyncio.CancelledError:  # the service ends; what has not begun is not done for nobody
            self._queued = deque(each for each in self._queued if each is not job)
            self._signal_idle()
            raise

    def submit(
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

    def take_over(self, shards: list[int]) -> None:
        """Maintain shards that this worker owns from now on; any thread may call it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._take_over, shards)

    def finish_batch(self) -> None:
        """Wait until the batch that is open now has ended, at most `HANDOVER_S`; not for the writer's threads."""
        ended = threading.Event()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._mark_end, ended)
            ended.wait(HANDOVER_S)

    @property
    def waiting(self) -> int:
        """Number of queued jobs, without those that are run or committed now."""
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
        """Seconds to wait for a job before maintenance is checked."""
        return PAUSE_S if self.engine.purge_pending else LOOK_S if self._shared else WATCH_S

    def _take_over(self, shards: list[int]) -> None:
        if not self._closing:
            self._queued.append(Job([lambda: self.engine.take_over(shards)], False, no_callback))
            self._schedule()

    def _mark_end(self, ended: threading.Event) -> None:
        """Let the next batch begin by saying that the one before has ended."""
        if not self._busy:
            ended.set()
            return
        self._queued.appendleft(Job([ended.set], False, no_callback))

    def _enter(self, job: Job) -> None:
        self.open()
        if len(self._queued) >= LIMIT:
            raise Busy(f"{LIMIT} requests are waiting", "send the request again after a second; nothing was lost")
        self._queued.append(job)
        self._schedule()

    def _schedule(self) -> None:
        """Look at what is queued when all is read that has arrived."""
        if self._loop is not None and self._queued and not self._busy and not self._turning:
            self._turning = True
            self._loop.call_soon(self._on_loop)

    def _on_loop(self) -> None:
        self._turning = False
        if self._busy or not self._queued:
            return
        try:
            done = self._run_inline()
        except NeedsDatabase:
            done = None
        except Exception as error:  # the disk refuses: what was done here is undone, and nothing was answered
            if self.healthy:
                _log.warning("a batch is retried command by command: %s", error)
            done = None
        if done is not None and self._is_single(done):
            self._finish_here(done)
        elif done is not None:
            self._hand_over(partial(self._finish, done))
        else:
            some = [self._queued.popleft() for _ in range(min(len(self._queued), LARGEST))]
            self._hand_over(partial(self._run_batch, some))

    def _run_inline(self) -> list[Job] | None:
        """Run what is quick and comes first; None if that is nothing, or if something else comes before it."""
        engine = self.engine
        if self._stale or not self._is_quick(self._queued[0]) or self._must_look() or not engine.try_begin():
            return None
        some: list[Job] = []
        try:
            begun, until = time.thread_time(), time.perf_counter() + TURN_S
            for job in islice(self._queued, LARGEST):
                if some and (time.perf_counter() > until or not self._is_quick(job)):
                    break
                some.append(job)
                self._run_job(job)
            if time.thread_time() - begun > QUICK_S * len(some):
                self._quick.clear()
        except BaseException:
            self._rollback()
            for job in some:
                job.answers.clear()
            raise
        for _ in some:
            self._queued.popleft()
        return some

    def _must_look(self) -> bool:
        """Check whether windows, or changes of other workers, come first; without a query where there are others."""
        if not self._shared:
            return self.engine.has_expired()
        return self._sweeps() or time.monotonic() - self._looked >= LOOK_S

    def _is_quick(self, job: Job) -> bool:
        return job.is_hot is not None and job.is_hot() in self._quick

    def _is_single(self, done: list[Job]) -> bool:
        """Check whether the event loop may commit itself: one job, nobody waits, and the disk is near and quick."""
        return len(done) == 1 and not self._queued and not self._shared and time.monotonic() > self._slow_until

    def _finish_here(self, done: list[Job]) -> None:
        """Commit on the event loop, which costs less than to wake the thread, as long as the disk is quick."""
        self._busy, begun = True, time.monotonic()
        try:
            self.engine.commit()
        except Exception as error:
            self._failed(error, done)
            return
        if self._note_commit() - begun > SLOW_S:
            self._slow_until = self.last_commit_at + SLOW_FOR_S
        due = self.engine.is_due()
        if due:
            self._hand_over(self._maintain_engine)
        self._deliver([job.answer() for job in done], (), free=not due)

    def _hand_over(self, work: Callable[[], None]) -> None:
        self._busy = True
        self._work.put(work)

    def _maintain(self) -> None:
        """Close windows that are over, and continue erasing, while there are no requests."""
        if self._loop is None or self._closing:
            return
        if not self._busy and not self._queued:
            self._hand_over(self._when_idle)
        self._watch = self._loop.call_later(self._patience, self._maintain)

    def _deliver(self, answers: list[Completion], postponed: Sequence[Job], *, free: bool) -> None:
        """Answer those who still wait; ``free`` says that the thread has let go of the engine.

        What another worker was in the way of comes first.
        """
        self._queued.extendleft(reversed(postponed))
        if free:
            self._busy = False
        for done, answer, refused in answers:
            try:
                done(answer, refused)
            except Exception:
                _log.exception("a reply could not be delivered")
        self._schedule()
        self._signal_idle()

    def _signal_idle(self) -> None:
        """Tell who waits for the end of all work that there is none, if so."""
        if self._idle is not None and not self._queued and not self._busy and not self._idle.done():
            self._idle.set_result(None)

    # In the engine's thread

    def _run_thread(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _when_idle(self) -> None:
        if self.engine.purge_pending or self._has_expired():
            self._run_batch([])
        elif self.engine.fragmented and time.monotonic() - self.last_commit_at > QUIET_S:
            self.engine.compact()
            self._post([], free=True)
        else:
            self._post([], free=True)

    def _refresh_models(self) -> None:
        """See what other workers made of the rows of models, every now and then."""
        if self._shared and (now := time.monotonic()) - self._looked >= LOOK_S:
            self._looked = now
            self.engine.refresh()

    def _sweeps(self) -> bool:
        """Check whether windows are handled now: where there are others, not with every batch."""
        return not self._shared or time.monotonic() - self._swept >= SWEEP_S

    def _has_expired(self) -> bool:
        """Check whether silence is to be learnt; a disk that refuses to say so must not end the thread."""
        try:
            self._refresh_models()
            if not self._sweeps():
                return False
            if not (found := self.engine.has_expired()):
                self._swept = time.monotonic()
            return found
        except Exception as error:
            if self.healthy or not self._shared:
                _log.warning("windows could not be looked after: %s", error)
            self.healthy = self.healthy and not self._shared
            return False

    def _run_batch(self, batch: list[Job], *, repeated: bool = False) -> None:
        """Run commands and commit; ``repeated`` if the batch was outdated once."""
        done: list[Job] = []
        postponed: list[Job] = []
        try:
            if self._stale:
                self._undo()
            self._refresh_models()
            again = [job.wanted for job in batch if job.tries]
            self.engine.begin(set[int]().union(*again) if again else None)
            if self._sweeps():
                more = self.engine.sweep() == SWEPT  # windows that are over come before what is asked now
                self._swept = 0.0 if more else time.monotonic()
            requests = [(job.is_hot() if job.is_hot else None, job.about) for job in batch] if self._shared else []
            first = 0 if again or (requests and any(requests[0])) else 1  # once a shard is held, it waits for no one
            for place, job in enumerate(batch):
                if requests and place == first:
                    self.engine.prefetch(requests[first:])
                (done if self._timed(job) else postponed).append(job)
        except Outdated as error:
            self._repeat(error, batch, repeated=repeated)
        except Exception as error:
            self._failed(error, batch)
        else:
            self._finish(done, postponed, repeated=repeated)

    def _repeat(self, error: Outdated, batch: list[Job], *, repeated: bool) -> None:
        """Run a batch again, with locks, after another worker has written to its shards."""
        if repeated:
            self._failed(error, batch)
            return
        self._rollback()
        for job in batch:
            del job.answers[job.committed :]
        self._run_batch(batch, repeated=True)

    def _finish(self, done: list[Job], postponed: Sequence[Job] = (), *, repeated: bool = False) -> None:
        """Commit what was done, and answer."""
        try:
            self.engine.commit()
        except Outdated as error:
            self._repeat(error, [*done, *postponed], repeated=repeated)
            return
        except Exception as error:
            self._failed(error, [*done, *postponed])
            return
        self._note_commit()
        for job in postponed:
            job.committed = len(job.answers)
        due = self.engine.is_due()
        self._post([job.answer() for job in done], postponed, free=not due)
        if due:
            self._maintain_engine()

    def _note_commit(self) -> float:
        """Note that a commit succeeded; the time."""
        self.healthy, self.last_commit_at = True, time.monotonic()
        self.commits += 1
        return self.last_commit_at

    def _maintain_engine(self) -> None:
        """Take snapshots and erase what is due, with the engine in the thread's hands."""
        try:
            self.engine.maintain()
        except Exception as error:
            _log.warning("no snapshots: %s", error)
        self._post([], free=True)

    def _failed(self, error: Exception, jobs: list[Job]) -> None:
        refusal = _storage_error(error)
        self.healthy = self.healthy and not isinstance(refusal, StorageFailed)
        self._rollback()
        self._post([Completion(job.done, None, refusal) for job in jobs], free=True)

    def _post(self, answers: list[Completion], postponed: Sequence[Job] = (), *, free: bool) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(partial(self._deliver, answers, postponed, free=free))

    # In whichever has the engine

    def _timed(self, job: Job) -> bool:
        """Run a job, and note whether its model is quick; whether it is done."""
        name, begun = job.is_hot() if job.is_hot is not None else None, time.thread_time()
        done = self._run_job(job)
        if name is not None and time.thread_time() - begun < QUICK_S:  # CPU time: load from other jobs does not count
            self._quick.add(name)
        return done

    def _run_job(self, job: Job) -> bool:
        """Run the commands of a job; whether all is done, or another worker is in the way of the rest."""
        attempt, answers = self.engine.run_in_savepoint, job.answers
        for command in job.commands[len(answers) :]:
            try:
                answers.append(attempt(command))
            except Taken as error:
                job.wanted |= self.engine.wanted
                job.tries += 1
                if job.tries < TRIES:
                    return False
                answers.append(Busy(error.problem, "try again in a moment"))
            except Exception as error:
                if _is_disk_error(error):  # then the whole batch is refused
                    raise
                answers.append(error)
            self.commands += 1
        return True

    def _rollback(self) -> None:
        """Undo the batch; if even that fails, the next batch tries again before it does anything."""
        try:
            self._undo()
        except Exception as error:
            _log.warning("the state could not be reloaded: %s", error)

    def _undo(self) -> None:
        self._stale = True
        self.engine.rollback()
        self._stale = False


def _is_disk_error(error: Exception) -> bool:
    """Check whether it is the disk that refused, not a command that was wrong."""
    return isinstance(error, StorageFailed | OSError)


def _storage_error(error: Exception) -> Exception:
    if isinstance(error, StorageFailed) or not isinstance(error, OSError):
        return error
    return StorageFailed(
        f"a write to the disk failed: {error.strerror or type(error).__name__}",
        "the request changed nothing; free disk space, then try again",
    )
