"""Error messages of the library: each names the value, the requirement and a fix, and is a `SmidgenError`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import data, optim, theory
from smidgen.checks import nearest, suggest
from smidgen.errors import SmidgenError


def _labels() -> Any:
    return smidgen.AROW(dim=2, labels=["spam", "work"])


#: Call, parts of its message.
CASES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "positional argument": (lambda: smidgen.LinUCB(20), ("20", "by position", "LinUCB(dim=20)")),
    "misspelled argument": (lambda: smidgen.LinUCB(dims=20), ('no argument "dims"', 'did you mean "dim"?')),
    "missing argument": (lambda: smidgen.LinUCB(), ('needs the argument "dim"', "give dim=…")),
    "positional argument of a space": (lambda: smidgen.Ball(3), ("3", "Ball(dim=3)")),
    "misspelled argument of a rule": (
        lambda: optim.Gradient(spaces=smidgen.Ball(dim=2)),
        ('no argument "spaces"', 'did you mean "space"?'),
    ),
    "value out of range": (lambda: smidgen.LinUCB(dim=0), ("dim is 0", ">= 1", "dim=docs.shape[1]")),
    "unknown choice": (
        lambda: smidgen.LinUCB(dim=2, covariance="fill"),
        ("covariance is 'fill'", 'did you mean "full"?'),
    ),
    "unknown loop": (lambda: smidgen.recommended("chose", dim=2), ("'chose'", 'did you mean "choose"?')),
    "unknown feedback": (
        lambda: smidgen.recommended("choose", feedback="rewards", dim=2),
        ("'rewards'", 'did you mean "reward"?'),
    ),
    "misspelled argument of recommended": (
        lambda: smidgen.recommended("choose", dim=2, withd=1.0),
        ('"withd"', 'did you mean "width"?'),
    ),
    "list of classes": (
        lambda: _labels().add_classes(["family", "news"]),
        ("['family', 'news']", "add_classes('family', 'news')", "add_classes(*labels)"),
    ),
    "known class": (lambda: _labels().add_classes("spam"), ("'spam'", "already known")),
    "unknown label": (
        lambda: _labels().learn(_labels().decide(np.ones(2)), "spma"),
        ("'spma'", 'did you mean "spam"?', "add_classes"),
    ),
    "missing file": (lambda: smidgen.load("/nowhere/learner.smidgen"), ("/nowhere/learner.smidgen", "check the path")),
    "folder instead of a file": (lambda: smidgen.load("/"), ("'/'", "Learner.save")),
    "number instead of a path": (lambda: smidgen.load(3.5), ("3.5", "Learner.save")),
    "foreign file": (lambda: smidgen.load(__file__), (__file__, "is not a saved learner", "Learner.save")),
    "wrong shape": (lambda: smidgen.LinUCB(dim=2).decide(np.ones(3)), ("give a Choice",)),
    "unknown theorem": (lambda: theory.base.find("preference"), ("'preference'", 'did you mean "preferences"?')),
    "missing UBI file": (lambda: data.read_ubi("/nowhere", "/nowhere"), ("/nowhere", "check the path")),
}


@pytest.mark.parametrize("case", CASES)
def test_messages_name_the_value_and_a_fix(case: str) -> None:
    call, parts = CASES[case]
    with pytest.raises(SmidgenError) as caught:
        call()
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert caught.value.problem
    assert caught.value.hint


def test_a_missing_file_is_still_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        smidgen.load(tmp_path / "none")


def test_nothing_near_is_suggested_for_other_words() -> None:
    assert nearest("bicycle", ["LinUCB", "SquareCB"]) is None
    assert suggest("bicycle", ["LinUCB"]) == "choose one of LinUCB"
    assert suggest("x", []) == "there is nothing to choose from"


def test_suggestions_are_bounded() -> None:
    known = [f"{'name' * 100}{i}" for i in range(10_000)]
    hint = suggest("name" * 1000, known)
    assert len(hint) < 3_000
    assert "and 9980 more" in hint


def test_the_package_lists_public_names_only() -> None:
    assert dir(smidgen) == sorted(smidgen.__all__)
    assert all(hasattr(smidgen, name) for name in smidgen.__all__)
