"""P-RIDGE-FIL against Figure 2 with the slow projection."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_filter
from smidgen import PRidgeFil
from smidgen.data import filter_stream
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.randomness import COIN, uniforms


def coin(seed: int) -> Any:
    """The learner's own draws: a function of seed and number."""
    return lambda t: uniforms(seed, t, 1, stream=COIN)[0]


@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.01, 3.0), st.floats(0.0, 1.0))
def test_it_is_figure_2(seed: int, dim: int, a: float, p: float) -> None:
    stream = filter_stream(rounds=30, dim=dim, seed=seed)
    learner = PRidgeFil(dim=dim, a=a, p=p, seed=seed)
    judge = reference_filter.PRidgeFil(dim, a=a, p=p, draws=coin(seed))
    for t, (x, relevant) in enumerate(zip(stream.X, stream.y, strict=True), start=1):
        decision = learner.decide(x)
        assert decision.margin == pytest.approx(judge.margin(x), abs=1e-7)
        if abs(decision.margin) > 1e-7 or t == 1:
            assert decision.action == judge.forward(x, t)
        if decision.action:
            learner.learn(decision, bool(relevant))
            judge.learn(x, bool(relevant))
        assert np.linalg.norm(learner.weights) <= 1.0 + 1e-9
    np.testing.assert_allclose(learner.weights, judge.w, atol=1e-6)


def test_the_projection_is_used() -> None:
    stream = filter_stream(rounds=60, dim=4, seed=1)
    learner = PRidgeFil(dim=4, a=0.01, p=0.5)
    judge = reference_filter.PRidgeFil(4, a=0.01, p=0.5, draws=coin(0))
    history = learner.run(stream.X, stream.y)
    for x, relevant, forwarded in zip(stream.X, stream.y, history.actions, strict=True):
        if forwarded:
            judge.learn(x, bool(relevant))
    assert judge.projected > 5
    np.testing.assert_allclose(learner.weights, judge.w, atol=1e-6)


@pytest.mark.parametrize(("n", "p"), [(1, 1.0), (4, 0.375), (10_000, 0.00505)])
def test_the_horizon_sets_p_as_in_theorem_3(n: int, p: float) -> None:
    assert PRidgeFil(dim=2, horizon=n)._p == pytest.approx(p)


def test_propensity_is_the_probability_of_what_was_done() -> None:
    learner = PRidgeFil(dim=2, p=0.25)
    x = np.array([1.0, 0.0])
    first = learner.decide(x)
    assert (first.action, first.propensity, first.threshold) == (True, 1.0, 0.0)
    learner.learn(first, False)
    seen = [learner.decide(x) for _ in range(400)]
    assert {d.propensity for d in seen if d.action} == {0.25}
    assert {d.propensity for d in seen if not d.action} == {0.75}
    assert np.mean([d.action for d in seen]) == pytest.approx(0.25, abs=0.06)
    assert all(d.explored == d.action for d in seen)


def test_a_dropped_item_has_no_label() -> None:
    learner = PRidgeFil(dim=2, p=0.0)
    x = np.array([1.0, 0.0])
    learner.learn(learner.decide(x), False)
    before = learner.weights
    with pytest.raises(InvalidFeedback, match="its label is not known"):
        learner.learn(learner.decide(x), True)
    np.testing.assert_array_equal(learner.weights, before)
    assert learner.rounds == 1


@pytest.mark.parametrize(
    "bad", [{}, {"p": 0.1, "horizon": 5}, {"p": 1.5}, {"p": -0.1}, {"horizon": 0}, {"p": 0.1, "a": 0.0}], ids=str
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        PRidgeFil(dim=2, **bad)
