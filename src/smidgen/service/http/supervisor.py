"""Several workers behind one listening socket: started, watched, started again when they die, ended together."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

#: How long workers may take to end before they are killed.
PATIENCE_S = 20.0
#: How long to wait before a worker is started again: at first, and at most; who has lived this long begins at first.
FIRST_S, MOST_S, LIVED_S = 0.1, 5.0, 10.0
#: What a worker waits for before it listens, if for anything.
Wait = Callable[[], None] | None
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
_log = logging.getLogger("smidgen.service")


@dataclass(slots=True)
class _Worker:
    """A place for a worker: its process, if it lives, when that was started, and when the next one may be."""

    number: int
    process: int | None = None
    since: float = 0.0
    due: float = 0.0
    pause: float = FIRST_S


class Supervisor:
    """Starts workers as forks of this process, which does nothing else and so can always fork.

    The very first worker listens at once, so that somebody says that the service is alive while it starts. All others
    listen when they can decide, and not before that one can: who was told that the service is ready meets nobody who is
    not.

    Parameters
    ----------
    work
        What a worker does until it is ended: given its number, what to wait for before it listens (None: it listens at
        once), and what to call when it can decide.
    count
        How many there are.
    ready
        Called once, when all can decide.
    ending
        Called before workers are told to end: lets go of what they share with this process.
    """

    def __init__(
        self,
        work: Callable[[int, Wait, Callable[[], None]], None],
        count: int,
        ready: Callable[[], None],
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._ready = ready
        self._ending = ending
        self._workers = [_Worker(number) for number in range(count)]
        self._able: set[int] | None = set()
        self._some = False
        self._process = os.getpid()
        self._gate = os.pipe()  # its end is open for writing as long as the very first worker is starting

    def run(self) -> int | None:
        """Until SIGTERM or SIGINT: 0; 1 if no worker could ever begin. None in a worker, once it has ended."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        lifeline = os.pipe()
        telling = os.pipe()
        os.set_blocking(telling[0], False)
        try:
            while True:
                for worker in self._workers:
                    due = worker.process is None and time.monotonic() >= worker.due
                    if due and self._start(worker, lifeline, telling) is None:
                        return None
                found = signal.sigtimedwait(_SIGNALS, 0.05)
                self._hear(telling[0])
                if found is not None and found.si_signo != signal.SIGCHLD:
                    return 0
                if not self._count_dead():
                    return 1
        finally:
            if os.getpid() == self._process:  # not in a worker
                self._end()

    def _start(self, worker: _Worker, lifeline: tuple[int, int], telling: tuple[int, int]) -> int | None:
        """Fork; the process of the worker, or None in the worker itself, once its work is done."""
        first = worker.number == 0 and worker.since == 0.0
        worker.since = time.monotonic()
        if process := os.fork():
            worker.process = process
            if first:
                os.close(self._gate[1])
            return process
        os.close(lifeline[1])
        os.close(telling[0])
        threading.Thread(target=_end_with, args=(lifeline[0],), name="smidgen lifeline", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

        def able() -> None:
            _tell(telling[1], worker.number)
            if first:
                os.close(self._gate[1])

        self._work(worker.number, None if first else lambda: _ended(self._gate[0]), able)
        return None

    def _hear(self, pipe: int) -> None:
        """Note who can decide."""
        try:
            said = os.read(pipe, 4096)
        except BlockingIOError:
            return
        if self._able is not None and said:
            self._some = True
            self._able.update(said)
            if len(self._able) == len(self._workers):
                self._able = None
                self._ready()

    def _count_dead(self) -> bool:
        """Note who has died; False if nobody can ever begin."""
        for worker in self._workers:
            if worker.process is None:
                continue
            gone, status = os.waitpid(worker.process, os.WNOHANG)
            if not gone:
                continue
            code, now = os.waitstatus_to_exitcode(status), time.monotonic()
            if not self._some and code > 0:  # it has said why
                worker.process = None
                return False
            worker.pause = FIRST_S if now - worker.since > LIVED_S else min(2 * worker.pause, MOST_S)
            _log.warning("worker %d (process %d) ended with %d and is started again", worker.number, gone, code)
            worker.process, worker.due = None, now + worker.pause
        return True

    def _end(self) -> None:
        """End all workers, gracefully as long as there is patience."""
        self._ending()
        living = [worker for worker in self._workers if worker.process is not None]
        for worker in living:
            os.kill(worker.process or 0, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while living and time.monotonic() < deadline:
            living = [worker for worker in living if os.waitpid(worker.process or 0, os.WNOHANG)[0] == 0]
            if living:
                signal.sigtimedwait({signal.SIGCHLD}, 0.1)
        for worker in living:
            os.kill(worker.process or 0, signal.SIGKILL)
            os.waitpid(worker.process or 0, 0)


def _tell(pipe: int, number: int) -> None:
    os.write(pipe, bytes([number]))


def _ended(gate: int) -> None:
    """In a worker: wait until nobody answers who cannot decide."""
    os.read(gate, 1)


def _end_with(lifeline: int) -> None:
    """In a worker: end when the supervisor is gone, however it went; nobody would end it otherwise."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    os._exit(1)
