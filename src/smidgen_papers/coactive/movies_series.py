"""Curves of regret over rounds, averaged over users: what a figure of the movie experiments is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.coactive.movies_data import FITS, search_of, source_of, title
from smidgen_papers.coactive.movies_play import play
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

Settings = dict[str, Any]

PERCEPTRON: Settings = {"name": "PreferencePerceptron"}
STRICT: Settings = {"strict": 0.5}
NOISY: Settings = {"rating": "better"}
#: Recommendations to each user: 1,500 in the paper.
ROUNDS = {False: 1_500, True: 500}
#: Users: all of the second half (1,499 of MovieLens' first 2,999; 3,020 in the paper), or some.
USERS = {False: 1_499, True: 60}
#: Users that one part plays.
BLOCK = 250


@dataclass(frozen=True)
class Line:
    """One curve: a learner with a kind of user.

    Attributes
    ----------
    name
        Its place in the legend.
    learner, user, fit
        As in `play`.
    cost
        Microseconds per choice, for the estimate of time.
    """

    name: str
    learner: Settings = field(default_factory=lambda: PERCEPTRON)
    user: Settings = field(default_factory=lambda: STRICT)
    fit: str = "plain"
    cost: float = 5.0


def parts(
    run: Run, line: Line, *, users: int | None = None, rounds: int | None = None, block: int = BLOCK
) -> list[Part]:
    """The parts of a line: all users, in blocks."""
    total = USERS[run.quick] if users is None else users
    if source_of(run) != "movielens":
        total = min(total, 600)
    length = ROUNDS[run.quick] if rounds is None else rounds
    return [
        part(
            play,
            seconds=0.3 + 1e-6 * line.cost * length * min(block, total - first),
            source=source_of(run),
            search=search_of(run),
            fit=line.fit,
            learner=line.learner,
            user=line.user,
            rounds=length,
            first=first,
            count=min(block, total - first),
            seed=run.seed,
        )
        for first in range(0, total, block)
    ]


@dataclass(frozen=True, eq=False)
class Rows:
    """What was found for a line: one row per user.

    Attributes
    ----------
    t
        Rounds.
    regret, loss
        Averages up to these rounds.
    random
        The regret of a random movie, per user.
    seconds
        Of computing, per user.
    """

    t: IntArray
    regret: FloatArray
    loss: FloatArray
    random: FloatArray
    seconds: float

    def at(self, t: int) -> FloatArray:
        """The average regret of every user after ``t`` rounds (the nearest that were kept)."""
        return np.asarray(self.regret[:, int(np.argmin(np.abs(self.t - t)))])

    @property
    def last(self) -> FloatArray:
        """The average regret of every user after the last round."""
        return np.asarray(self.regret[:, -1])

    @property
    def end(self) -> FloatArray:
        """The mean regret of every user in the last tenth of the rounds."""
        return self._between(-2, -1)

    @property
    def middle(self) -> FloatArray:
        """The mean regret of every user between half and nine tenths of the rounds."""
        return self._between(int(np.flatnonzero(self.t == max(1, self.t[-1] // 2))[0]), -2)

    def only(self, users: int) -> Rows:
        """The first users only: those that a slow rival was run on."""
        return Rows(self.t, self.regret[:users], self.loss[:users], self.random[:users], self.seconds)

    def _between(self, first: int, last: int) -> FloatArray:
        sums = self.regret * self.t
        return np.asarray((sums[:, last] - sums[:, first]) / (self.t[last] - self.t[first]))


def fitted(line: Line, fit: str) -> Line:
    """The same with another reading of w*."""
    return replace(line, name=f"{line.name}, {FITS[fit]}", fit=fit)


def rows(answers: Answers, line: Line, **more: Any) -> Rows:
    """What was found for a line."""
    found = list(answers.where(learner=line.learner, user=line.user, fit=line.fit, **more))
    stacked = {
        name: np.concatenate([np.asarray(answer[name], np.float64) for answer in found])
        for name in ("regret", "loss", "random")
    }
    seconds = float(np.mean([answer["seconds"] for answer in found]))
    return Rows(t=np.asarray(found[0]["t"]), seconds=seconds, **stacked)


def regret_panel(run: Run, what: Iterable[tuple[Line, Rows]], note: str = "") -> Panel:
    """Average regret over rounds."""
    curves: list[Curve] = [curve(line.name, found.t, found.regret) for line, found in what]
    return Panel(title(run) + note, "t", "average regret", curves, x_scale="log")


def plus_minus(values: FloatArray) -> str:
    """A mean and its standard error over users."""
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def notes(run: Run, found: Rows) -> list[str]:
    """What a reader must know of the run."""
    said = [f"{found.regret.shape[0]:,} users, {int(found.t[-1]):,} rounds each; means and standard errors over users."]
    if source_of(run) == "movielens":
        return [*said, "Users 1 to 2999 of MovieLens 1M, half of them for features (the paper: all 6,040)."]
    return [*said, "Generated ratings of the same shape: MovieLens was not found."]


def regret_table(what: Sequence[tuple[Line, Rows]], *, heading: str = "Average regret, movies") -> Table:
    """Where the curves are after some rounds."""
    last = int(what[0][1].t[-1])
    times = [t for t in (10, 100, 500) if t < last]
    cells = [
        [
            line.name,
            *(plus_minus(found.at(t)) for t in times),
            plus_minus(found.last),
            f"{found.last.mean() / found.random.mean():.1%}",
        ]
        for line, found in what
    ]
    columns = ["", *(f"t = {t:,}" for t in times), f"t = {last:,}", "share of a random movie's"]
    return Table(heading, columns, cells)


@dataclass(frozen=True)
class Lines:
    """A figure's half with several lines: those that are drawn, and those that only the table has.

    Attributes
    ----------
    lines
        The curves.
    tabled
        More rows of the table.
    """

    lines: Sequence[Line]
    tabled: Sequence[Line] = ()

    def plan(self, run: Run) -> list[Part]:
        """All of them."""
        return [one for line in (*self.lines, *self.tabled) for one in parts(run, line)]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """One panel and one table."""
        drawn = [(line, rows(answers, line)) for line in self.lines]
        more = [(line, rows(answers, line)) for line in self.tabled]
        return Outcome(
            panels=[regret_panel(run, drawn)], tables=[regret_table([*drawn, *more])], notes=notes(run, drawn[0][1])
        )
