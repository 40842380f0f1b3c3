"""The soft perceptron against the slow judge; drafts for every coactive learner; taste in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_drafts as reference
import smidgen
from smidgen import Drafts, Edit, SoftPreferencePerceptron
from smidgen.learners import Learner, cards, learners

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def long(day: str) -> str:
    return f"Hello!\n\nThank you for writing! It will be ready on {day}, I think.\n\nBest regards"


def short(day: str) -> str:
    return f"It will be ready on {day}."


def test_steps_are_those_of_the_judge() -> None:
    learner, w = SoftPreferencePerceptron(), np.zeros(Drafts.dim)
    for day in DAYS:
        drafts = Drafts([long(day), short(day), f"{day}?"])
        decision = learner.decide(drafts)
        edit = Edit(short(day) + " Truly.")
        w = reference.soft_step(w, drafts.difference(edit, decision.action), drafts.weight(edit, decision.action))
        learner.learn(decision, edit)
        np.testing.assert_allclose(learner.weights, w, rtol=1e-9, atol=1e-12)


def test_items_are_stepped_to_in_full() -> None:
    learner, w = SoftPreferencePerceptron(dim=3), np.zeros(3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        menu = smidgen.Choice(rng.normal(size=(4, 3)) * 10.0)
        decision = learner.decide(menu)
        w = reference.soft_step(w, menu.difference(2, decision.action), 1.0)
        learner.learn(decision, 2)
    np.testing.assert_allclose(learner.weights, w, rtol=1e-9)


def test_accepted_unchanged_is_feedback_that_moves_nothing() -> None:
    learner = SoftPreferencePerceptron()
    learner.learn(learner.decide(Drafts([long("Monday")])), Edit(short("Monday")))
    before = learner.weights
    decision = learner.decide(Drafts([long("Friday"), short("Friday")]))
    learner.learn(decision, Edit([long("Friday"), short("Friday")][decision.action]))
    np.testing.assert_array_equal(learner.weights, before)
    assert (learner.rounds, learner.uninformative) == (2, 1)


def test_it_is_recommended_for_edits() -> None:
    assert isinstance(smidgen.recommended(loop="draft"), SoftPreferencePerceptron)
    assert smidgen.recommended(loop="draft", feedback="edit").params["dim"] == Drafts.dim


@pytest.mark.parametrize(
    "name",
    sorted(
        n
        for n, c in cards.items()
        if "choose" in c.loops and c.kinds[0] == "better" and n not in ("CoactiveLearner", "Pipeline")
    ),
)
def test_every_coactive_learner_comes_to_write_as_its_user_does(name: str) -> None:
    learner: Any = learners[name](**{**cards[name].example, "dim": Drafts.dim})
    for _ in range(2):
        for day in DAYS:
            decision = learner.decide(Drafts([long(day), short(day)]))
            learner.learn(decision, 1 if cards[name].shows_pairs else Edit(short(day)))
    if not cards[name].shows_pairs:  # a duel moves along directions drawn at random
        assert learner.predict(Drafts([long("Sunday"), short("Sunday")])) == 1


class TestInWords:
    def taught(self, edits: int) -> SoftPreferencePerceptron:
        learner = SoftPreferencePerceptron()
        for day in DAYS[:edits]:
            learner.learn(learner.decide(Drafts([long(day)])), Edit(short(day)))
        return learner

    def test_it_says_what_enough_edits_agree_on(self) -> None:
        said = self.taught(3).in_words()
        assert said[0] == "shorter: 0.4 of the length"
        assert {"no exclamation marks", "no greeting", "starts with the answer", "no sign-off", "no hedges"} <= {*said}

    def test_it_says_nothing_of_two_edits(self) -> None:
        learner = self.taught(2)
        assert learner.in_words() == []
        assert next(wish for wish in learner.taste if wish.name == "exclamation marks") == (
            "exclamation marks",
            2,
            0,
            2,
        )

    def test_it_says_nothing_of_what_people_disagree_on(self) -> None:
        learner = self.taught(4)
        for day in DAYS[:2]:
            learner.learn(learner.decide(Drafts([short(day)])), Edit(long(day)))
        assert "no exclamation marks" not in learner.in_words()

    def test_what_is_left_as_it_is_counts_half(self) -> None:
        learner = self.taught(2)
        for day in DAYS[:2]:
            assert learner.in_words() == []
            learner.learn(learner.decide(Drafts([short(day)])), Edit(short(day)))
        assert "no exclamation marks" in learner.in_words()

    def test_what_is_left_in_spite_of_it_speaks_against_it(self) -> None:
        learner = self.taught(3)
        assert "no greeting" in learner.in_words()
        learner.learn(learner.decide(Drafts([long("Friday")])), Edit(long("Friday")))
        assert "no greeting" not in learner.in_words()

    def test_taste_is_saved_and_replayed(self) -> None:
        learner: Any = SoftPreferencePerceptron()
        twin = SoftPreferencePerceptron()
        for day in DAYS:
            decision = learner.decide(Drafts([long(day)]))
            learner.learn(decision, Edit(short(day)))
            twin.learn(learner.from_compact(learner.to_compact(decision)), Edit(short(day)))
            learner = SoftPreferencePerceptron.from_bytes(learner.to_bytes())
        assert learner.in_words() == twin.in_words() != []
        assert learner.taste == twin.taste
        assert learner.to_bytes() == twin.to_bytes()

    def test_what_follows_from_the_length_is_not_said_again(self) -> None:
        learner = SoftPreferencePerceptron()
        for day in DAYS:
            whole = f"There are 4 boxes. There are 5 crates. There are 6 pallets. There are 7 lorries on {day}."
            learner.learn(learner.decide(Drafts([whole])), Edit("There are 4 boxes. There are 5 crates."))
        said = learner.in_words()
        assert "shorter: 0.4 of the length" in said
        assert "fewer numbers" not in said

    def test_custom_traits_are_named_too(self) -> None:
        class Soups(smidgen.Structure):
            def phi(self, y: Any) -> Any:
                return np.eye(2)[y]

            def argmax(self, w: Any) -> int:
                return 0

            def traits(self, y: Any) -> dict[str, float]:
                return {"salt": 2.0 - y}

        learner = smidgen.PreferencePerceptron(dim=2)
        for _ in range(3):
            learner.learn(learner.decide(Soups()), 1)
        assert learner.in_words() == ["less salt: 1 rather than 2"]

    def test_learners_without_drafts_have_nothing_to_say(self) -> None:
        learner = smidgen.PreferencePerceptron(dim=2)
        learner.learn(learner.decide(smidgen.Choice(np.eye(2))), 1)
        assert learner.in_words() == learner.taste == []
        assert isinstance(Learner.from_bytes(learner.to_bytes()), smidgen.PreferencePerceptron)
