"""Cases of the laws: every registered learner, in every setting that leads through other code."""

from __future__ import annotations

from typing import Any

from smidgen import (
    AROW,
    PDGD,
    Ball,
    Box,
    Confidit,
    HingeConfidit,
    Knobs,
    L1Ball,
    RidgeFil,
    Simplex,
    SquareCB,
    Vectorizer,
    knobs,
)
from smidgen.learners import cards, discover, learners
from smidgen.testing import Case
from smidgen.testing.learners import cases_of

DIM = 4

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
        "patient": {"explore": "patient"},
        "sparing": {"explore": "sparing"},
        "detect": {"explore": "sparing", "detect": True},
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
        "many": {"space": Box(low=[0.0] * 7, high=[1.0] * 7)},
        "squares": {"space": Box(low=[0.0] * 11, high=[1.0] * 11), "settle": False},
        "categories": {"space": Knobs({"mode": knobs.Category("bulk", "stream"), "ratio": (0, 1)})},
        "context": {"dim": 3},
        "safe": {"safe": {"knobs": [0.5, 0.0, 3.0], "margin": 0.05}},
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

discover()  # learners of installed distributions keep the laws too
CASES: list[Case] = [
    case
    for name in cards
    for variant, settings in {"": {}, **VARIANTS.get(name, {})}.items()
    for case in cases_of(learners[name], settings, variant=variant)
]
