"""RidgeFil(detect=True): relevance that jumps is noticed, and nothing else; the rule, streams, what is saved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import RidgeFil
from smidgen.errors import InvalidRecord
from smidgen.learners.bank import REMEMBERED, Restart
from smidgen.learners.filter.base import Filter

FORMS: list[dict[str, Any]] = [{}, {"covariance": "diagonal"}, {"covariance": "dual"}, {"kernel": "linear"}]


def world(seed: int, rounds: int = 900, jump: bool = True, noise: float = 0.0, kinds: int = 8) -> tuple[Any, Any]:
    """Items of some kinds, of which one is relevant; at half time another is."""
    rng = np.random.default_rng(seed)
    centers, kind = 1.2 * rng.normal(size=(kinds, 6)), rng.integers(0, kinds, rounds)
    X = centers[kind] + 0.5 * rng.normal(size=(rounds, 6))
    y = kind == 0
    if jump:
        y[rounds // 2 :] = kind[rounds // 2 :] == 1
    y ^= rng.random(rounds) < noise * np.where(y, 1.0, 0.05)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def by_verbs(learner: Filter, X: Any, y: Any) -> list[bool]:
    shown = []
    for x, relevant in zip(X, y, strict=True):
        made = learner.decide(x)
        shown.append(bool(made.action))
        if made.action:
            learner.learn(made, bool(relevant))
    return shown


def f_measure(shown: Any, y: Any) -> float:
    return 2.0 * float((shown & y).sum()) / max(1.0, float(shown.sum() + y.sum()))


def slow(X: Any, y: Any, **settings: Any) -> tuple[list[bool], list[tuple[int, int]]]:
    """The rule in plain Python around a filter that does not watch."""
    learner, total, spread, n, labels = RidgeFil(dim=X.shape[1], explore="sparing", **settings), 0.0, 0.0, 0, 0
    shown, starts = [], []
    for t, (x, relevant) in enumerate(zip(X, y, strict=True), 1):
        made = learner._decide(x, t)
        shown.append(bool(made.action))
        if made.action:
            mean = learner._ridge.moments(learner._wide(made.context))[0]
            p = min(1.0, max(0.0, (1.0 + mean) / 2.0))
            learner._learn_relevance(made, bool(relevant))
            n, labels = n + 1, labels + 1
            total = 0.96 * total + (p - float(relevant))
            spread = 0.96 * 0.96 * spread + max(p * (1.0 - p), 0.05)
            if n >= 10 and total > 4.0 * math.sqrt(spread):
                learner, total, spread, n = RidgeFil(dim=X.shape[1], explore="sparing", **settings), 0.0, 0.0, 0
                starts.append((labels, t))
    return shown, starts


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_it_is_its_slow_twin_by_verbs_and_in_streams(form: dict[str, Any]) -> None:
    X, y = world(1)
    shown, starts = slow(X, y, **form)
    one, two = (RidgeFil(dim=6, explore="sparing", detect=True, **form) for _ in range(2))
    assert by_verbs(one, X, y) == shown
    assert [(each.round, each.decision) for each in one.restarts] == starts != []
    assert all(450 < at < 700 for _, at in starts)
    np.testing.assert_array_equal(two.run(X[:500], y[:500]).actions, shown[:500])
    two.run(X[500:], y[500:])
    assert two.restarts == one.restarts
    assert two.restarts[0].reason == "less was relevant than estimated"
    for name, array in one._state().items():
        np.testing.assert_array_equal(two._state()[name], array)


def test_a_jump_is_made_up_for_and_nothing_else_is_one() -> None:
    """F of the second half: at least .7 of a still stream's; .0 without. No alarm in still streams."""
    found: dict[tuple[bool, bool], list[float]] = {}
    for seed in range(6):
        for jump in (False, True):
            for detect in (False, True):
                learner = smidgen.recommended(loop="filter", dim=6, detect=detect)
                assert isinstance(learner, RidgeFil)
                X, y = world(seed, 3000, jump)
                shown = learner.run(X, y).actions
                found.setdefault((jump, detect), []).append(f_measure(shown[1500:], y[1500:]))
                if detect:
                    assert [1500 < each.decision < 1900 for each in learner.restarts] == [True] * jump
    means = {case: float(np.mean(each)) for case, each in found.items()}
    assert means[True, False] < 0.2 * means[False, True]
    assert means[True, True] >= 0.7 * means[False, False]
    assert means[False, True] == means[False, False]


@pytest.mark.long
def test_false_alarms_are_rare() -> None:
    """At most one in 50 still runs of 3,000 items, with and without noise."""
    for noise in (0.0, 0.2):
        alarms = 0
        for seed in range(100, 150):
            learner = RidgeFil(dim=6, explore="sparing", detect=True)
            learner.run(*world(seed, 3000, False, noise))
            alarms += bool(learner.restarts)
        assert alarms <= 1


def test_it_is_saved_and_goes_on() -> None:
    X, y = world(2)
    learner = RidgeFil(dim=6, explore="sparing", detect=True)
    by_verbs(learner, X[:700], y[:700])
    twin = RidgeFil.from_bytes(learner.to_bytes())
    assert isinstance(twin, RidgeFil)
    assert twin.restarts == learner.restarts != []
    assert by_verbs(twin, X[700:], y[700:]) == by_verbs(learner, X[700:], y[700:])
    assert twin.to_bytes() == learner.to_bytes()


def test_examples_are_not_watched() -> None:
    learner = RidgeFil(dim=2, explore="sparing", detect=True)
    for _ in range(40):
        learner.teach(np.array([1.0, 0.0]), True)
    for _ in range(40):
        learner.teach(np.array([1.0, 0.0]), False)
    assert learner.restarts == []
    assert learner.rounds == 80
    assert learner._watched.tolist() == [0.0, 0.0, 0.0, 80.0]


@pytest.mark.parametrize("restarts", [[812], [812, 1500], [812, -840] * (REMEMBERED + 1)])
def test_fresh_starts_of_another_layout_are_refused(restarts: list[int]) -> None:
    learner = RidgeFil(dim=2, detect=True)
    with pytest.raises(InvalidRecord):
        learner._check_state(learner._state() | {"restarts": np.array(restarts, np.int64)})


def test_without_it_nothing_is_remembered() -> None:
    assert RidgeFil(dim=2, explore="sparing")._state().keys() == RidgeFil(dim=2)._state().keys()
    assert RidgeFil(dim=2).restarts == []
    assert Restart(3, "x").decision == 0
