"""Confidence sequences: intervals that stay valid while people keep looking; and what estimates are given, checked.

Those for bounded values are by betting [1]_. Who holds that the mean is m offers fair bets on x − m. A gambler who
starts with 1 and bets only on what came before can multiply his money by 1/α with probability at most α if m is right,
whenever he looks. So every m against which he has won that much is rejected. One half of the money bets that the mean
is above m, the other that it is below; the wealth of each is monotone in m, so that bisection finds the ends. What
counts is the money of now, not the most there ever was: where the mean drifts, an interval then follows it, and does
not become empty.

References
----------
.. [1] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024. Section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.betting import lowest
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.serialization import structure


def as_alpha(alpha: Any) -> float:
    """Check an error probability."""
    hint = "give the probability with which an interval may fail, e.g. alpha=0.05"
    value = checks.number("alpha", alpha, hint, above=0.0)
    if not value < 1.0:
        raise InvalidArgument(f"alpha is {alpha!r} and must be < 1", hint)
    return value


def as_numbers(name: str, given: Any, least: float, most: float, *, ndim: int = 1) -> FloatArray:
    """Check a list, or a table, of numbers within limits."""
    what = "one number per round" if ndim == 1 else "one row per round, with a number per candidate"
    hint = f"give {what}, from {least:g} to {most:g}"
    try:
        array = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is not an array of numbers: {error}", hint) from error
    if array.ndim != ndim or not array.size or array.dtype.kind not in "fiub":
        raise InvalidArgument(f"{name} has shape {array.shape} and dtype {array.dtype}", hint)
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    within = (numbers >= least) & (numbers <= most)
    if not within.all():  # NaN too
        raise InvalidArgument(f"{name} holds {numbers[~within][0]:g} and must be in [{least:g}, {most:g}]", hint)
    return numbers


def as_propensities(given: Any) -> FloatArray:
    """Check the probabilities of what was shown: none of them is 0."""
    p = as_numbers("propensities", given, 0.0, 1.0)
    if not (p > 0.0).all():
        raise InvalidArgument(
            "propensities holds 0 and must be > 0", "what was shown had a chance: give decision.propensity"
        )
    return p


def as_policy(name: str, given: Any) -> FloatArray:
    """Check the probabilities of all candidates: each row adds up to 1."""
    p = as_numbers(name, given, 0.0, 1.0, ndim=2)
    wrong = np.abs(p.sum(axis=1) - 1.0) > 1e-6
    if wrong.any():
        total = float(p[wrong][0].sum())
        raise InvalidArgument(f"a row of {name} adds up to {total:g} and must to 1", "give probabilities")
    return p


def as_actions(given: Any, K: int) -> IntArray:
    """Check which candidate was shown in each round."""
    hint = f"give one of 0 … {K - 1} per round"
    try:
        actions = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"actions is not an array: {error}", hint) from error
    if actions.ndim != 1 or actions.dtype.kind not in "iu":
        raise InvalidArgument(f"actions has shape {actions.shape} and dtype {actions.dtype}", hint)
    if len(actions) and not (actions.min() >= 0 and actions.max() < K):
        raise InvalidArgument(f"actions holds an index outside 0 … {K - 1}", hint)
    return actions.astype(np.int64)


def same_length(**given: Any) -> int:
    """Check that all have one entry per round; returns how many rounds there are."""
    lengths = {name: len(array) for name, array in given.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InvalidArgument(f"the numbers of rounds differ: {told}", "give one entry per round in each")
    return next(iter(lengths.values()))


@structure
@dataclass(frozen=True)
class Estimate:
    """A mean, and the interval in which the true one lies with probability 1 − α, at all times at once.

    Attributes
    ----------
    value
        The estimate.
    low, high
        The ends of the interval. Where ``enough`` is False they are those of the whole range.
    effective
        How many rounds the estimate is worth: (Σw)²/Σw² for weights w, their number without.
    n
        Rounds.
    enough
        Whether there are terms enough for an interval: weighted ones need 30 that are not zero. Show nothing before.
    """

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool = True

    def __str__(self) -> str:
        if not self.enough:
            return f"not enough yet ({self.n} rounds, worth {self.effective:.0f})"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}; {self.n} rounds, worth {self.effective:.0f})"


def mean_between(x: FloatArray, alpha: float) -> tuple[float, float]:
    """The ends of the sequence for the mean of values in [0, 1]."""
    one = np.ones(len(x))
    return lowest(np.ascontiguousarray(x, np.float64), one, alpha), 1.0 - lowest(1.0 - x, one, alpha)


def ratio_between(weights: FloatArray, x: FloatArray, alpha: float) -> tuple[float, float]:
    """The same for the m with E[w·(x − m)] = 0, w and x in [0, 1]."""
    w = np.ascontiguousarray(weights, np.float64)
    return lowest(w * x, w, alpha), 1.0 - lowest(w * (1.0 - x), w, alpha)


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
