"""Explicit vector code against its plain twin: equal to the bit, for every width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._kernel import JIT, kernel
from smidgen.state.classes import class_scores
from smidgen.state.diagonal import diagonal_moments
from smidgen.state.full import full_products
from smidgen.vector import row_sums
from smidgen.vector.row_sums import COLUMNS, _registers, sum_all_rows, sum_rows, sum_rows_twice

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def example(columns: int, nonzeros: int, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([columns, nonzeros])
    block = rng.normal(size=(40, columns)).astype(dtype)
    return block, rng.permutation(40)[:nonzeros].astype(np.uint32), rng.normal(size=nonzeros).astype(dtype)


@DTYPES
@pytest.mark.parametrize("nonzeros", [0, 1, 2, 17, 40])
def test_the_compiled_sums_are_the_plain_ones(dtype: str, nonzeros: int) -> None:
    for columns in [*range(1, COLUMNS + 6), 2 * COLUMNS, 3 * COLUMNS + 7]:
        S, idx, val = example(2 * columns, nonzeros, dtype)
        compiled, plain = np.full((3, columns), np.nan, dtype), np.full((3, columns), np.nan, dtype)
        class_scores(S, idx, val, compiled[0])
        diagonal_moments(S, idx, val, compiled[1:])
        sum_rows(S, idx, val, plain[0])
        sum_rows_twice(S, idx, val, plain[1:])
        np.testing.assert_array_equal(compiled, plain)


@DTYPES
def test_the_plain_sums_are_matrix_products(dtype: str) -> None:
    S, idx, val = example(14, 9, dtype)
    moments = np.empty((2, 7), dtype)
    sum_rows_twice(S, idx, val, moments)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(moments[0], val @ S[idx, :7], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(moments[1], val**2 @ S[idx, 7:], rtol=tolerance, atol=tolerance)


@DTYPES
def test_columns_may_have_two_axes_and_the_block_more_of_them(dtype: str) -> None:
    B, idx, val = example(5 * 40, 11, dtype)
    compiled, plain = np.empty((3, 40), dtype), np.empty((3, 40), dtype)
    full_products(B.reshape(40, 5, 40), idx, val, compiled)
    sum_rows(B.reshape(40, 5, 40), idx, val, plain)
    np.testing.assert_array_equal(compiled, plain)
    np.testing.assert_allclose(plain[2], val @ B.reshape(40, 5, 40)[idx, 2], rtol=1e-4, atol=1e-4)


@kernel
def all_products(W: Any, val: Any, out: Any) -> None:
    sum_all_rows(W, val, out)


@DTYPES
def test_an_example_with_every_feature_needs_no_indices(dtype: str) -> None:
    for columns in (1, 7, 24, COLUMNS, 3 * COLUMNS + 7):
        W, _, val = example(columns, 40, dtype)
        compiled, plain, sparse = (np.full(columns, np.nan, dtype) for _ in range(3))
        all_products(W, val, compiled)
        row_sums.sum_all_rows(W, val, plain)
        class_scores(W, np.arange(40, dtype=np.uint32), val, sparse)
        np.testing.assert_array_equal(compiled, plain)
        np.testing.assert_array_equal(compiled, sparse)


def test_neighbours_of_the_sums_are_left_alone() -> None:
    S, idx, val = example(20, 9, "float64")
    room = np.full(22, 7.0)
    class_scores(S, idx, val, room[1:-1])
    assert room[0] == room[-1] == 7.0


@pytest.mark.skipif(not JIT, reason="numba is switched off")
def test_arrays_with_gaps_are_refused_rather_than_misread() -> None:
    S, idx, val = example(20, 9, "float64")
    with pytest.raises(Exception, match=r"sum_rows|No implementation|Invalid use"):
        class_scores(S, idx, np.repeat(val, 2)[::2], np.empty(20))


@pytest.mark.parametrize("bytes_each", [4, 8])
def test_registers_cover_every_column_once(bytes_each: int) -> None:
    for width in range(1, COLUMNS + 1):
        pieces = _registers(width, bytes_each)
        assert [at + k for at, count in pieces for k in range(count)] == list(range(width))
        assert all(count & (count - 1) == 0 and count * bytes_each <= 64 for _, count in pieces)
