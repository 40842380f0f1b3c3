"""What a randomised log says about a policy that did not write it: importance weights, with intervals."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from smidgen.service.insight.intervals import Z, wilson


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95 % interval.

    Attributes
    ----------
    measure
        What was measured, in words.
    value, low, high
        The figure and its interval; None where there was nothing to measure.
    of
        How many observations it rests on.
    effective
        With importance weights: how many equally weighted observations would say as much.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    of: int
    effective: float | None = None


def share(measure: str, hits: int, n: int) -> Estimate:
    """A share with Wilson's interval.

    Examples
    --------
    >>> from smidgen.service.insight.estimates import share
    >>> share("above", 8, 10).value
    0.8
    """
    if n == 0:
        return Estimate(measure=measure, value=None, low=None, high=None, of=0)
    value, low, high = wilson(hits, n)
    return Estimate(measure=measure, value=value, low=low, high=high, of=n)


def self_normalised(measure: str, matches: ArrayLike, rewards: ArrayLike, propensities: ArrayLike) -> Estimate:
    """A policy's mean reward by inverse propensities, self-normalised: Σ w_t r_t / Σ w_t with w_t = [match]/p_t.

    Slightly biased, by O(1/n), never outside [0, 1], and of much less variance when weights are large. The interval is
    the wider of two: the normal one by the delta method, √(Σ w²(r − v)²)/Σ w, and Wilson's for a share v of
    (Σ w)²/Σ w² observations, which does not vanish when all rewards are equal.

    Parameters
    ----------
    measure
        The name of the figure.
    matches
        Whether the policy would have done what was done.
    rewards
        What came of it, in [0, 1].
    propensities
        The probability with which it was done.

    Examples
    --------
    >>> from smidgen.service.insight.estimates import self_normalised
    >>> self_normalised("accuracy", [1, 0, 1, 1], [1, 1, 0, 1], [0.5, 0.5, 0.5, 1.0]).value
    0.6
    """
    weights, r = _weights(matches, propensities), np.asarray(rewards, dtype=np.float64)
    matched, total = int(np.count_nonzero(weights)), float(weights.sum())
    if matched == 0:
        return Estimate(measure=measure, value=None, low=None, high=None, of=0, effective=0.0)
    value = float(weights @ r) / total
    half = Z * math.sqrt(float((weights**2) @ (r - value) ** 2)) / total
    effective = _effective(weights)
    _, low, high = wilson(value * effective, effective)
    low, high = max(0.0, min(low, value - half)), min(1.0, max(high, value + half))
    return Estimate(measure=measure, value=value, low=low, high=high, of=matched, effective=effective)


def _weights(matches: ArrayLike, propensities: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(matches, dtype=np.float64) / np.asarray(propensities, dtype=np.float64)


def _effective(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Kish's effective number of observations."""
    return float(weights.sum() ** 2 / (weights @ weights))
