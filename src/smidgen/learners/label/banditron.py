"""The Banditron (Kakade, Shalev-Shwartz and Tewari 2008)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import label
from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch
from smidgen.learners.base import kept_row, register
from smidgen.learners.card import Card
from smidgen.learners.label.base import PlainLabelLearner, Shown, Stream
from smidgen.learners.log_batch import BatchArrays, LearnerSteps, LogBatch, Outcomes
from smidgen.randomness import COIN, stream_key


@register(
    Card(
        loop="label",
        feedback="bit",
        draws=True,
        paper="Kakade, Shalev-Shwartz & Tewari 2008",
        bound="O(T^(-1/3)) against the hinge loss",
        cost="K·nnz",
        example={"dim": 4, "n_classes": 3, "gamma": 0.3},
    )
)
class Banditron(PlainLabelLearner):
    """A perceptron that now and then shows a random label, and corrects for it by importance weights.

    Parameters
    ----------
    dim
        The number of features.
    n_classes
        K; labels are 0 … K−1 unless ``labels`` names them.
    gamma
        γ, the share of rounds that explore, in (0, 1].
    labels
        Names of the labels: any hashable values.
    dtype
        "float64" or "float32", which is quicker and half as large.
    seed
        Seeds the exploration; a draw is a function of the decision's number.

    Notes
    -----
    **Update** ỹ = argmax w_i·x; ŷ = ỹ with probability 1 − γ, else uniform; P(ŷ) = (1−γ)[ŷ = ỹ] + γ/K;
    w_r ← w_r + x·([ŷ right]·[r = ŷ]/P(ŷ) − [r = ỹ]).
    **Symbols** x: ``context``, ŷ: ``decision.action``, ỹ: ``decision.greedy``, P(ŷ): ``decision.propensity``, γ:
    ``gamma``.
    **Assumes** nothing of the labels; unit-length features in the analysis.
    **Bound** expected mistakes exceed the comparator's hinge loss by O(T^{2/3}) with γ = T^{-1/3} (Kakade et al. 2008).
    **Cost** K·nnz to decide, at most 2·nnz to learn. Memory K·dim.
    **Differs** not at all. Ties go to the first: the printed P(ŷ) is that of one ỹ, and γ/K shows the others.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.Banditron(dim=2, n_classes=2, gamma=0.2)
    >>> for _ in range(50):
    ...     for x, y in ((np.array([1.0, 0.0]), 0), (np.array([0.0, 1.0]), 1)):
    ...         d = learner.decide(x)
    ...         learner.learn(d, d.action == y)
    >>> learner.predict(np.array([0.0, 1.0]))
    1

    References
    ----------
    .. [1] S. Kakade, S. Shalev-Shwartz, A. Tewari. Efficient bandit algorithms for online multiclass prediction.
    ICML 2008.
    .. [2] K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive regularization.
       Machine Learning 90, 2013. Section 5.2.
    """

    feedback = "one-bit"

    def __init__(
        self,
        *,
        dim: int,
        n_classes: int | None = None,
        gamma: float = 0.05,
        labels: Sequence[Hashable] | None = None,
        dtype: str = "float64",
        seed: int = 0,
    ) -> None:
        hint = "give a share of the rounds in (0, 1], e.g. gamma=0.05"
        self._gamma = checks.number("gamma", gamma, hint, above=0.0, at_most=1.0)
        super().__init__(
            dim=dim, n_classes=n_classes, labels=labels, dtype=dtype, params={"gamma": self._gamma}, seed=seed
        )
        self._key = stream_key(self._seed, COIN)

    def _decide(self, context: Any, number: int) -> Decision:
        row, scores = self._row(context), np.empty(self.n_classes)
        action, greedy, p = label.banditron_choose(
            self._W, row.indices, row.values, self._gamma, self._key, number, scores
        )
        return self._record(number, row, action, greedy, scores, p)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        right, row, p = self._right(feedback), kept_row(decision, self.dim, self._dtype), decision.propensity
        action = self._classes.index(decision.action)
        greedy = self._classes.index(decision.greedy) if decision.greedy is not decision.action else action
        if p is None:  # the app had chosen: nothing was drawn
            p = 1.0
        if not 0.0 < p <= 1.0:
            raise DecisionMismatch(
                f"decision {decision.id} has the propensity {p}", "pass the decision as decide returned it"
            )
        label.banditron_update(self._W, row.indices, row.values, action, greedy, right, p)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """The true class as if it had been shown for certain: P(ŷ) = 1."""
        true, row = self._classes.index(answer), self._row(context)
        greedy = label.score_classes(self._W, row.indices, row.values, np.empty(self.n_classes))
        label.banditron_update(self._W, row.indices, row.values, true, greedy, True, 1.0)

    def _takes(self, batch: LogBatch) -> BatchArrays | None:
        return None if float in batch.feedback_types else super()._takes(batch)

    def _ahead(self, arrays: BatchArrays, own: LearnerSteps, begin: int, end: int, outcomes: Outcomes) -> int:
        return label.banditron_follow(
            self._W, self.n_classes, self._gamma, self._key, arrays, own, begin, end, outcomes
        )

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        label.banditron_stream(self._W, self.n_classes, self._gamma, self._key, stream, first, shown)
