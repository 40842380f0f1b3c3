"""Curves of regret over rounds: what a figure of the web-search experiments is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.coactive.web_data import NAMES, SHAPES, main_sources, other_sources, shape
from smidgen_papers.coactive.web_play import play
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

Settings = dict[str, Any]

PERCEPTRON: Settings = {"name": "PreferencePerceptron"}
STRICT: Settings = {"strict": 0.5}
NOISY: Settings = {"depth": 10}
#: Rounds of a stream: 28,000 in the paper.
ROUNDS = {False: 28_000, True: 2_000}
#: Random orders of the queries: 20 in the paper.
ORDERS = {False: 20, True: 4}
#: The same for the sets that stand in tables alone.
OTHER_ORDERS = 5
#: Of a round of the perceptron, about, on the real sets.
SECONDS = {"mq2008": 4e-6, "mq2007agg": 12e-6, "mslr": 50e-6}
#: How many orders one part plays.
BLOCK = {"yahoo-like": 5}


@dataclass(frozen=True)
class Line:
    """One curve: a learner with a user.

    Attributes
    ----------
    name
        Its place in the legend.
    learner, user
        As in `play`.
    utility
        How w* is fitted.
    cost
        How many times as long a round takes as one of the perceptron.
    """

    name: str
    learner: Settings = field(default_factory=lambda: PERCEPTRON)
    user: Settings = field(default_factory=lambda: STRICT)
    utility: str = "plain"
    cost: float = 1.0


def parts(
    run: Run, source: str, line: Line, *, rounds: int | None = None, orders: int | None = None, block: int | None = None
) -> list[Part]:
    """The parts of a line on a set: all random orders, in blocks."""
    total = ORDERS[run.quick] if orders is None else orders
    if source in other_sources(run):
        total = min(total, OTHER_ORDERS)
    length = ROUNDS[run.quick] if rounds is None else rounds
    block = min(total, block or BLOCK.get(source, total))
    size = shape(run, source)
    each = line.cost * length * (SECONDS[source] if size is None else 1e-6 + 3e-9 * size[1] * size[2])
    return [
        part(
            play,
            seconds=0.3 + each * min(block, total - first),
            source=source,
            size=size,
            utility=line.utility,
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
    """A line on a set: one row per random order.

    Attributes
    ----------
    t
        Rounds.
    regret, loss, slack
        Averages up to these rounds.
    norm, seconds
        Of the last weights; of the whole play.
    random
        The regret of a random ranking.
    """

    t: IntArray
    regret: FloatArray
    loss: FloatArray
    slack: FloatArray
    norm: FloatArray
    seconds: FloatArray
    random: float

    def first(self, orders: int) -> Rows:
        """Only the first of the random orders."""
        names = ("regret", "loss", "slack", "norm", "seconds")
        return replace(self, **{name: getattr(self, name)[:orders] for name in names})

    def at(self, t: int) -> FloatArray:
        """The average regret of every order after ``t`` rounds (the nearest that were kept)."""
        return np.asarray(self.regret[:, int(np.argmin(np.abs(self.t - t)))])

    @property
    def last(self) -> FloatArray:
        """The average regret of every order after the last round."""
        return np.asarray(self.regret[:, -1])

    @property
    def end(self) -> FloatArray:
        """The mean regret of every order in the last tenth of the rounds."""
        return self._between(-2, -1)

    @property
    def middle(self) -> FloatArray:
        """The mean regret of every order between half and nine tenths of the rounds."""
        return self._between(int(np.flatnonzero(self.t == max(1, self.t[-1] // 2))[0]), -2)

    def _between(self, first: int, last: int) -> FloatArray:
        sums = self.regret * self.t
        return np.asarray((sums[:, last] - sums[:, first]) / (self.t[last] - self.t[first]))


def rows(answers: Answers, source: str, line: Line, **more: Any) -> Rows:
    """What was found for a line on a set."""
    found = list(answers.where(source=source, learner=line.learner, user=line.user, utility=line.utility, **more))
    names = ("regret", "loss", "slack", "norm", "seconds")
    stacked = {name: np.concatenate([answer[name] for answer in found]) for name in names}
    return Rows(t=np.asarray(found[0]["t"]), random=float(found[0]["random"]), **stacked)


@dataclass(frozen=True)
class Lines:
    """A figure half with several lines on the main sets, and a table of where they end on all sets.

    Attributes
    ----------
    lines
        The curves.
    table_only
        Lines that appear in the table alone: other readings.
    others
        Whether the table has the further real sets, too.
    """

    lines: Sequence[Line]
    table_only: Sequence[Line] = ()
    others: bool = True

    def plan(self, run: Run) -> Iterable[Part]:
        """All lines on all sets."""
        return [p for source in self.sources(run) for line in self.tabled(run) for p in parts(run, source, line)]

    def sources(self, run: Run) -> list[str]:
        """The main sets, then the others."""
        return main_sources(run) + (other_sources(run) if self.others else [])

    def tabled(self, run: Run) -> list[Line]:
        """All lines of the table."""
        return [*self.lines, *self.table_only]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """A panel per main set, and a table."""
        main = main_sources(run)
        panels = [regret_panel(source, [(line, rows(answers, source, line)) for line in self.lines]) for source in main]
        cells: list[list[str]] = []
        for source in self.sources(run):
            found = [(line, rows(answers, source, line)) for line in self.tabled(run)]
            cells.extend([NAMES[source], line.name, *ends(one)] for line, one in found)
        table = Table("Average regret", ["data", "curve", *ENDS], cells, note=END_NOTE)
        return Outcome(panels=panels, tables=[table], notes=notes(run))


def regret_panel(source: str, lines: Sequence[tuple[Line, Rows]]) -> Panel:
    """Average regret over rounds, as in the paper's pictures."""
    curves = [curve(line.name, found.t, found.regret) for line, found in lines]
    return Panel(NAMES[source], "rounds", "average regret", curves, x_scale="log")


ENDS = ("after 100 rounds", "at the end", "in the last tenth", "share of a random ranking's, last tenth")
END_NOTE = "mean ± standard error over random orders of the queries"


def ends(found: Rows) -> list[str]:
    """A line's numbers in a table."""
    return [
        plus_minus(found.at(100)),
        plus_minus(found.last),
        plus_minus(found.end),
        f"{100 * found.end.mean() / found.random:.2g} %",
    ]


def plus_minus(values: FloatArray) -> str:
    """The mean and its standard error, to the digits that count."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    digits = 4 if error <= 0 else int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    return f"{values.mean():.{digits}f} ± {error:.{digits}f}"


def notes(run: Run) -> list[str]:
    """What every web-search picture has to say of its data."""
    queries, docs, dim = SHAPES["yahoo-like", run.quick]
    real = "MQ2008" if run.has("mq2008") else "A generated set of MQ2008's shape"
    rounds = ROUNDS[run.quick]
    passes = f"{rounds:,} rounds pass {rounds / 784:.0f} and {rounds / queries:.1f} times over them"
    others = f" ({OTHER_ORDERS} of the sets that only tables have)" if other_sources(run) else ""
    return [
        f"The paper's Yahoo! set is not at hand. {real} (784 queries) and {queries:,} generated queries of {docs} "
        f"documents with {dim} features stand in for it; {passes}, each time in a new order.",
        f"{ORDERS[run.quick]} random orders of the queries{others}; w* is the least-squares fit without an intercept; "
        "log to base 2.",
    ]
