"""Routing between language models: the router learns which model answers which prompts, and the table compares it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from smidgen_papers.beyond import routing
from smidgen_papers.beyond.budgets import FILE
from smidgen_papers.part import Answer, Answers, Place, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Data in the form of the public file: the small model is right on sums only."""
    lines = []
    for t in range(300):
        hard = t % 2 == 1
        arms = {
            "small": {"reward": 0.2 if hard else 0.9, "cost": 0.0001},
            "large": {"reward": 0.9 if hard else 0.3, "cost": 0.01},
        }
        lines.append(json.dumps({"prompt": f"prove it by {t}" if hard else f"add {t} and two", "arms": arms}))
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return Run(Place(tmp_path, tmp_path), quick=True)


def test_the_router_is_ahead_of_every_single_model(run: Run) -> None:
    parts = routing.plan(run)
    answers = Answers(Answer(one.settings, one.run(run.place)) for one in parts)
    [found] = answers.where(way="words")
    assert found["last third"] > found["best single, last third"] > found["random, last third"]
    [table] = routing.gather(run, answers).tables
    names = [row[0] for row in table.rows]
    assert names == [*(f"smidgen, {way}" for way in routing.WAYS), "random", *names[5:-2], names[-2], "oracle"]
    assert set(names[5:-2]) == {"always small", "always large"}
    [budgeted] = answers.where(way="words, budget")
    assert budgeted["cost"] < found["cost"]


def test_without_the_data_there_is_nothing_to_run(tmp_path: Path) -> None:
    run = Run(Place(None, tmp_path))
    assert routing.plan(run) == []
    assert routing.gather(run, Answers([])).tables == []
