"""The laws of all spaces, and their projections against a judge in rational numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import reference
from smidgen import Ball, Box, L1Ball, Simplex, structure
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.evaluate.compare import simulate
from smidgen.geometry import Space
from smidgen.learners.coactive import CoactiveLearner
from smidgen.optim import Gradient, Newton
from smidgen.serialization import from_json, same, to_json
from smidgen.structures import Choice
from smidgen.users import StrictAlpha

SPACES: dict[str, Callable[[int], Space]] = {  # by the number of free coordinates
    "ball": lambda n: Ball(dim=n, radius=1.7),
    "box": lambda n: Box(low=-np.arange(1.0, n + 1), high=np.arange(n, 0.0, -1.0) ** 2),
    "unit box": lambda n: Box(low=np.zeros(n), high=1.0),
    "simplex": lambda n: Simplex(dim=n + 1),
    "simplex with a floor": lambda n: Simplex(dim=n + 1, floor=0.4 / (n + 1)),
    "l1 ball": lambda n: L1Ball(dim=n, radius=2.5),
}
every_space = pytest.mark.parametrize("name", SPACES)
every_polytope = pytest.mark.parametrize("name", [name for name in SPACES if name != "ball"])
seeds = st.integers(0, 10**6)


def norm(rng: np.random.Generator, n: int, spread: float) -> tuple[FloatArray, FloatArray]:
    """A and A⁻¹ with eigenvalues over ``spread`` decades."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = 10.0 ** (rng.permutation(np.linspace(0.0, spread, n)) - spread / 2)
    A, inverse = (Q * values) @ Q.T, (Q / values) @ Q.T
    return (A + A.T) / 2, (inverse + inverse.T) / 2


def outside(rng: np.random.Generator, space: Space) -> FloatArray:
    """A point outside, of one of several kinds: generic, far, constant, on an axis, with ties and zeros."""
    n, far = space.free_dim, 10.0 ** rng.uniform(0.05, 3.0)
    kinds = [rng.normal(size=n), np.ones(n), np.eye(n)[rng.integers(n)], np.round(rng.normal(size=n))]
    z = kinds[rng.integers(len(kinds))] * rng.choice([-1.0, 1.0])
    z = z if z.any() else np.ones(n)
    return z * (space.outer_radius * far / np.linalg.norm(z))


def lift(space: Space) -> FloatArray:
    """Q, by its columns."""
    return np.array([space.embed(e) - space.centre for e in np.eye(space.free_dim)]).T


def corners(space: Space) -> FloatArray | None:
    """The corners in ambient coordinates."""
    if isinstance(space, Box):
        return np.array(np.meshgrid(*zip(space.low, space.high, strict=True))).reshape(space.dim, -1).T
    if isinstance(space, Simplex):
        return space.floor + (1.0 - space.dim * space.floor) * np.eye(space.dim)
    return space.radius * np.vstack([np.eye(space.dim), -np.eye(space.dim)]) if isinstance(space, L1Ball) else None


def judge(space: Space, z: FloatArray, inverse: FloatArray) -> FloatArray:
    """The exact solution, by all faces."""
    n = space.free_dim
    if isinstance(space, Box):
        half = reference.rational((space.high - space.low) / 2)
        faces = reference.box_faces(half)
        return reference.project_faces_in_norm(
            z, inverse, faces, lambda u: all(abs(x) <= h for x, h in zip(u, half, strict=True))
        )
    if isinstance(space, Simplex):
        rows = reference.rational(lift(space))
        depth = reference.rational(1.0 / space.dim - space.floor)
        faces = reference.floor_faces(rows, depth)
        return reference.project_faces_in_norm(
            z, inverse, faces, lambda u: all(reference.dot(row, u) >= -depth for row in rows)
        )
    assert isinstance(space, L1Ball)
    radius = reference.rational(space.radius)
    faces = reference.l1_faces(n, radius)
    return reference.project_faces_in_norm(z, inverse, faces, lambda u: sum(abs(x) for x in u) <= radius)


# --- projections -----------------------------------------------------------------------------------------------------


@every_space
@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 30), spread=st.floats(0.0, 10.0))
def test_a_projection_is_feasible_and_idempotent(name: str, seed: int, n: int, spread: float) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(seed)
    z = outside(rng, space)
    _, inverse = norm(rng, n, spread)
    for u in (space.project(z), space.project_in_norm(z, inverse)):
        assert space.contains(u, 1e-13 * n)
        assert space.contains(space.coordinates(space.embed(u)), 1e-12 * n)
        np.testing.assert_allclose(space.project(u), u, atol=1e-13 * space.diameter)
        np.testing.assert_allclose(space.project_in_norm(u, inverse), u, atol=1e-9 * space.diameter)


@every_space
@settings(max_examples=30)
@given(seed=seeds, n=st.integers(1, 6), spread=st.floats(0.0, 4.0))
def test_a_projection_is_nearer_than_any_other_point(name: str, seed: int, n: int, spread: float) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(seed)
    z = outside(rng, space)
    A, inverse = norm(rng, n, spread)
    others = [space.coordinates(space.sample(rng)) for _ in range(100)]
    vertices = corners(space)
    others += [] if vertices is None else [space.coordinates(x) for x in vertices]
    u, w = space.project(z), space.project_in_norm(z, inverse)
    others += [space.project(others[i] + 0.01 * rng.normal(size=n)) for i in range(20)]
    others += [space.project(w + 1e-3 * space.diameter * rng.normal(size=n)) for _ in range(20)]
    for other in others:
        assert np.linalg.norm(u - z) <= np.linalg.norm(other - z) * (1 + 1e-12)
        assert (w - z) @ A @ (w - z) <= (other - z) @ A @ (other - z) * (1 + 1e-9)


@every_space
@given(seed=seeds, n=st.integers(1, 20), scale=st.sampled_from([1e-12, 1.0, 3.0, 1e12]))
def test_the_identity_norm_gives_the_euclidean_projection(name: str, seed: int, n: int, scale: float) -> None:
    space = SPACES[name](n)
    z = outside(np.random.default_rng(seed), space)
    u = space.project_in_norm(z, scale * np.eye(n))
    np.testing.assert_allclose(u, space.project(z), atol=1e-9 * space.diameter + 1e-14 * np.abs(z).max())


@every_polytope
@settings(max_examples=25)
@given(seed=seeds, n=st.integers(1, 3), spread=st.floats(0.0, 10.0))
def test_the_projection_in_a_norm_is_that_of_the_judge(name: str, seed: int, n: int, spread: float) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(seed)
    z = outside(rng, space)
    _, inverse = norm(rng, n, spread)
    # both get the same A⁻¹, but its entries matter only up to their rounding: times the condition number
    error = 1e-9 + 1e-15 * 10.0**spread
    np.testing.assert_allclose(
        space.project_in_norm(z, inverse), judge(space, z, inverse), atol=error * np.linalg.norm(z)
    )


@every_polytope
@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 3))
def test_the_euclidean_projection_is_that_of_the_judge(name: str, seed: int, n: int) -> None:
    space = SPACES[name](n)
    z = outside(np.random.default_rng(seed), space)
    np.testing.assert_allclose(space.project(z), judge(space, z, np.eye(n)), atol=1e-14 * np.linalg.norm(z))


@every_polytope
@pytest.mark.parametrize("seed", range(4))
def test_the_projection_in_a_norm_is_that_of_a_generic_solver(name: str, seed: int) -> None:
    n = 6
    space, rng = SPACES[name](n), np.random.default_rng(seed)
    z = outside(rng, space)
    z *= 3 * space.outer_radius / np.linalg.norm(z)
    A, inverse = norm(rng, n, 2.0)
    if isinstance(space, L1Ball):  # u = a − b with a, b ≥ 0 and Σ(a + b) ≤ radius
        fold = np.hstack([np.eye(n), -np.eye(n)])
        constraints = {"type": "ineq", "fun": lambda y: space.radius - y.sum(), "jac": lambda y: -np.ones(2 * n)}
        bounds = [(0.0, None)] * (2 * n)
    else:
        fold = np.eye(n)
        Q = lift(space)
        low, high = (space.low, space.high) if isinstance(space, Box) else (np.full(n + 1, space.floor), np.ones(n + 1))
        G, h = np.vstack([Q, -Q]), np.concatenate([space.centre - low, high - space.centre])
        constraints = {"type": "ineq", "fun": lambda y: G @ y + h, "jac": lambda y: G}
        bounds = None
    found = minimize(
        lambda y: (fold @ y - z) @ A @ (fold @ y - z) / (z @ A @ z),
        np.zeros(fold.shape[1]),
        jac=lambda y: 2 * fold.T @ A @ (fold @ y - z) / (z @ A @ z),
        method="SLSQP",
        bounds=bounds,
        constraints=constraints,
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert found.success
    np.testing.assert_allclose(space.project_in_norm(z, inverse), fold @ found.x, atol=2e-5 * space.diameter)


@every_polytope
@pytest.mark.parametrize("spread", [0.0, 5.0, 10.0])
@pytest.mark.parametrize("n", [10, 40])
def test_no_linear_step_leads_further_down(name: str, n: int, spread: float) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(n)
    A, inverse = norm(rng, n, spread)
    for _ in range(3):
        z = outside(rng, space)
        u = space.project_in_norm(z, inverse)
        slope = A @ (u - z)
        gap = slope @ u - lowest(space, slope)  # convexity: what is left to gain is no more than this
        assert gap <= (1e-9 + 1e-14 * 10.0**spread) * (u - z) @ A @ (u - z)
        np.testing.assert_array_equal(u, space.project_in_norm(z, inverse))


def lowest(space: Space, slope: FloatArray) -> float:
    """The least slope·u over the set."""
    if isinstance(space, Box):
        return -float(np.abs(slope) @ (space.high - space.low) / 2)
    if isinstance(space, L1Ball):
        return -space.radius * float(np.abs(slope).max())
    return float(((corners(space) - space.centre) @ (lift(space) @ slope)).min())


@every_polytope
@pytest.mark.parametrize("n", [1, 2, 7])
def test_hostile_norms_and_points_still_give_a_point_of_the_set(name: str, n: int) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(n)
    flat = np.outer(np.ones(n), np.ones(n))  # of rank one, and another with lost pivots
    norms = [
        flat + 1e-12 * np.eye(n),
        1e150 * np.eye(n),
        1e-150 * np.eye(n),
        np.diag(10.0 ** -np.arange(0, 2 * n, 2.0)),
    ]
    points = [np.full(n, 1e140), -np.full(n, 1e8), 1e100 * np.eye(n)[0], space.coordinates(space.centre + 1e-3) * 1e9]
    points += [outside(rng, space) * 1e12, space.project(outside(rng, space)) * (1 + 1e-12)]
    for inverse in norms:
        for z in points:
            assert space.contains(space.project_in_norm(z, inverse))
            assert space.contains(space.project(z))


@every_space
def test_a_point_inside_stays_as_it_is(name: str) -> None:
    space, rng = SPACES[name](4), np.random.default_rng(0)
    for _ in range(20):
        z = 0.999 * space.coordinates(space.sample(rng))
        assert space.project(z) is z
        assert space.project_in_norm(z, np.eye(4)) is z


@every_space
def test_a_norm_that_overflows_is_refused(name: str) -> None:
    space, huge = SPACES[name](3), np.full(3, 1e200)
    for call in (space.contains, space.project, lambda z: space.project_in_norm(z, np.eye(3))):
        with pytest.raises(NotFinite):
            call(huge)


# --- shape -----------------------------------------------------------------------------------------------------------


@every_space
@pytest.mark.parametrize("n", [1, 2, 5])
def test_diameter_and_radii_are_those_of_brute_force(name: str, n: int) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(n)
    vertices = corners(space)
    if vertices is None:
        vertices = space.radius * np.vstack([np.eye(n), -np.eye(n)])
    distances = np.linalg.norm(vertices[:, None] - vertices[None], axis=2)
    np.testing.assert_allclose(space.diameter, distances.max(), rtol=1e-12)
    np.testing.assert_allclose(space.outer_radius, np.linalg.norm(vertices - space.centre, axis=1).max(), rtol=1e-12)
    Q = lift(space)
    facets = np.vstack([np.eye(n), -np.eye(n), Q, -Q, np.ones(n), rng.normal(size=(500, n))])
    directions = facets / np.linalg.norm(facets, axis=1, keepdims=True)
    for direction in directions:
        assert space.contains(space.inner_radius * direction)
    assert not all(space.contains(1.0001 * space.inner_radius * direction) for direction in directions)


@every_space
@pytest.mark.parametrize("n", [1, 2, 9])
def test_coordinates_and_points_are_the_same_thing(name: str, n: int) -> None:
    space, rng = SPACES[name](n), np.random.default_rng(n)
    Q = lift(space)
    assert Q.shape == (space.dim, space.free_dim)
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-14)
    np.testing.assert_array_equal(space.coordinates(space.centre), np.zeros(n))
    np.testing.assert_array_equal(space.embed(np.zeros(n)), space.centre)
    for _ in range(20):
        z, x, g = rng.normal(size=n), space.sample(rng), rng.normal(size=space.dim)
        np.testing.assert_allclose(space.coordinates(space.embed(z)), z, atol=1e-13)
        np.testing.assert_allclose(space.embed(space.coordinates(x)), x, atol=1e-13)
        np.testing.assert_allclose(space.embed(z), space.centre + Q @ z, atol=1e-13)
        np.testing.assert_allclose(space.direction(g), Q.T @ g, atol=1e-13)


@every_space
def test_samples_are_inside_and_have_the_centre_as_their_mean(name: str) -> None:
    space, rng = SPACES[name](3), np.random.default_rng(1)
    drawn = np.array([space.coordinates(space.sample(rng)) for _ in range(4000)])
    assert all(space.contains(z) for z in drawn)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=5 * space.outer_radius / np.sqrt(len(drawn)))
    # uniform: a set of half the size has an eighth of the points
    share = np.mean([space.shrunk(0.5).contains(z) for z in drawn])
    assert abs(share - 0.125) < 5 * np.sqrt(0.125 * 0.875 / len(drawn))
    np.testing.assert_array_equal(space.sample(np.random.default_rng(7)), space.sample(np.random.default_rng(7)))


@every_space
@given(seed=seeds, gamma=st.floats(0.0, 0.99))
def test_a_shrunk_space_is_scaled_around_the_centre(name: str, seed: int, gamma: float) -> None:
    space = SPACES[name](4)
    small = space.shrunk(gamma)
    assert type(small) is type(space)
    np.testing.assert_allclose(small.centre, space.centre, rtol=1e-14)
    for size in ("diameter", "inner_radius", "outer_radius"):
        np.testing.assert_allclose(getattr(small, size), (1 - gamma) * getattr(space, size), rtol=1e-12)
    z = outside(np.random.default_rng(seed), space)
    np.testing.assert_allclose(
        small.project(z), (1 - gamma) * space.project(z / (1 - gamma)), atol=1e-12 * np.linalg.norm(z)
    )
    # what FKM need: around every point of the shrunk set, a ball of gamma times the inner radius is inside
    step = outside(np.random.default_rng(seed + 1), space)
    assert space.contains(small.project(z) + gamma * space.inner_radius * step / np.linalg.norm(step))


@every_space
@pytest.mark.parametrize("gamma", [1.0, -0.1, 2.0, np.nan, "0.1", None])
def test_a_bad_share_to_leave_out_is_refused(name: str, gamma: object) -> None:
    with pytest.raises(InvalidArgument, match=r"gamma .*; give a share"):
        SPACES[name](2).shrunk(gamma)


@every_space
def test_json_gives_the_same_space_back(name: str) -> None:
    for space in (SPACES[name](3), SPACES[name](3).shrunk(0.3)):
        again = from_json(to_json(space))
        assert type(again) is type(space)
        assert same(again, space)
        assert repr(again) == repr(space)
        assert again.diameter == space.diameter
        assert repr(space).startswith(type(space).__name__ + "(")


# --- rules on spaces -------------------------------------------------------------------------------------------------


@every_space
@pytest.mark.parametrize("make", [Gradient, Newton])
def test_a_rule_starts_at_the_centre_stays_inside_and_finds_the_best_point(
    name: str, make: Callable[..., Gradient[Space] | Newton[Space]]
) -> None:
    space, rng = SPACES[name](3), np.random.default_rng(5)
    rule = make(space=space, scale=space.diameter)
    assert rule.dim == 3
    np.testing.assert_array_equal(space.embed(rule.weights), space.centre)
    slope = rng.normal(size=space.dim)
    for _ in range(300):
        rule.step(-space.direction(slope))
        assert space.contains(rule.weights)
    again = from_json(to_json(rule))
    again.restore(rule.state())
    np.testing.assert_array_equal(again.weights, rule.weights)
    vertices = corners(space)
    best = -space.radius * np.linalg.norm(slope) if vertices is None else (vertices @ slope).min()
    np.testing.assert_allclose(space.embed(rule.weights) @ slope, best, atol=1e-6 * space.diameter)


@pytest.mark.parametrize("make", [Gradient, Newton])
def test_the_theorems_of_the_ball_say_nothing_of_other_spaces(make: Callable[..., Gradient[Space]]) -> None:
    rule = make(space=Box(low=[-1.0, -1.0], high=1.0))
    learner = CoactiveLearner(rule=rule)
    contexts = [Choice(np.eye(2))] * 5
    w_star = np.array([0.0, 0.5])
    history = simulate(learner, contexts, StrictAlpha(w_star=w_star, alpha=1.0), utility=w_star)
    assert history.bound is None
    assert "ball" in history.bound_note


def test_a_space_of_ones_own_works_in_a_rule() -> None:
    @structure("interval for a test")
    class Interval(Box):
        def __init__(self, *, low: object = -1.0, high: object = 1.0) -> None:
            super().__init__(low=low, high=high)

    rule = Gradient(space=Interval())
    rule.step(np.array([5.0]))
    np.testing.assert_array_equal(rule.weights, [1.0])
    assert type(from_json(to_json(rule)).space) is Interval
