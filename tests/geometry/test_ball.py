"""The ball's projections against slow judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import project_ball, project_ball_in_norm
from smidgen import Ball
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, NotFinite


def problem(seed: int, n: int, spread: float, shrink: float) -> tuple[FloatArray, FloatArray, float]:
    """A positive definite A with a spectrum over ``spread`` decades, a point, and a radius ``shrink`` times shorter."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * 10.0 ** rng.uniform(0, spread, size=n)) @ Q.T
    v = rng.normal(size=n)
    return (A + A.T) / 2, v, float(np.linalg.norm(v) / shrink)


@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.1, 5.0))
def test_euclidean_projection_is_the_nearest_point(seed: int, n: int, radius: float) -> None:
    v = np.random.default_rng(seed).normal(size=n) * 3
    u = Ball(dim=n, radius=radius).project(v)
    np.testing.assert_allclose(u, project_ball(v, radius), rtol=1e-12)
    assert np.linalg.norm(u) <= radius * (1 + 1e-12)
    np.testing.assert_allclose(Ball(dim=n, radius=radius).project(u), u, rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.0, 6.0), st.floats(1.001, 1e4))
def test_mahalanobis_projection_equals_the_judge(seed: int, n: int, spread: float, shrink: float) -> None:
    A, v, radius = problem(seed, n, spread, shrink)
    ball, inverse = Ball(dim=n, radius=radius), np.linalg.inv(A)
    u = ball.project_in_norm(v, (inverse + inverse.T) / 2)
    np.testing.assert_allclose(u, project_ball_in_norm(v, A, radius), atol=1e-7 * radius)
    assert np.linalg.norm(u) <= radius * (1 + 1e-12)
    np.testing.assert_allclose(ball.project_in_norm(u, inverse), u, atol=1e-9 * radius)


def test_mahalanobis_projection_beats_every_other_point_of_the_ball() -> None:
    A, v, radius = problem(3, 6, 2.0, 3.0)
    u = Ball(dim=6, radius=radius).project_in_norm(v, np.linalg.inv(A))
    others = np.random.default_rng(0).normal(size=(5000, 6))
    others *= radius / np.maximum(np.linalg.norm(others, axis=1, keepdims=True), radius)
    distances = np.einsum("ij,jk,ik->i", others - v, A, others - v)
    assert (u - v) @ A @ (u - v) <= distances.min()


def test_a_large_and_ill_conditioned_projection() -> None:
    A, v, radius = problem(7, 300, 5.0, 20.0)
    inverse = np.linalg.inv(A)
    u = Ball(dim=300, radius=radius).project_in_norm(v, (inverse + inverse.T) / 2)
    np.testing.assert_allclose(u, project_ball_in_norm(v, A, radius), atol=1e-7 * radius)


def test_a_point_inside_stays_as_it_is() -> None:
    v = np.array([0.3, 0.4])
    ball = Ball(dim=2, radius=0.5)
    assert ball.project(v) is v
    assert ball.project_in_norm(v, np.eye(2)) is v
    assert ball.contains(v)
    assert not ball.contains(v * 1.01)
    assert ball.diameter == 1.0


def test_the_identity_norm_gives_the_euclidean_projection() -> None:
    v = np.array([3.0, -4.0, 0.0])
    u = Ball(dim=3, radius=1.0).project_in_norm(v, np.eye(3))
    np.testing.assert_allclose(u, [0.6, -0.8, 0.0], atol=1e-12)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_a_bad_radius_is_refused(radius: object) -> None:
    with pytest.raises(InvalidArgument, match="radius"):
        Ball(dim=2, radius=radius)


def test_a_norm_that_overflows_is_refused() -> None:
    with pytest.raises(NotFinite):
        Ball(dim=2, radius=1.0).project(np.array([1e200, 1e200]))
