"""The forms of loops whose contexts are rows, or nothing: label, filter, tune."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.testing.forms import Form, times
from smidgen.testing.sparse import as_sparse_row


def labels_of(learner: Any) -> list[Any]:
    """The labels of a learner."""
    named = getattr(learner, "labels", None)
    return list(named) if named is not None else list(range(learner.params["n_classes"]))


@dataclass(frozen=True)
class Labelling(Form):
    """One of K labels, and right or wrong (or the true label)."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Rows with some zeros."""
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n, self.dim)) * (rng.random((n, self.dim)) < 0.7)
        return [as_sparse_row(row) for row in rows] if as_csr else list(rows)

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A bit, now and then a reward, or the true label."""
        rng, labels = np.random.default_rng([seed, decision.number]), labels_of(learner)
        truth = labels[rng.integers(len(labels))]
        if "reward" in learner.card.kinds and rng.random() < 0.4:
            return float(rng.random())
        return bool(decision.action == truth) if learner.card.kinds[0] == "bit" else truth

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The true label."""
        labels = labels_of(learner)
        return labels[seed % len(labels)]

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is neither a bit nor a label."""
        yield from super().impossible(learner, decision)
        yield from (-1, len(labels_of(learner)), float("inf"))
        yield 1.5 if "reward" in learner.card.kinds else 0.5

    def unusable(self) -> Iterator[Any]:
        """What is no row of so many finite numbers."""
        dim = self.dim
        yield from (None, 3, np.zeros(dim + 1), np.full(dim, np.nan), np.zeros((2, dim)), ["a"] * dim)
        yield as_sparse_row(np.zeros(dim + 2))
        yield np.full(dim, 1j)

    def huge(self) -> list[Any]:
        """Rows of 1e300."""
        return [context * 1e300 for context in self.contexts(10, 5)]

    def resized(self, context: Any, sizes: Any) -> Any:
        """A row of these sizes."""
        return times(context, sizes(len(context)))


@dataclass(frozen=True)
class Filtering(Labelling):
    """Forward or drop, and the relevance of what was forwarded."""

    reads: bool = True
    """Whether it looks at the rows at all."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Mostly not relevant."""
        return bool(np.random.default_rng([seed, decision.number]).random() < 0.4)

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The relevance."""
        return bool(seed % 2)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is neither true nor false."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -1, 1, 0, 0.5)

    def unusable(self) -> Iterator[Any]:
        """As of labels; nothing is, for one that looks at nothing."""
        if self.reads:
            yield from super().unusable()

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """What was dropped has no label, but for those that see everything."""
        return bool(decision.action) or bool(getattr(learner, "sees_everything", False))


@dataclass(frozen=True)
class Tuning(Form):
    """A point, and its gradient or its loss."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """None at all."""
        return [None] * n

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A small loss, or a gradient."""
        rng = np.random.default_rng([seed, decision.number])
        if "gradient" in learner.card.kinds:
            return rng.normal(size=_space(learner).dim)
        return float(rng.uniform(-1, 1))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The loss, or the gradient, at a point."""
        rng = np.random.default_rng(seed)
        return float(rng.normal()) if "loss" in learner.card.kinds else rng.normal(size=_space(learner).dim)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is no finite number, or not so many."""
        yield from super().impossible(learner, decision)
        yield from (float("inf"), True, np.full(_space(learner).dim + 3, 1.0))

    def huge(self) -> list[Any]:
        """Nothing can be huge about no context."""
        return [None] * 3

    def resized_feedback(self, feedback: Any, sizes: Any) -> Any:
        """A loss or a gradient of these sizes."""
        value = times(feedback, sizes(np.size(feedback)))
        return value.reshape(np.shape(feedback)) if np.ndim(feedback) else float(np.ravel(value)[0])


def _space(learner: Any) -> Any:
    found = getattr(learner, "space", None)
    return found if found is not None else learner.params["space"]
