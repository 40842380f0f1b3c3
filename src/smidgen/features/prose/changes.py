"""How much of a text was changed: the edit distance between two sequences of tokens, over the longer of them.

The distance is Levenshtein's, by the bit vectors of Myers (1999) in the blocks of Hyyrö (2003): 64 tokens of one text
against one of the other at a time. What both begin and end with is taken off first, so that an ordinary edit of a long
text costs what the edit costs.
"""

from __future__ import annotations

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import IntArray

#: Beyond so many pairs of tokens (16,384 against as many) the exact distance would take too long.
CELLS = 1 << 28


def changed_share(before: IntArray, after: IntArray) -> float:
    """The share of the text that was changed: 0 for the same tokens in the same order, 1 if nothing was kept."""
    longer = max(len(before), len(after))
    return token_distance(before, after) / longer if longer else 0.0


def token_distance(before: IntArray, after: IntArray) -> int:
    """How many tokens were put in, taken out or replaced.

    Where more than `CELLS` pairs are left once the common ends are off, it is the least number that the tokens allow in
    any order: never more than the true distance.
    """
    first, last = _common_ends(before, after)
    a, b = before[first : len(before) - last], after[first : len(after) - last]
    if not len(a) or not len(b):
        return max(len(a), len(b))
    if len(a) * len(b) > CELLS:
        return _least(a, b)
    return int(_distance(a, b))


@kernel
def _common_ends(a: IntArray, b: IntArray) -> tuple[int, int]:
    """How many tokens both begin with, and how many of the others both end with."""
    n, first, last = min(a.shape[0], b.shape[0]), 0, 0
    while first < n and a[first] == b[first]:
        first += 1
    while last < n - first and a[a.shape[0] - 1 - last] == b[b.shape[0] - 1 - last]:
        last += 1
    return first, last


def _least(a: IntArray, b: IntArray) -> int:
    """The larger of the two numbers of tokens that only one text has."""
    distinct, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
    flat = numbers.reshape(-1)
    difference = np.bincount(flat[: len(a)], minlength=len(distinct)) - np.bincount(
        flat[len(a) :], minlength=len(distinct)
    )
    return int(max(difference[difference > 0].sum(), -difference[difference < 0].sum()))


@kernel
def _distance(a: IntArray, b: IntArray) -> int:
    """The distance of two sequences of keys: each key gets a number first."""
    size = 16
    while size < 2 * (a.shape[0] + b.shape[0]):
        size *= 2
    keys, numbers, used = np.empty(size, np.int64), np.full(size, -1, np.int64), 0
    one, other = np.empty(a.shape[0], np.int64), np.empty(b.shape[0], np.int64)
    for k in range(a.shape[0] + b.shape[0]):
        key = a[k] if k < a.shape[0] else b[k - a.shape[0]]
        at = int((key ^ (key >> 31)) & (size - 1))
        while numbers[at] >= 0 and keys[at] != key:
            at = (at + 1) & (size - 1)
        if numbers[at] < 0:
            keys[at], numbers[at], used = key, used, used + 1
        if k < a.shape[0]:
            one[k] = numbers[at]
        else:
            other[k - a.shape[0]] = numbers[at]
    return _levenshtein(one, other, used)


@kernel
def _levenshtein(a: IntArray, b: IntArray, distinct: int) -> int:
    """The distance of two sequences of numbers below ``distinct``, 64 rows at a time.

    Of each block of ``a`` only where its tokens stand is kept; ``carry`` has, for every place of ``b``, by how much the
    last row of the block above differs from its neighbour: −1, 0 or 1. Masks of 63 bits, so that they are ordinary
    whole numbers, compiled or not.
    """
    width = 63
    full = (1 << 63) - 1
    n, m = a.shape[0], b.shape[0]
    carry, where = np.ones(m, np.int64), np.zeros(distinct, np.int64)
    distance = n
    for start in range(0, n, width):
        size = min(width, n - start)
        for i in range(size):
            where[a[start + i]] |= np.int64(1) << np.int64(i)
        top = np.int64(1) << np.int64(size - 1)
        plus, minus, last = np.int64(full), np.int64(0), start + size == n
        for j in range(m):
            match, above = where[b[j]], carry[j]
            vertical = match | minus
            if above < 0:
                match |= np.int64(1)
            both = match & plus
            # (both + plus) without leaving 63 bits: the sum of the low 62 bits, then the highest by hand
            low = (both & (full >> 1)) + (plus & (full >> 1))
            total = low ^ ((both ^ plus) & (np.int64(1) << np.int64(62)))
            horizontal = (total ^ plus) | match
            up = minus | (full & ~(horizontal | plus))
            down = plus & horizontal
            below = 0
            if up & top:
                below = 1
            elif down & top:
                below = -1
            if last:
                distance += below
            carry[j] = below
            up = (up << np.int64(1)) & full
            down = (down << np.int64(1)) & full
            if above < 0:
                down |= np.int64(1)
            elif above > 0:
                up |= np.int64(1)
            plus = down | (full & ~(vertical | up))
            minus = up & vertical
        for i in range(size):
            where[a[start + i]] = 0
    return int(distance)
