"""Words and pairs of ASCII texts found by compiled code, without a string for each of them.

A term is known by two residues of its letters (Rabin's fingerprint, to two bases), 62 bits together. Two terms
that share all of them would share a column; among a million terms the chance of that is one in ten million.
Texts that are not ASCII, and terms that are not known, go the way of `smidgen.features.words`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, inlined, kernel
from smidgen.decision import FloatArray, IntArray

_P = 2**31 - 1  # a prime
_BASE, _OTHER, _JOIN = 263, 1_009, 1_000_003
_ROOM = 64

Bytes = NDArray[np.uint8]


@inlined
def _letter(byte: int) -> int:
    """A letter, digit or underscore in lower case; 0 for all else."""
    if 65 <= byte <= 90:
        return byte + 32
    return byte if 97 <= byte <= 122 or 48 <= byte <= 57 or byte == 95 else 0


@inlined
def _residue(number: int) -> int:
    """The same modulo 2³¹ − 1, and below 2³²; of a number below 2⁶²."""
    return (number & _P) + (number >> 31)


@inlined
def _key(p: int, q: int) -> int:
    return (p << 31) ^ q


@inlined
def _slot(keys: IntArray, key: int) -> int:
    """Where a key stands in a table, or where it would go: open addressing in a table of a power of two."""
    mask = keys.shape[0] - 1
    at = int((key ^ (key >> 29)) & mask)
    while keys[at] != key and keys[at] >= 0:
        at = (at + 1) & mask
    return at


@kernel
def put(keys: IntArray, ids: IntArray, text: Bytes, seed: int, found: int) -> None:
    """Enter one term: a word, or two words with a space between."""
    p, q, first_p, first_q = seed, seed, 0, 0
    for k in range(text.shape[0]):
        if text[k] == 32:
            first_p, first_q, p, q = p, q, seed, seed
        else:
            p, q = _residue(p * _BASE + int(text[k])), _residue(q * _OTHER + int(text[k]))
    if first_p or first_q:
        p, q = _residue(first_p * _JOIN + p), _residue(first_q * _JOIN + q)
    at = _slot(keys, _key(p, q))
    keys[at], ids[at] = _key(p, q), found


@kernel
def rehash(old_keys: IntArray, old_ids: IntArray, keys: IntArray, ids: IntArray) -> None:
    """Move a table into a larger one."""
    for k in range(old_keys.shape[0]):
        if old_keys[k] >= 0:
            at = _slot(keys, old_keys[k])
            keys[at], ids[at] = old_keys[k], old_ids[k]


#: What is written of each term: its id or −1, how often it comes, where it begins and ends.
ID, COUNT, FIRST, LAST, LINES = 0, 1, 2, 3, 4
#: Scratch: of each word where it begins and ends, and its two residues; then a table of the terms seen.
BEGIN, END, LEFT, RIGHT, SEEN, PLACE, ROWS = 0, 1, 2, 3, 4, 5, 6


@inlined
def _words(text: Bytes, first: int, last: int, seed: int, scratch: IntArray) -> int:
    """The words of text[first:last]: where they stand, and their residues; returns how many there are."""
    n, p, q, begun = 0, seed, seed, -1
    for k in range(first, last + 1):
        c = _letter(text[k]) if k < last else 0
        if c:
            begun = k if begun < 0 else begun
            p, q = _residue(p * _BASE + c), _residue(q * _OTHER + c)
        elif begun >= 0:
            scratch[BEGIN, n], scratch[END, n], scratch[LEFT, n], scratch[RIGHT, n] = begun, k, p, q
            n, p, q, begun = n + 1, seed, seed, -1
    return n


@borrowing
def scan_one(
    text: Bytes, span: tuple[int, int], index: tuple[int, IntArray, IntArray], scratch: IntArray, out: IntArray, n: int
) -> tuple[int, bool]:
    """The terms of text[span], each once, from the n-th line of ``out`` on; how many lines there are then.

    Also, whether all of them are known and come once.
    """
    seed, keys, table = index
    words, plain = _words(text, span[0], span[1], seed, scratch), True
    size = _ROOM
    while size < 4 * words:
        size *= 2
    seen, places = scratch[SEEN, :size], scratch[PLACE, :size]
    for k in range(size):
        seen[k] = -1
    for k in range(2 * words - 1):
        w = k if k < words else k - words
        p, q, stop = scratch[LEFT, w], scratch[RIGHT, w], scratch[END, w]
        if k >= words:
            p, q = _residue(p * _JOIN + scratch[LEFT, w + 1]), _residue(q * _JOIN + scratch[RIGHT, w + 1])
            stop = scratch[END, w + 1]
        key = _key(p, q)
        at = _slot(seen, key)
        if seen[at] == key:
            out[COUNT, places[at]] += 1
            plain = False
            continue
        seen[at], places[at] = key, n
        known = _slot(keys, key)
        out[ID, n] = table[known] if keys[known] == key else -1
        plain &= out[ID, n] >= 0
        out[COUNT, n], out[FIRST, n], out[LAST, n] = 1, scratch[BEGIN, w], stop
        n += 1
    return n, plain


@kernel
def _scratch(longest: int) -> IntArray:
    """Scratch for texts of so many letters: half as many words, and a table four times as large."""
    size = _ROOM
    while size < 2 * longest + 4:
        size *= 2
    return np.empty((ROWS, size), np.int64)


@kernel
def _most(text: Bytes, first: int, ends: IntArray) -> int:
    """How many terms there are at most in texts that end at ``ends``: two for every word."""
    n, begun, t = 0, False, 0
    for k in range(first, ends[-1] if ends.shape[0] else first):
        while k == ends[t]:
            begun, t = False, t + 1
        inside = _letter(text[k]) > 0
        n += inside and not begun
        begun = inside
    return 2 * n


@kernel
def _scan_many(
    text: Bytes, first: int, ends: IntArray, index: tuple[int, IntArray, IntArray], out: IntArray
) -> tuple[IntArray, bool]:
    """The same for texts from ``first`` on that end at ``ends``; where the terms of each begin."""
    longest, begin = 0, first
    for t in range(ends.shape[0]):
        longest, begin = max(longest, ends[t] - begin), ends[t]
    starts, simple, scratch = np.zeros(ends.shape[0] + 1, np.int64), True, _scratch(longest)
    for t in range(ends.shape[0]):
        n, plain = scan_one(text, (first, ends[t]), index, scratch, out, starts[t])
        simple &= plain
        starts[t + 1], first = n, ends[t]
    return starts, simple


@kernel
def _scan_text(text: Bytes, seed: int, keys: IntArray, table: IntArray, out: IntArray) -> tuple[int, bool]:
    """The same for one text, with scratch of its own."""
    return scan_one(text, (0, text.shape[0]), (seed, keys, table), _scratch(text.shape[0]), out, 0)


@kernel
def write_terms(text: Bytes, seed: int, keys: IntArray, table: IntArray, ids: IntArray, weights: FloatArray) -> int:
    """The ids of a text's terms, each once, and 1 + ln(how often); returns how many, −1 if one of them is not known."""
    out = np.empty((LINES, text.shape[0] + 1), np.int64)
    n, _ = _scan_text(text, seed, keys, table, out)
    for k in range(n):
        if out[ID, k] < 0:
            return -1
        ids[k], weights[k] = out[ID, k], 1.0
        if out[COUNT, k] > 1:
            weights[k] += math.log(out[COUNT, k])
    return n


class TermIndex:
    """The terms of one text field that are known, for compiled code: derived from the book, and never saved."""

    __slots__ = ("_filled", "ids", "keys", "seed")

    def __init__(self) -> None:
        self.seed = 7
        self.keys: IntArray = np.full(_ROOM, -1, np.int64)
        self.ids: IntArray = np.empty(_ROOM, np.int64)
        self._filled = 0

    def add(self, term: str, found: int) -> None:
        """Enter a term, if it is ASCII."""
        if not term.isascii():
            return
        if 2 * (self._filled + 1) > len(self.keys):
            keys, ids = np.full(2 * len(self.keys), -1, np.int64), np.empty(2 * len(self.keys), np.int64)
            rehash(self.keys, self.ids, keys, ids)
            self.keys, self.ids = keys, ids
        put(self.keys, self.ids, np.frombuffer(term.encode(), np.uint8), self.seed, found)
        self._filled += 1

    def scan(self, text: bytes) -> tuple[IntArray, bool]:
        """The terms of a text, one column each (see `ID` …); and whether all are known and come once."""
        out = np.empty((LINES, len(text) + 1), np.int64)
        n, simple = _scan_text(np.frombuffer(text, np.uint8), self.seed, self.keys, self.ids, out)
        return out[:, :n], simple

    def scan_many(self, texts: Bytes, first: int, ends: IntArray) -> tuple[IntArray, IntArray, bool]:
        """The same for many texts in a row from ``first`` on; first, where the terms of each begin."""
        out, index = np.empty((LINES, _most(texts, first, ends)), np.int64), (self.seed, self.keys, self.ids)
        starts, simple = _scan_many(texts, first, ends, index, out)
        return starts, out[:, : starts[-1]], simple


#: Knows no terms.
NOTHING = TermIndex()
