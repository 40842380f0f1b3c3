"""Work for other processes: tasks of a second or more, on this machine or on Ray. The answers are the same everywhere.

A backend is a class with ``run(tasks)``, which tells how far each task is, and its answer, as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from smidgen.errors import InvalidArgument
from smidgen.jobs.processes import InProcess, Processes, TaskMessage
from smidgen.jobs.ray import OnRay
from smidgen.jobs.task import Task, WorkFailed

__all__ = ["Backend", "Task", "WorkFailed", "answers", "backend"]

BACKENDS: dict[str, Callable[[int], Backend]] = {"processes": Processes, "ray": OnRay}


class Backend(Protocol):
    """A place where tasks run."""

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskMessage]:
        """Do tasks; tell how far each is (a number), and at last its answer (bytes), with its place in the list."""
        ...


def backend(name: str, jobs: int) -> Backend:
    """The backend of this name: ``"processes"`` of this machine (one job stays in this one), or ``"ray"``."""
    if name not in BACKENDS:
        raise InvalidArgument(f"the backend is {name!r}, which is not known", f"choose {' or '.join(BACKENDS)}")
    if jobs < 1:
        raise InvalidArgument(f"jobs is {jobs} and must be at least 1", "give the number of tasks to run in parallel")
    return InProcess() if name == "processes" and jobs == 1 else BACKENDS[name](jobs)


def answers(where: Backend, tasks: Sequence[Task], progress: Callable[[int], None] | None = None) -> list[bytes]:
    """The answers of all tasks, in the order of the tasks.

    Parameters
    ----------
    where
        A backend.
    tasks
        What to do.
    progress
        Called now and then with the sum of what the tasks say of how far they are.
    """
    found, at = [b""] * len(tasks), [0] * len(tasks)
    for place, said in where.run(tasks):
        if isinstance(said, bytes):
            found[place] = said
        else:
            at[place] = said
            if progress is not None:
                progress(sum(at))
    return found
