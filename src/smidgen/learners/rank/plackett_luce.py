"""Rankings drawn by scores: one place after the other, each document with a chance of exp(score) among those left.

The model is Plackett's and Luce's. To draw from it, sort by the scores plus Gumbel noise.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.randomness import U64, fill_uniforms
from smidgen.structures.ranking import _write_ranked

LEAST = 2.0**-54  # a uniform of 0 counts as this
SAFE = 600.0  # exponents whose sum stays below this neither overflow nor vanish


@kernel
def log_sum(a: float, b: float) -> float:
    """log(exp(a) + exp(b)) for numbers of any size; one of them may be −∞."""
    high = max(a, b)
    return high + math.log(math.exp(a - high) + math.exp(b - high))


@kernel
def log_probability(scores: FloatArray, order: IntArray, places: int) -> float:
    """The log of the chance that the first ``places`` of a drawn ranking are these."""
    high, left, total = -np.inf, 0.0, 0.0  # exp(high)·left is the sum over the documents from here on
    for r in range(order.shape[0] - 1, -1, -1):
        s = scores[order[r]]
        if s <= high:
            left += math.exp(s - high)
        else:
            left, high = left * math.exp(high - s) + 1.0, s
        if r < places:
            total += s - high - math.log(left)
    return total


@kernel
def draw(scores: FloatArray, key: U64, number: int, places: int, order: IntArray, noisy: FloatArray) -> bool:
    """Write the ranking that belongs to decision ``number``; says no, and writes none, if scores are beyond numbers.

    They are where the probability of the first places would have no logarithm. ``noisy`` is scratch.
    """
    n = scores.shape[0]
    low, high = scores[0], scores[0]
    for i in range(n):
        low, high = min(low, scores[i]), max(high, scores[i])
    if not (high - low) * places < np.inf:
        return False
    fill_uniforms(key, np.uint64(number), noisy)
    for i in range(n):
        noisy[i] = scores[i] - math.log(-math.log(max(noisy[i], LEAST)))
    return _write_ranked(noisy, order)


@kernel
def draw_with_chance(scores: FloatArray, key: U64, number: int, places: int, order: IntArray) -> float:
    """The same; returns the `log_probability` of the first places, not a number if there is no ranking."""
    drawn = draw(scores, key, number, places, order, np.empty(scores.shape[0]))
    return log_probability(scores, order, places) if drawn else math.nan


@inlined
def suffix_sums(scores: FloatArray, order: IntArray, places: int, at: FloatArray, left: FloatArray) -> bool:
    """Write what `exchange_odds` reads: a weight per place, and the sum of those from each place on (0 at the end).

    The weights are exp(score − highest) if none of their products over so many places can vanish, which is the answer;
    otherwise they are the scores themselves, and the sums are logs of sums of exponentials.
    """
    n = order.shape[0]
    low, high = scores[0], scores[0]
    for i in range(n):
        low, high = min(low, scores[i]), max(high, scores[i])
    safe = bool((high - low) * places <= SAFE)
    if safe:
        left[n] = 0.0
        for r in range(n - 1, -1, -1):
            at[r] = math.exp(scores[order[r]] - high)
            left[r] = left[r + 1] + at[r]
    else:
        left[n] = -np.inf
        for r in range(n - 1, -1, -1):
            at[r] = scores[order[r]]
            left[r] = log_sum(left[r + 1], at[r])
    return safe


@inlined
def exchange_odds(at: FloatArray, left: FloatArray, i: int, j: int, safe: bool) -> float:
    """P(R)/P(R*), R the ranking that `suffix_sums` read and R* the one with places i < j exchanged.

    Only the choices between the two differ: where R still has the document of place j, R* has that of place i. The sums
    of all others are of positive terms, from place j up, so that nothing cancels.
    """
    rest = left[j + 1]
    if safe:
        odds: float = (rest + at[i]) / (rest + at[j])
        for r in range(j - 1, i, -1):
            rest += at[r]
            odds *= (rest + at[i]) / (rest + at[j])
        return odds
    total = log_sum(rest, at[i]) - log_sum(rest, at[j])
    for r in range(j - 1, i, -1):
        rest = log_sum(rest, at[r])
        total += log_sum(rest, at[i]) - log_sum(rest, at[j])
    return math.exp(total) if total < SAFE else np.inf
