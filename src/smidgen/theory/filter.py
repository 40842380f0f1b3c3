"""The theorems of filtering as functions of measured quantities: bounds on the expected *cumulative* regret of n items.

References
----------
.. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
   Theorems 1 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.theory.base import Curve, Theorem, rounds, state, total


def simple_fil(*, n: Any, delta: float, per_round: bool | None = None) -> Curve:
    """Theorem 1: (32/|δ| + 2)·ln n + 4, for items that are all relevant with probability 1/2 + δ.

    Parameters
    ----------
    n
        Items, a number or an array.
    delta
        δ in [−1/2, 1/2], not 0: with δ = 0 every action is as good as the other.
    per_round
        True: the average regret. False, or left out as in the theorem: the cumulative one.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.simple_fil(n=10_000, delta=-0.4), 1)
    759.2
    """
    half = checks.number("delta", delta, "give p − 1/2, in [−1/2, 1/2]", at_least=-0.5, at_most=0.5)
    if half == 0.0:
        raise InvalidArgument(
            "delta is 0 and the bound is infinite",
            "give delta != 0; with 0 all actions are equally good and no bound is needed",
        )
    items = rounds(n)
    return total((32.0 / abs(half) + 2.0) * np.log(items) + 4.0, items, per_round)


def p_ridge_fil(*, n: Any, dim: int, margin: float, a: float = 1.0, per_round: bool | None = None) -> Curve:
    """Theorem 3: 2a√n/γ + 8√n·N·ln(1 + n/(aN))/γ + √n/2 + 1/2, for `PRidgeFil(horizon=n)`.

    Parameters
    ----------
    n
        Items, a number or an array. Each number is a horizon: for a curve the filter was started once per number.
    dim
        N, the number of features.
    margin
        γ in (0, 1], the smallest |u·x|.
    a
        The ridge.
    per_round
        As in `simple_fil`.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.p_ridge_fil(n=10_000, dim=5, margin=0.5))
    61262
    """
    items, N = rounds(n), checks.dimension(dim)
    gamma = checks.number("margin", margin, "give the margin γ in (0, 1]", above=0.0, at_most=1.0)
    ridge = checks.number("a", a, "give the learner's ridge, > 0", above=0.0)
    root = np.sqrt(items)
    estimate = 2.0 * ridge + 8.0 * N * np.log1p(items / (ridge * N))
    return total(root / gamma * estimate + root / 2.0 + 0.5, items, per_round)


def _without_features(settings: Mapping[str, Any], n: int) -> str:
    return "Theorem 1 needs δ, how far the true share of relevant items is from one half"


def _at_random(settings: Mapping[str, Any], n: int) -> str:
    return "Theorem 3 needs the margin γ, the smallest |u·x| of any item, which no log tells"


state(
    Theorem(
        name="filtering without features",
        title="Theorem 1",
        formula="((32/|δ| + 2) ln n + 4)/n (Thm 1)",
        bound=simple_fil,
        counts="n",
        terms=_without_features,
    )
)
state(
    Theorem(
        name="filtering at random",
        title="Theorem 3",
        formula="O(N ln n/(γ√n)) with margin γ (Thm 3)",
        bound=p_ridge_fil,
        counts="n",
        terms=_at_random,
    )
)
