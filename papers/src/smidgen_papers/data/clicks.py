"""Result pages and the clicks on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.serialization import UNREADABLE
from smidgen_papers.data.folder import contents, require


@dataclass(frozen=True, eq=False)
class Impressions:
    """Pages of results that were shown, and what was clicked.

    Attributes
    ----------
    name
        What this is.
    query
        The query of each page, counted from 0.
    queries
        The name of each query.
    docs
        The documents of each page (their numbers at the source), the first position first.
    clicked
        Whether each position was clicked.
    sequences
        The positions of each page in the order of the clicks; one that was clicked twice stands there twice.
    elsewhere
        How many clicks of each page fell on documents that are not among its results; they are in no other field.
    split
        "train" or "test" for each page.
    """

    name: str
    query: IntArray
    queries: tuple[str, ...]
    docs: IntArray
    clicked: NDArray[np.bool_]
    sequences: tuple[tuple[int, ...], ...]
    elsewhere: IntArray
    split: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        return f"Impressions({self.name!r}, {len(self)} pages of {self.docs.shape[1]}, {len(self.queries)} queries)"

    def click_rates(self) -> FloatArray:
        """The share of pages on which each position was clicked."""
        return np.asarray(self.clicked.mean(axis=0))

    def first_clicks(self) -> FloatArray:
        """The share of pages whose first click in time fell on each position; the rest had no click."""
        return self._share([sequence[0] for sequence in self.sequences if sequence])

    def lowest_clicks(self) -> FloatArray:
        """The share of pages whose lowest click fell on each position: how far down people got, at least."""
        return self._share([max(sequence) for sequence in self.sequences if sequence])

    def cascade_rates(self) -> FloatArray:
        """The share of clicks at each position among the pages without a click above it.

        If people read from the top and stop at their first click, as the cascade model has it, these are the rates at
        which they click what they look at.
        """
        looked = self._looked()
        return np.asarray((self.clicked & looked).sum(axis=0) / np.maximum(looked.sum(axis=0), 1))

    def attractiveness(self) -> dict[tuple[int, int], float]:
        """The click rate of each pair (query, document) over all positions, by the cascade model's count.

        A document counts as looked at if nothing above it was clicked. One click in two looks is added to each, so that
        rare documents are not taken for perfect or hopeless.
        """
        looked = self._looked()
        query = np.repeat(self.query, self.docs.shape[1]).reshape(self.docs.shape)
        pairs, number = np.unique(np.stack((query[looked], self.docs[looked])), axis=1, return_inverse=True)
        looks = np.bincount(number.ravel(), minlength=pairs.shape[1])
        clicks = np.bincount(number.ravel(), self.clicked[looked], pairs.shape[1])
        rates = (clicks + 1.0) / (looks + 2.0)
        return {(int(q), int(doc)): float(rate) for q, doc, rate in zip(*pairs, rates, strict=True)}

    def select(self, order: Any) -> Impressions:
        """Only these pages (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        return replace(
            self,
            query=self.query[picked],
            docs=self.docs[picked],
            clicked=self.clicked[picked],
            sequences=tuple(self.sequences[i] for i in picked),
            elsewhere=self.elsewhere[picked],
            split=tuple(self.split[i] for i in picked),
        )

    def part(self, split: str) -> Impressions:
        """Only the pages of one part of the split: "train" or "test"."""
        checks.one_of("split", split, self.split)
        return self.select([part == split for part in self.split])

    def _looked(self) -> NDArray[np.bool_]:
        """Check whether nothing above each position was clicked."""
        return np.asarray(np.cumsum(self.clicked, axis=1) == self.clicked)

    def _share(self, positions: list[int]) -> FloatArray:
        return np.bincount(np.array(positions, np.int64), minlength=self.docs.shape[1]) / max(len(self), 1)


def yandex(folder: str | Path | None = None) -> Impressions:
    """Load a sample of the Yandex relevance prediction challenge: 56,477 pages of ten results, for 20 queries.

    17,898 pages have no click at all; 118 more have clicks only on documents not among the ten (``elsewhere``).
    """
    [path] = require("yandex", folder)
    try:
        records = msgspec.json.Decoder(dict[str, Any]).decode_lines(contents(path))
        queries, query = np.unique([r["query"] for r in records], return_inverse=True)
        docs = np.array([r["docs"] for r in records], np.int64)
        sequences = tuple(tuple(r["click_pos"]) for r in records)
        elsewhere = np.array([len(r["clicks"]) - len(r["click_pos"]) for r in records], np.int64)
        split = tuple(r["split"] for r in records)
    except (*UNREADABLE, KeyError, ValueError) as error:
        raise InvalidRecord(f"{path} does not hold one result page per line: {error}", "get the file again") from None
    clicked = np.zeros(docs.shape, np.bool_)
    for row, sequence in zip(clicked, sequences, strict=True):
        row[list(sequence)] = True
    return Impressions("yandex", query, tuple(queries.tolist()), docs, clicked, sequences, elsewhere, split)
