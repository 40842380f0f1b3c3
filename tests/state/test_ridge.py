"""Ridge regression on the fly: every form is the closed form."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from smidgen import RidgeFil, RidgeFull
from smidgen.features import as_row
from smidgen.state.dual import find_kernel
from smidgen.state.ridge import DiagonalRidge, ForgettingRidge, FullRidge, KernelRidge, Ridge
from smidgen.state.sparse_ridge import SparseRidge


def examples(seed: int, n: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.6), rng.choice([-1.0, 1.0], size=n)


def taught(ridge: Ridge, X: np.ndarray, y: np.ndarray) -> Ridge:
    for x, label in zip(X, y, strict=True):
        ridge.learn(as_row(x, X.shape[1]), float(label))
    return ridge


def assert_is_the_closed_form(
    ridge: Ridge, A: np.ndarray, b: np.ndarray, questions: np.ndarray, tolerance: float = 1e-8
) -> None:
    for x in questions:
        mean, width = ridge.moments(as_row(x, len(b)))
        assert mean == pytest.approx(float(np.linalg.solve(A, b) @ x), abs=tolerance)
        assert width == pytest.approx(float(x @ np.linalg.solve(A, x)), abs=tolerance)
    if ridge.weights is not None:
        np.testing.assert_allclose(ridge.weights, np.linalg.solve(A, b), atol=tolerance)


random_streams = given(st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 8), st.floats(0.1, 10.0))


@random_streams
def test_full_dual_and_linear_kernel_are_one_estimator(seed: int, n: int, dim: int, a: float) -> None:
    X, y = examples(seed, n, dim)
    questions, _ = examples(seed + 1, 5, dim)
    A, b = a * np.eye(dim) + X.T @ X, X.T @ y
    for ridge in (FullRidge(dim, a), SparseRidge(dim, a, None), KernelRidge(dim, a, find_kernel("linear", None))):
        assert_is_the_closed_form(taught(ridge, X, y), A, b, questions)


@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 8), st.integers(1, 12), st.floats(0.1, 10.0))
def test_a_window_is_the_last_examples_from_scratch(seed: int, n: int, dim: int, window: int, a: float) -> None:
    X, y = examples(seed, n, dim)
    last, labels = X[-window:], y[-window:]
    ridge = taught(SparseRidge(dim, a, window), X, y)
    assert_is_the_closed_form(
        ridge, a * np.eye(dim) + last.T @ last, last.T @ labels, examples(seed + 1, 4, dim)[0], 1e-7
    )


def test_a_window_does_not_drift_in_thousands_of_steps() -> None:
    X, y = examples(1, 2000, 6)
    ridge = taught(SparseRidge(6, 1.0, 25), X, y)
    A, b = np.eye(6) + X[-25:].T @ X[-25:], X[-25:].T @ y[-25:]
    assert_is_the_closed_form(ridge, A, b, X[:5], 1e-10)
    assert sum(array.nbytes for array in ridge.arrays().values()) < 10_000, "old examples are gone"


@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 6), st.floats(0.1, 10.0), st.floats(0.3, 0.999))
def test_forgetting_is_the_closed_form(seed: int, n: int, dim: int, a: float, keep: float) -> None:
    X, y = examples(seed, n, dim)
    shares = keep ** np.arange(n - 1, -1, -1)
    A, b = a * np.eye(dim) + (X.T * shares) @ X, (X.T * shares) @ y
    assert_is_the_closed_form(taught(ForgettingRidge(dim, a, keep), X, y), A, b, examples(seed + 1, 4, dim)[0])


@random_streams
def test_diagonal_is_full_where_features_never_meet(seed: int, n: int, dim: int, a: float) -> None:
    rng = np.random.default_rng(seed)
    X = np.eye(dim)[rng.integers(dim, size=n)] * rng.normal(size=(n, 1))
    y = rng.choice([-1.0, 1.0], size=n)
    full, diagonal = taught(FullRidge(dim, a), X, y), taught(DiagonalRidge(dim, a), X, y)
    np.testing.assert_allclose(diagonal.weights, full.weights, atol=1e-10)
    for x in np.eye(dim):
        assert diagonal.moments(as_row(x, dim)) == pytest.approx(full.moments(as_row(x, dim)))


def test_diagonal_is_another_estimator_where_they_do() -> None:
    X, y = examples(2, 30, 4)
    full, diagonal = taught(FullRidge(4, 1.0), X, y), taught(DiagonalRidge(4, 1.0), X, y)
    assert np.abs(full.weights - diagonal.weights).max() > 0.01


@random_streams
def test_the_inverses_are_inverses(seed: int, n: int, dim: int, a: float) -> None:
    X, y = examples(seed, n, dim)
    full, dual = FullRidge(dim, a), SparseRidge(dim, a, None)
    taught(full, X, y)
    taught(dual, X, y)
    B = full.blocks.inverses(1)[0, :dim, :dim]
    np.testing.assert_allclose((a * np.eye(dim) + X.T @ X) @ B, np.eye(dim), atol=1e-8)
    np.testing.assert_allclose((a * np.eye(n) + X @ X.T) @ dual.arrays()["G"], np.eye(n), atol=1e-8)


@pytest.mark.parametrize("n", [0, 3, 16, 17, 33])
def test_a_restored_state_goes_on_bit_for_bit(n: int) -> None:
    X, y = examples(3, n + 20, 5)
    ridge, again = SparseRidge(5, 1.0, 30), SparseRidge(5, 1.0, 30)
    taught(ridge, X[:n], y[:n])
    again.restore({name: array.copy() for name, array in ridge.arrays().items()})
    for each in (ridge, again):
        taught(each, X[n:], y[n:])
    for name, array in ridge.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


def test_asking_changes_nothing() -> None:
    X, y = examples(4, 20, 5)
    for ridge in (FullRidge(5, 1.0), SparseRidge(5, 1.0, 7), DiagonalRidge(5, 1.0), ForgettingRidge(5, 1.0, 0.9)):
        taught(ridge, X, y)
        before = {name: array.copy() for name, array in ridge.arrays().items()}
        answers = [ridge.moments(as_row(x, 5)) for x in X]
        assert answers == [ridge.moments(as_row(x, 5)) for x in X]
        for name, array in ridge.arrays().items():
            np.testing.assert_array_equal(array, before[name])


def test_fifty_thousand_features_cost_as_much_as_the_examples() -> None:
    dim, n = 50_000, 100
    rng = np.random.default_rng(5)
    common = rng.choice(dim, size=300, replace=False)
    columns = [rng.choice(common, size=12, replace=False) for _ in range(n)]
    X = sparse.csr_array(
        (rng.random(12 * n) / 3, np.concatenate(columns), np.arange(0, 12 * n + 1, 12)), shape=(n, dim)
    )
    y = rng.random(n) < 0.5
    RidgeFil(dim=dim).run(X[:2], y[:2])  # compile
    tracemalloc.start()
    learner = RidgeFil(dim=dim)
    history = learner.run(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(learner._ridge, SparseRidge)
    assert peak < 20e6, "a full matrix would take 20 GB"

    seen = np.unique(X.indices)
    dense = X[:, seen].toarray()
    forwarded = history.actions
    A, b = np.eye(len(seen)), np.zeros(len(seen))
    for x, relevant in zip(dense[forwarded], y[forwarded], strict=True):
        A += np.outer(x, x)
        b += (1.0 if relevant else -1.0) * x
    np.testing.assert_allclose(learner.weights[seen], np.linalg.solve(A, b), atol=1e-9)
    assert np.count_nonzero(learner.weights) <= len(seen)
    for i in range(0, n, 10):
        x = dense[i]
        margin = float(np.linalg.solve(A + np.outer(x, x), b) @ x)
        assert learner.decide(X[[i]]).margin == pytest.approx(margin, abs=1e-9)


def test_dual_and_full_filters_decide_alike() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(120, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.random(120) < (1 + X[:, 0]) / 2
    for cls in (RidgeFil, RidgeFull):
        full, dual = cls(dim=20), cls(dim=20, covariance="dual")
        np.testing.assert_array_equal(full.run(X, y).actions, dual.run(X, y).actions)
        np.testing.assert_allclose(full.weights, dual.weights, atol=1e-10)
