"""What people bring, measured: raw units, no constant, no features (``python -m benchmarks.people``).

Each world is played with records through a `Pipeline`, and with the same numbers standardised by hand, with a constant,
through the bare learner: what a person who knows the trick would have got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import smidgen
from smidgen.decision import FloatArray

SEEDS, ROUNDS, CANDIDATES = 10, 450, 8
LOW, HIGH = np.array([5.0, 1.0, 0.0]), np.array([500.0, 5.0, 90.0])
NAMES = ("price", "rating", "age_days")
CENTRE, SPREAD = (LOW + HIGH) / 2, (HIGH - LOW) / np.sqrt(12)
TASTE = np.array([-1.0, 1.5, -0.5])
DIM = 16

RANKERS: dict[str, Callable[[int], smidgen.Learner]] = {
    "PreferencePerceptron": lambda dim: smidgen.PreferencePerceptron(dim=dim),
    "ConvexPreferencePerceptron": lambda dim: smidgen.ConvexPreferencePerceptron(dim=dim, radius=10.0),
    "SecondOrderPreferencePerceptron": lambda dim: smidgen.SecondOrderPreferencePerceptron(dim=dim),
}


def drawn(rng: np.random.Generator, n: int) -> FloatArray:
    """Items in the units that people have."""
    return np.asarray(rng.uniform(LOW, HIGH, size=(n, len(LOW))))


def records(values: FloatArray) -> list[dict[str, float]]:
    """The same as records."""
    return [dict(zip(NAMES, row, strict=True)) for row in values.tolist()]


def by_hand(values: FloatArray) -> FloatArray:
    """The same standardised, with a constant: what an expert would do."""
    return np.column_stack([np.ones(len(values)), (values - CENTRE) / SPREAD])


def vectorizer(**settings: Any) -> smidgen.Vectorizer:
    """A small one."""
    return smidgen.Vectorizer(dim=DIM, **settings)


def rank(name: str, seed: int, raw: bool, rounds: int = ROUNDS) -> float:
    """How often the best came first in the last third; the user moves the better of the first two to the top."""
    rng, hits = np.random.default_rng(seed), []
    learner = RANKERS[name](DIM if raw else 4)
    if raw:
        learner = smidgen.Pipeline(features=vectorizer(), learner=learner)
    for t in range(rounds):
        values = drawn(rng, CANDIDATES)
        utility = by_hand(values)[:, 1:] @ TASTE + rng.normal(0.0, 0.3, CANDIDATES)
        context: Any = smidgen.Candidates(records(values), top=3) if raw else smidgen.Ranking(by_hand(values), top=3)
        decision = learner.decide(context)
        best = int(np.argmax(utility))
        if t >= 2 * rounds // 3:
            hits.append(decision.action[0] == best)
        learner.learn(decision, smidgen.from_clicks(decision.action, [best]))
    return float(np.mean(hits))


def label(seed: int, raw: bool, rounds: int = ROUNDS) -> float:
    """The share of right labels in the last third, from one bit."""
    rng, hits = np.random.default_rng(seed), []
    u = np.array([[0.3, 1.0, 0.0, 0.5], [-0.2, -1.0, 1.0, 0.0], [0.0, 0.0, -1.0, -0.5]])
    learner: Any = smidgen.Confidit(dim=DIM if raw else 4, n_classes=3)
    if raw:
        learner = smidgen.Pipeline(features=vectorizer(), learner=learner)
    for t in range(rounds):
        values = drawn(rng, 1)
        x = by_hand(values)[0]
        decision = learner.decide(records(values)[0] if raw else x)
        right = bool(decision.action == int(np.argmax(u @ x)))
        if t >= 2 * rounds // 3:
            hits.append(right)
        learner.learn(decision, right)
    return float(np.mean(hits))


def filtering(seed: int, raw: bool, rounds: int = ROUNDS) -> tuple[float, float]:
    """Precision and recall of a filter over the whole stream; three items in ten are relevant."""
    rng = np.random.default_rng(seed)
    values = drawn(rng, rounds)
    relevant = by_hand(values) @ np.array([-0.8, -1.0, 1.0, 0.0]) > 0.0
    learner: Any = smidgen.RidgeFil(dim=DIM if raw else 4, c=0.1)
    if raw:
        learner = smidgen.Pipeline(features=vectorizer(), learner=learner)
    history = learner.run(records(values) if raw else by_hand(values), relevant)
    return float(history.precision), float(history.recall)


def advised(seed: int, rounds: int = ROUNDS) -> tuple[float, float]:
    """Precision and recall of the filter that `smidgen.recommended` gives, as it is."""
    rng = np.random.default_rng(seed)
    values = drawn(rng, rounds)
    relevant = by_hand(values) @ np.array([-0.8, -1.0, 1.0, 0.0]) > 0.0
    learner = smidgen.Pipeline(features=vectorizer(), learner=smidgen.recommended(loop="filter", dim=DIM))
    history = learner.run(records(values), relevant)
    return float(history.precision), float(history.recall)


def majority(seed: int, rounds: int = 200) -> float:
    """Empty records: the share of the label that comes 7 times in 10, in the last half."""
    rng = np.random.default_rng(seed)
    learner = smidgen.Pipeline(features=vectorizer(), learner=smidgen.Confidit(dim=DIM, labels=["a", "b", "c"]))
    shown = []
    for _ in range(rounds):
        decision = learner.decide({})
        shown.append(decision.action == "b")
        learner.learn(decision, bool(decision.action == rng.choice(["a", "b", "c"], p=[0.15, 0.7, 0.15])))
    return float(np.mean(shown[rounds // 2 :]))


def mean(play: Callable[[int], float], seeds: int = SEEDS) -> float:
    """Over the seeds."""
    return float(np.mean([play(seed) for seed in range(seeds)]))


def table(seeds: int = SEEDS) -> dict[str, tuple[float, float]]:
    """For every world: records in raw units through a pipeline, and what an expert's features give."""
    rows = {
        f"rank, {name}: best first": (
            mean(lambda s, n=name: rank(n, s, True), seeds),
            mean(lambda s, n=name: rank(n, s, False), seeds),
        )
        for name in RANKERS
    }
    rows["label, Confidit: right"] = (mean(lambda s: label(s, True), seeds), mean(lambda s: label(s, False), seeds))
    rows["filter, RidgeFil: precision"] = (
        mean(lambda s: filtering(s, True)[0], seeds),
        mean(lambda s: filtering(s, False)[0], seeds),
    )
    for k, what in enumerate(("precision", "recall")):
        rows[f"filter, recommended: {what}"] = (
            mean(lambda s, k=k: advised(s)[k], seeds),
            mean(lambda s, k=k: filtering(s, False)[k], seeds),
        )
    rows["label, no features: the majority label"] = (mean(majority, seeds), 1.0)
    return rows


def main() -> None:
    """Print the table."""
    print(f"{'world':50} {'records':>8} {'by hand':>8}")
    for name, (ours, expert) in table().items():
        print(f"{name:50} {ours:8.3f} {expert:8.3f}")


if __name__ == "__main__":
    main()
