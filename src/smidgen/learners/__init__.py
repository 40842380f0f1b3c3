"""The algorithms, one file each, grouped by loop."""

from smidgen.learners import choose, coactive, filter, label, rank, tune
from smidgen.learners.base import Learner, load
from smidgen.learners.card import Card, Feedback, Loop, Recommended, cards, learners, register
from smidgen.learners.guests import bring, discover
from smidgen.learners.recommended import recommended
from smidgen.learners.records import Pipeline

__all__ = [
    "Card",
    "Feedback",
    "Learner",
    "Loop",
    "Pipeline",
    "Recommended",
    "bring",
    "cards",
    "choose",
    "coactive",
    "discover",
    "filter",
    "label",
    "learners",
    "load",
    "rank",
    "recommended",
    "register",
    "tune",
]
