"""A confidence sequence for bounded values by betting (Waudby-Smith and Ramdas 2024).

Who holds that the mean is m offers fair bets on x − m. A gambler who starts with 1 and bets only on what came before
can multiply his money by 1/α with probability at most α if m is right, whenever he looks. So every m against which he
has won that much is rejected. One half of the money bets that the mean is above m, the other that it is below; the
wealth of each is monotone in m, so that bisection finds the ends. What counts is the money of now, not the most there
ever was: where the mean drifts, an interval then follows it, and does not become empty.

References
----------
.. [1] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024. Section 4.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray

#: A bet may lose at most this share of the money.
MOST = 0.5
#: The money is counted once in so many rounds: a logarithm takes longer than a bet.
PAUSE = 8
HALVINGS = 50


@kernel
def _stakes(u: FloatArray, v: FloatArray, alpha: float, out: FloatArray) -> None:
    """λ_i = √(2·ln(2/α)/(σ̂²·i·ln(1 + i))), σ̂² the variance of the terms before i around their mean so far."""
    sums, weights, squares = 0.5, 1.0, 0.25
    for i in range(u.shape[0]):
        variance = squares / (i + 1)
        out[i] = math.sqrt(2.0 * math.log(2.0 / alpha) / (variance * (i + 1) * math.log(2.0 + i)))
        error = u[i] - sums / weights * v[i]
        squares += error * error
        sums += u[i]
        weights += v[i]


@kernel
def _rejected(u: FloatArray, v: FloatArray, stakes: FloatArray, m: float, enough: float) -> bool:
    """Whether betting on u_i − m·v_i > 0 has multiplied the money by exp(enough)."""
    most, wealth, money = MOST / m if m > 0.0 else np.inf, 0.0, 1.0
    n = u.shape[0]
    for i in range(n):
        money *= 1.0 + min(stakes[i], most) * (u[i] - m * v[i])
        if i % PAUSE == PAUSE - 1 or i == n - 1:
            wealth += math.log(money)
            money = 1.0
    return wealth >= enough


@kernel
def lowest(u: FloatArray, v: FloatArray, alpha: float) -> float:
    """The lowest m in [0, 1] that is not rejected: of Σ(u_i − m·v_i) = 0 on average, u and v in [0, 1], u ≤ v."""
    stakes, enough = np.empty(u.shape[0]), math.log(2.0 / alpha)
    _stakes(u, v, alpha, stakes)
    low, high = 0.0, 1.0
    if not _rejected(u, v, stakes, low, enough):
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _rejected(u, v, stakes, middle, enough):
            low = middle
        else:
            high = middle
    return low


def mean_between(x: FloatArray, alpha: float) -> tuple[float, float]:
    """The ends of the sequence for the mean of values in [0, 1]."""
    one = np.ones(len(x))
    return lowest(x, one, alpha), 1.0 - lowest(1.0 - x, one, alpha)


def ratio_between(weights: FloatArray, x: FloatArray, alpha: float) -> tuple[float, float]:
    """The same for the m with E[w·(x − m)] = 0, w and x in [0, 1]."""
    return lowest(weights * x, weights, alpha), 1.0 - lowest(weights * (1.0 - x), weights, alpha)
