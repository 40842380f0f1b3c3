"""Thompson sampling of a linear reward, by as many draws as make its propensities known (Agrawal and Goyal 2013)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from smidgen import checks
from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.choose.base import SAMPLES, RewardLearner, bytes_of_state
from smidgen.learners.pacing import Budget


@register(
    Card(
        loop="choose",
        feedback="reward",
        draws=True,
        paper="Agrawal & Goyal 2013",
        theorem="posterior sampling",
        cost="K·N² + 100·K·N (full), 100·K·nnz (diagonal)",
        example={"dim": 4},
        size=bytes_of_state,
    )
)
class ThompsonChoice(RewardLearner):
    """Show each candidate as often as it is the best one in draws from what is known of the rewards.

    Parameters
    ----------
    dim
        The number of joint features d: what describes a candidate in its context.
    ridge
        a; A starts as a·I.
    width
        v, the scale of the draws.
    samples
        M, the number of draws.
    covariance, forgetting, min_share
        As in `LinUCB`.
    floor
        The share of the choices that is spread evenly over the candidates.
    draw
        False: show the candidate that is best in most draws, always (with propensity 1 where there is no floor).
    seed
        Seeds the draws; they are a function of the decision's number.
    budget
        What decisions may cost on average (`Budget`); None: no limit.

    Notes
    -----
    **Update** M draws w̃ ~ N(w, v²A⁻¹); q_a = the share of them in which a has the highest w̃·x_a; draw from
    (1 − floor)·q + floor/K. The ridge regression learns as in `LinUCB`.
    **Symbols** w·x_a: ``decision.scores``, v√(x_aᵀA⁻¹x_a): ``decision.widths``, (1 − floor)·q_a + floor/K:
    ``decision.propensities``.
    **Assumes** E[r] = w*·x for an unknown w*.
    **Bound** O(d·log T·√T) expected regret, if w* was drawn from the prior (`smidgen.bounds.thompson`).
    **Cost** as `LinUCB`, and M draws: M·K·d (full), M·nnz for each candidate (diagonal).
    **Differs** the paper shows the best of one draw. To draw one of M is the same, but now the propensity is known: it
    is exact, given the draws, which belong to the decision. Candidates that tie in a draw share it evenly.
    With floor=0 a candidate that is best in none of them has propensity 0.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> banners = smidgen.Choice(np.eye(3))
    >>> learner = smidgen.ThompsonChoice(dim=3)
    >>> for _ in range(200):
    ...     d = learner.decide(banners)
    ...     learner.learn(d, [0.2, 0.3, 0.6][d.action])
    >>> learner.predict(banners)
    2

    References
    ----------
    .. [1] S. Agrawal, N. Goyal. Thompson sampling for contextual bandits with linear payoffs. ICML 2013.
    .. [2] D. Russo, B. Van Roy. Learning to optimize via posterior sampling. Mathematics of Operations Research 39,
       2014.
    """

    settings_version = 2
    older_settings = MappingProxyType({1: {"ridge": 1.0, "width": 1.0}})

    def __init__(
        self,
        *,
        dim: int,
        ridge: float = 0.1,
        width: float = 0.1,
        samples: int = 100,
        covariance: str = "auto",
        forgetting: float = 1.0,
        floor: float = 0.0,
        min_share: float = 0.0,
        draw: bool = True,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> None:
        scale = checks.number("width", width, "give a number >= 0, e.g. width=0.1", at_least=0.0)
        count = checks.whole("samples", samples, "give the number of draws, at most 100,000", below=100_001)
        drawn = checks.flag("draw", draw, "give True or False")
        super().__init__(
            SAMPLES,
            dim=dim,
            ridge=ridge,
            covariance=covariance,
            forgetting=forgetting,
            floor=floor,
            min_share=min_share,
            params={"width": scale, "samples": count, "draw": drawn},
            seed=seed,
            width=scale,
            samples=count,
            draw=drawn,
            budget=budget,
        )

    def _start(self) -> dict[str, NDArray[Any]]:
        """The weights and the diagonal of A: newcomers draw from what is known."""
        return {"w": self.weights, "a": self._diagonal()}
