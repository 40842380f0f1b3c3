"""smidgen learns online from the little feedback that people really give.

A decision goes out, a little feedback comes back, the model takes one step:

    d = learner.decide(context)
    learner.learn(d, feedback)

Names are imported when they are first used, so ``import smidgen`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smidgen import data, errors, geometry, knobs, learners, offline, optim, structures, users
    from smidgen.client import AsyncClient, Client
    from smidgen.decision import Decision
    from smidgen.errors import SmidgenError
    from smidgen.evaluate import losses
    from smidgen.evaluate.compare import compare
    from smidgen.evaluate.play import play
    from smidgen.evaluate.simulate import simulate
    from smidgen.evaluate.tuning import TuneHistory, tune
    from smidgen.features import Vectorizer
    from smidgen.geometry import Ball, Box, L1Ball, Simplex
    from smidgen.history import Comparison, History
    from smidgen.knobs import Best, Knobs
    from smidgen.learners import Card, Learner, Recommended, load, register
    from smidgen.learners.choose import LinUCB, RewardHistory, SquareCB, ThompsonChoice
    from smidgen.learners.coactive import (
        BatchPreferencePerceptron,
        CoactiveLearner,
        ConvexPreferencePerceptron,
        DuelingBandit,
        ExponentiatedPreferencePerceptron,
        PreferencePerceptron,
        RankingSVM,
        SecondOrderPreferencePerceptron,
    )
    from smidgen.learners.filter import (
        AppleTasting,
        FilterHistory,
        PerceptronFilter,
        PRidgeFil,
        RidgeFil,
        RidgeFull,
        SimpleFil,
    )
    from smidgen.learners.label import (
        AROW,
        Banditron,
        Confidit,
        HingeConfidit,
        LabelHistory,
        MulticlassPerceptron,
        SecondOrderPerceptron,
    )
    from smidgen.learners.rank import PDGD, FairPairs, PerturbedPreferencePerceptron
    from smidgen.learners.recommended import recommended
    from smidgen.learners.records import Explanation, Pipeline
    from smidgen.learners.tune import OGD, OGDEG, ONS, ONSEG, QuadraticTuner
    from smidgen.records import structure
    from smidgen.state.kernels import register_kernel
    from smidgen.structures import (
        Candidates,
        Choice,
        Clicks,
        ExtendedRanking,
        Ranking,
        Structure,
        from_chain,
        from_clicks,
    )
    from smidgen.theory import bounds
    from smidgen.theory.recommend import Recommendation, recommend

__version__ = "0.1.0"

_HOME = {
    "AROW": "learners.label",
    "AppleTasting": "learners.filter",
    "AsyncClient": "client",
    "Ball": "geometry",
    "Banditron": "learners.label",
    "BatchPreferencePerceptron": "learners.coactive",
    "Best": "knobs",
    "Box": "geometry",
    "Candidates": "structures",
    "Card": "learners",
    "Choice": "structures",
    "Clicks": "structures",
    "Client": "client",
    "CoactiveLearner": "learners.coactive",
    "Comparison": "history",
    "Confidit": "learners.label",
    "ConvexPreferencePerceptron": "learners.coactive",
    "Decision": "decision",
    "DuelingBandit": "learners.coactive",
    "Explanation": "learners.records",
    "ExponentiatedPreferencePerceptron": "learners.coactive",
    "ExtendedRanking": "structures",
    "FairPairs": "learners.rank",
    "FilterHistory": "learners.filter",
    "HingeConfidit": "learners.label",
    "History": "history",
    "Knobs": "knobs",
    "L1Ball": "geometry",
    "LabelHistory": "learners.label",
    "Learner": "learners",
    "LinUCB": "learners.choose",
    "MulticlassPerceptron": "learners.label",
    "OGD": "learners.tune",
    "OGDEG": "learners.tune",
    "ONS": "learners.tune",
    "ONSEG": "learners.tune",
    "PDGD": "learners.rank",
    "PRidgeFil": "learners.filter",
    "PerceptronFilter": "learners.filter",
    "Pipeline": "learners.records",
    "PerturbedPreferencePerceptron": "learners.rank",
    "PreferencePerceptron": "learners.coactive",
    "QuadraticTuner": "learners.tune",
    "Ranking": "structures",
    "RankingSVM": "learners.coactive",
    "Recommendation": "theory.recommend",
    "Recommended": "learners",
    "RewardHistory": "learners.choose",
    "RidgeFil": "learners.filter",
    "RidgeFull": "learners.filter",
    "SecondOrderPerceptron": "learners.label",
    "SecondOrderPreferencePerceptron": "learners.coactive",
    "SimpleFil": "learners.filter",
    "Simplex": "geometry",
    "SmidgenError": "errors",
    "SquareCB": "learners.choose",
    "Structure": "structures",
    "ThompsonChoice": "learners.choose",
    "TuneHistory": "evaluate.tuning",
    "Vectorizer": "features",
    "bounds": "theory",
    "compare": "evaluate.compare",
    "from_chain": "structures",
    "from_clicks": "structures",
    "load": "learners",
    "losses": "evaluate",
    "play": "evaluate.play",
    "recommend": "theory.recommend",
    "recommended": "learners.recommended",
    "register": "learners",
    "register_kernel": "state.kernels",
    "simulate": "evaluate.simulate",
    "structure": "records",
    "tune": "evaluate.tuning",
}
_ROOMS = ("data", "errors", "geometry", "knobs", "learners", "offline", "optim", "structures", "testing", "users")

__all__ = [
    "AROW",
    "OGD",
    "OGDEG",
    "ONS",
    "ONSEG",
    "PDGD",
    "AppleTasting",
    "AsyncClient",
    "Ball",
    "Banditron",
    "BatchPreferencePerceptron",
    "Best",
    "Box",
    "Candidates",
    "Card",
    "Choice",
    "Clicks",
    "Client",
    "CoactiveLearner",
    "Comparison",
    "Confidit",
    "ConvexPreferencePerceptron",
    "Decision",
    "DuelingBandit",
    "Explanation",
    "ExponentiatedPreferencePerceptron",
    "ExtendedRanking",
    "FairPairs",
    "FilterHistory",
    "HingeConfidit",
    "History",
    "Knobs",
    "L1Ball",
    "LabelHistory",
    "Learner",
    "LinUCB",
    "MulticlassPerceptron",
    "PRidgeFil",
    "PerceptronFilter",
    "PerturbedPreferencePerceptron",
    "Pipeline",
    "PreferencePerceptron",
    "QuadraticTuner",
    "Ranking",
    "RankingSVM",
    "Recommendation",
    "Recommended",
    "RewardHistory",
    "RidgeFil",
    "RidgeFull",
    "SecondOrderPerceptron",
    "SecondOrderPreferencePerceptron",
    "SimpleFil",
    "Simplex",
    "SmidgenError",
    "SquareCB",
    "Structure",
    "ThompsonChoice",
    "TuneHistory",
    "Vectorizer",
    "bounds",
    "compare",
    "data",
    "errors",
    "from_chain",
    "from_clicks",
    "geometry",
    "knobs",
    "learners",
    "load",
    "losses",
    "offline",
    "optim",
    "play",
    "recommend",
    "recommended",
    "register",
    "register_kernel",
    "simulate",
    "structure",
    "structures",
    "testing",
    "tune",
    "users",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"smidgen.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'smidgen' has no attribute {name!r}")
    home = importlib.import_module(f"smidgen.{_HOME[name]}")
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
