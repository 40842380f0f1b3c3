"""AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009): multiclass, sees the true label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import label, second_order
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.label.base import Csr, SecondOrderLabelLearner, Shown, Stream
from smidgen.learners.sizes import by_covariance
from smidgen.state.second_order import Block


@register(
    Card(
        loop="label",
        feedback="label",
        paper="Crammer, Kulesza & Dredze 2009",
        bound="a mistake bound, in the paper",
        cost="K·nnz (diagonal), K·nnz·N (full)",
        example={"dim": 4, "n_classes": 3, "r": 0.5},
        recommended=(Recommended(feedback="label"),),
        size=by_covariance,
    )
)
class AROW(SecondOrderLabelLearner):
    """Move by the margin that is missing, most where the weights are least certain.

    A full-information relative of Confidit: it needs the true label.

    Parameters
    ----------
    dim
        The number of features.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    r
        The regularisation, > 0: the larger, the smaller the steps.
    covariance
        "diagonal" or "full".
    labels
        Names of the labels: any hashable values.
    dtype
        "float64" or "float32".
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** m = (w_y − w_q)·x, q the best other class; if m < 1: V = xᵀ(Σ_y + Σ_q)x, β = 1/(V + r);
    w_y ← w_y + (1−m)βΣ_y x, w_q ← w_q − (1−m)βΣ_q x; Σ ← Σ − β(Σx)(Σx)ᵀ for both (diagonal: the diagonal of it).
    **Symbols** x: ``context``, y: ``feedback``, r: ``r``.
    **Assumes** nothing.
    **Bound** that of the binary algorithm [1]; not a function here.
    **Cost** K·nnz to decide, K·nnz to learn (diagonal); K·nnz·d (full).
    **Differs** [1] is binary; of the multiclass forms in use this is the one that compares the true class with the
    best other one and keeps a covariance of its own for every class.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.AROW(dim=2, n_classes=2)
    >>> learner.learn(learner.decide(np.array([0.0, 1.0])), 1)
    >>> learner.predict(np.array([0.0, 1.0]))
    1

    References
    ----------
    .. [1] K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.
    """

    feedback = "full"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        r: float = 1.0,
        covariance: str = "diagonal",
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        self._r = checks.number("r", r, "give a number > 0, e.g. r=1.0", above=0.0)
        super().__init__(
            dim=dim,
            n_classes=n_classes,
            labels=labels,
            dtype=dtype,
            covariance=covariance,
            start=1.0,
            params={"r": self._r},
            seed=seed,
        )

    def _scores(self, row: Any) -> Block:
        scores = np.empty(self._columns, self._dtype)
        if self._diagonal is not None:
            second_order.class_scores(self._diagonal.S, row.indices, row.values, scores)
        else:
            second_order.scores_by_class(self._full.W, row.indices, row.values, scores)
        return scores

    def _score_rows(self, rows: Csr, out: Block) -> None:
        if self._diagonal is not None:
            label.scores_by_feature(self._diagonal.S, rows, out)
        else:
            label.scores_by_class(self._full.W, rows, out)

    def _step(self, row: Any, action: int, true: int) -> bool:
        idx, val, K = row.indices, row.values, self.n_classes
        if self._diagonal is not None:
            return second_order.arow_learn_diagonal(self._diagonal.S, idx, val, K, true, self._r)
        return second_order.arow_learn_full(self._full.W, self._full.B, idx, val, K, true, self._r)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if self._diagonal is not None:
            second_order.arow_stream_diagonal(self._diagonal.S, self.n_classes, self._r, stream, shown)
        else:
            second_order.arow_stream_full(self._full.W, self._full.B, self.n_classes, self._r, stream, shown)
