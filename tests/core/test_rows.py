"""Sums of rows in registers against the plain loop: equal to the bit, for every width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._core import rows

WIDTHS = [*range(1, 40), 64, 103]
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def plain(W: Any, idx: Any, val: Any, columns: int) -> Any:
    """Each sum in the order of the features."""
    out = np.zeros(columns, W.dtype)
    for i, x in zip(idx, val, strict=True):
        out += x * W[i, :columns]
    return out


def example(columns: int, nonzeros: int, dtype: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng([columns, nonzeros])
    block = rng.normal(size=(40, columns)).astype(dtype)
    return block, rng.permutation(40)[:nonzeros].astype(np.uint32), rng.normal(size=nonzeros).astype(dtype)


@DTYPES
@pytest.mark.parametrize("nonzeros", [0, 1, 2, 17, 40])
def test_sums_are_the_plain_ones(dtype: str, nonzeros: int) -> None:
    for columns in WIDTHS:
        S, idx, val = example(2 * columns, nonzeros, dtype)
        room = np.full(columns + 2, 7.0, dtype)
        rows.sum_rows(S, idx, val, room[1:-1])
        assert room[0] == room[-1] == 7.0
        np.testing.assert_array_equal(room[1:-1], plain(S, idx, val, columns))
        twice = np.full((2, columns), np.nan, dtype)
        rows.sum_rows_twice(S, idx, val, twice)
        np.testing.assert_array_equal(twice[0], plain(S, idx, val, columns))
        np.testing.assert_array_equal(twice[1], plain(S[:, columns:], idx, val * val, columns))


@DTYPES
def test_columns_may_be_rows_of_a_cube(dtype: str) -> None:
    B, idx, val = example(5 * 40, 11, dtype)
    out = np.empty((3, 40), dtype)
    rows.sum_cube_rows(B.reshape(40, 5, 40), idx, val, out)
    np.testing.assert_array_equal(out.reshape(-1), plain(B, idx, val, 120))


@DTYPES
def test_an_example_with_every_feature_needs_no_indices(dtype: str) -> None:
    for columns in WIDTHS:
        W, _, val = example(columns, 40, dtype)
        out = np.full(columns, np.nan, dtype)
        rows.sum_all_rows(W, val, out)
        np.testing.assert_array_equal(out, plain(W, range(40), val, columns))
