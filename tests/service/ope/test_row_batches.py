"""Labels, choices and items of a log, looked at and learnt some events at a time, against one event at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from service.bodies import model as settings
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.log_batch import BatchLearner
from smidgen.service.engine import log_reader, replay
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.loops import evaluate_rewards, evaluator
from smidgen.service.loops.registry import loops
from smidgen.service.ope import whatif
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import AmendBody

BITS = ("HingeConfidit", "HingeConfidit:covariance=diagonal,floor=0.1", "Confidit:eta=0.5", "Banditron:gamma=0.1")
REWARDS = ("LinUCB", "SquareCB", "ThompsonChoice", "LinUCB:covariance=diagonal")
MODELS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "bit": ({"loop": "label", "learner": "HingeConfidit", "params": {"dim": 3, "n_classes": 4, "floor": 0.2}}, BITS),
    "two labels": ({"loop": "label", "learner": "Banditron", "params": {"dim": 3, "n_classes": 2}}, BITS),
    "keyed bit": ({"loop": "label", "learner": "Confidit", "params": {"dim": 3, "n_classes": 3}, "keyed": True}, BITS),
    "graded": ({"loop": "label", "learner": "HingeConfidit", "params": {"dim": 3, "n_classes": 3}}, BITS[:3]),
    "choose": ({"loop": "choose", "learner": "LinUCB", "params": {"dim": 3, "floor": 0.2}}, REWARDS),
    "keyed choose": ({"loop": "choose", "learner": "SquareCB", "params": {"dim": 3}, "keyed": True}, REWARDS),
}


def logged(folder: Path, name: str) -> Path:
    """A log with late and missing answers, and in its middle all that can happen to one."""
    rng, body = np.random.default_rng(2), MODELS[name][0]
    engine = Engine(folder, snapshot_every=1 << 62, synchronous="OFF")
    engine.begin()
    engine.create("m", settings(body))
    waiting: list[str] = []
    learnt: list[str] = []
    for i in range(160):
        size = 1e4 if i == 100 else 1.0
        asked: dict[str, Any] = {"key": "ab"[i % 2]} if body.get("keyed") else {}
        if body["loop"] == "choose":
            rows = (rng.normal(size=(int(rng.integers(2, 6)), 3)) * size).tolist()
            asked["candidates"] = [{"id": f"d{j}", "features": row} for j, row in enumerate(rows)]
        else:
            asked["features"] = (rng.normal(size=3) * size).tolist()
        waiting.append(engine.decide("m", msgspec.convert(asked, loops.decision))["decision"])
        while len(waiting) > rng.integers(0, 12):
            id, kind = waiting.pop(int(rng.integers(0, len(waiting)))), rng.random()
            if kind < 0.8:
                engine.feedback(id, loops.feedback(**_feedback_for(rng, name, kind)))
                learnt.append(id)
        if i == 60:
            engine.roll_back("m", engine.model("m").version - 5)
        if i == 80:
            engine.retract(learnt[-1])
        if i == 90:
            engine.amend("m", AmendBody(window_s=1000.0))
    engine.commit()
    engine.store.close()
    return folder


def _feedback_for(rng: np.random.Generator, name: str, kind: float) -> dict[str, Any]:
    if name in ("choose", "keyed choose", "graded"):
        return {"reward": float(rng.random())}
    if name == "bit" and kind < 0.2:
        return {"label": str(rng.integers(4))}
    return {"correct": bool(rng.random() < 0.5)}


def found(folder: Path, name: str) -> bytes:
    with Inspection(folder) as seen:
        return msgspec.json.encode(what_if(StoreSource(seen, seen.model("m")), MODELS[name][1]))


@pytest.mark.parametrize("name", MODELS)
def test_what_if_along_courses_is_what_if_by_events(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logged(tmp_path / "data", name)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(evaluate_rewards.RewardEvaluator, "patient", False)
        one_by_one.setattr(evaluate_rewards.RewardEvaluator, "follow", evaluator.Evaluator.follow)
        one_by_one.setattr(log_reader, "SOME", 1)
        naive = found(folder, name)
    for together, some in ((1, 256), (7, 10), (33, 64), (512, 256)):
        monkeypatch.setattr(whatif, "TOGETHER", together)
        monkeypatch.setattr(log_reader, "SOME", some)
        assert found(folder, name) == naive


@pytest.mark.parametrize("name", ["bit", "two labels", "choose"])
def test_what_is_forgotten_on_the_way_is_forgotten_along_courses_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = logged(tmp_path / "data", name)
    remember = evaluator.Evaluator.remember
    monkeypatch.setattr(evaluator.Evaluator, "remember", lambda self, *_: remember(self, 3))
    monkeypatch.setattr(evaluate_rewards, "WHOLE", 3)
    monkeypatch.setattr(whatif, "RECENT", 4)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(evaluate_rewards.RewardEvaluator, "follow", evaluator.Evaluator.follow)
        naive = found(folder, name)
    assert found(folder, name) == naive


@pytest.mark.parametrize("name", ["bit", "choose"])
def test_courses_of_logs_go_by_kernels(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logged(tmp_path / "data", name)
    calls: list[int] = []
    by_verb = BatchLearner._by_verb
    monkeypatch.setattr(BatchLearner, "_by_verb", lambda self, *given: calls.append(1) or by_verb(self, *given))
    with Inspection(folder) as seen:
        what_if(StoreSource(seen, seen.model("m")), MODELS[name][1][:1], own_too=False)
    assert 0 < len(calls) <= 60  # the guard's first, and what it bounds


@pytest.mark.parametrize(("action", "greedy", "p"), [(1, 0, 0.85), (0, 0, 0.85), (1, 0, 0.05), (2, 2, None)])
def test_chances_are_probabilities_also_of_an_optimist(action: int, greedy: int, p: float | None) -> None:
    spread = evaluator.spread(action, greedy, p, 4)
    assert spread.min() >= 0.0
    assert spread.sum() == pytest.approx(1.0)
    assert spread[action] == pytest.approx(1.0 if p is None else p)


def recovered(folder: Path, name: str) -> list[bytes]:
    engine, keys = Engine(folder, snapshot_every=1 << 62), ["a", "b"] if "keyed" in MODELS[name][0] else [None]
    try:
        return [engine.learners.get(engine.model("m"), key).learner.to_bytes() for key in keys]
    finally:
        engine.store.close()


@pytest.mark.parametrize("name", MODELS)
def test_recovery_together_is_recovery_one_by_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = logged(tmp_path / "data", name)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(replay, "FEWEST", 1 << 62)
        naive = recovered(folder, name)
    for together in (5, 256):
        monkeypatch.setattr(replay, "TOGETHER", together)
        assert recovered(folder, name) == naive
    assert {RewardLearner.learn_many, LabelLearner.learn_many} == {BatchLearner.learn_many}
