"""The simulated users of items, compiled: each answers as its namesake in `smidgen.users` does, draw for draw.

An item's standing is its place in an order that is fixed at the start (by utility, by rating, or as given). By utility,
all that is asked for is the next item that is left from some place on: each place points onward to another, and these
ways are shortened whenever one is gone (the forest of Galler & Fischer, 1964). By rating, a Fenwick tree (1994) counts
the items that are left, so that the k-th of them, and a draw among equals, take log n steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.users import BestRating, BetterOfTwo, BetterRating, ExpectedAlpha, StrictAlpha
from smidgen_papers.compiled.kernel import borrowing, kernel
from smidgen_papers.compiled.lanes import to_bits

STRICT, EXPECTED, BETTER, BEST, COMPARE = 0, 1, 2, 3, 4

ChoiceUser = StrictAlpha | ExpectedAlpha | BetterRating | BestRating | BetterOfTwo


@kernel
def _enough(before: float, best: float, alpha: float) -> float:
    """The utility that gains the share alpha of what could be gained (eq. 5), less what may be rounding."""
    return before + alpha * (best - before) - 1e-12 * (abs(best) + abs(before))


@kernel
def _random_mass(target: float, strict: float, random: float) -> float:
    """The largest mass p on the random objects with (1 − p)·strict + p·random ≥ target, all of them gains."""
    return 1.0 if random >= min(target, strict) else min(1.0, max(0.0, (strict - target) / (strict - random)))


class Ladder(NamedTuple):
    """Items in ascending order of a value, equals by index; those that are left are found by going up."""

    order: IntArray  # the items
    place: IntArray  # where in the order each item stands
    values: FloatArray  # in that order
    onward: IntArray  # from each place: itself if its item is left, or a place on the way to the next that is; one more
    top: IntArray  # one number: no item above this place is left


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
    useful: Ladder  # by utility
    rated: Standing  # by rating; as given for EXPECTED


def in_order(values: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The items by value, equals by index; the place of each; the values in that order."""
    keys = np.empty(len(values), np.int64)
    last = (1 << len(values).bit_length()) - 1
    _write_keys(values, last, keys)
    keys.sort()  # whole numbers by themselves are sorted in half the time of an argsort
    place, ordered = np.empty(len(values), np.int64), np.empty(len(values))
    _settle(values, last, keys, place, ordered)
    return keys, place, ordered


@kernel
def _write_keys(values: FloatArray, last: int, keys: IntArray) -> None:
    """Whole numbers in the order of the values, whose last bits give way to the index."""
    for i in range(values.shape[0]):
        bits = to_bits(values[i] + 0.0)  # no −0
        keys[i] = ((bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)) & ~last) | i


@kernel
def _settle(values: FloatArray, last: int, keys: IntArray, place: IntArray, ordered: FloatArray) -> None:
    """From sorted keys to the order of the items: those that the bits left could not tell apart are sorted again."""
    for i in range(keys.shape[0]):
        item, at = keys[i] & last, i
        value = values[item]
        while at > 0 and (ordered[at - 1] > value or (ordered[at - 1] == value and keys[at - 1] > item)):
            keys[at], ordered[at] = keys[at - 1], ordered[at - 1]
            at -= 1
        keys[at], ordered[at] = item, value
    for i in range(keys.shape[0]):
        place[keys[i]] = i


def ladder(values: FloatArray) -> Ladder:
    """All items are left at first."""
    return Ladder(*in_order(values), np.arange(len(values) + 1), np.array([len(values) - 1]))


def standing(values: FloatArray) -> Standing:
    """All items are left at first."""
    ranks = np.arange(len(values) + 1)
    tree = ranks & -ranks
    tree[0] = len(values)
    return Standing(*in_order(values), tree)


def compiled(user: Any, utility: FloatArray) -> tuple[Answers, np.random.Generator]:
    """The compiled twin of a user, to whom items are worth so much; it draws from the user's own generator."""
    useful, rng = ladder(utility), getattr(user, "_rng", None) or _idle()
    if type(user) is StrictAlpha:
        return Answers(STRICT, user.alpha, user.alpha, 0, utility, utility, useful, _nobody()), rng
    if type(user) is ExpectedAlpha:
        strict, randoms, flat = user.strict.alpha, user._randoms, np.zeros(len(utility))
        return Answers(EXPECTED, user.alpha, strict, randoms, utility, utility, useful, standing(flat)), rng
    if type(user) is BetterOfTwo:
        values = utility if user._ratings is None else _per_item(user._ratings, len(utility))
        return Answers(COMPARE, 1.0, 1.0, 0, utility, values, useful, _nobody()), rng
    if type(user) in (BetterRating, BestRating):
        values = _per_item(user.ratings, len(utility))
        code = BETTER if type(user) is BetterRating else BEST
        return Answers(code, 1.0, 1.0, 0, utility, values, useful, standing(values)), rng
    raise InvalidArgument(
        f"the user is a {type(user).__name__}",
        "give StrictAlpha, ExpectedAlpha, BetterRating, BestRating or BetterOfTwo, or use simulate",
    )


@cache
def _idle() -> np.random.Generator:
    """A generator for users that never draw."""
    return np.random.default_rng(0)


@cache
def _nobody() -> Standing:
    """A standing without items."""
    return standing(np.empty(0))


def _per_item(ratings: FloatArray, items: int) -> FloatArray:
    if len(ratings) != items:
        raise InvalidArgument(f"there are {len(ratings)} ratings", f"give one per item, {items} here")
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
    place = a.useful.place[item]
    a.useful.onward[place] = place + 1
    if a.rated.order.shape[0] > 0:
        _take(a.rated, item)


@borrowing
def highest(a: Answers) -> float:
    """The utility of the best item that is left."""
    place = a.useful.top[0]
    while a.useful.onward[place] != place:
        place -= 1
    a.useful.top[0] = place
    return float(a.useful.values[place])


@borrowing
def _from(s: Ladder, place: int) -> int:
    """The first item that is left from a place on; there must be one."""
    while s.onward[place] != place:
        s.onward[place] = s.onward[s.onward[place]]
        place = s.onward[place]
    return int(s.order[place])


@borrowing
def _first_from(values: FloatArray, least: float) -> int:
    """The first place with a value of at least that much; halving without a guess costs no wrong guesses."""
    place, rest = 0, values.shape[0]
    while rest > 1:
        half = rest // 2
        place += half if values[place + half - 1] < least else 0
        rest -= half
    return place + int(values[place] < least)


@borrowing
def _strict(a: Answers, shown: int, best: float, alpha: float) -> int:
    """The least useful item that is left and gains the share alpha, or the one shown if it is the best."""
    before = a.utility[shown]
    if before >= best:
        return shown
    return _from(a.useful, _first_from(a.useful.values, _enough(before, best, alpha)))


@kernel
def _expected(a: Answers, shown: int, best: float, rng: np.random.Generator) -> int:
    """The strict answer, or one of a few random items with as much mass as leaves the mixture α-informative."""
    answer, before = _strict(a, shown, best, a.strict), a.utility[shown]
    others, mean = np.empty(a.randoms, np.int64), 0.0
    for i in range(a.randoms):
        others[i] = _left(a.rated, rng.integers(0, a.rated.tree[0]))
        mean += (a.utility[others[i]] - before) / a.randoms
    target, gain = a.alpha * (best - before), a.utility[answer] - before
    return others[rng.integers(0, a.randoms)] if rng.random() < _random_mass(target, gain, mean) else answer


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
def answer(a: Answers, shown: int, best: float, rng: np.random.Generator) -> int:
    """What the user names instead of the item shown; ``best``: the highest utility that is left."""
    if a.code == STRICT:
        return _strict(a, shown, best, a.alpha)
    if a.code == EXPECTED:
        return _expected(a, shown, best, rng)
    return _rated(a, shown, rng)
