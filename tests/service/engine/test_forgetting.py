"""Exact forgetting: the weights are those of a log that never had the person, and no byte of the person is left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service import live
from service.asgi import Caller
from service.bodies import feedback_body, model, request
from smidgen.errors import SmidgenError
from smidgen.service.admin.backup import backup, restore
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.monitoring.weights import namer
from smidgen.service.storage import crash_points

#: What others decided stays as it was recorded; so these share neither starts nor statistics of numbers, by which one
#: person's decisions would be seen in those of others. For models that do, see test_shared_state.
MODELS: dict[str, dict[str, Any]] = {
    "songs": {"loop": "choose", "keyed": True, "default_reward": 0.0, "window_s": 50, "shared_start": False},
    "mail": {"loop": "label", "labels": ["spam", "work"], "keyed": True, "shared_start": False},
    "news": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}, "keyed": True},
}
SECRET = "anna.k@nowhere.test"


class Life:
    """Some people use some models; one of them may be missing."""

    def __init__(self, folder: Path, seed: int, without: str | None = None) -> None:
        self.now = 1_000_000.0
        self.engine = Engine(folder, clock=lambda: self.now, synchronous="OFF")
        for name, body in MODELS.items():
            self.engine.create(name, model(body))
        rng = random.Random(seed)
        for i in range(120):
            self.step(rng, i, without)

    def step(self, rng: random.Random, i: int, without: str | None) -> None:
        """One round. The same random numbers are drawn whether or not a key is missing."""
        key = rng.choice([SECRET, "bob", "cy"])
        name, x, y, chance = rng.choice(list(MODELS)), rng.random(), rng.random(), rng.random()
        if key == without:
            return
        body: dict[str, Any] = {"key": key, "id": f"{key}-{i}"}
        if name == "mail":
            body["features"] = {"from": f"friend of {key}", "x": f"{x:.1f}"}
        elif name == "songs":
            body |= {"candidates": [{"id": "a"}, {"id": f"loved by {key}"}], "context": {"hour": str(int(24 * x))}}
        else:
            body["candidates"] = [{"id": f"{key}1", "features": [x, y]}, {"id": "2", "features": [y, x]}]
        reply = self.engine.decide(name, request(body))
        self.now += 1
        if chance < 0.7:
            right = {"mail": {"correct": y < 0.5}, "songs": {"reward": y}, "news": {"better": ["2"]}}[name]
            self.engine.feedback(reply["decision"], feedback_body(**right))
        if i % 11 == 0:
            self.engine.maintain(every=1)

    def learners(self, keys: tuple[str, ...] = (SECRET, "bob", "cy")) -> dict[tuple[str, str], Any]:
        return {(name, key): weights(self.engine, name, key) for name in MODELS for key in keys}


def weights(engine: Engine, name: str, key: str) -> Any:
    """A learner's bytes; where keys share names, and so columns, its weights by name."""
    model, held = engine.models[name], engine.learners.get(engine.models[name], key)
    if not model.blueprint.shared.names:
        return held.learner.to_bytes()
    names = namer(engine, model, held.learner)
    columns = held.learner.weights.T
    return {names(i): np.round(row, 10).tolist() for i, row in enumerate(columns) if np.any(row)}


def clean(engine: Engine) -> None:
    """Erase what is to be erased; a database does that in a while of its own."""
    ends = time.monotonic() + 60
    engine.maintain()
    while engine.vacuum_pending and engine.store.shared:
        assert time.monotonic() < ends
        time.sleep(0.01)
        engine.maintain()
    assert not engine.vacuum_pending


def found_in(folder: Path) -> list[str]:
    """The files, or tables, that hold a byte of the person."""
    marks = [SECRET.encode(), SECRET.encode("utf-16-le")]
    return [name for name, content in live.kept(folder).items() if any(mark in content for mark in marks)]


def marks_in(folder: Path, *marks: str) -> list[str]:
    """The files, or tables, that hold any of these words."""
    return [name for name, content in live.kept(folder).items() if any(mark.encode() in content for mark in marks)]


@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_as_if_the_person_had_never_been(tmp_path: Path, seed: int) -> None:
    life, other = Life(tmp_path / "a", seed), Life(tmp_path / "b", seed, without=SECRET)
    assert found_in(tmp_path / "a")
    for name in MODELS:
        version = life.engine.models[name].version
        forgotten = life.engine.forget(name, SECRET)
        assert forgotten.forgotten > 10
        assert forgotten.model_version == version + 1
    clean(life.engine)
    assert found_in(tmp_path / "a") == []
    assert life.learners() == other.learners()
    life.engine.close()
    assert found_in(tmp_path / "a") == []
    again = Engine(tmp_path / "a", clock=lambda: life.now, synchronous="OFF")
    for name in MODELS:
        for key in ("bob", "cy"):
            assert weights(again, name, key) == other.learners()[name, key]
        assert again.describe(name).keys == 2
        with pytest.raises(SmidgenError) as caught:
            again.forget(name, SECRET)
        assert caught.value.status == 404
    again.close()
    other.engine.close()
    with Inspection(tmp_path / "a") as seen:
        for name in MODELS:
            assert audit_model(seen, seen.model(name)).problems == []
    assert found_in(tmp_path / "a") == []


def test_a_crash_before_the_files_are_clean_is_made_good(tmp_path: Path) -> None:
    life = Life(tmp_path, 3)
    for name in MODELS:
        life.engine.forget(name, SECRET)
    assert found_in(tmp_path)  # committed, and left behind in the write-ahead log
    again = Engine(tmp_path, clock=lambda: life.now, synchronous="OFF")
    again.maintain()
    assert found_in(tmp_path) == []
    again.close()


@pytest.mark.parametrize("point", ["after-commit", "states-dropped:2"])
def test_a_kill_before_the_clean_up_leaves_a_folder_that_is_sound(tmp_path: Path, point: str) -> None:
    data, backed_up = tmp_path / "data", tmp_path / "backup"
    life = Life(data, 4)
    life.engine.close()
    command = [sys.executable, "-m", "smidgen", "forget", "mail", SECRET, "--data", str(data)]
    killed = subprocess.run(command, env={**os.environ, crash_points.VARIABLE: point}, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    shutil.copytree(data, tmp_path / "copy")
    if point == "after-commit":
        assert [note for note in fsck(data, deep=True).notes if "stale" in note]
    for folder in (data, tmp_path / "copy"):
        assert fsck(folder, deep=True).findings == []
        backup(backed_up, folder)
        restore(backed_up, tmp_path / "restored", force=True)
        assert marks_in(tmp_path / "restored", f"friend of {SECRET}") == []
        assert fsck(tmp_path / "restored", deep=True).findings == []
        Engine(folder, clock=lambda: life.now, synchronous="OFF").store.close()  # a start is enough
        assert marks_in(folder, f"friend of {SECRET}") == []
        assert fsck(folder, deep=True).notes == []


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", MODELS["mail"])
        ask.put("/v1/models/all", {"loop": "label", "labels": ["a", "b"]})
        made = ask.post("/v1/models/mail/decisions", {"key": SECRET, "features": {"x": 1}}).json()
        ask.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": True})
        gone = ask("DELETE", f"/v1/models/mail/keys/{SECRET}")
        assert (gone.status_code, gone.json()["forgotten"]) == (200, 2)
        assert found_in(tmp_path) == []
        assert ask.get(f"/v1/decisions/{made['decision']}").status_code == 404
        assert ask("DELETE", f"/v1/models/mail/keys/{SECRET}").status_code == 404
        assert ask("DELETE", "/v1/models/all/keys/x").status_code == 422
        lines = ask.get("/v1/models/mail/log").text
        assert SECRET not in lines
        assert lines.count('"erased"') == 3
        ask.post("/v1/models/mail/decisions", {"key": "bob", "features": {"x": 1}})
        assert "/v1/models/{name}/keys/{key}" in ask.get("/openapi.json").json()["paths"]
