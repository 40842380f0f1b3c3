"""Checks of a stream before it is played: rows, their lengths, labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from smidgen import Confidit
from smidgen._core.confidit import row_scales
from smidgen._core.rows import write_unit_row
from smidgen.errors import InvalidFeatures, InvalidFeedback
from smidgen.features import as_stream
from smidgen.learners.label.base import Classes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 23])
def test_four_rows_at_once_are_scaled_as_each_alone(dtype: str, n: int) -> None:
    rng = np.random.default_rng(n)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 12, size=n))])
    values = rng.normal(size=starts[-1]).astype(dtype)
    scales = np.full(n, np.nan)
    row_scales(values, starts, scales)
    for i in range(n):
        row = values[starts[i] : starts[i + 1]]
        unit = np.empty_like(row)
        write_unit_row(row, unit)
        np.testing.assert_array_equal((row * scales[i]).astype(dtype), unit)


def test_rows_are_measured_exactly_where_values_are_large() -> None:
    X = sparse.csr_array(np.array([[6e99, 7.9e99], [1.0, 0.0]]))
    _, values, _ = as_stream(X, 2, np.float64)
    np.testing.assert_array_equal(values, [6e99, 7.9e99, 1.0])
    for bad in (1e100, np.nan, -np.inf):
        X.data[0] = bad
        with pytest.raises(InvalidFeatures):
            as_stream(X, 2, np.float64)


def test_arrays_with_gaps_are_put_in_order() -> None:
    X, y = np.random.default_rng(0).normal(size=(12, 6)), np.arange(12) % 3
    csr = sparse.csr_array(X)
    gaps = sparse.csr_array(csr.shape)
    gaps.data, gaps.indices, gaps.indptr = (np.repeat(part, 2)[::2] for part in (csr.data, csr.indices, csr.indptr))
    assert not gaps.data.flags.c_contiguous
    one, two = Confidit(dim=6, n_classes=3), Confidit(dim=6, n_classes=3)
    np.testing.assert_array_equal(one.run(gaps, y).actions, two.run(csr, y).actions)
    np.testing.assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_small_ints_are_found_as_any_labels_are(dtype: type) -> None:
    classes = Classes(None, [7, 300 if dtype is not np.int8 else 100, "other", 2])
    labels = np.array([2, 7, classes.labels[1], 2], dtype)
    np.testing.assert_array_equal(classes.indices(labels), [3, 0, 1, 3])
    np.testing.assert_array_equal(classes.indices(labels), [classes.index(label) for label in labels])
    with pytest.raises(InvalidFeedback, match="3"):
        classes.indices(np.array([7, 3], dtype))


def test_ints_that_are_not_small_are_found_too() -> None:
    classes = Classes(None, [-1, 10**12])
    np.testing.assert_array_equal(classes.indices(np.array([10**12, -1, -1])), [1, 0, 0])


def test_ints_are_no_bools() -> None:
    with pytest.raises(InvalidFeedback):
        Confidit(dim=2, labels=[False, True]).run(np.eye(2), np.array([0, 1]))
