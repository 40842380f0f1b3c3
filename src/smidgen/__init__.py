"""smidgen learns online from the little feedback that people really give.

A decision goes out, a little feedback comes back, the model takes one step:

    d = learner.decide(context)
    learner.learn(d, feedback)

Names are imported when they are first used, so ``import smidgen`` is quick.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smidgen import data, drafts, errors, geometry, knobs, learners, offline, optim, structures, theory, users
    from smidgen.client import AsyncClient, Client
    from smidgen.decision import Decision
    from smidgen.errors import SmidgenError
    from smidgen.evaluate import losses
    from smidgen.evaluate.compare import TuneHistory, compare, simulate, tune
    from smidgen.evaluate.play import play
    from smidgen.features import Vectorizer
    from smidgen.geometry import Ball, Box, L1Ball, Simplex
    from smidgen.history import Comparison, History
    from smidgen.knobs import Best, Knobs
    from smidgen.learners import Card, Learner, Recommended, load, register
    from smidgen.learners.choose import RewardHistory
    from smidgen.learners.filter import FilterHistory
    from smidgen.learners.label import LabelHistory
    from smidgen.learners.pacing import Budget
    from smidgen.learners.pipeline import Explanation
    from smidgen.learners.recommended import recommended
    from smidgen.serialization import structure
    from smidgen.state.dual import register_kernel
    from smidgen.structures import (
        Candidates,
        Choice,
        Clicks,
        Drafts,
        Edit,
        ExtendedRanking,
        Ranking,
        Structure,
        from_chain,
        from_clicks,
    )
    from smidgen.theory import bounds
    from smidgen.theory.recommend import Recommendation, recommend

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.choose.choice_bank import ChoiceBank
    from smidgen.learners.choose.lin_ucb import LinUCB
    from smidgen.learners.choose.square_cb import SquareCB
    from smidgen.learners.choose.thompson_choice import ThompsonChoice
    from smidgen.learners.coactive.base import CoactiveLearner
    from smidgen.learners.coactive.batch_preference_perceptron import BatchPreferencePerceptron
    from smidgen.learners.coactive.convex_preference_perceptron import ConvexPreferencePerceptron
    from smidgen.learners.coactive.dueling_bandit import DuelingBandit
    from smidgen.learners.coactive.exponentiated_preference_perceptron import ExponentiatedPreferencePerceptron
    from smidgen.learners.coactive.preference_perceptron import PreferencePerceptron
    from smidgen.learners.coactive.ranking_svm import RankingSVM
    from smidgen.learners.coactive.second_order_preference_perceptron import SecondOrderPreferencePerceptron
    from smidgen.learners.coactive.soft_preference_perceptron import SoftPreferencePerceptron
    from smidgen.learners.filter.apple_tasting import AppleTasting
    from smidgen.learners.filter.p_ridge_fil import PRidgeFil
    from smidgen.learners.filter.perceptron_filter import PerceptronFilter
    from smidgen.learners.filter.ridge_fil import RidgeFil, RidgeFull
    from smidgen.learners.filter.simple_fil import SimpleFil
    from smidgen.learners.label.arow import AROW
    from smidgen.learners.label.banditron import Banditron
    from smidgen.learners.label.confidit import Confidit
    from smidgen.learners.label.hinge_confidit import HingeConfidit
    from smidgen.learners.label.label_bank import LabelBank
    from smidgen.learners.label.multiclass_perceptron import MulticlassPerceptron
    from smidgen.learners.label.second_order_perceptron import SecondOrderPerceptron
    from smidgen.learners.pipeline import Pipeline
    from smidgen.learners.rank.fair_pairs import FairPairs
    from smidgen.learners.rank.pdgd import PDGD
    from smidgen.learners.rank.perturbed_preference_perceptron import PerturbedPreferencePerceptron
    from smidgen.learners.tune.ogd import OGD
    from smidgen.learners.tune.ogdeg import OGDEG
    from smidgen.learners.tune.ons import ONS
    from smidgen.learners.tune.onseg import ONSEG
    from smidgen.learners.tune.quadratic_tuner import QuadraticTuner

__version__ = "0.1.0"

_HOME = {
    "AsyncClient": "client",
    "Ball": "geometry",
    "Best": "knobs",
    "Box": "geometry",
    "Budget": "learners.pacing",
    "Candidates": "structures",
    "Card": "learners",
    "Choice": "structures",
    "Clicks": "structures",
    "Client": "client",
    "Comparison": "history",
    "Decision": "decision",
    "Drafts": "structures",
    "Edit": "structures",
    "Explanation": "learners.pipeline",
    "ExtendedRanking": "structures",
    "FilterHistory": "learners.filter",
    "History": "history",
    "Knobs": "knobs",
    "L1Ball": "geometry",
    "LabelHistory": "learners.label",
    "Learner": "learners",
    "Ranking": "structures",
    "Recommendation": "theory.recommend",
    "Recommended": "learners",
    "RewardHistory": "learners.choose",
    "Simplex": "geometry",
    "SmidgenError": "errors",
    "Structure": "structures",
    "TuneHistory": "evaluate.compare",
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
    "register_kernel": "state.dual",
    "simulate": "evaluate.compare",
    "structure": "serialization",
    "tune": "evaluate.compare",
}
_ROOMS = (
    "data",
    "drafts",
    "errors",
    "geometry",
    "knobs",
    "learners",
    "offline",
    "optim",
    "structures",
    "testing",
    "theory",
    "users",
)

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
    "Budget",
    "Candidates",
    "Card",
    "Choice",
    "ChoiceBank",
    "Clicks",
    "Client",
    "CoactiveLearner",
    "Comparison",
    "Confidit",
    "ConvexPreferencePerceptron",
    "Decision",
    "Drafts",
    "DuelingBandit",
    "Edit",
    "Explanation",
    "ExponentiatedPreferencePerceptron",
    "ExtendedRanking",
    "FairPairs",
    "FilterHistory",
    "HingeConfidit",
    "History",
    "Knobs",
    "L1Ball",
    "LabelBank",
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
    "SoftPreferencePerceptron",
    "SquareCB",
    "Structure",
    "ThompsonChoice",
    "TuneHistory",
    "Vectorizer",
    "bounds",
    "compare",
    "data",
    "drafts",
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
    "theory",
    "tune",
    "users",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"smidgen.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"smidgen.{_HOME[name]}"), name)
    elif (value := _learner(name)) is None:
        raise AttributeError(f"module 'smidgen' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    globals()[name] = value
    return value


def _learner(name: str) -> Any:
    """The learner of ours of that name, if there is one: its file need not be listed here."""
    if not name[:1].isupper():
        return None
    found = importlib.import_module("smidgen.learners").learners.get(name)
    return found if found is not None and found.__module__.startswith("smidgen.") else None


def __dir__() -> list[str]:
    return sorted(__all__)
