"""Label learners whose whole state is one weight vector per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._core.label import score_classes, scores_by_feature
from smidgen.arrays import aligned, zeros
from smidgen.decision import FloatArray
from smidgen.learners.label.base import Csr, LabelLearner
from smidgen.state.classes import Block, padded


class PlainLabelLearner(LabelLearner):
    """W, by feature and class, and nothing else."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._W: Block = zeros((self.dim, padded(self.n_classes)), self._dtype)

    def _score_rows(self, rows: Csr, out: Block) -> None:
        scores_by_feature(self._W, rows, out)

    def _predict(self, context: Any) -> Any:
        row = self._row(context)
        return self._classes.labels[score_classes(self._W, row.indices, row.values, np.empty(self.n_classes))]

    @property
    def weights(self) -> FloatArray:
        """The weights, one row per class."""
        return np.ascontiguousarray(self._W[:, : self.n_classes].T, dtype=np.float64)

    @property
    def _columns(self) -> int:
        return int(self._W.shape[1])

    def _widen(self, columns: int) -> None:
        grown = zeros((self.dim, columns), self._dtype)
        grown[:, : self._columns] = self._W
        self._W = grown

    @property
    def shared_start(self) -> str | None:
        """With the mean of the others' weights."""
        return "mean"

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        self._W[:, : self.n_classes] = start["w"].T

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"W": self._W}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._W = aligned(state["W"])
