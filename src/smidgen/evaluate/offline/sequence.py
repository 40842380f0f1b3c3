"""Confidence sequences: intervals that stay valid while people keep looking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.evaluate.offline.betting import mean_between
from smidgen.evaluate.offline.estimate import Estimate
from smidgen.evaluate.offline.given import as_alpha, as_numbers

#: Weighted terms say nothing before so many of them are not zero.
FEW = 30


def confidence_sequence(values: Any, alpha: float = 0.05, n0: int = 100, bound: float | None = None) -> Estimate:
    """The mean of values with an interval that holds for all n at once, with probability 1 − α.

    So one may look after every value and stop when one likes.

    Parameters
    ----------
    values
        Numbers in [0, 1], or in [0, bound].
    alpha
        α, the probability with which the interval may miss the mean at some time.
    n0
        n₀: where the asymptotic interval is to be narrowest, after about so many values.
    bound
        None: the asymptotic sequence, for rewards in [0, 1]. A number: values in [0, bound], by betting. **Weighted
        terms need this one**: the asymptotic one is far too sure of them.

    Notes
    -----
    Asymptotic: mean ± √((n·v·ρ² + 1)/(n²ρ²)·ln((n·v·ρ² + 1)/α²)), v the variance of the values,
    ρ² = (−2·ln α + ln(−2·ln α) + 1)/n₀ (Waudby-Smith et al. 2024). It is exact in the limit, for one finite variance.
    By betting: exact for every n and every distribution on [0, bound].

    Examples
    --------
    >>> from smidgen import offline
    >>> estimate = offline.confidence_sequence([0.0, 1.0] * 500)
    >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
    (0.5, 0.451, 0.549)

    References
    ----------
    .. [1] I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas. Time-uniform central limit theory and
       asymptotic confidence sequences. Annals of Statistics 52, 2024.
    .. [2] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024.
    """
    a = as_alpha(alpha)
    start = checks.whole("n0", n0, "give the number of values at which the interval is to be narrowest")
    most = 1.0 if bound is None else checks.number("bound", bound, "give the largest value there can be", above=0.0)
    x = as_numbers("values", values, 0.0, most)
    if bound is None:
        return asymptotic(x, a, start)
    enough = int(np.count_nonzero(x)) >= FEW
    low, high = mean_between(x / most, a) if enough else (0.0, 1.0)
    return Estimate(float(x.mean()), low * most, high * most, float(len(x)), len(x), enough)


def asymptotic(x: Any, alpha: float, n0: int) -> Estimate:
    """The asymptotic sequence of checked values."""
    if -2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0 <= 0.0:
        raise InvalidArgument(f"alpha is {alpha!r} and too large for a sequence", "give a small one, e.g. alpha=0.05")
    n, mean = len(x), float(x.mean())
    rho2 = (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0) / n0
    grown = n * float(x.var()) * rho2 + 1.0
    radius = math.sqrt(grown / (n * n * rho2) * math.log(grown / alpha**2))
    return Estimate(mean, mean - radius, mean + radius, float(n), n)
