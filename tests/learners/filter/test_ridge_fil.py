"""RIDGE-FIL, RIDGE-FULL and the perceptron against dense linear solves, and what the settings do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_filter
from smidgen import Learner, PerceptronFilter, RidgeFil, RidgeFull
from smidgen.errors import InvalidArgument, InvalidFeedback, NoWeights
from smidgen.state.ridge import DiagonalRidge, ForgettingRidge, FullRidge, KernelRidge
from smidgen.state.sparse_ridge import SparseRidge

DIM = 5

SETTINGS: list[dict[str, Any]] = [
    {},
    {"c": 0.2, "a": 0.3},
    {"c": 0.0},
    {"covariance": "dual", "c": 1.0},
    {"kernel": "linear", "a": 2.0},
    {"forgetting": 0.9, "c": 0.5},
    {"window": 7, "c": 0.5},
    {"window": 1, "a": 0.5},
]


def stream(seed: int, n: int, dim: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.8)
    X[:, 0] += 0.3
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    return X, rng.random(n) < (1 + X @ np.eye(dim)[0]) / 2


def for_the_judge(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in ("covariance", "kernel")}


def follow(learner: Learner, judge: Any, X: np.ndarray, y: np.ndarray, tolerance: float = 1e-8) -> list[bool]:
    """Play both side by side; the judge says what must happen."""
    forwarded = []
    for t, (x, relevant) in enumerate(zip(X, y, strict=True), start=1):
        decision = learner.decide(x)
        assert decision.margin == pytest.approx(judge.margin(x), abs=tolerance)
        if min(abs(decision.margin - (decision.threshold or 0.0)), abs(decision.margin)) > tolerance:
            assert decision.action == judge.forward(x, t)
            assert decision.greedy == (judge.margin(x) >= 0.0)
        assert decision.explored == (decision.action and not decision.greedy)
        forwarded.append(decision.action)
        if decision.action or learner.sees_everything:
            learner.learn(decision, bool(relevant))
            judge.learn(x, bool(relevant))
    return forwarded


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_is_section_4(settings: dict[str, Any]) -> None:
    learner, judge = RidgeFil(dim=DIM, **settings), reference_filter.RidgeFil(DIM, **for_the_judge(settings))
    X, y = stream(1, 120)
    forwarded = follow(learner, judge, X, y)
    assert learner.rounds == sum(forwarded) == len(judge.examples)
    assert learner._heard[0] == pytest.approx(judge.heard())
    if "kernel" in settings:
        points, coefficients = learner.support
        np.testing.assert_allclose(coefficients @ points, judge.weights(), atol=1e-8)
    else:
        np.testing.assert_allclose(learner.weights, judge.weights(), atol=1e-8)


@pytest.mark.parametrize("settings", [s for s in SETTINGS if "c" not in s], ids=str)
def test_ridge_full_hears_everything(settings: dict[str, Any]) -> None:
    learner, judge = RidgeFull(dim=DIM, **settings), reference_filter.RidgeFull(DIM, **for_the_judge(settings))
    forwarded = follow(learner, judge, *stream(2, 80))
    assert learner.rounds == 80 > sum(forwarded) > 0


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.0, 8.0), st.floats(0.05, 10.0))
def test_it_is_section_4_for_any_setting(seed: int, dim: int, c: float, a: float) -> None:
    judge = reference_filter.RidgeFil(dim, c=c, a=a)
    follow(RidgeFil(dim=dim, c=c, a=a), judge, *stream(seed, 25, dim))


def test_the_perceptron_steps_on_mistakes() -> None:
    learner, judge = PerceptronFilter(dim=DIM), reference_filter.Perceptron(DIM)
    X, y = stream(3, 200)
    follow(learner, judge, X, y)
    np.testing.assert_allclose(learner.weights, judge.w, atol=1e-12)


def test_margin_and_threshold_are_in_the_decision() -> None:
    learner = RidgeFil(dim=2, c=3.0)
    x = np.array([1.0, 0.0])
    first = learner.decide(x)
    assert (first.action, first.margin, first.threshold) == (True, 0.0, None)
    learner.learn(first, False)
    second = learner.decide(x)
    assert second.margin == pytest.approx(-1.0 / 2.0 / 1.5)
    assert second.threshold == pytest.approx(-np.sqrt(3.0 * np.log(2.0)))
    assert second.action
    assert second.explored


def test_everything_is_forwarded_before_the_first_feedback() -> None:
    learner = RidgeFil(dim=2)
    assert all(learner.decide(x).action for x in np.random.default_rng(0).normal(size=(20, 2)))


@pytest.mark.parametrize("learner", [RidgeFil(dim=2, c=0.0), RidgeFil(dim=2, c=0.0, window=3)], ids=["all", "window"])
def test_a_dropped_item_has_no_label(learner: RidgeFil) -> None:
    x = np.array([1.0, 0.0])
    learner.learn(learner.decide(x), False)
    dropped = learner.decide(x)
    assert not dropped.action
    before = learner.weights
    for feedback in (True, False):
        with pytest.raises(InvalidFeedback, match="its label is not known"):
            learner.learn(dropped, feedback)
    np.testing.assert_array_equal(learner.weights, before)
    assert learner.rounds == 1


@pytest.mark.parametrize("feedback", [1, 0, -1, "yes", None, 0.5])
def test_feedback_is_a_bool(feedback: Any) -> None:
    learner = RidgeFil(dim=2)
    with pytest.raises(InvalidFeedback, match="True"):
        learner.learn(learner.decide(np.ones(2)), feedback)
    assert learner.rounds == 0


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({"dim": 1000}, FullRidge),
        ({"dim": 1001}, SparseRidge),
        ({"dim": 3, "window": 4}, SparseRidge),
        ({"dim": 3, "covariance": "diagonal"}, DiagonalRidge),
        ({"dim": 3, "forgetting": 0.9}, ForgettingRidge),
        ({"dim": 1001, "forgetting": 0.9}, ForgettingRidge),
        ({"dim": 3, "kernel": "poly", "kernel_params": {"degree": 3}}, KernelRidge),
        ({"dim": 3, "covariance": "kernel"}, KernelRidge),
    ],
    ids=str,
)
def test_the_state_follows_from_the_settings(settings: dict[str, Any], state: type) -> None:
    for cls in (RidgeFil, RidgeFull):
        learner = cls(**settings)
        assert isinstance(learner._ridge, state)
        assert type(cls(**learner.params)._ridge) is state


@pytest.mark.parametrize(
    "bad",
    [
        {"dim": 0},
        {"a": 0.0},
        {"a": float("inf")},
        {"c": -1.0},
        {"forgetting": 0.0},
        {"forgetting": 1.1},
        {"window": 0},
        {"window": 2.5},
        {"covariance": "round"},
        {"covariance": "full", "kernel": "rbf"},
        {"covariance": "diagonal", "forgetting": 0.9},
        {"covariance": "full", "window": 3},
        {"kernel": "rbf", "window": 3},
        {"forgetting": 0.9, "window": 3},
        {"kernel": "nobody"},
        {"kernel_params": {"gamma": 1.0}},
    ],
    ids=str,
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        RidgeFil(**{"dim": 3, **bad})


def test_weights_or_support() -> None:
    with pytest.raises(NoWeights, match="support"):
        _ = RidgeFil(dim=2, kernel="rbf").weights
    with pytest.raises(NoWeights, match="weights"):
        _ = RidgeFil(dim=2).support


def test_forgetting_keeps_the_count_and_with_it_exploration() -> None:
    X, y = stream(4, 300)
    fading, sliding = RidgeFil(dim=DIM, forgetting=0.9), RidgeFil(dim=DIM, window=20)
    fading.run(X, y)
    sliding.run(X, y)
    assert fading._heard[0] <= 10.0 + 1e-9
    assert sliding._heard[0] == 20.0
    assert fading.decide(X[0]).threshold < -1.0
