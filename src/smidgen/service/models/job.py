"""What the writer is asked to do, and who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
        The slots that it could not have, and how often that was.
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
    """Nobody waits: who owns the slots next tries again."""


def settle(future: asyncio.Future[Any], answer: Any, refused: Exception | None) -> None:
    """Tell one who waits, if he still does."""
    if future.done():
        return
    if refused is None:
        future.set_result(answer)
    else:
        future.set_exception(refused)
