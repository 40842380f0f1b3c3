"""RIDGE-FIL with a constant and other rules of exploration, against dense linear solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_filter
from learners.filter.test_ridge_fil import DIM, follow, for_the_judge, stream
from smidgen import RidgeFil, RidgeFull
from smidgen.errors import InvalidArgument
from smidgen.learners.filter.base import RULES

SETTINGS: list[dict[str, Any]] = [
    {},
    {"a": 0.3},
    {"covariance": "dual"},
    {"kernel": "linear", "a": 2.0},
    {"forgetting": 0.9},
    {"window": 7},
    {"constant": False},
]
FOUND = sorted(set(RULES) - {"paper"})


@pytest.mark.parametrize("explore", FOUND)
@pytest.mark.parametrize("given_settings", SETTINGS, ids=str)
def test_it_is_the_rule(explore: str, given_settings: dict[str, Any]) -> None:
    learner = RidgeFil(dim=DIM, explore=explore, **given_settings)
    judge = reference_filter.RidgeFil(DIM, explore=explore, **for_the_judge(given_settings))
    forwarded = follow(learner, judge, *stream(1, 150))
    assert learner.rounds == sum(forwarded) == len(judge.examples)
    assert learner._heard[0] == pytest.approx(judge.heard())
    assert learner._heard[1] == pytest.approx(judge.relevant())
    found = judge.weights()
    assert learner.intercept == pytest.approx(found[DIM] if judge.constant else 0.0)
    if "kernel" not in given_settings:
        np.testing.assert_allclose(learner.weights, found[:DIM], atol=1e-8)
        assert learner.weights.shape == (DIM,)


@pytest.mark.parametrize("explore", ["scarce", "patient", "sparing"])
def test_where_something_is_always_new_the_threshold_follows_the_margins(explore: str) -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((90, 200))
    for x in X:
        x[rng.choice(200, 3, replace=False)] = 1 / np.sqrt(3)
    y = rng.random(90) < 0.5
    learner, judge = RidgeFil(dim=200, explore=explore), reference_filter.RidgeFil(200, explore=explore)
    follow(learner, judge, X, y)
    assert learner._heard[0] >= 50
    assert judge.a * learner._heard[2] > 0.3


def test_the_papers_rule_may_have_a_constant() -> None:
    learner, judge = RidgeFil(dim=DIM, constant=True), reference_filter.RidgeFil(DIM, constant=True)
    follow(learner, judge, *stream(2, 100))
    assert learner.intercept == pytest.approx(judge.weights()[DIM])
    full, all_learned = RidgeFull(dim=DIM, constant=True), reference_filter.RidgeFull(DIM, constant=True)
    follow(full, all_learned, *stream(3, 60))
    assert full.intercept == pytest.approx(all_learned.weights()[DIM])


def test_without_new_arguments_nothing_changes() -> None:
    learner = RidgeFil(dim=3)
    assert learner.params.keys() == {"dim", "c", "a", "covariance", "seed"}
    assert learner._state()["heard"].shape == (1,)
    assert learner.intercept == 0.0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(FOUND), st.sampled_from(["full", "diagonal"]))
def test_streams_are_the_two_verbs(seed: int, explore: str, covariance: str) -> None:
    X, y = stream(seed, 60)
    one, two = (RidgeFil(dim=DIM, explore=explore, covariance=covariance) for _ in range(2))
    forwarded = []
    for x, relevant in zip(X, y, strict=True):
        decision = one.decide(x)
        forwarded.append(decision.action)
        if decision.action:
            one.learn(decision, bool(relevant))
    np.testing.assert_array_equal(two.run(X, y).actions, forwarded)
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one._heard, two._heard)


def words(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Items of 8 words out of 77, and, if relevant (3 %), one of three telling ones."""
    rng = np.random.default_rng(seed)
    X, y = np.zeros((4000, 80)), rng.random(4000) < 0.03
    for x, relevant in zip(X, y, strict=True):
        x[3 + rng.choice(77, 8, replace=False)] = 1.0
        if relevant:
            x[rng.integers(3)] = 1.0
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_no_stream_falls_below_the_papers_rule() -> None:
    """A rare direction of dense features, and rare words: where the found rule gives a topic up."""
    means = {}
    for name, made in (("dense", rare), ("words", words)):
        for explore in RULES:
            scores = [RidgeFil(dim=made(s)[0].shape[1], explore=explore).run(*made(s)).f_measure for s in range(4)]
            means[name, explore] = np.mean(scores)
    for explore in ("scarce", "patient", "sparing"):
        assert means["dense", explore] > 2 * means["dense", "paper"]
        assert means["words", explore] > means["words", "paper"] > means["words", "found"]


def rare(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, 12))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X[:, 0] + 0.1 * rng.normal(size=4000) > 0.55


@pytest.mark.parametrize("explore", ["patient", "sparing"])
def test_little_is_forwarded_while_nothing_relevant_is_found(explore: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4_000, DIM)), np.zeros(4_000, np.bool_)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert RidgeFil(dim=DIM, explore=explore).run(X, y).actions[200:].mean() < 0.05


@pytest.mark.parametrize("bad", [{"explore": "nobody"}, {"explore": None}, {"constant": 1}])
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        RidgeFil(dim=3, **bad)
