"""Banditron and the full-information relatives against their judges."""

from __future__ import annotations

import numpy as np
import pytest

import reference_label
from smidgen import AROW, Banditron, MulticlassPerceptron, SecondOrderPerceptron
from smidgen.errors import InvalidArgument

DIM, K = 5, 4


def stream(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, DIM)) * (rng.random((n, DIM)) < 0.8), rng.integers(K, size=n)


def test_banditron_by_hand() -> None:
    learner = Banditron(dim=DIM, n_classes=K, gamma=0.4)
    W = np.zeros((K, DIM))
    X, y = stream(0, 300)
    shown = []
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        scores = W @ x
        np.testing.assert_allclose(decision.scores, scores, atol=1e-9)
        assert decision.greedy == int(np.argmax(decision.scores))
        p = 0.6 * (decision.action == decision.greedy) + 0.4 / K
        assert decision.propensity == pytest.approx(p)
        right = bool(decision.action == true)
        learner.learn(decision, right)
        if right:
            W[decision.action] += x / p
        W[decision.greedy] -= x
        np.testing.assert_allclose(learner.weights, W, atol=1e-9)
        shown.append(decision.action == decision.greedy)
    assert np.mean(shown) == pytest.approx(0.6 + 0.4 / K, abs=0.08)


def test_banditrons_update_is_unbiased() -> None:
    """Averaged over its own draws, the update is the perceptron's: x to the true class, −x from the greedy one."""
    x, true, total = np.array([1.0, -2.0, 0.5, 0.0, 1.0]), 2, np.zeros((K, DIM))
    n = 6000
    for seed in range(n):
        learner = Banditron(dim=DIM, n_classes=K, gamma=0.5, seed=seed)
        decision = learner.decide(x)
        learner.learn(decision, bool(decision.action == true))
        total += learner.weights
    expected = np.zeros((K, DIM))
    expected[true] += x
    expected[0] -= x  # all scores are zero: the greedy label is the first
    np.testing.assert_allclose(total / n, expected, atol=0.25)


def test_exploration_is_uniform_over_classes() -> None:
    learner = Banditron(dim=1, n_classes=5, gamma=1.0)
    counts = np.bincount([learner.decide(np.ones(1)).action for _ in range(5000)], minlength=5)
    assert ((counts - 1000) ** 2 / 1000).sum() < 18.5  # the 99.9 % quantile with 4 degrees of freedom


def test_multiclass_perceptron_by_hand() -> None:
    learner, W = MulticlassPerceptron(dim=DIM, n_classes=K), np.zeros((K, DIM))
    X, y = stream(1, 200)
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        assert decision.action == int(np.argmax(W @ x))
        learner.learn(decision, int(true))
        if decision.action != true:
            W[true] += x
            W[decision.action] -= x
        np.testing.assert_array_equal(learner.weights, W)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize(
    ("make", "judge"),
    [
        (lambda c: SecondOrderPerceptron(dim=DIM, n_classes=K, a=0.7, covariance=c),
         lambda c: reference_label.SecondOrderPerceptron(DIM, K, 0.7, c)),
        (lambda c: AROW(dim=DIM, n_classes=K, r=0.7, covariance=c),
         lambda c: reference_label.AROW(DIM, K, 0.7, c)),
    ],
    ids=["second-order perceptron", "AROW"],
)  # fmt: skip
def test_second_order_relatives(make: object, judge: object, covariance: str) -> None:
    learner, slow = make(covariance), judge(covariance)
    X, y = stream(2, 120)
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        np.testing.assert_allclose(decision.scores, slow.scores(x), atol=1e-8)
        learner.learn(decision, int(true))
        slow.learn(x, decision.action, int(true))
        np.testing.assert_allclose(learner.weights, slow.weights(), atol=1e-8)


@pytest.mark.parametrize(
    ("cls", "bad"),
    [
        (Banditron, {"gamma": 0.0}),
        (Banditron, {"gamma": 1.5}),
        (SecondOrderPerceptron, {"a": 0.0}),
        (SecondOrderPerceptron, {"covariance": "kernel"}),
        (AROW, {"r": -1.0}),
    ],
)
def test_bad_settings_are_refused(cls: type, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        cls(dim=2, n_classes=2, **bad)
