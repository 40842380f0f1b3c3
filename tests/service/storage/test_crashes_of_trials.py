"""Kill -9 while silence is learnt, decisions are shown, feedback is passed on and a model is promoted: each once."""

from __future__ import annotations

import http.client
import random
import shutil
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.bodies import model
from service.killable_services import Line, Nursery
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.storage import crash_points

WINDOW_S = 0.25
MODELS: dict[str, dict[str, Any]] = {
    "champion": {
        "loop": "choose",
        "learner": "LinUCB",
        "params": {"dim": 2},
        "default_reward": 0.25,
        "window_s": WINDOW_S,
    },
    "challenger": {"loop": "choose", "learner": "SquareCB", "challenger_of": {"model": "champion", "share": 0.5}},
    "shadow": {"loop": "choose", "learner": "LinUCB", "shadow_of": "champion"},
}


class App:
    """An app that asks, shows some of it later, answers some of it, and now and then promotes the challenger."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._count = 0
        self.made: dict[str, dict[str, Any]] = {}
        self.learnt: set[str] = set()
        self.shown: set[str] = set()
        self.deferred: set[str] = set()
        self.promoted = 0

    def work(self, url: str) -> None:
        """Until the service is gone."""
        line = Line(url)
        try:
            while True:
                self._step(line)
        except (OSError, http.client.HTTPException):
            return
        finally:
            line.close()

    def _step(self, line: Line) -> None:
        rng = self._rng
        self._count += 1
        if self._count % 8 == 0 and line("POST", "/v1/models/challenger:promote", {})[0] == 200:
            self.promoted += 1
        later = rng.random() < 0.4
        rows = [[round(rng.random(), 2), round(rng.random(), 2)] for _ in range(3)]
        body = {"id": f"r{self._count}", "candidates": [{"id": f"{i}", "features": row} for i, row in enumerate(rows)]}
        status, reply = line("POST", "/v1/models/champion/decisions", body | {"activate": not later})
        if status == 409:  # asked before the crash, and not heard of: with another body, as the app thinks of it now
            return
        assert status == 201, reply
        id = reply["decision"]
        self.made[id] = reply
        if later:
            self.deferred.add(id)
        if later and line("POST", f"/v1/decisions/{id}/shown", {})[1]["status"] == "shown":
            self.shown.add(id)
        if rng.random() < 0.4:
            status, answered = line("POST", f"/v1/decisions/{id}/feedback", {"reward": round(rng.random(), 2)})
            if answered.get("status") == "learnt":
                self.learnt.add(id)


def check(data: Path, copy: Path, app: App) -> int:
    """The folder after a crash gives the result of an uninterrupted run, and holds each thing once."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data, copy)
    engine = Engine(copy, synchronous="OFF")
    try:
        logs = {
            name: [msgspec.json.decode(line) for line in engine.events.all_lines(served)]
            for name, served in engine.models.items()
        }
    finally:
        engine.close()
    with Inspection(copy) as seen:
        for name in MODELS:
            assert audit_model(seen, seen.model(name)).problems == []
    out = {event["decision"]: name for name, log in logs.items() for event in log if event["type"] == "decision"}
    assert app.made.keys() <= out.keys()
    closed: Counter[str] = Counter()
    for name, log in logs.items():
        for event in log:
            if event["type"] in ("feedback", "expired") and event["model_version"] is not None:
                closed[event["decision"]] += 1
                passed = {other: _taught(logs[other], event["decision"]) for other in MODELS if other != name}
                assert set(passed.values()) == {1}, (event["type"], passed)
    assert set(closed.values()) <= {1}, "learnt twice"
    assert app.learnt <= closed.keys()
    lessons = [event for log in logs.values() for event in log if event["type"] == "taught"]
    assert all(event["source"] in closed for event in lessons)
    said = Counter(event["decision"] for log in logs.values() for event in log if event["type"] == "shown")
    assert set(said.values()) <= {1}
    assert app.shown <= said.keys()
    promotions = [event for event in logs["champion"] if event["type"] == "promoted"]
    assert len(promotions) >= app.promoted
    return sum(map(len, logs.values()))


def _taught(log: list[dict[str, Any]], source: str) -> int:
    return sum(event["type"] == "taught" and event["source"] == source for event in log)


@pytest.mark.parametrize("point", crash_points.TRIALS)
def test_killed_at_a_named_point(point: str, nursery: Nursery, tmp_path: Path) -> None:
    data, app = tmp_path / "data", App(crash_points.TRIALS.index(point))
    engine = Engine(data, synchronous="OFF")
    for name, body in MODELS.items():
        engine.create(name, model(body))
    engine.close()
    rng, before = random.Random(point), 0
    for _ in range(2):
        times = rng.randint(1, 3 if point == "promoted" else 8)
        victim = nursery.start(data, f"{point}:{times}", snapshot_every=15)
        if victim is not None:
            worker = threading.Thread(target=app.work, args=(victim.url,))
            worker.start()
            assert victim.end(None) == -signal.SIGKILL
            worker.join(30)
        events = check(data, tmp_path / "copy", app)
        assert events >= before
        before = events
    last = nursery.start(data, snapshot_every=15)
    assert last is not None
    time.sleep(WINDOW_S + 1.3)  # the windows are over, and silence is learnt within a second
    assert last.end(signal.SIGKILL) == -signal.SIGKILL
    check(data, tmp_path / "copy", app)
    engine = Engine(data, synchronous="OFF")
    try:
        assert not engine.has_expired()
        rows = {id: engine.store.decision(id) for id in app.made}
        due = [row for row in rows.values() if row is not None and row.shown]
        # A late answer to a decision that was not shown in time counts as shown, and teaches nothing.
        late = {row.id for row in due if row.status == "late"}
        assert late <= app.deferred - app.shown
        due = [row for row in due if row.id not in late]
        assert due
        assert all(row.version is not None for row in due)  # answered, or its silence learnt: exactly once
    finally:
        engine.close()
