"""The L1 ball: cases with a known answer. The laws of all spaces are in test_spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen import L1Ball
from smidgen.errors import InvalidArgument


def test_it_knows_its_shape() -> None:
    ball = L1Ball(dim=4, radius=3.0)
    assert (ball.dim, ball.free_dim) == (4, 4)
    np.testing.assert_array_equal(ball.centre, np.zeros(4))
    assert (ball.diameter, ball.inner_radius, ball.outer_radius) == (6.0, 1.5, 3.0)
    assert repr(ball) == "L1Ball(dim=4, radius=3)"
    assert repr(ball.shrunk(0.5)) == "L1Ball(dim=4, radius=1.5)"


def test_a_projection_is_a_soft_threshold_with_zeros() -> None:
    u = L1Ball(dim=4, radius=1.0).project(np.array([1.0, -0.8, 0.1, 0.0]))
    np.testing.assert_allclose(u, [0.6, -0.4, 0.0, 0.0], atol=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.0, 6.0))
def test_a_diagonal_norm_thresholds_each_coordinate_by_its_own_weight(seed: int, n: int, far: float) -> None:
    rng = np.random.default_rng(seed)
    ball, a = L1Ball(dim=n, radius=1.0), 10.0 ** rng.uniform(-2, 2, size=n)
    z = rng.normal(size=n) * 10.0**far
    if ball.contains(z):
        return
    low, high = 0.0, float((a * np.abs(z)).max())  # u_i = sign(z_i)·max(|z_i| − λ/a_i, 0): bisection on λ
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(np.abs(z) - middle / a, 0.0).sum() > 1.0:
            low = middle
        else:
            high = middle
    expected = np.copysign(np.maximum(np.abs(z) - high / a, 0.0), z)
    np.testing.assert_allclose(ball.project_in_norm(z, np.diag(1 / a)), expected, atol=1e-8 + 1e-13 * 10.0**far)


def test_the_corner_of_many_facets() -> None:
    ball = L1Ball(dim=60, radius=1.0)  # 2^59 facets meet here
    z = 1e-3 * np.random.default_rng(0).normal(size=60)
    z[7] = -4.0
    np.testing.assert_allclose(ball.project_in_norm(z, np.eye(60)), -np.eye(60)[7], atol=1e-10)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_a_bad_radius_is_refused(radius: object) -> None:
    with pytest.raises(InvalidArgument, match="radius"):
        L1Ball(dim=2, radius=radius)


@pytest.mark.parametrize("dim", [0, -1, 1.5, None])
def test_a_bad_dimension_is_refused(dim: object) -> None:
    with pytest.raises(InvalidArgument, match="dim"):
        L1Ball(dim=dim)
