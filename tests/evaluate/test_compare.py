"""Several learners on one stream: the same contexts, the same user, draw for draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import AROW, Banditron, Comparison, Confidit, PreferencePerceptron, compare, play, users
from smidgen.errors import InvalidArgument

QUERIES = smidgen.data.ranking_stream(queries=40, docs=8, dim=5)
LABELS = smidgen.data.label_stream(rounds=50)


def pair() -> dict[str, Any]:
    return {"one": PreferencePerceptron(dim=5), "another": PreferencePerceptron(dim=5)}


def drawing() -> dict[str, Any]:
    return {
        "clicks": users.ClickModel(labels=QUERIES.labels, model="informational", seed=1),
        "expected": users.ExpectedAlpha(w_star=QUERIES.w_star, alpha=0.5, seed=1),
        "noisy": users.NoisyDepth(labels=QUERIES.labels, depth=4),
    }


@pytest.mark.parametrize("who", drawing())
def test_every_learner_meets_the_same_user(who: str) -> None:
    """Twins come out alike, though the user draws, or uses its labels up; and the user stays as it was."""
    user, fresh = drawing()[who], drawing()[who]
    compared = compare(pair(), QUERIES, user)
    assert isinstance(compared, Comparison)
    one, another = compared.values()
    for left, right in zip(one.actions, another.actions, strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.weights, another.weights)
    alone = play(PreferencePerceptron(dim=5), QUERIES, user)
    np.testing.assert_array_equal(alone.weights, one.weights)
    np.testing.assert_array_equal(alone.weights, play(PreferencePerceptron(dim=5), QUERIES, fresh).weights)


def test_a_user_of_ones_own_that_draws() -> None:
    class Moody:
        def __init__(self) -> None:
            self.rng, self.asked = np.random.default_rng(0), []

        def __call__(self, context: Any, action: Any) -> Any:
            self.asked.append(len(action))
            return self.rng.permutation(len(context))

    user = Moody()
    one, another = compare(pair(), QUERIES.contexts, user).values()
    np.testing.assert_array_equal(one.weights, another.weights)
    assert len(user.asked) == 80, "what it notes down, it notes down"


def test_a_function_and_a_method_are_users_too() -> None:
    class Shop:
        def answer(self, context: Any, action: Any) -> Any:
            return context.argmax(QUERIES.w_star)

    for user in (Shop().answer, lambda context, action: context.argmax(QUERIES.w_star)):
        one, another = compare(pair(), QUERIES, user).values()
        np.testing.assert_array_equal(one.weights, another.weights)


def test_a_generator_is_read_once_and_kept() -> None:
    user = users.StrictAlpha(w_star=QUERIES.w_star, alpha=0.5)
    compared = compare(pair(), iter(QUERIES.contexts), user)
    assert [len(history) for history in compared.values()] == [40, 40]


def test_learners_keep_what_they_learn_and_arguments_are_those_of_play() -> None:
    learners, seen = pair(), []
    user = users.NoisyDepth(labels=QUERIES.labels, depth=4)
    compared = compare(
        learners, QUERIES.contexts, user, utility=QUERIES.w_star, alpha=0.3, rounds=9, progress=seen.append
    )
    assert [learner.rounds for learner in learners.values()] == [9, 9]
    assert seen == [*range(1, 10), *range(1, 10)]
    assert compared["one"].alpha == 0.3
    assert compared["one"].has_utility


def test_without_names_they_bear_those_of_their_classes() -> None:
    compared = compare([Confidit(dim=6, n_classes=3), AROW(dim=6, n_classes=3)], LABELS)
    assert list(compared) == ["Confidit", "AROW"]


@pytest.mark.parametrize(
    ("learners", "match"),
    [
        ({}, "no learners"),
        ([], "no learners"),
        ("Confidit", "by name"),
        (3, "by name"),
        ({"a": "Confidit"}, r"learners\['a'\] is a str"),
        ({3: Banditron(dim=6, n_classes=3)}, "by name"),
        ([Banditron(dim=6, n_classes=3)] * 2, "same class"),
    ],
)
def test_refused(learners: Any, match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        compare(learners, LABELS)


def test_one_learner_cannot_be_two() -> None:
    learner = Banditron(dim=6, n_classes=3)
    with pytest.raises(InvalidArgument, match="two names"):
        compare({"a": learner, "b": learner}, LABELS)
    assert learner.decisions == 0
