"""SquareCB: inverse gaps of a regression (Foster and Rakhlin 2020)."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from smidgen import checks
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.choose.base import GAPS, RewardLearner, bytes_of_state
from smidgen.learners.pacing import Budget


@register(
    Card(
        loop="choose",
        feedback="reward",
        draws=True,
        paper="Foster & Rakhlin 2020",
        theorem="inverse gaps",
        cost="K·N² (full), K·nnz (diagonal)",
        example={"dim": 4},
        size=bytes_of_state,
    )
)
class SquareCB(RewardLearner):
    """Show each candidate with a probability that falls with how far its estimate is behind the best one.

    Parameters
    ----------
    dim
        The number of joint features d: what describes a candidate in its context.
    ridge
        a; A starts as a·I.
    gamma
        γ_t = gamma·√t after t rounds learnt; the larger, the sooner the best estimate is trusted.
    covariance, forgetting, min_share
        As in `LinUCB`.
    floor
        The share of the choices that is spread evenly over the candidates, on top of what the gaps give.
    draw
        False: show the best estimate always (with propensity 1 where there is no floor).
    seed
        Seeds the draws; a draw is a function of the decision's number.
    budget
        What decisions may cost on average (`Budget`); None: no limit.

    Notes
    -----
    **Update** f_a = w·x_a, best = argmax f_a; p_a = 1/(K + γ_t(f_best − f_a)) for the others, and the rest for the
    best; draw from (1 − floor)·p + floor/K. The ridge regression learns as in `LinUCB`.
    **Symbols** f_a: ``decision.scores``, p_a: ``decision.propensities``, best: ``decision.greedy``, t: ``rounds``,
    √(x_aᵀA⁻¹x_a): ``decision.widths``, which this rule only reports.
    **Assumes** E[r] = w*·x for an unknown w*.
    **Bound** expected regret ≤ 1 + 4K√T/c + c√T·Reg/4, c = gamma, Reg the regret of the regression
    (`smidgen.bounds.squarecb`).
    **Cost** as `LinUCB`.
    **Differs** candidates of equal estimate (to 1e-12 of the highest) share the rest evenly. γ_t grows
    with √t, so that no horizon is needed; the printed γ is √(KT/Reg). The regression is ridge regression, not clipped.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> banners = smidgen.Choice(np.eye(3))
    >>> learner = smidgen.SquareCB(dim=3)
    >>> for _ in range(200):
    ...     d = learner.decide(banners)
    ...     learner.learn(d, [0.2, 0.3, 0.6][d.action])
    >>> learner.predict(banners), bool(learner.decide(banners).propensities[2] > 0.9)
    (2, True)

    References
    ----------
    .. [1] D. J. Foster, A. Rakhlin. Beyond UCB: optimal and efficient contextual bandits with regression oracles.
       ICML 2020.
    """

    def __init__(
        self,
        *,
        dim: int,
        ridge: float = 1.0,
        gamma: float = 10.0,
        covariance: str = "auto",
        forgetting: float = 1.0,
        floor: float = 0.0,
        min_share: float = 0.0,
        draw: bool = True,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> None:
        scale = checks.number("gamma", gamma, "give a number > 0, e.g. gamma=10.0", above=0.0)
        drawn = checks.flag("draw", draw, "give True or False")
        super().__init__(
            GAPS,
            dim=dim,
            ridge=ridge,
            covariance=covariance,
            forgetting=forgetting,
            floor=floor,
            min_share=min_share,
            params={"gamma": scale, "draw": drawn},
            seed=seed,
            gamma=scale,
            draw=drawn,
            budget=budget,
        )

    def _start(self) -> dict[str, NDArray[Any]]:
        """The weights, and t: newcomers trust them as far as they were learnt."""
        return {"w": self.weights, "t": self._state()["rounds"].copy()}
