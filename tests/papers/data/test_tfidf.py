"""TF-IDF, against loops over documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from smidgen.errors import InvalidArgument
from smidgen_papers.data import bag_of_words, tfidf_stream, unit_rows


def slowly(counts: np.ndarray, idf: str, first: int) -> np.ndarray:
    n, width = counts.shape
    out = np.zeros((n, width))
    for t in range(n):
        for j in range(width):
            if not counts[t, j]:
                continue
            if idf == "all":
                weight = math.log(n / (counts[:, j] > 0).sum())
            elif idf == "past":
                weight = math.log((t + 2) / (counts[: t + 1, j] > 0).sum())
            else:
                weight = math.log((min(first, n) + 1) / ((counts[:first, j] > 0).sum() + 1))
            out[t, j] = (1 + math.log(counts[t, j])) * weight
        length = np.linalg.norm(out[t])
        out[t] /= length if length > 0 else 1.0
    return out


@given(st.integers(0, 10**6), st.sampled_from(["all", "past", "first"]), st.integers(1, 12))
def test_the_fast_version_agrees_with_the_slow_one(seed: int, idf: str, first: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.6, size=(rng.integers(1, 10), rng.integers(1, 7))).astype(float)
    given_counts = sparse.csr_matrix(counts)
    fast = tfidf_stream(given_counts, idf=idf, first=first)
    np.testing.assert_allclose(fast.toarray(), slowly(counts, idf, first), atol=1e-12)
    np.testing.assert_array_equal(given_counts.toarray(), counts)  # what was given is untouched


def test_the_past_does_not_know_the_future() -> None:
    counts = np.random.default_rng(0).poisson(0.5, size=(40, 15)).astype(float)
    whole = tfidf_stream(sparse.csr_matrix(counts), idf="past")
    part = tfidf_stream(sparse.csr_matrix(counts[:25]), idf="past")
    np.testing.assert_allclose(whole[:25].toarray(), part.toarray())


def test_bags_use_it() -> None:
    texts = ["a b b", "a c", "a d d d"]
    counts = bag_of_words(texts, counts="count").X
    np.testing.assert_allclose(bag_of_words(texts, counts="tfidf").X.toarray(), tfidf_stream(counts).toarray())


def test_rows_of_zeros_stay() -> None:
    rows = unit_rows(sparse.csr_matrix(np.array([[3.0, 4.0], [0.0, 0.0]])))
    assert rows.toarray().tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_unknown_readings_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="choose one of all, past, first"):
        tfidf_stream(sparse.csr_matrix((1, 1)), idf="future")
