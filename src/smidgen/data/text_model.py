"""Made-up documents: words by Zipf's law, and a few words of each topic's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen._scipy import scipy
from smidgen.decision import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Documents:
    """Word counts with their topics.

    Attributes
    ----------
    X
        A scipy CSR matrix of word counts: one row per document.
    topics
        One row per document, one column per topic: whether the document is about it.
    classes
        The names of the topics.
    """

    X: Any
    topics: NDArray[np.bool_]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return f"Documents({len(self)} documents x {self.X.shape[1]} words, {len(self.classes)} topics)"

    @property
    def labels(self) -> IntArray:
        """The topic of each document, counted from 0; −1 where it has none or several."""
        first = self.topics.argmax(axis=1).astype(np.int64)
        return np.where(self.topics.sum(axis=1) == 1, first, -1)


def documents(
    *,
    documents: int = 2000,
    words: int = 10_000,
    topics: int = 20,
    length: int = 100,
    own: int = 200,
    purity: float = 0.3,
    shares: tuple[float, float] | None = None,
    seed: int = 0,
) -> Documents:
    """Bags of words of the shape of newsgroups or of newswire.

    Words follow Zipf's law: word k of the vocabulary is drawn with probability ∝ 1/(k + 10). Each topic has words
    of its own from anywhere in the vocabulary, again by Zipf's law. Of the words of a document, a share around
    ``purity`` comes from its topics, the rest is common to all. Lengths are log-normal.

    Parameters
    ----------
    documents, words, topics
        How many.
    length
        The number of words of a document, roughly on average; at least 5.
    own
        How many words belong to each topic.
    purity
        The mean share of a document's words that come from its topics. Each document has its own, uniform between 0 and
        twice the mean (at most 1).
    shares
        None: every document has exactly one topic, all topics equally often, as in newsgroups. A pair like
        (0.01, 0.05): a document has any number of topics (most have none), each drawn on its own; the topics' shares go
        from the larger number down to the smaller in equal ratios, as those that the filtering paper picked.
    seed
        The same seed, the same documents.

    Examples
    --------
    >>> from smidgen.data import documents
    >>> made_up = documents(documents=300, words=1000, topics=4)
    >>> made_up
    Documents(300 documents x 1000 words, 4 topics)
    >>> sorted(set(made_up.labels.tolist()))
    [0, 1, 2, 3]
    >>> wire = documents(documents=5000, words=1000, topics=12, shares=(0.01, 0.05))
    >>> [float(share.round(2)) for share in wire.topics.mean(axis=0)[[0, -1]]]
    [0.05, 0.01]
    """
    sparse = scipy("sparse", "a matrix of word counts")
    n, width, k = (
        checks.whole(name, value, "at least 1")
        for name, value in (("documents", documents), ("words", words), ("topics", topics))
    )
    mean = checks.whole("length", length, "at least 5", at_least=5)
    mine = checks.whole("own", own, "at least 1 and at most all words", below=width + 1)
    pure = checks.number("purity", purity, "give a share in [0, 1]", at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(checks.seed(seed))
    about = _topics(rng, n, k, shares)
    vocabulary = np.array([rng.permutation(width)[:mine] for _ in range(k)])
    lengths = np.maximum(rng.lognormal(np.log(mean) - 0.18, 0.6, size=n).astype(np.int64), 5)
    rows = np.repeat(np.arange(n), lengths)
    columns = _zipf(rng, width, len(rows))
    count = about.sum(axis=1)
    topical = np.flatnonzero(rng.random(len(rows)) < np.where(count > 0, 2.0 * pure * rng.random(n), 0.0)[rows])
    # The j-th topic of a document, j drawn for each of its topical words; np.nonzero lists the topics row by row.
    first, listed = np.cumsum(count) - count, np.nonzero(about)[1]
    which = listed[first[rows[topical]] + (rng.random(len(topical)) * count[rows[topical]]).astype(np.int64)]
    columns[topical] = vocabulary[which, _zipf(rng, mine, len(topical))]
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, width))
    X.sum_duplicates()
    return Documents(X, about, tuple(f"topic {j + 1}" for j in range(k)))


def _topics(rng: np.random.Generator, n: int, k: int, shares: tuple[float, float] | None) -> NDArray[np.bool_]:
    if shares is None:
        return np.asarray(np.eye(k, dtype=np.bool_)[rng.integers(k, size=n)])
    low, high = (
        checks.number("shares", share, "give two shares in (0, 1], the smaller first", above=0.0, at_most=1.0)
        for share in shares
    )
    return np.asarray(rng.random((n, k)) < np.geomspace(high, low, k))


def _zipf(rng: np.random.Generator, width: int, size: int) -> IntArray:
    """Ranks 0 … width − 1, drawn with probability ∝ 1/(rank + 10)."""
    steps: FloatArray = np.cumsum(1.0 / np.arange(10.0, width + 10.0))
    ranks = np.searchsorted(steps, rng.random(size) * steps[-1], side="right")
    return np.asarray(np.minimum(ranks, width - 1), np.int64)
