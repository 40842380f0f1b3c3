"""A · A⁻¹ = I, the law that would have caught a peer's bug on its first day."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen.errors import NotFinite
from smidgen.state import FullSecondOrder


def grown(seed: int, n: int, steps: int, epsilon: float, gain: float) -> tuple[FullSecondOrder, np.ndarray]:
    rng = np.random.default_rng(seed)
    state, A = FullSecondOrder(n, epsilon), epsilon * np.eye(n)
    for _ in range(steps):
        x = rng.normal(size=n) * (rng.random(n) < 0.6)
        state.absorb(*state.product(x), gain)
        A += gain * np.outer(x, x)
    return state, A


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 60), st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_inverse_is_the_inverse(seed: int, n: int, steps: int, epsilon: float, gain: float) -> None:
    state, A = grown(seed, n, steps, epsilon, gain)
    np.testing.assert_allclose(A @ state.inverse, np.eye(n), atol=1e-6)
    np.testing.assert_array_equal(state.inverse, state.inverse.T)


def test_the_start_is_the_inverse_of_epsilon_times_identity() -> None:
    np.testing.assert_array_equal(FullSecondOrder(3, 4.0).inverse, np.eye(3) / 4.0)


def test_ten_thousand_updates_do_not_drift_apart() -> None:
    state, A = grown(1, 8, 10_000, 1.0, 1.0)
    np.testing.assert_allclose(A @ state.inverse, np.eye(8), atol=1e-9)


def test_product_changes_nothing_and_gives_the_width() -> None:
    state, A = grown(2, 5, 20, 0.5, 2.0)
    x, before = np.arange(5.0), state.inverse.copy()
    product, quadratic = state.product(x)
    np.testing.assert_allclose(product, np.linalg.solve(A, x), rtol=1e-8)
    assert quadratic == pytest.approx(x @ np.linalg.solve(A, x), rel=1e-8)
    np.testing.assert_array_equal(state.inverse, before)


def test_an_overflow_is_refused() -> None:
    with pytest.raises(NotFinite):
        FullSecondOrder(2, 1.0).product(np.array([1e200, 0.0]))
