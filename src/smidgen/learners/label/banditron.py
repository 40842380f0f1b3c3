"""The Banditron (Kakade, Shalev-Shwartz and Tewari 2008)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._kernel import borrowing, kernel
from smidgen.decision import Decision, FloatArray
from smidgen.errors import DecisionMismatch
from smidgen.learners.card import Card, register
from smidgen.learners.courses import DECIDE, Course, Way
from smidgen.learners.follower import Noted, Trip, heard_at, row_of
from smidgen.learners.label.base import Shown, Stream
from smidgen.learners.label.plain import PlainLabelLearner, score_classes
from smidgen.learners.rows import kept_row
from smidgen.randomness import COIN, U64, first_uniform, stream_key
from smidgen.state.classes import Block, Indices, add_to_class, best_class, class_scores, prefetch_rows


@borrowing
def _draw(greedy: int, K: int, gamma: float, u: float) -> int:
    """ŷ ~ (1 − γ)[r = ỹ] + γ/K, from one uniform number."""
    if u < 1.0 - gamma:
        return greedy
    return min(int((u - (1.0 - gamma)) / gamma * K), K - 1)


@borrowing
def _propensity(action: int, greedy: int, K: int, gamma: float) -> float:
    return (1.0 - gamma if action == greedy else 0.0) + gamma / K


@borrowing
def _choose(
    W: Block, idx: Indices, val: Block, gamma: float, key: U64, number: int, scores: FloatArray
) -> tuple[int, int, float]:
    """ŷ, ỹ and P(ŷ) of one decision; writes the scores."""
    K, greedy = scores.shape[0], score_classes(W, idx, val, scores)
    action = _draw(greedy, K, gamma, first_uniform(key, number))
    return action, greedy, _propensity(action, greedy, K, gamma)


@borrowing
def _update(W: Block, idx: Indices, val: Block, action: int, greedy: int, right: bool, propensity: float) -> None:
    """w_r += x·([right][r = ŷ]/P(ŷ) − [r = ỹ])."""
    gain = 1.0 / propensity if right else 0.0
    if gain > 0.0 and action != greedy:
        add_to_class(W, action, idx, val, gain)
        gain = 0.0
    add_to_class(W, greedy, idx, val, gain - 1.0)


@borrowing
def _rounds(W: Block, gamma: float, key: U64, stream: Stream, first: int, shown: Shown, scores: Block, K: int) -> None:
    indices, values, starts, truth, order = stream
    for i in range(order.shape[0]):
        t, later = order[i], order[min(i + 1, order.shape[0] - 1)]
        idx, val = indices[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
        class_scores(W, idx, val, scores)
        prefetch_rows(W, indices[starts[later] : starts[later + 1]])
        greedy = best_class(scores, K)
        action = _draw(greedy, K, gamma, first_uniform(key, first + i))
        _update(W, idx, val, action, greedy, action == truth[t], _propensity(action, greedy, K, gamma))
        shown[0][i], shown[1][i] = action, greedy


@kernel
def _stream(W: Block, K: int, gamma: float, key: U64, stream: Stream, first: int, shown: Shown) -> None:
    _rounds(W, gamma, key, stream, first, shown, np.empty(W.shape[1], W.dtype), K)


@kernel
def _follow(W: Block, K: int, gamma: float, key: U64, way: Way, trip: Trip, begin: int, end: int, noted: Noted) -> int:
    """Steps of a course."""
    scores = np.empty(K)
    for t in range(begin, end):
        (idx, val), place = row_of(way, t), trip.places[t]
        if way.actions[t] == DECIDE:
            found = _choose(W, idx, val, gamma, key, trip.numbers[t], scores)
            noted.actions[place], noted.greedy[place], noted.p[place] = found
            continue
        action, right, p = heard_at(way, trip, noted, t)
        if not 0.0 < p <= 1.0:
            return t
        _update(W, idx, val, action, noted.greedy[place], right == 1.0, p)
    return end


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
    **Differs** not at all.

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
        action, greedy, p = _choose(self._W, row.indices, row.values, self._gamma, self._key, number, scores)
        return self._record(number, row, action, greedy, scores, p)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        right, row, p = self._right(feedback), kept_row(decision, self.dim, self._dtype), decision.propensity
        action = self._classes.index(decision.action)
        greedy = self._classes.index(decision.greedy) if decision.greedy is not decision.action else action
        if p is None or not 0.0 < p <= 1.0:
            raise DecisionMismatch(f"decision {decision.id} has the propensity {p}", "give it as decide made it")
        _update(self._W, row.indices, row.values, action, greedy, right, p)

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """The true class as if it had been shown for certain: P(ŷ) = 1."""
        true, row = self._classes.index(answer), self._row(context)
        greedy = score_classes(self._W, row.indices, row.values, np.empty(self.n_classes))
        _update(self._W, row.indices, row.values, true, greedy, True, 1.0)

    def _takes(self, course: Course) -> Way | None:
        return None if float in course.told else super()._takes(course)

    def _ahead(self, way: Way, trip: Trip, begin: int, end: int, noted: Noted) -> int:
        return _follow(self._W, self.n_classes, self._gamma, self._key, way, trip, begin, end, noted)

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        _stream(self._W, self.n_classes, self._gamma, self._key, stream, first, shown)
