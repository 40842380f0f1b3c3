"""Claims: sentences of a paper that can be wrong, checked on the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["holds", "does not hold here", "cannot be tested here"]


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim.

    Attributes
    ----------
    verdict
        "holds", "does not hold here" or "cannot be tested here".
    effect
        How large, in words and numbers: "1.8 times lower, 95 % interval 1.5 to 2.1".
    reason
        Why it does not hold or cannot be tested, or a condition under which it holds.
    """

    verdict: Verdict
    effect: str
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a named check.

    Attributes
    ----------
    id
        Paper and a few words: ``"coactive/noise-keeps-regret"``.
    says
        What the paper claims, in our words.
    where
        The place in the paper: "Section 6.2.2".
    needs
        The studies (``"coactive/fig3:web"``) whose answers the check takes, in this order.
    check
        ``check(run, *answers) -> Finding``.
    """

    id: str
    says: str
    where: str
    needs: tuple[str, ...]
    check: Callable[..., Finding]


@dataclass(frozen=True)
class Estimate:
    """A number with a 95 % interval."""

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        form = form or ".3g"
        return f"{self.value:{form}} (95 % interval {self.low:{form}} to {self.high:{form}})"

    def __str__(self) -> str:
        return format(self)


def mean(values: ArrayLike) -> Estimate:
    """The mean of independent repetitions with Student's interval.

    Examples
    --------
    >>> from smidgen_papers.claims import mean
    >>> str(mean([1.0, 2.0, 3.0]))
    '2 (95 % interval -0.484 to 4.48)'
    """
    from scipy.stats import t

    data = np.asarray(values, dtype=np.float64)
    value = float(data.mean())
    if len(data) < 2:
        return Estimate(value, -np.inf, np.inf)
    half = float(t.ppf(0.975, len(data) - 1)) * float(data.std(ddof=1)) / np.sqrt(len(data))
    return Estimate(value, value - half, value + half)


def ratio(above: ArrayLike, below: ArrayLike) -> Estimate:
    """The ratio of two means over paired repetitions, with an interval by the log of each pair's ratio.

    Where a pair has a value that is not positive the interval is the jackknife's on the ratio of the means; without
    anything below the line it is the whole line.

    Examples
    --------
    >>> from smidgen_papers.claims import ratio
    >>> round(ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).value, 3)
    2.0
    """
    a, b = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    if np.all(a > 0) and np.all(b > 0):
        logs = mean(np.log(a / b))
        return Estimate(*(float(np.exp(value)) for value in (logs.value, logs.low, logs.high)))
    from scipy.stats import t

    n = len(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = float(a.sum() / b.sum())
        rest = (a.sum() - a) / (b.sum() - b)
    if n < 2 or not np.isfinite([whole, *rest]).all():
        return Estimate(whole, -np.inf, np.inf)
    half = float(t.ppf(0.975, n - 1)) * float(np.sqrt((n - 1) / n * np.sum((rest - rest.mean()) ** 2)))
    return Estimate(whole, whole - half, whole + half)


def judge(estimate: Estimate, *, above: float | None = None, below: float | None = None, what: str) -> Finding:
    """A verdict from an interval: it holds if all of the interval lies on the claimed side, fails if none does.

    An interval that has the limit inside says that the data cannot tell.

    Examples
    --------
    >>> from smidgen_papers.claims import Estimate, judge
    >>> judge(Estimate(2.0, 1.5, 2.5), above=1.0, what="error ratio").verdict
    'holds'
    >>> judge(Estimate(1.1, 0.9, 1.3), above=1.0, what="error ratio").reason
    'the interval has 1 inside: these repetitions cannot tell'
    """
    effect = f"{what}: {estimate}"
    if above is not None and below is not None:
        if estimate.low > above and estimate.high < below:
            return Finding("holds", effect)
        if estimate.high < above or estimate.low > below:
            return Finding("does not hold here", effect)
        return Finding(
            "cannot be tested here", effect, "the interval reaches over a limit: these repetitions cannot tell"
        )
    sign, limit = (1.0, above) if above is not None else (-1.0, below)
    if limit is None:
        raise ValueError("judge needs a limit, above or below")
    low, high = sorted((sign * (estimate.low - limit), sign * (estimate.high - limit)))
    if low > 0:
        return Finding("holds", effect)
    if high <= 0:
        return Finding("does not hold here", effect)
    return Finding("cannot be tested here", effect, f"the interval has {limit:g} inside: these repetitions cannot tell")


def untestable(reason: str, effect: str = "–") -> Finding:
    """The verdict on what this data or this set-up cannot decide."""
    return Finding("cannot be tested here", effect, reason)


def every(findings: dict[str, Finding]) -> Finding:
    """One verdict for a claim about several data sets or settings: it holds if it holds on each.

    One failure is a failure; without one, a set that cannot tell leaves it open.
    """
    order: tuple[Any, ...] = ("does not hold here", "cannot be tested here", "holds")
    verdict = next(v for v in order if any(finding.verdict == v for finding in findings.values()))
    effect = "; ".join(f"{name}: {finding.effect}" for name, finding in findings.items())
    against = [name for name, finding in findings.items() if finding.verdict == verdict != "holds"]
    reasons = "; ".join(f"{name}: {findings[name].reason}" for name in against if findings[name].reason)
    return Finding(verdict, effect, reasons or (f"not on {', '.join(against)}" if against else ""))
