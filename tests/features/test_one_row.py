"""One row of features, in every form that callers pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from smidgen._core.matrix import write_block_scores, write_scores_ahead
from smidgen.errors import InvalidFeatures, NotFinite
from smidgen.features import DenseRows, Row, as_row
from smidgen.features.rows import FEW, in_blocks
from smidgen.serialization import from_json, to_json


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_every_form_is_the_same_row(seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=dim) * (rng.random(dim) < 0.5)
    csr = sparse.csr_array(x[None, :])
    unsorted = csr.copy()
    order = rng.permutation(csr.nnz)
    unsorted.indices, unsorted.data = csr.indices[order], csr.data[order]
    split = sparse.csr_array(
        (np.concatenate([csr.data / 2, csr.data / 2]), np.tile(csr.indices, 2), [0, 2 * csr.nnz]), shape=(1, dim)
    )
    for form in (x, x.tolist(), csr, unsorted, split, csr.tocsc(), csr.tocoo(), sparse.csr_matrix(csr)):
        row = as_row(form, dim)
        np.testing.assert_array_equal(row.dense(), x)
        assert as_row(row, dim) is row
        assert from_json(to_json(row)) == row


def test_the_callers_array_is_never_shared() -> None:
    x, csr = np.ones(3), sparse.csr_array(np.ones((1, 3)))
    rows = as_row(x, 3), as_row(csr, 3)
    x[:], csr.data[:], csr.indices[:] = 7.0, 7.0, 0
    for row in rows:
        np.testing.assert_array_equal(row.dense(), np.ones(3))


def wild(**changes: Any) -> Any:
    csr = sparse.csr_array(np.array([[1.0, 2.0, 0.0]]))
    for name, value in changes.items():
        setattr(csr, name, value)
    return csr


@pytest.mark.parametrize(
    "bad",
    [
        wild(indices=np.array([0, 10**6])),
        wild(indices=np.array([-1, 1])),
        wild(data=np.array([1.0, np.nan])),
        wild(data=np.array([1.0, np.inf])),
        wild(indptr=np.array([0, 5])),
        sparse.csr_array(np.ones((2, 3))),
        sparse.csr_array(np.ones((1, 4))),
        sparse.csr_array(np.ones((1, 3)) * 1j),
        np.ones((1, 3)),
        [1.0, "a", 2.0],
        [[1.0], [2.0, 3.0]],
        None,
    ],
)
def test_what_is_no_row_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidFeatures):
        as_row(bad, 3)


def test_a_row_for_another_learner_is_cast_or_refused() -> None:
    row = as_row([0.1, 0.2], 2)
    single = as_row(row, 2, np.float32)
    assert single.values.dtype == np.float32
    assert isinstance(single, Row)
    with pytest.raises(InvalidFeatures, match="dim=3"):
        as_row(row, 3)
    with pytest.raises(InvalidFeatures, match="finite"):
        as_row([1e300, 0.0], 2, np.float32)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_dtype_of_a_csr_row_is_taken(dtype: Any, index: Any) -> None:
    csr = sparse.csr_array((np.array([1, 1], dtype), np.array([0, 2], index), np.array([0, 2], index)), shape=(1, 3))
    row = as_row(csr, 3)
    np.testing.assert_array_equal(row.dense(), [1.0, 0.0, 1.0])
    assert (row.values.dtype, row.indices.dtype) == (np.float64, np.uint32)


@pytest.mark.parametrize("make", [np.array, lambda x: sparse.csr_array([x]), lambda x: as_row(x, len(x))])
def test_a_unit_row_has_length_one_and_is_a_copy(make: Any) -> None:
    given = make([3.0, 0.0, 4.0])
    np.testing.assert_allclose(as_row(given, 3, unit=True).dense(), [0.6, 0.0, 0.8])
    np.testing.assert_array_equal(as_row(given, 3).dense(), [3.0, 0.0, 4.0])
    np.testing.assert_array_equal(as_row(make([0.0, 0.0]), 2, unit=True).dense(), [0.0, 0.0])


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("make", [np.array, lambda x: sparse.csr_array([x]), lambda x: as_row(x, len(x))])
def test_a_row_that_is_too_long_is_refused(make: Any, unit: bool) -> None:
    with pytest.raises(NotFinite, match="above 5"):
        as_row(make([3.0, 0.0, 4.1]), 3, longest=5.0, unit=unit)
    with pytest.raises(NotFinite, match="is above 5"):
        as_row(make([1e200, 0.0, 4.0]), 3, longest=5.0, unit=unit)
    assert as_row(make([3.0, 0.0, 3.9]), 3, longest=5.0, unit=unit).dim == 3


@given(st.integers(0, 10**6), st.integers(1, 100), st.integers(1, 20))
def test_blocks_of_rows_give_the_same_bits(seed: int, n: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X, w, found = rng.normal(size=(n, dim)), rng.normal(size=dim), np.empty(n)
    write_block_scores(in_blocks(X), w, found)
    assert found.tobytes() == DenseRows(X).scores(w).tobytes()


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 20), st.sampled_from([1, 7, 8, 20, 1_500]))
def test_memory_that_is_asked_for_ahead_gives_the_same_bits(seed: int, n: int, more: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X, w, first = rng.normal(size=(n + more, dim)), rng.normal(size=dim), int(rng.integers(0, more + 1))
    for then in (0, first, n + more):
        found = np.empty(n)
        write_scores_ahead(X, first, first + n, then, w, found)
        assert found.tobytes() == DenseRows(X[first : first + n]).scores(w).tobytes()


def test_rows_that_are_read_often_answer_the_same() -> None:
    rng = np.random.default_rng(0)
    rows, w = DenseRows(rng.normal(size=(203, 50))), rng.normal(size=50)
    first = rows.scores(w)
    for _ in range(FEW + 2):
        assert rows.scores(w, often=True).tobytes() == first.tobytes()
    assert rows._blocks is not None
