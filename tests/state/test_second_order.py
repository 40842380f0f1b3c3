"""A · A⁻¹ = I, the law that would have caught a peer's bug on its first day."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smidgen import Ball
from smidgen.optim import Newton
from smidgen.state import FullSecondOrder


def grown(seed: int, n: int, steps: int, epsilon: float, gain: float) -> tuple[FullSecondOrder, np.ndarray]:
    rng, A = np.random.default_rng(seed), epsilon * np.eye(n)
    rule = Newton(space=Ball(dim=n, radius=1e9), gamma=gain, epsilon=epsilon)
    for _ in range(steps):
        x = rng.normal(size=n) * (rng.random(n) < 0.6)
        rule.step(x)
        A += gain * np.outer(x, x)
    return rule.second_order, A


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
