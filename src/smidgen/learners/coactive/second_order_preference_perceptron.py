"""Algorithm 6: the second-order preference perceptron."""

from __future__ import annotations

from smidgen.geometry import Ball
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.learners.sizes import vector_and_matrix
from smidgen.optim import Newton


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        paper=f"{PAPER}, Alg. 6",
        cost="argmax + 2 φ + 4N² (+ a few N² to project)",
        example={"dim": 4, "radius": 2.0},
        recommended=(Recommended(feedback="better", strength=2, up_to=1000),),
        theorem="strongly convex preferences",
        size=vector_and_matrix,
    )
)
class SecondOrderPreferencePerceptron(Coactive):
    """Newton steps: the regret falls like log(T)/T where the feedback is clean (Algorithm 6).

    Parameters
    ----------
    dim
        The number of features N.
    radius
        The radius of the ball B that w stays in; w* must lie in it.
    gamma
        γ, the weight of ΔΔᵀ in A: λ/G for λ-strongly convex losses of slope at most G.
    epsilon
        ε; A starts as εI.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** Δ = φ(x, ȳ) − φ(x, y); A ← A + γΔΔᵀ; w ← Π_{B,A}(w + A⁻¹Δ), where Π_{B,A} minimises (w − u)ᵀA(w − u) over
    u ∈ B; w = 0 and A = εI at first. **Symbols** B: the ball of ``radius``, |B| its diameter; γ: ``gamma``; ε:
    ``epsilon``. **Assumes** ‖φ(x, y)‖ ≤ R, w* ∈ B, losses λ-strongly convex and non-increasing, of slope at most G.
    **Bound** average convex regret ≤ GγΣ(ξ⁺_t)²/(2α²T) + 2GΣξ⁺_t/(αT) + Gε|B|²/(αT) + GN·log(4R²Tγ/ε + 1)/(2γαT)
    (Theorem 8, corrected; `smidgen.bounds.second_order_preference_perceptron`). **Cost** one argmax to decide; 4N² to
    learn; a projection, only when ‖w‖ > radius, a few times 2N². Memory N² (A⁻¹ only). **Differs** |B| must read |B|²,
    and the term in (ξ⁺)² needs the factor G that the proof gives it. A⁻¹ is kept by rank-one updates, as the paper
    proposes; the projection takes O(N²) by Lanczos steps where the paper counts O(N³).

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.SecondOrderPreferencePerceptron(dim=2)
    >>> menu = smidgen.Choice(np.eye(2))
    >>> learner.learn(learner.decide(menu), 1)
    >>> learner.weights
    array([-0.3333, 0.3333])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 6, Theorem 8.
    .. [2] E. Hazan, A. Agarwal, S. Kale. Logarithmic regret algorithms for online convex optimization. ML 69, 2007.
    """

    def __init__(
        self, *, dim: int, radius: float = 100.0, gamma: float = 1.0, epsilon: float = 1.0, seed: int = 0
    ) -> None:
        rule = Newton(space=Ball(dim=dim, radius=radius), gamma=gamma, epsilon=epsilon)
        params = {"dim": rule.dim, "radius": rule.space.radius, "gamma": rule.gamma, "epsilon": rule.epsilon}
        super().__init__(rule, params=params, seed=seed)

    @property
    def shared_start(self) -> str | None:
        """With the weights of one that was taught everything; A begins at εI."""
        return "pooled"
