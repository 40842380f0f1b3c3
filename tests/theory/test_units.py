"""Every bound has a unit that can be asked for, and everything of ours asks for one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import bounds
from smidgen.errors import InvalidArgument

SRC = Path(smidgen.__file__).parents[1]
PLACES = [SRC / "smidgen", SRC / "smidgen_papers", SRC.parent / "benchmarks"]
PREFERENCES = {"R": 1.5, "w_norm": 2.0, "alpha": 0.5, "slack": 3.0}
#: Arguments beside the number of rounds, and whether the theorem itself speaks of the average.
KNOWN: dict[str, tuple[dict[str, Any], bool]] = {
    "preference_perceptron": (PREFERENCES, True),
    "expected_preference_perceptron": (PREFERENCES, True),
    "lower_bound": ({}, True),
    "batch_preference_perceptron": ({**PREFERENCES, "batch": 3}, True),
    "exponentiated_preference_perceptron": ({"S": 1.5, "n_features": 8, "alpha": 0.5, "slack": 3.0}, True),
    "convex_preference_perceptron": ({"R": 1.5, "diameter": 2.0, "alpha": 0.5, "slack": 3.0}, True),
    "second_order_preference_perceptron": (
        {"R": 1.0, "diameter": 2.0, "dim": 4, "alpha": 0.5, "gamma": 0.2, "epsilon": 1.0, "lipschitz": 4.0},
        True,
    ),
    "confidit": ({"alpha": 1.0, "norm_bound": 1.0, "delta": 0.05, "log_determinant": 5.0}, False),
    "confidit_margin": (
        {"alpha": 1.0, "norm_bound": 1.0, "delta": 0.05, "log_determinant": 5.0, "margin": 0.5},
        False,
    ),
    "simple_fil": ({"delta": 0.2}, False),
    "p_ridge_fil": ({"dim": 3, "margin": 0.4}, False),
    "ogd": ({"D": 2.0, "G": 3.0}, False),
    "ons": ({"dim": 3, "D": 2.0, "G": 3.0, "exp_concavity": 0.5}, False),
    "ogdeg": ({"dim": 3, "F": 1.0, "R": 1.0, "r": 0.5}, False),
    "onseg": ({"dim": 3, "F": 1.0, "D": 2.0, "r": 1.0}, False),
    "linucb": ({"dim": 3}, False),
    "ridge_regret": ({"dim": 3}, False),
    "squarecb": ({"n_actions": 4, "regression": 2.0}, False),
    "thompson": ({"dim": 3}, False),
}
#: Parts of bounds, which add up over no rounds.
PARTS = {"determinant_bound", "linucb_width", "slack"}


def function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(bounds, name)
    return found


def counting(name: str) -> str:
    return "n" if "n" in inspect.signature(function(name)).parameters else "T"


def test_every_bound_is_known_here() -> None:
    assert KNOWN.keys() | PARTS == set(bounds.__all__)
    for name in bounds.__all__:
        assert ("per_round" in inspect.signature(function(name)).parameters) is (name not in PARTS), name


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("T", [1, 7, 4000, np.array([1, 10, 500])], ids=str)
def test_the_units(name: str, T: Any) -> None:
    known, average = KNOWN[name]
    given = {counting(name): T, **known}
    own, each, whole = (function(name)(**given, per_round=unit) for unit in (None, True, False))
    np.testing.assert_array_equal(own, each if average else whole)
    np.testing.assert_array_equal(function(name)(**given), own)
    np.testing.assert_allclose(np.asarray(each) * T, whole, rtol=1e-12)
    assert np.shape(each) == np.shape(whole) == np.shape(T)


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("unit", ["yes", 1, 0.0])
def test_other_units_are_refused(name: str, unit: Any) -> None:
    with pytest.raises(InvalidArgument, match="per_round"):
        function(name)(**{counting(name): 10, **KNOWN[name][0]}, per_round=unit)


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Calls of bounds by name, whatever the bounds' module is called there."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            where = node.func
            if isinstance(where, ast.Attribute) and isinstance(where.value, ast.Name) and where.attr in KNOWN:
                yield where.attr, node
            elif isinstance(where, ast.Name) and where.id in KNOWN:
                yield where.id, node


def test_everything_of_ours_says_the_unit() -> None:
    seen = 0
    for path in (path for place in PLACES for path in place.rglob("*.py")):
        for name, call in calls(path):
            if path.stem in ("ogdeg", "onseg", "constants", "learners", "markets") and name == "onseg":
                continue  # `one_point.onseg_constants`, which gives δ and γ
            unit = next((each.value for each in call.keywords if each.arg == "per_round"), None)
            told = f"{path.relative_to(SRC.parent)}:{call.lineno} calls {name} without a unit"
            assert unit is not None, told
            assert not (isinstance(unit, ast.Constant) and unit.value is None), told
            seen += 1
    assert seen >= 8
