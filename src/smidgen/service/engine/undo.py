"""The undo list of changes in memory, and the progress of long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct

from smidgen.service.errors import Busy
from smidgen.service.log.events import Event

# What must be put back in memory when a command, or a whole batch, is undone in the store.


class UndoStack:
    """Steps back, newest last.

    Examples
    --------
    >>> from smidgen.service.engine.undo import UndoStack
    >>> undo, names = UndoStack(), ["a"]
    >>> mark = undo.savepoint()
    >>> names.append("b"); undo.push(names.pop)
    >>> undo.rollback(mark); names
    ['a']
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def push(self, step: Callable[..., Any], *arguments: Any) -> None:
        """Remember how to take the latest change back."""
        self._steps.append((step, arguments))

    def savepoint(self) -> int:
        """A place to come back to."""
        return len(self._steps)

    def rollback(self, mark: int = 0) -> None:
        """Take back all changes since the place."""
        while len(self._steps) > mark:
            step, arguments = self._steps.pop()
            step(*arguments)

    def clear(self) -> None:
        """The changes last."""
        self._steps.clear()


# How far a long piece of work is: what callers, commands and pages are shown meanwhile.

#: Number of events between two reports of progress.
STEP = 256


def _no_other_job() -> None:
    """Does nothing: no other job can run."""


class Progress(Struct):
    """Progress of a background job on the past of a model. Decisions and feedback continue meanwhile.

    ``of`` is 0 while it is unknown; setting ``stopped`` ends the work. ``alone`` refuses if another job may run too.
    """

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int = 0
    of: int = 0
    stopped: bool = False
    alone: Callable[[], None] = _no_other_job

    def watch(
        self, changes: Iterator[tuple[Event, Event | None]], first: int, last: int
    ) -> Iterator[tuple[Event, Event | None]]:
        """Yield the events up to the last one, and note progress by their numbers."""
        self.of = max(last - first, 0)
        for count, change in enumerate(changes):
            if change[0].seq > last:
                break
            if count % STEP == 0:
                if self.stopped:
                    raise Busy("the service is stopping", "try again in a moment")
                self.done = max(change[0].seq - first, 0)
            yield change
        self.done = self.of
