"""The text data sets of Section 5.1, as far as they can be had, and what stands in for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smidgen.data.datasets import documents as generated
from smidgen.decision import IntArray
from smidgen_papers.data.texts import Texts, amazon, new_york_times, newsgroups, reuters
from smidgen_papers.data.tfidf import unit_rows
from smidgen_papers.data.words import bag_of_words
from smidgen_papers.part import Place
from smidgen_papers.store import Arrays, prepared


@dataclass(frozen=True)
class Task:
    """A text classification task.

    Attributes
    ----------
    name
        In settings.
    title
        In figures and tables.
    source
        The data set, a key of `smidgen_papers.data.sets`.
    stands_for
        The row of the paper's tables that it is compared with.
    printed
        That row: error in percent, for label noise 0, 10, 20 and 30 %, in the order of the columns.
    size, classes
        How many documents and classes there are.
    counts
        How words count in the paper: "binary" or "count".
    stops
        Whether stop words are removed.
    bigrams
        Whether pairs of words count, too (Blitzer et al. 2007).
    """

    name: str
    title: str
    source: str
    stands_for: str
    printed: tuple[tuple[float, ...], ...]
    size: int
    classes: int
    counts: str
    stops: bool = False
    bigrams: bool = False


_ALL = (
    Task(
        "newsgroups",
        "20 newsgroups",
        "newsgroups",
        "20 newsgroups",
        (
            (20.04, 13.92, 8.14, 50.52, 12.41),
            (31.27, 22.03, 13.10, 53.04, 17.70),
            (38.33, 30.54, 18.49, 67.38, 23.67),
            (45.88, 39.92, 21.41, 65.71, 30.45),
        ),
        18828,
        20,
        "binary",
    ),
    Task(
        "amazon4",
        "Amazon, 4 kinds",
        "amazon",
        "Amazon7",
        (
            (25.71, 25.73, 22.30, 29.15, 24.73),
            (30.96, 31.53, 23.46, 34.74, 29.49),
            (35.49, 41.63, 25.02, 39.46, 32.80),
            (42.33, 41.41, 27.47, 45.28, 36.24),
        ),
        8000,
        4,
        "count",
        bigrams=True,
    ),
    Task(
        "amazon3",
        "Amazon, 3 kinds",
        "amazon",
        "Amazon3",
        (
            (5.52, 5.45, 4.47, 7.54, 6.67),
            (12.51, 12.17, 5.42, 16.12, 8.90),
            (20.04, 19.34, 6.94, 23.80, 11.29),
            (28.70, 27.38, 6.22, 31.70, 17.16),
        ),
        6000,
        3,
        "count",
        bigrams=True,
    ),
    Task(
        "headlines",
        "NYT headlines",
        "new_york_times",
        "NYTS",
        (
            (49.16, 51.23, 43.05, 56.06, 54.24),
            (53.31, 54.55, 44.26, 58.22, 54.82),
            (59.42, 57.69, 46.82, 61.77, 54.90),
            (63.39, 63.66, 48.99, 65.63, 55.84),
        ),
        3104,
        27,
        "count",
        stops=True,
    ),
    Task(
        "reuters4",
        "Reuters-21578, 4 topics",
        "reuters",
        "Reuters",
        (
            (4.29, 3.96, 2.92, 4.59, 3.55),
            (16.79, 16.86, 3.64, 18.92, 5.96),
            (25.94, 26.46, 4.03, 28.77, 8.58),
            (35.34, 35.70, 4.53, 36.61, 11.70),
        ),
        7000,
        4,
        "count",
        stops=True,
    ),
)

#: The tasks by name.
TASKS: dict[str, Task] = {task.name: task for task in _ALL}


@prepared()
def documents(
    place: Place, *, task: str, source: str, words: str, counts: str, scale: str, documents: int, seed: int
) -> Arrays:
    """The documents of a task in a random order, as CSR arrays, and their classes.

    Parameters
    ----------
    place
        Where the data are.
    task
        A key of `TASKS`.
    source
        The task's data set, or ``"generated"``.
    words
        What a word is: see `smidgen_papers.data.bag_of_words`.
    counts
        ``"binary"``, ``"count"``, or ``"paper"``: what Section 5.1 says of this set.
    scale
        ``"unit"``: every document has length 1, as Algorithm 1 asks; ``"raw"``.
    documents
        At most how many.
    seed
        Of the order, and of generated documents.
    """
    about = TASKS[task]
    rng = np.random.default_rng([seed, 11])
    if source == "generated":
        own = list(TASKS).index(task)
        made = generated(documents=min(documents, about.size), words=20_000, topics=about.classes, seed=seed + own)
        X, y = made.X, made.labels
    else:
        texts, labels = _texts(place, task)
        order = rng.permutation(len(texts))[:documents]
        bag = bag_of_words(
            texts.select(order).texts,
            tokens=words,
            counts="count",
            stop_words="english" if about.stops else None,
            bigrams=about.bigrams,
        )
        X, y = bag.X, np.unique(labels[order], return_inverse=True)[1].astype(np.int64)
    X = sparse.csr_matrix(X, dtype=np.float64)
    if (about.counts if counts == "paper" else counts) == "binary":
        X.data[:] = 1.0
    X = sparse.csr_matrix(unit_rows(X) if scale == "unit" else X)
    X.sort_indices()
    return {
        "values": X.data.astype(np.float32),
        "indices": X.indices.astype(np.int32),
        "starts": X.indptr.astype(np.int64),
        "dim": np.array(X.shape[1]),
        "y": y,
    }


def matrix(arrays: Arrays) -> Any:
    """The documents of `documents` as a CSR matrix."""
    shape = len(arrays["starts"]) - 1, int(arrays["dim"])
    return sparse.csr_matrix((arrays["values"], arrays["indices"], arrays["starts"]), shape=shape)


def _texts(place: Place, task: str) -> tuple[Texts, IntArray]:
    source = TASKS[task].source
    if source == "newsgroups":
        texts = newsgroups(place.data)
    elif source == "new_york_times":
        texts = new_york_times(place.data)
    elif source == "amazon":
        texts = amazon(place.data)
        texts = texts if task == "amazon4" else texts.select(texts.labels < 3)
    else:
        texts = reuters(place.data)
        labels = texts.labels
        sizes = np.bincount(labels[labels >= 0], minlength=len(texts.classes))
        texts = texts.select(np.isin(labels, np.argsort(-sizes, kind="stable")[: TASKS[task].classes]))
    return texts, texts.labels
