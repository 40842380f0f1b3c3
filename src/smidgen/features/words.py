"""Texts as words and word pairs, weighted by how rare they are (inverse document frequency, counted online).

Terms of ASCII texts are found by compiled code, without a string for each of them. A term is known by two residues of
its letters (Rabin's fingerprint, to two bases), 62 bits together. Two terms that share all of them would share a
column; among a million terms the chance of that is one in ten million. Texts that are not ASCII, and terms that are
not known, go by `terms`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen._core import text as core
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import CorruptFile
from smidgen.serialization import UNREADABLE

_ROOM = 64
#: The constant of a record with words. Texts have unit length, and a constant of 1 would drown them.
CONSTANT = 0.2
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
            core.rehash(*self.known, *larger)
            self.known = larger
        core.add_term(*self.known, np.frombuffer(term.encode(), np.uint8), found)
        self._filled += 1

    def scan(self, text: bytes) -> tuple[IntArray, bool]:
        """The terms of a text, one column each (see `ID` …); and whether all are known and come once."""
        out = np.empty((LINES, len(text)), np.int64)
        n, simple = core.scan_text(np.frombuffer(text, np.uint8), self.known, out)
        return out[:, :n], simple

    def scan_many(self, texts: Bytes, first: int, ends: IntArray) -> tuple[IntArray, IntArray, bool]:
        """Find the terms of many consecutive texts from ``first`` on. Also returns where the terms of each begin."""
        out, starts = (
            np.empty((LINES, core.most_terms(texts, first, ends)), np.int64),
            np.empty(len(ends) + 1, np.int64),
        )
        simple = core.scan_texts(texts, first, ends, self.known, out, starts)
        return starts, out[:, : starts[-1]], simple


def _table(size: int) -> tuple[IntArray, IntArray]:
    return np.full(size, -1, np.int64), np.empty(size, np.int64)


#: Knows no terms.
NOTHING = TermIndex()


_WORD = re.compile(r"\w+")


def terms(text: str) -> tuple[list[str], dict[int, float]]:
    """Every word and every pair of neighbours, once; and 1 + ln(how often) for those that come more often than once."""
    words = _WORD.findall(text.casefold())
    both = words + list(map(" ".join, pairwise(words)))
    if len(set(both)) == len(both):
        return both, {}
    counts = Counter(both)
    return list(counts), {k: core.term_weight(n) for k, n in enumerate(counts.values()) if n > 1}


def spelt(text: str, line: IntArray) -> str:
    """The word, or the pair of words, of a line that `smidgen.features.words` wrote."""
    return " ".join(_WORD.findall(text[line[FIRST] : line[LAST]].casefold()))


class Frequencies:
    """In how many learnt rows each text stood, and each term."""

    __slots__ = ("df", "rows")

    def __init__(self, capacity: int) -> None:
        self.df: FloatArray = np.zeros(capacity)  # by the term's place in the book
        self.rows: dict[str, int] = {}  # by the path of the text

    def take_in(self, paths: tuple[str, ...], counts: IntArray, ids: IntArray) -> None:
        """Count the texts and terms of learnt rows; terms without a place in the book are passed over."""
        for path, count in zip(paths, counts.tolist(), strict=True):
            self.rows[path] = self.rows.get(path, 0) + count
        np.add.at(self.df, ids[(ids >= 0) & (ids < len(self.df))], 1.0)

    def state(self) -> dict[str, NDArray[Any]]:
        """The counts of the texts (no bytes if there are none), and of the terms, up to the last that has come."""
        texts = msgspec.json.encode(self.rows, order="sorted") if self.rows else b""
        return {"texts": np.frombuffer(texts, np.uint8), "df": np.trim_zeros(self.df, "b").copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        try:
            self.rows = msgspec.json.decode(state["texts"].tobytes() or b"{}", type=dict[str, int])
        except UNREADABLE as error:
            raise CorruptFile(f"the saved counts cannot be read: {error}", "restore the file from a copy") from error
        self.df[:] = 0.0
        self.df[: len(state["df"])] = state["df"]
