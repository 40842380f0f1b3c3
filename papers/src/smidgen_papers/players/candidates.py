"""The argmax over items that go one by one: exact, and cheap.

*Near* scores are whole numbers of 16 bits, from one product of the features that are left with w, both in 16 bits.
Weights that move along differences of items need not even that. A step along x_j − x_i moves the score of item k by
G_jk − G_ik, G the Gram matrix, which is kept as 8-bit numbers. By how much a near score can be too low is known. So
those that are high enough get true scores, until no other can come up to the best of them; if two are as good as equal,
sums that run in the order of the features decide, as everywhere else. So the choice is that of `Choice.argmax`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.compiled.arrays import dot
from smidgen_papers.compiled.kernel import borrowing, kernel
from smidgen_papers.players.short_scores import (
    PARTS,
    WIDTH,
    Bytes,
    Shorts,
    Wholes,
    highest_score,
    move_scores,
    move_scores_by,
    places_from,
    write_peaks,
    write_products,
    write_scores,
)

COLUMNS, TRAVEL, EXACT, STALE, FINE = range(5)
LONGEST, FARTHEST, ENTRY, BLUR, RATE, UNIT, BASE, ERROR, NORM = range(9)

BLOCK = 128  # near scores that share their peaks
_WORTH = 32  # a true score takes as long as so many of a product
ROUNDING = 2.0**-53  # of double precision
#: Features of length LONGEST, and weights, are so many units long in a product: 32 bits hold it.
LENGTH = 32_000
_SMALL, _LARGE = 1e-100, 1e100  # beyond these sizes there are no near scores

# After a product near scores lie between FLOOR and TOP: the highest is TOP, and what would lie below FLOOR is lifted to
# it (too high does no harm). Items that are gone lie at GONE. Until the next product a score moves by _FAR at most. So
# those that are left stay between −8,100 and 32,500, those that are gone between −32,568 and −8,568: nothing overflows,
# nothing mingles.
FLOOR, TOP, GONE = 3900, 20_500, -20_568
_FAR = 12_000
_LOWEST = FLOOR - _FAR


class CandidateTable(NamedTuple):
    """The items that are left for one user."""

    rows: FloatArray  # the features of all items
    mean: FloatArray  # of the features
    features: Shorts  # less the mean, of the items that are left (with G: of all), in any order; see `write_products`
    items: IntArray  # the item of each column
    column: IntArray  # the column of each item; −1: gone
    gram: Bytes  # G less the mean, in units of ENTRY, as long as whole blocks; empty if it is not used
    reach: IntArray  # the largest size of a number in each row of it
    drift: FloatArray  # what the mean leaves out: x·mean, of each item
    weights: Shorts  # space for w, and
    products: Wholes  # for a product
    near: Shorts  # near scores by column, as long as whole blocks: w·x is at most BASE + UNIT·near + ERROR
    peaks: Shorts  # the highest near scores of each block (see `short_scores`)
    places: Wholes  # space for the places of the highest peaks, and
    found: Wholes  # for the columns that may be the best, and
    scores: FloatArray  # for their scores
    # COLUMNS; TRAVEL: how far near scores may have moved since the last product; EXACT: how many true scores there were
    # since; STALE: 1 if near scores have not followed w; FINE: 1 if the unit of G is too coarse (where a few items are
    # far longer than the rest), so that a product every time is quicker than many true scores
    counts: IntArray
    # LONGEST: the largest norm of an item less the mean, FARTHEST: with it; ENTRY: the unit of G; BLUR: what the
    # difference of two numbers of G is wrong by at most; RATE of the last step; UNIT, BASE and ERROR of near scores;
    # NORM: ‖w‖ at most
    sizes: FloatArray


@borrowing
def choose(c: CandidateTable, w: FloatArray) -> int:
    """The item that is left of highest w·x, the first of equals."""
    if c.counts[STALE] == 1:
        if not w.any():  # all are equal: no need to score them one by one
            return _first(c)
        _product(c, w)
    limit = highest_score(c.peaks, 0, c.peaks.shape[0]) - _units(c, 1.125 * c.sizes[ERROR]) - 4  # as a rule low enough
    while True:
        limit = max(_LOWEST, limit)
        count = _high(c, limit)
        top = _score(c, w, count)
        needed = _units(c, top - c.sizes[BASE] - c.sizes[ERROR]) - 1
        if needed >= limit or limit == _LOWEST:  # nobody else can come up to the best
            break
        limit = needed
    c.counts[EXACT] += count
    if c.counts[EXACT] * _WORTH > c.near.shape[0]:
        if c.counts[TRAVEL] > 0:
            c.counts[STALE] = 1
        else:
            c.counts[FINE] = 1
    return _best_of(c, w, count, top)


@borrowing
def _units(c: CandidateTable, size: float) -> int:
    """A size in units of near scores, towards zero; no more than all of them."""
    return int(min(65536.0, max(-65536.0, size / c.sizes[UNIT])))


@borrowing
def _high(c: CandidateTable, limit: int) -> int:
    """Find the columns whose near scores are at least the limit. Each belongs to a peak that is as high."""
    count = 0
    for i in range(places_from(c.peaks, 0, c.peaks.shape[0], limit, c.places)):
        block, lane = c.places[i] // WIDTH, c.places[i] % WIDTH
        for k in range(block * BLOCK + lane, (block + 1) * BLOCK, WIDTH):
            if c.near[k] >= limit:
                c.found[count] = k
                count += 1
    return count


@borrowing
def _score(c: CandidateTable, w: FloatArray, count: int) -> float:
    """Score the columns found; gives the highest score."""
    top = -math.inf
    for i in range(count):
        c.scores[i] = dot(c.rows[c.items[c.found[i]]], w)
        top = max(top, c.scores[i])
    return top


@borrowing
def _best_of(c: CandidateTable, w: FloatArray, count: int, top: float) -> int:
    """The best of the columns found. Those that are as good as equal get sums in the order of the features.

    Such a sum differs from a score by 2·(dim + 2)·2⁻⁵³·‖x‖·‖w‖ at most, as both are rounded.
    """
    close, best, rivals = -math.inf, -1, 0
    if c.sizes[ERROR] < math.inf:
        close = top - 4.0 * (w.shape[0] + 4) * ROUNDING * c.sizes[FARTHEST] * c.sizes[NORM]
    for i in range(count):
        if c.scores[i] >= close:
            best = c.items[c.found[i]]
            rivals += 1
    if rivals == 1:
        return int(best)
    top = -math.inf
    for i in range(count):
        if c.scores[i] >= close:
            item, score = c.items[c.found[i]], 0.0
            for f in range(w.shape[0]):
                score += c.rows[item, f] * w[f]
            if score > top or (score == top and item < best):
                best, top = item, score
    return int(best)


@borrowing
def _first(c: CandidateTable) -> int:
    item = 0
    while c.column[item] < 0:
        item += 1
    return item


@borrowing
def moved(c: CandidateTable) -> None:
    """Say that w has moved, no matter how."""
    c.counts[STALE] = 1


@borrowing
def moved_along(c: CandidateTable, better: int, shown: int, rate: float) -> None:
    """Say that w has moved by rate·(x_better − x_shown), two items that are gone."""
    unit = c.sizes[UNIT]
    c.sizes[RATE] = rate
    c.counts[TRAVEL] += c.reach[better] + c.reach[shown]
    parts = int(min(2.0, rate * c.sizes[ENTRY] / unit) * PARTS)
    if c.counts[STALE] == 1 or c.counts[TRAVEL] > _FAR or parts > PARTS:
        c.counts[STALE] = 1
        return
    plus, minus = c.gram[better], c.gram[shown]
    for b in range(c.peaks.shape[0] // WIDTH):
        first, last = b * BLOCK, (b + 1) * BLOCK
        if parts == PARTS:
            move_scores(c.near, plus, minus, first, last, c.peaks, b * WIDTH)
        else:
            move_scores_by(c.near, plus, minus, parts, first, last, c.peaks, b * WIDTH)
    c.sizes[BASE] += rate * (c.drift[better] - c.drift[shown])
    c.sizes[ERROR] += rate * c.sizes[BLUR]
    c.sizes[NORM] += 2.0 * rate * c.sizes[FARTHEST]
    if parts < PARTS:  # the step is rounded to ½, and the factor to 2⁻¹⁵, which makes 254/2¹⁵ at most
        c.sizes[ERROR] += 0.51 * unit


@borrowing
def remove(c: CandidateTable, item: int) -> None:
    """Take one item out; it must still be there. The last column moves to its place, unless G has a say."""
    k = c.column[item]
    c.column[item] = -1
    if c.gram.shape[0] > 0:
        c.near[k] = GONE
    else:
        last = c.counts[COLUMNS] - 1
        c.counts[COLUMNS] = last
        if k != last:
            c.items[k], c.near[k] = c.items[last], c.near[last]
            c.column[c.items[k]] = k
            here, there = c.features[k // BLOCK], c.features[last // BLOCK]
            for f in range(c.features.shape[1]):
                for i in range(2):
                    here[f, 2 * (k % BLOCK) + i] = there[f, 2 * (last % BLOCK) + i]
        c.near[last] = GONE
        _peak(c, last // BLOCK)
    _peak(c, k // BLOCK)


@borrowing
def _peak(c: CandidateTable, b: int) -> None:
    """The peaks of a block."""
    write_peaks(c.near, b * BLOCK, (b + 1) * BLOCK, c.peaks, b * WIDTH)


@borrowing
def _level(c: CandidateTable) -> None:
    """Let near scores say nothing: all that are left will get true scores."""
    for k in range(c.near.shape[0]):
        c.near[k] = FLOOR if c.near[k] >= _LOWEST else GONE
    for b in range(c.peaks.shape[0] // WIDTH):
        _peak(c, b)
    c.sizes[UNIT], c.sizes[BASE], c.sizes[ERROR] = 1.0, 0.0, math.inf


@kernel
def _product(c: CandidateTable, w: FloatArray) -> None:
    """Near scores of all that are left.

    Their unit is that of the next step, or else such that no score is lifted. They are wrong by half a unit, and by the
    rounding of w and x to ½ of their units: ‖w‖·L·√dim/LENGTH at most (by Cauchy's inequality; a little more is said).
    What double precision rounds is added.
    """
    dim, norm, longest = w.shape[0], math.sqrt(dot(w, w)), c.sizes[LONGEST]
    one = norm * longest / (LENGTH * LENGTH)  # the unit of a product
    unit = c.sizes[RATE] * c.sizes[ENTRY] if c.gram.shape[0] > 0 and c.counts[FINE] == 0 else 0.0
    unit = max(one, unit if unit > 0.0 else 2.0 * norm * longest / (TOP - FLOOR))
    c.counts[TRAVEL], c.counts[EXACT], c.counts[STALE], c.sizes[NORM] = 0, 0, 0, norm
    if min(norm, longest, unit) < _SMALL or not max(norm, longest, unit) < _LARGE:
        _level(c)
        return
    for f in range(dim):
        c.weights[f] = round(w[f] * (LENGTH / norm))
    top = write_products(c.features, c.weights, c.near, _LOWEST, c.products)
    write_scores(c.products, np.float32(top), np.float32(one / unit), FLOOR, TOP, GONE, c.near)
    for b in range(c.peaks.shape[0] // WIDTH):
        _peak(c, b)
    c.sizes[UNIT], c.sizes[BASE] = unit, dot(w, c.mean) + top * one - TOP * unit
    c.sizes[ERROR] = 0.51 * unit + 1.01 * (math.sqrt(dim) + dim / LENGTH) * norm * longest / LENGTH
    c.sizes[ERROR] += 8.0 * (dim + 8) * ROUNDING * norm * c.sizes[FARTHEST]
