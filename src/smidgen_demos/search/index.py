"""An inverted index over three fields, scored by BM25 (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_demos.search import words
from smidgen_demos.search.documents import Document

K1 = 1.2
B = 0.75
CANDIDATES = 50
MOST_ENDINGS = 30
#: What each field counts when candidates are gathered; the order among them is the model's.
GATHERING = (2.0, 1.0, 0.5)


class Field:
    """A field of all documents.

    The score of a document for a query is Σ idf(t) · tf · (k₁ + 1) / (tf + k₁ (1 − b + b · length / mean length)) over
    the query's words t, with idf(t) = ln(1 + (N − n + ½) / (n + ½)) for a word in n of N documents.

    Parameters
    ----------
    texts
        The words of the field, one list per document.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        postings: dict[str, list[tuple[int, int]]] = {}
        lengths = []
        for place, text in enumerate(texts):
            lengths.append(len(text))
            for word, times in Counter(text).items():
                postings.setdefault(word, []).append((place, times))
        self.size = len(lengths)
        self._postings = postings
        self.lengths = np.array(lengths, dtype=np.float64)
        self._norm = K1 * (1 - B + B * self.lengths / max(1.0, float(self.lengths.mean()) if lengths else 1.0))
        self.vocabulary = sorted(postings)

    def __contains__(self, word: str) -> bool:
        return word in self._postings

    def idf(self, word: str) -> float:
        """Inverse document frequency: the weight of a word; rare words weigh more."""
        n = len(self._postings.get(word, ()))
        return math.log(1 + (self.size - n + 0.5) / (n + 0.5))

    def holders(self, word: str) -> IntArray:
        """The documents with this word."""
        return np.array([place for place, _ in self._postings.get(word, ())], dtype=np.int64)

    def scores(self, query: Sequence[str]) -> FloatArray:
        """The score of every document."""
        out = np.zeros(self.size)
        for word in query:
            found = np.array(self._postings.get(word, ()), dtype=np.float64).reshape(-1, 2)
            where, times = found[:, 0].astype(np.int64), found[:, 1]
            out[where] += self.idf(word) * times * (K1 + 1) / (times + self._norm[where])
        return out

    def best_possible(self, query: Sequence[str]) -> float:
        """Upper bound of the scores."""
        return sum(self.idf(word) for word in query) * (K1 + 1)

    def beginning_with(self, start: str) -> list[str]:
        """Some words that begin so."""
        place = bisect.bisect_left(self.vocabulary, start)
        some = self.vocabulary[place : place + MOST_ENDINGS]
        return [word for word in some if word.startswith(start)]


class Found(NamedTuple):
    """Candidates for a query.

    Attributes
    ----------
    words
        The query's words.
    places
        Which documents, in the order of their names: the order says nothing of how well they fit.
    scores
        A row for each candidate: BM25 in name, summary and text, each divided by what no score can reach.
    held
        A row for each candidate, a column for each word: 0 if it is nowhere, 1 if it is in the text, 2 if in the name.
    """

    words: list[str]
    places: IntArray
    scores: FloatArray
    held: IntArray


class Index:
    """Names, summaries and texts of documents.

    Parameters
    ----------
    documents
        What is searched.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.most_imports = max((document.imports for document in documents), default=0)
        self.name = Field([words.of_name(document.name) for document in documents])
        self.summary = Field([words.of_text(document.summary) for document in documents])
        self.text = Field([words.of_text(document.text) for document in documents])
        self.fields = (self.name, self.summary, self.text)

    def find(self, query: str, most: int = CANDIDATES) -> Found:
        """The candidates for a query: the best by a plain weighted sum of the three scores.

        The last word may be unfinished: names with a word that begins so are found too.
        """
        asked = words.of_query(query)
        scores = np.stack([field.scores(asked) / (field.best_possible(asked) or 1.0) for field in self.fields])
        union = np.array(GATHERING) @ scores
        if asked:
            endings = [word for word in self.name.beginning_with(asked[-1]) if word != asked[-1]]
            for word in endings:
                where = self.name.holders(word)
                union[where] += 0.5 * len(asked[-1]) / len(word) / len(asked)
        matching = np.flatnonzero(union > 0)
        best = matching[np.lexsort((matching, -union[matching]))][:most]
        places = np.sort(best)
        return Found(asked, places, scores[:, places].T, self._held(asked, places))

    def _held(self, asked: list[str], places: IntArray) -> IntArray:
        held = np.zeros((len(places), len(asked)), dtype=np.int64)
        for column, word in enumerate(asked):
            for field, level in ((self.text, 1), (self.summary, 1), (self.name, 2)):
                held[np.isin(places, field.holders(word)), column] = level
        return held
