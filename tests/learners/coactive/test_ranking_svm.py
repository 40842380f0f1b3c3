"""The schedule and the solver of the ranking SVM baseline."""

from __future__ import annotations

import numpy as np
import pytest

from smidgen import Choice, RankingSVM
from smidgen.learners.coactive import ranking_svm


def feed(learner: RankingSVM, n: int, seed: int = 0, noise: float = 0.0) -> list[bool]:
    """n informative rounds; returns in which of them the weights changed."""
    rng = np.random.default_rng(seed)
    w_star = np.array([1.0, -2.0, 0.5])
    changed = []
    while len(changed) < n:
        items = rng.normal(size=(2, 3))
        before = learner.weights
        decision = learner.decide(Choice(items))
        best = int(np.argmax(items @ w_star + noise * rng.normal(size=2)))
        learner.learn(decision, 1 - decision.action if best == decision.action else best)
        changed.append(not np.array_equal(before, learner.weights))
    return changed


def test_it_is_trained_when_a_tenth_more_pairs_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = ranking_svm.Retrained._fit

    def spy(self: ranking_svm.Retrained, pairs: np.ndarray, C: float) -> np.ndarray:
        sizes.append(len(pairs))
        assert pytest.approx(100.0) == C
        return original(self, pairs, C)

    monkeypatch.setattr(ranking_svm.Retrained, "_fit", spy)
    feed(RankingSVM(dim=3), 50)
    assert sizes == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 21, 24, 27, 30, 33, 37, 41, 46]


def test_after_fifty_pairs_c_is_cross_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    original = ranking_svm.Retrained._cross_validate

    def spy(self: ranking_svm.Retrained, pairs: np.ndarray) -> float:
        calls.append(len(pairs))
        return original(self, pairs)

    monkeypatch.setattr(ranking_svm.Retrained, "_cross_validate", spy)
    learner = RankingSVM(dim=3)
    feed(learner, 60, noise=2.0)
    assert calls == [51, 57]
    assert learner.rule.regularisation in ranking_svm.GRID


def test_uninformative_rounds_are_no_pairs() -> None:
    learner = RankingSVM(dim=2)
    for _ in range(3):
        decision = learner.decide(Choice(np.eye(2)))
        learner.learn(decision, decision.action)
    assert learner.rounds == 3
    assert learner.uninformative == 3
    assert len(learner.rule.pairs) == 0
    np.testing.assert_array_equal(learner.weights, [0.0, 0.0])


def test_it_separates_what_can_be_separated() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    learner, w_star = RankingSVM(dim=3), np.array([1.0, -2.0, 0.5])
    for _ in range(40):
        items = rng.normal(size=(5, 3))
        learner.learn(learner.decide(Choice(items)), int(np.argmax(items @ w_star)))
    pairs = learner.rule.pairs[: learner.rule._trained_on]
    assert (pairs @ learner.weights > 0).mean() > 0.95

    def objective(w: np.ndarray) -> float:
        return 0.5 * w @ w + 2 * 100.0 * np.maximum(0.0, 1.0 - pairs @ w).sum()

    best = min(
        (minimize(objective, start, method="Nelder-Mead", options={"maxiter": 20000, "maxfev": 20000}).fun)
        for start in (learner.weights, w_star * 10)
    )
    assert objective(learner.weights) <= best * 1.05, "liblinear's answer is close to the optimum of the same problem"


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_svm.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"smidgen\[svm\]"):
        RankingSVM(dim=2)
