"""The theorems of filtering as functions of measured quantities: bounds on the expected *cumulative* regret of n items.

References
----------
.. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS 15, 2003.
   Theorems 1 and 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.theory.curves import Curve, plain, rounds


def simple_fil(*, n: Any, delta: float) -> Curve:
    """Theorem 1: (32/|δ| + 2)·ln n + 4, for items that are all relevant with probability 1/2 + δ.

    Parameters
    ----------
    n
        Items, a number or an array.
    delta
        δ in [−1/2, 1/2], not 0: with δ = 0 every action is as good as the other.

    Examples
    --------
    >>> from smidgen import bounds
    >>> round(bounds.simple_fil(n=10_000, delta=-0.4), 1)
    759.2
    """
    half = checks.number("delta", delta, "give p − 1/2, in [−1/2, 1/2]", at_least=-0.5, at_most=0.5)
    if half == 0.0:
        raise InvalidArgument("delta is 0 and the bound is infinite", "no bound is needed: every action is as good")
    return plain((32.0 / abs(half) + 2.0) * np.log(rounds(n)) + 4.0)


def p_ridge_fil(*, n: Any, dim: int, margin: float, a: float = 1.0) -> Curve:
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
    return plain(root / gamma * estimate + root / 2.0 + 0.5)
