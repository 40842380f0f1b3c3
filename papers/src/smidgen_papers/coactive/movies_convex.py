"""Figures 14, 16 and 18, movies: first against second order."""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive import orders
from smidgen_papers.coactive.movies_data import DATA, FITS, title
from smidgen_papers.coactive.movies_series import MOVIES, NOISY, fitted, parts, plus_minus, rows
from smidgen_papers.coactive.orders import GAMMAS, convex, cumulative, flat
from smidgen_papers.coactive.series import STRICT, Line, Rows, Settings
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: "After a given number of iterations": which, the text does not say.
TIMES = {False: (10, 100, 1_500), True: (10, 100, 500)}
#: Users for the other readings of the second-order algorithm and for the sweep: full, quick.
SOME = {False: 250, True: 30}
SWEPT = {False: 500, True: 30}
#: Where the axis of the utility regret ends in Figure 18 as printed.
PRINTED = 1_400.0


def second(user: Settings, gamma: float = 1.0, epsilon: float = 1.0) -> Line:
    """Algorithm 6."""
    return orders.second(user, gamma, epsilon, cost=2.4)


def growth(found: Rows, *, loss: bool = False) -> float:
    """How much cumulative regret the last factor of ten of the rounds adds, over what the factor before it added."""
    late, early = found.decades(loss=loss)
    return float(late.mean() / early.mean())


class Orders:
    """First and second order under one kind of feedback: cumulative regret by both measures."""

    def __init__(self, user: Settings) -> None:
        self.lines = [second(user), convex(user)]
        self.fits = {fit: [fitted(line, fit) for line in self.lines] for fit in FITS if fit != "plain"}
        self.readings = [second(user, epsilon=0.01), second(user, epsilon=100.0)]

    def plan(self, run: Run) -> list[Part]:
        """Both for all users, with each reading of w*; other readings of ε for some."""
        fits = [line for lines in self.fits.values() for line in lines]
        main = [one for line in (*self.lines, *fits) for one in parts(run, line)]
        return main + [one for line in self.readings for one in parts(run, line, users=SOME[run.quick])]

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """A panel per measure, and the table."""
        found = [(line, rows(answers, line)) for line in self.lines]
        fits = [line for lines in self.fits.values() for line in lines]
        more = [(line, rows(answers, line)) for line in (*fits, *self.readings)]
        cells = [self._row(line, one) for line, one in (*found, *more)]
        table = Table(
            "Cumulative regret, movies",
            ["", "users", "T·REG", "T·CREG", "last decade / the one before"],
            cells,
            note="growth over the last factor of ten of rounds over that of the factor before: 1 is log T, 3.2 is √T",
        )
        return Outcome(
            panels=cumulative(title(run), MOVIES.axis, found),
            tables=[table],
            notes=[*MOVIES.notes(run, found[0][1]), "Radius 100, γ = 1, ε = 1 (the paper does not print ε)."],
        )

    def _row(self, line: Line, one: Rows) -> list[object]:
        total, loss = one.last * one.t[-1], one.loss[:, -1] * one.t[-1]
        return [line.name, len(one.regret), plus_minus(total), plus_minus(loss), f"{growth(one):.2f}"]


class Noisy(Orders):
    """Figure 18: the same under noise, and the one printed number that tells the readings of w* apart."""

    def gather(self, run: Run, answers: Answers) -> Outcome:
        """As Figure 14, and, after as many rounds as in the paper, a table against the printed axis."""
        shown = super().gather(run, answers)
        if run.quick:
            return shown
        cells = []
        for name, lines in {"plain": self.lines, **self.fits}.items():
            ends = [rows(answers, line) for line in lines]
            totals = [one.last * one.t[-1] for one in ends]
            quotient = f"{totals[1].mean() / PRINTED:.2f}"
            cells.append([name, int(ends[0].t[-1]), *(f"{one.mean():,.0f}" for one in totals), quotient])
        table = Table(
            "Which reading of w* comes closest to the paper",
            ["w*", "rounds", "second order", "convex perceptron", "convex over the printed axis"],
            cells,
            note=f"In the paper's Figure 18 the axis of cumulative utility regret ends at {PRINTED:,.0f} for 1,500 "
            "rounds: the only printed number about the size of regrets on movies.",
        )
        return shown + Outcome(tables=[table])


def sweep_plan(run: Run) -> list[Part]:
    """Every γ, and the convex perceptron for comparison."""
    lines = [*(second(STRICT, gamma) for gamma in GAMMAS), convex(STRICT)]
    return [one for line in lines for one in parts(run, line, users=SWEPT[run.quick], block=min(250, SWEPT[run.quick]))]


def sweep(answers: Answers, t: int) -> FloatArray:
    """Average regret after t rounds: one row per user, one column per γ."""
    return np.array([rows(answers, second(STRICT, gamma)).at(t) for gamma in GAMMAS]).T


def sweep_gather(run: Run, answers: Answers) -> Outcome:
    """Regret over γ after several numbers of rounds, the convex perceptron dotted."""
    curves: list[Curve] = []
    level = rows(answers, convex(STRICT))
    for t in TIMES[run.quick]:
        curves.append(curve(f"second order, t = {t:,}", GAMMAS, sweep(answers, t)))
        curves.append(flat(t, level))
    cells = [
        [f"{gamma:g}", *(plus_minus(sweep(answers, t)[:, k]) for t in TIMES[run.quick])]
        for k, gamma in enumerate(GAMMAS)
    ]
    cells.append(["convex", *(plus_minus(level.at(t)) for t in TIMES[run.quick])])
    return Outcome(
        panels=[Panel(title(run), "γ", "average regret", curves, x_scale="log", y_scale="log")],
        tables=[Table("Average regret over γ, movies", ["γ", *(f"t = {t:,}" for t in TIMES[run.quick])], cells)],
        notes=[*MOVIES.notes(run, level), "Strict feedback, α = 0.5; radius 100; ε = 1."],
    )


FIG14, FIG18 = Orders(STRICT), Noisy(NOISY)
add_study("coactive/fig14", "movies", plan=FIG14.plan, gather=FIG14.gather, data=DATA)
add_study("coactive/fig16", "movies", plan=sweep_plan, gather=sweep_gather, data=DATA)
add_study("coactive/fig18", "movies", plan=FIG18.plan, gather=FIG18.gather, data=DATA)
