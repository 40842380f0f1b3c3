"""Figure 10, movies: the perceptron and the dueling bandit with the best of 25 settings."""

from __future__ import annotations

from functools import partial

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive import duels
from smidgen_papers.coactive.duels import EXPLORE, STEP, over_quotients, when
from smidgen_papers.coactive.movies_data import DATA, title
from smidgen_papers.coactive.movies_series import MOVIES, NOISY, parts, plus_minus, rows
from smidgen_papers.coactive.series import STRICT, Line, Rows, Settings
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: How the two movies are compared, and the perceptron's feedback next to it.
KINDS: dict[str, tuple[Settings, Settings]] = {
    "utility": ({"compare": "utility"}, STRICT),
    "rounded ratings": ({"compare": "rating"}, NOISY),
}
#: Users that the whole grid is played with: full, quick.
DUELISTS = {False: 100, True: 6}


def duel(explore: float, step: float, user: Settings) -> Line:
    """The dueling bandit with one setting."""
    return duels.duel(explore, step, user, cost=3.6)


def plan(run: Run) -> list[Part]:
    """The whole grid for some users, the perceptron for all."""
    found = []
    for compare, feedback in KINDS.values():
        found += parts(run, Line("perceptron", user=feedback))
        for explore in EXPLORE:
            for step in STEP:
                found += parts(run, duel(explore, step, compare), users=DUELISTS[run.quick])
    return found


def _ended(answers: Answers, user: Settings, explore: float, step: float) -> Rows:
    return rows(answers, duel(explore, step, user))


def best(answers: Answers, user: Settings) -> tuple[float, float, Rows]:
    """The setting with the lowest average regret after the last round, and its curves."""
    return duels.best_of(partial(_ended, answers, user))


def gather(run: Run, answers: Answers) -> Outcome:
    """Both curves per kind of feedback; what was chosen; the regret over δ/γ."""
    panels, cells, sweep = [], [], []
    for kind, (compare, feedback) in KINDS.items():
        explore, step, bandit = best(answers, compare)
        perceptron = rows(answers, Line("perceptron", user=feedback)).first(len(bandit.regret))
        curves = [
            curve("perceptron", perceptron.t, perceptron.regret),
            curve("dueling bandit", bandit.t, bandit.regret),
        ]
        panels.append(Panel(f"{title(run)}, {kind}", "t", "average regret", curves, x_scale="log"))
        there = when(perceptron, bandit)
        cells.append([kind, f"{explore:g}, {step:g}", plus_minus(bandit.last), plus_minus(perceptron.last), there])
        sweep.append(over_quotients(kind, partial(_ended, answers, compare)))
    panels.append(Panel("the 25 settings", "δ/γ", "average regret at the end", sweep, x_scale="log"))
    columns = ["feedback", "best γ, δ", "bandit at the end", "perceptron at the end", "perceptron is there in round"]
    table = Table("Where both end, movies", columns, cells, note="the bandit with the best of 25 settings in hindsight")
    more = (
        f"The grid, and the perceptron beside it, over {len(bandit.regret)} users. Only δ/γ matters (w starts at 0); "
        "the paper's grid is not printed. Both movies of a duel are taken off the list."
    )
    return Outcome(panels=panels, tables=[table], notes=[*MOVIES.notes(run, perceptron)[1:], more])


add_study("coactive/fig10", "movies", plan=plan, gather=gather, data=DATA)
