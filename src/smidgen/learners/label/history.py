"""What happened on a labelled stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class LabelHistory:
    """The rounds of a labelled stream, in the order played. Labels are numbers here; ``labels`` has their names.

    Attributes
    ----------
    actions
        The label shown in each round.
    greedy
        The label of highest score in each round.
    truth
        The true label, which a one-bit learner never saw.
    labels
        The names of the labels.
    """

    actions: IntArray
    greedy: IntArray
    truth: IntArray
    labels: list[Any]

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return f"LabelHistory({len(self)} rounds, error {self.error_rate:.4f}, explored {self.explored.mean():.4f})"

    @property
    def mistakes(self) -> NDArray[np.bool_]:
        """Whether the label shown was wrong."""
        return np.asarray(self.actions != self.truth)

    @property
    def greedy_mistakes(self) -> NDArray[np.bool_]:
        """Whether the label of highest score was wrong."""
        return np.asarray(self.greedy != self.truth)

    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether another label than the one of highest score was shown."""
        return np.asarray(self.actions != self.greedy)

    @property
    def cumulative_mistakes(self) -> IntArray:
        """The number of mistakes up to each round."""
        return np.cumsum(self.mistakes)

    @property
    def error_rate(self) -> float:
        """The share of rounds with a mistake."""
        return float(self.mistakes.mean())

    def at(self, checkpoints: Sequence[int] | IntArray) -> dict[str, FloatArray]:
        """Mistakes, greedy mistakes and explorations (as shares of the rounds so far) at given rounds."""
        where = np.asarray(checkpoints, dtype=np.int64)
        return {
            name: np.cumsum(flags)[where - 1] / where
            for name, flags in (
                ("mistakes", self.mistakes),
                ("greedy_mistakes", self.greedy_mistakes),
                ("explored", self.explored),
            )
        }

    @classmethod
    def joined(cls, parts: Iterable[LabelHistory]) -> LabelHistory:
        """Several stretches as one."""
        pieces = list(parts)
        return cls(
            np.concatenate([p.actions for p in pieces]),
            np.concatenate([p.greedy for p in pieces]),
            np.concatenate([p.truth for p in pieces]),
            pieces[-1].labels,
        )
