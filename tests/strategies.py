"""Problem instances for property tests: small, with ties, zeros, and now and then large numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

QUARTERS = st.integers(-4, 4).map(lambda n: n / 4)  # sums and products of these are exact, so ties are real ties
REALS = st.floats(-1e3, 1e3, allow_nan=False, allow_subnormal=False)
ELEMENTS = st.one_of(st.just(QUARTERS), st.just(REALS))


class RankingProblem(NamedTuple):
    """Documents, how many places count, a utility, and some ranking of all documents."""

    docs: np.ndarray
    top: int
    w: np.ndarray
    shown: list[int]


class ChoiceProblem(NamedTuple):
    """Items, which are on offer, a utility, and some item on offer."""

    items: np.ndarray
    available: list[int]
    w: np.ndarray
    shown: int


@st.composite
def ranking_problems(draw: Any, max_docs: int = 9) -> RankingProblem:
    elements = draw(ELEMENTS)
    n, dim = draw(st.integers(1, max_docs)), draw(st.integers(1, 5))
    docs = draw(npst.arrays(np.float64, (n, dim), elements=elements))
    w = draw(npst.arrays(np.float64, dim, elements=elements))
    return RankingProblem(docs, draw(st.integers(1, 6)), w, draw(st.permutations(range(n))))


@st.composite
def choice_problems(draw: Any) -> ChoiceProblem:
    problem = draw(ranking_problems())
    available = draw(st.sets(st.sampled_from(range(len(problem.docs))), min_size=1).map(sorted))
    return ChoiceProblem(problem.docs, available, problem.w, draw(st.sampled_from(available)))


def sparse_forms(rows: np.ndarray) -> dict[str, Any]:
    """The matrix in every sparse form, sorted and unsorted."""
    tidy = sparse.csr_array(rows)
    row, column = np.nonzero(rows)
    values = rows[row, column]
    twice = (np.tile(values / 2, 2), (np.tile(row, 2), np.tile(column, 2)))  # halves add up exactly
    backwards = [np.arange(start, stop)[::-1] for start, stop in zip(tidy.indptr, tidy.indptr[1:], strict=False)]
    turned = np.concatenate(backwards).astype(np.int64)
    unsorted = (tidy.data[turned], tidy.indices[turned], tidy.indptr.copy())
    n, dim = rows.shape
    every = (rows.ravel().copy(), np.tile(np.arange(dim), n), np.arange(0, n * dim + 1, dim))
    shape = rows.shape
    return {
        "csr_array": tidy,
        "csr_matrix": sparse.csr_matrix(rows),
        "csc_array": sparse.csc_array(rows),
        "coo_array": sparse.coo_array(rows),
        "coo with duplicates": sparse.coo_array(twice, shape=shape),
        "csr with unsorted indices": sparse.csr_array(unsorted, shape=shape),
        "csr with explicit zeros": sparse.csr_array(every, shape=shape),
        "csr with duplicates": _csr_with_duplicates(rows),
    }


def _csr_with_duplicates(rows: np.ndarray) -> sparse.csr_array:
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for row in rows:
        for _ in range(2):
            for column, value in enumerate(row):
                if value != 0.0:
                    data.append(value / 2)
                    indices.append(column)
        indptr.append(len(data))
    parts = (np.array(data), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
    return sparse.csr_array(parts, shape=rows.shape)
