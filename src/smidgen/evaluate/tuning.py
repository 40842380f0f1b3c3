"""A stream of losses through the two verbs of a tune learner, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.plots import figure_type
from smidgen.evaluate.point_losses import PointLosses
from smidgen.evaluate.progress import tracked
from smidgen.learners.tune import Tuner
from smidgen.learners.tune.base import GradientTuner

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class TuneHistory:
    """The rounds of a run of the tune loop, in order.

    Attributes
    ----------
    learner
        The class of the learner.
    points, losses
        The point of each round, one per row, and what it cost: f_t(x_t).
    base_points, base_losses
        The same for the base points y_t, which is where x_t would be without exploration.
    best, best_losses
        The best fixed point in hindsight, and what it would have cost in each round.
    """

    learner: str
    points: FloatArray
    losses: FloatArray
    base_points: FloatArray
    base_losses: FloatArray
    best: FloatArray
    best_losses: FloatArray

    def __len__(self) -> int:
        return len(self.losses)

    def __repr__(self) -> str:
        return (
            f"TuneHistory({self.learner}, {len(self)} rounds, average loss {self.average_loss[-1]:.4g}, "
            f"of the best point {self.best_losses.mean():.4g})"
        )

    @property
    def regret(self) -> FloatArray:
        """f_t(x_t) − f_t(x*) per round, x* the best fixed point; a single round's can be negative."""
        return self.losses - self.best_losses

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of regrets up to each round: what the theorems bound."""
        return np.cumsum(self.regret)

    @property
    def average_loss(self) -> FloatArray:
        """The mean of losses up to each round."""
        return _average(self.losses)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the average losses of the points, the base points and the best point; save to ``path`` if given."""
        figure = figure_type()(figsize=(7.5, 4.6), layout="constrained")
        axes = figure.subplots()
        rounds = np.arange(1, len(self) + 1)
        axes.plot(rounds, self.average_loss, color="#1f6f8b", linewidth=2, label=f"{self.learner}: points tried")
        if not np.array_equal(self.points, self.base_points):
            axes.plot(rounds, _average(self.base_losses), color="#edae49", linewidth=1.5, label="base points")
        axes.plot(rounds, _average(self.best_losses), "--", color="#d1495b", linewidth=1.2, label="best fixed point")
        axes.set(xscale="log", xlabel="rounds", ylabel="average loss")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
        if path is not None:
            figure.savefig(path, dpi=140)
        return figure


def tune(
    learner: Tuner,
    loss: PointLosses,
    rounds: int | None = None,
    *,
    progress: bool | Callable[[int], None] = False,
) -> TuneHistory:
    """Play a stream of losses: a point goes out, its loss (or the gradient there) comes back; and measure.

    Parameters
    ----------
    learner
        A learner of the tune loop. It hears what its kind hears: `OGDEG` and `ONSEG` the loss at the point, `OGD` and
        `ONS` the gradient there. It keeps what it learns.
    loss
        One of `smidgen.losses`: `LeastSquares`, `Logistic`, `Portfolio`, `Repeated`, or your own `PointLosses`.
    rounds
        How many rounds; all of them if left out.
    progress
        True shows a progress bar (needs the extra ``cli``); a function is called with the number of each finished
        round.

    Returns
    -------
    TuneHistory

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(500, 3))
    >>> loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.5, -0.5, 0.0])
    >>> space = smidgen.Ball(dim=3)
    >>> learner = smidgen.OGD(space=space, gradient_bound=loss.lipschitz(space))
    >>> history = smidgen.tune(learner, loss)
    >>> bool(history.cumulative_regret[-1] < smidgen.bounds.ogd(T=500, D=space.diameter, G=loss.lipschitz(space)))
    True
    """
    if not isinstance(learner, Tuner):
        raise InvalidArgument(
            f"tune was given a {type(learner).__name__}", "give a learner of the tune loop, e.g. OGDEG"
        )
    if learner.knobs:
        raise InvalidArgument(
            "the learner has Knobs, and losses here are of arrays", "give it a Box, or use ask and tell"
        )
    if not isinstance(loss, PointLosses):
        raise InvalidArgument(
            f"the loss is {loss!r}", "give one of smidgen.losses, e.g. losses.Repeated(f) for a function f"
        )
    T = len(loss) if rounds is None else checks.whole("rounds", rounds, "leave it out for all")
    loss.check(learner.space, T)
    N = learner.space.dim
    points, base = np.empty((T, N)), np.empty((T, N))
    losses, base_losses = np.empty(T), np.empty(T)
    hears_gradient = isinstance(learner, GradientTuner)
    for t in tracked(range(T), progress):
        decision = learner.decide()
        x, y = decision.action, decision.greedy
        value = loss(t, x)
        learner.learn(decision, loss.gradient(t, x) if hears_gradient else value)
        points[t], base[t], losses[t] = x, y, value
        base_losses[t] = value if hears_gradient else loss(t, y)
        if callable(progress):
            progress(t + 1)
    best = np.asarray(loss.best(learner.space, T))
    return TuneHistory(
        learner=type(learner).__name__,
        points=points,
        losses=losses,
        base_points=base,
        base_losses=base_losses,
        best=best,
        best_losses=loss.values(best, T),
    )


def _average(values: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))
