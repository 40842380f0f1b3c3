"""Features of a candidate: fourteen numbers between 0 and 1, with readable names."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen_demos.search.documents import Document, is_private
from smidgen_demos.search.index import Found, Index

NAMES = (
    "words in name",
    "words in summary",
    "words in text",
    "exact name",
    "name begins so",
    "all words in name",
    "share of words found",
    "long text",
    "is a module",
    "is a class",
    "is a function",
    "deep inside",
    "private",
    "often imported",
)
LONG = 3_000
DEEP = 4


def features(index: Index, found: Found) -> FloatArray:
    """A row for each candidate.

    The first three are BM25 scores, divided by what no score can reach. ``often imported`` counts the modules of the
    library that import the candidate's package, on a logarithmic scale: a stand-in for popularity that needs no users.
    """
    rows = np.zeros((len(found.places), len(NAMES)))
    if not len(rows):
        return rows
    rows[:, :3] = found.scores
    rows[:, 5] = (found.held == 2).all(axis=1)
    rows[:, 6] = (found.held > 0).mean(axis=1)
    asked = "".join(found.words)
    most = index.most_imports
    for row, place in zip(rows, found.places, strict=True):
        document = index.documents[place]
        row[3], row[4] = _name(document, asked)
        row[7] = min(1.0, math.log1p(len(document.text)) / math.log1p(LONG))
        row[8:11] = [document.kind == kind for kind in ("module", "class", "function")]
        row[11] = min(1.0, document.name.count(".") / DEEP)
        row[12] = is_private(document.name)
        row[13] = math.log1p(document.imports) / math.log1p(most) if most else 0.0
    return rows.round(4)


def _name(document: Document, asked: str) -> tuple[bool, bool]:
    """Two flags: the name (or its last part) equals the query; it begins with the query."""
    whole = _plain(document.name)
    last = _plain(document.name.rpartition(".")[2])
    return asked in (whole, last), last.startswith(asked) or whole.startswith(asked)


def _plain(name: str) -> str:
    """A name as the words of a query are written."""
    parts = (part.replace("_", "").lower() for part in name.split("."))
    return "".join(part[:-1] if len(part) > 3 and part.endswith("s") and part[-2] != "s" else part for part in parts)
