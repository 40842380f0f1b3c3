"""Rank or choose, and receive a preferred object."""

from typing import TYPE_CHECKING

from smidgen.learners.base import discover_package
from smidgen.learners.coactive.base import Coactive

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.coactive.base import CoactiveLearner
    from smidgen.learners.coactive.batch_preference_perceptron import BatchPreferencePerceptron
    from smidgen.learners.coactive.convex_preference_perceptron import ConvexPreferencePerceptron
    from smidgen.learners.coactive.dueling_bandit import DuelingBandit
    from smidgen.learners.coactive.exponentiated_preference_perceptron import ExponentiatedPreferencePerceptron
    from smidgen.learners.coactive.preference_perceptron import PreferencePerceptron
    from smidgen.learners.coactive.ranking_svm import RankingSVM
    from smidgen.learners.coactive.second_order_preference_perceptron import SecondOrderPreferencePerceptron
    from smidgen.learners.coactive.soft_preference_perceptron import SoftPreferencePerceptron

globals().update(discover_package(__name__))

__all__ = [
    "BatchPreferencePerceptron",
    "Coactive",
    "CoactiveLearner",
    "ConvexPreferencePerceptron",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "PreferencePerceptron",
    "RankingSVM",
    "SecondOrderPreferencePerceptron",
    "SoftPreferencePerceptron",
]
