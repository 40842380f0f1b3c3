"""Which learner is run against which sizes, and what its docstring promises for each.

Exponents are those of a whole run: a cost per round of N² reads 2 for features, and 1 for rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

import smidgen
from smidgen.evaluate import QueryTable, play_rankings
from smidgen.learners import cards, learners
from smidgen.users import BetterOfTwo, StrictAlpha
from smidgen_papers.players import ItemTable, play_choices, play_tuning

#: Sizes of the parameters of a run, by name.
Sizes = Mapping[str, int]
#: Makes a fresh learner, and what lets it run.
Run = Callable[[], tuple[Any, Callable[[], object]]]


@dataclass(frozen=True)
class Scale:
    """The sizes that stay as they are while one of them grows, and those that they grow through."""

    base: Mapping[str, int]
    growing: Mapping[str, tuple[int, ...]]


PLAINLY = Scale(
    {"rounds": 1_000, "features": 64, "classes": 8, "candidates": 20},
    {
        "rounds": (1_000, 2_000, 4_000, 8_000, 16_000),
        "features": (256, 512, 1_024, 2_048, 4_096),
        "non-zeros": (25, 50, 100, 200, 400),
        "classes": (8, 16, 32, 64, 128),
        "candidates": (80, 160, 320, 640, 1_280),
        "items": (500, 1_000, 2_000, 4_000, 8_000),
        "users": (4, 8, 16, 32),
    },
)
#: For those that cost N² per round.
SMALL = Scale(
    {**PLAINLY.base, "rounds": 100},
    {**PLAINLY.growing, "rounds": (50, 100, 200, 400, 800), "features": (32, 64, 128, 256, 512)},
)
#: For those whose every round costs more than the one before.
LONG = Scale({**SMALL.base, "classes": 2}, {**SMALL.growing, "rounds": (200, 400, 800, 1_600)})
WIDE = 20_000  # features of which few are not zero
ITEMS, USERS, CHOICES, QUERIES = 1_000, 4, 100, 50


@dataclass(frozen=True)
class Case:
    """One learner in one setting."""

    learner: str
    variant: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    time: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    scale: Scale = field(default_factory=lambda: PLAINLY)

    def __str__(self) -> str:
        return f"{self.learner}, {self.variant}" if self.variant else self.learner

    def make(self, **shape: Any) -> Any:
        """A fresh learner."""
        return learners[self.learner](**self.settings, **shape)


def label(case: Case, sizes: Sizes) -> Run:
    """A labelled stream through ``learner.run``."""
    rng = np.random.default_rng(0)
    X, dim = rows(rng, sizes)
    y = rng.integers(sizes["classes"], size=sizes["rounds"])

    def make() -> tuple[Any, Callable[[], object]]:
        learner = case.make(dim=dim, n_classes=sizes["classes"])
        return learner, lambda: learner.run(X, y)

    return make


def filtering(case: Case, sizes: Sizes) -> Run:
    """A stream of items of which half are relevant."""
    rng = np.random.default_rng(0)
    X, dim = rows(rng, sizes)
    y = rng.random(sizes["rounds"]) < 0.5
    shapes: dict[str, dict[str, Any]] = {
        "SimpleFil": {},
        "AppleTasting": {"learner": smidgen.PerceptronFilter(dim=dim)},
    }

    def make() -> tuple[Any, Callable[[], object]]:
        learner = case.make(**shapes.get(case.learner, {"dim": dim}))
        return learner, lambda: learner.run(X, y)

    return make


def rows(rng: np.random.Generator, sizes: Sizes) -> tuple[Any, int]:
    """Unit rows, dense, or with so many non-zeros among many features."""
    n, dim = sizes["rounds"], WIDE if "non-zeros" in sizes else sizes["features"]
    filled = sizes.get("non-zeros", dim)
    values = rng.normal(size=(n, filled))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    if filled == dim:
        return values, dim
    gap = WIDE // filled
    places = rng.integers(gap, size=(n, filled)) + np.arange(filled) * gap
    return sparse.csr_array((values.ravel(), places.ravel(), np.arange(0, n * filled + 1, filled)), shape=(n, dim)), dim


def coactive(case: Case, sizes: Sizes) -> Run:
    """Rankings; or choices, where items or users grow."""
    return choices(case, sizes) if "items" in sizes or "users" in sizes else rankings(case, sizes)


def coactive_of(case: Case, dim: int) -> Any:
    shape = {"rule": smidgen.optim.Additive(dim=dim)} if case.learner == "CoactiveLearner" else {"dim": dim}
    return case.make(**shape)


def rankings(case: Case, sizes: Sizes) -> Run:
    """The same queries again and again."""
    rng = np.random.default_rng(0)
    docs, dim = sizes["candidates"], sizes["features"]
    X, w_star = rng.normal(size=(QUERIES * docs, dim)) / np.sqrt(dim), rng.normal(size=dim)
    table = QueryTable(X, starts=np.arange(0, len(X) + 1, docs))
    order = np.arange(sizes["rounds"]) % QUERIES

    def make() -> tuple[Any, Callable[[], object]]:
        learner = coactive_of(case, dim)
        return learner, lambda: play_rankings(learner, table, StrictAlpha(w_star=w_star, alpha=0.5), order=order)

    return make


def choices(case: Case, sizes: Sizes) -> Run:
    """A learner per user; what is kept of the items for all users is there before the time runs."""
    rng = np.random.default_rng(0)
    dim = sizes["features"]
    items, tastes = rng.normal(size=(sizes.get("items", ITEMS), dim)), rng.normal(size=(sizes.get("users", USERS), dim))
    items.flags.writeable = False
    pairwise = case.learner == "DuelingBandit"

    def people() -> list[Any]:
        return [BetterOfTwo(w_star=w) if pairwise else StrictAlpha(w_star=w, alpha=0.5) for w in tastes]

    def make() -> tuple[Any, Callable[[], object]]:
        learner, table = coactive_of(case, dim), ItemTable.of(items)
        play_choices(learner, table, people()[:1], rounds=1)
        return learner, lambda: play_choices(learner, table, people(), rounds=CHOICES)

    return make


def choosing(case: Case, sizes: Sizes) -> Run:
    """Choices by reward: the candidates of every round are others."""
    rng = np.random.default_rng(0)
    n, K, dim = sizes["rounds"], sizes["candidates"], sizes["features"]
    X, rewards = rng.normal(size=(n, K, dim)) / np.sqrt(dim), rng.random((n, K))

    def make() -> tuple[Any, Callable[[], object]]:
        learner = case.make(dim=dim)
        return learner, lambda: learner.run(X, rewards)

    return make


def tuning(case: Case, sizes: Sizes) -> Run:
    """Least squares on a ball, by `play_tuning`."""
    rng = np.random.default_rng(0)
    n, dim = sizes["rounds"], sizes["features"]
    Z = rng.normal(size=(n, dim)) / np.sqrt(dim)
    loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ rng.normal(size=dim) / np.sqrt(dim))

    def make() -> tuple[Any, Callable[[], object]]:
        learner = case.make(space=smidgen.Ball(dim=dim, radius=10.0))
        return learner, lambda: play_tuning(learner, loss)

    return make


def knobs(case: Case, sizes: Sizes) -> Run:
    """A bowl over three knobs, by the two verbs."""

    def make() -> tuple[Any, Callable[[], object]]:
        learner = case.make(space=smidgen.Box(low=np.zeros(3), high=np.ones(3)))

        def play() -> None:
            for _ in range(sizes["rounds"]):
                decision = learner.ask()
                learner.tell(decision, float(((decision.action - 0.3) ** 2).sum()))

        return learner, play

    return make


DIAGONAL = {"rounds": 1, "features": 1, "non-zeros": 1, "classes": 1}
FULL = {"rounds": 1, "features": 2, "classes": 1}
BY_CLASS, SQUARES = {"rounds": 0, "features": 1, "classes": 1}, {"rounds": 0, "features": 2, "classes": 1}
PLAIN = {"rounds": 1, "features": 1, "candidates": 1, "items": 1, "users": 1}
RANKED = {"rounds": 1, "features": 1, "candidates": 1}
NEWTON = {**PLAIN, "features": 2}
OFFERS = {"rounds": 1, "features": 1, "candidates": 1}
VECTOR = {"rounds": 0, "features": 1}
MATRIX = {"rounds": 0, "features": 2}

Group = tuple[Callable[[Case, Sizes], Run], tuple[Case, ...]]
CASES: dict[str, Group] = {
    "label": (
        label,
        (
            Case("Banditron", "", {"gamma": 0.05}, DIAGONAL, BY_CLASS),
            Case("MulticlassPerceptron", "", {}, DIAGONAL, BY_CLASS),
            Case("Confidit", "diagonal", {}, DIAGONAL, BY_CLASS),
            Case("Confidit", "full", {"covariance": "full"}, FULL, SQUARES, SMALL),
            Case("HingeConfidit", "diagonal", {"covariance": "diagonal"}, DIAGONAL, BY_CLASS),
            Case("HingeConfidit", "full", {"covariance": "full"}, FULL, SQUARES, SMALL),
            Case("Confidit", "kernel", {"covariance": "kernel"}, {"rounds": 3}, {"rounds": 2}, LONG),
            Case("AROW", "diagonal", {}, DIAGONAL, BY_CLASS),
            Case("AROW", "full", {"covariance": "full"}, FULL, SQUARES, SMALL),
            Case("SecondOrderPerceptron", "diagonal", {}, DIAGONAL, BY_CLASS),
            Case("SecondOrderPerceptron", "full", {"covariance": "full"}, FULL, SQUARES, SMALL),
        ),
    ),
    "filter": (
        filtering,
        (
            Case("SimpleFil", "", {}, {"rounds": 1}, {"rounds": 0}),
            Case("PerceptronFilter", "", {}, {"rounds": 1, "features": 1, "non-zeros": 1}, VECTOR),
            Case("RidgeFil", "full", {}, {"rounds": 1, "features": 2}, MATRIX, SMALL),
            Case("RidgeFil", "diagonal", {"covariance": "diagonal"}, {"rounds": 1, "features": 1}, VECTOR),
            Case("RidgeFil", "dual", {"covariance": "dual"}, {"rounds": 3, "features": 1}, {"rounds": 2}, LONG),
            Case("RidgeFull", "full", {}, {"rounds": 1, "features": 2}, MATRIX, SMALL),
            Case("PRidgeFil", "", {"p": 0.3}, {"rounds": 1, "features": 2}, MATRIX, SMALL),
            Case("AppleTasting", "of a PerceptronFilter", {}, {"rounds": 1, "features": 1}, VECTOR, SMALL),
        ),
    ),
    "coactive": (
        coactive,
        (
            Case("PreferencePerceptron", "", {}, PLAIN, VECTOR),
            Case("CoactiveLearner", "additive rule", {}, PLAIN, VECTOR),
            Case("BatchPreferencePerceptron", "", {"batch": 10}, PLAIN, VECTOR),
            Case("ConvexPreferencePerceptron", "", {"radius": 10.0}, PLAIN, VECTOR),
            Case("ExponentiatedPreferencePerceptron", "", {"bound": 5.0}, PLAIN, VECTOR),
            Case("SecondOrderPreferencePerceptron", "", {}, NEWTON, MATRIX, SMALL),
            Case("DuelingBandit", "", {}, PLAIN, VECTOR),
            Case("PDGD", "", {}, RANKED, VECTOR),
            Case("FairPairs", "", {}, RANKED, VECTOR),
            Case("PerturbedPreferencePerceptron", "", {}, RANKED, VECTOR),
            Case("RankingSVM", "", {}, {"rounds": 1, "features": 1}, {"rounds": 1, "features": 1}, SMALL),
        ),
    ),
    "choose": (
        choosing,
        (
            Case("LinUCB", "diagonal", {"covariance": "diagonal"}, OFFERS, VECTOR, SMALL),
            Case("LinUCB", "full", {"covariance": "full"}, {**OFFERS, "features": 2}, MATRIX, SMALL),
            Case("SquareCB", "diagonal", {"covariance": "diagonal"}, OFFERS, VECTOR, SMALL),
            Case("ThompsonChoice", "diagonal", {"covariance": "diagonal"}, OFFERS, VECTOR, SMALL),
        ),
    ),
    "tune": (
        tuning,
        (
            Case("OGD", "", {"gradient_bound": 2.0}, {"rounds": 1, "features": 1}, VECTOR),
            Case("ONS", "", {"gradient_bound": 2.0, "exp_concavity": 1.0}, {"rounds": 1, "features": 2}, MATRIX, SMALL),
            Case("OGDEG", "", {"loss_bound": 4.0, "delta": 0.5}, {"rounds": 1, "features": 1}, VECTOR),
            Case(
                "ONSEG",
                "",
                {"loss_bound": 4.0, "delta": 0.5, "beta": "practical"},
                {"rounds": 1, "features": 2},
                MATRIX,
                SMALL,
            ),
        ),
    ),
    "knobs": (knobs, (Case("QuadraticTuner", "three knobs", {}, {"rounds": 1}, {"rounds": 0}, SMALL),)),
}


def _plainly(name: str) -> Case:
    """A learner that nobody has written a case for: with the settings of its card, and no promise but for rounds."""
    shape = {"dim", "n_classes", "space", "rule", "learner"}
    settings = {key: value for key, value in cards[name].example.items() if key not in shape}
    return Case(name, "", settings, {"rounds": 1}, {"rounds": 0})


for _loop, (_run, _cases) in CASES.items():
    _folders = {"coactive": ("coactive", "rank")}.get(_loop, (_loop,))
    _homes = tuple(f"smidgen.learners.{folder}." for folder in _folders)
    _named = {case.learner for _, group in CASES.values() for case in group}
    _others = [name for name, cls in learners.items() if cls.__module__.startswith(_homes) and name not in _named]
    CASES[_loop] = (_run, (*_cases, *(_plainly(name) for name in _others)))
