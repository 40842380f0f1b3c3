"""How far a long piece of work is: what callers, commands and pages are shown meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from smidgen.service.refusals import Busy
from smidgen.service.store.events import Event

#: After how many events somebody is told.
STEP = 256


def _alone() -> None:
    """Nobody else can be at it."""


class Progress(Struct):
    """Work on the past of a model that takes its time; decisions and feedback go on beside it.

    ``of`` is 0 as long as nobody knows; who sets ``stopped`` ends it. ``alone`` refuses if another may be at it too.
    """

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int = 0
    of: int = 0
    stopped: bool = False
    alone: Callable[[], None] = _alone

    def watch(
        self, changes: Iterator[tuple[Event, Event | None]], first: int, last: int
    ) -> Iterator[tuple[Event, Event | None]]:
        """The same events up to the last one; the work is as far as their numbers."""
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
