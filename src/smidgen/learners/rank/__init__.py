"""Rank, show the ranking with some randomness, and receive clicks: the loop for users who examine the top first."""

from typing import TYPE_CHECKING

from smidgen.learners.base import discover_package
from smidgen.learners.rank.base import RankLearner

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.rank.fair_pairs import FairPairs
    from smidgen.learners.rank.pdgd import PDGD
    from smidgen.learners.rank.perturbed_preference_perceptron import PerturbedPreferencePerceptron

globals().update(discover_package(__name__))

__all__ = ["PDGD", "FairPairs", "PerturbedPreferencePerceptron", "RankLearner"]
