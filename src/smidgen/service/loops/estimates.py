"""Off-policy estimates with confidence intervals.

What another policy would have earned on a log with propensities.

The terms of each answered decision, and what they come to, with intervals that allow to look at any time.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from smidgen.decision import FloatArray
from smidgen.evaluate import confidence as offline
from smidgen.evaluate.confidence import FEW as FEW_TERMS
from smidgen.evaluate.confidence import asymptotic
from smidgen.evaluate.off_policy import doubly_robust_by_terms, ips, overlap, snips

# 95 % intervals of shares and means. Below `FEW` observations there is none.

#: Of the normal law: 95 % lie within so many standard deviations.
Z = 1.959964
#: Fewer observations have a value and no interval.
FEW = 10

#: A figure and the ends of its interval; None where there is nothing to say.
Figure = tuple[float | None, float | None, float | None]


def wilson(hits: float, n: float) -> tuple[float, float, float]:
    """A share with Wilson's 95 % interval.

    Examples
    --------
    >>> from smidgen.service.loops.estimates import wilson
    >>> tuple(round(x, 3) for x in wilson(8, 10))
    (0.8, 0.49, 0.943)
    """
    p = hits / n
    centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(max(0.0, p * (1 - p)) / n + Z * Z / (4 * n * n))
    return p, min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half))


def mean(n: int, total: float, squares: float, span: tuple[float, float] | None) -> Figure:
    """A mean with its 95 % interval, from the number of values, their sum, and the sum of their squares.

    Values within ``span`` get Wilson's interval, which lies within it. Values that vary less than zeros and ones of the
    same mean count as more of those: as n / k, k the ratio of the two variances, drawn towards 1 by Z² values. So zeros
    and ones have the interval of `wilson`. Values without a span, such as losses, get the normal interval.

    Examples
    --------
    >>> from smidgen.service.loops.estimates import mean
    >>> tuple(round(x, 3) for x in mean(10, 8.0, 8.0, (0.0, 1.0)))
    (0.8, 0.49, 0.943)
    >>> mean(9, 9.0, 9.0, (0.0, 1.0))
    (1.0, None, None)
    """
    if not n:
        return None, None, None
    value = total / n
    if n < FEW:
        return value, None, None
    around = max(0.0, squares / n - value * value)
    if span is None:
        half = Z * math.sqrt(around / (n - 1))
        return value, value - half, value + half
    low, high = span
    width = high - low
    p = min(1.0, max(0.0, (value - low) / width))
    most = p * (1.0 - p) * width * width
    ratio = 1.0 if most <= 0.0 else min(1.0, around / most)
    count = n / ((ratio * n + Z * Z) / (n + Z * Z))
    _, below, above = wilson(p * count, count)
    return value, min(value, low + width * below), max(value, low + width * above)


def mean_of(values: list[float], span: tuple[float, float] | None) -> Figure:
    """The same of values; those outside of the span count as its ends."""
    if span is not None:
        values = [min(span[1], max(span[0], value)) for value in values]
    return mean(len(values), math.fsum(values), math.fsum(value * value for value in values), span)


# What a randomised log says about a policy that did not write it: importance weights, with intervals.


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95 % interval.

    Attributes
    ----------
    measure
        What was measured, in words.
    value, low, high
        The figure and its interval; None where there was nothing to measure, and no interval below ten observations.
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
    """A share with Wilson's interval; none below ten observations.

    Examples
    --------
    >>> from smidgen.service.loops.estimates import share
    >>> share("above", 8, 10).value
    0.8
    """
    value, low, high = mean(n, hits, hits, (0.0, 1.0))
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
    >>> from smidgen.service.loops.estimates import self_normalised
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
    if matched < FEW:
        return Estimate(measure=measure, value=value, low=None, high=None, of=matched, effective=effective)
    _, low, high = wilson(value * effective, effective)
    low, high = max(0.0, min(low, value - half)), min(1.0, max(high, value + half))
    return Estimate(measure=measure, value=value, low=low, high=high, of=matched, effective=effective)


def _weights(matches: ArrayLike, propensities: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(matches, dtype=np.float64) / np.asarray(propensities, dtype=np.float64)


def _effective(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Kish's effective number of observations."""
    return float(weights.sum() ** 2 / (weights @ weights))


#: The running figure is shown after so many decisions, and each time the log has grown by this factor.
FIRST, GROWTH = 50, 1.25
#: Intervals fail with this probability; asymptotic ones are narrowest after about so many values.
ALPHA, N0 = 0.05, 100
#: The upper ends of the bins of weights.
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A figure after so many answered decisions, with its interval; None while there are too few terms.

    Attributes
    ----------
    of
        How many answered decisions there were.
    value, low, high
        The figure and its interval.
    """

    of: int
    value: float | None
    low: float | None
    high: float | None


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions have weights in (above, upto]; the last bin has no upper end.

    Attributes
    ----------
    above, upto
        The ends; ``above`` is None in the first bin, which holds the weight 0 only.
    count
        How many decisions.
    """

    above: float | None
    upto: float | None
    count: int


class Overlapping(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a log bears on a learner.

    Attributes
    ----------
    effective, share, largest, mean, matched, of
        As in `smidgen.offline.Overlap`; ``of`` are the answered decisions with a propensity.
    impossible
        The share of what the learner would show that the log could never have shown.
    weights
        How the weights are spread.
    words
        What that means, the most important first.
    """

    effective: float
    share: float
    largest: float
    mean: float
    matched: int
    of: int
    impossible: float
    weights: list[Bin]
    words: list[str]


class Weighing:
    """The terms of one learner, a number each for every answered decision.

    Parameters
    ----------
    measure
        What a reward is called.
    low, high
        The range of the rewards in the app's own units; terms are in [0, 1].
    """

    def __init__(self, measure: str, low: float = 0.0, high: float = 1.0) -> None:
        self.measure = measure
        self._low, self._high = low, high
        self._rewards, self._propensities, self._target = array("d"), array("d"), array("d")
        self._expected, self._predicted = array("d"), array("d")
        self._impossible = self._asked = 0.0

    def __len__(self) -> int:
        return len(self._rewards)

    def ask(self, impossible: float) -> None:
        """A decision was made: how much of what the learner would show the log could not have shown."""
        self._asked += 1.0
        self._impossible += impossible

    def add(self, reward: float, propensity: float, target: float, expected: float, predicted: float) -> None:
        """An answered decision.

        Parameters
        ----------
        reward
            What came of it, in [0, 1].
        propensity, target
            The probability of what was shown: in the log, and of the learner.
        expected, predicted
            What the model of the rewards expects of the learner, and of what was shown; NaN if there is no model.
        """
        self._rewards.append(reward)
        self._propensities.append(propensity)
        self._target.append(target)
        self._expected.append(expected)
        self._predicted.append(predicted)

    @property
    def rewards(self) -> FloatArray:
        """The rewards so far, in [0, 1]."""
        return np.array(self._rewards)

    @property
    def modelled(self) -> bool:
        """Whether there is a model of the rewards."""
        return len(self) > 0 and not math.isnan(self._expected[0])

    def estimates(self) -> list[Estimate]:
        """The figures: weighted, self-normalised, doubly robust, and by the model alone."""
        if not len(self):
            return []
        r, p, pi = (np.frombuffer(each) for each in (self._rewards, self._propensities, self._target))
        found = [
            self._told("IPS", ips(r, p, pi, alpha=ALPHA)),
            self._told("self-normalised", snips(r, p, pi, alpha=ALPHA)),
        ]
        if self.modelled:
            expected, predicted = np.frombuffer(self._expected), np.frombuffer(self._predicted)
            robust = doubly_robust_by_terms(r, p, pi, expected, predicted, alpha=ALPHA)
            found += [self._told("doubly robust", robust), self._told("direct", asymptotic(expected, ALPHA, N0))]
        return found

    def curve(self) -> list[Point]:
        """The self-normalised figure over time."""
        r, p, pi = (np.frombuffer(each) for each in (self._rewards, self._propensities, self._target))
        return over_time(len(self), lambda n: self._told("", snips(r[:n], p[:n], pi[:n], alpha=ALPHA)))

    def overlapping(self, more: list[str]) -> Overlapping | None:
        """How much of the log bears on this learner; ``more`` is said beside it."""
        if not len(self):
            return None
        p, pi = np.frombuffer(self._propensities), np.frombuffer(self._target)
        seen, weights = overlap(p, pi), pi / p
        impossible = self._impossible / self._asked if self._asked else 0.0
        words = [*more, *seen.words]
        if impossible > 0.01:
            words.insert(
                0,
                f"In {impossible:.0%} of the decisions it would show what the log could not have shown: of that part "
                "nothing is known, and the figures leave it out.",
            )
        return Overlapping(
            effective=seen.effective,
            share=seen.share,
            largest=seen.largest,
            mean=seen.mean,
            matched=seen.matched,
            of=seen.n,
            impossible=impossible,
            weights=_bins(weights),
            words=words,
        )

    def _told(self, how: str, found: offline.Estimate) -> Estimate:
        """An estimate in the app's own units; nothing while there are too few terms."""
        measure = f"{self.measure} ({how})" if how else self.measure
        if not found.enough:
            few = {"value": None, "low": None, "high": None}
            return Estimate(measure=measure, of=found.n, effective=found.effective, **few)
        value, low, high = (
            self._low + (self._high - self._low) * end
            for end in (found.value, max(0.0, found.low), min(1.0, found.high))
        )
        return Estimate(measure=measure, value=value, low=low, high=high, of=found.n, effective=found.effective)


def over_time(n: int, figure: Callable[[int], Estimate]) -> list[Point]:
    """A figure at a few times, ever further apart, the last being the end."""
    times, at = [], float(max(FIRST, FEW_TERMS))
    while at < n:
        times.append(int(at))
        at = max(at * GROWTH, at + 1.0)
    found = []
    for time in [*times, n] if n else []:
        seen = figure(time)
        found.append(Point(of=time, value=seen.value, low=seen.low, high=seen.high))
    return found


def _bins(weights: FloatArray) -> list[Bin]:
    """How many weights lie in each bin; empty ones at the end are left out."""
    places = np.searchsorted(np.array(WEIGHTS), weights, side="left")
    counts = np.bincount(places, minlength=len(WEIGHTS)).tolist()
    used = max(place for place, count in enumerate(counts) if count) + 1
    above = (None, *WEIGHTS)
    return [
        Bin(above=above[i], upto=WEIGHTS[i] if math.isfinite(WEIGHTS[i]) else None, count=counts[i])
        for i in range(used)
    ]
