"""Every public constructor and verb raises typed errors only (or TypeError for a wrong call), and soon."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smidgen
from laws.loops import CASES
from smidgen import Ball, Banditron, Box, Choice, L1Ball, Ranking, Simplex, optim, users
from smidgen.errors import DataMissing, InvalidArgument, InvalidFeatures, SmidgenError
from smidgen.learners import cards, learners
from smidgen.testing import Case

#: What people pass by mistake, and what people pass on purpose.
STRANGE: list[Any] = [
    *(None, True, -1, 0, 1, 3, 2**63, 2**200, -(2**63), 0.5, -0.0, 1e-320, 1e-300, 1e300, 1e308),
    *(float("nan"), float("inf"), -float("inf"), "", "a", "full", "theory", "\ud800", b"x", 1j, object(), int, len),
    *([], [1], [[1.0], [2.0, 3.0]], [None], {}, {"a": 1}, {1: 2}, (1, 2), range(3), [float("nan")] * 2),
    *(["a", "a"], [["a"], ["b"]], ["\ud800", "b"], Ball(dim=2), Choice(np.eye(2))),
    *(np.array(2.0), np.array([1.0, 2.0]), np.zeros((0, 3)), np.array(["a"]), np.array([object()]), np.float32(2)),
    *(np.int8(-1), np.datetime64("2020"), np.ma.masked, np.full((2, 2), np.nan)),
]

_TWO = np.array([1.0, 2.0])
TARGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (cls, dict(cards[name].example)) for name, cls in learners.items()},
    "Ball": (Ball, {"dim": 2, "radius": 1.0}),
    "Box": (Box, {"low": [0.0, 0.0], "high": [1.0, 1.0]}),
    "Simplex": (Simplex, {"dim": 3}),
    "L1Ball": (L1Ball, {"dim": 2, "radius": 1.0}),
    "Ranking": (Ranking, {"docs": np.eye(2), "top": 2}),
    "Choice": (Choice, {"items": np.eye(2)}),
    "Additive": (optim.Additive, {"dim": 2}),
    "Batched": (optim.Batched, {"rule": optim.Additive(dim=2), "size": 2}),
    "Exponentiated": (optim.Exponentiated, {"dim": 2, "bound": 1.0}),
    "Gradient": (optim.Gradient, {"space": Ball(dim=2), "scale": 1.0}),
    "Newton": (optim.Newton, {"space": Ball(dim=2)}),
    "StrictAlpha": (users.StrictAlpha, {"w_star": _TWO, "alpha": 0.5}),
    "ExpectedAlpha": (users.ExpectedAlpha, {"w_star": _TWO, "alpha": 0.5}),
    "NoisyDepth": (users.NoisyDepth, {"labels": [0, 1], "depth": 2}),
    "BetterRating": (users.BetterRating, {"ratings": _TWO}),
    "BestRating": (users.BestRating, {"ratings": _TWO}),
    "ClickModel": (users.ClickModel, {"labels": [0, 1]}),
    "Adversary": (users.Adversary, {"horizon": 3}),
}


def attempt(make: Any, arguments: dict[str, Any]) -> None:
    """Call it; whatever is wrong is said in our words, in less than a second of a processor."""
    began, foreign = time.process_time(), ""
    try:
        make(**arguments)
    except SmidgenError:
        pass
    except TypeError as error:
        foreign = "" if "argument" in str(error) else repr(error)
    assert not foreign, arguments
    assert time.process_time() - began < 1.0, arguments


@pytest.mark.parametrize("name", TARGETS)
def test_one_strange_argument(name: str) -> None:
    make, usual = TARGETS[name]
    for argument in inspect.signature(make).parameters:
        for value in STRANGE:
            attempt(make, {**usual, argument: value})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_several_strange_arguments(data: st.DataObject) -> None:
    make, usual = TARGETS[data.draw(st.sampled_from(sorted(TARGETS)))]
    names = sorted(inspect.signature(make).parameters)
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=4))
    numbers = st.one_of(st.integers(), st.floats())
    attempt(make, {**usual, **{each: data.draw(st.one_of(numbers, st.sampled_from(STRANGE))) for each in chosen}})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_strange_contexts_and_feedback(case: Case) -> None:
    learner = case.make()
    for value in STRANGE:
        for verb in (learner.decide, learner.predict):
            try:
                verb(value)
            except SmidgenError:
                continue
    decision = learner.decide(case.form.contexts(1, 1)[0])
    for value in STRANGE:
        before = learner.to_bytes()
        try:
            learner.learn(decision, value)
        except SmidgenError:
            assert learner.to_bytes() == before
        else:
            decision = learner.decide(case.form.contexts(1, 1)[0])
    for value in STRANGE:
        with pytest.raises(SmidgenError):
            learner.learn(value, True)


@pytest.mark.parametrize("labels", [["a", "a"], [1, 2, 1], ("x", "x"), [1, True]])
def test_labels_given_twice_are_refused(labels: Any) -> None:
    with pytest.raises(InvalidArgument, match="already"):
        Banditron(dim=2, labels=labels)


def test_labels_given_later_are_refused_if_they_are_known() -> None:
    learner = Banditron(dim=2, labels=["a", "b"])
    before = learner.to_bytes()
    for more in (["b"], ["c", "c"], ["c", "a"]):
        with pytest.raises(InvalidArgument, match="already"):
            learner.add_classes(*more)
        assert learner.to_bytes() == before
    with pytest.raises(InvalidArgument, match="not equal to itself"):
        Banditron(dim=2, labels=[float("nan"), "a"])


@pytest.mark.parametrize("labels", [3, "ab", b"ab", 0.5, object(), np.array(2.0)])
def test_labels_are_several(labels: Any) -> None:
    with pytest.raises(InvalidArgument, match="labels"):
        Banditron(dim=2, labels=labels)


def test_a_constructor_tells_its_own_arguments() -> None:
    assert next(iter(inspect.signature(Banditron).parameters)) == "dim"
    assert all("arguments" not in inspect.signature(cls).parameters for cls in learners.values())


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "candidates": (
        lambda: smidgen.Candidates({}, contxt={}),
        InvalidArgument,
        'no argument "contxt"; did you mean "co',
    ),
    "knobs": (lambda: smidgen.Knobs(timeout=(1, 2)), InvalidArgument, 'no argument "timeout"'),
    "register": (lambda: smidgen.register(smidgen.LinUCB), InvalidArgument, "register was given"),
    "explain": (lambda: _pipeline().explain(3), InvalidArgument, "3 is not a Decision"),
    "folder": (
        lambda: smidgen.LinUCB(dim=2).save("no-such-folder/x"),
        DataMissing,
        "there is no folder no-such-folder",
    ),
    "record": (lambda: _pipeline().decide(smidgen.Candidates([{"x": object()}])), InvalidFeatures, "x is an object"),
}


def _pipeline() -> smidgen.Pipeline:
    return smidgen.Pipeline(features=smidgen.Vectorizer(dim=8), learner=smidgen.LinUCB(dim=8))


@pytest.mark.parametrize(("call", "kind", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_a_misspelled_public_name_has_a_suggestion() -> None:
    run = subprocess.run([sys.executable, "-c", "import smidgen; smidgen.LinUBC"], capture_output=True, text=True)
    assert "Did you mean: 'LinUCB'?" in run.stderr
