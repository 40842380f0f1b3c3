"""Figure 9, web search: the perceptron and the dueling bandit with the best of 25 settings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from smidgen_papers.catalogue import add_study
from smidgen_papers.coactive import duels
from smidgen_papers.coactive.duels import EXPLORE, STEP, over_quotients, when
from smidgen_papers.coactive.series import STRICT, Line, Rows, Settings, plus_minus
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.coactive.web_series import NOISY, ORDERS, WEB, rows
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

USERS: dict[str, Settings] = {"strict": STRICT, "noisy": NOISY}
#: Random orders for each of the 25 settings on the large generated set: full, quick.
YAHOO_ORDERS = (3, 2)


def duel(explore: float, step: float, user: Settings) -> Line:
    """The dueling bandit with one setting."""
    return duels.duel(explore, step, user, cost=2.5)


def plan(run: Run) -> Iterable[Part]:
    """The whole grid and the perceptron, for both kinds of feedback."""
    for source in main_sources(run):
        orders = YAHOO_ORDERS[run.quick] if source == "yahoo-like" else ORDERS[run.quick]
        for user in USERS.values():
            yield from WEB.parts(run, source, Line("perceptron", user=user))
            for explore in EXPLORE:
                for step in STEP:
                    yield from WEB.parts(run, source, duel(explore, step, user), orders=orders)


def best(answers: Answers, source: str, user: Settings) -> tuple[float, float, Rows]:
    """The setting with the lowest average regret after the last round, and its curves."""
    return duels.best_of(partial(_ended, answers, source, user))


def _ended(answers: Answers, source: str, user: Settings, explore: float, step: float) -> Rows:
    return rows(answers, source, duel(explore, step, user))


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
            cells.append(
                [
                    NAMES[source],
                    kind,
                    f"{explore:g}, {step:g}",
                    plus_minus(bandit.last),
                    plus_minus(perceptron.last),
                    when(perceptron, bandit),
                ]
            )
            found = partial(_ended, answers, source, user)
            sweep.append(over_quotients(f"{NAMES[source]}, {kind}", found))
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
        panels=panels, tables=[Table("Where both end", columns, cells, note=note)], notes=[*WEB.notes(run), more]
    )


add_study("coactive/fig9", "web", plan=plan, gather=gather, data=("mq2008",))
