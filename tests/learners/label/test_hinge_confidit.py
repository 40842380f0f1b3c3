"""HingeConfidit against its formulas in plain numpy; columns in use; the floor; rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from scipy import sparse

import reference_label
import smidgen
from smidgen import HingeConfidit
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.randomness import COIN, uniforms
from smidgen.testing.laws import snapshot

DIM, K = 5, 4


def stream(seed: int, n: int, dim: int = DIM, share: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < share)
    return X, rng.integers(K, size=n)


def unit(x: np.ndarray) -> np.ndarray:
    return x / max(np.linalg.norm(x), 1e-300)


def by_verbs(learner: HingeConfidit, X: np.ndarray, y: np.ndarray) -> list[int]:
    shown = []
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        learner.learn(decision, bool(decision.action == true))
        shown.append(decision.action)
    return shown


def agree(learner: HingeConfidit, judge: Any, X: np.ndarray, y: np.ndarray, rewards: np.ndarray | None = None) -> None:
    for t, (x, true) in enumerate(zip(X, y, strict=True)):
        decision = learner.decide(x)
        action, greedy, means, eps = judge.choose(unit(x), uniforms(0, decision.number, 2, stream=COIN)[1])
        assert (decision.action, decision.greedy) == (action, greedy)
        np.testing.assert_allclose(decision.scores, means, atol=1e-9)
        np.testing.assert_allclose(decision.widths, eps, rtol=1e-9, atol=1e-12)
        found = bool(action == true) if rewards is None else float(rewards[t])
        learner.learn(decision, found)
        judge.learn(unit(x), action, float(found))
        np.testing.assert_allclose(learner.weights, judge.w, atol=1e-8)
    assert learner.covariance == judge.covariance


@pytest.mark.parametrize("covariance", ["full", "diagonal", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_formulas(covariance: str, seed: int) -> None:
    learner = HingeConfidit(dim=DIM, n_classes=K, covariance=covariance)
    agree(learner, reference_label.HingeConfidit(DIM, K, covariance), *stream(seed, 120))


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_rewards_are_targets_in_between(covariance: str) -> None:
    X, y = stream(7, 100)
    rewards = np.random.default_rng(0).random(100)
    rewards[::7], rewards[::5] = 0.0, 1.0
    learner = HingeConfidit(dim=DIM, n_classes=K, covariance=covariance)
    agree(learner, reference_label.HingeConfidit(DIM, K, covariance), X, y, rewards)


def test_rewards_of_0_and_1_do_what_the_bit_does() -> None:
    X, y = stream(8, 100)
    bits, rewards = (HingeConfidit(dim=DIM, n_classes=K) for _ in range(2))
    for i, (x, true) in enumerate(zip(X, y, strict=True)):
        a, b = bits.decide(x), rewards.decide(x)
        right = bool(a.action == true)
        bits.learn(a, right)
        rewards.learn(b, [float(right), int(right), np.float64(right), np.bool_(right)][i % 4])
    assert snapshot(bits) == snapshot(rewards)


def test_no_step_where_the_bit_only_confirms() -> None:
    learner, x = HingeConfidit(dim=2, n_classes=2, covariance="diagonal", prior=1e-6), np.array([1.0, 0.0])
    learner.learn(learner.decide(x), False)
    for _ in range(3):
        learner.learn(learner.decide(x), True)
    before = snapshot(learner)
    state = before["S"]
    decision = learner.decide(x)
    assert decision.scores is not None
    if decision.scores[decision.action] >= 1.0:
        learner.learn(decision, True)
        assert snapshot(learner)["S"] == state
    again = learner.decide(x)
    learner.learn(again, 0.5)
    assert snapshot(learner)["S"] != state, "a reward in between always steps"


@pytest.mark.parametrize("seed", range(2))
def test_auto_leaves_full_matrices_at_the_257th_column(seed: int) -> None:
    dim = 400
    learner, judge = HingeConfidit(dim=dim, n_classes=K), reference_label.HingeConfidit(dim, K, "auto")
    X, y = stream(seed, 40, dim, 0.03)
    assert learner.covariance == "full"
    agree(learner, judge, X, y)
    assert learner.covariance == "diagonal"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
def test_a_stream_of_columns_in_use_is_the_two_verbs(dtype: str, as_csr: bool, tmp_path: Path) -> None:
    X, y = stream(3, 60, 400, 0.03)
    one, two = (HingeConfidit(dim=400, n_classes=K, dtype=dtype) for _ in range(2))
    shown = by_verbs(one, X, y)
    given = sparse.csr_matrix(X) if as_csr else X
    actions = [two.run(given[:5], y[:5]).actions]
    assert two.covariance == "full"
    two.save(tmp_path / "few")
    two = smidgen.load(tmp_path / "few")
    actions.append(two.run(given[5:], y[5:]).actions)
    assert two.covariance == "diagonal"
    np.testing.assert_array_equal(np.concatenate(actions), shown)
    assert snapshot(one) == snapshot(two)
    two.save(tmp_path / "many")
    revived = smidgen.load(tmp_path / "many")
    assert revived.covariance == "diagonal"
    assert by_verbs(revived, X, y) == by_verbs(two, X, y)
    np.testing.assert_allclose(two.scores(given)[0], revived.decide(X[0]).scores, atol=1e-5)


def test_few_columns_in_use_equal_a_small_learner() -> None:
    X, y = stream(4, 50)
    wide = np.zeros((50, 1000))
    places = [17, 3, 999, 500, 42]
    wide[:, places] = X
    small, large = HingeConfidit(dim=DIM, n_classes=K), HingeConfidit(dim=1000, n_classes=K)
    assert by_verbs(small, X, y) == by_verbs(large, wide, y)
    assert large.covariance == "full"
    np.testing.assert_allclose(large.weights[:, places], small.weights, atol=1e-9)
    np.testing.assert_allclose(large.scores(wide), small.scores(X), atol=1e-9)
    assert len(large.to_bytes()) < 20_000, "only the columns in use are kept"


def test_decide_takes_nothing_into_use() -> None:
    learner = HingeConfidit(dim=1000, n_classes=K)
    learner.learn(learner.decide(np.eye(1000)[3]), True)
    before = snapshot(learner)
    waiting = learner.decide(np.ones(1000))
    assert {**snapshot(learner), "decided": 1} == before
    assert learner.covariance == "full"
    learner.learn(waiting, False)
    assert learner.covariance == "diagonal"


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_ties_are_drawn_and_have_their_propensity(covariance: str) -> None:
    x, right = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for floor, each in ((0.0, 1 / 3), (0.4, 0.6 / 3 + 0.1)):
        learner = HingeConfidit(dim=2, n_classes=K, covariance=covariance, floor=floor, seed=5)
        learner.teach(right, 0)
        learner.learn(structs.replace(learner.decide(x), action=0), False)  # three labels of which nothing is known
        made = [learner.decide(x) for _ in range(3000)]
        shares = np.bincount([d.action for d in made], minlength=K) / 3000
        np.testing.assert_allclose(shares, [floor / K, *[each] * 3], atol=0.03)
        for d in made:
            assert d.propensity == pytest.approx(d.propensities[d.action])
            np.testing.assert_allclose(d.propensities, [floor / K, *[each] * 3])
            assert d.explored == (d.action != d.greedy)
            assert d.greedy in (1, 2, 3)
        assert floor > 0.0 or not any(d.explored for d in made)
        assert learner.predict(x) == 1
    late = HingeConfidit(dim=2, n_classes=K)
    assert {late.decide(x).action for _ in range(200)} == set(range(K))


def test_the_floor_gives_every_label_its_share() -> None:
    learner = HingeConfidit(dim=2, n_classes=K, floor=0.4)
    learner.teach(np.array([1.0, 0.0]), 0)
    seen = np.zeros(K)
    for _ in range(3000):
        decision = learner.decide(np.array([1.0, 0.0]))
        assert decision.propensity == pytest.approx(0.7 if decision.action == 0 else 0.1)
        seen[decision.action] += 1
    np.testing.assert_allclose(seen / 3000, [0.7, 0.1, 0.1, 0.1], atol=0.03)
    certain = HingeConfidit(dim=2, n_classes=K)
    certain.teach(np.array([1.0, 0.0]), 0)
    assert certain.decide(np.array([1.0, 0.0])).propensity is None


def test_classes_can_be_added() -> None:
    for dim in (DIM, 400):
        learner = HingeConfidit(dim=dim, labels=["a", "b", "c", "d"])
        x = np.eye(dim)[0]
        for _ in range(30):
            d = learner.decide(x)
            learner.learn(d, d.action == "e")
        learner.add_classes("e")
        for _ in range(30):
            d = learner.decide(x)
            learner.learn(d, d.action == "e")
        assert learner.predict(x) == "e"


@pytest.mark.parametrize(
    "bad",
    [
        {"covariance": "kernel"},
        {"prior": 0.0},
        {"prior": -1.0},
        {"wrong": 1.0},
        {"wrong": float("nan")},
        {"width": -0.1},
        {"floor": 1.5},
        {"floor": -0.1},
        {"normalize": 1},
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        HingeConfidit(dim=2, n_classes=2, **bad)


@pytest.mark.parametrize("bad", [1.01, -0.01, float("nan"), "yes", None, 2, np.array([1.0])])
def test_rewards_beyond_the_unit_interval_are_refused(bad: Any) -> None:
    learner = HingeConfidit(dim=2, n_classes=2)
    decision = learner.decide(np.ones(2))
    with pytest.raises(InvalidFeedback, match="reward"):
        learner.learn(decision, bad)
    assert learner.rounds == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["full", "diagonal", "auto"]), st.integers(1, 12))
def test_streams_of_any_shape(seed: int, covariance: str, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, dim)) * (rng.random((20, dim)) < 0.5)
    y = rng.integers(3, size=20)
    one, two = (HingeConfidit(dim=dim, n_classes=3, covariance=covariance, floor=0.1, seed=seed) for _ in range(2))
    shown = by_verbs(one, X, y)
    np.testing.assert_array_equal(two.run(sparse.csr_matrix(X), y).actions, shown)
    assert snapshot(one) == snapshot(two)
