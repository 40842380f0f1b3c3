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
from smidgen.evaluate.confidence import FEW as FEW_TERMS
from smidgen.evaluate.confidence import Terms, single_look, two_sided
from smidgen.evaluate.off_policy import (
    effective_sample_size,
    overlap,
    sides_of_doubly_robust,
    sides_of_ips,
    sides_of_snips,
)

# 95 % intervals of shares and means. Below `FEW` observations there is none.

#: Of the normal distribution: 95 % lie within this many standard deviations.
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
    """Mean of values; those outside of the span count as its ends."""
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
    single_low, single_high
        An interval for a single look, at a time fixed in advance. Figures that have one have an interval (``low``,
        ``high``) that holds however often you look.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    of: int
    effective: float | None = None
    single_low: float | None = None
    single_high: float | None = None


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


#: The running figure is shown after a number of decisions, and each time the log has grown by this factor.
FIRST, GROWTH = 50, 1.25
#: Intervals fail with this probability.
ALPHA = 0.05
#: The upper ends of the bins of weights.
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A figure after a number of answered decisions, with its interval; None while there are too few terms.

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
    """Number of decisions with weights in (above, upto]; the last bin has no upper end.

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


class OverlapDiagnostics(msgspec.Struct, frozen=True, kw_only=True):
    """Overlap of a log with a learner: the effective sample behind its estimate.

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


class OffPolicyTerms:
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
        self._most, self._mass, self._possible = array("d"), array("d"), array("d")
        self._impossible = self._asked = 0.0

    def __len__(self) -> int:
        return len(self._rewards)

    def ask(self, impossible: float) -> None:
        """A decision was made: how much of what the learner would show the log could not have shown."""
        self._asked += 1.0
        self._impossible += impossible

    def add(
        self,
        reward: float,
        propensity: float,
        target: float,
        expected: float = math.nan,
        predicted: float = math.nan,
        most: float = math.inf,
        mass: float = 1.0,
        possible: float = math.nan,
    ) -> None:
        """Add an answered decision.

        Parameters
        ----------
        reward
            What came of it, in [0, 1].
        propensity, target
            The probability of what was shown: in the log, and of the learner.
        expected, predicted
            What the model of the rewards expects of the learner, and of what was shown; NaN if there is no model.
        most
            The largest weight that could have been drawn, from the recorded probabilities of all candidates; infinity
            if these are not known.
        mass, possible
            The learner's probability of what the log could have shown at all, and the part of ``expected`` that it
            accounts for.
        """
        self._rewards.append(reward)
        self._propensities.append(propensity)
        self._target.append(target)
        self._expected.append(expected)
        self._predicted.append(predicted)
        self._most.append(most)
        self._mass.append(mass)
        self._possible.append(possible)

    @property
    def rewards(self) -> FloatArray:
        """The rewards so far, in [0, 1]."""
        return np.array(self._rewards)

    @property
    def modelled(self) -> int:
        """Number of the decisions whose rewards were predicted."""
        return len(self) - int(np.isnan(np.array(self._expected)).sum())

    def estimates(self) -> list[Estimate]:
        """Return the figures: weighted, self-normalized, doubly robust, and by the model alone (without interval).

        A decision without a prediction has a prediction of 0 in the doubly robust figure, and there is no figure by the
        model alone.
        """
        if not len(self):
            return []
        r, w, most, mass = self._columns()
        total = float(w.sum())
        snips = float((r * w).sum()) / total if total > 0.0 else 0.0
        found = [
            self._figure("IPS", float((r * w).mean()), r * w, sides_of_ips(r, w)),
            self._figure("self-normalised", snips, w, sides_of_snips(r, w, most, mass)),
        ]
        if modelled := self.modelled:
            columns = (self._expected, self._predicted, self._possible)
            expected, predicted, possible = (np.nan_to_num(np.array(column)) for column in columns)
            sides = sides_of_doubly_robust(r, w, possible, predicted, most, mass)
            robust = float((expected + w * (r - predicted)).mean())
            found.append(self._figure("doubly robust", robust, w, sides))
            if modelled == len(r):
                value = self._low + (self._high - self._low) * float(expected.mean())
                found.append(Estimate(measure=f"{self.measure} (direct)", value=value, low=None, high=None, of=len(r)))
        return found

    def _columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Rewards, weights, largest weights, masses."""
        r, p, pi = (np.frombuffer(each) for each in (self._rewards, self._propensities, self._target))
        return r, pi / p, np.frombuffer(self._most), np.frombuffer(self._mass)

    def curve(self) -> list[Point]:
        """Return the self-normalized figure over time."""
        if not len(self):
            return []
        r, w, most, mass = self._columns()
        times = times_of(len(r))
        low, high = two_sided(*sides_of_snips(r, w, most, mass), ALPHA, times)
        enough = np.cumsum(w > 0.0) >= FEW_TERMS
        total, earned = np.cumsum(w), np.cumsum(r * w)
        span = self._high - self._low
        found = []
        for i, n in enumerate(times):
            if not enough[n - 1]:
                found.append(Point(of=n, value=None, low=None, high=None))
                continue
            ends = (earned[n - 1] / total[n - 1], max(0.0, low[i]), min(1.0, high[i]))
            value, below, above = (float(self._low + span * end) for end in ends)
            found.append(Point(of=n, value=value, low=below, high=above))
        return found

    def overlap(self, more: list[str]) -> OverlapDiagnostics | None:
        """Overlap of the log with this learner; ``more`` are additional remarks."""
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
                "nothing is known, and the figures omit it.",
            )
        return OverlapDiagnostics(
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

    def _figure(self, how: str, value: float, counted: FloatArray, sides: tuple[Terms, Terms]) -> Estimate:
        """Return an estimate in the app's own units; nothing while there are too few terms."""
        measure, n, effective = f"{self.measure} ({how})", len(self), self._worth()
        if int(np.count_nonzero(counted)) < FEW_TERMS:
            return Estimate(measure=measure, value=None, low=None, high=None, of=n, effective=effective)
        low, high = two_sided(*sides, ALPHA)
        ends = (float(low[0]), float(high[0]), *single_look(*sides, ALPHA))
        below, above, once_below, once_above = (
            self._low + (self._high - self._low) * min(1.0, max(0.0, end)) for end in ends
        )
        return Estimate(
            measure=measure,
            value=self._low + (self._high - self._low) * value,
            low=below,
            high=above,
            of=n,
            effective=effective,
            single_low=once_below,
            single_high=once_above,
        )

    def _worth(self) -> float:
        return effective_sample_size(self._columns()[1])


def bounded_mean(measure: str, values: FloatArray, low: float = 0.0, high: float = 1.0) -> Estimate:
    """Estimate the mean of values in [low, high] with an interval that holds however often you look.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.service.loops.estimates import bounded_mean
    >>> bounded_mean("reward", np.tile([0.0, 1.0], 500)).value
    0.5
    """
    n, span = len(values), high - low
    if not n:
        return Estimate(measure=measure, value=None, low=None, high=None, of=0)
    value = float(values.mean())
    if n < FEW:
        return Estimate(measure=measure, value=value, low=None, high=None, of=n)
    x = np.clip((values - low) / span, 0.0, 1.0)
    below, above = two_sided(Terms(x), Terms(1.0 - x), ALPHA)
    once = [low + span * min(1.0, max(0.0, end)) for end in single_look(Terms(x), Terms(1.0 - x), ALPHA)]
    return Estimate(
        measure=measure,
        value=value,
        low=low + span * float(below[0]),
        high=low + span * float(above[0]),
        of=n,
        single_low=once[0],
        single_high=once[1],
    )


def times_of(n: int) -> list[int]:
    """Return a few numbers of rounds, ever further apart, the last being n."""
    times, at = [], float(max(FIRST, FEW_TERMS))
    while at < n:
        times.append(int(at))
        at = max(at * GROWTH, at + 1.0)
    return [*times, n] if n else []


def checkpoints(n: int, figure: Callable[[int], Estimate]) -> list[Point]:
    """A figure at a few times, ever further apart, the last being the end."""
    found = []
    for time in times_of(n):
        seen = figure(time)
        found.append(Point(of=time, value=seen.value, low=seen.low, high=seen.high))
    return found


def _bins(weights: FloatArray) -> list[Bin]:
    """Number of weights in each bin, without empty bins at the end."""
    places = np.searchsorted(np.array(WEIGHTS), weights, side="left")
    counts = np.bincount(places, minlength=len(WEIGHTS)).tolist()
    used = max(place for place, count in enumerate(counts) if count) + 1
    above = (None, *WEIGHTS)
    return [
        Bin(above=above[i], upto=WEIGHTS[i] if math.isfinite(WEIGHTS[i]) else None, count=counts[i])
        for i in range(used)
    ]
