"""Online Newton step (Hazan, Agarwal and Kale 2007)."""

from __future__ import annotations

from smidgen import checks
from smidgen.geometry import Ball
from smidgen.geometry.space import Space
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.sizes import vector_and_matrix
from smidgen.learners.tune.base import GradientTuner
from smidgen.optim import Newton


@register(
    Card(
        loop="tune",
        feedback="gradient",
        paper="Hazan, Agarwal & Kale 2007",
        cost="4N² + a projection",
        example={"space": Ball(dim=4), "gradient_bound": 2.0, "exp_concavity": 0.5},
        first={"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "gradient_bound": 1.0, "exp_concavity": 0.5},
        recommended=(Recommended(feedback="gradient"),),
        theorem="Newton steps",
        size=vector_and_matrix,
    )
)
class ONS(GradientTuner):
    """Newton steps with the gradients' own second moment for a Hessian.

    Parameters
    ----------
    space
        The convex set of points.
    gradient_bound
        G, a bound on the norm of gradients.
    exp_concavity
        α: exp(−α·f) is concave for every loss f.
    beta
        β, if not ½·min(1/(4GD), α).
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** A ← A + ggᵀ; y ← Π^A(y − A⁻¹g/β), the projection in the norm of A; A = I/(β²D²) and y the centre at
    first.
    **Symbols** y: ``decision.action``, g: ``feedback``, D: ``space.diameter``, G: ``gradient_bound``, α:
    ``exp_concavity``.
    **Assumes** α-exp-concave losses, ‖g‖ ≤ G.
    **Bound** regret ≤ 5(1/α + GD)·N·log T (`smidgen.bounds.ons`).
    **Cost** 4N² operations and, when y has left the set, a projection.
    **Differs** a gradient longer than G counts as one of that length, and `clipped` counts it: what was declared holds.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.ONS(space=smidgen.Ball(dim=2), gradient_bound=4.0, exp_concavity=0.2)
    >>> for _ in range(300):
    ...     d = learner.decide()
    ...     learner.learn(d, 2 * (d.action - np.array([0.2, 0.4])))
    >>> np.round(learner.weights, 2)
    array([0.2, 0.4])

    References
    ----------
    .. [1] E. Hazan, A. Agarwal, S. Kale. Logarithmic regret algorithms for online convex optimization. ML 69, 2007.
    """

    def __init__(
        self, *, space: Space, gradient_bound: float, exp_concavity: float, beta: float | None = None, seed: int = 0
    ) -> None:
        alpha = checks.number("exp_concavity", exp_concavity, "give α > 0 with exp(−αf) concave", above=0.0)
        chosen = None if beta is None else checks.number("beta", beta, "omit it for the value of the theory", above=0.0)
        params = {"exp_concavity": alpha, **({} if chosen is None else {"beta": chosen})}
        super().__init__(space=space, gradient_bound=gradient_bound, params=params, seed=seed)
        self.beta = chosen or 0.5 * min(1.0 / (4.0 * self.gradient_bound * space.diameter), alpha)
        epsilon = 1.0 / (self.beta * space.diameter) ** 2
        self._rule = Newton(space=space, epsilon=epsilon, scale=1.0 / self.beta)
