"""Algorithm 5: the convex preference perceptron."""

from __future__ import annotations

from smidgen import checks
from smidgen.geometry import Ball
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.optim import Gradient


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        paper=f"{PAPER}, Alg. 5",
        cost="argmax + 2 φ + 2N",
        example={"dim": 4, "radius": 2.0},
        first={"radius": 10.0},
        theorem="convex preferences",
    )
)
class ConvexPreferencePerceptron(Coactive):
    """Steps that shrink as 1/√t, projected on a ball: for any convex loss of the utility gap (Algorithm 5).

    Parameters
    ----------
    dim
        The number of features N.
    radius
        The radius of the ball B that w stays in; w* must lie in it.
    lipschitz
        G, a bound on the slope of the loss: c′(θ) ∈ [−G, 0].
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** w ← Π_B(w + (G/√t)(φ(x, ȳ) − φ(x, y))) in the t-th learnt round; w = 0 at first. **Symbols** B: the ball
    of ``radius``, |B| its diameter 2·radius, G: ``lipschitz``. **Assumes** ‖φ(x, y)‖ ≤ R, w* ∈ B, losses convex,
    non-increasing, of slope at most G. **Bound** average convex regret ≤ (|B|²/(2√T) + G|B|²/T + 4R²G²/√T)/α +
    2GΣξ⁺_t/(αT) (Theorem 6, corrected; `smidgen.bounds.convex_preference_perceptron`). **Cost** as
    `PreferencePerceptron` plus one norm; memory N. **Differs** G is in the step, as in the paper of 2012 [2, Algorithm
    2]; the journal's Algorithm 5 leaves it out, and its Theorem 6 as printed fits the step without G (the bound
    function has both). |B| must read |B|².

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.ConvexPreferencePerceptron(dim=2, radius=1.0)
    >>> menu = smidgen.Choice(np.eye(2))
    >>> learner.learn(learner.decide(menu), 1)
    >>> learner.weights
    array([-0.7071, 0.7071])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 5, Theorem 6.
    .. [2] P. Shivaswamy, T. Joachims. Online Structured Prediction via Coactive Learning. ICML 2012. Algorithm 2.
    """

    def __init__(self, *, dim: int, radius: float, lipschitz: float = 1.0, seed: int = 0) -> None:
        G = checks.number("lipschitz", lipschitz, "omit it for 1.0, the linear loss", above=0.0)
        rule = Gradient(space=Ball(dim=dim, radius=radius), scale=G)
        super().__init__(rule, params={"dim": rule.dim, "radius": rule.space.radius, "lipschitz": G}, seed=seed)
