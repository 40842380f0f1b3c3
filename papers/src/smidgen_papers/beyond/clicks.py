"""Rank from clicks and from noisy people: who learns, from whom, how well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.beyond.clicks_play import play
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.coactive.web_data import NAMES, shape
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answer, Answers, Part, Run, part

Settings = dict[str, Any]

#: Who learns: the papers' learners first.
LEARNERS: dict[str, Settings] = {
    "preference perceptron": {"name": "PreferencePerceptron"},
    "second order": {"name": "SecondOrderPreferencePerceptron"},
    "dueling bandit": {"name": "DuelingBandit"},
    "ranking SVM": {"name": "RankingSVM"},
    "3PR": {"name": "PerturbedPreferencePerceptron"},
    "FairPairs": {"name": "FairPairs"},
    "PDGD": {"name": "PDGD"},
}
#: Where features differ in size within a query, they are brought to [0, 1] there.
NORMALIZED = "PDGD, normalize"
USERS = ("strict", "noisy", "perfect", "navigational", "informational", "position-based", "trust bias")
ROUNDS = 3_000
#: Random orders: full, quick.
ORDERS = {False: 20, True: 4}
#: The SVM is slow: rounds and orders.
SVM_ROUNDS = {False: 1_000, True: 150}
SVM_ORDERS = {False: 5, True: 2}
MEASURES = {
    "regret": "Average regret",
    "online": "nDCG@10 of what was shown",
    "offline": "nDCG@10 without exploration, on queries held out",
}
#: Seconds of a round, about.
COST = {"mq2008": 1e-5, "mq2008-like": 1e-5, "mq2007agg": 2e-5, "mslr": 1e-4}

add_figure(
    "beyond/clicks",
    title="Rank from clicks, and from noisy people",
    shows="No paper's figure. The coactive papers turn clicks into a better ranking and step towards it. People look "
    "at the top first, so what is shown high is clicked, or moved down, more than it deserves; learners that show "
    "their best ranking every time take that for merit. Here they stand beside three that show rankings with some "
    "randomness in them.",
)


def sources(run: Run) -> list[str]:
    """MQ2008, or one of its shape; in full the other real sets too."""
    main = "mq2008" if run.has("mq2008") else "mq2008-like"
    return [main, *(name for name in ("mslr", "mq2007agg") if run.has(name) and not run.quick)]


def competitors(source: str) -> dict[str, Settings]:
    """Who plays on a set."""
    if source in ("mslr", "mq2007agg"):
        fewer = {name: settings for name, settings in LEARNERS.items() if name != "ranking SVM"}
        return {**fewer, NORMALIZED: {"name": "PDGD", "normalize": True}}
    return LEARNERS


def plan(run: Run) -> Iterable[Part]:
    """Every learner with every user on every set."""
    for source in sources(run):
        for learner in competitors(source).values():
            svm = learner["name"] == "RankingSVM"
            rounds = SVM_ROUNDS[run.quick] if svm else ROUNDS
            orders = SVM_ORDERS[run.quick] if svm else ORDERS[run.quick]
            for user in USERS:
                yield part(
                    play,
                    seconds=1.0 + orders * rounds * (COST[source] if not svm else 5e-3),
                    source=source,
                    size=shape(run, source),
                    learner=learner,
                    user=user,
                    rounds=rounds,
                    first=0,
                    count=orders,
                    seed=run.seed,
                )


def answer_of(run: Run, answers: Answers, source: str, learner: str, user: str) -> Answer:
    """What one learner did with one user."""
    return answers.one(source=source, learner=competitors(source)[learner], user=user)


def last(values: FloatArray) -> FloatArray:
    """One number per order: that after the last round."""
    return values if values.ndim == 1 else np.asarray(values[:, -1])


def plus_minus(values: FloatArray, digits: int = 3) -> str:
    """A mean with its standard error."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return f"{float(np.mean(values)):.{digits}f} ± {error:.{digits}f}"


def gather(run: Run, answers: Answers) -> Outcome:
    """Curves of regret with noisy people and with informational clicks, and a table per set and measure."""
    panels, tables = [], []
    for source in sources(run):
        names = competitors(source)
        for user in ("noisy", "informational") if source == sources(run)[0] else ():
            found = [(name, answer_of(run, answers, source, name, user)) for name in names]
            curves = [curve(name, one["t"], one["regret"]) for name, one in found]
            panels.append(Panel(f"{NAMES[source]}, {user}", "rounds", "average regret", curves, "log", "log"))
        for measure, title in MEASURES.items():
            rows = [
                [user, *(plus_minus(last(answer_of(run, answers, source, name, user)[measure])) for name in names)]
                for user in USERS
            ]
            chance = answer_of(run, answers, source, "PDGD", "noisy")["chance"]
            note = f"after {ROUNDS:,} rounds (the ranking SVM: {SVM_ROUNDS[run.quick]:,}); ± standard error"
            random = f"; random order: {chance:.3f}" if "nDCG" in title else ""
            tables.append(Table(f"{title}, {NAMES[source]}", ["user", *names], rows, note=note + random))
    return Outcome(
        panels=panels,
        tables=tables,
        notes=[
            f"{ORDERS[run.quick]} random orders of four fifths of the queries, {ROUNDS:,} rounds each; users who go by "
            "labels look at ten documents. No setting was tuned: every learner has its defaults.",
            "Regret is measured by the least-squares utility of the first five places, as in the coactive paper.",
        ],
    )


add_study("beyond/clicks", "learning", plan=plan, gather=gather, data=("mq2008", "mslr", "mq2007agg"))
