"""Lemma 3: against the adversary every learner has the same regret, and Theorem 1 is tight."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import smidgen
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.learners import cards, learners
from smidgen.users import Adversary

T = 64
#: A duel is between two objects, and the lemma's adversary answers to one.
LEARNERS = sorted(
    name
    for name, card in cards.items()
    if {"rank", "choose"} <= set(card.loops)
    and "dim" in inspect.signature(learners[name]).parameters
    and name != "DuelingBandit"
)


def test_there_are_learners_to_defeat() -> None:
    assert {"PreferencePerceptron", "ConvexPreferencePerceptron", "RankingSVM"} <= set(LEARNERS)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_average_regret_two_over_the_root_of_the_horizon(name: str) -> None:
    adversary = Adversary(horizon=T)
    learner = learners[name](**{**cards[name].example, "dim": T})
    history = smidgen.simulate(learner, adversary.contexts(), adversary, utility=adversary.w_star)
    assert len(history) == T
    assert history.regret.tolist() == [2.0 / np.sqrt(T)] * T
    assert history.average_regret[-1] == smidgen.bounds.lower_bound(T=T) == 0.25
    assert np.linalg.norm(adversary.w_star()) == 1.0
    assert not history.slacks.any(), "the feedback is 1-informative throughout"


def test_theorem_one_is_tight() -> None:
    adversary = Adversary(horizon=T)
    learner = smidgen.PreferencePerceptron(dim=T)
    history = smidgen.simulate(learner, adversary.contexts(), adversary, utility=adversary.w_star)
    assert history.bound is not None
    assert history.bound[-1] == history.average_regret[-1]
    assert (history.average_regret[:-1] < history.bound[:-1]).all()


def test_each_round_offers_the_two_sides_of_a_new_axis() -> None:
    sides = [choice.items.toarray() for choice in Adversary(horizon=3).contexts()]
    for t, (side, axis) in enumerate(zip(sides, np.eye(3), strict=True)):
        np.testing.assert_array_equal(side, [axis, -axis], f"round {t}")


def test_it_has_always_wanted_what_was_not_shown() -> None:
    adversary = Adversary(horizon=4)
    contexts = list(adversary.contexts())
    assert not adversary.w_star().any()
    assert [adversary(contexts[0], 0), adversary(contexts[1], 1)] == [1, 0]
    assert adversary.w_star().tolist() == [-0.5, 0.5, 0.0, 0.0]
    adversary.w_star()[:] = 7.0
    assert adversary.w_star().tolist() == [-0.5, 0.5, 0.0, 0.0]


def test_refused() -> None:
    with pytest.raises(InvalidArgument, match="horizon"):
        Adversary(horizon=0)
    adversary = Adversary(horizon=2)
    with pytest.raises(InvalidFeedback):
        adversary(next(adversary.contexts()), 2)
    assert not adversary.w_star().any(), "a refused call changes nothing"
