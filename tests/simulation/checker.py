"""Concurrent reads: each must be what the model was at some moment between its question and its answer.

The writes of a model have one order, that of the commits. So a set of reads is linearizable if every read can be given
a commit such that it shows the state after that commit, the commit was begun before the read was answered, it is not
older than the last commit that was finished (and acknowledged) before the read was asked, and no read that is asked
after another one was answered shows an older state. The earliest possible commit for each read, in the order in which
they are asked, is the best choice: all constraints are lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.oracle import Glance, Wrong, read_glance


@dataclass
class Read:
    """A read of a model: when it was asked and answered (in steps of the schedule), and between which commits."""

    model: str
    asked: int
    first: int  # commits that were finished when it was asked
    now: float
    answered: int = 0
    last: int = 0  # commits that were begun when it was answered
    value: dict[str, Any] | None = None


@dataclass
class Checker:
    """Keeps what models were after each commit, and what readers saw."""

    states: dict[str, list[tuple[int, Glance | None]]] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)

    def commit(self, number: int, changed: dict[str, Glance | None]) -> None:
        """Note what models are like after a commit."""
        for name, glance in changed.items():
            self.states.setdefault(name, [(0, None)]).append((number, glance))

    def check(self) -> None:
        """Find a commit for every read."""
        for name in {read.model for read in self.reads}:
            history = self.states.get(name, [(0, None)])
            linearize(
                sorted((read for read in self.reads if read.model == name), key=lambda read: read.asked),
                lambda read, history=history: _possible(read, history),
            )


def _possible(read: Read, history: list[tuple[int, Glance | None]]) -> list[int]:
    """The commits whose state the read may have seen, the earliest first."""
    found: list[int] = []
    for place, (number, glance) in enumerate(history):
        end = history[place + 1][0] if place + 1 < len(history) else 1 << 62  # the next state
        if number <= read.last and end > read.first and read_glance(glance, read.now) == read.value:
            found.append(number)
    return found


def linearize(reads: list[Read], possible: Callable[[Read], list[int]]) -> None:
    """Give each read a commit, none older than that of a read that was answered before it was asked."""
    given: list[tuple[Read, int]] = []
    for read in reads:
        least = max((number for other, number in given if other.answered < read.asked), default=0)
        choices = possible(read)
        chosen = next((number for number in choices if number >= least), None)
        if chosen is None:
            raise Wrong(
                f"a reader of {read.model} saw {read.value}, between commits {read.first} and {read.last}: "
                + ("that never was" if not choices else f"that was after commit {choices[-1]}, before {least}")
            )
        given.append((read, chosen))
