"""Full-information label learners with second-order state, diagonal or full."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core.second_order import pick
from smidgen.decision import Decision, FloatArray
from smidgen.errors import NotFinite
from smidgen.features import Row
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.rows import kept_row
from smidgen.state.classes import Block, padded
from smidgen.state.diagonal import DiagonalClasses
from smidgen.state.full import FullClasses


class SecondOrderLabelLearner(LabelLearner):
    """Show the label of highest score; hear the true one; step."""

    def __init__(self, *, covariance: str, start: float, params: Mapping[str, Any], **settings: Any) -> None:
        checks.one_of("covariance", covariance, {"diagonal": 0, "full": 0})
        super().__init__(params={**params, "covariance": covariance}, **settings)
        diagonal = covariance == "diagonal"
        made: Any = (DiagonalClasses if diagonal else FullClasses)(self.dim, padded(self.n_classes), start, self._dtype)
        self._blocks: DiagonalClasses | FullClasses = made
        self._diagonal: DiagonalClasses | None = made if diagonal else None
        self._full: FullClasses = made

    @abstractmethod
    def _scores(self, row: Row) -> Block:
        """The score of every class."""

    @abstractmethod
    def _step(self, row: Row, action: int, true: int) -> bool:
        """Learn that ``true`` was right where ``action`` was shown; say no where the scores are not finite."""

    def _decide(self, context: Any, number: int) -> Decision:
        row, scores = self._row(context), np.empty(self.n_classes)
        action = pick(self._scores(row), scores)
        return self._record(number, row, action, action, scores)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        true, row = self._classes.index(feedback), kept_row(decision, self.dim, self._dtype)
        if not self._step(row, self._classes.index(decision.action), true):
            raise NotFinite("the features lead to scores that are not finite", "scale them down")

    def _predict(self, context: Any) -> Any:
        return self._classes.labels[pick(self._scores(self._row(context)), np.empty(self.n_classes))]

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class."""
        return self._blocks.weights(self.n_classes)

    @property
    def _columns(self) -> int:
        return self._blocks.columns

    def _widen(self, columns: int) -> None:
        self._blocks.widen(columns)

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins as it always does."""
        return "pooled"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._blocks.begin(start["w"])

    def _state(self) -> dict[str, NDArray[Any]]:
        return self._blocks.arrays()

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._blocks.restore(state)
