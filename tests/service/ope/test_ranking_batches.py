"""Logs that are read and learnt some events at a time say what they say one event at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from service.bodies import model as settings
from smidgen.errors import InvalidRecord
from smidgen.learners.coactive import Coactive
from smidgen.service.engine import log_reader, replay
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.loops import evaluator
from smidgen.service.loops.evaluate_clicks import ClickEvaluator
from smidgen.service.loops.registry import loops
from smidgen.service.ope import whatif
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import AmendBody

OTHERS = (
    "PreferencePerceptron",
    "ConvexPreferencePerceptron:radius=2.0",
    "ExponentiatedPreferencePerceptron:bound=1.0",
    "SecondOrderPreferencePerceptron:radius=2.0",
    "PDGD",
)


def logged(folder: Path, body: dict[str, Any], keys: list[str | None]) -> Path:
    """A log with late and missing answers, lists of several lengths, and in its middle all that can happen to one."""
    rng = np.random.default_rng(2)
    engine = Engine(folder, snapshot_every=1 << 62, synchronous="OFF")
    engine.begin()
    engine.create("m", settings(body))
    waiting: list[tuple[str, list[Any]]] = []
    learnt: list[str] = []
    for i in range(160):
        rows = rng.normal(size=(int(rng.integers(2, 8)), 3)) * (1e4 if i == 100 else 1.0)
        candidates = [{"id": f"d{j}", "features": row} for j, row in enumerate(rows.tolist())]
        asked: dict[str, Any] = {"candidates": candidates, **({} if keys == [None] else {"key": keys[i % len(keys)]})}
        reply = engine.decide("m", msgspec.convert(asked, loops.decision))
        waiting.append((reply["decision"], reply["ranking"]))
        while len(waiting) > rng.integers(0, 12):
            id, ranking = waiting.pop(int(rng.integers(0, len(waiting))))
            kind = rng.random()
            if kind < 0.6:
                engine.feedback(id, loops.feedback(clicked=[ranking[-1]]))
                learnt.append(id)
            elif kind < 0.8:
                engine.feedback(id, loops.feedback(better=ranking[::-1]))
            elif kind < 0.85:
                engine.feedback(id, loops.feedback(clicked=[]))
        if i == 60:
            engine.roll_back("m", engine.model("m").version - 5)
        if i == 80 and learnt:
            engine.retract(learnt[-1])
        if i in (90, 91):
            engine.amend("m", AmendBody(window_s=1000.0 + i))
    engine.commit()
    engine.store.close()
    return folder


MODELS = {
    "plain": ({"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}, [None]),
    "drawn": ({"loop": "rank", "learner": "PDGD", "params": {"dim": 3}}, [None]),
    "keyed": ({"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}, "keyed": True}, ["a", "b"]),
}


def found(folder: Path) -> bytes:
    with Inspection(folder) as seen:
        return msgspec.json.encode(what_if(StoreSource(seen, seen.model("m")), OTHERS))


@pytest.mark.parametrize("name", MODELS)
def test_what_if_by_stretches_is_what_if_by_events(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logged(tmp_path / "data", *MODELS[name])
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(ClickEvaluator, "patient", False)
        one_by_one.setattr(ClickEvaluator, "follow", evaluator.Evaluator.follow)
        one_by_one.setattr(log_reader, "SOME", 1)
        naive = found(folder)
    for together, some in ((1, 256), (7, 10), (33, 64), (512, 256)):
        monkeypatch.setattr(whatif, "TOGETHER", together)
        monkeypatch.setattr(log_reader, "SOME", some)
        assert found(folder) == naive


def test_what_is_forgotten_on_the_way_is_forgotten_in_stretches_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = logged(tmp_path / "data", *MODELS["plain"])
    remember = evaluator.Evaluator.remember
    monkeypatch.setattr(evaluator.Evaluator, "remember", lambda self, most: remember(self, 3))
    monkeypatch.setattr(whatif, "RECENT", 4)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(ClickEvaluator, "follow", evaluator.Evaluator.follow)
        naive = found(folder)
    assert found(folder) == naive


def test_stretches_go_by_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logged(tmp_path / "data", *MODELS["plain"])
    calls: list[int] = []
    learn = Coactive._learn
    monkeypatch.setattr(Coactive, "_learn", lambda self, *given: calls.append(1) or learn(self, *given))
    with Inspection(folder) as seen:
        answered = what_if(StoreSource(seen, seen.model("m")), OTHERS[:1], own_too=False).answered
    assert answered > 80
    assert len(calls) <= 30  # the guard's first, and what it bounds


def recovered(folder: Path, keys: list[str | None]) -> list[bytes]:
    engine = Engine(folder, snapshot_every=1 << 62)
    try:
        return [engine.learners.get(engine.model("m"), key).learner.to_bytes() for key in keys]
    finally:
        engine.store.close()


@pytest.mark.parametrize("name", MODELS)
def test_recovery_together_is_recovery_one_by_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, keys = MODELS[name]
    folder = logged(tmp_path / "data", body, keys)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(replay, "FEWEST", 1 << 62)
        naive = recovered(folder, keys)
    for together, most in ((5, 1 << 20), (256, 1 << 20), (256, 100)):
        monkeypatch.setattr(replay, "TOGETHER", together)
        monkeypatch.setattr(replay, "MOST", most)
        assert recovered(folder, keys) == naive


def test_lines_up_to_a_damaged_event_are_read(tmp_path: Path) -> None:
    folder = logged(tmp_path / "data", *MODELS["plain"])
    with Inspection(folder) as seen:
        recording = StoreSource(seen, seen.model("m"))
        events = seen.log.reading.events(seen.model("m").shard, 0, 40)
        place = next(i for i, event in enumerate(events) if i > 20 and event.type == "decision")
        events[place] = events[place]._replace(body=b"\x00")
        lines = recording._some(events)
        assert [next(lines).seq for _ in range(place)] == [event.seq for event in events[:place]]
        with pytest.raises(InvalidRecord, match=f"event {events[place].seq} cannot be read"):
            next(lines)
