"""AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009): multiclass, sees the true label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.learners.card import Card, Recommended, register
from smidgen.learners.label.base import Csr, Shown, Stream, all_finite, scores_by_class, scores_by_feature
from smidgen.learners.label.second_order import SecondOrderLabelLearner
from smidgen.learners.sizes import by_covariance
from smidgen.state.classes import Block, Indices, best_class, best_other_class, class_scores
from smidgen.state.diagonal import diagonal_moments, diagonal_shift
from smidgen.state.full import NEARLY, full_moments, full_shift, full_width, sparse_dot


@kernel
def _shrink_diagonal(S: Block, c: int, idx: Indices, val: Block, beta: float) -> None:
    """Σ_c ← Σ_c − β·(Σ_c x)², entry by entry."""
    C = S.shape[1] // 2
    for k in range(idx.shape[0]):
        sx = float(S[idx[k], C + c]) * float(val[k])
        S[idx[k], C + c] -= beta * sx * sx


@kernel
def _shrink_full(B: Block, c: int, product: Block, beta: float, width: float) -> None:
    """Σ_c ← Σ_c − β·(Σ_c x)(Σ_c x)ᵀ; what rounding takes from the diagonal beyond 1 − β·xᵀΣ_c x of it is put back."""
    b, left = B.dtype.type(beta), B.dtype.type(NEARLY * max(1.0 - beta * width, 0.0))
    for i in range(product.shape[0]):
        least = left * B[i, c, i]
        for j in range(product.shape[0]):
            B[i, c, j] -= b * (product[i] * product[j])
        B[i, c, i] = max(B[i, c, i], least)


@kernel
def _step_diagonal(
    S: Block, K: int, idx: Indices, val: Block, true: int, r: float, moments: tuple[Block, Block]
) -> None:
    means, widths = moments
    q = best_other_class(means, K, true)
    margin = float(means[true]) - float(means[q])
    if margin < 1.0:
        beta = 1.0 / (float(widths[true]) + float(widths[q]) + r)
        diagonal_shift(S, true, idx, val, (1.0 - margin) * beta)
        diagonal_shift(S, q, idx, val, -(1.0 - margin) * beta)
        _shrink_diagonal(S, true, idx, val, beta)
        _shrink_diagonal(S, q, idx, val, beta)


@kernel
def _step_full(W: Block, B: Block, K: int, true: int, r: float, moments: tuple[Block, Block, Block]) -> None:
    means, widths, P = moments
    q = best_other_class(means, K, true)
    margin = float(means[true]) - float(means[q])
    if margin < 1.0:
        own, other = full_width(B, true, P[true], float(widths[true])), full_width(B, q, P[q], float(widths[q]))
        beta = 1.0 / (own + other + r)
        full_shift(W, true, P[true], (1.0 - margin) * beta)
        full_shift(W, q, P[q], -(1.0 - margin) * beta)
        _shrink_full(B, true, P[true], beta, own)
        _shrink_full(B, q, P[q], beta, other)


@kernel
def _scores_full(W: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_i = w_i · x, W stored by class."""
    for c in range(out.shape[0]):
        out[c] = sparse_dot(W[c], idx, val)


@kernel
def _learn_diagonal(S: Block, idx: Indices, val: Block, K: int, true: int, r: float) -> bool:
    """Learn one true label; says no, and changes nothing, where the scores are not finite."""
    moments = np.empty((2, S.shape[1] // 2), S.dtype)
    diagonal_moments(S, idx, val, moments)
    if not all_finite(moments[0]):
        return False
    _step_diagonal(S, K, idx, val, true, r, (moments[0], moments[1]))
    return True


@kernel
def _learn_full(W: Block, B: Block, idx: Indices, val: Block, K: int, true: int, r: float) -> bool:
    """The same on full state."""
    means, widths, P = np.empty(W.shape[0], W.dtype), np.empty(W.shape[0], W.dtype), np.empty(W.shape, W.dtype)
    full_moments(W, B, idx, val, means, widths, P)
    if not all_finite(means):
        return False
    _step_full(W, B, K, true, r, (means, widths, P))
    return True


@kernel
def _stream_diagonal(S: Block, K: int, r: float, stream: Stream, shown: Shown) -> None:
    indices, values, starts, truth, order = stream
    moments = np.empty((2, S.shape[1] // 2), S.dtype)
    means, widths = moments[0], moments[1]
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        diagonal_moments(S, idx, val, moments)
        shown[0][i] = shown[1][i] = best_class(means, K)
        _step_diagonal(S, K, idx, val, truth[t], r, (means, widths))


@kernel
def _stream_full(W: Block, B: Block, K: int, r: float, stream: Stream, shown: Shown) -> None:
    indices, values, starts, truth, order = stream
    C, d = W.shape
    means, widths, P = np.empty(C, W.dtype), np.empty(C, W.dtype), np.empty((C, d), W.dtype)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        full_moments(W, B, idx, val, means, widths, P)
        shown[0][i] = shown[1][i] = best_class(means, K)
        _step_full(W, B, K, truth[t], r, (means, widths, P))


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

    A full-information relative of Confidit: it must be told the true label.

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
            class_scores(self._diagonal.S, row.indices, row.values, scores)
        else:
            _scores_full(self._full.W, row.indices, row.values, scores)
        return scores

    def _score_rows(self, rows: Csr, out: Block) -> None:
        if self._diagonal is not None:
            scores_by_feature(self._diagonal.S, rows, out)
        else:
            scores_by_class(self._full.W, rows, out)

    def _step(self, row: Any, action: int, true: int) -> bool:
        idx, val, K = row.indices, row.values, self.n_classes
        if self._diagonal is not None:
            return _learn_diagonal(self._diagonal.S, idx, val, K, true, self._r)
        return _learn_full(self._full.W, self._full.B, idx, val, K, true, self._r)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if self._diagonal is not None:
            _stream_diagonal(self._diagonal.S, self.n_classes, self._r, stream, shown)
        else:
            _stream_full(self._full.W, self._full.B, self.n_classes, self._r, stream, shown)
