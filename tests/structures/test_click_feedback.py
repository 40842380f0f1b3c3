"""Clicks as feedback: the value, and what learners of better rankings make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Choice, Clicks, Ranking, serialization
from smidgen.errors import InvalidFeedback, SmidgenError
from smidgen.learners import cards, learners

RNG = np.random.default_rng(0)
#: A Pipeline takes records; its laws have clicks of their own.
TAKERS = sorted(name for name, card in cards.items() if "clicks" in card.kinds and name != "Pipeline")


class TestTheValue:
    def test_documents_in_the_order_of_the_clicks(self) -> None:
        clicks = Clicks([3, np.int64(1), 3])
        assert list(clicks) == [3, 1]
        assert len(clicks) == 2
        assert clicks == Clicks((3, 1)) != Clicks([1, 3])
        assert len({clicks, Clicks([3, 1])}) == 1
        assert repr(clicks) == "Clicks([3, 1])"
        assert clicks.better([0, 1, 2, 3]).tolist() == [3, 1, 0, 2]

    def test_none_at_all(self) -> None:
        assert len(Clicks()) == 0
        assert Clicks([]) == Clicks()
        assert Clicks().better([2, 0, 1]).tolist() == [2, 0, 1]

    def test_it_goes_to_json_and_back(self) -> None:
        assert serialization.from_json(serialization.to_json(Clicks([2, 0]))) == Clicks([2, 0])

    def test_it_cannot_be_written_to(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            Clicks([1]).documents[0] = 2

    @pytest.mark.parametrize("bad", [3, "12", [1.0], [-1], [True], None, [[1]], {1: 2}, [2**63]])
    def test_what_is_no_list_of_documents(self, bad: Any) -> None:
        with pytest.raises(InvalidFeedback):
            Clicks(bad)


def make(name: str) -> Any:
    settings = {"rule": smidgen.optim.Additive(dim=4)} if name == "CoactiveLearner" else {"dim": 4}
    return learners[name](**{**cards[name].example, **settings})


@pytest.mark.parametrize("name", TAKERS)
def test_everyone_who_learns_from_clicks_takes_them(name: str) -> None:
    learner = make(name)
    for _ in range(5):
        decision = learner.decide(Ranking(RNG.normal(size=(6, 4))))
        learner.learn(decision, Clicks([decision.action[2]]))
    assert learner.rounds == 5
    assert learner.weights.any() or name == "DuelingBandit"
    before = learner.weights
    decision = learner.decide(Ranking(RNG.normal(size=(6, 4))))
    with pytest.raises(SmidgenError):
        learner.learn(decision, Clicks([6]))
    learner.learn(decision, Clicks())
    if name not in ("BatchPreferencePerceptron", "RankingSVM"):
        np.testing.assert_allclose(learner.weights, before, rtol=1e-12)


@pytest.mark.parametrize("name", ["PreferencePerceptron", "SecondOrderPreferencePerceptron"])
def test_clicks_stand_for_the_better_ranking(name: str) -> None:
    one, two = make(name), make(name)
    for _ in range(5):
        query = Ranking(RNG.normal(size=(6, 4)))
        first, second = one.decide(query), two.decide(query)
        clicks = Clicks(RNG.permutation(6)[:2])
        one.learn(first, clicks)
        two.learn(second, smidgen.from_clicks(second.action, clicks))
        assert one.preferred(first, clicks).tolist() == clicks.better(first.action).tolist()
    np.testing.assert_array_equal(one.weights, two.weights)


def test_clicks_on_a_choice_are_refused() -> None:
    learner = smidgen.PreferencePerceptron(dim=2)
    with pytest.raises(InvalidFeedback, match="clicks need rankings"):
        learner.learn(learner.decide(Choice(np.eye(2))), Clicks([1]))


def test_a_duel_is_decided_by_the_clicked_documents() -> None:
    learner = smidgen.DuelingBandit(dim=6, explore=2.0, step=0.25)
    moved = 0
    for _ in range(200):
        decision = learner.decide(Ranking(RNG.normal(size=(9, 6)), top=3))
        clicked = RNG.permutation(9)[: RNG.integers(0, 4)].tolist()
        before = learner.weights
        learner.learn(decision, Clicks(clicked))
        team = dict(zip(decision.action.tolist(), decision.teams.tolist(), strict=True))
        votes = [team[d] for d in clicked]
        wins = votes.count(1) > votes.count(0)
        np.testing.assert_array_equal(learner.weights, before + 0.25 * decision.perturbation if wins else before)
        moved += wins
    assert 40 < moved < 120
