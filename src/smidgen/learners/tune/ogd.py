"""Online gradient descent (Zinkevich 2003)."""

from __future__ import annotations

from smidgen.geometry import Ball
from smidgen.geometry.space import Space
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.tune.base import GradientTuner
from smidgen.optim import Gradient


@register(
    Card(
        loop="tune",
        feedback="gradient",
        paper="Zinkevich 2003",
        cost="N + a projection",
        example={"space": Ball(dim=4), "gradient_bound": 2.0},
        first={"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "gradient_bound": 1.0},
        theorem="gradient descent",
    )
)
class OGD(GradientTuner):
    """Step against the gradient, by less and less, and come back to the set.

    Parameters
    ----------
    space
        The convex set of points.
    gradient_bound
        G, a bound on the norm of gradients.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** y ← Π(y − D/(G√t)·g) in the t-th learnt round; y starts in the centre.
    **Symbols** y: ``decision.action``, g: ``feedback``, D: ``space.diameter``, G: ``gradient_bound``.
    **Assumes** convex losses, ‖g‖ ≤ G.
    **Bound** regret ≤ 3GD√T/2 (`smidgen.bounds.ogd`).
    **Cost** N operations and a projection.
    **Differs** a gradient longer than G counts as one of that length, and `clipped` counts it: what was declared holds.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.OGD(space=smidgen.Box(low=[0.0, 0.0], high=[1.0, 1.0]), gradient_bound=4.0)
    >>> for _ in range(300):
    ...     d = learner.decide()
    ...     learner.learn(d, 2 * (d.action - np.array([0.2, 0.9])))
    >>> learner.weights
    array([0.2, 0.9])

    References
    ----------
    .. [1] M. Zinkevich. Online convex programming and generalized infinitesimal gradient ascent. ICML 2003.
    """

    def __init__(self, *, space: Space, gradient_bound: float, seed: int = 0) -> None:
        super().__init__(space=space, gradient_bound=gradient_bound, params={}, seed=seed)
        self._rule = Gradient(space=space, scale=space.diameter / self.gradient_bound)
