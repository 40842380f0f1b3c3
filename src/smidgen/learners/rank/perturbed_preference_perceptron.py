"""3PR: the preference perceptron on rankings whose neighbours are swapped at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import rank
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.rank.base import PERTURBED, Answer, Drawing, RankLearner, kept_pairs
from smidgen.optim.rules import moved


@register(
    Card(
        loop="rank",
        feedback=("clicks", "better"),
        draws=True,
        order_free=True,
        paper="Raman, Joachims, Shivaswamy & Schnabel 2013",
        bound="O(1/√T) + swaps, in expectation (there, Thm 1)",
        cost="argmax + depth draws + 2 φ + N",
        example={"dim": 4, "swap": 0.4, "depth": 4},
    )
)
class PerturbedPreferencePerceptron(RankLearner):
    """The preference perceptron with neighbours swapped at random, so that clicks compare fairly (3PR).

    Parameters
    ----------
    dim
        The number of features N.
    swap
        How likely each chosen pair is swapped (p in the paper).
    depth
        Pairs are taken from the first ``depth`` positions.
    seed
        Seeds the coins, which are a function of the decision's number.

    Notes
    -----
    **Update** y = argmax w·φ(x, y); one coin chooses the pairs (1, 2), (3, 4), … or (2, 3), (4, 5), …; each is swapped
    with probability p, and that ranking ŷ is shown. ȳ exchanges every chosen pair, swapped before or not, whose lower
    document was clicked and whose upper one was not (of a better ranking: which it turned round).
    w ← w + φ(x, ȳ) − φ(x, ŷ).
    **Symbols** p: ``swap``, y: ``decision.greedy``, ŷ: ``decision.action``, the pairs: ``decision.teams``.
    **Assumes** that of two neighbours the better one is clicked more often, wherever the two stand.
    **Bound** in expectation O(1/√T) plus what the swaps cost [1, Theorem 1]; no function here.
    **Cost** one argmax and a draw per pair to decide, top·N + N to learn. Memory N.
    **Differs** the paper swaps down the whole list; here within ``depth``. Places beyond the ranking's ``top`` do not
    count in φ, so pairs there teach nothing.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.PerturbedPreferencePerceptron(dim=2)
    >>> query = smidgen.Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> for _ in range(20):
    ...     d = learner.decide(query)
    ...     learner.learn(d, smidgen.Clicks([1]))
    >>> int(learner.predict(query)[0])
    1

    References
    ----------
    .. [1] K. Raman, T. Joachims, P. Shivaswamy, T. Schnabel. Stable coactive learning via perturbation. ICML 2013.
    """

    def __init__(self, *, dim: int, swap: float = 0.5, depth: int = 10, seed: int = 0) -> None:
        self.swap = checks.number("swap", swap, "omit it for 0.5", at_least=0.0, at_most=1.0)
        super().__init__(dim=dim, depth=depth, params={"swap": self.swap, "depth": depth}, seed=seed)

    def drawing(self) -> Drawing:
        """The learner in compiled loops."""
        return Drawing(PERTURBED, self.depth, self._coins, swap=self.swap)

    def _draw(self, scores: FloatArray, greedy: IntArray, number: int, order: IntArray) -> tuple[float, Any]:
        order[:] = greedy
        teams: IntArray = np.empty(len(order), np.int64)
        return rank.swap_with_chance(self._coins, number, self.depth, self.swap, True, order, teams), teams

    def _step(self, decision: Decision, shown: IntArray, answer: Answer) -> bool:
        better: IntArray = np.empty(len(shown), np.int64)
        if not rank.exchange_pairs(shown, kept_pairs(decision, len(shown)), answer.standing, better):
            return False
        context = decision.context
        self._rows(context)
        self._w = moved(self._w, context.difference(better, shown))
        return True
