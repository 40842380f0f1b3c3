"""Settings whose learner would not fit into memory are refused before it is made, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from service.bodies import model
from smidgen.errors import InvalidArgument
from smidgen.learners import cards
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.errors import Impossible

SPACE = {"type": "Ball", "dim": 60_000, "radius": 1.0}
HUGE = {
    "rank": {"learner": "SecondOrderPreferencePerceptron", "params": {"dim": 60_000}},
    "hashed": {"learner": "RidgeFil", "features": {"hashed": 1 << 16}, "params": {"covariance": "full"}},
    "p": {"learner": "PRidgeFil", "params": {"dim": 60_000, "p": 0.1}},
    "wrapped": {
        "learner": "AppleTasting",
        "params": {"learner": {"type": "RidgeFull", "dim": 60_000, "covariance": "full"}},
    },
    "classes": {"learner": "Confidit", "params": {"dim": 1000, "n_classes": 2000, "covariance": "full"}},
    "many": {"learner": "Confidit", "params": {"dim": 1 << 22, "n_classes": 1 << 10}},
    "ons": {"learner": "ONS", "params": {"space": SPACE, "gradient_bound": 1.0, "exp_concavity": 0.5}},
    "onseg": {"learner": "ONSEG", "params": {"space": SPACE, "loss_bound": 1.0, "delta": 0.1}},
}
FITTING = {
    "rank": {"learner": "PreferencePerceptron", "params": {"dim": 1 << 20}},
    "second": {"learner": "SecondOrderPreferencePerceptron", "params": {"dim": 300}},
    "dual": {"learner": "RidgeFil", "features": {"hashed": 1 << 16}},
    "diagonal": {"learner": "RidgeFil", "features": {"hashed": 1 << 16}, "params": {"covariance": "diagonal"}},
    "hashed": {"learner": "Confidit", "features": {"hashed": 1 << 18}, "labels": ["a", "b", "c"]},
    "classes": {"learner": "Banditron", "params": {"dim": 20_000, "n_classes": 50}},
    "ogd": {"learner": "OGD", "params": {"space": SPACE, "gradient_bound": 1.0}},
}


def body(given: dict[str, Any]) -> Any:
    return model({"loop": cards[given["learner"]].loops[0], **given})


@pytest.mark.parametrize("name", HUGE)
def test_what_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"would hold [0-9.,]+ [MG]B: the limit is 134.2 MB; .*--max-learner"):
        Blueprint(body(HUGE[name]))


@pytest.mark.parametrize("name", FITTING)
def test_what_fits_is_made(name: str) -> None:
    assert Blueprint(body(FITTING[name])).dim in (None, *(1 << i for i in (16, 18, 20)), 300, 20_000)


def test_a_missing_argument_is_reported_in_our_words() -> None:
    for given, name in (
        ({"learner": "ConvexPreferencePerceptron", "params": {"dim": 3}}, "radius"),
        ({"learner": "AppleTasting"}, "learner"),
        ({"learner": "AppleTasting", "features": ["a"]}, "learner"),
        ({"learner": "OGDEG", "params": {"space": {"type": "Ball"}, "loss_bound": 1.0}}, "dim"),
        ({"learner": "OGDEG", "params": {"loss_bound": 1.0}}, "space"),
    ):
        with pytest.raises(Impossible, match=f'needs "{name}";') as refusal:
            Blueprint(body(given))
        assert "__init__" not in str(refusal.value)


def test_a_filter_inside_a_filter_takes_the_features_by_name() -> None:
    given = {"learner": "AppleTasting", "features": ["a", "b"], "params": {"learner": {"type": "RidgeFull"}}}
    blueprint = Blueprint(body(given))
    assert blueprint.dim == 2
    assert blueprint.loop.vectors.row({"b": 1.0}).tolist() == [0.0, 1.0]
    with pytest.raises(Impossible, match="there are 2 features"):
        Blueprint(body({**given, "params": {"learner": {"type": "RidgeFull", "dim": 3}}}))


def test_settings_nested_too_deep_are_refused() -> None:
    inside: Any = 1
    for _ in range(300):
        inside = {"type": inside}
    with pytest.raises(Impossible, match="nested"):
        Blueprint(body({"learner": "PreferencePerceptron", "params": {"dim": 3, "seed": inside}}))


def test_only_learners_that_can_be_built_are_offered() -> None:
    for name, why in (("CoactiveLearner", "an update rule"), ("RankingSVM", "fits all feedback again")):
        given = {"loop": "rank", "learner": name, "params": {"dim": 3}}
        with pytest.raises(Impossible, match=f"which the loop rank cannot use: .*{why}") as refused:
            Blueprint(model(given))
        assert "PreferencePerceptron" in str(refused.value)
        assert str(refused.value).count(name) == 1
