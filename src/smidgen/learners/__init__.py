"""The algorithms, one file each, grouped by loop."""

from smidgen.learners import coactive, filter, label, tune
from smidgen.learners.learner import Learner, load
from smidgen.learners.registry import Card, cards, learners, register

__all__ = ["Card", "Learner", "cards", "coactive", "filter", "label", "learners", "load", "register", "tune"]
