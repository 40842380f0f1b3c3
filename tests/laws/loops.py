"""What a loop's laws need of it: contexts to decide on, feedback that can come, and feedback that cannot.

A new loop adds one class here; every learner registered for it then inherits all laws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from laws.records import Offered, RewardedOffer, Single
from smidgen import (
    AROW,
    PDGD,
    Ball,
    Box,
    Choice,
    Clicks,
    Confidit,
    Decision,
    HingeConfidit,
    Knobs,
    L1Ball,
    Learner,
    Ranking,
    RidgeFil,
    Simplex,
    SquareCB,
    Vectorizer,
    knobs,
)
from smidgen.learners import Card, cards, learners

DIM = 4


class NBest:
    """A structure that is neither a ranking nor a choice."""

    def __init__(self, candidates: Any) -> None:
        self.rows = candidates

    def phi(self, y: int) -> Any:
        return self.rows[y]

    def argmax(self, w: Any) -> int:
        return int(np.argmax(self.rows @ w))


@dataclass(frozen=True)
class Coactive:
    """Rank or choose, and hear of something better."""

    form: str

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        rng = np.random.default_rng(seed)
        made: list[Any] = []
        for _ in range(n):
            rows = rng.normal(size=(int(rng.integers(2, 9)), DIM)) * (rng.random(DIM) < 0.7)
            features = sparse.csr_array(rows) if as_csr else rows
            if self.form == "ranking":
                made.append(Ranking(features, top=int(rng.integers(1, 4))))
            elif self.form == "choice":
                made.append(Choice(features, rng.permutation(len(rows))[: rng.integers(1, len(rows) + 1)]))
            else:
                made.append(NBest(rows))
        return made

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        """Any object of the right form: the laws hold for careless users too."""
        rng = np.random.default_rng([seed, decision.number])
        context = decision.context
        if isinstance(context, Ranking):
            return rng.permutation(len(context))
        if learner.card.shows_pairs:
            return int(rng.integers(2))
        return int(rng.choice(np.flatnonzero(context.available))) if isinstance(context, Choice) else 0

    def answer(self, learner: Learner, context: Any, seed: int) -> Any:
        """An answer that an example can have."""
        if isinstance(context, Ranking):
            return np.random.default_rng(seed).permutation(len(context))
        return int(np.flatnonzero(context.available)[0]) if isinstance(context, Choice) else 0

    def impossible(self, decision: Decision) -> Iterator[Any]:
        """Feedback that cannot exist."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1})
        if isinstance(decision.context, Ranking):
            n = len(decision.context)
            yield from (np.zeros(n, int), np.arange(n - 1), np.arange(1, n + 1), np.arange(n) * 1.0, 0)
            yield np.append(np.arange(n), n)
        elif isinstance(decision.context, Choice):
            yield from (-1, len(decision.context), 0.5, [0])
            gone = np.flatnonzero(~decision.context.available)
            if len(gone) and not cards[decision.kind].shows_pairs:
                yield int(gone[0])

    def huge(self) -> list[Any]:
        """Contexts at the end of floating point."""
        return [type(c)(c.rows.dense() * 1e300) for c in self.contexts(10, 5) if len(c) > 1]

    def unusable(self) -> Iterator[Any]:
        """Contexts that no learner of dimension DIM can decide on."""
        yield from (None, 3, np.zeros(DIM))
        maker = Ranking if self.form == "ranking" else Choice
        yield maker(np.zeros((3, DIM + 1)))
        yield maker(sparse.csr_array(np.zeros((3, DIM - 1))))


@dataclass(frozen=True)
class Rewarded(Coactive):
    """Choose, and hear a number in [0, 1] for what was shown."""

    def answer(self, learner: Learner, context: Any, seed: int) -> Any:
        rng = np.random.default_rng([seed, 99])
        return int(rng.choice(np.flatnonzero(context.available))), float(rng.random())

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        rng = np.random.default_rng([seed, decision.number])
        return [0.0, 1.0, 0, 1, float(rng.random()), np.float32(rng.random())][rng.integers(6)]

    def impossible(self, decision: Decision) -> Iterator[Any]:
        yield from (None, "better", float("nan"), float("inf"), [[0]], {"rank": 1}, True, -0.1, 1.5, 2, [0.5], 0.5j)


@dataclass(frozen=True)
class Clicking(Coactive):
    """Rank, and hear clicks, or none, or of a better ranking."""

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        rng = np.random.default_rng([seed, decision.number])
        n = len(decision.context)
        if rng.random() < 0.3:
            return rng.permutation(n)
        return Clicks(rng.permutation(n)[: rng.integers(0, 3)])

    def impossible(self, decision: Decision) -> Iterator[Any]:
        yield from super().impossible(decision)
        yield from (Clicks([len(decision.context)]), Clicks([0, 10**6]))

    def unusable(self) -> Iterator[Any]:
        yield from super().unusable()
        yield from (Choice(np.zeros((3, DIM))), NBest(np.zeros((3, DIM))))


@dataclass(frozen=True)
class Label:
    """One of K labels, and right or wrong (or the true label)."""

    form: str

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n, DIM)) * (rng.random((n, DIM)) < 0.7)
        return [sparse.csr_array(row[None, :]) for row in rows] if as_csr else list(rows)

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        rng = np.random.default_rng([seed, decision.number])
        truth = learner.labels[rng.integers(learner.n_classes)]
        if "reward" in learner.card.kinds and rng.random() < 0.4:
            return float(rng.random())
        return bool(decision.action == truth) if learner.feedback == "one-bit" else truth

    def answer(self, learner: Learner, context: Any, seed: int) -> Any:
        return learner.labels[seed % learner.n_classes]

    def impossible(self, decision: Decision) -> Iterator[Any]:
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -1, 3, float("inf"))
        yield 1.5 if "reward" in cards[decision.kind].kinds else 0.5

    def unusable(self) -> Iterator[Any]:
        yield from (None, 3, np.zeros(DIM + 1), np.full(DIM, np.nan), np.zeros((2, DIM)), ["a"] * DIM)
        yield sparse.csr_array(np.zeros((1, DIM - 1)))
        yield np.full(DIM, 1j)

    def huge(self) -> list[Any]:
        return [context * 1e300 for context in self.contexts(10, 5)]


@dataclass(frozen=True)
class Filtering(Label):
    """Forward or drop, and the relevance of what was forwarded."""

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        return bool(np.random.default_rng([seed, decision.number]).random() < 0.4)

    def answer(self, learner: Learner, context: Any, seed: int) -> Any:
        return bool(seed % 2)

    def impossible(self, decision: Decision) -> Iterator[Any]:
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -1, 1, 0, 0.5)

    def unusable(self) -> Iterator[Any]:
        if self.form == "items":  # SimpleFil looks at nothing
            return
        yield from super().unusable()

    def may_learn(self, learner: Learner, decision: Decision) -> bool:
        return bool(decision.action) or learner.sees_everything


@dataclass(frozen=True)
class Tuning:
    """A point, and its gradient or its loss."""

    form: str

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        return [None] * n

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        rng = np.random.default_rng([seed, decision.number])
        if "gradient" in learner.card.kinds:
            return rng.normal(size=learner.space.dim)
        return float(rng.uniform(-1, 1))

    def answer(self, learner: Learner, context: Any, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return float(rng.normal()) if "loss" in learner.card.kinds else rng.normal(size=learner.space.dim)

    def impossible(self, decision: Decision) -> Iterator[Any]:
        yield from (None, "better", float("nan"), float("inf"), [[0]], {"rank": 1}, True, np.full(7, 1.0))

    def unusable(self) -> Iterator[Any]:
        return iter(())

    def huge(self) -> list[Any]:
        return [None] * 3


#: By what goes out and what (first of all) comes back.
LOOPS: dict[tuple[str, str], list[Any]] = {
    ("tune", "loss"): [Tuning("points")],
    ("tune", "gradient"): [Tuning("points")],
    ("filter", "relevance"): [Filtering("items")],
    ("label", "bit"): [Label("rows")],
    ("label", "label"): [Label("rows")],
    ("rank", "better"): [Coactive("ranking"), Coactive("structure")],
    ("choose", "better"): [Coactive("choice")],
    ("choose", "reward"): [Rewarded("choice")],
    ("rank", "clicks"): [Clicking("ranking")],
}


#: Settings beyond the card's example that lead through other code: the laws hold for these too.
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "Confidit": {
        "theory": {"eta": "theory", "approximation": [0.1, 0.0]},
        "printed": {"update": "printed", "normalize": False},
        "projected": {"project": True},
        "full": {"covariance": "full", "normalize": False},
        "full projected": {"covariance": "full", "project": True, "eta": "theory"},
        "kernel": {"covariance": "kernel", "kernel": "poly"},
        "kernel projected": {"covariance": "kernel", "project": True},
        "float32": {"dtype": "float32"},
    },
    "HingeConfidit": {
        "diagonal": {"covariance": "diagonal", "floor": 0.2},
        "full": {"covariance": "full", "normalize": False},
        "float32": {"dtype": "float32"},
    },
    "PDGD": {"normalized": {"normalize": True}},
    "FairPairs": {"alternate": {"alternate": True}},
    "PerturbedPreferencePerceptron": {"never": {"swap": 0.0}, "always": {"swap": 1.0, "depth": 10}},
    "Banditron": {"float32": {"dtype": "float32"}},
    "MulticlassPerceptron": {"float32": {"dtype": "float32"}},
    "SecondOrderPerceptron": {"full": {"covariance": "full"}, "float32": {"dtype": "float32"}},
    "RidgeFil": {
        "dual": {"covariance": "dual"},
        "window": {"window": 5},
        "diagonal": {"covariance": "diagonal"},
        "forgetting": {"forgetting": 0.9},
        "kernel": {"kernel": "rbf"},
        "found": {"explore": "found"},
        "found diagonal": {"explore": "found", "covariance": "diagonal"},
        "scarce": {"explore": "scarce"},
        "found window": {"explore": "found", "window": 5},
        "constant": {"constant": True, "forgetting": 0.9},
        "kernel found": {"kernel": "rbf", "explore": "found"},
    },
    "RidgeFull": {"dual": {"covariance": "dual"}, "window": {"window": 5}, "kernel": {"kernel": "poly"}},
    "PRidgeFil": {"horizon": {"p": None, "horizon": 20}},
    "OGD": {
        "box": {"space": Box(low=[0.0, -1.0, 2.0], high=[1.0, 1.0, 5.0])},
        "simplex": {"space": Simplex(dim=4)},
        "l1": {"space": L1Ball(dim=3, radius=2.0)},
    },
    "ONS": {"box": {"space": Box(low=[0.0, -1.0], high=[1.0, 1.0])}, "simplex": {"space": Simplex(dim=4)}},
    "QuadraticTuner": {
        "knobs": {"space": Knobs({"threads": knobs.Integer(1, 64), "wait": knobs.Log(0.01, 10.0), "ratio": (0, 1)})},
        "no forgetting": {"forgetting": 1.0, "width": 2.0},
    },
    "OGDEG": {
        "knobs": {"space": Knobs({"threads": knobs.Integer(1, 64), "ratio": (0, 1)}), "delta": 0.2},
        "mean": {"baseline": "mean", "loss_bound": None},
        "mean clipped": {"baseline": "mean", "loss_bound": 0.5},
        "simplex": {"space": Simplex(dim=3), "delta": 0.1},
        "doubling": {"space": Ball(dim=1), "delta": None, "lipschitz": 0.1},
        "horizon": {"space": Ball(dim=1), "delta": None, "horizon": 10_000},
    },
    "ONSEG": {
        "simplex": {"space": Simplex(dim=3), "delta": 0.1},
        "printed": {"beta": None},
        "mean": {"baseline": "mean", "loss_bound": None},
        "doubling": {"space": Ball(dim=1), "delta": None, "lipschitz": 0.1},
        "l1": {"space": L1Ball(dim=3), "delta": 0.1},
    },
    "LinUCB": {
        "diagonal": {"covariance": "diagonal"},
        "forgetting": {"forgetting": 0.9},
        "diagonal forgetting": {"covariance": "diagonal", "forgetting": 0.9},
        "highest bound": {"floor": 0.0},
        "least share": {"min_share": 0.1},
    },
    "SquareCB": {"diagonal": {"covariance": "diagonal"}, "floor": {"floor": 0.3}, "no draw": {"draw": False}},
    "ThompsonChoice": {
        "diagonal": {"covariance": "diagonal"},
        "forgetting": {"forgetting": 0.9},
        "no draw": {"draw": False, "floor": 0.1},
    },
    "Pipeline": {
        "bit": {
            "features": Vectorizer(dim=64, text=("title",), crosses=(("country", "vip"),)),
            "learner": Confidit(dim=64, n_classes=3, alpha=0.6),
        },
        "label": {"features": Vectorizer(dim=16, text=("title",)), "learner": AROW(dim=16, n_classes=3)},
        "relevance": {"features": Vectorizer(dim=64, scale=False), "learner": RidgeFil(dim=64, explore="found")},
        "clicks": {"learner": PDGD(dim=64)},
        "reward": {"features": Vectorizer(dim=128, text=("title",)), "learner": SquareCB(dim=128)},
        "hinge": {"learner": HingeConfidit(dim=64, n_classes=3)},
    },
    "AROW": {"full": {"covariance": "full"}, "float32": {"dtype": "float32"}},
}


#: Learners that take records serve the loops of what they hold: the forms of each variant.
RECORDS: dict[str, dict[str, list[Any]]] = {
    "Pipeline": {
        "": [Offered("ranking records"), Offered("choice records")],
        "bit": [Single("label records")],
        "label": [Single("label records")],
        "relevance": [Single("filter records")],
        "clicks": [Offered("ranking records")],
        "reward": [RewardedOffer("reward records")],
        "hinge": [Single("label records")],
    }
}


def forms(name: str, variant: str) -> list[Any]:
    """The forms of the loops that a learner serves."""
    if name in RECORDS:
        return RECORDS[name][variant]
    card: Card = cards[name]
    return [form for loop in card.loops for form in LOOPS[loop, card.kinds[0]]]


@dataclass(frozen=True)
class Case:
    """One learner, in one setting, in one form of its loop."""

    name: str
    loop: Any
    variant: str = ""

    def make(self, **changes: Any) -> Learner:
        settings = VARIANTS[self.name][self.variant] if self.variant else {}
        return learners[self.name](**{**cards[self.name].example, **settings, **changes})

    def __str__(self) -> str:
        return "-".join(part for part in (self.name, self.loop.form, self.variant) if part)


CASES = [
    Case(name, loop, variant)
    for name in cards
    for variant in ("", *VARIANTS.get(name, {}))
    for loop in forms(name, variant)
]
WRITABLE = [case for case in CASES if case.loop.form != "structure"]


def may_learn(case: Case, learner: Learner, decision: Decision) -> bool:
    """Whether a decision can have feedback: all can, but for what a filter drops."""
    return not hasattr(case.loop, "may_learn") or case.loop.may_learn(learner, decision)


def play(case: Case, learner: Learner, contexts: list[Any], seed: int = 0) -> list[tuple[Decision, Any]]:
    """Decide and learn in turn; return the log of what was learnt."""
    log = []
    for context in contexts:
        decision = learner.decide(context)
        feedback = case.loop.feedback(learner, decision, seed)
        if may_learn(case, learner, decision):
            learner.learn(decision, feedback)
            log.append((decision, feedback))
    return log
