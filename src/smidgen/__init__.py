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
    from smidgen import data, errors, geometry, learners, optim, structures, users
    from smidgen.client import AsyncClient, Client
    from smidgen.errors import SmidgenError
    from smidgen.evaluate import bounds, losses
    from smidgen.evaluate.history import History
    from smidgen.evaluate.recommend import Recommendation, recommend
    from smidgen.evaluate.simulate import simulate
    from smidgen.evaluate.tuning import TuneHistory, tune
    from smidgen.geometry import Ball, Box, L1Ball, Simplex
    from smidgen.learners import Card, Learner, Recommended, load, register
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
        LabelHistory,
        MulticlassPerceptron,
        SecondOrderPerceptron,
    )
    from smidgen.learners.recommended import recommended
    from smidgen.learners.tune import OGD, OGDEG, ONS, ONSEG
    from smidgen.records import structure
    from smidgen.state.kernels import register_kernel
    from smidgen.structures import Choice, ExtendedRanking, Ranking, from_chain, from_clicks
    from smidgen.types import Decision, Structure

__version__ = "0.1.0"

_HOME = {
    "AROW": "learners.label",
    "AppleTasting": "learners.filter",
    "AsyncClient": "client",
    "Ball": "geometry",
    "Banditron": "learners.label",
    "BatchPreferencePerceptron": "learners.coactive",
    "Box": "geometry",
    "Card": "learners",
    "Choice": "structures",
    "Client": "client",
    "CoactiveLearner": "learners.coactive",
    "Confidit": "learners.label",
    "ConvexPreferencePerceptron": "learners.coactive",
    "Decision": "types",
    "DuelingBandit": "learners.coactive",
    "ExponentiatedPreferencePerceptron": "learners.coactive",
    "ExtendedRanking": "structures",
    "FilterHistory": "learners.filter",
    "History": "evaluate.history",
    "L1Ball": "geometry",
    "LabelHistory": "learners.label",
    "Learner": "learners",
    "MulticlassPerceptron": "learners.label",
    "OGD": "learners.tune",
    "OGDEG": "learners.tune",
    "ONS": "learners.tune",
    "ONSEG": "learners.tune",
    "PRidgeFil": "learners.filter",
    "PerceptronFilter": "learners.filter",
    "PreferencePerceptron": "learners.coactive",
    "Ranking": "structures",
    "RankingSVM": "learners.coactive",
    "Recommendation": "evaluate.recommend",
    "Recommended": "learners",
    "RidgeFil": "learners.filter",
    "RidgeFull": "learners.filter",
    "SecondOrderPerceptron": "learners.label",
    "SecondOrderPreferencePerceptron": "learners.coactive",
    "SimpleFil": "learners.filter",
    "Simplex": "geometry",
    "SmidgenError": "errors",
    "Structure": "types",
    "TuneHistory": "evaluate.tuning",
    "bounds": "evaluate",
    "from_chain": "structures",
    "from_clicks": "structures",
    "load": "learners",
    "losses": "evaluate",
    "recommend": "evaluate.recommend",
    "recommended": "learners.recommended",
    "register": "learners",
    "register_kernel": "state.kernels",
    "simulate": "evaluate.simulate",
    "structure": "records",
    "tune": "evaluate.tuning",
}
_ROOMS = ("data", "errors", "geometry", "learners", "optim", "structures", "users")

__all__ = [
    "AROW",
    "OGD",
    "OGDEG",
    "ONS",
    "ONSEG",
    "AppleTasting",
    "AsyncClient",
    "Ball",
    "Banditron",
    "BatchPreferencePerceptron",
    "Box",
    "Card",
    "Choice",
    "Client",
    "CoactiveLearner",
    "Confidit",
    "ConvexPreferencePerceptron",
    "Decision",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "ExtendedRanking",
    "FilterHistory",
    "History",
    "L1Ball",
    "LabelHistory",
    "Learner",
    "MulticlassPerceptron",
    "PRidgeFil",
    "PerceptronFilter",
    "PreferencePerceptron",
    "Ranking",
    "RankingSVM",
    "Recommendation",
    "Recommended",
    "RidgeFil",
    "RidgeFull",
    "SecondOrderPerceptron",
    "SecondOrderPreferencePerceptron",
    "SimpleFil",
    "Simplex",
    "SmidgenError",
    "Structure",
    "TuneHistory",
    "bounds",
    "data",
    "errors",
    "from_chain",
    "from_clicks",
    "geometry",
    "learners",
    "load",
    "losses",
    "optim",
    "recommend",
    "recommended",
    "register",
    "register_kernel",
    "simulate",
    "structure",
    "structures",
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
