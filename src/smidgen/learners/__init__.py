"""The algorithms, one file each, grouped by loop."""

from smidgen.learners import choose, coactive, filter, label, rank, tune
from smidgen.learners.base import Learner, cards, learners, load, register
from smidgen.learners.card import Card, Feedback, Loop, Recommended
from smidgen.learners.pipeline import Pipeline
from smidgen.learners.plugins import discover, import_plugin
from smidgen.learners.recommended import recommended

__all__ = [
    "Card",
    "Feedback",
    "Learner",
    "Loop",
    "Pipeline",
    "Recommended",
    "cards",
    "choose",
    "coactive",
    "discover",
    "filter",
    "import_plugin",
    "label",
    "learners",
    "load",
    "rank",
    "recommended",
    "register",
    "tune",
]
