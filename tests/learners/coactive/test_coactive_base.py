"""The coactive template with rules and structures of a user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback
from smidgen.optim import Additive, Batched, Newton


class Paths:
    """Objects that are tuples of different lengths."""

    def __init__(self) -> None:
        self.features = {(0,): np.array([1.0, 0.0]), (0, 1): np.array([0.0, 1.0]), (1, 2, 3): np.array([-1.0, -1.0])}

    def phi(self, y: tuple[int, ...]) -> Any:
        return self.features[y]

    def argmax(self, w: Any) -> tuple[int, ...]:
        return max(self.features, key=lambda y: float(self.features[y] @ w))


def test_any_object_with_phi_and_argmax_is_a_context() -> None:
    learner = smidgen.PreferencePerceptron(dim=2)
    decision = learner.decide(Paths())
    assert decision.action == (0,)
    learner.learn(decision, (0, 1))
    assert learner.predict(Paths()) == (0, 1)
    np.testing.assert_array_equal(learner.weights, [-1.0, 1.0])


def test_feedback_that_phi_does_not_know_is_refused_in_our_words() -> None:
    learner = smidgen.PreferencePerceptron(dim=2)
    decision = learner.decide(Paths())
    with pytest.raises(InvalidFeedback, match="Paths"):
        learner.learn(decision, (9, 9))
    assert learner.rounds == 0


def test_a_dueling_bandit_compares_objects_of_any_form() -> None:
    learner = smidgen.DuelingBandit(dim=2, explore=3.0)
    decisions = [learner.decide(Paths()) for _ in range(20)]
    assert {d.explored for d in decisions} == {True, False}
    assert all(d.explored == (d.action[0] != d.action[1]) for d in decisions)
    learner.learn(decisions[0], 1)
    assert learner.rounds == 1


def test_argmax_cannot_write_to_the_weights() -> None:
    class Vandal(Paths):
        def argmax(self, w: Any) -> tuple[int, ...]:
            w[:] = 7.0
            return (0,)

    learner = smidgen.PreferencePerceptron(dim=2)
    with pytest.raises(ValueError, match="read-only"):
        learner.decide(Vandal())
    np.testing.assert_array_equal(learner.weights, [0.0, 0.0])


@pytest.mark.parametrize("phi", [[1.0], [[1.0, 2.0], [3.0, 4.0]], ["a", "b"], [np.nan, 1.0], [1j, 0.0]])
def test_feature_vectors_of_the_wrong_form_are_refused(phi: Any) -> None:
    class Wrong(Paths):
        def phi(self, y: tuple[int, ...]) -> Any:
            return np.array(phi)

    learner = smidgen.PreferencePerceptron(dim=2)
    with pytest.raises(InvalidFeatures):
        learner.learn(learner.decide(Wrong()), (0, 1))
    assert learner.rounds == 0


def test_a_rule_gives_its_settings_and_keeps_its_state() -> None:
    rule = Batched(rule=Newton(space=smidgen.Ball(dim=2, radius=1.0)), size=1)
    rule.step(np.array([1.0, 0.0]))
    fresh = Batched(rule=Newton(space=smidgen.Ball(dim=2, radius=1.0)), size=1)
    used, unused = smidgen.CoactiveLearner(rule=rule), smidgen.CoactiveLearner(rule=fresh)
    np.testing.assert_array_equal(used.weights, [0.0, 0.0])
    decision = used.decide(smidgen.Choice(np.eye(2)))
    unused.learn(decision, 1)  # twins: the same settings, the same fingerprint
    rule.step(np.array([0.0, 1.0]))
    twin = smidgen.CoactiveLearner(**used.params)
    np.testing.assert_array_equal(twin.weights, [0.0, 0.0])
    with pytest.raises(DecisionMismatch):
        smidgen.CoactiveLearner(rule=Additive(dim=2)).learn(decision, 1)


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="rule"):
        smidgen.CoactiveLearner(rule="newton")


def test_uninformative_feedback_is_counted_as_a_round() -> None:
    learner = smidgen.PreferencePerceptron(dim=3)
    query = smidgen.Ranking(np.eye(3), top=1)
    for better in ([0, 1, 2], [0, 2, 1], [1, 0, 2]):  # the same, the same where it counts, another
        learner.learn(learner.decide(query), better)
    assert (learner.rounds, learner.uninformative) == (3, 2)
