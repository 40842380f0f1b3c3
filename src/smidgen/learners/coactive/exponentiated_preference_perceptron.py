"""Algorithm 4: the exponentiated preference perceptron."""

from __future__ import annotations

from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.optim import Exponentiated


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        paper=f"{PAPER}, Alg. 4",
        cost="argmax + 2 φ + N exp",
        example={"dim": 4, "bound": 1.0},
        first={"bound": 1.0},
        theorem="exponentiated preferences",
    )
)
class ExponentiatedPreferencePerceptron(Coactive):
    """Multiply the weights instead of adding to them: quick when few features matter (Algorithm 4).

    Parameters
    ----------
    dim
        The number of features.
    bound
        S, a bound on the absolute value of every joint feature: ‖φ(x, y)‖∞ ≤ S.
    horizon
        T, the number of rounds to come, for the fixed rate of the paper's theorem; left out, the rate of its
        experiments, 1/(2S√t), which needs no horizon (and has no theorem).
    signed
        Double the features to [φ, −φ], so that the utility may fall with a feature (eq. 22–23).
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** w_i ← w_i·exp(η Δ_i)/Z, Δ = φ(x, ȳ) − φ(x, y); w_i = 1/N at first; η = 1/(2S√T), or 1/(2S√t) in the t-th
    learnt round. **Symbols** S: ``bound``, T: ``horizon``, N: the number of weights (2·``dim`` if ``signed``).
    `weights` is the folded vector w⁺ − w⁻. **Assumes** ‖φ‖∞ ≤ S; w* ≥ 0 with ‖w*‖₁ = 1 (any w* if ``signed``; the bound
    grows with ‖w*‖₁). S sets the rate and nothing else: a feature beyond it is learnt as it is, and the theorem does
    not hold then. ``guard()`` bounds the influence of rows far beyond the usual; served models have it. **Bound**
    average regret ≤ 2S(log N + 1)/(α√T) + Σξ_t/(αT) (Theorem 5, corrected;
    `smidgen.bounds.exponentiated_preference_perceptron`), with ``horizon`` only. **Cost** as `PreferencePerceptron`
    plus one exp per weight; memory 2·dim. **Differs** the first line of eq. 22 must read max(0, w_i), not min. In
    Theorem 5 the logarithm is that of the number of (doubled) features, and 2S stands for S/2, since ‖Δ‖∞ ≤ 2S. The
    weights are kept as logarithms, so none is ever lost to underflow.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.ExponentiatedPreferencePerceptron(dim=2, bound=1.0, horizon=100)
    >>> learner.weights
    array([0., 0.])
    >>> menu = smidgen.Choice(np.eye(2))
    >>> learner.learn(learner.decide(menu), 1)
    >>> learner.weights
    array([-0.025, 0.025])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 4, Theorem 5, Section 6.3.
    .. [2] J. Kivinen, M. Warmuth. Exponentiated gradient versus gradient descent. Inf. Comput. 132, 1997.
    """

    def __init__(
        self, *, dim: int, bound: float, horizon: int | None = None, signed: bool = True, seed: int = 0
    ) -> None:
        rule = Exponentiated(dim=dim, bound=bound, horizon=horizon, signed=signed)
        super().__init__(rule, params=rule.to_record(), seed=seed)
