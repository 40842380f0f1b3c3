"""FairPairs: neighbours swapped at random, and a Bradley–Terry model of which of the two is clicked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import rank
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import NotFinite
from smidgen.features.rows import differences
from smidgen.geometry.space import plain
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.rank.base import FAIR, Answer, Drawing, RankLearner, kept_pairs

BEGIN = 1e-8  # G₀ of AdaGrad


def _bytes_of_state(settings: Mapping[str, Any]) -> int:
    """Three vectors, and a count."""
    return 8 * (3 * int(settings["dim"]) + 1)


@register(
    Card(
        loop="rank",
        feedback=("clicks", "better"),
        draws=True,
        averaged=True,
        size=_bytes_of_state,
        paper="Radlinski & Joachims 2006",
        cost="argmax + depth draws + N per pair",
        example={"dim": 4, "depth": 4},
    )
)
class FairPairs(RankLearner):
    """Swap neighbours at random, and learn which of a pair is clicked: people notice it least.

    Parameters
    ----------
    dim
        The number of features N.
    step
        The rate of AdaGrad.
    depth
        Pairs are taken from the first ``depth`` positions.
    alternate
        Toss a coin for the pairing too: (1, 2), (3, 4), … or (2, 3), (4, 5), …. Only then can the clicks tell how far
        people look (`smidgen.evaluate.examination`).
    seed
        Seeds the coins, which are a function of the decision's number.

    Notes
    -----
    **Update** rank by w; swap each of the pairs (1, 2), (3, 4), … within the first ``depth`` with probability ½. Where
    exactly one of a pair was clicked, δ = x_clicked − x_other, from the top: g = −σ(−w·δ) δ, G ← G + g²,
    w ← w − step·g/√G, by feature; w = 0 and G = 1e-8 at first. A better ranking counts a pair that it turned round
    twice.
    **Symbols** η: ``step``, the list before the swaps: ``decision.greedy``, the pairs: ``decision.teams``.
    **Assumes** that of two neighbours in random order the better one is clicked more often: P(a before b) =
    σ(w·(x_a − x_b)), the model of Bradley and Terry.
    **Bound** none is known.
    **Cost** one argmax and a draw per pair to decide, N per pair to learn. Memory 3 N.
    **Differs** the paper says how to show pairs and read clicks; the model and its AdaGrad steps are ours. `decide`
    ranks by the present w, `predict` by the mean of all w, `mean_weights`, which wavers less.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.FairPairs(dim=2)
    >>> query = smidgen.Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> for _ in range(50):
    ...     d = learner.decide(query)
    ...     learner.learn(d, smidgen.Clicks([1]))
    >>> int(learner.predict(query)[0])
    1

    References
    ----------
    .. [1] F. Radlinski, T. Joachims. Minimally invasive randomization for collecting unbiased preferences from
       clickthrough logs. AAAI 2006.
    .. [2] J. Duchi, E. Hazan, Y. Singer. Adaptive subgradient methods for online learning and stochastic
       optimization. JMLR 12, 2011.
    """

    def __init__(self, *, dim: int, step: float = 0.1, depth: int = 10, alternate: bool = False, seed: int = 0) -> None:
        self.step = checks.number("step", step, "omit it for 0.1", above=0.0)
        self.alternate = checks.flag("alternate", alternate, "omit it for False")
        params = {"step": self.step, "depth": depth, "alternate": self.alternate}
        super().__init__(dim=dim, depth=depth, params=params, seed=seed)
        self._squares: FloatArray = np.full(self.dim, BEGIN)
        self._total: FloatArray = np.zeros(self.dim)

    def drawing(self) -> Drawing:
        """The learner in compiled loops."""
        return Drawing(FAIR, self.depth, self._coins, step=self.step, alternate=self.alternate)

    def _draw(self, scores: FloatArray, greedy: IntArray, number: int, order: IntArray) -> tuple[float, Any]:
        order[:] = greedy
        teams: IntArray = np.empty(len(order), np.int64)
        return rank.swap_with_chance(self._coins, number, self.depth, 0.5, self.alternate, order, teams), teams

    def _step(self, decision: Decision, shown: IntArray, answer: Answer) -> bool:
        pairs: IntArray = np.empty((2 * len(shown), 2), np.int64)
        count = rank.preferred_pairs(shown, kept_pairs(decision, len(shown)), answer.standing, answer.clicks, pairs)
        w, squares = self._w, self._squares
        if count:
            w, squares = w.copy(), squares.copy()
            deltas = differences(self._rows(decision.context), pairs[:count])
            if not rank.adagrad_pairs(deltas, self.step, w, squares):
                raise NotFinite("the step leads to values that are not finite", "scale the features down")
        self._w, self._squares, self._total = w, squares, self._total + w
        return count > 0

    def _predict(self, context: Any) -> IntArray:
        return self._ranked(context, self.mean_weights)

    @property
    def mean_weights(self) -> FloatArray:
        """The mean of the weights after each round learnt, those of the start before: what `predict` goes by."""
        return np.asarray(self._total / self.rounds) if self.rounds else self._w.copy()

    def _state(self) -> dict[str, NDArray[Any]]:
        return {**super()._state(), "squares": self._squares, "total": self._total}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(state)
        self._squares, self._total = plain(state["squares"]), plain(state["total"])
