"""A learner as somebody else would write one: it keeps every law, and is registered by its users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import smidgen
from smidgen import Card, Decision, Learner, checks
from smidgen.errors import DecisionMismatch, InvalidFeedback, NotFinite
from smidgen.features import Row, as_row
from smidgen.randomness import COIN, uniforms


class Prototype(Learner):
    """A vector per label, moved towards what bears the label and away from what was taken for it."""

    def __init__(self, *, dim: int, n_classes: int, rate: float = 1.0, explore: float = 0.2, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.dim = checks.dimension(dim)
        self.n_classes = checks.whole("n_classes", n_classes, "give the number of labels")
        self.rate = checks.number("rate", rate, "omit it for 1.0", above=0.0)
        self.explore = checks.number("explore", explore, "leave it out for 0.2", at_least=0.0, at_most=1.0)
        self._W = np.zeros((self.n_classes, self.dim))

    def _scores(self, row: Row) -> Any:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scores = self._W @ row.dense()
        if not np.isfinite(scores).all():
            raise NotFinite("the scores are not finite", "scale the features down")
        return scores

    def _decide(self, context: Any, number: int) -> Decision:
        row = as_row(context, self.dim)
        scores = self._scores(row)
        greedy = int(np.argmax(scores))
        coin, which = uniforms(self._seed, number, 2, stream=COIN)
        action = int(which * self.n_classes) if coin < self.explore else greedy
        share = self.explore / self.n_classes
        return Decision(
            kind=self._kind,
            settings=self._settings,
            number=number,
            action=action,
            greedy=greedy,
            explored=action != greedy,
            propensity=share + (1.0 - self.explore if action == greedy else 0.0),
            scores=scores,
            context=row,
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        if isinstance(feedback, bool) or not isinstance(feedback, int) or not 0 <= feedback < self.n_classes:
            raise InvalidFeedback(f"the label is {feedback!r}", f"give one of 0 … {self.n_classes - 1}")
        if not isinstance(decision.context, Row) or decision.context.dim != self.dim:
            raise DecisionMismatch(f"decision {decision.id} holds no row of {self.dim} features", "pass it unchanged")
        self._move(decision, feedback, self.rate * decision.context.dense())

    def _move(self, decision: Decision, truth: int, step: Any) -> None:
        moved = self._W.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            moved[truth] += step
            moved[decision.action] -= step
        if not np.isfinite(moved).all():
            raise NotFinite("the step leads to values that are not finite", "scale the features down")
        self._W = moved

    def _predict(self, context: Any) -> int:
        return int(np.argmax(self._scores(as_row(context, self.dim))))

    @property
    def weights(self) -> Any:
        return self._W.copy()

    def _state(self) -> dict[str, Any]:
        return {"W": self._W}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._W = state["W"]


CARD = Card(
    loop="label",
    feedback="label",
    draws=True,
    paper="ours, for the tests",
    example={"dim": 4, "n_classes": 3},
)


def register() -> type[Prototype]:
    return smidgen.register(CARD)(Prototype)
