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

import numpy as np

from smidgen._core.betting import lowest
from smidgen.decision import FloatArray


def mean_between(x: FloatArray, alpha: float) -> tuple[float, float]:
    """The ends of the sequence for the mean of values in [0, 1]."""
    one = np.ones(len(x))
    return lowest(np.ascontiguousarray(x, np.float64), one, alpha), 1.0 - lowest(1.0 - x, one, alpha)


def ratio_between(weights: FloatArray, x: FloatArray, alpha: float) -> tuple[float, float]:
    """The same for the m with E[w·(x − m)] = 0, w and x in [0, 1]."""
    w = np.ascontiguousarray(weights, np.float64)
    return lowest(w * x, w, alpha), 1.0 - lowest(w * (1.0 - x), w, alpha)
