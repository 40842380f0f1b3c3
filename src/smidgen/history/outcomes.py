"""What follows from the rounds of a run: mistakes, regret, averages, each defined once for all loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.theory import bounds
from smidgen.theory.losses import Linear, Loss


class Curve(NamedTuple):
    """What a run is judged by: its name, its values, and whether they fall by factors."""

    name: str
    values: FloatArray
    falls_by_factors: bool = False


class Outcomes:
    """The measures of a `History`, from its columns."""

    if TYPE_CHECKING:
        actions: Any
        greedy: Any
        truth: Any
        loop: str
        feedback: list[Any] | None
        rewards: FloatArray | None
        losses: FloatArray | None
        best: FloatArray | None
        best_losses: FloatArray | None
        utility: FloatArray
        better_utility: FloatArray
        best_utility: FloatArray
        alpha: float
        loss: Loss | None
        bound_on: str

        def __len__(self) -> int: ...

    @property
    def mistakes(self) -> NDArray[np.bool_]:
        """Of the label and the filter loop: whether what was shown was wrong.

        On a labelled stream that is known of every round. Where a user answered, it is known of what was answered: a
        label called wrong, or rewarded by less than one half; an item forwarded and not relevant (or heard to be
        relevant and dropped).
        """
        if self.truth is not None:
            return np.asarray(self.actions != self.truth)
        if self.loop not in ("label", "filter") or self.feedback is None:
            raise InvalidArgument(
                f"a run of the {self.loop or 'rank'} loop has no mistakes", "look at regret or feedback"
            )
        if self.rewards is not None:
            return np.asarray(self.rewards < 0.5)
        wrong = _other if self.loop == "filter" else _wrong
        return np.array([wrong(a, f) for a, f in zip(self.actions, self.feedback, strict=True)], np.bool_)

    @property
    def greedy_mistakes(self) -> NDArray[np.bool_]:
        """Whether the greedy action would have been wrong."""
        return np.asarray(self.greedy != self._known_truth())

    @property
    def cumulative_mistakes(self) -> IntArray:
        """The number of mistakes up to each round."""
        return np.cumsum(self.mistakes)

    @property
    def error_rate(self) -> float:
        """The share of rounds with a mistake."""
        return _mean(self.mistakes)

    @property
    def true_positives(self) -> int:
        """Relevant items forwarded."""
        return int((self.actions & self._known_truth()).sum())

    @property
    def false_positives(self) -> int:
        """Irrelevant items forwarded."""
        return int((self.actions & ~self._known_truth()).sum())

    @property
    def false_negatives(self) -> int:
        """Relevant items dropped; nobody but the evaluator knows."""
        return int((~self.actions & self._known_truth()).sum())

    @property
    def true_negatives(self) -> int:
        """Irrelevant items dropped."""
        return int((~self.actions & ~self._known_truth()).sum())

    @property
    def precision(self) -> float:
        """The share of relevant items among those forwarded; 0 if none was forwarded."""
        return self.true_positives / max(1, int(np.sum(self.actions)))

    @property
    def recall(self) -> float:
        """The share of forwarded items among the relevant ones; 0 if none was relevant."""
        return self.true_positives / max(1, int(self._known_truth().sum()))

    @property
    def f_measure(self) -> float:
        """2·precision·recall/(precision + recall), 0 if both are."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0

    @property
    def regret(self) -> FloatArray:
        """How far each round fell short of the best there was.

        U(x, y*) − U(x, y) where a utility is known; the highest reward on offer less the reward; of the tune loop
        f_t(x_t) − f_t(x*), x* the best fixed point (a single round's can be negative).
        """
        if self.losses is not None and self.best_losses is not None:
            return self.losses - self.best_losses
        if self.rewards is not None and self.best is not None:
            return self.best - self.rewards
        self._need_utility()
        return self.best_utility - self.utility

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of regrets up to each round: T·REG_T."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> FloatArray:
        """The mean of regrets up to each round: REG_T (eq. 4)."""
        return average(self.regret)

    @property
    def loss_regret(self) -> FloatArray:
        """c(U(x, y) − U(x, y*)) − c(0) per round, c the loss that was given (the linear one if none was)."""
        loss = self.loss or Linear()
        return np.asarray(loss(-self.regret) - loss(0.0))

    @property
    def cumulative_loss_regret(self) -> FloatArray:
        """The sum of loss regrets up to each round: T·CREG_T."""
        return np.cumsum(self.loss_regret)

    @property
    def average_loss_regret(self) -> FloatArray:
        """The mean of loss regrets up to each round: CREG_T (eq. 15)."""
        return average(self.loss_regret)

    @property
    def slacks(self) -> FloatArray:
        """ξ_t of eq. 6, at the level `alpha`."""
        self._need_utility()
        return np.asarray(
            bounds.slack(alpha=self.alpha, shown=self.utility, better=self.better_utility, best=self.best_utility)
        )

    @property
    def average_slack(self) -> FloatArray:
        """The mean of slacks up to each round."""
        return average(self.slacks)

    @property
    def average_reward(self) -> float:
        """The mean reward of what was shown."""
        return _mean(self._need("rewards", self.rewards, "rewards"))

    @property
    def average_loss(self) -> FloatArray:
        """Of the tune loop: the mean of losses up to each round."""
        return average(self._need("losses", self.losses, "losses"))

    @property
    def clicks(self) -> IntArray:
        """How many documents were clicked in each round, where users click."""
        given = self.feedback
        if not given or not all(hasattr(each, "documents") for each in given):
            raise InvalidArgument("not every feedback of this run was clicks", "look at feedback")
        return np.array([len(each) for each in given], np.int64)

    @property
    def has_utility(self) -> bool:
        """Whether the utility of every round was measured."""
        return len(self.utility) == len(self)

    @property
    def curve(self) -> Curve | None:
        """What pictures show of the run, up to each round; None if nothing was measured."""
        if self.losses is not None:
            return Curve("average loss", self.average_loss)
        if self.rewards is not None:
            return Curve("average reward", average(self.rewards))
        if self.has_utility:
            return Curve(self.bound_on.replace("_", " "), getattr(self, self.bound_on), falls_by_factors=True)
        if self.truth is not None or (self.loop in ("label", "filter") and self.feedback is not None):
            return Curve("error rate", average(self.mistakes))
        try:
            return Curve("clicks per round", average(self.clicks))
        except InvalidArgument:
            return None

    def _need_utility(self) -> None:
        if not self.has_utility:
            raise InvalidArgument(
                "the run was played without a utility, so it has no regret",
                "give utility=w_star, or a user that has a w_star",
            )

    def _known_truth(self) -> Any:
        return self._need("truth", self.truth, "known answers")

    def _need(self, field: str, value: Any, what: str) -> Any:
        if getattr(self, field) is None or value is None:
            raise InvalidArgument(
                f"a run of the {self.loop or 'rank'} loop that was played in this way has no {what}",
                "see which columns it has: history.columns",
            )
        return value


def average(values: Any) -> FloatArray:
    """The mean of the values up to each; what is not a number was not heard, and does not count."""
    unheard = np.isnan(values)
    if not unheard.any():
        return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))
    return np.asarray(np.cumsum(np.where(unheard, 0.0, values)) / np.maximum(1, np.cumsum(~unheard)))


def _mean(values: Any) -> float:
    heard = values[~np.isnan(values)]
    return float(np.mean(heard)) if len(heard) else 0.0


def _wrong(label: Any, feedback: Any) -> bool:
    """Whether feedback calls a label wrong: a bit that is false, or another label."""
    return not feedback if isinstance(feedback, (bool, np.bool_)) else _other(label, feedback)


def _other(action: Any, feedback: Any) -> bool:
    """Whether feedback is another answer than the one given; no feedback is none."""
    return feedback is not None and bool(feedback != action)
