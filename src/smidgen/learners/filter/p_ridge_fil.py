"""P-RIDGE-FIL: forward what seems relevant, and now and then something that does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._core import filter as core
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.filter.base import Filter, Shown, Stream
from smidgen.learners.filter.simple_fil import PAPER
from smidgen.learners.sizes import vector_and_matrix
from smidgen.randomness import COIN, stream_key
from smidgen.state.second_order import FullClasses


@register(
    Card(
        loop="filter",
        feedback="relevance",
        draws=True,
        paper=f"{PAPER}, Fig. 2",
        cost="nnz, N² to learn",
        example={"dim": 4, "p": 0.3},
        first={"p": 0.1},
        theorem="filtering at random",
        size=vector_and_matrix,
    )
)
class PRidgeFil(Filter):
    """Forward iff w·x ≥ 0, else with probability p; w by ridge regression, kept in the unit ball (Figure 2).

    Parameters
    ----------
    dim
        The number of features N.
    a
        The ridge; A starts as a·I.
    p
        The probability of forwarding what seems irrelevant; or
    horizon
        n, the number of items to come: p = (1 + 1/√n)/(2√n), as in Theorem 3.
    seed
        Seeds the exploration; a draw is a function of the decision's number.

    Notes
    -----
    **Update** for forwarded items A ← A + xxᵀ, w ← w + (y − w·x)·A⁻¹x with the new A, y = ±1; then w ← the nearest
    point of the unit ball in the norm of A.
    **Symbols** w·x: ``decision.margin``, p: ``p``, n: ``horizon``; ``decision.propensity`` is the probability of
    what was done.
    **Assumes** ‖x‖ = 1, E[y] = u·x with ‖u‖ = 1, |u·x| ≥ γ.
    **Bound** expected regret of n items ≤ 2a√n/γ + 8√n·N·ln(1 + n/(aN))/γ + √n/2 + 1/2 (Theorem 3;
    `smidgen.bounds.p_ridge_fil`).
    **Cost** nnz to decide, 4N² to learn, a few N² more when w leaves the ball. Memory N².
    **Differs** the printed A_k⁻¹ and A = SSᵀ must read A_{k+1}⁻¹ and aI + SSᵀ.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> alerts = smidgen.PRidgeFil(dim=2, horizon=500)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     x = np.eye(2)[rng.integers(2)]
    ...     d = alerts.decide(x)
    ...     if d.action:
    ...         alerts.learn(d, bool(x[0]))
    >>> alerts.predict(np.array([1.0, 0.0])), alerts.predict(np.array([0.0, 1.0]))
    (True, False)

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
    """

    def __init__(
        self, *, dim: int, a: float = 1.0, p: float | None = None, horizon: int | None = None, seed: int = 0
    ) -> None:
        self.dim = checks.dimension(dim)
        start = checks.number("a", a, "give a number > 0, e.g. a=1.0", above=0.0)
        if (p is None) == (horizon is None):
            raise InvalidArgument("p and horizon were both given, or neither", "give one of them")
        if horizon is not None:
            n = checks.whole("horizon", horizon, "give the number of items to come")
            self._p = min(1.0, (1.0 + 1.0 / math.sqrt(n)) / (2.0 * math.sqrt(n)))
            chosen: dict[str, Any] = {"horizon": n}
        else:
            self._p = checks.number("p", p, "give a probability", at_least=0.0, at_most=1.0)
            chosen = {"p": self._p}
        super().__init__(params={"dim": self.dim, "a": start, **chosen}, seed=seed)
        self._blocks = FullClasses(self.dim, 1, start, np.float64)
        self._key = stream_key(self._seed, COIN)

    def _decide(self, context: Any, number: int) -> Decision:
        row = self._row(context)
        margin, forward = core.p_ridge_decide(self._blocks.W, row.indices, row.values, self._p, self._key, number)
        greedy = margin >= 0.0
        propensity = 1.0 if greedy else self._p if forward else 1.0 - self._p
        return self._record(number, row, forward, greedy, margin, 0.0, propensity)

    def _learn_relevance(self, decision: Decision, relevant: bool) -> None:
        row = self._take_row(decision)
        y = 1.0 if relevant else -1.0
        if not core.p_ridge_hear(self._blocks.W, self._blocks.B, row.indices, row.values, y):
            raise NotFinite("the features lead to a margin that is not finite", "scale them down")

    def _predict(self, context: Any) -> bool:
        row = self._row(context)
        return core.p_ridge_decide(self._blocks.W, row.indices, row.values, self._p, self._key, 0)[0] >= 0.0

    def _play(self, stream: Stream, first: int, shown: Shown) -> None:
        core.p_ridge_stream(self._blocks.W, self._blocks.B, self._p, self._key, stream, first, shown)

    @property
    def weights(self) -> FloatArray:
        """The weights w."""
        return np.asarray(self._blocks.weights(1)[0])

    def _state(self) -> dict[str, NDArray[Any]]:
        return self._blocks.arrays()

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._blocks.restore(state)
