"""The algorithms, one file each, grouped by loop."""

from smidgen.learners import coactive, filter, label, rank, tune
from smidgen.learners.base import Learner, load
from smidgen.learners.card import Card, Feedback, Loop, cards, learners, register

__all__ = [
    "Card",
    "Feedback",
    "Learner",
    "Loop",
    "cards",
    "coactive",
    "filter",
    "label",
    "learners",
    "load",
    "rank",
    "register",
    "tune",
]
