"""LinUCB: the highest upper confidence bound of a linear reward (Chu, Li, Reyzin and Schapire 2011)."""

from __future__ import annotations

from smidgen import checks
from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.choose.base import UCB, RewardLearner, bytes_of_state
from smidgen.learners.pacing import Budget


@register(
    Card(
        loop="choose",
        feedback="reward",
        draws=True,
        paper="Chu, Li, Reyzin & Schapire 2011",
        theorem="optimism",
        cost="K·N² (full), K·nnz (diagonal)",
        example={"dim": 4},
        recommended=(Recommended(feedback="reward", settings={"width": 0.3, "ridge": 0.1}),),
        size=bytes_of_state,
    )
)
class LinUCB(RewardLearner):
    """Show the candidate whose reward could be highest: its estimate plus how unsure that is.

    Parameters
    ----------
    dim
        The number of joint features d: what describes a candidate in its context.
    ridge
        a; A starts as a·I.
    width
        κ, how many standard deviations are added to an estimate.
    covariance
        ``"full"``: A as a matrix; ``"diagonal"``: its diagonal, for many sparse features; ``"auto"``: full as long as
        no more than 256 columns have been met in learning, then its diagonal, for good.
    forgetting
        λ: the past fades by this factor with every reward, for rewards that drift; 1 forgets nothing.
    floor
        The share of the choices that is spread evenly over the candidates, so that each has a known propensity. 0: the
        highest bound always, with propensity 1, or 1/m where m candidates are tied.
    min_share
        The least probability of each candidate; the larger of this and floor/K holds.
    draw
        Whether one of several candidates of equal bound is drawn, each as likely as the others; False: always the
        first.
    seed
        Seeds the draws; a draw is a function of the decision's number.
    budget
        What decisions may cost on average (`Budget`); None: no limit.

    Notes
    -----
    **Update** show argmax w·x_a + κ√(x_aᵀA⁻¹x_a), ties drawn evenly, or with probability ``floor`` any; for the one
    shown A ← A + xxᵀ, b ← b + rx, w = A⁻¹b. With forgetting: A ← λA + (1−λ)aI + xxᵀ, b ← λb + rx. Diagonal: with
    u = x/a, w ← w + (r − w·x)·u/(1 + x·u), then a ← a + x².
    **Symbols** x_a: row a of ``context``, w·x_a: ``decision.scores``, κ√(·): ``decision.widths``, r: the feedback,
    argmax w·x_a: ``decision.greedy``, p_a: ``decision.propensities``.
    **Assumes** E[r] = w*·x for an unknown w*, and noise that is independent of the past.
    **Bound** with floor=0, full A, and κ as large as the theorem's: regret O(d·log T·√T) with probability 1 − δ
    (`smidgen.bounds.linucb`).
    **Cost** full: d² for each candidate, 2d² to learn (d³ with forgetting), d² memory; columns that were never met cost
    nothing. Diagonal: nnz.
    **Differs** one weight vector on joint features, not one for each arm. A is kept as a square root of its inverse,
    so that no width comes out negative. Ties, which the paper leaves open (equal to 1e-12 of the highest bound), are
    drawn by (seed, decision number), and the propensity says so. The floor is ours; it costs that share of the reward,
    and lets other policies be judged from the log. The printed κ has no default.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> banners = smidgen.Choice(np.eye(3))
    >>> learner = smidgen.LinUCB(dim=3)
    >>> for _ in range(200):
    ...     d = learner.decide(banners)
    ...     learner.learn(d, [0.2, 0.3, 0.6][d.action])
    >>> learner.predict(banners), learner.decide(banners).propensities.round(3).tolist()
    (2, [0.007, 0.007, 0.987])

    References
    ----------
    .. [1] W. Chu, L. Li, L. Reyzin, R. E. Schapire. Contextual bandits with linear payoff functions. AISTATS 2011.
    .. [2] Y. Abbasi-Yadkori, D. Pál, C. Szepesvári. Improved algorithms for linear stochastic bandits. NIPS 24, 2011.
    """

    def __init__(
        self,
        *,
        dim: int,
        ridge: float = 1.0,
        width: float = 1.0,
        covariance: str = "auto",
        forgetting: float = 1.0,
        floor: float = 0.02,
        min_share: float = 0.0,
        draw: bool = True,
        seed: int = 0,
        budget: Budget | None = None,
    ) -> None:
        drawn = checks.flag("draw", draw, "give True or False")
        kappa = checks.number("width", width, "give a number >= 0, e.g. width=1.0", at_least=0.0)
        super().__init__(
            UCB,
            dim=dim,
            ridge=ridge,
            covariance=covariance,
            forgetting=forgetting,
            floor=floor,
            min_share=min_share,
            params={"width": kappa, "draw": drawn},
            seed=seed,
            width=kappa,
            draw=drawn,
            budget=budget,
        )
