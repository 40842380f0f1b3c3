"""Texts as words and word pairs, weighted by how rare they are (inverse document frequency, counted online)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen._core.text import term_weight
from smidgen.decision import FloatArray, IntArray
from smidgen.decoding import UNREADABLE
from smidgen.errors import CorruptFile
from smidgen.features.scanning import FIRST, LAST

_WORD = re.compile(r"\w+")


def terms(text: str) -> tuple[list[str], dict[int, float]]:
    """Every word and every pair of neighbours, once; and 1 + ln(how often) for those that come more often than once."""
    words = _WORD.findall(text.casefold())
    both = words + list(map(" ".join, pairwise(words)))
    if len(set(both)) == len(both):
        return both, {}
    counts = Counter(both)
    return list(counts), {k: term_weight(n) for k, n in enumerate(counts.values()) if n > 1}


def spelt(text: str, line: IntArray) -> str:
    """The word, or the pair of words, of a line that `smidgen.features.scanning` wrote."""
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
        told = msgspec.json.encode(self.rows, order="sorted") if self.rows else b""
        return {"texts": np.frombuffer(told, np.uint8), "df": np.trim_zeros(self.df, "b").copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        try:
            self.rows = msgspec.json.decode(state["texts"].tobytes() or b"{}", type=dict[str, int])
        except UNREADABLE as error:
            raise CorruptFile(f"the saved counts cannot be read: {error}", "restore the file from a copy") from error
        self.df[:] = 0.0
        self.df[: len(state["df"])] = state["df"]
