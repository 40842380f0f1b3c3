"""Effect of a policy against another that ran at the same time: lift, verdicts, and checks of the split.

Two groups were split at random: one got the model, the other a fixed policy (a holdout) or another model. `lift` gives
the difference of their mean rewards and their ratio, with intervals that hold however often one looks. Where several
decisions belong to one person, persons are the observations (`lift_of_units`). `sample_ratio` says whether the split is
the one that was asked for, `best_constant` whether a single candidate would have earned more than the model, and
`MeanSequence` keeps a mean with its interval in a few numbers, for figures that grow with a log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen.evaluate.confidence import (
    FEW,
    LOG_SHARES,
    STAKES,
    Estimate,
    Terms,
    as_actions,
    as_alpha,
    as_numbers,
    as_propensities,
    lower_ends,
    same_length,
    single_low,
    solve,
)

Verdict = Literal["better", "worse", "not yet"]

#: Beyond this many further decisions no number is given.
PATIENCE = 10_000_000
#: Units of either group before there is an interval.
FEW_UNITS = 30
#: The interval of units is narrowest, relative to its standard error, after about this many units of the smaller group.
NARROWEST = 100
#: The prior of the sample ratio test is worth this many observations.
PRIOR = 100.0
#: A sample ratio is reported as wrong below this p.
WRONG_RATIO = 0.001
#: A regression on covariates is fitted again after this many observations, and whenever their number grew by a tenth.
REFIT = 50


@dataclass(frozen=True)
class Lift:
    """Difference in mean reward between two groups.

    Attributes
    ----------
    difference
        The mean of the treated minus the mean of the others.
    ratio
        The mean of the treated over the mean of the others; NaN where the others earned nothing.
    verdict
        "better" or "worse" if the interval of the difference lies on one side of 0, else "not yet".
    to_go
        About how many further observations lead to a verdict if the difference stays what it is; 0 once there is one,
        None if that takes more than ten million.
    """

    difference: Estimate
    ratio: Estimate
    verdict: Verdict
    to_go: int | None


def verdict(low: float, high: float, *, lower_is_better: bool = False) -> Verdict:
    """Return the verdict of an interval of a difference.

    Examples
    --------
    >>> from smidgen.evaluate.lift import verdict
    >>> verdict(0.01, 0.2), verdict(0.01, 0.2, lower_is_better=True), verdict(-0.1, 0.1)
    ('better', 'worse', 'not yet')
    """
    if not (low > 0.0 or high < 0.0):
        return "not yet"
    return "better" if (low > 0.0) != lower_is_better else "worse"


def decisions_to_go(value: float, low: float, high: float, n: int) -> int | None:
    """Return how many more observations an interval of a difference needs to exclude 0, if the value stays.

    The width shrinks like 1/√n. 0 if it excludes 0 now, None if it takes more than ten million.

    Examples
    --------
    >>> from smidgen.evaluate.lift import decisions_to_go
    >>> decisions_to_go(0.1, -0.1, 0.3, 1000), decisions_to_go(0.1, 0.05, 0.2, 1000), decisions_to_go(0.0, -1, 1, 10)
    (3000, 0, None)
    """
    if low > 0.0 or high < 0.0:
        return 0
    gap, radius = abs(value), 0.5 * (high - low)
    if not gap * math.sqrt(PATIENCE) > radius:
        return None
    more = math.ceil(n * max((radius / gap) ** 2 - 1.0, 0.0))
    return max(1, more) if more <= PATIENCE else None


# Observations that are independent of each other.


def lift(
    rewards: Any,
    treated: Any,
    *,
    share: float | Sequence[float] | FloatArray,
    covariates: Any = None,
    alpha: float = 0.05,
) -> Lift:
    """Return the lift of independent observations that were split at random, with known probabilities.

    Parameters
    ----------
    rewards
        The reward of each observation in [0, 1], in the order in which they came.
    treated
        Which group it was in: 1 for the treated, 0 for the others.
    share
        The intended probability of treatment, between 0 and 1: one number, or one per observation.
    covariates
        n × d numbers that were known before the split, such as what a user did before. They make the interval
        narrower by the share of the variance that they explain, and cost nothing if they explain none.
    alpha
        The intervals fail with this probability, whenever one looks.

    Notes
    -----
    **Difference** The mean of f₁ − f₀ + A/q·(y − f₁) − (1 − A)/(1 − q)·(y − f₀): augmented inverse propensity weighting
    [1]_. f_a is the mean of the group so far, plus a ridge regression on the covariates fitted to earlier observations,
    where that predicted better so far. The terms are bounded: the sequence of `smidgen.evaluate.confidence` is exact.
    **Ratio** By the delta method on its logarithm, with the multiplier of an asymptotic confidence sequence.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate.lift import lift
    >>> rng = np.random.default_rng(0)
    >>> treated = rng.random(4000) < 0.5
    >>> found = lift(rng.random(4000) < 0.3 + 0.2 * treated, treated, share=0.5)
    >>> found.verdict, round(found.difference.value, 1), round(found.ratio.value, 1)
    ('better', 0.2, 1.7)

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky, L. P. Zhao. Estimation of regression coefficients when some regressors are not
       always observed. JASA 89, 1994.
    """
    a = as_alpha(alpha)
    y, group = as_numbers("rewards", rewards, 0.0, 1.0), as_numbers("treated", treated, 0.0, 1.0)
    n = same_length(rewards=y, treated=group)
    if not ((group == 0.0) | (group == 1.0)).all():
        raise InvalidArgument("treated holds a number other than 0 and 1", "give the group of each observation")
    q = _shares(share, n)
    x = None if covariates is None else as_numbers("covariates", covariates, -1e100, 1e100, ndim=2)
    if x is not None:
        same_length(rewards=y, covariates=x)
    below = Split(y, group, q, *predictions(y, group, x))
    value, counts = float(below.at(STAKES[-1]).mean()), (int(group.sum()), n - int(group.sum()))
    effective = 4.0 * counts[0] * counts[1] / n
    if min(counts) < FEW:
        difference = Estimate(value, -1.0, 1.0, effective, n, enough=False)
    else:
        sides = below, below._replace(sign=-1.0)
        low, high = (float(lower_ends(side, a / 2.0)[0]) for side in sides)
        once_low, once_high = (single_low(side, a / 2.0) for side in sides)
        difference = Estimate(value, low, -high, effective, n, True, once_low, -once_high)
    ratio = _ratio(Units(y, np.ones(n), group), a)
    return _lift(difference, ratio)


class Split(NamedTuple):
    """The terms of a difference of two groups that were split at random, for `lower_ends`.

    f₁ − f₀ + A/q·(y − f₁) − (1 − A)/(1 − q)·(y − f₀), times ``sign``. A stake limits how far a term may be
    below its prediction, so the predictions f are cut to [1 − κ, κ]: κ is ½ for the largest stakes, 1 for small ones.

    Attributes
    ----------
    y, group, q
        Rewards, groups (1 treated, 0 not), and the probability of being treated.
    first, second
        Predictions of the reward of the treated and of the others, from what came before.
    sign
        −1 estimates the difference from above.
    """

    y: FloatArray
    group: FloatArray
    q: FloatArray
    first: FloatArray
    second: FloatArray
    sign: float = 1.0

    @property
    def _inverse(self) -> float:
        """The inverse of the share of the smaller group."""
        return 1.0 / float(np.minimum(self.q, 1.0 - self.q).min())

    @property
    def cap(self) -> float:
        """The largest stake."""
        return 0.95 / (0.5 * self._inverse + 0.5)

    @property
    def least(self) -> float:
        """The smallest difference there can be."""
        return -1.0

    @property
    def guesses(self) -> tuple[float, float]:
        """The range of predictions of terms."""
        return -0.5, 0.5

    def at(self, stake: float) -> FloatArray:
        """Return the terms with predictions cut as the stake needs it."""
        most = min(1.0, max(0.5, (0.95 / stake + 0.5) / (self._inverse + 2.0)))
        f1, f0 = np.clip(self.first, 1.0 - most, most), np.clip(self.second, 1.0 - most, most)
        terms = f1 - f0 + self.group / self.q * (self.y - f1) - (1.0 - self.group) / (1.0 - self.q) * (self.y - f0)
        x: FloatArray = self.sign * terms
        return x


def _lift(difference: Estimate, ratio: Estimate) -> Lift:
    if not difference.enough:
        return Lift(difference, ratio, "not yet", None)
    low, high = difference.low, difference.high
    return Lift(difference, ratio, verdict(low, high), decisions_to_go(difference.value, low, high, difference.n))


def _shares(share: Any, n: int) -> FloatArray:
    q = np.full(n, share) if np.ndim(share) == 0 else share
    q = as_numbers("share", q, 0.0, 1.0)
    same_length(rewards=np.empty(n), share=q)
    if not ((q > 0.0) & (q < 1.0)).all():
        raise InvalidArgument("share is 0 or 1", "give the probability of being treated, between 0 and 1")
    return q


def predictions(y: FloatArray, group: FloatArray, x: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Predict each reward under either group from the observations before it, within [0, 1].

    Parameters
    ----------
    y, group
        Rewards, and 1 for the treated.
    x
        Covariates; None predicts by the mean of the group so far.
    """
    means = [_running(y, group), _running(y, 1.0 - group)]
    if x is None:
        return means[0], means[1]
    rest = y - np.where(group == 1.0, means[0], means[1])
    extra = _regressed(x, rest)
    own = np.where(group == 1.0, means[0], means[1])
    gained = np.cumsum(np.square(y - own) - np.square(y - np.clip(own + extra, 0.0, 1.0)))
    helps = np.r_[0.0, gained[:-1]] > 0.0
    first, second = (np.where(helps, np.clip(mean + extra, 0.0, 1.0), mean) for mean in means)
    return first, second


def _running(y: FloatArray, counted: FloatArray) -> FloatArray:
    """Return the mean of the counted values before each, ½ being the first."""
    mean: FloatArray = (0.5 + np.r_[0.0, np.cumsum(y * counted)[:-1]]) / (1.0 + np.r_[0.0, np.cumsum(counted)[:-1]])
    return mean


def _regressed(x: FloatArray, y: FloatArray) -> FloatArray:
    """Predict each y by a ridge regression on the rows before it, centered and scaled, fitted again now and then."""
    n, d = x.shape
    out, begin = np.zeros(n), min(n, max(REFIT, 2 * d))
    while begin < n:
        end = min(n, begin + max(REFIT, begin // 10))
        center, scale = x[:begin].mean(axis=0), x[:begin].std(axis=0)
        scale = np.where(scale > 1e-12 * np.maximum(1.0, np.abs(center)), scale, np.inf)
        rows = (x[:begin] - center) / scale
        weights = np.linalg.solve(rows.T @ rows + np.eye(d), rows.T @ (y[:begin] - y[:begin].mean()))
        out[begin:end] = np.clip((x[begin:end] - center) / scale, -10.0, 10.0) @ weights
        begin = end
    return out


# Units: several decisions of one person are not independent.


class Units(NamedTuple):
    """Sums over the decisions of each unit, in the order of first sight.

    Attributes
    ----------
    rewards, decisions
        The sum of the rewards, in [0, 1] each, and the number of decisions.
    treated
        1 for the treated, 0 for the others.
    """

    rewards: FloatArray
    decisions: FloatArray
    treated: FloatArray


def lift_of_units(rewards: Any, decisions: Any, treated: Any, *, alpha: float = 0.05) -> Lift:
    """Return the lift where units, such as persons, were split at random: means per decision, observations are units.

    Parameters
    ----------
    rewards
        The sum of the rewards of each unit, in [0, 1] per decision.
    decisions
        The number of decisions of each unit.
    treated
        The group of each unit: 1 for the treated, 0 for the others.
    alpha
        The intervals fail with this probability, whenever one looks.

    Notes
    -----
    The mean of a group is R = Σ rewards/Σ decisions. A unit contributes (rewards − R·decisions)/(mean number of
    decisions) to its error (linearization). The interval is the standard error of that times the multiplier of an
    asymptotic confidence sequence: it holds in the limit of many units; there is none below 30 of either group.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate.lift import lift_of_units
    >>> rng = np.random.default_rng(0)
    >>> decisions, treated = rng.integers(1, 20, size=2000), np.arange(2000) % 2
    >>> found = lift_of_units(rng.binomial(decisions, 0.3 + 0.1 * treated), decisions, treated)
    >>> found.verdict, round(found.difference.value, 2), found.difference.n
    ('better', 0.1, 2000)
    """
    a = as_alpha(alpha)
    given = {"rewards": rewards, "decisions": decisions, "treated": treated}
    most = {"rewards": math.inf, "decisions": math.inf, "treated": 1.0}
    units = Units(*(as_numbers(name, each, 0.0, most[name]) for name, each in given.items()))
    same_length(**units._asdict())
    if (units.decisions < 1.0).any() or (units.rewards > units.decisions * (1.0 + 1e-9)).any():
        raise InvalidArgument(
            "a unit has no decision, or a sum of rewards above its number of decisions",
            "give sums over at least one decision, with rewards in [0, 1]",
        )
    n, (sides, errors) = len(units.treated), _groups(units)
    counts = [len(each) for each in errors]
    effective = 4.0 * counts[0] * counts[1] / n
    if min(counts) < FEW_UNITS:
        value = float(sides[0] - sides[1]) if min(counts) else math.nan
        return _lift(Estimate(value, -1.0, 1.0, effective, n, enough=False), _ratio(units, a))
    error = math.sqrt(sum(_squares(units, errors)))
    value, radius, once = sides[0] - sides[1], error * multiplier(counts, a), error * _normal(a)
    ends = (max(-1.0, value - radius), min(1.0, value + radius))
    return _lift(Estimate(value, *ends, effective, n, True, value - once, value + once), _ratio(units, a))


def mean_of_units(rewards: Any, decisions: Any, *, alpha: float = 0.05) -> Estimate:
    """Return the mean reward per decision of one group of units; see `lift_of_units`.

    Examples
    --------
    >>> from smidgen.evaluate.lift import mean_of_units
    >>> mean_of_units([1.0, 0.0], [2, 2]).value
    0.25
    """
    a = as_alpha(alpha)
    if not np.size(rewards) and not np.size(decisions):
        return Estimate(math.nan, 0.0, 1.0, 0.0, 0, enough=False)
    r, d = (as_numbers(name, each, 0.0, math.inf) for name, each in (("rewards", rewards), ("decisions", decisions)))
    n = same_length(rewards=r, decisions=d)
    value = float(r.sum() / d.sum())
    if n < FEW_UNITS:
        return Estimate(value, 0.0, 1.0, float(n), n, enough=False)
    errors = (r - value * d) / d.mean()
    error = math.sqrt(float(errors @ errors) / (n - 1) / n)
    radius, once = error * multiplier([n, 10**12], a), error * _normal(a)
    ends = max(0.0, value - radius), min(1.0, value + radius)
    return Estimate(value, *ends, float(n), n, True, value - once, value + once)


def _groups(units: Units) -> tuple[list[float], list[FloatArray]]:
    """Return the mean per decision of the treated and of the others, and what each unit contributes to its error."""
    means, errors = [], []
    for group in (1.0, 0.0):
        mine = units.treated == group
        r, d = units.rewards[mine], units.decisions[mine]
        mean = float(r.sum() / d.sum()) if len(d) else math.nan
        means.append(mean)
        errors.append((r - mean * d) / d.mean() if len(d) else r)
    return means, errors


def _squares(units: Units, errors: Sequence[FloatArray]) -> list[float]:
    """Return the squared standard errors of the two means.

    The variance of a small group that happened to earn little is small too. So each group has at least the variance of
    all units around their common mean.
    """
    r, d = units.rewards, units.decisions
    common = float(np.square(r - float(r.sum() / d.sum()) * d).sum()) / (len(r) - 1) / float(d.mean()) ** 2
    return [max(common, float(each @ each) / (len(each) - 1)) / len(each) for each in errors]


def _ratio(units: Units, alpha: float) -> Estimate:
    """Return the ratio of the means, by the delta method on its logarithm."""
    n, (means, errors) = len(units.treated), _groups(units)
    counts = [len(each) for each in errors]
    effective = 4.0 * counts[0] * counts[1] / n
    if not min(means) > 0.0 or min(counts) < FEW_UNITS:
        value = means[0] / means[1] if min(counts) and means[1] > 0.0 else math.nan
        return Estimate(value, 0.0, math.inf, effective, n, enough=False)
    value = means[0] / means[1]
    squares = _squares(units, errors)
    error = math.sqrt(sum(square / mean**2 for square, mean in zip(squares, means, strict=True)))
    ends = [
        value * math.exp(sign * error * times)
        for times in (multiplier(counts, alpha), _normal(alpha))
        for sign in (-1, 1)
    ]
    return Estimate(value, ends[0], ends[1], effective, n, True, ends[2], ends[3])


def multiplier(counts: Sequence[int], alpha: float) -> float:
    """Return how many standard errors the interval of a difference has, holding at all times at once.

    √((m·ρ² + 1)/(m·ρ²)·ln((m·ρ² + 1)/α²)), m the harmonic number of units n₁·n₀/(n₁ + n₀) of the two groups, and
    ρ² = (−2·ln α + ln(−2·ln α) + 1)/100 (Waudby-Smith et al. 2024, with the variance estimated).
    """
    m = counts[0] * counts[1] / max(1, sum(counts))
    rho2 = (-2.0 * math.log(alpha) + math.log(-2.0 * math.log(alpha)) + 1.0) / NARROWEST
    return math.sqrt((m * rho2 + 1.0) / (m * rho2) * math.log((m * rho2 + 1.0) / alpha**2))


def _normal(alpha: float) -> float:
    return NormalDist().inv_cdf(1.0 - alpha / 2.0)


# Is the split the one that was asked for?


class SampleRatio(NamedTuple):
    """Comparison of the observed split with the intended one.

    Attributes
    ----------
    expected, observed
        The share that was asked for, and the one that came.
    p
        Valid however often one looks: below α at some time with probability at most α if the split is right.
    ok
        Whether p is at least .001.
    """

    expected: float
    observed: float
    p: float
    ok: bool


def sample_ratio(members: int, n: int, share: float) -> SampleRatio:
    """Test whether ``members`` of ``n`` fit a share, however often one looks (sequential multinomial test [1]_).

    The Bayes factor of a Beta prior around the share against the share itself is a martingale if the share is right.

    Parameters
    ----------
    members, n
        Units (or decisions) of the group, and of both groups.
    share
        The probability of being a member, between 0 and 1.

    Examples
    --------
    >>> from smidgen.evaluate.lift import sample_ratio
    >>> sample_ratio(52, 1000, 0.05).ok, sample_ratio(100, 1000, 0.05).ok
    (True, False)

    References
    ----------
    .. [1] M. Lindon, A. Malek. Anytime-valid inference for multinomial count data. NeurIPS 2022.
    """
    k = checks.whole("members", members, "give a number of units", at_least=0)
    of = checks.whole("n", n, "give the number of units of both groups", at_least=0)
    q = float(_shares(share, 1)[0])
    if k > of:
        raise InvalidArgument(f"members is {k} and n {of}", "n counts the units of both groups")
    a, b = PRIOR * q, PRIOR * (1.0 - q)
    log_factor = (
        math.lgamma(a + k)
        - math.lgamma(a)
        + math.lgamma(b + of - k)
        - math.lgamma(b)
        + math.lgamma(a + b)
        - math.lgamma(a + b + of)
        - k * math.log(q)
        - (of - k) * math.log1p(-q)
    )
    p = min(1.0, math.exp(min(0.0, -log_factor)))
    return SampleRatio(q, k / of if of else math.nan, p, p >= WRONG_RATIO)


# Would one candidate have earned more than the model?


class Constant(NamedTuple):
    """A candidate that would have earned more than what was shown, had it always been shown.

    Attributes
    ----------
    action
        Its index.
    value, low
        By how much per decision, and the lower end of that, corrected for the number of candidates.
    """

    action: int
    value: float
    low: float


def best_constant(
    rewards: Any,
    propensities: Any,
    actions: Any,
    *,
    candidates: int,
    explored: Any = None,
    alpha: float = 0.05,
) -> Constant | None:
    """Return the candidate that, always shown, would certainly have earned more than the model; None if there is none.

    Parameters
    ----------
    rewards, propensities
        The reward of what was shown, in [0, 1], and the probability with which it was shown.
    actions
        Which candidate that was. Give only decisions that offered all candidates.
    candidates
        How many there are. Each is tested at α divided by this number.
    explored
        Whether what was shown was not the model's best guess. Given, candidates are compared with the best guess: what
        exploration costs is no fault of the model. Left out, they are compared with what was shown.
    alpha
        The probability of naming one wrongly, however often one looks.

    Notes
    -----
    With weights w = [shown]/p of the candidate and v = [shown was the best guess]/p, the terms w·r + v·(1 − r) − 1 are
    at least −1, and their mean is the difference: no bound on the weights is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.evaluate.lift import best_constant
    >>> rng = np.random.default_rng(0)
    >>> shown = rng.integers(2, size=1000)
    >>> best_constant(rng.random(1000) < 0.3 + 0.4 * shown, np.full(1000, 0.5), shown, candidates=2).action
    1
    """
    K = checks.whole("candidates", candidates, "give the number of candidates")
    r, p, a = as_numbers("rewards", rewards, 0.0, 1.0), as_propensities(propensities), as_actions(actions, K)
    n = same_length(rewards=r, propensities=p, actions=a)
    other = np.ones(n)
    if explored is not None:
        other = (1.0 - as_numbers("explored", explored, 0.0, 1.0)) / p
        same_length(rewards=r, explored=other)
    best: Constant | None = None
    level = as_alpha(alpha) / K
    for action in np.unique(a).tolist():
        w = (a == action) / p
        if int(np.count_nonzero(w * r)) < FEW:
            continue
        terms = Terms(w * r + other * (1.0 - r) - 1.0, floor=1.0)
        low = float(lower_ends(terms, level)[0])
        if low > 0.0 and (best is None or low > best.low):
            best = Constant(action, float(terms.base.mean()), low)
    return best


def looks_note(segments: int) -> str:
    """Return a sentence on how many comparisons a table of segments makes.

    Examples
    --------
    >>> from smidgen.evaluate.lift import looks_note
    >>> looks_note(1)
    'One interval. It holds with probability 95 %, however often you look.'
    >>> looks_note(40)[:73]
    '40 intervals, each of which fails with probability 5 %: expect about 2.0 '
    """
    if segments == 1:
        return "One interval. It holds with probability 95 %, however often you look."
    return (
        f"{segments} intervals, each of which fails with probability 5 %: expect about {0.05 * segments:.1f} of them "
        "to miss. A segment that stands out among many needs an experiment of its own."
    )


# A mean with its interval, kept in a few numbers.


class MeanSequence:
    """The mean of values in [0, 1] with an interval that holds however often one looks, in 54 numbers.

    A fold: `add` the values in their order. Two of them `merge` into one of all their values, in any interleaving.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import offline
    >>> from smidgen.evaluate.lift import MeanSequence
    >>> values = np.random.default_rng(0).random(500)
    >>> kept = MeanSequence()
    >>> for value in values:
    ...     kept.add(value)
    >>> batch = offline.confidence_sequence(values, bound=1.0)
    >>> bool(np.allclose([kept.estimate().low, kept.estimate().high], [batch.low, batch.high]))
    True
    """

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self._below = np.zeros(len(STAKES))
        self._above = np.zeros(len(STAKES))

    def add(self, value: float) -> None:
        """Add a value in [0, 1]."""
        x = checks.number("value", value, "give a number from 0 to 1", at_least=0.0, at_most=1.0)
        guess = min(1.0, (0.5 + self.total) / (self.n + 1))
        other = min(1.0, (0.5 + self.n - self.total) / (self.n + 1))
        self._below += np.log1p(STAKES * (x - guess)) + STAKES * guess
        self._above += np.log1p(STAKES * (1.0 - x - other)) + STAKES * other
        self.total += x
        self.n += 1

    def merge(self, other: MeanSequence) -> None:
        """Add the values of another one."""
        self.n += other.n
        self.total += other.total
        self._below += other._below
        self._above += other._above

    def estimate(self, alpha: float = 0.05) -> Estimate:
        """Return the mean with its interval; `enough` from 10 values on."""
        if not self.n:
            return Estimate(math.nan, 0.0, 1.0, 0.0, 0, enough=False)
        value = self.total / self.n
        if self.n < 10:
            return Estimate(value, 0.0, 1.0, float(self.n), self.n, enough=False)
        logs, n = np.stack([self._below, self._above]) + LOG_SHARES, np.full(2, float(self.n))
        low, high = solve(logs, STAKES, n, 0.0, as_alpha(alpha) / 2.0)
        return Estimate(value, float(low), 1.0 - float(high), float(self.n), self.n)

    def to_record(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {"n": self.n, "total": self.total, "below": self._below.tolist(), "above": self._above.tolist()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> MeanSequence:
        """Restore a state."""
        made = cls()
        try:
            made.n, made.total = int(record["n"]), float(record["total"])
            made._below, made._above = (np.array(record[side], dtype=np.float64) for side in ("below", "above"))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidRecord(f"this is no state of a mean: {error}", "give what to_record returned") from error
        if made._below.shape != STAKES.shape or made._above.shape != STAKES.shape or not 0 <= made.total <= made.n:
            raise InvalidRecord("this state of a mean has another form", "give what to_record returned")
        return made
