"""What happened in a simulated run, and what theory says of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.theory import bounds
from smidgen.theory.losses import Linear, Loss

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The rounds of a run, in order.

    Attributes
    ----------
    learner, loop
        The class of the learner, and its loop.
    actions, feedback
        What went out and what came back, one per round.
    explored
        Whether exploration changed the action.
    utility, better_utility, best_utility
        U(x, y), U(x, ȳ) and U(x, y*); empty if no utility was given.
    alpha
        The level of informativeness that slacks are measured against.
    bound
        The theorem's upper bound after each round, on `average_regret` (or on `average_loss_regret`, see
        ``bound_on``); None if no theorem applies, for the reason in ``bound_note``.

    Examples
    --------
    >>> import smidgen
    >>> stream = smidgen.data.ranking_stream(queries=200, docs=20, dim=10)
    >>> learner = smidgen.PreferencePerceptron(dim=10)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> history = smidgen.simulate(learner, stream.contexts, user, utility=stream.w_star)
    >>> bool((history.average_regret <= history.bound).all())
    True
    """

    learner: str
    actions: list[Any]
    feedback: list[Any]
    explored: NDArray[np.bool_]
    utility: FloatArray
    better_utility: FloatArray
    best_utility: FloatArray
    alpha: float = 1.0
    loss: Loss | None = None
    bound: FloatArray | None = None
    bound_on: str = "average_regret"
    bound_note: str = ""
    uninformative: int = 0
    loop: str = "coactive"

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        if not len(self) or not len(self.utility):
            return f"History({self.learner}, {len(self)} rounds)"
        bound = "none" if self.bound is None else f"{self.bound[-1]:.4g}"
        return (
            f"History({self.learner}, {len(self)} rounds, average regret {self.average_regret[-1]:.4g}, bound {bound})"
        )

    @property
    def regret(self) -> FloatArray:
        """U(x, y*) − U(x, y) per round."""
        self._need_utility()
        return self.best_utility - self.utility

    @property
    def mistakes(self) -> NDArray[np.bool_]:
        """Of the label and the filter loop: whether the label shown, or the item forwarded, was known to be wrong."""
        if self.loop not in ("label", "filter"):
            raise InvalidArgument(f"a run of the {self.loop} loop has no mistakes", "look at regret or feedback")
        pairs = zip(self.actions, self.feedback, strict=True)
        return np.array(
            [f is not None and (not f if isinstance(f, (bool, np.bool_)) else f != a) for a, f in pairs], bool
        )

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of regrets up to each round: T·REG_T."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> FloatArray:
        """The mean of regrets up to each round: REG_T (eq. 4)."""
        return _average(self.regret)

    @property
    def loss_regret(self) -> FloatArray:
        """c(U(x, y) − U(x, y*)) − c(0) per round, c the loss that was given (the linear one if none was)."""
        loss = self.loss or Linear()
        return np.asarray(loss(-self.regret) - loss(0.0))

    @property
    def average_loss_regret(self) -> FloatArray:
        """The mean of loss regrets up to each round: CREG_T (eq. 15)."""
        return _average(self.loss_regret)

    @property
    def slacks(self) -> FloatArray:
        """ξ_t of eq. 6, at the level `alpha`."""
        self._need_utility()
        return np.asarray(
            bounds.slack(alpha=self.alpha, shown=self.utility, better=self.better_utility, best=self.best_utility)
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw average regret and bound against the round, both axes logarithmic; save to ``path`` if given."""
        from smidgen.evaluate.plots import regret_plot

        return regret_plot({self.learner: self}, path)

    def _need_utility(self) -> None:
        if len(self.utility) != len(self.actions):
            raise InvalidArgument(
                "the run was simulated without a utility, so it has no regret",
                "call simulate(…, utility=w_star), or use a user that has a w_star",
            )


def _average(values: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))
