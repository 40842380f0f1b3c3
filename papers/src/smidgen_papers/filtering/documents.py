"""Streams of documents as sparse vectors, with their topics: newswire, or generated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smidgen.data.datasets import documents as generated
from smidgen_papers.data.texts import reuters
from smidgen_papers.data.tfidf import tfidf_stream, unit_rows
from smidgen_papers.data.words import bag_of_words
from smidgen_papers.part import Place
from smidgen_papers.store import Arrays, prepared

#: The topics whose share of the documents lies in this range, ends included (Section 4.1).
RARE, COMMON = 0.01, 0.05

#: How documents become vectors, by name; the first is the letter of Section 4.1, the others vary one thing of it.
READINGS = {
    "as printed": "(1 + ln TF) ln(N/DF) over all documents, unit length, plurals merged, digits as one character",
    "idf of the past": "N and DF count the documents so far, so that nothing looks ahead",
    "log base 10": "(1 + log10 TF) in place of (1 + ln TF); the base of the other logarithm cancels",
    "no idf": "(1 + ln TF), unit length",
    "binary": "1 for every word that occurs, unit length",
    "not normalised": "(1 + ln TF) ln(N/DF) as it stands, rows of length 20 and more",
    "words as they are": "plurals kept apart: no lemmatiser at all",
    "with stop words": "stop words kept",
}


@prepared()
def stream(place: Place, *, source: str, stories: str, reading: str, documents: int, seed: int) -> Arrays:
    """The first documents of a stream as vectors and topics.

    Parameters
    ----------
    place
        Where the data are.
    source
        ``"reuters"`` in the order of time, or ``"generated"``.
    stories
        Of Reuters: ``"all"``, or ``"indexed"``: those of the ModApte split, which are known to have been given topics.
    reading
        One of `READINGS`, or "the 500 most frequent words": as printed, of the words in the most documents only.
    documents
        How many.
    seed
        Of generated documents.
    """
    if source == "generated":
        counts, topics, names = _generated(documents, seed)
    else:
        texts = reuters(place.data, order="time")
        if stories == "indexed":
            texts = texts.select([use != "unused" for use in texts.split])
        texts = texts.select(range(min(documents, len(texts))))
        bag = bag_of_words(
            texts.texts,
            counts="count",
            stop_words=None if reading == "with stop words" else "english",
            min_occurrences=3,
            digits="#",
            plurals=reading != "words as they are",
        )
        counts, topics, names = bag.X, texts.topics, texts.classes
    if reading.endswith("most frequent words"):
        spread = np.bincount(counts.indices, minlength=counts.shape[1])
        counts = counts[:, np.sort(np.argsort(-spread, kind="stable")[: int(reading.split()[1])])]
    X = sparse.csr_matrix(_weighted(counts, reading))
    X.sort_indices()
    return {
        "values": X.data,
        "indices": X.indices,
        "starts": X.indptr,
        "dim": np.array(X.shape[1]),
        "topics": topics,
        "names": np.array(names),
    }


def matrix(arrays: Arrays) -> Any:
    """The vectors of a prepared stream as CSR."""
    shape = len(arrays["starts"]) - 1, int(arrays["dim"])
    return sparse.csr_matrix((arrays["values"], arrays["indices"], arrays["starts"]), shape=shape)


def tasks(arrays: Arrays, low: float, high: float) -> list[str]:
    """The topics with a share of the documents between the two, ends included, the most frequent first."""
    share = arrays["topics"].mean(axis=0)
    return [str(arrays["names"][k]) for k in np.argsort(-share, kind="stable") if low <= share[k] <= high]


def labels(arrays: Arrays, topic: str) -> NDArray[np.bool_]:
    """Check whether each document has the topic."""
    found: NDArray[np.bool_] = arrays["topics"][:, arrays["names"].tolist().index(topic)]
    return found


def _weighted(counts: Any, reading: str) -> Any:
    if reading not in ("log base 10", "no idf", "binary", "not normalised"):
        return tfidf_stream(counts, idf="past" if reading == "idf of the past" else "all")
    X = sparse.csr_matrix(counts, dtype=np.float64, copy=True)
    if reading == "binary":
        X.data[:] = 1.0
        return unit_rows(X)
    X.data = 1.0 + (np.log10(X.data) if reading == "log base 10" else np.log(X.data))
    if reading == "no idf":
        return unit_rows(X)
    spread = np.maximum(np.bincount(X.indices, minlength=X.shape[1]), 1)
    X.data *= np.log(X.shape[0] / spread)[X.indices]
    return X if reading == "not normalised" else unit_rows(X)


def _generated(count: int, seed: int) -> tuple[Any, NDArray[np.bool_], tuple[str, ...]]:
    """Word counts with twelve topics of about 1 to 5 %; words that occur less than three times are left out."""
    made = generated(documents=count, words=10_000, topics=12, length=80, own=40, shares=(0.012, 0.045), seed=seed)
    kept = np.flatnonzero(np.asarray(made.X.sum(axis=0)).ravel() >= 3)
    return made.X[:, kept], made.topics, made.classes
