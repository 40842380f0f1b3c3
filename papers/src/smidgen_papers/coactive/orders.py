"""The lines of first against second order: what Figures 13 to 18 have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smidgen_papers.coactive.series import Line, Rows, Settings
from smidgen_papers.outcome import Curve, Panel, curve

RADIUS = 100.0
#: γ of Figures 15 and 16. The paper's text does not say which it tried.
GAMMAS = tuple(10.0**k for k in range(-4, 5))


def convex(user: Settings) -> Line:
    """Algorithm 5 with the letter of its step, 1/√t."""
    return Line("convex perceptron", learner={"name": "ConvexPreferencePerceptron", "radius": RADIUS}, user=user)


def second(user: Settings, gamma: float = 1.0, epsilon: float = 1.0, *, cost: float = 1.0) -> Line:
    """Algorithm 6."""
    learner = {"name": "SecondOrderPreferencePerceptron", "radius": RADIUS, "gamma": gamma, "epsilon": epsilon}
    name = "second order" if epsilon == 1.0 else f"second order, ε = {epsilon:g}"
    return Line(name, learner=learner, user=user, cost=cost)


def cumulative(title: str, axis: str, found: Sequence[tuple[Line, Rows]]) -> list[Panel]:
    """Cumulative regret by both measures, a panel each."""
    quadratic = [curve(line.name, one.t, one.loss * one.t) for line, one in found]
    plain = [curve(line.name, one.t, one.regret * one.t) for line, one in found]
    return [
        Panel(title, axis, "cumulative quadratic regret", quadratic, x_scale="log"),
        Panel(title, axis, "cumulative regret", plain, x_scale="log"),
    ]


def averages(title: str, axis: str, found: Sequence[tuple[Line, Rows]]) -> list[Panel]:
    """Average regret by both measures, a panel each."""
    quadratic = [curve(line.name, one.t, one.loss) for line, one in found]
    plain = [curve(line.name, one.t, one.regret) for line, one in found]
    return [
        Panel(title, axis, "average quadratic regret", quadratic, x_scale="log"),
        Panel(title, axis, "average regret", plain, x_scale="log"),
    ]


def flat(t: int, level: Rows) -> Curve:
    """The convex perceptron after t rounds, as a dotted line over all γ."""
    ends = np.array([GAMMAS[0], GAMMAS[-1]])
    return Curve(f"convex, t = {t:,}", ends, np.full(2, level.at(t).mean()), style="dotted")
