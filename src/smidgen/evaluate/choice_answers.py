"""The simulated users of items, compiled: each answers as its namesake in `smidgen.users` does, draw for draw.

An item's standing is its place in an order that is fixed at the start (by utility, by rating, or as given); a Fenwick
tree (1994) counts the items that are left, so that the k-th of them, and a draw among equals, take log n steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from smidgen._kernel import borrowing, kernel
from smidgen.errors import InvalidArgument
from smidgen.features import dense_scores
from smidgen.types import FloatArray, IntArray
from smidgen.users import BestRating, BetterOfTwo, BetterRating, ExpectedAlpha, StrictAlpha
from smidgen.users.strict_alpha import _ROUNDING

STRICT, EXPECTED, BETTER, BEST, COMPARE = 0, 1, 2, 3, 4

ChoiceUser = StrictAlpha | ExpectedAlpha | BetterRating | BestRating | BetterOfTwo


class Standing(NamedTuple):
    """Items in ascending order of a value, equals by index, and a count of those that are left."""

    order: IntArray  # the items
    place: IntArray  # where in the order each item stands
    values: FloatArray  # in that order
    tree: IntArray  # Fenwick's: tree[i] counts the items left among the last (i & −i) places up to i; tree[0]: all


class Answers(NamedTuple):
    """A compiled user."""

    code: int
    alpha: float
    strict: float  # of EXPECTED: the level of the deterministic answer
    randoms: int  # of EXPECTED: how many random items take part
    utility: FloatArray  # w*·x of each item
    rating: FloatArray  # what the user goes by when comparing: ratings, or utilities
    useful: Standing  # by utility
    rated: Standing  # by rating; as given for EXPECTED


def standing(values: FloatArray) -> Standing:
    """All items are left at first."""
    n = len(values)
    order = np.argsort(values)  # several times as fast as a stable sort, which is needed for equals only
    if (values[order[1:]] == values[order[:-1]]).any():
        order = np.argsort(values, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    ranks = np.arange(n + 1)
    tree = ranks & -ranks
    tree[0] = n
    return Standing(order, place, values[order], tree)


def compiled(user: Any, items: FloatArray, w_star: FloatArray) -> tuple[Answers, np.random.Generator]:
    """The compiled twin of a user, which draws from the user's own generator."""
    utility = dense_scores(items, w_star)
    useful, flat = standing(utility), np.zeros(len(items))
    rng = getattr(user, "_rng", None) or np.random.default_rng(0)  # the second never draws
    if type(user) is StrictAlpha:
        return Answers(STRICT, user.alpha, user.alpha, 0, utility, utility, useful, standing(flat[:0])), rng
    if type(user) is ExpectedAlpha:
        strict, randoms = user.strict.alpha, user._randoms
        return Answers(EXPECTED, user.alpha, strict, randoms, utility, utility, useful, standing(flat)), rng
    if type(user) is BetterOfTwo:
        values = utility if user._ratings is None else _per_item(user._ratings, items)
        return Answers(COMPARE, 1.0, 1.0, 0, utility, values, useful, standing(flat[:0])), rng
    if type(user) in (BetterRating, BestRating):
        values = _per_item(user.ratings, items)
        code = BETTER if type(user) is BetterRating else BEST
        return Answers(code, 1.0, 1.0, 0, utility, values, useful, standing(values)), rng
    raise InvalidArgument(
        f"the user is a {type(user).__name__}",
        "give StrictAlpha, ExpectedAlpha, BetterRating, BestRating or BetterOfTwo, or use simulate",
    )


def _per_item(ratings: FloatArray, items: FloatArray) -> FloatArray:
    if len(ratings) != len(items):
        raise InvalidArgument(f"there are {len(ratings)} ratings", f"give one per item, {len(items)} here")
    return ratings


@borrowing
def _left_before(s: Standing, place: int) -> int:
    """How many of the items in the first ``place`` places are left."""
    total, i = 0, place
    while i > 0:
        total += s.tree[i]
        i &= i - 1
    return total


@borrowing
def _left(s: Standing, k: int) -> int:
    """The k-th item that is left, counted from 0."""
    n, i, bit = s.order.shape[0], 0, 1
    while 2 * bit <= n:
        bit *= 2
    while bit > 0:
        if i + bit <= n and s.tree[i + bit] <= k:
            i += bit
            k -= s.tree[i]
        bit //= 2
    return int(s.order[i])


@borrowing
def _take(s: Standing, item: int) -> None:
    n, i = s.order.shape[0], s.place[item] + 1
    s.tree[0] -= 1
    while i <= n:
        s.tree[i] -= 1
        i += i & -i


@borrowing
def take(a: Answers, item: int) -> None:
    """Take an item out of the standings; it must still be there."""
    _take(a.useful, item)
    if a.rated.order.shape[0] > 0:
        _take(a.rated, item)


@borrowing
def highest(a: Answers) -> float:
    """The utility of the best item that is left."""
    return float(a.utility[_left(a.useful, a.useful.tree[0] - 1)])


@borrowing
def _strict(a: Answers, shown: int, alpha: float) -> int:
    """The least useful item that is left and gains the share alpha, or the one shown if it is the best."""
    before, best = a.utility[shown], highest(a)
    if before >= best:
        return shown
    enough = before + alpha * (best - before) - _ROUNDING * (abs(best) + abs(before))
    return _left(a.useful, _left_before(a.useful, np.searchsorted(a.useful.values, enough)))


@kernel
def _expected(a: Answers, shown: int, rng: np.random.Generator) -> int:
    """The strict answer, or one of a few random items with as much mass as leaves the mixture α-informative."""
    answer, before = _strict(a, shown, a.strict), a.utility[shown]
    others, mean = np.empty(a.randoms, np.int64), 0.0
    for i in range(a.randoms):
        others[i] = _left(a.rated, rng.integers(0, a.rated.tree[0]))
        mean += (a.utility[others[i]] - before) / a.randoms
    target, gain = a.alpha * (highest(a) - before), a.utility[answer] - before
    mass = 1.0
    if mean < min(target, gain):
        mass = min(1.0, max(0.0, (gain - target) / (gain - mean)))
    return others[rng.integers(0, a.randoms)] if rng.random() < mass else answer


@kernel
def _rated(a: Answers, shown: int, rng: np.random.Generator) -> int:
    """Any item of the next higher rating (BETTER), or of the highest (BEST); the one shown if there is none."""
    values, left = a.rated.values, a.rated.tree[0]
    first = _left_before(a.rated, np.searchsorted(values, a.rating[shown], "right"))
    if first == left:
        return shown
    level = a.rating[_left(a.rated, first if a.code == BETTER else left - 1)]
    low = _left_before(a.rated, int(np.searchsorted(values, level)))
    high = _left_before(a.rated, int(np.searchsorted(values, level, "right")))
    return _left(a.rated, low + int(rng.integers(0, high - low)))


@borrowing
def answer(a: Answers, shown: int, rng: np.random.Generator) -> int:
    """What the user names instead of the item shown."""
    if a.code == STRICT:
        return _strict(a, shown, a.alpha)
    if a.code == EXPECTED:
        return _expected(a, shown, rng)
    return _rated(a, shown, rng)
