"""Compressed rows of our own do what scipy's do, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from smidgen._core.matrix import write_products, write_squared_lengths
from smidgen.errors import InvalidFeatures
from smidgen.features.rows import Compressed, as_rows, compressed, in_order, sparse_rows

SIZES = st.tuples(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.integers(1, 30))


def some(rng: np.random.Generator, n: int, dim: int) -> Any:
    return sparse.random_array((n, dim), density=0.4, rng=rng, format="csr", data_sampler=rng.standard_normal)


def ours(csr: Any) -> Compressed:
    return Compressed(csr.data, csr.indices.astype(np.uint32), csr.indptr.astype(np.int64))


@given(SIZES)
def test_products_have_the_same_bits_and_lengths_agree(drawn: tuple[int, int, int, int]) -> None:
    seed, n, m, dim = drawn
    rng = np.random.default_rng(seed)
    a, b = some(rng, n, dim), some(rng, m, dim)
    out = np.zeros((n, m + 2))
    write_products(ours(a), ours(b), dim, out)
    assert out[:, :m].tobytes() == np.ascontiguousarray((a @ b.T).toarray()).tobytes()
    assert not out[:, m:].any()
    lengths = np.empty(a.shape[0])
    write_squared_lengths(a.data, ours(a).starts, lengths)
    np.testing.assert_allclose(lengths, a.multiply(a).sum(axis=1), rtol=1e-12)


@given(SIZES)
def test_rows_are_picked_joined_and_laid_out(drawn: tuple[int, int, int, int]) -> None:
    seed, n, m, dim = drawn
    rng = np.random.default_rng(seed)
    a, b = some(rng, n, dim), some(rng, m, dim)
    picked = rng.integers(0, n, size=5)
    np.testing.assert_array_equal(ours(a).picked(picked).laid_out(dim), a[picked].toarray())
    np.testing.assert_array_equal(ours(a).joined(ours(b)).laid_out(dim), sparse.vstack([a, b]).toarray())
    np.testing.assert_array_equal(compressed(a.toarray()).laid_out(dim), a.toarray())
    for left in (a, a.toarray()):
        for right in (b, b.toarray()):
            stacked = as_rows(left).stacked(as_rows(right))
            np.testing.assert_array_equal(stacked.dense(), np.vstack([a.toarray(), b.toarray()]))
    np.testing.assert_array_equal(as_rows(a).scaled(0.5).dense(), 0.5 * a.toarray())


@given(SIZES)
def test_any_order_and_doubles_come_out_in_order(drawn: tuple[int, int, int, int]) -> None:
    seed, n, count, dim = drawn
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, count, size=n))])
    where, values = rng.integers(0, dim, size=starts[-1]), rng.integers(-3, 4, size=starts[-1]).astype(float)
    expected = sparse.csr_array((values.copy(), where.copy(), starts.copy()), shape=(n, dim))
    expected.sum_duplicates()
    found = in_order(values, where, starts, dim)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.starts, expected.indptr)


@pytest.mark.parametrize(
    "bad",
    [
        {"indices": [0, 3]},
        {"indices": [-1, 1]},
        {"indices": [0.5, 1.0]},
        {"indices": [0]},
        {"starts": [0, 1]},
        {"starts": [1, 2]},
        {"starts": [0, 2, 1, 2]},
        {"starts": [0.0, 2.0]},
        {"starts": []},
        {"starts": [[0, 2]]},
        {"data": [1.0, np.nan]},
        {"data": [1.0, np.inf]},
        {"data": [1j, 1.0]},
        {"data": ["a", "b"]},
        {"dim": 0},
        {"dim": "3"},
        {"dim": True},
        {"data": [], "indices": [], "starts": [0]},
    ],
)
def test_what_are_no_rows_is_refused(bad: dict[str, Any]) -> None:
    good: dict[str, Any] = {"data": [1.0, 2.0], "indices": [0, 1], "starts": [0, 2], "dim": 3}
    assert sparse_rows(**good).shape == (1, 3)
    with pytest.raises(InvalidFeatures):
        sparse_rows(**{**good, **bad})


def test_rows_that_are_empty() -> None:
    rows = sparse_rows([], [], [0, 0, 0], 4)
    np.testing.assert_array_equal(rows.dense(), np.zeros((2, 4)))
    np.testing.assert_array_equal(rows.scores(np.ones(4)), [0.0, 0.0])
