"""The multiclass perceptron (Crammer and Singer 2003), which sees the true label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smidgen._core import label
from smidgen.decision import Decision
from smidgen.learners.base import kept_row, register
from smidgen.learners.card import Card
from smidgen.learners.label.base import PlainLabelLearner, Shown, Stream


@register(
    Card(
        loop="label",
        feedback="label",
        paper="Crammer & Singer 2003",
        bound="a mistake bound, in the paper",
        cost="K·nnz",
        example={"dim": 4, "n_classes": 3},
    )
)
class MulticlassPerceptron(PlainLabelLearner):
    """On a mistake, add x to the true class and subtract it from the one shown.

    A full-information relative of the one-bit learners: it needs the true label.

    Parameters
    ----------
    dim
        The number of features.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    labels
        Names of the labels: any hashable values.
    dtype
        "float64" or "float32".
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** ỹ = argmax w_i·x; if ỹ ≠ y: w_y ← w_y + x, w_ỹ ← w_ỹ − x.
    **Symbols** x: ``context``, ỹ: ``decision.action``, y: ``feedback``.
    **Assumes** nothing.
    **Bound** the perceptron's: mistakes bounded by margin and cumulative hinge loss [1].
    **Cost** K·nnz to decide, 2·nnz to learn. Memory K·dim.
    **Differs** [1] describes a family of updates; this is its max-score member, which changes the class shown only.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.MulticlassPerceptron(dim=2, n_classes=2)
    >>> learner.learn(learner.decide(np.array([0.0, 1.0])), 1)
    >>> learner.predict(np.array([0.0, 1.0]))
    1

    References
    ----------
    .. [1] K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass problems. JMLR 3, 2003.
    """

    feedback = "full"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        super().__init__(dim=dim, n_classes=n_classes, labels=labels, dtype=dtype, params={}, seed=seed)

    def _decide(self, context: Any, number: int) -> Decision:
        row, scores = self._row(context), np.empty(self.n_classes)
        action = label.score_classes(self._W, row.indices, row.values, scores)
        return self._record(number, row, action, action, scores)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        true, row = self._classes.index(feedback), kept_row(decision, self.dim, self._dtype)
        action = self._classes.index(decision.action)
        if action != true:
            label.add_to_class(self._W, true, row.indices, row.values, 1.0)
            label.add_to_class(self._W, action, row.indices, row.values, -1.0)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        label.perceptron_stream(self._W, self.n_classes, stream, shown)
