"""Convex losses of the utility gap θ = U(x, y) − U(x, y*) ≤ 0 (Sections 5.2, 5.3, 6.4)."""

from __future__ import annotations

from typing import Any

from smidgen import checks


class Linear:
    """c(θ) = −θ: the convex regret is the regret.

    Examples
    --------
    >>> from smidgen import losses
    >>> losses.Linear()(-2.0)
    2.0
    """

    strong_convexity = 0.0
    peak = float("inf")

    def __call__(self, theta: Any) -> Any:
        """The loss at θ."""
        return -theta

    def slope(self, lowest: float) -> float:
        """G: the steepest fall on [lowest, ∞)."""
        return 1.0


class Quadratic:
    """c(θ) = (θ − M)²: strongly convex with λ = 2, non-increasing up to M, steepest at the lowest θ.

    Parameters
    ----------
    peak
        M, the utility beyond which nothing gets better. The paper takes the largest utility of any object under any
        w of norm ‖w*‖.

    Examples
    --------
    >>> from smidgen import losses
    >>> loss = losses.Quadratic(peak=1.0)
    >>> loss(-1.0) - loss(0.0), loss.slope(lowest=-1.0)
    (3.0, 4.0)
    """

    strong_convexity = 2.0

    def __init__(self, *, peak: float) -> None:
        self.peak = checks.number("peak", peak, "give the largest possible utility", above=0.0)

    def __call__(self, theta: Any) -> Any:
        """The loss at θ."""
        return (theta - self.peak) ** 2

    def slope(self, lowest: float) -> float:
        """G: the steepest fall on [lowest, M]."""
        return 2.0 * (self.peak - lowest)


Loss = Linear | Quadratic
