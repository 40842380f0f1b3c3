"""Laws that hold for every registered learner, unasked: those that are shipped, in every setting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from laws.loops import CASES
from smidgen.errors import NotSaveable, SmidgenError
from smidgen.learners import cards, learners, saving
from smidgen.testing import Case, check_learner
from smidgen.testing.laws import kept
from smidgen.testing.learners import CLASS_LAWS, LAWS, cases_of

Law = Callable[[Case], None]
every_learner = pytest.mark.parametrize("name", sorted(cards))


def spoken(law: Law) -> str:
    return law.__name__


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=spoken)
def test_every_case_keeps(law: Law, case: Case) -> None:
    kept(law, case, str(case))


@every_learner
@pytest.mark.parametrize("law", CLASS_LAWS, ids=spoken)
def test_every_class_keeps(law: Law, name: str) -> None:
    kept(law, next(cases_of(learners[name])), name)


def test_every_law_is_held_by_check_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    from smidgen.testing import learners as shipped

    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(shipped, "kept", lambda law, case, about: asked.append((law.__name__, about)))
    check_learner(smidgen.PreferencePerceptron)
    forms = [f"PreferencePerceptron-{name}" for name in ("ranking", "structure", "choice")]
    assert asked == [
        *((law.__name__, "PreferencePerceptron") for law in CLASS_LAWS),
        *((law.__name__, form) for form in forms for law in LAWS),
    ]


def test_a_dropped_item_has_no_label() -> None:
    learner = smidgen.PRidgeFil(dim=1, p=0.0)
    learner.learn(learner.decide(np.ones(1)), False)
    decision = learner.decide(np.ones(1))
    assert not decision.action
    with pytest.raises(SmidgenError, match="its label is not known"):
        learner.learn(decision, True)


@every_learner
def test_a_save_that_fails_leaves_the_old_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "learner"
    learner = learners[name](**cards[name].example)
    learner.save(path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        learner.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unregistered_rule_works_but_is_not_saved(tmp_path: Path) -> None:
    class Mine(smidgen.optim.Additive):
        pass

    learner = smidgen.CoactiveLearner(rule=Mine(dim=2))
    decision = learner.decide(smidgen.Choice(np.eye(2)))
    learner.learn(decision, 1)
    np.testing.assert_array_equal(learner.weights, [-1.0, 1.0])
    with pytest.raises(NotSaveable, match=r"@smidgen\.structure"):
        learner.save(tmp_path / "learner")
    assert not list(tmp_path.iterdir())


def test_refusals_of_saved_learners_speak_of_them(tmp_path: Path) -> None:
    path: Any = tmp_path / "learner"
    path.write_bytes(b"hello")
    with pytest.raises(smidgen.errors.CorruptFile, match="saved learner"):
        smidgen.load(path)
