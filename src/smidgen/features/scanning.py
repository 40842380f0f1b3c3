"""Words and pairs of ASCII texts found by compiled code, without a string for each of them.

A term is known by two residues of its letters (Rabin's fingerprint, to two bases), 62 bits together. Two terms
that share all of them would share a column; among a million terms the chance of that is one in ten million.
Texts that are not ASCII, and terms that are not known, go the way of `smidgen.features.words`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smidgen._core.text import add_term, most_terms, rehash, scan_text, scan_texts
from smidgen.decision import IntArray

_ROOM = 64
#: What is written of each term: its id or −1, how often it comes, where it begins and ends.
ID, COUNT, FIRST, LAST, LINES = 0, 1, 2, 3, 4

Bytes = NDArray[np.uint8]


class TermIndex:
    """The terms of one text field that are known, for compiled code: derived from the book, and never saved."""

    __slots__ = ("_filled", "known")

    def __init__(self) -> None:
        self.known: tuple[IntArray, IntArray] = _table(_ROOM)  #: keys, −1 in free places, and the id of each
        self._filled = 0

    def add(self, term: str, found: int) -> None:
        """Enter a term, if it is ASCII."""
        if not term.isascii():
            return
        if 2 * (self._filled + 1) > len(self.known[0]):
            larger = _table(2 * len(self.known[0]))
            rehash(*self.known, *larger)
            self.known = larger
        add_term(*self.known, np.frombuffer(term.encode(), np.uint8), found)
        self._filled += 1

    def scan(self, text: bytes) -> tuple[IntArray, bool]:
        """The terms of a text, one column each (see `ID` …); and whether all are known and come once."""
        out = np.empty((LINES, len(text)), np.int64)
        n, simple = scan_text(np.frombuffer(text, np.uint8), self.known, out)
        return out[:, :n], simple

    def scan_many(self, texts: Bytes, first: int, ends: IntArray) -> tuple[IntArray, IntArray, bool]:
        """The same for many texts in a row from ``first`` on; first, where the terms of each begin."""
        out, starts = np.empty((LINES, most_terms(texts, first, ends)), np.int64), np.empty(len(ends) + 1, np.int64)
        simple = scan_texts(texts, first, ends, self.known, out, starts)
        return starts, out[:, : starts[-1]], simple


def _table(size: int) -> tuple[IntArray, IntArray]:
    return np.full(size, -1, np.int64), np.empty(size, np.int64)


#: Knows no terms.
NOTHING = TermIndex()
