"""Words, pairs of words and short runs of letters, hashed into columns by compiled code.

The words and pairs are those of the vectorizer's texts (`smidgen.features.words`): runs of letters, digits and
underscores, case folded, each term worth 1 + ln(how often). A term falls into a column by its hash, with a sign, so
that what falls together cancels on average (Weinberger et al. 2009). Nothing is kept of the words themselves.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.prose.characters import DIGIT, LETTER, LINE, SPACE, Codes, Kinds

#: Letters run together by threes, fours and fives.
SHORTEST, LONGEST = 3, 5
_MASK = (1 << 31) - 1  # so that no product below leaves 62 bits, compiled or not
_FNV, _POLYNOMIAL, _FINAL = 16_777_619, 1_000_003, 73_244_475


@inlined
def _left(h: int, code: int) -> int:
    return ((h ^ code) * _FNV) & _MASK


@inlined
def _right(h: int, code: int) -> int:
    return (h * _POLYNOMIAL + code + 1) & _MASK


@inlined
def _mixed(left: int, right: int) -> int:
    """All bits of a key in 31 of them, well stirred."""
    h = left ^ (right >> 3) ^ ((right << 5) & _MASK)
    h = ((h ^ (h >> 16)) * _FINAL) & _MASK
    h = ((h ^ (h >> 15)) * _FINAL) & _MASK
    return h ^ (h >> 16)


@inlined
def _joined(left: int, right: int, next_left: int, next_right: int) -> tuple[int, int]:
    """The residues of a phrase that goes on with another word."""
    return _left((left * 31 + 7) & _MASK, next_left), _right(right, next_right)


@inlined
def _slot(keys: IntArray, key: int, mixed: int) -> int:
    """Where a key stands in a table of a power of two, or where it would go."""
    mask = keys.shape[0] - 1
    at = int(mixed & mask)
    while keys[at] != key and keys[at] >= 0:
        at = (at + 1) & mask
    return at


@kernel
def word_keys(codes: Codes, kinds: Kinds) -> IntArray:
    """Two residues of every word, in order, a row each: 62 bits that tell it from others."""
    keys, n, begun = np.empty((codes.shape[0], 2), np.int64), 0, False
    left, right = 17, 29
    for k in range(codes.shape[0]):  # without a branch: where words begin and end cannot be foretold
        inside = LETTER <= kinds[k] <= DIGIT
        n += inside & (not begun)
        left, right = _left(left if begun else 17, int(codes[k])), _right(right if begun else 29, int(codes[k]))
        keys[n - inside, 0], keys[n - inside, 1], begun = left, right, inside  # beyond the words: written over
    return keys[:n].copy()


@kernel
def token_keys(codes: Codes, kinds: Kinds) -> IntArray:
    r"""A key for every word, every run of other marks and every run of line breaks: ``\w+``, ``[^\w\s]+``, ``\n+``."""
    keys, n, before = np.empty(codes.shape[0], np.int64), 0, SPACE
    left, right = 17, 29
    for k in range(codes.shape[0]):
        kind = LETTER if LETTER <= kinds[k] <= DIGIT else (LINE if kinds[k] == LINE else int(kinds[k]))
        if kind > DIGIT:
            kind = DIGIT + 1
        if kind != before:
            left, right = 17, 29
            n += kind != SPACE
        if kind != SPACE:
            left, right = _left(left, int(codes[k])), _right(right, int(codes[k]))
            keys[n - 1] = (left << 31) | right
        before = kind
    return keys[:n].copy()


@kernel
def phrase_key(keys: IntArray) -> int:
    """The key of a phrase of one, two or three words."""
    left, right = keys[0, 0], keys[0, 1]
    for k in range(1, keys.shape[0]):
        left, right = _joined(left, right, keys[k, 0], keys[k, 1])
    return int((left << 31) | right)


@kernel
def enter(table: IntArray, keys: IntArray, kind: int) -> None:
    """Put a phrase into a table: keys in the first row, in the second a bit for every kind that it is of."""
    key = phrase_key(keys)
    at = _slot(table[0], key, _mixed(key >> 31, key & _MASK))
    table[0, at], table[1, at] = key, table[1, at] | (1 << kind)


@kernel
def find_phrases(keys: IntArray, table: IntArray, found: IntArray, first: IntArray, last: IntArray) -> None:
    """Count the phrases of each kind, and note the first and the last word at which one begins."""
    n = keys.shape[0]
    for k in range(n):
        left, right = keys[k, 0], keys[k, 1]
        for size in range(1, min(4, n - k + 1)):
            if size > 1:
                left, right = _joined(left, right, keys[k + size - 1, 0], keys[k + size - 1, 1])
            key = (left << 31) | right
            at = _slot(table[0], key, _mixed(key >> 31, key & _MASK))
            if table[0, at] != key:
                continue
            for kind in range(found.shape[0]):
                if table[1, at] >> kind & 1:
                    first[kind] = k if found[kind] == 0 else first[kind]
                    last[kind] = k
                    found[kind] += 1


@kernel
def lay_words(keys: IntArray, scale: float, out: FloatArray) -> None:
    """Words and pairs in hashed columns, each once with 1 + ln(how often), then to the length ``scale``."""
    n, size = keys.shape[0], 16
    while size < 4 * n:
        size *= 2
    seen, counts, squares = np.full(size, -1, np.int64), np.zeros(size, np.int64), 0.0
    for words in range(1, 3):
        for k in range(n - words + 1):
            left, right = keys[k, 0], keys[k, 1]
            if words == 2:
                left, right = _joined(left, right, keys[k + 1, 0], keys[k + 1, 1])
            key = (left << 31) | right
            at = _slot(seen, key, _mixed(left, right))
            seen[at] = key
            counts[at] += 1
    taken, m = np.empty(size, np.int64), 0
    for at in range(size):
        taken[m] = at
        m += counts[at] > 0
    for at in taken[:m]:
        worth, h = 1.0, _mixed(seen[at] >> 31, seen[at] & _MASK)
        if counts[at] > 1:
            worth += math.log(counts[at])
        squares += worth * worth
        out[(h >> 1) % out.shape[0]] += worth if h & 1 else -worth
    factor = scale / math.sqrt(squares) if squares > 0.0 else 0.0
    for j in range(out.shape[0]):
        out[j] *= factor


@inlined
def _stirred(run: int) -> int:
    """The residue of a run of letters: its lowest bit is the sign, those above it are the column."""
    h = ((run ^ (run >> 15)) * _FINAL) & _MASK
    return h ^ (h >> 16)


@kernel
def lay_letters(codes: Codes, kinds: Kinds, scale: float, out: FloatArray) -> None:
    """Runs of letters, marks and spaces in hashed columns, by how often they come, then to the length ``scale``.

    The number of columns is a power of two.
    """
    n, squares = codes.shape[0], 0
    letters, runs, places = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    counts = np.zeros(2 * out.shape[0], np.int64)
    for k in range(n):
        letters[k] = 32 if kinds[k] == SPACE else int(codes[k])
        runs[k] = _left(17, letters[k])
    for size in range(2, LONGEST + 1):
        for k in range(n - size + 1):  # each for itself, so that several are done at once
            runs[k] = _left(runs[k], letters[k + size - 1])
        if size >= SHORTEST:
            for k in range(n - size + 1):
                places[k] = _stirred(runs[k]) & (counts.shape[0] - 1)
            for k in range(n - size + 1):
                counts[places[k]] += 1
    for j in range(out.shape[0]):
        count = counts[2 * j + 1] - counts[2 * j]
        out[j], squares = count, squares + count * count  # whole numbers: no order changes the sum
    factor = scale / math.sqrt(squares) if squares > 0 else 0.0
    for j in range(out.shape[0]):
        out[j] *= factor
