"""Streams of losses of a point: values, slopes, bounds, and the best point in hindsight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen import Ball, Box, L1Ball, Simplex, losses
from smidgen.errors import InvalidArgument
from smidgen.geometry import Space

SPACES: dict[str, Space] = {
    "ball": Ball(dim=2, radius=1.5),
    "box": Box(low=[0.5, -1.0], high=[1.0, 3.0]),
    "simplex": Simplex(dim=3),
    "l1": L1Ball(dim=2, radius=0.7),
}
every_space = pytest.mark.parametrize("name", SPACES)
seeds = st.integers(0, 10**6)


def streams(dim: int, seed: int, rounds: int = 60) -> list[Any]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rounds, dim)) * rng.exponential(size=dim)
    w, target = rng.normal(size=dim), rng.normal(size=dim)
    y = Z @ w + 0.3 * rng.normal(size=rounds)
    return [
        losses.LeastSquares(Z=Z, y=y),
        losses.Logistic(Z=Z, y=np.where(y > 0, 1, -1)),
        losses.Portfolio(returns=0.1 * Z),
        losses.Repeated(lambda x: float((x - target) @ (x - target)), lambda x: 2 * (x - target), rounds=rounds),
        losses.Repeated(lambda x: float(np.cosh(x - target).sum()), rounds=rounds),
    ]


def judged(loss: Any, t: int, x: np.ndarray) -> float | None:
    """f_t(x), written out."""
    if isinstance(loss, losses.LeastSquares):
        return 0.5 * (sum(a * b for a, b in zip(x, loss.Z[t], strict=True)) - loss.y[t]) ** 2
    if isinstance(loss, losses.Logistic):
        return float(np.log(1 + np.exp(-loss.y[t] * sum(a * b for a, b in zip(x, loss.Z[t], strict=True)))))
    if isinstance(loss, losses.Portfolio):
        return -sum(a * b for a, b in zip(x, loss.Z[t], strict=True))
    return None


@every_space
@settings(max_examples=20)
@given(seed=seeds)
def test_values_gradients_and_means_agree(name: str, seed: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(seed)
    x = space.sample(rng)
    for loss in streams(space.dim, seed, 7):
        for t in range(len(loss)):
            value, expected = loss(t, x), judged(loss, t, x)
            assert expected is None or value == pytest.approx(expected, rel=1e-9, abs=1e-12)
            steps = 1e-5 * np.eye(space.dim)
            numeric = [(loss(t, x + e) - loss(t, x - e)) / 2e-5 for e in steps]
            np.testing.assert_allclose(loss.gradient(t, x), numeric, rtol=1e-4, atol=1e-5)
        for rounds in (None, 1, 4):
            T = rounds or 7
            np.testing.assert_allclose(loss.values(x, rounds), [loss(t, x) for t in range(T)], rtol=1e-12)
            mean, gradient = loss.mean(x, rounds)
            assert mean == pytest.approx(np.mean([loss(t, x) for t in range(T)]), rel=1e-9, abs=1e-12)
            np.testing.assert_allclose(gradient, np.mean([loss.gradient(t, x) for t in range(T)], axis=0), atol=1e-9)


@every_space
@settings(max_examples=20)
@given(seed=seeds)
def test_bounds_hold_in_the_whole_space(name: str, seed: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(seed)
    far = [space.embed(space.project(100.0 * rng.normal(size=space.free_dim))) for _ in range(20)]
    points = [space.sample(rng) for _ in range(10)] + far
    for loss in streams(space.dim, seed)[:3]:
        F, G = loss.bound(space), loss.lipschitz(space)
        for x in points:
            assert np.abs(loss.values(x)).max() <= F * (1 + 1e-9)
            slopes = [np.linalg.norm(space.direction(loss.gradient(t, x))) for t in range(len(loss))]
            assert max(slopes) <= G * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_on_a_ball_the_bounds_are_reached(seed: int) -> None:
    space = Ball(dim=2, radius=1.5)
    for loss in streams(2, seed)[:3]:
        corners = [1.5 * s * z / np.linalg.norm(z) for z in loss.Z for s in (-1, 1)]
        assert max(np.abs(loss.values(x)).max() for x in corners) == pytest.approx(loss.bound(space))
        slopes = [np.linalg.norm(loss.gradient(t, x)) for x in corners for t in range(len(loss))]
        assert max(slopes) == pytest.approx(loss.lipschitz(space))


@every_space
@settings(max_examples=10)
@given(seed=seeds)
def test_exp_concavity_holds(name: str, seed: int) -> None:
    """exp(−αf) is concave along a line if α·f'² ≤ f''."""
    space, rng = SPACES[name], np.random.default_rng(seed)
    for loss in streams(space.dim, seed)[:2]:
        alpha = loss.exp_concavity(space)
        for _ in range(10):
            x, y = space.sample(rng), space.sample(rng)
            for t in range(0, len(loss), 10):
                ends = [np.exp(-alpha * loss(t, p)) for p in (x, (x + y) / 2, y)]
                assert ends[1] >= (ends[0] + ends[2]) / 2 - 1e-12


def grid(space: Space, n: int = 161) -> np.ndarray:
    """A grid of the space's free coordinates, in the user's coordinates."""
    axis = np.linspace(-space.outer_radius, space.outer_radius, n)
    cells = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    return np.array([space.embed(z) for z in cells if space.contains(z)])


@every_space
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_the_best_point_is_that_of_a_grid(name: str, seed: int) -> None:
    space = SPACES[name]
    points = grid(space)
    for loss in streams(space.dim, seed):
        best = np.asarray(loss.best(space))
        assert space.contains(space.coordinates(best), 1e-9)
        found = loss.mean(best)[0]
        means = np.array([loss.mean(x)[0] for x in points])
        assert found <= means.min() + 1e-6
        slope = np.linalg.norm(space.direction(loss.mean(points[means.argmin()])[1]))
        assert found >= means.min() - (slope + 1.0) * space.outer_radius / 40  # and not far below it, of course


@every_space
@settings(max_examples=15)
@given(seed=seeds)
def test_no_way_leads_down_from_the_best_point(name: str, seed: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(seed)
    for loss in streams(space.dim, seed):
        best = np.asarray(loss.best(space, 30))
        value, gradient = loss.mean(best, 30)
        for _ in range(20):
            assert gradient @ (space.sample(rng) - best) >= -1e-6 * (1 + abs(value))


def test_the_best_point_of_fewer_rounds_is_theirs() -> None:
    loss = losses.LeastSquares(Z=[[1.0], [1.0]], y=[0.2, 0.6])
    assert loss.best(Ball(dim=1), 1) == pytest.approx([0.2], abs=1e-6)
    assert loss.best(Ball(dim=1)) == pytest.approx([0.4], abs=1e-6)


def test_ill_conditioned_regression_is_solved() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 4)) * [1.0, 0.1, 0.03, 3.0]
    w = np.array([0.1, 0.2, -0.3, 0.4])
    best = losses.LeastSquares(Z=Z, y=Z @ w).best(Ball(dim=4))
    np.testing.assert_allclose(best, w, atol=1e-3)


def test_returns_are_maximised() -> None:
    loss = losses.Portfolio(returns=[[0.1, 0.0, -0.1], [0.0, 0.2, 0.0]])
    assert loss(0, np.array([1.0, 0.0, 0.0])) == -0.1
    np.testing.assert_allclose(loss.best(Simplex(dim=3)), [0.0, 1.0, 0.0], atol=1e-9)


def test_logistic_does_not_overflow() -> None:
    loss = losses.Logistic(Z=[[1e4]], y=[1])
    assert loss(0, np.array([-1.0])) == 1e4
    assert loss(0, np.array([1.0])) == 0.0
    assert loss.gradient(0, np.array([-1.0])) == -1e4


class TestRepeated:
    def test_knows_the_losses_it_received(self) -> None:
        loss = losses.Repeated(lambda x: float(x @ x), rounds=3, bound=2.0, lipschitz=4.0)
        assert (len(loss), loss.bound(Ball(dim=1)), loss.lipschitz(Ball(dim=1))) == (3, 2.0, 4.0)

    def test_says_what_it_does_not_know(self) -> None:
        loss = losses.Repeated(lambda x: float(x @ x))
        for call in (lambda: len(loss), lambda: loss.bound(Ball(dim=1)), lambda: loss.lipschitz(Ball(dim=1))):
            with pytest.raises(InvalidArgument):
                call()
        assert loss.best(Ball(dim=1)) == pytest.approx([0.0], abs=1e-5)

    def test_needs_something_to_call(self) -> None:
        with pytest.raises(InvalidArgument, match="callable"):
            losses.Repeated(3.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: losses.LeastSquares(Z=[1.0, 2.0], y=[1.0, 2.0]),
        lambda: losses.LeastSquares(Z=[[1.0], [2.0, 3.0]], y=[1.0, 2.0]),
        lambda: losses.LeastSquares(Z=[[1.0], [np.inf]], y=[1.0, 2.0]),
        lambda: losses.LeastSquares(Z=np.empty((0, 2)), y=[]),
        lambda: losses.LeastSquares(Z=[[1.0]], y=[1.0, 2.0]),
        lambda: losses.LeastSquares(Z=[[1.0]], y=["a"]),
        lambda: losses.LeastSquares(Z=[[1.0]], y=[np.nan]),
        lambda: losses.Logistic(Z=[[1.0]], y=[0]),
        lambda: losses.Portfolio(returns="much"),
        lambda: losses.Portfolio(returns=[[0.1, 0.2]]).best(Ball(dim=3)),
        lambda: losses.Portfolio(returns=[[0.1, 0.2]]).bound(Ball(dim=3)),
        lambda: losses.Portfolio(returns=[[0.1, 0.2]]).best(Ball(dim=2), 2),
    ],
)
def test_nonsense_is_refused(make: Any) -> None:
    with pytest.raises(InvalidArgument):
        make()


def test_rows_are_copied() -> None:
    Z = np.ones((2, 2))
    loss = losses.LeastSquares(Z=Z, y=[0.0, 0.0])
    Z[:] = 7.0
    assert loss(0, np.ones(2)) == 2.0
