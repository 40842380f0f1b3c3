"""Every update rule against a naive one, and the laws of rules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from smidgen import Ball, Box, Simplex
from smidgen._core import steps as core
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule, Soft
from smidgen.optim.rules import memory_of, program_of, state_of
from smidgen.serialization import from_json, to_json

DIM = 5

RULES: dict[str, Callable[[], Rule]] = {
    "additive": lambda: Additive(dim=DIM),
    "soft": lambda: Soft(dim=DIM),
    "batched": lambda: Batched(rule=Additive(dim=DIM), size=3),
    "batched newton": lambda: Batched(rule=Newton(space=Ball(dim=DIM, radius=0.5)), size=2),
    "gradient": lambda: Gradient(space=Ball(dim=DIM, radius=1.5), scale=2.0),
    "newton": lambda: Newton(space=Ball(dim=DIM, radius=0.7), gamma=0.5, epsilon=2.0, scale=3.0),
    "exponentiated fixed": lambda: Exponentiated(dim=DIM, bound=2.0, horizon=50),
    "exponentiated variable": lambda: Exponentiated(dim=DIM, bound=2.0),
    "exponentiated unsigned": lambda: Exponentiated(dim=DIM, bound=2.0, signed=False),
}
#: Rules on spaces with edges, which compiled streams know too.
MORE: dict[str, Callable[[], Rule]] = {
    "gradient, box": lambda: Gradient(space=Box(low=[-0.5] * DIM, high=[0.7] * DIM)),
    "gradient, simplex": lambda: Gradient(space=Simplex(dim=DIM + 1), scale=0.3),
    "newton, box": lambda: Newton(space=Box(low=[-0.5] * DIM, high=[0.7] * DIM)),
    "newton, simplex": lambda: Newton(space=Simplex(dim=DIM + 1)),
    "newton, long directions": lambda: Newton(space=Ball(dim=DIM, radius=50.0), epsilon=1e-9),
}
every_rule = pytest.mark.parametrize("name", RULES)


def directions(seed: int, n: int = 40) -> FloatArray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, DIM)) * (rng.random((n, DIM)) < 0.7)


def walk(rule: Rule, steps: FloatArray) -> FloatArray:
    for direction in steps:
        rule.step(direction)
    return rule.weights


@given(st.integers(0, 10**6))
def test_additive(seed: int) -> None:
    steps = directions(seed)
    np.testing.assert_allclose(walk(Additive(dim=DIM), steps), steps.sum(axis=0), atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 30))
def test_batched(seed: int, size: int, n: int) -> None:
    steps = directions(seed, n)
    whole = n - n % size
    expected = steps[:whole].sum(axis=0)
    np.testing.assert_allclose(walk(Batched(rule=Additive(dim=DIM), size=size), steps), expected, atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.1, 3.0), st.floats(0.1, 5.0))
def test_gradient(seed: int, radius: float, scale: float) -> None:
    steps = directions(seed)
    got = walk(Gradient(space=Ball(dim=DIM, radius=radius), scale=scale), steps)
    np.testing.assert_allclose(got, reference.gradient(steps, radius, scale), rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.05, 50.0), st.floats(0.1, 5.0), st.floats(0.1, 5.0), st.floats(0.5, 4.0))
def test_newton(seed: int, radius: float, gamma: float, epsilon: float, scale: float) -> None:
    steps = directions(seed, 25)
    rule = Newton(space=Ball(dim=DIM, radius=radius), gamma=gamma, epsilon=epsilon, scale=scale)
    got = walk(rule, steps)
    w, A = reference.newton(steps, radius, gamma, epsilon, scale)
    np.testing.assert_allclose(got, w, atol=1e-6 * radius)
    np.testing.assert_allclose(A @ rule.second_order.inverse, np.eye(DIM), atol=1e-8)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([None, 10, 100]))
def test_exponentiated(seed: int, signed: bool, horizon: int | None) -> None:
    steps = directions(seed)
    got = walk(Exponentiated(dim=DIM, bound=3.0, horizon=horizon, signed=signed), steps)
    np.testing.assert_allclose(got, reference.exponentiated(steps, 3.0, horizon, signed), rtol=1e-9, atol=1e-12)


def test_exponentiated_stays_finite_and_normalised_on_a_very_long_march() -> None:
    rule = Exponentiated(dim=2, bound=1e-3, horizon=1, signed=False)
    for _ in range(1000):
        rule.step(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(rule.weights, [1.0, 0.0])
    for _ in range(2000):
        rule.step(np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(rule.weights, [0.0, 1.0])


@every_rule
def test_a_rule_goes_on_from_its_record_and_state(name: str) -> None:
    steps = directions(1)
    rule = RULES[name]()
    walk(rule, steps[:17])
    again = from_json(to_json(rule))
    assert type(again) is type(rule)
    again.restore({key: np.array(array) for key, array in rule.state().items()})
    np.testing.assert_array_equal(walk(again, steps[17:]), walk(rule, steps[17:]))


@every_rule
def test_a_step_never_writes_into_old_weights(name: str) -> None:
    rule = RULES[name]()
    before = rule.weights
    kept = before.copy()
    walk(rule, directions(2))
    np.testing.assert_array_equal(before, kept)


@every_rule
def test_a_zero_direction_moves_nothing(name: str) -> None:
    rule = RULES[name]()
    walk(rule, directions(3, 30))
    before = rule.weights.copy()
    rule.step(np.zeros(DIM))
    np.testing.assert_allclose(rule.weights, before, atol=1e-15)


@every_rule
def test_a_step_that_overflows_is_refused_whole(name: str) -> None:
    rule = RULES[name]()
    walk(rule, directions(4, 6))
    before = copy.deepcopy(rule.state())
    for huge in (np.full(DIM, np.inf), np.full(DIM, np.nan)):
        with pytest.raises(NotFinite):
            rule.step(huge)
    after = rule.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Additive(dim=0), "dim"),
        (lambda: Additive(dim=2.5), "dim"),
        (lambda: Batched(rule=Additive(dim=1), size=0), "batch"),
        (lambda: Gradient(space=Ball(dim=1), scale=-1.0), "scale"),
        (lambda: Newton(space=Ball(dim=1), gamma=0.0), "gamma"),
        (lambda: Newton(space=Ball(dim=1), epsilon=np.nan), "epsilon"),
        (lambda: Exponentiated(dim=1, bound=0.0), "bound"),
        (lambda: Exponentiated(dim=1, bound=1.0, horizon=0), "horizon"),
        (lambda: Exponentiated(dim=1, bound=1.0, signed=1), "signed"),
    ],
)
def test_bad_settings_are_refused_by_name(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(InvalidArgument, match=name):
        make()


@pytest.mark.parametrize("name", [*RULES, *MORE])
def test_a_compiled_stream_steps_as_the_rule_does(name: str) -> None:
    make = {**RULES, **MORE}[name]
    rule, steps = make(), directions(3, 31)
    program, memory = program_of(rule), memory_of(rule.state(), rule.weights, 0)
    assert program is not None
    assert core.learn(program, memory, steps) == len(steps)
    before = rule.state()
    walk(rule, steps)
    for field, array in state_of(memory, before).items():
        np.testing.assert_array_equal(array, rule.state()[field], err_msg=field)


def test_a_compiled_stream_stops_at_a_step_that_is_not_finite() -> None:
    rule = Gradient(space=Ball(dim=DIM))
    program, memory = program_of(rule), memory_of(rule.state(), rule.weights, 0)
    assert program is not None
    steps = directions(4, 5)
    steps[3] = np.inf
    assert core.learn(program, memory, steps) == 3
    with pytest.raises(ValueError, match="kind of rule"):
        core.learn(program._replace(kind=9), memory, steps)
    with pytest.raises(ValueError, match="directions do not fit"):
        core.learn(program, memory, np.zeros((2, DIM + 1)))
