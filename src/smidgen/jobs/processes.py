"""Tasks in processes of this machine, or in this one. Lines of JSON and the bytes of answers cross, over pipes."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from smidgen.jobs.task import Task, WorkFailed, load_error

#: Message of a task: its place in the list, and its progress or its answer.
TaskMessage = tuple[int, int | bytes]


class Processes:
    """Run tasks in local processes.

    Parameters
    ----------
    jobs
        How many work at a time.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskMessage]:
        """Run tasks in order; yield the progress and the answer of each. Closing the iterator ends the processes."""
        workers = [_Child() for _ in range(min(self.jobs, len(tasks)))]
        said: queue.SimpleQueue[tuple[_Child, dict[str, Any], bytes]] = queue.SimpleQueue()
        waiting = list(enumerate(tasks))[::-1]
        try:
            for worker in workers:
                worker.begin(waiting.pop(), said)
            left = len(tasks)
            while left:
                worker, message, answer = said.get()
                place = worker.place
                if "at" in message:
                    yield place, message["at"]
                elif "answer" in message:
                    left -= 1
                    if waiting:
                        worker.begin(waiting.pop(), said)
                    yield place, answer
                else:
                    raise load_error(message)
        finally:
            for worker in workers:
                worker.end()


class _Child:
    """A child process, and the thread that reads its output."""

    def __init__(self) -> None:
        self.place = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "smidgen.jobs.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._listening: threading.Thread | None = None

    def begin(self, given: tuple[int, Task], said: Any) -> None:
        """Give it a task."""
        self.place, task = given
        if self._listening is None:
            self._listening = threading.Thread(target=self._listen, args=(said,), daemon=True)
            self._listening.start()
        if self._process.stdin is not None:
            line = msgspec.json.encode({"work": task.work, "settings": task.settings}) + b"\n"
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        if self._listening is not None:
            self._listening.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _listen(self, said: Any) -> None:
        out = self._process.stdout
        for line in out or ():
            message = msgspec.json.decode(line)
            said.put((self, message, out.read(message["answer"]) if out is not None and "answer" in message else b""))
        died = WorkFailed(
            "a process that worked has died", "look whether memory was short; with --jobs 1 everything stays in one"
        )
        said.put((self, {"error": "", "problem": died.problem, "hint": died.hint}, b""))


class InProcess:
    """Only the present process."""

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskMessage]:
        """Run tasks in order; yield the progress and the answer of each."""
        for place, task in enumerate(tasks):
            for said in task.run():
                yield place, said
