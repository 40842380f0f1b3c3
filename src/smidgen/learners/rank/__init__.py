"""Rank, show it with a little randomness, and hear clicks: the loop for people who look at the top first."""

from smidgen.learners.rank.base import RankLearner
from smidgen.learners.rank.fair_pairs import FairPairs
from smidgen.learners.rank.pdgd import PDGD
from smidgen.learners.rank.perturbed_preference_perceptron import PerturbedPreferencePerceptron

__all__ = ["PDGD", "FairPairs", "PerturbedPreferencePerceptron", "RankLearner"]
