"""Team drafts and duels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen import Choice, DuelingBandit, Ranking
from smidgen.learners.coactive.dueling_bandit import team_draft


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_team_draft_is_fair(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, coins = rng.permutation(n), rng.permutation(n), rng.random((n + 1) // 2)
    order, teams = team_draft(first, second, coins)
    assert sorted(order) == list(range(n))
    for k in range(1, n + 1):
        assert abs(int((teams[:k] == 0).sum()) - int((teams[:k] == 1).sum())) <= 1, "the teams pick in turn"
    for k in range(n):
        ranker = first if teams[k] == 0 else second
        left = [d for d in ranker if d not in order[:k]]
        assert order[k] == left[0], "each captain takes its best document that is left"
    for turn, coin in enumerate(coins):
        assert teams[2 * turn] == (0 if coin < 0.5 else 1)


def test_equal_rankers_give_their_own_ranking() -> None:
    order, _ = team_draft(np.array([2, 0, 1]), np.array([2, 0, 1]), np.array([0.1, 0.9]))
    assert order.tolist() == [2, 0, 1]


def test_w_moves_by_one_step_along_u_exactly_when_the_rival_wins() -> None:
    rng = np.random.default_rng(0)
    learner = DuelingBandit(dim=6, explore=2.0, step=0.25)
    moved = 0
    for _ in range(200):
        context = Ranking(rng.normal(size=(9, 6)), top=3)
        decision = learner.decide(context)
        better = rng.permutation(9)
        before = learner.weights
        learner.learn(decision, better)
        team = dict(zip(decision.action.tolist(), decision.teams.tolist(), strict=True))
        votes = [team[d] for d in better[:3].tolist()]
        wins = votes.count(1) > votes.count(0)
        expected = before + 0.25 * decision.perturbation if wins else before
        np.testing.assert_array_equal(learner.weights, expected)
        moved += wins
    assert 60 < moved < 140


def test_a_tie_moves_nothing() -> None:
    learner = DuelingBandit(dim=3)
    decision = learner.decide(Ranking(np.eye(3), top=2))
    learner.learn(decision, decision.action)
    np.testing.assert_array_equal(learner.weights, np.zeros(3))


def test_pairs_of_items() -> None:
    items = np.random.default_rng(1).normal(size=(20, 4))
    learner = DuelingBandit(dim=4, explore=1.0, step=0.5)
    context = Choice(items)
    decision = learner.decide(context)
    first, second = decision.action
    assert first == learner.predict(context) == decision.greedy
    assert second == int(np.argmax(items @ (learner.weights + decision.perturbation)))
    learner.learn(decision, 0)
    np.testing.assert_array_equal(learner.weights, np.zeros(4))
    decision = learner.decide(context)
    learner.learn(decision, True)
    np.testing.assert_array_equal(learner.weights, 0.5 * decision.perturbation)


def test_directions_and_coins_differ_from_decision_to_decision() -> None:
    learner = DuelingBandit(dim=4)
    context = Ranking(np.random.default_rng(2).normal(size=(10, 4)))
    decisions = [learner.decide(context) for _ in range(20)]
    assert len({d.perturbation.tobytes() for d in decisions}) == 20
    assert len({d.action.tobytes() for d in decisions}) > 10
    assert all(d.explored for d in decisions)


def test_it_learns_though_slowly() -> None:
    import smidgen

    stream = smidgen.data.choice_stream(rounds=3000, items=100, dim=5, offered=20, seed=3)
    learner = DuelingBandit(dim=5, explore=1.0, step=0.2)
    history = smidgen.simulate(learner, stream.contexts, smidgen.users.BetterOfTwo(w_star=stream.w_star))
    assert history.regret[-300:].mean() < 0.5 * history.regret[:300].mean()
    assert history.bound is None


@pytest.mark.parametrize("bad", [2, -1, 0.5, "1", None, [0]])
def test_feedback_on_a_pair_is_zero_or_one(bad: object) -> None:
    learner = DuelingBandit(dim=2)
    decision = learner.decide(Choice(np.eye(2)))
    with pytest.raises(ValueError, match="0"):
        learner.learn(decision, bad)
    assert learner.rounds == 0
