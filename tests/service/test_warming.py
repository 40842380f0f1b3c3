"""Kernels are made ready before anybody waits for them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from smidgen._kernel import JIT
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ByName, ModelBody
from smidgen.service.models.building import Blueprint, fitting
from smidgen.service.models.catalogue import catalogue
from smidgen.service.models.warming import ROUNDS, Warming, rehearse

SERVED = [(loop, name) for loop in loops for name in fitting(loop)]


def body(loop: str, name: str, hashed: bool = False) -> ModelBody:
    """A model as the dashboard's form would begin it."""
    (entry,) = [entry for entry in catalogue()[loop] if entry["name"] == name]
    features: Any = (ByName(hashed=64) if hashed else ["a", "b", "c"]) if entry["features"] else None
    labels = ["yes", "no", "perhaps"] if loop == "label" else None
    return ModelBody(loop=loop, learner=name, params=entry["params"], features=features, labels=labels)


@pytest.mark.parametrize(("loop", "name"), SERVED)
@pytest.mark.parametrize("hashed", [False, True])
def test_every_served_learner_plays_its_first_rounds(loop: str, name: str, hashed: bool) -> None:
    assert rehearse(Blueprint(body(loop, name, hashed))) >= 1


def overloads() -> int:
    from numba.core.dispatcher import Dispatcher

    modules = [module for name, module in list(sys.modules.items()) if name.startswith("smidgen")]
    each = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return sum(len(value.overloads) for value in each.values())


@pytest.mark.skipif(not JIT, reason="kernels run as plain Python here")
@pytest.mark.parametrize(("loop", "name"), SERVED)
def test_after_that_no_kernel_is_new(loop: str, name: str) -> None:
    blueprint = Blueprint(body(loop, name))
    rehearse(blueprint)
    before = overloads()
    rehearse(blueprint)
    assert overloads() == before


def test_equal_settings_play_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played = []
    monkeypatch.setattr("smidgen.service.models.warming.rehearse", lambda blueprint, stopped: played.append(blueprint))
    warming = Warming()
    one, twin = (Blueprint(body("label", "Confidit")) for _ in range(2))
    other = Blueprint(body("label", "Confidit", hashed=True))
    warming.all([one, twin, other])
    assert played == [one, other]


def test_a_service_that_ends_plays_no_more() -> None:
    asked = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > 3

    assert rehearse(Blueprint(body("tune", "OGDEG")), stopped) < ROUNDS
    Warming(lambda: True).all(iter([]))


def test_a_model_that_cannot_play_does_not_keep_the_others_from_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(blueprint: Blueprint, stopped: Any) -> int:
        raise RuntimeError("cannot play")

    monkeypatch.setattr("smidgen.service.models.warming.rehearse", fails)
    Warming().all([Blueprint(body("label", "Confidit"))])
    assert "cannot play" in caplog.text
