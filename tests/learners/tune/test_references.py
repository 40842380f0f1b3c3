"""Every tune learner is its reference, on every space; and every point that it tries lies in the space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_tune as reference
from smidgen import OGD, OGDEG, ONS, ONSEG, Ball, Box, L1Ball, Simplex
from smidgen.geometry import Space

SHAPES: dict[str, tuple[Space, reference.Shape]] = {
    "ball": (Ball(dim=3, radius=1.5), reference.Ball(3, 1.5)),
    "box": (Box(low=[0.0, -2.0], high=[1.0, 3.0]), reference.Box([0.0, -2.0], [1.0, 3.0])),
    "simplex": (Simplex(dim=3), reference.Simplex(3)),
    "l1": (L1Ball(dim=3, radius=2.0), reference.L1Ball(3, 2.0)),
}
every_shape = pytest.mark.parametrize("name", SHAPES)
ROUNDS = 40


def lies_in(space: Space, x: np.ndarray) -> bool:
    """By the definition of the set, with nothing but the rounding of a sum."""
    if isinstance(space, Ball):
        return bool(np.linalg.norm(x) <= space.radius * (1 + 1e-12))
    if isinstance(space, Box):
        return bool((x >= space.low).all() and (x <= space.high).all())
    if isinstance(space, Simplex):
        return bool((x >= 0).all() and abs(x.sum() - 1) <= 1e-12)
    assert isinstance(space, L1Ball)
    return bool(np.abs(x).sum() <= space.radius * (1 + 1e-12))


@every_shape
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_ogd_is_its_judge(name: str, size: float) -> None:
    space, shape = SHAPES[name]
    rng = np.random.default_rng(1)
    learner = OGD(space=space, gradient_bound=2.0)
    judge = reference.Descent(shape, space.diameter / 2.0)
    for _ in range(ROUNDS):
        decision = learner.decide()
        np.testing.assert_allclose(decision.action, judge.point, atol=1e-7)
        assert lies_in(space, decision.action)
        assert (decision.action == decision.greedy).all()
        g = size * (rng.normal(size=space.dim) + 0.5)
        learner.learn(decision, g)
        judge.learn(g * min(1.0, 2.0 / np.linalg.norm(g)))
        np.testing.assert_allclose(learner.weights, judge.point, atol=1e-7)


@every_shape
@pytest.mark.parametrize("beta", [None, 0.5])
def test_ons_is_its_judge(name: str, beta: float | None) -> None:
    space, shape = SHAPES[name]
    rng = np.random.default_rng(2)
    learner = ONS(space=space, gradient_bound=2.0, exp_concavity=0.3, beta=beta)
    assert learner.beta == pytest.approx(beta or 0.5 * min(1 / (8 * space.diameter), 0.3))
    judge = reference.NewtonSteps(shape, learner.beta, space.diameter)
    for _ in range(ROUNDS):
        decision = learner.decide()
        assert lies_in(space, decision.action)
        g = rng.normal(size=space.dim) + 0.5
        learner.learn(decision, g)
        judge.learn(g * min(1.0, 2.0 / np.linalg.norm(g)))
        np.testing.assert_allclose(learner.weights, judge.point, atol=1e-7)


def one_point_round(learner: Any, rng: np.random.Generator, size: float) -> tuple[Any, float, np.ndarray]:
    """Decide, pay, learn; the direction in the coordinates of the user, out of the decision alone."""
    decision = learner.decide()
    loss = size * float(rng.normal() + 1.0)
    learner.learn(decision, loss)
    return decision, loss, (decision.action - decision.greedy) / decision.reach


@every_shape
@pytest.mark.parametrize("size", [0.2, 2.0])
def test_ogdeg_is_its_judge(name: str, size: float) -> None:
    space, shape = SHAPES[name]
    rng = np.random.default_rng(3)
    learner = OGDEG(space=space, loss_bound=1.5, delta=0.1, gamma=0.6, seed=5)
    judge = reference.Descent(shape, space.diameter / 1.5, gamma=0.6)
    for _ in range(ROUNDS):
        decision, loss, v = one_point_round(learner, rng, size)
        assert np.linalg.norm(v) == pytest.approx(1.0)
        assert lies_in(space, decision.action)
        judge.learn(np.clip(loss, -1.5, 1.5) * v)
        np.testing.assert_allclose(learner.weights, judge.point, atol=1e-7)


@every_shape
@pytest.mark.parametrize("beta", [None, "practical", 0.2])
def test_onseg_is_its_judge(name: str, beta: float | str | None) -> None:
    space, shape = SHAPES[name]
    rng = np.random.default_rng(4)
    d, D, F, delta = space.free_dim, space.diameter, 0.5, 0.1
    learner = ONSEG(space=space, loss_bound=F, delta=delta, beta=beta, seed=6)
    printed = 0.5 * min(delta / (4 * d * F * D), delta**2 / (d * F) ** 2)
    expected = {None: printed, "practical": delta / (8 * d * F * D)}.get(beta, beta)
    assert learner.beta == pytest.approx(expected)
    judge = reference.NewtonSteps(shape, learner.beta, D, gamma=delta / space.inner_radius)
    for _ in range(ROUNDS):
        decision, loss, v = one_point_round(learner, rng, 1.0)
        assert lies_in(space, decision.action)
        judge.learn(d / delta * np.clip(loss, -F, F) * v)
        np.testing.assert_allclose(learner.weights, judge.point, atol=1e-7)


@every_shape
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), share=st.floats(0.01, 0.95), size=st.floats(1e-3, 1e3))
def test_every_point_tried_lies_in_the_space(name: str, seed: int, share: float, size: float) -> None:
    space, _ = SHAPES[name]
    rng = np.random.default_rng(seed)
    for kind in (OGDEG, ONSEG):
        learner = kind(space=space, loss_bound=1.0, delta=share * space.inner_radius, seed=seed)
        for _ in range(10):
            decision, _, _ = one_point_round(learner, rng, size)
            assert lies_in(space, decision.action)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.95))
def test_knobs_never_leave_their_limits_not_even_by_rounding(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(size=2) * 10.0 ** rng.uniform(-2, 3)
    space = Box(low=low[:1], high=low[:1] + rng.uniform(0.1, 5.0))
    learner = OGDEG(space=space, loss_bound=1.0, delta=share * space.inner_radius, seed=seed)
    for _ in range(30):
        decision = learner.ask()
        assert lies_in(space, decision.action)
        learner.tell(decision, -3.0 * float(np.sign(decision.perturbation[0])))


@every_shape
def test_the_one_point_estimate_of_a_quadratic_is_unbiased(name: str) -> None:
    space, _ = SHAPES[name]
    rng = np.random.default_rng(7)
    H, b = rng.normal(size=(space.dim, space.dim)), rng.normal(size=space.dim)
    H = H @ H.T
    learner = ONSEG(space=space, loss_bound=5.0, delta=0.5 * space.inner_radius, beta="practical")
    for _ in range(10):
        one_point_round(learner, rng, 2.0)
    y, estimates = learner.weights, []
    assert np.linalg.norm(y - space.centre) > 0.01
    for _ in range(20_000):
        d = learner.decide()
        loss = 0.5 * d.action @ H @ d.action + b @ d.action
        estimates.append(space.free_dim / d.reach * loss * d.perturbation)
    error = np.mean(estimates, axis=0) - space.direction(H @ y + b)
    spread = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    assert (np.abs(error) < 4 * spread).all()
    wrong = np.mean(estimates, axis=0) + space.direction(H @ y + b)  # the test sees a wrong sign
    assert (np.abs(wrong) > 4 * spread).any()
