"""The dueling bandit with the best of 25 settings: what Figures 9 and 10 have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.coactive.series import Line, Rows, Settings
from smidgen_papers.outcome import Curve, curve

#: γ and δ of Section 6.2.6. Decisions do not change when both are multiplied by the same number, since w starts at 0:
#: only δ/γ counts, and these two lists make 25 different quotients at even distances on a log scale.
EXPLORE = (1.0, 1.585, 2.512, 3.981, 6.310)
STEP = (0.001, 0.01, 0.1, 1.0, 10.0)
GRID = [(explore, step) for explore in EXPLORE for step in STEP]


def duel(explore: float, step: float, user: Settings, cost: float = 1.0) -> Line:
    """The dueling bandit with one setting."""
    learner = {"name": "DuelingBandit", "explore": explore, "step": step}
    return Line("dueling bandit", learner=learner, user=user, cost=cost)


def best_of(found: Callable[[float, float], Rows]) -> tuple[float, float, Rows]:
    """The setting with the lowest average regret after the last round, and its curves."""
    return min(((g, d, found(g, d)) for g, d in GRID), key=lambda one: float(one[2].last.mean()))


def matched(perceptron: Rows, level: float) -> float:
    """The first kept round at which the perceptron's mean curve is at the level or below; infinite if never."""
    below = np.flatnonzero(perceptron.regret.mean(axis=0) <= level)
    return float(perceptron.t[below[0]]) if len(below) else float("inf")


def when(perceptron: Rows, bandit: Rows) -> str:
    """The same for where a bandit ends, in words."""
    at = matched(perceptron, float(bandit.last.mean()))
    return "never" if np.isinf(at) else f"{at:.0f}"


def over_quotients(name: str, found: Callable[[float, float], Rows]) -> Curve:
    """The average regret after the last round over δ/γ."""
    tried: list[tuple[float, FloatArray]] = sorted(((d / g, found(g, d).last) for g, d in GRID), key=lambda one: one[0])
    return curve(name, [x for x, _ in tried], np.array([y for _, y in tried]).T)
