"""Figure 10, movies: the perceptron and the dueling bandit with the best of 25 settings."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive.movies_data import DATA, title
from smidgen_papers.coactive.movies_series import NOISY, STRICT, Line, Rows, Settings, notes, parts, plus_minus, rows
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: γ and δ of Section 6.2.6. The choice does not change when both are multiplied by the same number, since w starts at
#: 0: only δ/γ counts, and these two lists make 25 different quotients at even distances on a log scale.
EXPLORE = (1.0, 1.585, 2.512, 3.981, 6.310)
STEP = (0.001, 0.01, 0.1, 1.0, 10.0)
#: How the two movies are compared, and the perceptron's feedback beside it.
KINDS: dict[str, tuple[Settings, Settings]] = {
    "utility": ({"compare": "utility"}, STRICT),
    "rounded ratings": ({"compare": "rating"}, NOISY),
}
#: Users that the whole grid is played with: full, quick.
DUELISTS = {False: 100, True: 6}


def duel(explore: float, step: float, user: Settings) -> Line:
    """The dueling bandit with one setting."""
    learner = {"name": "DuelingBandit", "explore": explore, "step": step}
    return Line("dueling bandit", learner, user, cost=18.0)


def plan(run: Run) -> list[Part]:
    """The whole grid for some users, the perceptron for all."""
    found = []
    for compare, feedback in KINDS.values():
        found += parts(run, Line("perceptron", user=feedback))
        for explore in EXPLORE:
            for step in STEP:
                found += parts(run, duel(explore, step, compare), users=DUELISTS[run.quick])
    return found


def best(answers: Answers, user: Settings) -> tuple[float, float, Rows]:
    """The setting with the lowest average regret after the last round, and its curves."""
    tried = [(g, d, rows(answers, duel(g, d, user))) for g in EXPLORE for d in STEP]
    return min(tried, key=lambda one: float(one[2].last.mean()))


def matched(perceptron: Rows, level: float) -> float:
    """The first kept round at which the perceptron's mean curve is at the level or below; infinite if never."""
    below = np.flatnonzero(perceptron.regret.mean(axis=0) <= level)
    return float(perceptron.t[below[0]]) if len(below) else float("inf")


def gather(run: Run, answers: Answers) -> Outcome:
    """Both curves per kind of feedback; what was chosen; the regret over δ/γ."""
    panels, cells, sweep = [], [], []
    for kind, (compare, feedback) in KINDS.items():
        explore, step, bandit = best(answers, compare)
        perceptron = rows(answers, Line("perceptron", user=feedback)).only(len(bandit.regret))
        curves = [
            curve("perceptron", perceptron.t, perceptron.regret),
            curve("dueling bandit", bandit.t, bandit.regret),
        ]
        panels.append(Panel(f"{title(run)}, {kind}", "t", "average regret", curves, x_scale="log"))
        when = matched(perceptron, float(bandit.last.mean()))
        there = "never" if np.isinf(when) else f"{when:.0f}"
        cells.append([kind, f"{explore:g}, {step:g}", plus_minus(bandit.last), plus_minus(perceptron.last), there])
        tried = sorted(
            ((d / g, rows(answers, duel(g, d, compare)).last) for g in EXPLORE for d in STEP), key=lambda x: x[0]
        )
        sweep.append(curve(kind, [x for x, _ in tried], np.array([y for _, y in tried]).T))
    panels.append(Panel("the 25 settings", "δ/γ", "average regret at the end", sweep, x_scale="log"))
    columns = ["feedback", "best γ, δ", "bandit at the end", "perceptron at the end", "perceptron is there in round"]
    table = Table("Where both end, movies", columns, cells, note="the bandit with the best of 25 settings in hindsight")
    more = (
        f"The grid, and the perceptron beside it, over {len(bandit.regret)} users. Only δ/γ matters (w starts at 0); "
        "the paper's grid is not printed. Both movies of a duel are taken off the list."
    )
    return Outcome(panels=panels, tables=[table], notes=[*notes(run, perceptron)[1:], more])


add_study("coactive/fig10", "movies", plan=plan, gather=gather, data=DATA)
