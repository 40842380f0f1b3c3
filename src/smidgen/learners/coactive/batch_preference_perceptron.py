"""Algorithm 2: the batch preference perceptron."""

from __future__ import annotations

from smidgen.learners.base import register
from smidgen.learners.card import Card
from smidgen.learners.coactive.base import PAPER, Coactive
from smidgen.learners.sizes import two_vectors
from smidgen.optim import Additive, Batched


@register(
    Card(
        loop=("rank", "choose"),
        feedback=("better", "clicks"),
        paper=f"{PAPER}, Alg. 2",
        cost="argmax + 2 φ + N",
        example={"dim": 4, "batch": 3},
        first={"batch": 10},
        theorem="batched preferences",
        size=two_vectors,
    )
)
class BatchPreferencePerceptron(Coactive):
    """The preference perceptron, updated only every ``batch`` rounds (Algorithm 2).

    For systems that push new weights out now and then: all rounds of a batch are decided by the same weights.

    Parameters
    ----------
    dim
        The number of features N.
    batch
        k, the number of learnt rounds between two updates.
    seed
        Part of the settings that twins share; the algorithm draws no randomness.

    Notes
    -----
    **Update** after each k learnt rounds w ← w + Σ_{j in batch} (φ(x_j, ȳ_j) − φ(x_j, y_j)).
    **Symbols** k: ``batch``; the others as in `PreferencePerceptron`.
    **Assumes** as `PreferencePerceptron`.
    **Bound** average regret ≤ 2R‖w*‖√k/(α√T) + Σξ_t/(αT) (Lemma 4; `smidgen.bounds.batch_preference_perceptron`).
    **Cost** as `PreferencePerceptron`; memory 2N.
    **Differs** the printed sum runs from j = s, one round too early: that round belonged to the batch before.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> learner = smidgen.BatchPreferencePerceptron(dim=2, batch=2)
    >>> menu = smidgen.Choice(np.eye(2))
    >>> for _ in range(2):
    ...     learner.learn(learner.decide(menu), 1)
    >>> learner.weights
    array([-2., 2.])

    References
    ----------
    .. [1] P. Shivaswamy, T. Joachims. Coactive Learning. JAIR 53, 2015. Algorithm 2, Lemma 4.
    """

    def __init__(self, *, dim: int, batch: int, seed: int = 0) -> None:
        rule = Batched(rule=Additive(dim=dim), size=batch)
        super().__init__(rule, params={"dim": rule.dim, "batch": rule.size}, seed=seed)
