"""How far people look: curves estimated from drawn rankings, next to those that the users really have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from smidgen import users
from smidgen.evaluate import examination
from smidgen_papers.beyond.clicks import sources
from smidgen_papers.beyond.clicks_play import make_learner
from smidgen_papers.catalogue import add_claim, add_study
from smidgen_papers.claims import Finding, judge, mean
from smidgen_papers.coactive.web_data import NAMES, shape, web
from smidgen_papers.coactive.web_play import stream
from smidgen_papers.outcome import Curve, Outcome, Panel
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

#: Who tells how far people look.
LEARNERS: dict[str, dict[str, Any]] = {
    "3PR": {"name": "PerturbedPreferencePerceptron"},
    "FairPairs, alternate": {"name": "FairPairs", "alternate": True},
    "PDGD": {"name": "PDGD"},
}
PLACES = 10
TRUTH = [1.0, 0.8, 0.62, 0.5, 0.4, 0.33, 0.28, 0.24, 0.21, 0.19]
ROUNDS = 10_000
REPEATS = {False: 20, True: 4}


def look(
    place: Place, *, source: str, size: list[int] | None, learner: dict[str, Any], rounds: int, count: int, seed: int
) -> Values:
    """Play by the two verbs, with position-based people, and estimate their curve; once per repetition (rows)."""
    data = web(place, source=source, size=size, utility="plain", seed=seed)
    table = data.table
    grades = 3 if table.labels is not None and table.labels.max() <= 2 else 5
    found: dict[str, list[Any]] = {"read": [], "low": [], "high": []}
    for number in range(count):
        model = make_learner(learner, table.dim, seed + number)
        user = users.PositionBased(labels=table.labels_of, read=TRUTH, grades=grades, seed=seed + number)
        log = []
        for query in stream(len(table), rounds, [seed, number, 3]):
            decision = model.decide(table.contexts[query])
            log.append((decision, user(decision.context, decision.action)))
            model.learn(*log[-1])
        curve = examination(log, places=PLACES)
        for name in found:
            found[name].append(getattr(curve, name))
    return {name: np.array(rows) for name, rows in found.items()}


def plan(run: Run) -> Iterable[Part]:
    """Every learner on the main set."""
    source = sources(run)[0]
    for learner in LEARNERS.values():
        yield part(
            look,
            seconds=REPEATS[run.quick] * 0.7,
            source=source,
            size=shape(run, source),
            learner=learner,
            rounds=ROUNDS,
            count=REPEATS[run.quick],
            seed=run.seed,
        )


def gather(run: Run, answers: Answers) -> Outcome:
    """One panel: the truth and the estimates of the first repetition."""
    at = np.arange(1.0, PLACES + 1.0)
    curves = [Curve("the users' own", at, np.array(TRUTH), style="dashed")]
    for name, learner in LEARNERS.items():
        one = answers.one(learner=learner)
        error = (one["high"][0] - one["low"][0]) / 2.0 / 1.96
        curves.append(Curve(name, at, one["read"][0], error=error, style="points"))
    title = f"{NAMES[sources(run)[0]]}, {ROUNDS:,} rounds of position-based people"
    return Outcome(panels=[Panel(title, "place", "how likely it is looked at", curves)])


add_study("beyond/clicks", "examination", plan=plan, gather=gather, data=("mq2008",))


@add_claim(
    "beyond/examination",
    says="The estimated curve's 95 % intervals hold the true curve in 90 % of all places or more.",
    where="our aim",
    needs="beyond/clicks:examination",
)
def _covered(run: Run, answers: Answers) -> Finding:
    inside = []
    for one in answers:
        held = (one["low"][:, 1:] <= TRUTH[1:]) & (one["high"][:, 1:] >= TRUTH[1:])
        inside += held.mean(axis=1).tolist()
    return judge(mean(inside), above=0.9, what="share of places whose interval holds the truth")
