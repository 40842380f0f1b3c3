"""The perceptron as a filter with full information."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import filter as core
from smidgen.decision import FloatArray
from smidgen.errors import NotFinite
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.filter.base import FullInformationFilter, Shown, Stream
from smidgen.learners.filter.simple_fil import PAPER


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
    """A baseline of the paper: the perceptron, given the relevance of every item.

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
        return core.perceptron_margin(self._w, row.indices, row.values)

    def _step(self, row: Any, relevant: bool) -> None:
        if not core.perceptron_hear(self._w, row.indices, row.values, relevant):
            raise NotFinite("the features lead to a margin that is not finite", "scale them down")

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        core.perceptron_stream(self._w, stream, shown)

    @property
    def weights(self) -> FloatArray:
        """A copy of the weights w."""
        return self._w.copy()

    def _state(self) -> dict[str, NDArray[Any]]:
        return {"w": self._w}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._w = state["w"]
