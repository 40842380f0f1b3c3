"""Figure 9, web search: the perceptron and the dueling bandit with the best of 25 settings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.coactive.web_series import (
    NOISY,
    ORDERS,
    STRICT,
    Line,
    Rows,
    Settings,
    notes,
    parts,
    plus_minus,
    rows,
)
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: γ and δ of Section 6.2.6. Rankings do not change when both are multiplied by the same number, since w starts at 0:
#: only δ/γ counts, and these two lists make 25 different quotients at even distances on a log scale.
EXPLORE = (1.0, 1.585, 2.512, 3.981, 6.310)
STEP = (0.001, 0.01, 0.1, 1.0, 10.0)
USERS: dict[str, Settings] = {"strict": STRICT, "noisy": NOISY}
#: Random orders for each of the 25 settings on the large generated set: full, quick.
YAHOO_ORDERS = (3, 2)


def duel(explore: float, step: float, user: Settings) -> Line:
    """The dueling bandit with one setting."""
    learner = {"name": "DuelingBandit", "explore": explore, "step": step}
    return Line("dueling bandit", learner=learner, user=user, cost=2.5)


def plan(run: Run) -> Iterable[Part]:
    """The whole grid and the perceptron, for both kinds of feedback."""
    for source in main_sources(run):
        orders = YAHOO_ORDERS[run.quick] if source == "yahoo-like" else ORDERS[run.quick]
        for user in USERS.values():
            yield from parts(run, source, Line("perceptron", user=user))
            for explore in EXPLORE:
                for step in STEP:
                    yield from parts(run, source, duel(explore, step, user), orders=orders)


def best(answers: Answers, source: str, user: Settings) -> tuple[float, float, Rows]:
    """The setting with the lowest average regret after the last round, and its curves."""
    tried = [(g, d, rows(answers, source, duel(g, d, user))) for g in EXPLORE for d in STEP]
    return min(tried, key=lambda one: float(one[2].last.mean()))


def matched(perceptron: Rows, level: float) -> float:
    """The first kept round at which the perceptron's mean curve is at the level or below; infinite if never."""
    below = np.flatnonzero(perceptron.regret.mean(axis=0) <= level)
    return float(perceptron.t[below[0]]) if len(below) else float("inf")


def gather(run: Run, answers: Answers) -> Outcome:
    """Both curves per kind of feedback and set; what was chosen; the regret over δ/γ."""
    panels, cells, sweep = [], [], []
    for source in main_sources(run):
        for kind, user in USERS.items():
            perceptron = rows(answers, source, Line("perceptron", user=user))
            explore, step, bandit = best(answers, source, user)
            curves = [
                curve("perceptron", perceptron.t, perceptron.regret),
                curve("dueling bandit", bandit.t, bandit.regret),
            ]
            panels.append(Panel(f"{NAMES[source]}, {kind}", "rounds", "average regret", curves, x_scale="log"))
            when = matched(perceptron, float(bandit.last.mean()))
            cells.append(
                [
                    NAMES[source],
                    kind,
                    f"{explore:g}, {step:g}",
                    plus_minus(bandit.last),
                    plus_minus(perceptron.last),
                    "never" if np.isinf(when) else f"{when:.0f}",
                ]
            )
            tried = [(d / g, rows(answers, source, duel(g, d, user)).last) for g in EXPLORE for d in STEP]
            tried.sort(key=lambda one: one[0])
            sweep.append(curve(f"{NAMES[source]}, {kind}", [x for x, _ in tried], np.array([y for _, y in tried]).T))
    panels.append(Panel("the 25 settings", "δ/γ", "average regret at the end", sweep, x_scale="log"))
    columns = [
        "data",
        "feedback",
        "best γ, δ",
        "bandit at the end",
        "perceptron at the end",
        "perceptron is there in round",
    ]
    note = "bandit: the best of 25 settings in hindsight, by its own last average regret; ± standard error over orders"
    more = (
        f"Only δ/γ matters (w starts at 0, and a ranking does not change when w and u grow together); the paper's "
        "grid is "
        f"not printed. The bandit's grid is played on {YAHOO_ORDERS[run.quick]} orders of the generated set."
    )
    return Outcome(
        panels=panels, tables=[Table("Where both end", columns, cells, note=note)], notes=[*notes(run), more]
    )


add_study("coactive/fig9", "web", plan=plan, gather=gather, data=("mq2008",))
