"""What can be created: the learners of every loop, with what they learn from and the settings to begin with."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from smidgen.learners import cards, learners
from smidgen.service.loops.all_loops import TRANSLATORS
from smidgen.service.models.building import fitting

#: Settings that a learner cannot do without, as good first guesses.
FIRST: dict[str, dict[str, Any]] = {
    "BatchPreferencePerceptron": {"batch": 10},
    "ConvexPreferencePerceptron": {"radius": 10.0},
    "ExponentiatedPreferencePerceptron": {"bound": 1.0},
    "AppleTasting": {"learner": {"type": "RidgeFull"}},
    "PRidgeFil": {"p": 0.1},
    "OGDEG": {"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.2},
    "ONSEG": {"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.2, "beta": "practical"},
    "OGD": {"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "gradient_bound": 1.0},
    "ONS": {"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "gradient_bound": 1.0, "exp_concavity": 0.5},
}
#: The learner that the form offers first.
PREFERRED = {
    "rank": "PreferencePerceptron",
    "choose": "PreferencePerceptron",
    "label": "Confidit",
    "filter": "RidgeFil",
    "tune": "OGDEG",
}
_ASKED_ELSEWHERE = ("dim", "n_classes", "labels")


@cache
def catalogue() -> dict[str, Any]:
    """Learners by loop, the preferred one first."""
    return {loop: [_entry(name) for name in _sorted(loop)] for loop in TRANSLATORS}


def _sorted(loop: str) -> list[str]:
    return sorted(fitting(loop), key=lambda name: (name != PREFERRED[loop], name))


def _entry(name: str) -> dict[str, Any]:
    parameters = inspect.signature(learners[name]).parameters
    card = cards[name]
    optional = {
        key: value.default
        for key, value in parameters.items()
        if value.default is not inspect.Parameter.empty and key not in _ASKED_ELSEWHERE
    }
    return {
        "name": name,
        "feedback": card.feedback_in_words,
        "paper": card.paper,
        "bound": card.bound,
        "cost": card.cost,
        "features": "dim" in parameters or "learner" in parameters,
        "params": FIRST.get(name, {}),
        "optional": optional,
    }
