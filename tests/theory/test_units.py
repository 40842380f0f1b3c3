"""Every bound has a unit that can be asked for, and everything of ours asks for one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_theory import BOUNDS, PARTS
from smidgen import bounds
from smidgen.errors import InvalidArgument

ROOT = Path(__file__).parents[2]
PLACES = [ROOT / "src", ROOT / "papers", ROOT / "benchmarks"]


def function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(bounds, name)
    return found


def counting(name: str) -> str:
    return "n" if "n" in inspect.signature(function(name)).parameters else "T"


def test_every_bound_is_known_here() -> None:
    assert BOUNDS.keys() | PARTS == set(bounds.__all__)
    for name in bounds.__all__:
        assert ("per_round" in inspect.signature(function(name)).parameters) is (name not in PARTS), name


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("T", [1, 7, 4000, np.array([1, 10, 500])], ids=str)
def test_the_units(name: str, T: Any) -> None:
    known = BOUNDS[name]
    given = {counting(name): T, **known.given}
    own, each, whole = (function(name)(**given, per_round=unit) for unit in (None, True, False))
    np.testing.assert_array_equal(own, each if known.average else whole)
    np.testing.assert_array_equal(function(name)(**given), own)
    np.testing.assert_allclose(np.asarray(each) * T, whole, rtol=1e-12)
    assert np.shape(each) == np.shape(whole) == np.shape(T)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("unit", ["yes", 1, 0.0])
def test_other_units_are_refused(name: str, unit: Any) -> None:
    with pytest.raises(InvalidArgument, match="per_round"):
        function(name)(**{counting(name): 10, **BOUNDS[name].given}, per_round=unit)


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Calls of bounds by name, whatever the bounds' module is called there."""
    tree = ast.parse(path.read_text())
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smidgen"):
            imported |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef) and path.parent.name == "theory":
            imported.add(node.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            where = node.func
            if isinstance(where, ast.Attribute) and where.attr in BOUNDS:
                yield where.attr, node
            elif isinstance(where, ast.Name) and where.id in BOUNDS and where.id in imported:
                yield where.id, node


def test_everything_of_ours_says_the_unit() -> None:
    seen = 0
    for path in (path for place in PLACES for path in place.rglob("*.py")):
        for name, call in calls(path):
            unit = next((each.value for each in call.keywords if each.arg == "per_round"), None)
            reply = f"{path.relative_to(ROOT)}:{call.lineno} calls {name} without a unit"
            assert unit is not None, reply
            assert not (isinstance(unit, ast.Constant) and unit.value is None), reply
            seen += 1
    assert seen >= 8
