"""What happened on a stream of choices of which the reward of every candidate is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class RewardHistory:
    """The rounds of a played stream, in the order played.

    Attributes
    ----------
    actions
        Which candidate was shown in each round.
    greedy
        Which had the highest estimate.
    rewards
        The reward of the one shown: all that the learner heard.
    best
        The highest reward among the candidates on offer. Only the evaluator knows it.
    propensities
        The probability with which the one shown was drawn.
    """

    actions: IntArray
    greedy: IntArray
    rewards: FloatArray
    best: FloatArray
    propensities: FloatArray

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return (
            f"RewardHistory({len(self)} rounds, average reward {self.average_reward:.4f}, "
            f"average regret {self.regret.mean():.4f}, explored {self.explored.mean():.4f})"
        )

    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether another candidate was shown than the one of highest estimate."""
        return np.asarray(self.actions != self.greedy)

    @property
    def average_reward(self) -> float:
        """The mean reward of what was shown."""
        return float(self.rewards.mean())

    @property
    def regret(self) -> FloatArray:
        """How far each reward fell short of the best on offer in its round."""
        return self.best - self.rewards

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of the regret up to each round."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> FloatArray:
        """The mean regret up to each round."""
        return self.cumulative_regret / np.arange(1, len(self) + 1)

    @classmethod
    def joined(cls, parts: Iterable[RewardHistory]) -> RewardHistory:
        """Several stretches as one."""
        fields = ("actions", "greedy", "rewards", "best", "propensities")
        pieces = list(parts)
        return cls(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in fields))
