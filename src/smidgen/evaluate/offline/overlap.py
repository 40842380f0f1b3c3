"""Whether a log can answer for another policy at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.evaluate.offline.given import as_numbers, as_propensities, same_length
from smidgen.evaluate.offline.policies import effective_sample_size
from smidgen.evaluate.offline.sequence import FEW

#: A mean weight further from 1 than so many standard errors says that the propensities are not what was drawn from.
FAR = 5.0
#: An estimate that hangs on fewer rounds than this share of the log is called noisy.
THIN = 0.1


@dataclass(frozen=True)
class Overlap:
    """How much of a log bears on another policy.

    Attributes
    ----------
    effective
        How many rounds the log is worth for it.
    share
        The same as a share of the log.
    largest
        The largest weight.
    mean
        The mean weight: 1, but for chance, if the propensities are right.
    matched
        In how many rounds the new policy could have shown the same.
    n
        Rounds.
    words
        What that means, a sentence each, the most important first.
    """

    effective: float
    share: float
    largest: float
    mean: float
    matched: int
    n: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


def overlap(propensities: Any, target: Any) -> Overlap:
    """Diagnose whether a log bears on another policy, with words.

    Parameters
    ----------
    propensities
        The probability with which the shown was shown.
    target
        The probability with which the new policy would have shown just that.

    Examples
    --------
    >>> from smidgen import offline
    >>> print(offline.overlap([0.5] * 100, [1, 0] * 50))
    The log is worth 50 of its 100 rounds for this policy; the largest weight is 2.
    """
    p, pi = as_propensities(propensities), as_numbers("target", target, 0.0, 1.0)
    n = same_length(propensities=p, target=pi)
    with np.errstate(over="ignore"):
        w = np.minimum(pi / p, 1e300)
    effective, matched, mean = effective_sample_size(w / max(1.0, w.max())), int(np.count_nonzero(w)), float(w.mean())
    error = float(w.std()) / math.sqrt(n)
    words = []
    if matched < FEW:
        words.append(
            f"Only in {matched} of {n} rounds could this policy have shown the same: too few for an estimate. Let the "
            "old one explore more, or try the new one on a share of the traffic."
        )
    if matched >= FEW and abs(mean - 1.0) > FAR * error + 1e-9:
        words.append(
            f"The mean weight is {mean:.3g} and should be near 1: either the log lacks rounds, or the propensities are "
            "not those that were drawn from, or the new policy shows what the old one never could."
        )
    if matched >= FEW and effective < THIN * n:
        words.append(
            f"The estimate hangs on few rounds, worth {effective:.0f} of {n}: the new policy mostly shows what was "
            "rarely shown."
        )
    words.append(
        f"The log is worth {effective:.0f} of its {n} rounds for this policy; the largest weight is {w.max():.3g}."
    )
    return Overlap(effective, effective / n, float(w.max()), mean, matched, n, tuple(words))
