"""What a policy that was not shown would have earned, from a log with propensities: by weights, by a model, or by both.

`overlap` says whether a log can answer for another policy at all, `log_chance` how likely a learner that ranks would
have shown a list that another one has shown. Exported as `smidgen.offline`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.rank import log_probability
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.confidence import (
    FEW,
    Estimate,
    as_actions,
    as_alpha,
    as_numbers,
    as_policy,
    as_propensities,
    asymptotic,
    mean_between,
    ratio_between,
    same_length,
)


def ips(rewards: Any, propensities: Any, target: Any, *, alpha: float = 0.05, bound: float | None = None) -> Estimate:
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
        The largest weight π/p that could have come: 1/p of the rarest choice. Left out, the smallest propensity in the
        log is taken for it, which is right if that is what the floor of the old policy was.

    Examples
    --------
    >>> from smidgen import offline
    >>> shown_twice_as_often = offline.ips([1, 0, 1, 1] * 50, [0.5] * 200, [1, 0, 0, 1] * 50)
    >>> shown_twice_as_often.value, shown_twice_as_often.effective
    (1.0, 100.0)
    """
    r, w, a, most = _weighted(rewards, propensities, target, alpha, bound)
    terms = r * w
    enough = int(np.count_nonzero(terms)) >= FEW
    low, high = mean_between(terms / most, a) if enough else (0.0, 1.0)
    if enough:
        low, high = min(1.0, low * most), min(1.0, high * most)
    return Estimate(float(terms.mean()), low, high, effective_sample_size(w), len(r), enough)


def snips(rewards: Any, propensities: Any, target: Any, *, alpha: float = 0.05, bound: float | None = None) -> Estimate:
    """The same divided by the mean weight (Swaminathan and Joachims 2015): a little bias, much less noise.

    The value lies within the rewards that were seen. The interval is that of the m with E[w·(r − m)] = 0, by betting.

    Parameters
    ----------
    rewards, propensities, target, alpha, bound
        As in `ips`.

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.snips([1, 0, 1, 1] * 50, [0.5] * 200, [1, 0, 0, 0] * 50).value
    1.0
    """
    r, w, a, most = _weighted(rewards, propensities, target, alpha, bound)
    enough = int(np.count_nonzero(w)) >= FEW
    low, high = ratio_between(w / most, r, a) if enough else (0.0, 1.0)
    total = float(w.sum())
    value = float((r * w).sum()) / total if total > 0.0 else 0.0
    return Estimate(value, low, high, effective_sample_size(w), len(r), enough)


def direct(target: Any, predicted: Any, *, alpha: float = 0.05, n0: int = 100) -> Estimate:
    """The direct method: the mean of Σ_k π_k·f_k, what a model of the rewards predicts. No noise of weights.

    **The interval knows nothing of the model's own error**: it is that of the mean prediction over the contexts.

    Parameters
    ----------
    target
        The probabilities of all candidates under the new policy, n × K.
    predicted
        The rewards that a model predicts, n × K; cut to [0, 1].
    alpha, n0
        As in `confidence_sequence`.

    Examples
    --------
    >>> from smidgen import offline
    >>> offline.direct([[0.5, 0.5], [0.0, 1.0]], [[0.2, 0.4], [0.1, 0.5]]).value
    0.4
    """
    policy, f = as_policy("target", target), _predictions(predicted)
    same_length(target=policy, predicted=f)
    if policy.shape != f.shape:
        raise InvalidArgument(f"target is {policy.shape} and predicted {f.shape}", "give both for the same candidates")
    return asymptotic((policy * f).sum(axis=1), as_alpha(alpha), checks.whole("n0", n0, "give a number of values"))


def doubly_robust(
    rewards: Any,
    propensities: Any,
    actions: Any,
    target: Any,
    predicted: Any,
    *,
    alpha: float = 0.05,
    bound: float | None = None,
) -> Estimate:
    """The direct method, corrected by weighted residuals (Dudík, Langford and Li 2011): Σ_k π_k·f_k + w·(r − f_shown).

    Unbiased if either the propensities or the predictions are right; less noisy than `ips` if these are any good.

    Parameters
    ----------
    rewards, propensities, alpha, bound
        As in `ips`.
    actions
        Which candidate was shown.
    target
        The probabilities of all candidates under the new policy, n × K.
    predicted
        The rewards that a model predicts, n × K; cut to [0, 1]. It must not have been fitted to these very rounds, or
        only to those before each.

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
    r, w, a, most = _weighted(rewards, propensities, policy[every, shown], alpha, bound)
    same_length(rewards=r, actions=shown)
    return _corrected(r, w, (policy * f).sum(axis=1), f[every, shown], a, most)


def doubly_robust_by_terms(
    rewards: Any,
    propensities: Any,
    target: Any,
    expected: Any,
    predicted: Any,
    *,
    alpha: float = 0.05,
    bound: float | None = None,
) -> Estimate:
    """The same of rounds whose numbers of candidates differ, from what each round comes to.

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
    r, w, a, most = _weighted(rewards, propensities, target, alpha, bound)
    expectation, f = as_numbers("expected", expected, 0.0, 1.0), as_numbers("predicted", predicted, 0.0, 1.0)
    same_length(rewards=r, expected=expectation, predicted=f)
    return _corrected(r, w, expectation, f, a, most)


def _corrected(
    r: FloatArray, w: FloatArray, expected: FloatArray, predicted: FloatArray, alpha: float, most: float
) -> Estimate:
    """The direct method with weighted residuals, in [−most, 1 + most] each."""
    terms = expected + w * (r - predicted)
    enough = int(np.count_nonzero(w)) >= FEW
    low, high = mean_between(np.clip((terms + most) / (1.0 + 2.0 * most), 0.0, 1.0), alpha) if enough else (0.0, 1.0)
    if enough:
        low, high = (min(1.0, max(0.0, end * (1.0 + 2.0 * most) - most)) for end in (low, high))
    return Estimate(float(terms.mean()), low, high, effective_sample_size(w), len(r), enough)


def effective_sample_size(weights: FloatArray) -> float:
    """(Σw)²/Σw²: how many rounds of equal weight would be as noisy (Kish 1965); 0 if all weights are."""
    squares = float((weights * weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def _weighted(
    rewards: Any, propensities: Any, target: Any, alpha: float, bound: float | None
) -> tuple[FloatArray, FloatArray, float, float]:
    """Rewards, weights, α, and the largest weight there can be."""
    r, p, pi = as_numbers("rewards", rewards, 0.0, 1.0), as_propensities(propensities), _shown(target)
    same_length(rewards=r, propensities=p, target=pi)
    with np.errstate(over="ignore"):
        w = pi / p
    hint = "give the largest weight there can be: 1 over the smallest propensity"
    most = 1.0 / max(float(p.min()), 1e-300) if bound is None else checks.number("bound", bound, hint, above=0.0)
    if not np.isfinite(w).all() or w.max() > most * (1.0 + 1e-9):
        raise InvalidArgument(f"bound is {most:g} and a weight is {w.max():g}", hint)
    return r, np.minimum(w, most), as_alpha(alpha), most


def _shown(target: Any) -> FloatArray:
    return as_numbers("target", target, 0.0, 1.0)


def _predictions(predicted: Any) -> FloatArray:
    return np.clip(as_numbers("predicted", predicted, -1e100, 1e100, ndim=2), 0.0, 1.0)


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
        return float(log_probability(np.ascontiguousarray(mine.scores, np.float64), order, places))
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
