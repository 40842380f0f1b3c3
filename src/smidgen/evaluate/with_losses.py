"""A stream of losses through the two verbs of a tune learner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.evaluate.point_losses import PointLosses
from smidgen.evaluate.progress import tracked
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.tune import Tuner
from smidgen.learners.tune.base import GradientTuner


def played(learner: Learner, loss: PointLosses, rounds: int | None, progress: bool | Callable[[int], None]) -> History:
    """A point goes out, its loss (or the gradient there) comes back; measured against the best fixed point."""
    if not isinstance(learner, Tuner):
        raise InvalidArgument(
            f"tune was given a {type(learner).__name__}", "give a learner of the tune loop, e.g. OGDEG"
        )
    if learner.knobs:
        raise InvalidArgument(
            "the learner has Knobs, and losses here are of arrays", "give it a Box, or play it with a user"
        )
    T = len(loss) if rounds is None else checks.whole("rounds", rounds, "leave it out for all")
    loss.check(learner.space, T)
    N = learner.space.dim
    points, base = np.empty((T, N)), np.empty((T, N))
    losses, base_losses, explored = np.empty(T), np.empty(T), np.empty(T, np.bool_)
    hears_gradient = isinstance(learner, GradientTuner)
    for t in tracked(range(T), progress):
        decision = learner.decide()
        x, y = decision.action, decision.greedy
        value = loss(t, x)
        learner.learn(decision, loss.gradient(t, x) if hears_gradient else value)
        points[t], base[t], losses[t], explored[t] = x, y, value, decision.explored
        base_losses[t] = value if hears_gradient else loss(t, y)
        if callable(progress):
            progress(t + 1)
    best = np.asarray(loss.best(learner.space, T))
    return History(
        points,
        base,
        learner=type(learner).__name__,
        loop="tune",
        explored=explored,
        losses=losses,
        base_losses=base_losses,
        best=best,
        best_losses=loss.values(best, T),
    )
