"""The algorithms, one file each, grouped by loop."""

from smidgen.learners import coactive, filter, label, tune
from smidgen.learners.base import Learner, load
from smidgen.learners.card import Card, Feedback, Loop, Recommended, cards, learners, register
from smidgen.learners.recommended import recommended

__all__ = [
    "Card",
    "Feedback",
    "Learner",
    "Loop",
    "Recommended",
    "cards",
    "coactive",
    "filter",
    "label",
    "learners",
    "load",
    "recommended",
    "register",
    "tune",
]
