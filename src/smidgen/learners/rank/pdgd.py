"""Pairwise differentiable gradient descent: clicks on drawn rankings, weighed against the place they came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core import rank
from smidgen.arrays import writable
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch
from smidgen.features import Rows
from smidgen.features.rows import unit_columns, unit_queries
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.rank.base import DRAWN, Answer, Drawing, RankLearner
from smidgen.optim.rules import moved


@register(
    Card(
        loop="rank",
        feedback=("clicks", "better"),
        recommended=(Recommended(feedback="clicks", strength=2, settings={"normalize": True}),),
        draws=True,
        order_free=True,
        paper="Oosterhuis & de Rijke 2018",
        bound="none is known; the step is unbiased as to places",
        cost="argmax + n draws + pairs·depth + N per document touched",
        example={"dim": 4, "step": 0.5, "depth": 4},
    )
)
class PDGD(RankLearner):
    """Show a ranking drawn by the scores, and learn from pairs of documents, clicked over not clicked.

    The one to begin with where people click. People look at the top first, so what is shown high is clicked more; a
    learner that shows its best list every time takes that for merit. This one draws what it shows, and weighs each
    pair by how likely the list was against the list with the two exchanged.

    Parameters
    ----------
    dim
        The number of features N.
    step
        How far to go. 0.3 is a good beginning; features should be of comparable size.
    depth
        Pairs are taken from the first ``depth`` positions.
    normalize
        Bring each feature to [0, 1] over the candidates of a query; one that is the same for all becomes 0.
    seed
        Seeds the draws, which are a function of the decision's number.

    Notes
    -----
    **Update** s = docs·w, w = 0 at first; show the documents sorted by s + Gumbel noise (a Plackett–Luce draw). Pairs a
    over b within the first ``depth``: of clicks, a clicked and b not, b above the last click or just after it; of a
    better ranking, a was below b and now is above it. w ← w + step·Σ ρ_ab σ(s_a − s_b) σ(s_b − s_a) (x_a − x_b), ρ_ab =
    P(R*)/(P(R) + P(R*)). **Symbols** η: ``step``, s: ``decision.scores``, R: ``decision.action``, R*: the same with a
    and b exchanged, log P of the first ``depth`` places: ``decision.log_propensity``, σ(z) = 1/(1 + exp(−z)).
    **Assumes** that whether a document is clicked depends on it and on its place, and that people do not skip upward.
    **Bound** none is known. In expectation the step prefers a to b only if people do, whatever the places [1]. **Cost**
    one argmax and n logarithms to decide; to learn, a multiplication per place between the two for each pair, and N for
    each document in one. Memory N. **Differs** the paper learns from clicks; a better ranking is read the same way
    here. P(R)/P(R*) is a product over the places between the two, in logarithms where it could vanish. s and P are
    those of the decision, so late and permuted feedback gives the same weights. No learning rate decay and no
    regularisation.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.PDGD(dim=2)
    >>> query = smidgen.Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> for _ in range(200):
    ...     d = learner.decide(query)
    ...     learner.learn(d, smidgen.Clicks([1]))
    >>> learner.predict(query)
    array([1, 2, 0])

    References
    ----------
    .. [1] H. Oosterhuis, M. de Rijke. Differentiable unbiased online learning to rank. CIKM 2018.
    .. [2] R. L. Plackett. The analysis of permutations. Applied Statistics 24, 1975.
    """

    def __init__(self, *, dim: int, step: float = 0.3, depth: int = 10, normalize: bool = False, seed: int = 0) -> None:
        self.step = checks.number("step", step, "omit it for 0.3", above=0.0)
        self.normalize = checks.flag("normalize", normalize, "omit it for False")
        params = {"step": self.step, "depth": depth, "normalize": self.normalize}
        super().__init__(dim=dim, depth=depth, params=params, seed=seed)

    def drawing(self) -> Drawing:
        """The learner in compiled loops."""
        return Drawing(DRAWN, self.depth, self._coins, step=self.step)

    def seen_features(self, X: FloatArray, starts: IntArray) -> FloatArray:
        """The features of many queries, those of each brought to [0, 1] if ``normalize`` says so."""
        return unit_queries(X, starts) if self.normalize else X

    def _rows(self, context: Any) -> Rows:
        rows = super()._rows(context)
        return unit_columns(rows) if self.normalize else rows

    def _draw(self, scores: FloatArray, greedy: IntArray, number: int, order: IntArray) -> tuple[float, Any]:
        return rank.draw_with_chance(scores, self._coins, number, min(self.depth, len(order)), order), None

    def _step(self, decision: Decision, shown: IntArray, answer: Answer) -> bool:
        scores = decision.scores
        if scores is None or scores.shape != shown.shape or scores.dtype != np.float64:
            raise DecisionMismatch(
                f"decision {decision.id} has no score per document", "pass the decision as decide returned it"
            )
        worth = np.empty(3 * len(shown) + 1)
        standing, places, clicks = answer
        found = rank.pair_coefficients(
            writable(scores), shown, standing, min(places, self.depth), clicks, self.step, worth
        )
        if found:
            self._w = moved(self._w, self._rows(decision.context).combine(shown, worth[: len(shown)]))
        return found
