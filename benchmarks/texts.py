"""Texts as bags of words, made up: sparse, long-tailed, and labelled."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from smidgen.decision import IntArray

EXAMPLES, FEATURES, CLASSES = 20_000, 100_000, 20
TOKENS = 155  # drawn per text; about 120 of them are distinct


@cache
def texts(dtype: str) -> tuple[Any, IntArray]:
    """Word counts under Zipf's law, damped and scaled to unit length; labels by a random linear model with noise."""
    rng = np.random.default_rng(0)
    frequency = np.cumsum(1.0 / np.arange(1, FEATURES + 1))
    ranks = np.searchsorted(frequency, rng.random(EXAMPLES * TOKENS) * frequency[-1])
    words, rows = rng.permutation(FEATURES)[ranks], np.repeat(np.arange(EXAMPLES), TOKENS)
    counts = sparse.csr_array((np.ones(len(words)), (rows, words)), shape=(EXAMPLES, FEATURES))
    counts.sum_duplicates()
    values = 1.0 + np.log(counts.data)
    lengths = np.sqrt(np.add.reduceat(values**2, counts.indptr[:-1]))
    values /= np.repeat(lengths, np.diff(counts.indptr))
    X = sparse.csr_array((values, counts.indices.astype(np.int32), counts.indptr.astype(np.int32)), shape=counts.shape)
    scores = X @ rng.normal(size=(FEATURES, CLASSES))
    y = np.argmax(scores + 0.5 * rng.normal(size=scores.shape), axis=1)
    assert X.has_canonical_format
    return X.astype(dtype), y
