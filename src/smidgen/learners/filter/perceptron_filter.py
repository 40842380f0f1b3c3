"""The perceptron as a filter that hears of everything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.learners.card import Card, register
from smidgen.learners.filter.base import FullInformationFilter, Shown, Stream
from smidgen.learners.filter.simple_fil import PAPER
from smidgen.state.classes import Indices
from smidgen.state.full import sparse_dot


@kernel
def _step(w: FloatArray, idx: Indices, val: FloatArray, margin: float, relevant: bool) -> None:
    """On a mistake w ← w + y·x."""
    if (margin >= 0.0) != relevant:
        for k in range(idx.shape[0]):
            w[idx[k]] += val[k] if relevant else -val[k]


@kernel
def _hear(w: FloatArray, idx: Indices, val: FloatArray, relevant: bool) -> bool:
    """Learn the relevance of an item; says no, and changes nothing, where the margin is not finite."""
    margin = sparse_dot(w, idx, val)
    if not math.isfinite(margin):
        return False
    _step(w, idx, val, margin, relevant)
    return True


@kernel
def _stream(w: FloatArray, stream: Stream, shown: Shown) -> None:
    indices, values, starts, truth, order = stream
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        margin = sparse_dot(w, idx, val)
        shown[0][i] = shown[1][i] = margin >= 0.0
        _step(w, idx, val, margin, truth[t])


@register(
    Card(
        loop="filter",
        feedback="relevance",
        paper=f"{PAPER}, Sec. 4.1; Rosenblatt 1958",
        bound="a mistake bound, in the paper",
        cost="nnz",
        example={"dim": 4},
    )
)
class PerceptronFilter(FullInformationFilter):
    """A baseline of the paper: the perceptron, told the relevance of every item.

    Parameters
    ----------
    dim
        The number of features.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** forward iff w·x ≥ 0; on a mistake w ← w + y·x, y = ±1.
    **Symbols** w·x: ``decision.margin``. **Assumes** nothing. **Bound** the perceptron's; not a function here.
    **Cost** nnz. Memory dim.
    **Differs** not at all.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> judge = smidgen.PerceptronFilter(dim=2)
    >>> judge.learn(judge.decide(np.array([0.0, 1.0])), False)
    >>> judge.predict(np.array([0.0, 1.0]))
    False

    References
    ----------
    .. [1] F. Rosenblatt. The perceptron: a probabilistic model for information storage. Psychological Review 65, 1958.
    """

    def __init__(self, *, dim: int, seed: int = 0) -> None:
        self.dim = checks.dimension(dim)
        super().__init__(params={"dim": self.dim}, seed=seed)
        self._w: FloatArray = np.zeros(self.dim)

    def _margin(self, row: Any) -> float:
        return sparse_dot(self._w, row.indices, row.values)

    def _step(self, row: Any, relevant: bool) -> None:
        if not _hear(self._w, row.indices, row.values, relevant):
            raise NotFinite("the features lead to a margin that is not finite", "scale them down")

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        _stream(self._w, stream, shown)

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w."""
        return self._w.copy()

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"w": self._w}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._w = state["w"]
