"""Figures 13, 15 and 17, web search: first against second order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive import orders
from smidgen_papers.coactive.orders import GAMMAS, RADIUS, averages, convex, cumulative, flat
from smidgen_papers.coactive.series import STRICT, Line, Rows, Settings, plus_minus
from smidgen_papers.coactive.web_data import NAMES, main_sources, other_sources
from smidgen_papers.coactive.web_series import END_NOTE, NOISY, ORDERS, ROUNDS, WEB, rows
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: "After a given number of iterations": which, the text does not say.
TIMES = {False: (100, 1_000, 10_000), True: (100, 1_000)}
#: Rounds and orders of the N² learner on the large generated set: full, quick. In full 28,000 rounds of 700 features.
LARGE_ROUNDS = {False: 28_000, True: 1_000}
LARGE_ORDERS = {False: 5, True: 2}
SWEEP_ROUNDS, SWEEP_ORDERS = {False: 10_000, True: 1_000}, {False: 3, True: 2}


def steep(user: Settings) -> Line:
    """Algorithm 5 with the step of the paper of 2012, G/√t, G the slope of the quadratic loss."""
    learner = {"name": "ConvexPreferencePerceptron", "radius": RADIUS, "lipschitz": "slope"}
    return Line("convex perceptron, step G/√t", learner=learner, user=user)


def second(user: Settings, gamma: float = 1.0, epsilon: float = 1.0) -> Line:
    """Algorithm 6."""
    return orders.second(user, gamma, epsilon, cost=1.3)


def length(run: Run, source: str, line: Line) -> dict[str, int]:
    """Rounds and orders: fewer where N² is large."""
    if source != "yahoo-like" or line.learner["name"] != "SecondOrderPreferencePerceptron":
        return {"rounds": ROUNDS[run.quick], "orders": ORDERS[run.quick]}
    return {"rounds": LARGE_ROUNDS[run.quick], "orders": LARGE_ORDERS[run.quick]}


class Orders:
    """First and second order under one kind of feedback, with other readings in the table."""

    def __init__(self, user: Settings) -> None:
        self.lines = [second(user), convex(user)]
        self.readings = [steep(user), second(user, epsilon=0.01), second(user, epsilon=100.0)]

    def tabled(self, source: str) -> list[Line]:
        """Lines and readings; on the large set only the readings that cost little."""
        more = self.readings[:1] if source == "yahoo-like" else self.readings
        return [*self.lines, *more]

    def plan(self, run: Run) -> Iterable[Part]:
        """All lines on all sets."""
        for source in main_sources(run) + other_sources(run):
            for line in self.tabled(source):
                yield from WEB.parts(run, source, line, **length(run, source, line))

    def table(self, run: Run, answers: Answers) -> Table:
        """Where every line ends."""
        cells = []
        for source in main_sources(run) + other_sources(run):
            for line in self.tabled(source):
                found = rows(answers, source, line)
                cells.append(
                    [
                        NAMES[source],
                        line.name,
                        f"{found.t[-1]:,}",
                        plus_minus(found.last * found.t[-1]),
                        plus_minus(found.loss[:, -1] * found.t[-1]),
                        f"{growth(found).mean():.2f}",
                        f"{found.norm.max():.3g}",
                    ]
                )
        columns = ["data", "learner", "rounds", "T·REG", "T·CREG", "last decade / the one before", "largest ‖w‖"]
        note = f"{END_NOTE}; what the last factor of ten of the rounds adds over the factor before: log T 1, √T 3.2"
        return Table("Cumulative regret", columns, cells, note=note)


def growth(found: Rows, *, loss: bool = False) -> FloatArray:
    """How much cumulative regret the last factor of ten of the rounds adds, over what the factor before it added."""
    late, early = found.decades(loss=loss)
    return np.asarray(late / early)


class Cumulative(Orders):
    """Figure 13: cumulative regret by both measures."""

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """Two panels per set, and the table."""
        panels: list[Panel] = []
        for source in main_sources(run):
            found = [(line, rows(answers, source, line)) for line in self.lines]
            panels += cumulative(NAMES[source], WEB.axis, found)
        return Outcome(panels=panels, tables=[self.table(run, answers)], notes=[*WEB.notes(run), LARGE_NOTE])


class Averages(Orders):
    """Figure 17: average regret by both measures."""

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """Two panels per set, and the table."""
        panels: list[Panel] = []
        for source in main_sources(run):
            found = [(line, rows(answers, source, line)) for line in self.lines]
            panels += averages(NAMES[source], WEB.axis, found)
        return Outcome(panels=panels, tables=[self.table(run, answers)], notes=[*WEB.notes(run), LARGE_NOTE])


LARGE_NOTE = (
    "Radius 100, γ = 1, ε = 1 (the paper does not print ε). On the generated set of Yahoo!'s shape the second-order "
    f"learner, whose rounds cost N², plays {LARGE_ORDERS[False]} random orders in a full run, the others "
    f"{ORDERS[False]}."
)


def sweep_plan(run: Run) -> Iterable[Part]:
    """Every γ on both sets; the convex perceptron for comparison."""
    for source in main_sources(run):
        rounds = sweep_rounds(run, source)
        for line in (*(second(STRICT, gamma) for gamma in GAMMAS), convex(STRICT)):
            orders = SWEEP_ORDERS[run.quick] if source == "yahoo-like" else ORDERS[run.quick]
            yield from WEB.parts(run, source, line, rounds=rounds, orders=orders)


def sweep_rounds(run: Run, source: str) -> int:
    """How long a γ is played: as in Figure 13, but less where N² is large."""
    return SWEEP_ROUNDS[run.quick] if source == "yahoo-like" else ROUNDS[run.quick]


def sweep_times(run: Run, source: str) -> tuple[int, ...]:
    """After how many rounds the regret is shown."""
    return tuple(t for t in TIMES[run.quick] if t <= sweep_rounds(run, source))


def sweep(run: Run, answers: Answers, source: str, t: int) -> FloatArray:
    """Average regret after t rounds: one row per random order, one column per γ."""
    rounds = sweep_rounds(run, source)
    return np.array([rows(answers, source, second(STRICT, gamma), rounds=rounds).at(t) for gamma in GAMMAS]).T


def sweep_gather(run: Run, answers: Answers) -> Outcome:
    """Regret over γ after several numbers of rounds, the convex perceptron dotted."""
    panels = []
    for source in main_sources(run):
        curves: list[Curve] = []
        for t in sweep_times(run, source):
            curves.append(curve(f"second order, t = {t:,}", GAMMAS, sweep(run, answers, source, t)))
            curves.append(flat(t, rows(answers, source, convex(STRICT), rounds=sweep_rounds(run, source))))
        panels.append(Panel(NAMES[source], "γ", "average regret", curves, x_scale="log", y_scale="log"))
    few = f"Strict feedback, α = 0.5; radius 100; ε = 1. On the generated set {SWEEP_ORDERS[run.quick]} random orders."
    return Outcome(panels=panels, notes=[*WEB.notes(run), few])


FIG13, FIG17 = Cumulative(STRICT), Averages(NOISY)
add_study("coactive/fig13", "web", plan=FIG13.plan, gather=FIG13.gather, data=("mq2008", "mq2007agg", "mslr"))
add_study("coactive/fig15", "web", plan=sweep_plan, gather=sweep_gather, data=("mq2008",))
add_study("coactive/fig17", "web", plan=FIG17.plan, gather=FIG17.gather, data=("mq2008", "mq2007agg", "mslr"))
