"""The soft form of the preference perceptron, for texts that people edit."""

from __future__ import annotations

from smidgen.learners.base import register
from smidgen.learners.card import Card, Recommended
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.optim import Soft
from smidgen.structures import Drafts


@register(
    Card(
        loop=("rank", "choose", "draft"),
        feedback=("better", "clicks", "edit"),
        paper=f"{PAPER}, Alg. 1, in a soft form",
        bound="twice that of Alg. 1 where the better object was on offer; none for texts that were not",
        cost="argmax + 2 φ + N",
        recommended=(Recommended(feedback="edit"),),
    )
)
class SoftPreferencePerceptron(Coactive):
    r"""Step towards what people made of a draft, by how much they changed and how far it is news.

    The recommended start for drafts that people edit. If a user makes the same correction repeatedly, it moves the
    weights less and less once they agree, so that rare wishes still have an effect next to common ones.

    Parameters
    ----------
    dim
        The number of features N; left out, that of `Drafts`.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** y = argmax w·φ(x, y); Δ = φ(x, ȳ) − φ(x, y); w ← w + c·σ(−w·Δ)·Δ, σ(z) = 1/(1 + e⁻ᶻ); w = 0 at first.
    Of drafts, c is the share of the text that was changed, else 1.
    **Symbols** x: ``context``, y: ``decision.action``, ȳ: ``feedback``, w: ``weights``, c: ``context.weight(ȳ, y)``.
    **Assumes** utility w*·φ(x, y). An edited text need not be one of the drafts.
    **Bound** where ȳ was on offer, w·Δ ≤ 0, so that ½ ≤ σ ≤ 1; then, with c = 1, the proof of Theorem 1 gives average
    regret ≤ 4R‖w*‖/(α√T) + 2Σξ_t/(αT): ‖w_{T+1}‖² ≤ 4R²T as before, and w*·w_{T+1} ≥ Σ(½α·regret_t − ξ_t). For texts
    that were not on offer, and for other c, none is known.
    **Cost** one argmax to decide (n·N; of drafts, also reading n texts), N to learn, and for drafts reading one text
    and the edit distance in words. Memory N.
    **Differs** the paper's step is Δ itself; this is a gradient step on ln(1 + exp(−w·Δ)) (its Section 4.3 takes convex
    losses), weighted by c.

    Examples
    --------
    >>> import smidgen
    >>> learner = smidgen.SoftPreferencePerceptron()
    >>> for day in ("Monday", "Tuesday", "Friday"):
    ...     long = f"Hello!\n\nThank you for writing! It will be ready on {day}, I think.\n\nBest regards"
    ...     d = learner.decide(smidgen.Drafts([long, f"It will be ready on {day}."]))
    ...     learner.learn(d, smidgen.Edit(f"It will be ready on {day}."))
    >>> learner.decide(smidgen.Drafts(["Hello! It is done, I think.\n\nBest regards", "It is done."])).action
    1

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 1, Section 4.3.
    """

    def __init__(self, *, dim: int = Drafts.dim, seed: int = 0) -> None:
        rule = Soft(dim=dim)
        super().__init__(rule, params=rule.to_record(), seed=seed)
