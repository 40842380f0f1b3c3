"""The second-order perceptron (Cesa-Bianchi, Conconi and Gentile 2005), multiclass, which sees the true label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import matrix, second_order
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.label.base import Csr, SecondOrderLabelLearner, Shown, Stream
from smidgen.learners.sizes import by_covariance
from smidgen.state.second_order import Block


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

    A full-information relative of Confidit: it needs the true label.

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
        start = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0, single=dtype == "float32")
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
        moved = np.zeros_like(v)
        if self._diagonal is not None:
            moved = v * inverses
        else:
            for inverse, own, out in zip(inverses, v, moved, strict=True):
                matrix.add_product(inverse, own[:, None], 1, out[:, None])
        return {"w": float(self._params["a"]) * moved}

    def _scores(self, row: Any) -> Block:
        scores = np.empty(self._columns, self._dtype)
        if self._diagonal is not None:
            second_order.perceptron_scores_diagonal(self._diagonal.S, row.indices, row.values, scores)
        else:
            second_order.perceptron_scores_full(self._full.W, self._full.B, row.indices, row.values, scores)
        return scores

    def _score_rows(self, rows: Csr, out: Block) -> None:
        if self._diagonal is not None:
            second_order.perceptron_score_rows_diagonal(self._diagonal.S, rows, out)
        else:
            second_order.perceptron_score_rows_full(self._full.W, self._full.B, rows, out)

    def _step(self, row: Any, action: int, true: int) -> bool:
        if self._diagonal is not None:
            return second_order.perceptron_learn_diagonal(self._diagonal.S, row.indices, row.values, action, true)
        return second_order.perceptron_learn_full(self._full.W, self._full.B, row.indices, row.values, action, true)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        if self._diagonal is not None:
            second_order.perceptron_stream_diagonal(self._diagonal.S, self.n_classes, stream, shown)
        else:
            second_order.perceptron_stream_full(self._full.W, self._full.B, self.n_classes, stream, shown)
