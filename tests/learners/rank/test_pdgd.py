"""PDGD against its slow twin."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference_clicks as slow
import smidgen
from smidgen import PDGD, Clicks, Decision, Ranking
from smidgen._core.rank import exchange_odds, log_probability
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeedback, NotFinite

scores_lists = st.lists(st.floats(-4, 4), min_size=2, max_size=7)


def trained(seed: int = 0, **settings: object) -> PDGD:
    learner = PDGD(dim=4, **{"step": 2.0, **settings})
    rng = np.random.default_rng(seed)
    for _ in range(10):
        learner.learn(learner.decide(Ranking(rng.normal(size=(6, 4)))), Clicks([int(rng.integers(6))]))
    return learner


@given(scores_lists, st.data())
def test_the_probability_of_a_list(scores: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(scores))))
    places = data.draw(st.integers(1, len(scores)))
    found = log_probability(np.array(scores), np.array(order), places)
    assert found == pytest.approx(math.log(slow.probability(scores, order, places)), abs=1e-10)


@given(scores_lists, st.data())
def test_the_odds_of_an_exchange(scores: list[float], data: st.DataObject) -> None:
    """By products and by logarithms alike."""
    n = len(scores)
    order = data.draw(st.permutations(range(n)))
    i, j = sorted(data.draw(st.permutations(range(n)))[:2])
    expected = slow.probability(scores, order, n) / slow.probability(
        scores, slow.exchanged(order, order[i], order[j]), n
    )
    for places in (n, 10**9):  # with 10**9 places products are not safe
        odds, safe = exchange_odds(np.array(scores), np.array(order), places, i, j)
        assert odds == pytest.approx(expected, rel=1e-10)
    assert max(scores) - min(scores) < 1e-7 or not safe


def test_odds_beyond_floating_point() -> None:
    """Scores thousands apart: both probabilities are 0 as numbers, their odds are not."""
    scores, order = np.array([0.0, -3000.0, -3001.0, -6000.0]), np.array([0, 1, 2, 3])
    odds, safe = exchange_odds(scores, order, 4, 1, 2)
    assert not safe
    assert odds == pytest.approx(math.exp(1.0))
    assert exchange_odds(scores, order, 4, 2, 3) == (math.inf, False)
    learner = PDGD(dim=1, step=1.0, depth=4)
    decision = Decision(
        kind="PDGD",
        settings=learner.decide(Ranking(np.ones((4, 1)))).settings,
        number=9,
        action=order,
        greedy=order,
        context=Ranking(np.array([[0.0], [1.0], [2.0], [3.0]])),
        scores=scores,
    )
    learner.learn(decision, Clicks([2]))
    rho = 1.0 / (1.0 + math.e)  # of the pair 2 over 1; those with 0 and 3 are worth nothing
    assert learner.weights[0] == pytest.approx(rho * slow.sigma(1.0) * slow.sigma(-1.0))


@given(
    st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 8), st.booleans(), st.booleans(), st.sampled_from([0.3, 2])
)
def test_a_step_is_that_of_the_twin(seed: int, n: int, depth: int, clicks: bool, normalize: bool, step: float) -> None:
    rng = np.random.default_rng(seed)
    learner = trained(seed % 3, depth=depth, normalize=normalize, step=step)
    docs = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.8)
    decision = learner.decide(Ranking(docs))
    rows = slow.unit_columns(docs) if normalize else docs
    order, scores = decision.action.tolist(), decision.scores.tolist()
    before = learner.weights
    np.testing.assert_allclose(scores, rows @ before, atol=1e-12)
    chance = slow.probability(scores, order, depth)
    assert decision.log_propensity == pytest.approx(math.log(chance), abs=1e-9)
    assert decision.propensity == pytest.approx(chance)
    if clicks:
        clicked = rng.permutation(n)[: rng.integers(0, n + 1)].tolist()
        learner.learn(decision, Clicks(clicked))
        pairs = slow.clicked_pairs(order, clicked, depth)
    else:
        better = rng.permutation(n).tolist()
        learner.learn(decision, better)
        pairs = slow.better_pairs(order, better, depth)
    expected = before + slow.pdgd_step(rows, scores, order, pairs, step)
    np.testing.assert_allclose(learner.weights, expected, atol=1e-12)


def test_lists_come_as_often_as_their_propensity_says() -> None:
    learner = trained(step=0.5)
    query = Ranking(np.random.default_rng(3).normal(size=(3, 4)))
    decisions = [learner.decide(query) for _ in range(6000)]
    seen = Counter(tuple(d.action.tolist()) for d in decisions)
    for order in itertools.permutations(range(3)):
        expected = 6000 * slow.probability(decisions[0].scores.tolist(), order, 3)
        assert abs(seen[order] - expected) < 4.5 * math.sqrt(expected) + 1
    assert all(d.explored == (d.action.tolist() != d.greedy.tolist()) for d in decisions)


def test_no_clicks_are_a_round_without_a_step() -> None:
    learner = trained()
    before = learner.weights
    silent = learner.uninformative
    learner.learn(learner.decide(Ranking(np.eye(4))), Clicks())
    np.testing.assert_array_equal(learner.weights, before)
    assert (learner.rounds, learner.uninformative) == (11, silent + 1)


def test_a_chain_of_queries_counts_too() -> None:
    """A better ranking with later documents says the same of those that were shown."""
    one, two = trained(), trained()
    docs = np.random.default_rng(1).normal(size=(4, 4))
    first, second = one.decide(Ranking(docs)), two.decide(Ranking(docs))
    one.learn(first, smidgen.from_chain(first.action, [[2], [4]], later=np.ones((1, 4))))
    two.learn(second, smidgen.from_clicks(second.action, [2]))
    np.testing.assert_array_equal(one.weights, two.weights)


def test_a_list_too_unlikely_for_a_number_has_a_logarithm() -> None:
    learner = PDGD(dim=1, depth=200)
    rng = np.random.default_rng(0)
    decision = learner.decide(Ranking(rng.normal(size=(200, 1))))
    assert decision.propensity is None
    assert decision.log_propensity == pytest.approx(-math.lgamma(201))
    assert Decision.from_json(decision.to_json()) == decision


def test_normalized_sparse_rows_stay_sparse() -> None:
    wide = sparse.random_array((5, 100_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    learner = PDGD(dim=100_000, normalize=True)
    decision = learner.decide(Ranking(wide))
    learner.learn(decision, Clicks([decision.action[1]]))
    touched = np.flatnonzero(learner.weights)
    assert set(touched) <= set(wide.indices)
    assert len(touched)


@pytest.mark.parametrize("settings", [{"step": 0.0}, {"step": np.nan}, {"depth": 0}, {"normalize": 1}, {"dim": 0}])
def test_bad_settings(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        PDGD(**{"dim": 2, **settings})


def test_refusals() -> None:
    learner = trained()
    decision = learner.decide(Ranking(np.eye(4)))
    with pytest.raises(InvalidFeedback, match="document 4 was clicked"):
        learner.learn(decision, Clicks([4]))
    with pytest.raises(DecisionMismatch, match="score per document"):
        learner.learn(_without(decision, "scores"), Clicks([1]))
    huge = Ranking(np.full((3, 4), 1e308))
    with pytest.raises(NotFinite), np.errstate(all="ignore"):
        learner.decide(Ranking(huge.docs * np.array([[1.0], [-1.0], [1.0]])))


def _without(decision: Decision, field: str) -> Decision:
    import msgspec

    return msgspec.structs.replace(decision, **{field: None})
