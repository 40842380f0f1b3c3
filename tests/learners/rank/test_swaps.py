"""FairPairs and 3PR against their slow twins."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
import reference_clicks as slow
from smidgen import Clicks, FairPairs, PerturbedPreferencePerceptron, Ranking
from smidgen.errors import DecisionMismatch, InvalidArgument

MAKERS: dict[str, Any] = {
    "fair": lambda **s: FairPairs(dim=4, **s),
    "alternate": lambda **s: FairPairs(dim=4, alternate=True, **s),
    "3PR": lambda **s: PerturbedPreferencePerceptron(dim=4, swap=0.3, **s),
}
SWAPS = {"fair": (0.5, False), "alternate": (0.5, True), "3PR": (0.3, True)}


def trained(name: str, **settings: Any) -> Any:
    learner = MAKERS[name](**settings)
    rng = np.random.default_rng(4)
    for _ in range(10):
        learner.learn(learner.decide(Ranking(rng.normal(size=(6, 4)))), Clicks([int(rng.integers(6))]))
    return learner


def answers(seed: int, n: int, clicks: bool) -> tuple[Any, Any]:
    """Feedback, and which of two documents it prefers."""
    rng = np.random.default_rng(seed)
    if clicks:
        clicked = rng.permutation(n)[: rng.integers(0, n + 1)].tolist()
        return Clicks(clicked), lambda a, b: a in clicked and b not in clicked
    better = rng.permutation(n).tolist()
    return better, lambda a, b: better.index(a) < better.index(b)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("n", "depth"), [(1, 4), (2, 4), (3, 4), (5, 4), (5, 10), (4, 1)])
def test_lists_come_as_often_as_their_propensity_says(name: str, n: int, depth: int) -> None:
    learner = trained(name, depth=depth)
    query = Ranking(np.random.default_rng(n).normal(size=(n, 4)))
    decisions = [learner.decide(query) for _ in range(2500)]
    chances = slow.swapped_lists(decisions[0].greedy.tolist(), depth, *SWAPS[name])
    assert sum(chances.values()) == pytest.approx(1.0)
    seen = Counter(tuple(d.action.tolist()) for d in decisions)
    assert set(seen) <= set(chances)
    for order, chance in chances.items():
        assert abs(seen[order] - 2500 * chance) < 4.5 * math.sqrt(2500 * chance)
    for decision in decisions[:50]:
        assert decision.greedy.tolist() == query.argmax(learner.weights).tolist()
        assert decision.propensity == pytest.approx(chances[tuple(decision.action.tolist())])
        assert decision.log_propensity == pytest.approx(math.log(decision.propensity))


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 9), st.integers(1, 6), st.booleans())
def test_the_perturbed_perceptron_steps_as_its_twin(seed: int, n: int, depth: int, top: int, clicks: bool) -> None:
    learner = trained("3PR", depth=depth)
    docs = np.random.default_rng(seed).normal(size=(n, 4))
    decision = learner.decide(Ranking(docs, top=top))
    feedback, prefers = answers(seed, n, clicks)
    before, order = learner.weights, decision.action.tolist()
    learner.learn(decision, feedback)
    better = slow.better_of_neighbours(order, decision.teams.tolist(), prefers)
    phi = reference.ranking_phi(docs, better, top) - reference.ranking_phi(docs, order, top)
    np.testing.assert_allclose(learner.weights, before + phi, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 9), st.booleans(), st.booleans())
def test_fair_pairs_steps_as_its_twin(seed: int, n: int, depth: int, alternate: bool, clicks: bool) -> None:
    learner = trained("alternate" if alternate else "fair", depth=depth, step=0.2)
    docs = np.random.default_rng(seed).normal(size=(n, 4))
    decision = learner.decide(Ranking(docs))
    feedback, prefers = answers(seed, n, clicks)
    w, squares, total = learner.weights, learner._squares.copy(), learner._total.copy()
    deltas = []
    for upper, lower in slow.neighbours(decision.action.tolist(), decision.teams.tolist()):
        if prefers(lower, upper):
            deltas += [docs[lower] - docs[upper]] * (1 if clicks else 2)
        elif clicks and prefers(upper, lower):
            deltas += [docs[upper] - docs[lower]]
    learner.learn(decision, feedback)
    w, squares = slow.adagrad(deltas, 0.2, w, squares)
    np.testing.assert_allclose(learner.weights, w, atol=1e-12)
    np.testing.assert_allclose(learner._squares, squares, rtol=1e-12)
    np.testing.assert_allclose(learner.mean_weights, (total + w) / 11, atol=1e-12)


def test_fair_pairs_predicts_by_the_mean() -> None:
    learner, kept = FairPairs(dim=2), []
    query = Ranking(np.eye(2))
    for _ in range(30):
        decision = learner.decide(query)
        learner.learn(decision, Clicks([1] if decision.number % 4 else [0]))
        kept.append(learner.weights)
    np.testing.assert_allclose(learner.mean_weights, np.mean(kept, axis=0))
    assert learner.predict(query).tolist() == query.argmax(learner.mean_weights).tolist()


def test_pairs_are_written_down() -> None:
    learner = FairPairs(dim=4, depth=5)
    assert learner.decide(Ranking(np.ones((7, 4)))).teams.tolist() == [0, 0, 1, 1, -1, -1, -1]
    learner = FairPairs(dim=4, depth=5, alternate=True)
    found = {tuple(learner.decide(Ranking(np.ones((7, 4)))).teams.tolist()) for _ in range(50)}
    assert found == {(0, 0, 1, 1, -1, -1, -1), (-1, 0, 0, 1, 1, -1, -1)}


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, "half"])
def test_bad_swaps(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="swap"):
        PerturbedPreferencePerceptron(dim=2, swap=bad)
    with pytest.raises(InvalidArgument, match="alternate"):
        FairPairs(dim=2, alternate="yes")


@pytest.mark.parametrize("name", MAKERS)
def test_a_decision_without_its_pairs_is_refused(name: str) -> None:
    import msgspec

    learner = trained(name)
    decision = learner.decide(Ranking(np.eye(4)))
    with pytest.raises(DecisionMismatch, match="pairs of positions"):
        learner.learn(msgspec.structs.replace(decision, teams=None), Clicks([1]))
    assert learner.rounds == 10
