"""Answers of an earlier run are compared with what the code of today gives, and taken over if they are the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from papers import made_up
from smidgen import serialization
from smidgen_papers import commands
from smidgen_papers.catalogue import Figure
from smidgen_papers.part import Part, Place, Run
from smidgen_papers.runner import complete, compute, work_of
from smidgen_papers.store import Kept, Store
from smidgen_papers.verify import difference, take_over, verify


@pytest.fixture
def figure() -> Iterator[Figure]:
    yield made_up.enter()
    made_up.leave()


@pytest.fixture
def earlier(tmp_path: Path, figure: Figure) -> Path:
    """A run of other code: its keys are not those of today."""
    run = Run(Place(None, tmp_path / "earlier" / "kept"))
    compute(work_of([figure], run), run)
    for number, path in enumerate(sorted((run.place.kept / "parts").glob("*.json"))):
        path.rename(path.with_name(f"{number}.json"))
    assert not complete(figure, run)
    return run.place.kept


def edit(kept: Path, change: Any) -> None:
    for path in (kept / "parts").glob("*.json"):
        record = msgspec.json.decode(path.read_bytes())
        change(record)
        path.write_bytes(msgspec.json.encode(record))


def later(tmp_path: Path) -> Run:
    return Run(Place(None, tmp_path / "later" / "kept"))


def test_one_of_each_kind_is_computed_again(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    run = later(tmp_path)
    (verdict,) = verify([figure], run, earlier)
    assert (len(verdict.parts), verdict.kept, len(verdict.checked)) == (5, 5, 1)
    assert verdict.holds()
    assert [line for line in made_up.calls(run.place) if line.startswith("double")] == ["double 4 0"]


def test_everything_if_wanted(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    (verdict,) = verify([figure], later(tmp_path), earlier, everything=True)
    assert len(verdict.checked) == 5
    assert verdict.holds()


def test_what_came_out_the_same_is_taken_over(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    run = later(tmp_path)
    verdicts = verify([figure], run, earlier)
    assert take_over(verdicts, run, earlier) == 5
    assert complete(figure, run)
    assert take_over(verdicts, run, earlier) == 0, "what is there stays"


def test_functions_are_found_by_their_former_names(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    kept = Kept(earlier)
    assert Part("smidgen_papers.x:y", {}) not in kept
    edit(earlier, lambda record: record.update(work="smidgen.papers.x:y", settings={"n": record["settings"]["seed"]}))
    assert Part("smidgen_papers.x:y", {"n": 3}) in Kept(earlier)


@pytest.mark.parametrize("by", [1e-9, 0.5, math.nan, math.inf])
def test_one_that_differs_is_reported_and_nothing_is_taken_over(
    figure: Figure, earlier: Path, tmp_path: Path, by: float
) -> None:
    def change(record: dict[str, Any]) -> None:
        record["values"]["half"] = serialization.pack(0.5 + by)

    edit(earlier, change)
    run = later(tmp_path)
    (verdict,) = verify([figure], run, earlier)
    assert not verdict.holds()
    assert verdict.checked[0].where == "half"
    assert take_over([verdict], run, earlier) == 0
    assert verdict.holds(tolerance=1e-6) == (by == 1e-9)


def test_a_damaged_answer_is_none(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    edit(earlier, lambda record: record.update(values={"half": {"$": "array"}}))
    (verdict,) = verify([figure], later(tmp_path), earlier)
    assert verdict.checked[0].deviation == math.inf


def test_what_the_earlier_run_does_not_have_is_not_judged(figure: Figure, tmp_path: Path) -> None:
    (verdict,) = verify([figure], later(tmp_path), tmp_path / "nowhere")
    assert (verdict.kept, verdict.checked) == (0, ())
    assert not verdict.holds()


@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        ({"a": 1.0}, {"a": 1.0}, 0.0),
        ({"a": 1.0, "seconds": 3.0}, {"a": 1.0, "seconds": 4.0}, 0.0),
        ({"a": 1.0}, {"b": 1.0}, math.inf),
        ({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0, 2.2])}, 0.2 / 2.2),
        ({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0])}, math.inf),
        ({"a": np.array([np.nan, 1.0])}, {"a": np.array([np.nan, 1.0])}, 0.0),
        ({"a": np.array([np.nan, 1.0])}, {"a": np.array([1.0, 1.0])}, math.inf),
        ({"a": "x"}, {"a": "y"}, math.inf),
        ({"a": ["x", "y"]}, {"a": ["x", "y"]}, 0.0),
        ({"a": ["x", "y"]}, {"a": ["x", "z"]}, math.inf),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, 1 / 3),
        ({"a": None}, {"a": 0.0}, math.inf),
        ({"a": True}, {"a": True}, 0.0),
    ],
)
def test_difference(old: Any, new: Any, apart: float) -> None:
    assert difference(old, new)[0] == pytest.approx(apart)


def test_the_command(figure: Figure, earlier: Path, tmp_path: Path) -> None:
    def go(*more: str) -> Any:
        arguments = ["verify", str(earlier.parent), figure.id, "--out", str(tmp_path / "out"), "--jobs", "1", *more]
        return CliRunner().invoke(commands.app, arguments)

    done = go("--keep")
    assert done.exit_code == 0, done.output
    assert f"{figure.id}: 1 computed again, 5 kept, of 5 parts: the same bits" in done.output
    assert "5 answers taken over" in done.output
    edit(earlier, lambda record: record["values"].update(half=0.6))
    failed = go()
    assert failed.exit_code == 1
    assert "half is 0.17 apart" in failed.output
    assert Store(Run(Place(None, tmp_path / "out" / "kept")).place).get(made_up.plan(later(tmp_path))[0]) is not None
