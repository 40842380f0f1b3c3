"""The cards: what they say is true, and no other room keeps a table of learners."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Ball, Box, Card, Knobs, Recommended, Vectorizer
from smidgen.errors import InvalidArgument
from smidgen.learners import Feedback, Loop, cards, learners
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.registry import catalogue
from smidgen.theory import stated

SRC = Path(smidgen.__file__).parent
#: Theorems and the players of the papers' streams are about algorithms by name; the package's front lists them all.
ELSEWHERE = ("learners", "theory", "evaluate", "users", "sklearn.py", "__init__.py")


def settings(name: str, dim: int, classes: int, **more: Any) -> dict[str, Any]:
    """Arguments of that size."""
    given = {**cards[name].example, **more}
    sized = {"dim": dim, "n_classes": classes, "space": Ball(dim=dim)}
    if isinstance(given.get("space"), Box):
        sized |= {"space": Box(low=0.0, high=np.ones(min(dim, 5))), "dim": min(dim, 20)}
    accepted = inspect.signature(learners[name]).parameters
    if "learner" in given:
        given["learner"] = type(given["learner"])(dim=dim)
    if "features" in given:
        given["features"] = Vectorizer(dim=dim)
    return {**given, **{key: value for key, value in sized.items() if key in accepted}}


def sizes() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, cls in learners.items():
        if "rule" in cards[name].example:
            continue
        accepted = inspect.signature(cls).parameters
        yield name, {}
        if "dtype" in accepted:
            yield name, {"dtype": "float32"}
        for form in ("full", "diagonal", "dual") if "covariance" in accepted else ():
            if form == "full" and name.endswith("Bank"):
                continue  # a bank's covariance is full by itself, while few columns are in use
            if form != "dual" or "window" in accepted:
                yield name, {"covariance": form}


@pytest.mark.parametrize(("name", "more"), list(sizes()), ids=str)
@pytest.mark.parametrize(("dim", "classes"), [(5, 3), (40, 3), (40, 9), (1500, 2)])
def test_the_size_is_that_of_the_state(name: str, more: dict[str, Any], dim: int, classes: int) -> None:
    given = settings(name, dim, classes, **more)
    defaults = {key: each.default for key, each in inspect.signature(learners[name]).parameters.items()}
    found = cards[name].size({**defaults, **given})
    held = sum(array.nbytes for array in learners[name](**given)._state().values())
    assert held - 100 <= found
    # Columns come into use when they are needed.
    later = defaults.get("covariance") == "auto" or name in ("Pipeline", "QuadraticTuner")
    assert found <= 2 * held + 100 or later


def test_first_settings_make_a_learner() -> None:
    from service.bodies import model

    for loop, entries in catalogue().items():
        for entry in entries:
            body = {"loop": loop, "learner": entry["name"], "params": entry["params"]}
            if entry["features"]:
                body["features"] = ["a", "b"]
            if loop == "label":
                body["labels"] = ["x", "y"]
            assert Blueprint(model(body)).learner(None).rounds == 0


def test_every_theorem_is_known_and_used() -> None:
    named = [card.theorem for card in cards.values() if card.theorem is not None]
    assert sorted(map(str, named)) == sorted(stated)


def test_the_recommended_comes_first_in_the_form() -> None:
    first = {loop: entries[0]["name"] for loop, entries in catalogue().items()}
    assert first == {
        "rank": "PDGD",
        "choose": "ChoiceBank",
        "label": "LabelBank",
        "filter": "RidgeFil",
        "tune": "OGDEG",
        "draft": "SoftPreferencePerceptron",
    }


def test_a_card_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="the card's loop is"):
        Card(loop="knit", feedback="better")
    with pytest.raises(InvalidArgument, match="the card's feedback is nothing"):
        Card(loop="rank", feedback=())
    with pytest.raises(InvalidArgument, match=r"recommended for \['bit'\]"):
        Card(loop="rank", feedback="better", recommended=(Recommended(feedback="bit"),))


def said(path: Path) -> Iterator[str]:
    """Names and words of a file, docstrings left out."""
    if path.suffix == ".js":
        yield path.read_text()
        return
    tree = ast.parse(path.read_text())
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, holders) and node.body]
    docs = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_no_other_room_names_a_learner() -> None:
    found = []
    for path in [*SRC.rglob("*.py"), *SRC.rglob("*.js")]:
        if path.relative_to(SRC).parts[0] not in ELSEWHERE:
            words = {word for text in said(path) for word in re.findall(r"\w+", text)}
            named = words & learners.keys() - {"Pipeline"}  # which the service puts before a learner by itself
            found += [(str(path.relative_to(SRC)), name) for name in sorted(named)]
    assert found == []


def test_no_file_of_the_service_but_its_own_names_a_loop() -> None:
    """ "label" is also an ordinary word; the others are not."""
    names, own = {"rank", "choose", "filter", "tune"}, {f"{loop}.py" for loop in Loop}
    for path in [*(SRC / "service").rglob("*.py"), *(SRC / "client").rglob("*.py")]:
        if path.parent.name != "loops" or path.name not in own:
            assert not names & set(said(path)), path
    for path in (SRC / "service" / "pages").glob("*.js"):
        assert not re.search(r"""loop\w*(\.value)?\s*[!=]==?\s*["']""", path.read_text()), path


class TestRecommended:
    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ({"loop": "rank", "dim": 10}, "PDGD"),
            ({"loop": "rank", "feedback": "clicks", "dim": 10}, "PDGD"),
            ({"loop": "rank", "feedback": "better", "dim": 1000}, "SecondOrderPreferencePerceptron"),
            ({"loop": "rank", "feedback": "better", "dim": 1001}, "PreferencePerceptron"),
            ({"loop": "choose", "dim": 10}, "ChoiceBank"),
            ({"loop": "choose", "feedback": "reward", "dim": 10, "floor": 0.1}, "ChoiceBank"),
            ({"loop": "choose", "feedback": "better", "dim": 10}, "SecondOrderPreferencePerceptron"),
            ({"loop": "label", "dim": 10, "n_classes": 3}, "LabelBank"),
            ({"loop": "label", "feedback": "reward", "dim": 10, "n_classes": 3}, "LabelBank"),
            ({"loop": "tune", "space": Box(low=0.0, high=[1.0, 2.0])}, "QuadraticTuner"),
            ({"loop": "tune", "space": Box(low=0.0, high=np.ones(6))}, "QuadraticTuner"),
            ({"loop": "tune", "space": Box(low=0.0, high=np.ones(65))}, "OGDEG"),
            ({"loop": "tune", "space": Knobs({"threads": (1, 64)})}, "QuadraticTuner"),
            ({"loop": "label", "feedback": "label", "dim": 10, "labels": ["a", "b"]}, "AROW"),
            ({"loop": "filter", "dim": 10, "c": 2.0}, "RidgeFil"),
            ({"loop": "tune", "space": Ball(dim=3)}, "OGDEG"),
            ({"loop": "tune", "feedback": "gradient", "space": Ball(dim=3), "gradient_bound": 3.0}, "ONS"),
        ],
    )
    def test_the_best_that_stands(self, given: dict[str, Any], name: str) -> None:
        learner = smidgen.recommended(**given)
        assert type(learner).__name__ == name
        kept = {key: value for key, value in given.items() if key not in ("loop", "feedback", "labels")}
        assert kept.items() <= learner.params.items()
        assert smidgen.recommended(**given).params == learner.params

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"loop": "knit"}, "there is no loop 'knit'"),
            ({"loop": "sing", "dim": 3}, "there is no loop 'sing'"),
            ({"loop": "rank", "feedback": "applause", "dim": 3}, "feedback is 'applause'"),
            (
                {"loop": "filter", "feedback": "reward", "dim": 3},
                "no learner is recommended .* 'reward'; choose one of relevance",
            ),
            ({"loop": "rank"}, 'needs the argument "dim"'),
            ({"loop": "tune"}, 'needs the argument "space"'),
            ({"loop": "rank", "dim": 3, "labels": ["a"]}, 'has no argument "labels"'),
            ({"loop": "rank", "dim": 3, "wings": 2}, 'has no argument "wings"'),
            ({"loop": "rank", "dim": -3}, "dim is -3"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, given: dict[str, Any], match: str) -> None:
        with pytest.raises(InvalidArgument, match=match):
            smidgen.recommended(**given)

    def test_a_stronger_one_takes_over_by_its_card(self) -> None:
        class Stronger(smidgen.PreferencePerceptron):
            """A learner of a plugin."""

        case = Recommended(feedback="clicks", strength=3, settings={"seed": 7})
        smidgen.register(Card(loop="rank", feedback="clicks", recommended=(case,)))(Stronger)
        try:
            assert smidgen.recommended(loop="rank", dim=2).params == {"dim": 2, "seed": 7}
            assert isinstance(smidgen.recommended(loop="rank", dim=2), Stronger)
            assert not isinstance(smidgen.recommended(loop="choose", dim=2), Stronger)
        finally:
            del learners["Stronger"], cards["Stronger"]

    def test_every_kind_is_somebodys_or_said_to_be_nobodys(self) -> None:
        served = {(loop, case.feedback) for card in cards.values() for loop in card.loops for case in card.recommended}
        own = [card for name, card in cards.items() if name != "Pipeline"]  # which has the kinds of its inner learner
        missing = {(loop, kind) for card in own for loop in card.loops for kind in card.kinds} - served
        assert missing == {("draft", "better"), ("draft", "clicks")}  # a draft that people do not edit is a choice
        assert {kind for _, kind in served} == set(Feedback)
