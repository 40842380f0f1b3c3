"""Tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smidgen.jobs.processes import Told
from smidgen.jobs.task import Task


class Here:
    """Only the present process."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Told]:
        """Do tasks; tell how far each is, and its answer."""
        for place, task in enumerate(tasks):
            for said in task.run():
                yield place, said
