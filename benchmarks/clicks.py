"""Rankings from clicks (W7): a round of PDGD, FairPairs and 3PR, with the user, against numpy and C++."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import smidgen
from benchmarks import twins
from benchmarks.interleave import Contender, Workload
from smidgen.decision import FloatArray
from smidgen.evaluate import QueryTable, play_rankings
from smidgen.randomness import COIN, uniforms
from smidgen.users import PositionBased

DEPTH, TOP, SEED = 10, 5, 1
JOB = "draw a ranking, take the clicks of a position-based user, learn"


class World:
    """Queries, their user, and all that the user will draw."""

    def __init__(self, queries: int, rounds: int, docs: int, dim: int) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(queries * docs, dim)) / np.sqrt(dim)
        labels = np.searchsorted([0.5, 1.5], X @ rng.normal(size=dim) + 0.5 * rng.normal(size=len(X)))
        X.flags.writeable = False
        self.table = QueryTable(X, starts=np.arange(0, len(X) + 1, docs), labels=labels, top=TOP)
        self.order = np.arange(rounds) % queries
        self.X, self.labels = X.reshape(queries, docs, dim), labels.reshape(queries, docs)
        self.draws = np.random.default_rng(SEED).random((rounds, 2, DEPTH))
        self.attract = np.ascontiguousarray(self.user().attract)

    def user(self) -> PositionBased:
        """A fresh one."""
        return PositionBased(labels=self.table.labels_of, grades=3, seed=SEED)

    def clicked(self, t: int, shown: Any) -> Any:
        """By document: what the user clicks in a round."""
        hit = np.zeros(len(shown), bool)
        first = shown[:DEPTH]
        chance = self.attract[np.arange(DEPTH), self.labels[self.order[t], first]]
        hit[first] = self.draws[t, 0] < chance
        return hit


def numpy_pdgd(world: World, step: float) -> FloatArray:
    """PDGD as one would write it in numpy."""
    docs, dim = world.X.shape[1:]
    w = np.zeros(dim)
    for t, query in enumerate(world.order):
        x = world.X[query]
        s = x @ w
        noise = -np.log(-np.log(np.maximum(uniforms(0, t + 1, docs, stream=COIN), 2.0**-54)))
        shown = np.argsort(-(s + noise), kind="stable")
        hit = world.clicked(t, shown)[shown]
        if not hit.any():
            continue
        e = np.exp(s[shown] - s.max())
        left = np.append(np.cumsum(e[::-1])[::-1], 0.0)
        last = min(int(np.flatnonzero(hit)[-1]) + 2, DEPTH)
        worth = np.zeros(docs)
        for j in range(1, last):
            rest = left[j + 1] + np.append(np.cumsum(e[j - 1 : 0 : -1])[::-1], 0.0)[:j]  # from place i + 1 up to j
            for i in np.flatnonzero(hit[:j] != hit[j]):
                odds = np.prod((rest[i:] + e[i]) / (rest[i:] + e[j]))
                gap = np.exp(-abs(s[shown[i]] - s[shown[j]]))
                value = step / (1.0 + odds) * gap / (1.0 + gap) ** 2 * (1.0 if hit[j] else -1.0)
                worth[j] += value
                worth[i] -= value
        w += worth @ x[shown]
    return w


def _swapped(world: World, t: int, w: FloatArray, swap: float, alternate: bool) -> tuple[Any, int]:
    shown = np.argsort(-(world.X[world.order[t]] @ w), kind="stable")
    coins = uniforms(0, t + 1, 1 + DEPTH // 2, stream=COIN)
    start = int(alternate and coins[0] >= 0.5)
    for k, i in enumerate(range(start, DEPTH - 1, 2)):
        if coins[1 + k] < swap:
            shown[[i, i + 1]] = shown[[i + 1, i]]
    return shown, start


def numpy_fair_pairs(world: World, step: float) -> FloatArray:
    """FairPairs as one would write it in numpy."""
    w = np.zeros(world.X.shape[2])
    squares = np.full(len(w), 1e-8)
    for t, query in enumerate(world.order):
        shown, start = _swapped(world, t, w, 0.5, False)
        hit, x = world.clicked(t, shown), world.X[query]
        for i in range(start, DEPTH - 1, 2):
            a, b = shown[i], shown[i + 1]
            if hit[a] != hit[b]:
                delta = (x[a] - x[b]) * (1.0 if hit[a] else -1.0)
                gradient = delta / (1.0 + np.exp(w @ delta))
                squares += gradient**2
                w += step * gradient / np.sqrt(squares)
    return w


def numpy_perturbed(world: World, swap: float) -> FloatArray:
    """3PR as one would write it in numpy."""
    w, discount = np.zeros(world.X.shape[2]), np.zeros(DEPTH)
    discount[:TOP] = 1.0 / np.log2(np.arange(2, TOP + 2))
    for t, query in enumerate(world.order):
        shown, start = _swapped(world, t, w, swap, True)
        hit = world.clicked(t, shown)
        better = shown[:DEPTH].copy()
        for i in range(start, DEPTH - 1, 2):
            if hit[shown[i + 1]] and not hit[shown[i]]:
                better[[i, i + 1]] = shown[[i + 1, i]]
        if (better != shown[:DEPTH]).any():
            w += discount @ (world.X[query][better] - world.X[query][shown[:DEPTH]])
    return w


def cpp(world: World, function: str, setting: float, extra: Callable[[], list[FloatArray]]) -> Callable[[], FloatArray]:
    """The same loop in C++."""
    queries, docs, dim = world.X.shape
    run = twins.twin("clicks.cpp", function, DOCS=docs, DIM=dim, DEPTH=DEPTH)
    labels = world.labels.astype(np.float64)
    start = np.random.default_rng(SEED).bit_generator.state["state"]
    words = [start[name] >> shift & (2**64 - 1) for name in ("state", "inc") for shift in (64, 0)]
    seed = np.array(words, np.uint64)
    given = (world.X, labels, world.attract, world.attract.shape[1], seed, queries, len(world.order), setting)

    def loop() -> FloatArray:
        w = np.zeros(dim)
        run(*given, w, *extra())
        return w

    return loop


CASES: dict[str, tuple[Any, float, str, Any]] = {
    "PDGD": (smidgen.PDGD, 0.3, "pdgd", numpy_pdgd),
    "FairPairs": (smidgen.FairPairs, 0.1, "fair_pairs", numpy_fair_pairs),
    "3PR": (smidgen.PerturbedPreferencePerceptron, 0.5, "perturbed", numpy_perturbed),
}


def clicks(name: str, quick: bool, queries: int = 200, rounds: int = 20_000, docs: int = 20, dim: int = 46) -> Workload:
    """W7 for one learner."""
    rounds = rounds // 4 if quick else rounds
    maker, setting, function, by_numpy = CASES[name]
    world, some = World(queries, rounds, docs, dim), rounds // 50
    few = World(queries, some, docs, dim)
    contexts = [world.table.contexts[i] for i in world.order]
    rooms: dict[str, Callable[[], list[FloatArray]]] = {
        "PDGD": list,
        "FairPairs": lambda: [np.full(dim, 1e-8), np.zeros(dim)],
        "3PR": list,
    }

    def stream() -> FloatArray:
        learner = maker(dim=dim)
        play_rankings(learner, world.table, world.user(), order=world.order)
        return np.asarray(learner.weights)

    answered = maker(dim=dim)
    decisions = [answered.decide(context) for context in contexts[:some]]
    answers = [smidgen.Clicks(d.action[[1, 3]]) for d in decisions]

    def two_verbs() -> None:
        learner = maker(dim=dim)
        for context, answer in zip(contexts[:some], answers, strict=True):
            learner.learn(learner.decide(context), answer)

    contenders: dict[str, Contender] = {
        "smidgen, stream": stream,
        "smidgen, two verbs": (two_verbs, some),
        "numpy": (partial(by_numpy, few, setting), some),
    }
    remarks = {
        "smidgen, stream": "a new learner, then `play_rankings`; the weights equal those of numpy and C++",
        "smidgen, two verbs": "from Python, with records and checks; two clicks per round are ready",
        "numpy": f"the first {some:,} rounds; the user's random numbers are ready",
    }
    try:
        contenders["C++"] = cpp(world, function, setting, rooms[name])
        remarks["C++"] = f"{twins.HOW}; the same random numbers"
        assert np.allclose(stream(), cpp(world, function, setting, rooms[name])(), atol=1e-8)
    except twins.NoTwin as reason:
        remarks["C++"] = str(reason)
    learner = maker(dim=dim)
    play_rankings(learner, few.table, few.user(), order=few.order)
    assert np.allclose(learner.weights, by_numpy(few, setting), atol=1e-8)
    title = f"{name}, {docs} docs x {dim} features"
    return Workload("W7", title, JOB, "round", rounds, contenders, remarks)


WORKLOADS = {f"W7 {name}": partial(clicks, name) for name in CASES}
