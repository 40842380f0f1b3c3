"""Estimate what another policy would have earned, from a log with propensities: by weights, by a model, or by both.

`overlap` says whether a log can answer for another policy at all, `log_chance` how likely a learner that ranks would
have shown a list that another one has shown. Exported as `smidgen.offline`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from smidgen import checks
from smidgen._core import rank
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.confidence import (
    FEW,
    Estimate,
    Terms,
    as_actions,
    as_alpha,
    as_numbers,
    as_policy,
    as_propensities,
    same_length,
    single_look,
    two_sided,
)


def ips(
    rewards: Any,
    propensities: Any,
    target: Any,
    *,
    alpha: float = 0.05,
    bound: float | Sequence[float] | FloatArray | None = None,
) -> Estimate:
    """Inverse propensity scoring: the mean of r·π/p (Horvitz and Thompson 1952). Unbiased; noisy where p is small.

    Parameters
    ----------
    rewards
        The reward of what was shown in each round, in [0, 1].
    propensities
        p: the probability with which it was shown (``decision.propensity``).
    target
        π: the probability with which the new policy would have shown just that.
    alpha
        The interval fails with this probability, whenever one looks.
    bound
        W: the largest weight that could have been drawn, max over the candidates of π/p. One number for all rounds, or
        one per round (`largest_weights`). It must come from the probabilities of each round, not from the weights
        that were drawn. A weight above it is refused. The interval of `ips` holds without it.

    Notes
    -----
    **Interval** The terms r·w and (1 − r)·w are not negative, and E[w] = 1: a lower end of the mean of the second is 1
    minus an upper end of the mean of the first. Neither needs a bound on the weights (`smidgen.evaluate.confidence`).
    It is for the mean, over the rounds, of what the new policy would have earned, given what came before each round.

    Examples
    --------
    >>> from smidgen import offline
    >>> shown_twice_as_often = offline.ips([1, 0, 1, 1] * 50, [0.5] * 200, [1, 0, 0, 1] * 50)
    >>> shown_twice_as_often.value, shown_twice_as_often.effective
    (1.0, 100.0)
    """
    log = _weighted(rewards, propensities, target, alpha, bound)
    terms = log.r * log.w
    return log.estimate(float(terms.mean()), terms, *sides_of_ips(log.r, log.w))


def snips(
    rewards: Any,
    propensities: Any,
    target: Any,
    *,
    alpha: float = 0.05,
    bound: float | Sequence[float] | FloatArray | None = None,
) -> Estimate:
    """Self-normalized IPS: the same divided by the mean weight (Swaminathan and Joachims 2015). Less noise, some bias.

    The value lies within the rewards that were seen.

    Parameters
    ----------
    rewards, propensities, target, alpha
        As in `ips`.
    bound
        As in `ips`. Given, the interval uses c·(1 − w) as a control variate, c the self-normalized mean of the rounds
        before, and is narrower. Left out, the interval is that of `ips`.

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.snips([1, 0, 1, 1] * 50, [0.5] * 200, [1, 0, 0, 0] * 50).value
    1.0
    """
    log = _weighted(rewards, propensities, target, alpha, bound)
    total = float(log.w.sum())
    value = float((log.r * log.w).sum()) / total if total > 0.0 else 0.0
    return log.estimate(value, log.w, *sides_of_snips(log.r, log.w, log.most))


def direct(target: Any, predicted: Any) -> Estimate:
    """Return the direct method: the mean of Σ_k π_k·f_k, what a model of the rewards predicts. No noise of weights.

    **There is no interval**: nothing in the predictions says how wrong the model is. ``low`` and ``high`` are NaN.

    Parameters
    ----------
    target
        The probabilities of all candidates under the new policy, n × K.
    predicted
        The rewards that a model predicts, n × K; cut to [0, 1].

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.direct([[0.5, 0.5], [0.0, 1.0]], [[0.2, 0.4], [0.1, 0.5]])
    Estimate(value=0.4, low=nan, high=nan, effective=2.0, n=2, enough=True, single_low=nan, single_high=nan)
    """
    policy, f = as_policy("target", target), _predictions(predicted)
    same_length(target=policy, predicted=f)
    if policy.shape != f.shape:
        raise InvalidArgument(f"target is {policy.shape} and predicted {f.shape}", "give both for the same candidates")
    return no_interval((policy * f).sum(axis=1))


def no_interval(values: FloatArray) -> Estimate:
    """Return a mean without an interval."""
    return Estimate(float(values.mean()), math.nan, math.nan, float(len(values)), len(values))


def doubly_robust(
    rewards: Any,
    propensities: Any,
    actions: Any,
    target: Any,
    predicted: Any,
    *,
    alpha: float = 0.05,
    bound: float | Sequence[float] | FloatArray | None = None,
) -> Estimate:
    """The direct method, corrected by weighted residuals (Dudík, Langford and Li 2011): Σ_k π_k·f_k + w·(r − f_shown).

    Unbiased if either the propensities or the predictions are right; less noisy than `ips` if these are any good.

    Parameters
    ----------
    rewards, alpha
        As in `ips`.
    propensities
        The probability of what was shown, or those of all candidates, n × K. From these the bound follows.
    actions
        Which candidate was shown.
    target
        The probabilities of all candidates under the new policy, n × K.
    predicted
        The rewards that a model predicts, n × K; cut to [0, 1]. It must not have been fitted to these very rounds, or
        only to those before each.
    bound
        As in `ips`. Known, the interval uses the predictions; left out, and with the propensities of what was shown
        only, it is that of `ips`.

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.doubly_robust([1.0, 0.0], [0.5, 0.5], [0, 1], [[1, 0], [1, 0]], [[0.9, 0.1], [0.9, 0.1]]).value
    1.0
    """
    policy, f = as_policy("target", target), _predictions(predicted)
    if policy.shape != f.shape:
        raise InvalidArgument(f"target is {policy.shape} and predicted {f.shape}", "give both for the same candidates")
    shown = as_actions(actions, f.shape[1])
    n = same_length(target=policy, actions=shown)
    every = np.arange(n)
    if np.ndim(propensities) == 2:
        logged = as_policy("propensities", propensities)
        if logged.shape != policy.shape:
            raise InvalidArgument(f"propensities is {logged.shape} and target {policy.shape}", "give both for all")
        bound = largest_weights(logged, policy) if bound is None else bound
        propensities = logged[every, shown]
    log = _weighted(rewards, propensities, policy[every, shown], alpha, bound)
    same_length(rewards=log.r, actions=shown)
    return _corrected(log, (policy * f).sum(axis=1), f[every, shown])


def doubly_robust_by_terms(
    rewards: Any,
    propensities: Any,
    target: Any,
    expected: Any,
    predicted: Any,
    *,
    alpha: float = 0.05,
    bound: float | Sequence[float] | FloatArray | None = None,
) -> Estimate:
    """Estimate the same for rounds whose numbers of candidates differ, from the sums of each round.

    Parameters
    ----------
    rewards, propensities, target, alpha, bound
        As in `ips`.
    expected
        Σ_k π_k·f_k: what a model predicts for the new policy, in [0, 1].
    predicted
        f_shown: what it predicts for what was shown, in [0, 1].

    Examples
    --------
    >>> from smidgen.evaluate.off_policy import doubly_robust_by_terms
    >>> doubly_robust_by_terms([1.0, 0.0], [0.5, 0.5], [1.0, 0.0], [0.9, 0.9], [0.9, 0.1]).value
    1.0
    """
    log = _weighted(rewards, propensities, target, alpha, bound)
    expectation, f = as_numbers("expected", expected, 0.0, 1.0), as_numbers("predicted", predicted, 0.0, 1.0)
    same_length(rewards=log.r, expected=expectation, predicted=f)
    return _corrected(log, expectation, f)


def _corrected(log: _Weighted, expected: FloatArray, predicted: FloatArray) -> Estimate:
    """Estimate the direct method with weighted residuals."""
    value = float((expected + log.w * (log.r - predicted)).mean())
    return log.estimate(value, log.w, *sides_of_doubly_robust(log.r, log.w, expected, predicted, log.most))


# The two sides of each interval: terms whose mean is the value, and terms whose mean is 1 minus the value. ``mass`` is
# the target's probability of what the log could show at all: 1, unless some candidates had propensity 0. What these
# would have earned is not known; the interval allows for anything from 0 to 1.


def sides_of_ips(r: FloatArray, w: FloatArray) -> tuple[Terms, Terms]:
    """Return the terms of both ends: r·w and (1 − r)·w."""
    return Terms(r * w), Terms((1.0 - r) * w)


def sides_of_snips(
    r: FloatArray, w: FloatArray, most: FloatArray, mass: FloatArray | float = 1.0
) -> tuple[Terms, Terms]:
    """Return the terms of both ends, with the control variate c·(1 − w)."""
    c = np.empty(len(r))
    c[0] = 0.5
    c[1:] = (0.5 + np.cumsum(r * w)[:-1]) / (1.0 + np.cumsum(w)[:-1])
    below, above = sides_of_ips(r, w)
    rest, reach = mass - w, np.maximum(most - mass, 0.0)
    return below._replace(adjust=c * rest, reach=c * reach), above._replace(
        adjust=(1.0 - c) * rest, reach=(1.0 - c) * reach
    )


def sides_of_doubly_robust(
    r: FloatArray,
    w: FloatArray,
    expected: FloatArray,
    predicted: FloatArray,
    most: FloatArray,
    mass: FloatArray | float = 1.0,
) -> tuple[Terms, Terms]:
    """Return the terms of both ends, with the control variate Σ_k π_k·f_k − w·f_shown."""
    below, above = sides_of_ips(r, w)
    other = mass - expected
    return below._replace(adjust=expected - w * predicted, reach=np.maximum(most - expected, 0.0)), above._replace(
        adjust=other - w * (1.0 - predicted), reach=np.maximum(most - other, 0.0)
    )


def sides_of_difference(r: FloatArray, w: FloatArray) -> tuple[Terms, Terms]:
    """Return the terms of both ends of what the target would have earned beyond what was earned, E[(w − 1)·r].

    The second are of 1 − E[(w − 1)·r] − 1, so the upper end is minus a lower end of E[(w − 1)·(1 − r)].
    """
    return Terms((w - 1.0) * r, floor=1.0), Terms((w - 1.0) * (1.0 - r), floor=1.0)


def largest_weights(propensities: Any, target: Any) -> FloatArray:
    """Return W of each round: the largest π/p over the candidates that the log could have shown.

    Parameters
    ----------
    propensities, target
        The probabilities of all candidates, n × K: those that were drawn from, and those of the new policy.

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.largest_weights([[0.98, 0.02], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]).tolist()
    [50.0, 1.0]
    """
    p, policy = as_policy("propensities", propensities), as_policy("target", target)
    if p.shape != policy.shape:
        raise InvalidArgument(f"propensities is {p.shape} and target {policy.shape}", "give both for all candidates")
    with np.errstate(over="ignore"):
        weights = np.divide(policy, p, out=np.zeros_like(p), where=p > 0.0)
    largest: FloatArray = weights.max(axis=1)
    return largest


class _Weighted(NamedTuple):
    """Checked rewards, weights, α, and the largest weight of each round (infinity where it is not known)."""

    r: FloatArray
    w: FloatArray
    alpha: float
    most: FloatArray

    def estimate(self, value: float, counted: FloatArray, below: Terms, above: Terms) -> Estimate:
        """Return an estimate with both intervals, if enough of the counted terms are not zero."""
        n, effective = len(self.r), effective_sample_size(self.w)
        if int(np.count_nonzero(counted)) < FEW:
            return Estimate(value, 0.0, 1.0, effective, n, enough=False)
        low, high = two_sided(below, above, self.alpha)
        once = single_look(below, above, self.alpha)
        return Estimate(value, float(low[0]), float(high[0]), effective, n, True, *once)


def effective_sample_size(weights: FloatArray) -> float:
    """(Σw)²/Σw²: how many rounds of equal weight would be as noisy (Kish 1965); 0 if all weights are."""
    squares = float((weights * weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def _weighted(
    rewards: Any, propensities: Any, target: Any, alpha: float, bound: float | Sequence[float] | FloatArray | None
) -> _Weighted:
    r, p, pi = as_numbers("rewards", rewards, 0.0, 1.0), as_propensities(propensities), _shown(target)
    n = same_length(rewards=r, propensities=p, target=pi)
    with np.errstate(over="ignore"):
        w = pi / p
    hint = "give the largest weight that could have been drawn: 1 over the smallest propensity"
    if bound is None:
        most = np.full(n, np.inf)
    elif np.ndim(bound) == 0:
        most = np.full(n, checks.number("bound", bound, hint, above=0.0))
    else:
        most = as_numbers("bound", bound, 0.0, math.inf)
        same_length(rewards=r, bound=most)
    if not np.isfinite(w).all() or (w > most * (1.0 + 1e-9)).any():
        worst = int(np.argmax(w - np.where(np.isinf(most), 0.0, most)))
        raise InvalidArgument(f"bound is {most[worst]:g} and a weight is {w[worst]:g}", hint)
    return _Weighted(r, np.minimum(w, most), as_alpha(alpha), most)


def _shown(target: Any) -> FloatArray:
    return as_numbers("target", target, 0.0, 1.0)


def _predictions(predicted: Any) -> FloatArray:
    return np.clip(as_numbers("predicted", predicted, -1e100, 1e100, ndim=2), 0.0, 1.0)


#: A mean weight further from 1 than this many standard errors indicates that the logged propensities are wrong.
FAR = 5.0
#: An estimate that hangs on fewer rounds than this share of the log is called noisy.
THIN = 0.1


@dataclass(frozen=True)
class Overlap:
    """Effective share of a log for another policy.

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


def log_chance(mine: Decision, shown: IntArray, settings: Mapping[str, Any]) -> float:
    """The log of the chance that the first places of a list would have been these; −∞ if they could not.

    Parameters
    ----------
    mine
        What the learner decided on the same documents.
    shown
        The list that was shown: documents, the first place first.
    settings
        The learner's: ``depth``, how many of the first places it draws, and of swaps ``swap`` and ``alternate``.

    Notes
    -----
    A list that was not drawn has one chance, all or nothing. A list drawn by scores has that of Plackett and Luce. Of
    neighbours that are swapped at random each pair counts by itself; a list that either pairing can give counts by
    both.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate.off_policy import log_chance
    >>> learner = smidgen.PDGD(dim=2)
    >>> d = learner.decide(smidgen.Ranking(np.eye(2)))
    >>> log_chance(d, d.action, learner.params) == d.log_propensity
    True
    """
    order = np.ascontiguousarray(shown, dtype=np.int64)
    places = min(int(settings.get("depth", len(order))), len(order))
    if mine.log_propensity is None or mine.scores is None:
        return 0.0 if np.array_equal(order[:places], np.asarray(mine.action)[:places]) else -math.inf
    if mine.teams is None:
        return float(rank.log_probability(np.ascontiguousarray(mine.scores, np.float64), order, places))
    swap, alternate = float(settings.get("swap", 0.5)), bool(settings.get("alternate", True))
    greedy = np.asarray(mine.greedy)
    chances = [_of_pairing(greedy, order, places, start, swap) for start in ((0, 1) if alternate else (0,))]
    total = sum(map(math.exp, chances)) / len(chances)
    return math.log(total) if total > 0.0 else -math.inf


def _of_pairing(greedy: IntArray, order: IntArray, places: int, start: int, swap: float) -> float:
    """The log of the chance of a list if the pairs begin at a place: each swapped, or left, and all else untouched."""
    total, k = 0.0, 0
    if not np.array_equal(greedy[places:], order[places:]):
        return -math.inf
    while k < places:
        if k < start or k + 1 >= places:
            if greedy[k] != order[k]:
                return -math.inf
            k += 1
            continue
        kept = greedy[k] == order[k] and greedy[k + 1] == order[k + 1]
        swapped = greedy[k] == order[k + 1] and greedy[k + 1] == order[k]
        p = 1.0 - swap if kept else swap if swapped else 0.0
        if p <= 0.0:
            return -math.inf
        total, k = total + math.log(p), k + 2
    return total
