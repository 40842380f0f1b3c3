"""Curves of regret over rounds: what a figure's half is made of, on web search and on movies alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, Values, part

Settings = dict[str, Any]

PERCEPTRON: Settings = {"name": "PreferencePerceptron"}
STRICT: Settings = {"strict": 0.5}


@dataclass(frozen=True)
class Line:
    """One curve: a learner with a kind of user.

    Attributes
    ----------
    name
        Its place in the legend.
    learner, user
        As in the task's `play`.
    fit
        How w* is fitted.
    cost
        How many times as long a round takes as one of the perceptron.
    """

    name: str
    learner: Settings = field(default_factory=lambda: PERCEPTRON)
    user: Settings = field(default_factory=lambda: STRICT)
    fit: str = "plain"
    cost: float = 1.0


@dataclass(frozen=True, eq=False)
class Rows:
    """What was found for a line: one row per random order of the queries, or per user.

    Attributes
    ----------
    t
        Rounds.
    regret, loss, slack
        Averages up to these rounds.
    random
        The regret of a random object, per row.
    seconds, norm
        Of the whole play; of the last weights.
    """

    t: IntArray
    regret: FloatArray
    loss: FloatArray
    random: FloatArray
    seconds: FloatArray
    slack: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    norm: FloatArray = field(default_factory=lambda: np.zeros(0))

    def first(self, rows: int) -> Rows:
        """The first rows only: those that a slow rival was run on."""
        names = ("regret", "loss", "random", "seconds", "slack", "norm")
        return replace(self, **{name: getattr(self, name)[:rows] for name in names})

    def at(self, t: int) -> FloatArray:
        """The average regret of every row after ``t`` rounds (the nearest that were kept)."""
        return np.asarray(self.regret[:, int(np.argmin(np.abs(self.t - t)))])

    @property
    def last(self) -> FloatArray:
        """The average regret of every row after the last round."""
        return np.asarray(self.regret[:, -1])

    @property
    def end(self) -> FloatArray:
        """The mean regret of every row in the last tenth of the rounds."""
        return self._between(-2, -1)

    @property
    def middle(self) -> FloatArray:
        """The mean regret of every row between half and nine tenths of the rounds."""
        return self._between(int(np.flatnonzero(self.t == max(1, self.t[-1] // 2))[0]), -2)

    def decades(self, *, loss: bool = False) -> tuple[FloatArray, FloatArray]:
        """How much cumulative regret the last factor of ten of the rounds adds, and the factor before it."""
        sums = (self.loss if loss else self.regret) * self.t
        late, middle, early = (int(np.argmin(np.abs(self.t - self.t[-1] / k))) for k in (1, 10, 100))
        return np.asarray(sums[:, late] - sums[:, middle]), np.asarray(sums[:, middle] - sums[:, early])

    def _between(self, first: int, last: int) -> FloatArray:
        sums = self.regret * self.t
        return np.asarray((sums[:, last] - sums[:, first]) / (self.t[last] - self.t[first]))


class Task(ABC):
    """Web search or movies: on what lines are played, and how they are shown.

    Parameters
    ----------
    play
        The work of a part.
    fit
        Under which name a part's settings say how w* is fitted.
    axis
        What the rounds are called in pictures.
    """

    def __init__(self, play: Callable[..., Values], *, fit: str, axis: str) -> None:
        self.play, self.fit, self.axis = play, fit, axis

    @abstractmethod
    def drawn(self, run: Run) -> list[str]:
        """The sets that have a panel."""

    def others(self, run: Run) -> list[str]:
        """Sets that stand in tables only."""
        return []

    @abstractmethod
    def parts(self, run: Run, source: str, line: Line) -> list[Part]:
        """The parts of a line on a set."""

    @abstractmethod
    def title(self, run: Run, source: str) -> str:
        """The name of a set in pictures."""

    @abstractmethod
    def table(self, run: Run, found: Sequence[tuple[str, Line, Rows]]) -> Table:
        """Where the lines are after some rounds, on every set."""

    @abstractmethod
    def notes(self, run: Run, found: Rows) -> list[str]:
        """What a reader must know of the run."""

    def blocks(
        self, line: Line, *, total: int, block: int, rounds: int, seconds: float, seed: int, **where: Any
    ) -> list[Part]:
        """A line's rows, some to a part; ``seconds`` is the time of a round of the perceptron."""
        asked: Settings = {**where, self.fit: line.fit, "learner": line.learner, "user": line.user, "rounds": rounds}
        return [
            part(
                self.play,
                seconds=0.3 + line.cost * seconds * rounds * min(block, total - first),
                **asked,
                first=first,
                count=min(block, total - first),
                seed=seed,
            )
            for first in range(0, total, block)
        ]

    def rows(self, answers: Answers, line: Line, **where: Any) -> Rows:
        """What was found for a line."""
        asked = {"learner": line.learner, "user": line.user, self.fit: line.fit}
        found = list(answers.where(**asked, **where))
        names = [name for name in ("regret", "loss", "slack", "norm", "random", "seconds") if name in found[0].values]
        stacked = {name: np.concatenate([_per_row(one[name], len(one["regret"])) for one in found]) for name in names}
        return Rows(t=np.asarray(found[0]["t"]), **stacked)

    def panel(self, run: Run, source: str, lines: Iterable[tuple[Line, Rows]], note: str = "") -> Panel:
        """Average regret over rounds, as in the paper's pictures."""
        curves = [curve(line.name, found.t, found.regret) for line, found in lines]
        return Panel(self.title(run, source) + note, self.axis, "average regret", curves, x_scale="log")


@dataclass(frozen=True)
class Lines:
    """A figure's half with several lines: those that are drawn, and those that only the table has.

    Attributes
    ----------
    task
        Web search or movies.
    lines
        The curves.
    table_only
        More rows of the table: other readings.
    others
        Whether the table has the sets that are not drawn, too.
    """

    task: Task
    lines: Sequence[Line]
    table_only: Sequence[Line] = ()
    others: bool = True

    def plan(self, run: Run) -> list[Part]:
        """All lines on all sets."""
        return [
            one
            for source in self.sources(run)
            for line in self.tabled(run)
            for one in self.task.parts(run, source, line)
        ]

    def sources(self, run: Run) -> list[str]:
        """The sets that are drawn, then the others."""
        return self.task.drawn(run) + (self.task.others(run) if self.others else [])

    def tabled(self, run: Run) -> list[Line]:
        """All lines of the table."""
        return [*self.lines, *self.table_only]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """A panel per set that is drawn, and a table of all."""
        found = [
            (source, line, self.task.rows(answers, line, source=source))
            for source in self.sources(run)
            for line in self.tabled(run)
        ]
        panels = [
            self.task.panel(
                run, source, [(line, rows) for at, line, rows in found if at == source and line in self.lines]
            )
            for source in self.task.drawn(run)
        ]
        return Outcome(panels=panels, tables=[self.task.table(run, found)], notes=self.task.notes(run, found[0][2]))


def plus_minus(values: FloatArray, digits: int | None = None) -> str:
    """The mean and its standard error; to the digits that count, unless it is said how many."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    if digits is None:
        digits = 4 if error <= 0 else int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def _per_row(value: Any, rows: int) -> FloatArray:
    """A number that holds for a whole part, once per row."""
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim else np.full(rows, float(array))
