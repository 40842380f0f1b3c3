"""What happened on a labelled stream of a filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import IntArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class FilterHistory:
    """The rounds of a filtered stream, in the order played.

    Attributes
    ----------
    actions
        Whether each item was forwarded.
    greedy
        Whether its margin alone called it relevant.
    truth
        Whether it was relevant. Of a dropped item only the evaluator knows.
    """

    actions: Flags
    greedy: Flags
    truth: Flags

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return (
            f"FilterHistory({len(self)} rounds, forwarded {self.actions.mean():.4f}, precision {self.precision:.4f}, "
            f"recall {self.recall:.4f}, F {self.f_measure:.4f})"
        )

    @property
    def explored(self) -> Flags:
        """Whether an item was forwarded in spite of its margin."""
        return np.asarray(self.actions & ~self.greedy)

    @property
    def mistakes(self) -> Flags:
        """Whether a relevant item was dropped or an irrelevant one forwarded."""
        return np.asarray(self.actions != self.truth)

    @property
    def cumulative_mistakes(self) -> IntArray:
        """The number of mistakes up to each round."""
        return np.cumsum(self.mistakes)

    @property
    def true_positives(self) -> int:
        """Relevant items forwarded."""
        return int((self.actions & self.truth).sum())

    @property
    def false_positives(self) -> int:
        """Irrelevant items forwarded."""
        return int((self.actions & ~self.truth).sum())

    @property
    def false_negatives(self) -> int:
        """Relevant items dropped; nobody but the evaluator knows."""
        return int((~self.actions & self.truth).sum())

    @property
    def true_negatives(self) -> int:
        """Irrelevant items dropped."""
        return int((~self.actions & ~self.truth).sum())

    @property
    def precision(self) -> float:
        """The share of relevant items among those forwarded; 0 if none was forwarded."""
        return self.true_positives / max(1, int(self.actions.sum()))

    @property
    def recall(self) -> float:
        """The share of forwarded items among the relevant ones; 0 if none was relevant."""
        return self.true_positives / max(1, int(self.truth.sum()))

    @property
    def f_measure(self) -> float:
        """2·precision·recall/(precision + recall), 0 if both are."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0

    @classmethod
    def joined(cls, parts: Iterable[FilterHistory]) -> FilterHistory:
        """Several stretches as one."""
        pieces = list(parts)
        return cls(
            np.concatenate([p.actions for p in pieces]),
            np.concatenate([p.greedy for p in pieces]),
            np.concatenate([p.truth for p in pieces]),
        )
