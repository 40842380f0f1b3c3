"""Replays in pieces: by learner, by key, in processes and on Ray, always what one process says, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from service import live
from service.bodies import MODELS, engine_with, play
from smidgen.cli import app
from smidgen.errors import InvalidArgument
from smidgen.jobs.processes import InProcess
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.ope import replay as sweep
from smidgen.service.ope import tables
from smidgen.service.ope.replay import replay
from smidgen.service.ope.whatif import what_if
from smidgen.service.storage.address import parse_address

OTHERS = {
    "newcomers": ["LinUCB", "SquareCB", "ThompsonChoice"],
    "banditron": ["Confidit", "AROW", "Banditron:gamma=0.2"],
    "arow": ["Confidit", "Banditron:gamma=0.2"],
    "filter": ["PRidgeFil:p=0.3", "RidgeFil:c=1"],
    "rank": ["PDGD", "SecondOrderPreferencePerceptron:radius=2"],
    "tune": [],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of every loop that tells something of others, and the same with keys."""
    folder = tmp_path_factory.mktemp("pieces") / "data"
    for name in OTHERS:
        if not MODELS[name].get("keyed"):
            MODELS[f"keyed {name}"] = {**MODELS[name], "keyed": True}
    names = [name for name in MODELS if name.removeprefix("keyed ") in OTHERS]
    try:
        engine = engine_with(folder, names)
        play(engine, names, 60 * len(names), seed=2)
        engine.close()
    finally:
        for name in names:
            if name.startswith("keyed "):
                del MODELS[name]
    return folder


@pytest.fixture(autouse=True)
def _worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of tests are short: every piece is worth a process."""
    monkeypatch.setattr(sweep, "WORTH", 1)
    monkeypatch.setattr(tables, "WORTH", 1)


def replay_bytes(data: Path, name: str, learners: list[str], **how: Any) -> bytes:
    return msgspec.msgpack.encode(replay(name, learners, data=parse_address(live.where(data)), **how))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    ("jobs", "split"),
    [pytest.param(1, "learner", marks=pytest.mark.long), (2, "learner"), (9, "learner"), (1, "key"), (3, "key")],
)
def test_pieces_say_what_the_whole_says(
    data: Path, name: str, jobs: int, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "place_of_work", lambda backend, jobs: InProcess())
    log = name if split == "learner" or MODELS[name].get("keyed") else f"keyed {name}"
    with Inspection(data) as seen:
        whole = what_if(StoreSource(seen, seen.model(log)), OTHERS[name])
    assert whole.answered > 5
    assert replay_bytes(data, log, OTHERS[name], jobs=jobs, split=split) == msgspec.msgpack.encode(whole)


def test_processes_say_the_same(data: Path) -> None:
    learners = OTHERS["newcomers"]
    whole = replay_bytes(data, "newcomers", learners)
    assert replay_bytes(data, "newcomers", learners, jobs=2) == whole
    one = replay_bytes(data, "newcomers", learners[:1])
    assert replay_bytes(data, "newcomers", learners[:1], jobs=3, split="auto") == one


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: make test-ray")
def test_ray_says_the_same(data: Path) -> None:
    """In a process of its own, as the command line starts it."""
    common = ["replay", "newcomers", "--data", str(data), "--learner", "SquareCB", "--json"]
    here = CliRunner().invoke(app, [*common, "--jobs", "1"])
    there = subprocess.run(
        [sys.executable, "-m", "smidgen", *common, "--backend", "ray", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=180,
        env={name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"},
    )
    assert there.returncode == 0, there.stderr
    assert json.loads(there.stdout) == json.loads(here.output)


def test_progress_goes_up_to_the_whole(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from smidgen.service.ope import parallel

    monkeypatch.setattr(parallel, "SAY_S", -1.0)
    seen: list[tuple[int, int]] = []
    replay_bytes(data, "newcomers", ["LinUCB"], progress=lambda at, of: seen.append((at, of)))
    assert seen
    assert seen == sorted(seen)
    assert seen[-1][0] <= seen[-1][1]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"split": "key"}, "no keys"),
        ({"split": "halves"}, "auto, learner, key"),
        ({"backend": "threads"}, "processes or ray"),
        ({"examined": [1.0, 0.5]}, "no rankings"),
    ],
)
def test_what_makes_no_sense_is_refused(data: Path, how: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        replay("banditron", [], data=data, **how)


def test_a_refusal_of_a_learner_comes_before_the_work(data: Path) -> None:
    done = CliRunner().invoke(app, ["replay", "newcomers", "--data", str(data), "--learner", "Nobody"])
    assert done.exit_code != 0
    assert "Nobody" in f"{done.output}{done.exception}"
