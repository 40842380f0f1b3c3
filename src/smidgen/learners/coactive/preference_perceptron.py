"""Algorithm 1: the preference perceptron."""

from __future__ import annotations

from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.optim import Additive


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        paper=f"{PAPER}, Alg. 1",
        cost="argmax + 2 φ + N",
        example={"dim": 4},
        recommended=(Recommended(feedback="better"), Recommended(feedback="clicks")),
        theorem="preferences",
        order_free=True,
    )
)
class PreferencePerceptron(Coactive):
    """Add the better object's features, subtract those of the one shown (Algorithm 1).

    The one to begin with: no parameter, one vector of state, and feedback may come in any order.

    Parameters
    ----------
    dim
        The number of features N.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** y = argmax w·φ(x, y); w ← w + φ(x, ȳ) − φ(x, y); w = 0 at first.
    **Symbols** x: ``context``, y: ``decision.action``, ȳ: ``feedback``, w: ``weights``.
    **Assumes** ‖φ(x, y)‖ ≤ R and utility w*·φ(x, y); feedback α-informative up to the slack ξ_t (eq. 6). Neither
    α nor R needs to be known.
    **Bound** average regret ≤ 2R‖w*‖/(α√T) + Σξ_t/(αT) (Theorem 1; Corollary 2 in expectation;
    `smidgen.bounds.preference_perceptron`). Feedback that lags by τ updates costs a factor of at most √(1+2τ).
    **Cost** one argmax to decide (n·N for a ranking, plus the sort); top·N + N to learn. Memory N.
    **Differs** not at all.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.PreferencePerceptron(dim=2)
    >>> query = smidgen.Ranking(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> d = learner.decide(query)
    >>> d.action
    array([0, 1, 2])
    >>> learner.learn(d, smidgen.from_clicks(d.action, clicked=[1]))
    >>> learner.predict(query)
    array([1, 2, 0])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 1, Theorem 1.
    .. [2] P. Shivaswamy, T. Joachims. Online Structured Prediction via Coactive Learning. ICML 2012.
    """

    def __init__(self, *, dim: int, seed: int = 0) -> None:
        rule = Additive(dim=dim)
        super().__init__(rule, params=rule.to_record(), seed=seed)
