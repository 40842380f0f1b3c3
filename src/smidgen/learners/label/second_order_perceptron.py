"""The second-order perceptron (Cesa-Bianchi, Conconi and Gentile 2005), multiclass, which sees the true label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._kernel import kernel
from smidgen.learners.card import Card, register
from smidgen.learners.label.base import Csr, Shown, Stream, all_finite
from smidgen.learners.label.second_order import SecondOrderLabelLearner
from smidgen.learners.sizes import by_covariance
from smidgen.state.classes import Block, Indices, add_to_class, best_class
from smidgen.state.diagonal import diagonal_absorb
from smidgen.state.full import full_absorb, full_moments, full_width


@kernel
def _scores_diagonal(S: Block, idx: Indices, val: Block, out: Block) -> None:
    """v_i · (A_i + diag(x²))⁻¹x."""
    C = out.shape[0]
    out[:] = 0.0
    for k in range(idx.shape[0]):
        v, row = val[k], S[idx[k]]
        vv = v * v
        for c in range(C):
            out[c] += v * row[c] * row[C + c] / (1 + vv * row[C + c])


@kernel
def _scores_full(V: Block, B: Block, idx: Indices, val: Block, out: Block, widths: Block, P: Block) -> None:
    """v_i · (A_i + xxᵀ)⁻¹x = v_i · A_i⁻¹x / (1 + xᵀA_i⁻¹x)."""
    full_moments(V, B, idx, val, out, widths, P)
    for c in range(V.shape[0]):
        total = 0.0
        for j in range(V.shape[1]):
            total += float(V[c, j]) * float(P[c, j])
        out[c] = total / (1.0 + max(float(widths[c]), 0.0))


@kernel
def _score_rows_diagonal(S: Block, rows: Csr, out: Block) -> None:
    indices, values, starts = rows
    for t in range(out.shape[0]):
        _scores_diagonal(S, indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]], out[t])


@kernel
def _score_rows_full(V: Block, B: Block, rows: Csr, out: Block) -> None:
    indices, values, starts = rows
    widths, P = np.empty(V.shape[0], V.dtype), np.empty(V.shape, V.dtype)
    for t in range(out.shape[0]):
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        _scores_full(V, B, idx, val, out[t], widths, P)


@kernel
def _learn_diagonal(S: Block, idx: Indices, val: Block, action: int, true: int) -> None:
    add_to_class(S, true, idx, val, 1.0)
    add_to_class(S, action, idx, val, -1.0)
    diagonal_absorb(S, true, idx, val, 0.0)
    diagonal_absorb(S, action, idx, val, 0.0)


@kernel
def _learn_full(V: Block, B: Block, idx: Indices, val: Block, action: int, true: int, widths: Block, P: Block) -> None:
    for k in range(idx.shape[0]):
        V[true, idx[k]] += val[k]
        V[action, idx[k]] -= val[k]
    full_absorb(B, true, P[true], full_width(B, true, P[true], float(widths[true])))
    full_absorb(B, action, P[action], full_width(B, action, P[action], float(widths[action])))


@kernel
def _hear_diagonal(S: Block, idx: Indices, val: Block, action: int, true: int) -> bool:
    """Learn one true label; says no, and changes nothing, where the scores are not finite."""
    scores = np.empty(S.shape[1] // 2, S.dtype)
    _scores_diagonal(S, idx, val, scores)
    if not all_finite(scores):
        return False
    if action != true:
        _learn_diagonal(S, idx, val, action, true)
    return True


@kernel
def _hear_full(V: Block, B: Block, idx: Indices, val: Block, action: int, true: int) -> bool:
    """The same on full state."""
    scores, widths, P = np.empty(V.shape[0], V.dtype), np.empty(V.shape[0], V.dtype), np.empty(V.shape, V.dtype)
    _scores_full(V, B, idx, val, scores, widths, P)
    if not all_finite(scores):
        return False
    if action != true:
        _learn_full(V, B, idx, val, action, true, widths, P)
    return True


@kernel
def _stream_diagonal(S: Block, K: int, stream: Stream, shown: Shown) -> None:
    indices, values, starts, truth, order = stream
    scores = np.empty(S.shape[1] // 2, S.dtype)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        _scores_diagonal(S, idx, val, scores)
        action = best_class(scores, K)
        if action != truth[t]:
            _learn_diagonal(S, idx, val, action, truth[t])
        shown[0][i], shown[1][i] = action, action


@kernel
def _stream_full(V: Block, B: Block, K: int, stream: Stream, shown: Shown) -> None:
    indices, values, starts, truth, order = stream
    C, d = V.shape
    scores, widths, P = np.empty(C, V.dtype), np.empty(C, V.dtype), np.empty((C, d), V.dtype)
    for i in range(order.shape[0]):
        t = order[i]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        _scores_full(V, B, idx, val, scores, widths, P)
        action = best_class(scores, K)
        if action != truth[t]:
            _learn_full(V, B, idx, val, action, truth[t], widths, P)
        shown[0][i], shown[1][i] = action, action


@register(
    Card(
        loop="label",
        feedback="label",
        paper="Cesa-Bianchi, Conconi & Gentile 2005",
        bound="a mistake bound, in the paper",
        cost="K·nnz (diagonal), K·nnz·N (full)",
        example={"dim": 4, "n_classes": 3, "a": 0.5},
        size=by_covariance,
    )
)
class SecondOrderPerceptron(SecondOrderLabelLearner):
    """A perceptron that divides by what it has seen of each direction, the present example included.

    A full-information relative of Confidit: it must be told the true label.

    Parameters
    ----------
    dim
        The number of features.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    a
        A_i starts as a·I, a > 0.
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
    **Update** score_i = v_i·(A_i + xxᵀ)⁻¹x (diagonal: diag(x²)); on a mistake v_y ← v_y + x, v_ỹ ← v_ỹ − x, and both
    A ← A + xxᵀ (diagonal: diag(x²)).
    **Symbols** x: ``context``, ỹ: ``decision.action``, y: ``feedback``, v_i: ``weights``, a: ``a``.
    **Assumes** nothing.
    **Bound** that of the binary algorithm [1], in terms of the spectrum of the mistaken examples; not a function here.
    **Cost** K·nnz to decide, nnz to learn (diagonal); K·nnz·d and d² (full).
    **Differs** [1] is binary and [2] does not say which multiclass form it uses. Here every class has a v and an A
    of its own, a mistake changes the true class and the one shown, and `weights` are the v.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.SecondOrderPerceptron(dim=2, n_classes=2)
    >>> learner.learn(learner.decide(np.array([0.0, 1.0])), 1)
    >>> learner.predict(np.array([0.0, 1.0]))
    1

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. A second-order perceptron algorithm. SIAM J. Comput. 34, 2005.
    .. [2] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
       Machine Learning 90, 2013.
    """

    feedback = "full"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        a: float = 1.0,
        covariance: str = "diagonal",
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        start = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0)
        super().__init__(
            dim=dim,
            n_classes=n_classes,
            labels=labels,
            dtype=dtype,
            covariance=covariance,
            start=start,
            params={"a": start},
            seed=seed,
        )

    def _start(self) -> dict[str, NDArray[Any]]:
        """a·A⁻¹v: as good under the A that a newcomer begins with as v is under its own."""
        v, inverses = self.weights, self._blocks.inverses(self.n_classes)
        moved = v * inverses if self._diagonal is not None else np.einsum("kij,kj->ki", inverses, v)
        return {"w": float(self._params["a"]) * moved}

    def _scores(self, row: Any) -> Block:
        scores = np.empty(self._columns, self._dtype)
        if self._diagonal is not None:
            _scores_diagonal(self._diagonal.S, row.indices, row.values, scores)
        else:
            widths, P = np.empty_like(scores), np.empty_like(self._full.W)
            _scores_full(self._full.W, self._full.B, row.indices, row.values, scores, widths, P)
        return scores

    def _score_rows(self, rows: Csr, out: Block) -> None:
        if self._diagonal is not None:
            _score_rows_diagonal(self._diagonal.S, rows, out)
        else:
            _score_rows_full(self._full.W, self._full.B, rows, out)

    def _step(self, row: Any, action: int, true: int) -> bool:
        if self._diagonal is not None:
            return _hear_diagonal(self._diagonal.S, row.indices, row.values, action, true)
        return _hear_full(self._full.W, self._full.B, row.indices, row.values, action, true)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if self._diagonal is not None:
            _stream_diagonal(self._diagonal.S, self.n_classes, stream, shown)
        else:
            _stream_full(self._full.W, self._full.B, self.n_classes, stream, shown)
