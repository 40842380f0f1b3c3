"""Confidence sequences: intervals that stay valid while people keep looking; and checks of what estimates are given.

The sequence for bounded values is a mixture of bets around a prediction. Let x̂_t be the mean of the values before x_t,
and λ > 0 a stake with 1 + λ·(x_t − x̂_t) > 0. Since 1 + y ≤ exp(y),

    L_t(λ) = Σ_{s≤t} [ln(1 + λ·(x_s − x̂_s)) + λ·x̂_s],    exp(L_t(λ) − λ·Σ_{s≤t} μ_s)

is a nonnegative supermartingale that starts at 1, where μ_s is the mean of x_s given everything before it. So is the
average over a grid of stakes, and it exceeds 1/α at some time with probability at most α (Ville). Solving for Σμ_s/t
gives a lower end for the **running mean of the true means**, which may move; bets on a fixed mean [1]_ give more weight
to early values. A lower end needs values that are bounded below, and nothing else: weights of any size are allowed. The
upper end is that of 1 − x, or of w·(1 − r) for weighted rewards, whose mean is one minus the other one [2]_.

**Control variates.** A term may have a part a_t with mean 0 that reduces its variance, such as c·(1 − w_t). It is
bounded below by −reach_t, which the recorded probabilities say before the draw: with W_t = max_a π_t(a)/p_t(a) it is
c·(W_t − 1). The stake λ uses the share min(1, k/reach_t) of it, k = ½/λ − 1: full for small stakes (long logs), none
for large ones. The share is known before the draw, so the mean stays what it was.

References
----------
.. [1] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. JRSS B 86, 2024.
.. [2] I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro. Anytime-valid off-policy inference for
   contextual bandits. ACM/IMS Journal of Data Science 1, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from smidgen import checks
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
            "propensities holds 0 and must be > 0", "give decision.propensity: the probability of what was shown"
        )
    return p


def as_policy(name: str, given: Any) -> FloatArray:
    """Check the probabilities of all candidates: each row adds up to 1."""
    p = as_numbers(name, given, 0.0, 1.0, ndim=2)
    wrong = np.abs(p.sum(axis=1) - 1.0) > 1e-6
    if wrong.any():
        total = float(p[wrong][0].sum())
        raise InvalidArgument(f"a row of {name} adds up to {total:g} and must add up to 1", "give probabilities")
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
        counts = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InvalidArgument(
            f"the arrays have different numbers of rounds: {counts}", "give one entry per round in each"
        )
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
        The ends of the interval that holds however often one looks. Where ``enough`` is False they are those of the
        whole range. NaN where there is no interval (`direct`).
    effective
        How many rounds the estimate is worth: (Σw)²/Σw² for weights w, their number without.
    n
        Rounds.
    enough
        Whether there are enough terms for an interval: weighted ones need 30 that are not zero. Show nothing before.
    single_low, single_high
        The ends of an interval **for a single look**, at a number of rounds that was fixed in advance. It is narrower,
        and wrong more often than α says if one looks again. NaN where there is none.
    """

    value: float
    low: float
    high: float
    effective: float
    n: int
    enough: bool = True
    single_low: float = math.nan
    single_high: float = math.nan

    def __str__(self) -> str:
        if not self.enough:
            return f"not enough yet ({self.n} rounds, worth {self.effective:.0f})"
        if math.isnan(self.low):
            return f"{self.value:.4g} (no interval; {self.n} rounds)"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}; {self.n} rounds, worth {self.effective:.0f})"


#: The stakes: from the largest down, each this many times smaller than the one before.
_LARGEST, _RATIO, _STAKES = 0.9, 1.8, 26
#: The first stakes have equal shares of the mixture, later ones less and less: (j − 4)^−1.4.
_EQUAL, _DECAY = 6, 1.4
#: A stake loses at most this share of the money by a control variate.
_MOST = 0.5
_HALVINGS = 60

STAKES: FloatArray = _LARGEST * _RATIO ** -np.arange(_STAKES, dtype=np.float64)
_SHARES = np.maximum(1.0, np.arange(_STAKES) - _EQUAL + 1.0) ** -_DECAY
LOG_SHARES: FloatArray = np.log(_SHARES / _SHARES.sum())


class Bets(Protocol):
    """Terms whose mean is estimated from below."""

    @property
    def cap(self) -> float:
        """The largest stake."""

    @property
    def least(self) -> float:
        """The smallest mean there can be; the largest is 1."""

    @property
    def guesses(self) -> tuple[float, float]:
        """The range of the predictions of terms."""

    def at(self, stake: float) -> FloatArray:
        """Return the terms for a stake, each above its prediction − 1/stake; variance may differ, the mean may not."""


class Terms(NamedTuple):
    """Terms with one lower bound.

    Attributes
    ----------
    base
        The terms, at least −``floor`` each.
    adjust
        Control variates with mean 0 given what came before, at least −``reach`` each; None if there are none.
    reach
        Known before the draw of each round; infinity uses no control variate in that round.
    floor
        How far below 0 a term can be.
    """

    base: FloatArray
    adjust: FloatArray | None = None
    reach: FloatArray | None = None
    floor: float = 0.0

    @property
    def cap(self) -> float:
        """The largest stake."""
        return 0.95 / (1.0 + self.floor)

    @property
    def least(self) -> float:
        """The smallest mean there can be."""
        return -self.floor

    @property
    def guesses(self) -> tuple[float, float]:
        """The range of predictions."""
        return -self.floor, 1.0

    def at(self, stake: float) -> FloatArray:
        """Return the terms with as much of the control variate as the stake allows."""
        room = _MOST / stake - 1.0 - self.floor
        if self.adjust is None or self.reach is None or room <= 0.0:
            return self.base
        x: FloatArray = self.base + np.minimum(1.0, room / np.maximum(self.reach, 1e-300)) * self.adjust
        return x


def lower_ends(terms: Bets, alpha: float, times: Sequence[int] | None = None) -> FloatArray:
    """Return lower ends of the running mean after each of ``times`` rounds (default: all), valid at all times at once.

    Each is below the true running mean with probability 1 − alpha, whenever one looks. Costs O(n) per stake.

    Parameters
    ----------
    terms
        The terms. Their mean must be at most 1.
    alpha
        The probability with which some end is above the true mean.
    times
        Numbers of rounds, each from 1 to n.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate.confidence import Terms, lower_ends
    >>> lower_ends(Terms(np.tile([0.0, 1.0], 500)), 0.025).round(3).tolist()
    [0.447]
    """
    stakes = np.minimum(STAKES, terms.cap)
    x = terms.at(stakes[0])
    guess, n = _guesses(x, terms), len(x)
    at = np.array([n] if times is None else times, dtype=np.int64)
    logs, cuts = np.empty((len(at), len(stakes))), np.r_[0, np.unique(at)]
    where = np.searchsorted(cuts, at) - 1
    for j, stake in enumerate(stakes):
        if (these := terms.at(stake)) is not x:
            x, guess = these, _guesses(these, terms)
        gains = np.log1p(stake * (x - guess)) + stake * guess
        logs[:, j] = np.cumsum(np.add.reduceat(gains[: cuts[-1]], cuts[:-1]))[where]
    return solve(logs + LOG_SHARES, stakes, at.astype(np.float64), terms.least, alpha)


def _guesses(x: FloatArray, terms: Bets) -> FloatArray:
    """Predict each term by those before it; the first by the middle of the range."""
    low, high = terms.guesses
    before = np.empty(len(x))
    before[0] = 0.5 * (low + high)
    before[1:] = (before[0] + np.cumsum(x)[:-1]) / np.arange(2.0, len(x) + 1.0)
    return np.clip(before, low, high)


def solve(logs: FloatArray, stakes: FloatArray, n: FloatArray, least: float, alpha: float) -> FloatArray:
    """Find the largest m in [least, 1] with ln Σ_j exp(logs_j − λ_j·n·m) ≥ ln(1/α), in every row."""
    low, high, enough = np.full(len(n), least), np.ones(len(n)), -math.log(alpha)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        money = logs - stakes * (n * middle)[:, None]
        most = money.max(axis=1)
        rejected = most + np.log(np.exp(money - most[:, None]).sum(axis=1)) >= enough
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def single_low(terms: Bets, alpha: float) -> float:
    """Return a lower end of the mean for a single look after all rounds.

    The stakes √(2·ln(1/α)/(n·v_t)) suit this number of rounds, v_t being the variance of the terms before t.
    """
    stakes = _suited(terms.at(STAKES[-1]), terms, alpha)
    x = terms.at(min(2.0 * float(stakes.max()), terms.cap))
    stakes = np.minimum(_suited(x, terms, alpha), 2.0 * float(stakes.max()))
    guess = _guesses(x, terms)
    gains = np.log1p(stakes * (x - guess)) + stakes * guess
    return max(terms.least, float((gains.sum() + math.log(alpha)) / stakes.sum()))


def _suited(x: FloatArray, terms: Bets, alpha: float) -> FloatArray:
    n, errors = len(x), np.square(x - _guesses(x, terms))
    variance = (0.25 + np.r_[0.0, np.cumsum(errors)[:-1]]) / np.arange(1.0, n + 1.0)
    stakes: FloatArray = np.sqrt(-2.0 * math.log(alpha) / (n * np.maximum(variance, 1e-12)))
    return np.minimum(stakes, terms.cap)


def mean_between(x: FloatArray, alpha: float) -> tuple[float, float]:
    """Return the ends of the sequence for the mean of values in [0, 1]."""
    low, high = two_sided(Terms(x), Terms(1.0 - x), alpha)
    return float(low[0]), float(high[0])


def two_sided(
    below: Bets, above: Bets, alpha: float, times: Sequence[int] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of a mean: lower ends of ``below``, and one minus those of ``above``, at α/2 each."""
    return lower_ends(below, alpha / 2.0, times), 1.0 - lower_ends(above, alpha / 2.0, times)


def single_look(below: Bets, above: Bets, alpha: float) -> tuple[float, float]:
    """Return both ends of an interval for a single look."""
    return single_low(below, alpha / 2.0), 1.0 - single_low(above, alpha / 2.0)


#: Weighted terms give no interval until this many of them are not zero.
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
        n₀: where the asymptotic interval is narrowest, after about this many values.
    bound
        None: the asymptotic sequence, for rewards in [0, 1]. A number: values in [0, bound], exact for every n.
        **Weighted and rare values need this one**: the asymptotic one is too narrow for them.

    Notes
    -----
    Asymptotic: mean ± √((n·v·ρ² + 1)/(n²ρ²)·ln((n·v·ρ² + 1)/α²)), v the variance of the values,
    ρ² = (−2·ln α + ln(−2·ln α) + 1)/n₀ [1]_. It is exact in the limit, for one finite variance.
    With a bound: a mixture of bets around the running mean, for the running mean of the true means, which may move;
    `smidgen.evaluate.confidence` has the formulas.

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
    """
    a = as_alpha(alpha)
    start = checks.whole("n0", n0, "give the number of values at which the interval is to be narrowest")
    most = 1.0 if bound is None else checks.number("bound", bound, "give the largest value there can be", above=0.0)
    x = as_numbers("values", values, 0.0, most)
    if bound is None:
        return asymptotic(x, a, start)
    if int(np.count_nonzero(x)) < FEW:
        return Estimate(float(x.mean()), 0.0, most, float(len(x)), len(x), enough=False)
    sides = Terms(x / most), Terms(1.0 - x / most)
    ends = *(float(end[0]) for end in two_sided(*sides, a)), *single_look(*sides, a)
    low, high, once_low, once_high = (end * most for end in ends)
    return Estimate(float(x.mean()), low, high, float(len(x)), len(x), single_low=once_low, single_high=once_high)


def asymptotic(x: Any, alpha: float, n0: int) -> Estimate:
    """The asymptotic sequence of checked values."""
    if -2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0 <= 0.0:
        raise InvalidArgument(f"alpha is {alpha!r} and too large for a sequence", "give a small one, e.g. alpha=0.05")
    n, mean = len(x), float(x.mean())
    rho2 = (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0) / n0
    grown = n * float(x.var()) * rho2 + 1.0
    radius = math.sqrt(grown / (n * n * rho2) * math.log(grown / alpha**2))
    return Estimate(mean, mean - radius, mean + radius, float(n), n)
