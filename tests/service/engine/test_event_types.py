"""A law over every kind of event: it replays, it survives a rollback past it, and it can be forgotten or folded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.bodies import Clock, feedback_body, model, request
from service.engine.test_live_settings import amend
from service.engine.test_rollback import still
from service.engine.test_teach import examples
from smidgen.learners import Learner
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.engine.log_sources import TYPES, StoreSource
from smidgen.service.engine.rebuild import rebuild

#: Lines that only an exported log has.
NOT_EVENTS = {"base", "base_state"}
PEOPLE = ("ann", "bob")
#: Keys that share nothing: who began with what others had learnt is not as if they had never been.
BODY = {"loop": "choose", "default_reward": 0.0, "window_s": 50, "keyed": True, "shared_start": False}


def ask(engine: Engine, key: str, **more: Any) -> str:
    body = {"key": key, "candidates": [{"id": "a"}, {"id": "b"}], **more}
    return str(engine.decide("songs", request(body))["decision"])


def whole_life(folder: Path, clock: Clock, people: tuple[str, ...] = PEOPLE) -> Engine:
    """A model whose log has every kind of event, and nothing of those who are missing."""
    engine = Engine(folder, clock=clock, synchronous="OFF")
    engine.create("first", model(BODY))
    for key in people:
        made = engine.decide("first", request({"key": key, "candidates": [{"id": "a"}, {"id": "b"}]}))["decision"]
        engine.feedback(made, feedback_body(reward=0.7))
    lines = b"\n".join(engine.events.all_lines(engine.models["first"])) + b"\n"
    engine.import_model("songs", from_log(lines), "a log")
    engine.create("left", model(BODY))
    for key in people:
        clock.now += 1
        engine.feedback(ask(engine, key), feedback_body(reward=0.9))
        engine.mark_shown(ask(engine, key, activate=False))
        lesson = {"candidates": [{"id": "a"}, {"id": "b"}], "answer": {"choice": "b", "reward": 1.0}}
        engine.teach("songs", examples({"key": key, "examples": [lesson]}))
        clock.now += 100
        engine.sweep_all()
        wrong = ask(engine, key)
        engine.feedback(wrong, feedback_body(reward=0.1))
        engine.retract(wrong)
    ask(engine, "cy")
    engine.forget("songs", "cy")
    amend(engine, "songs", holdout={"share": 1.0, "salt": "s"})
    for key in people:
        engine.feedback(ask(engine, key), feedback_body(reward=0.2))
    amend(engine, "songs", holdout=None, rewards="sum")
    for key in people:
        made = ask(engine, key)
        engine.feedback(made, feedback_body(reward=0.9, id="a"))
        engine.retract(made)
        engine.feedback(made, feedback_body(reward=0.2, id="b", costs={"usd": 0.1}))
        engine.feedback(made, feedback_body(reward=0.3, final=True))
        engine.feedback(ask(engine, key), feedback_body(reward=0.6))
    clock.now += 100
    engine.sweep_all()
    amend(engine, "songs", rewards="first", explore=0.2)
    version = engine.models["songs"].version
    engine.feedback(ask(engine, people[-1]), feedback_body(reward=0.3))
    engine.roll_back("songs", version)
    engine.archive("songs")
    engine.rename("songs", "tunes")
    engine.revive("tunes")
    engine.archive("tunes")
    engine.rename("tunes", "songs")
    engine.revive("songs")
    engine.retain("left", 0.0)
    engine.create("champion", model(BODY))
    engine.create(
        "rival", model({"loop": "choose", "keyed": True, "challenger_of": {"model": "champion", "share": 0.5}})
    )
    engine.promote("rival")
    clock.now += 1
    return engine


def learners(engine: Engine, people: tuple[str, ...] = PEOPLE) -> dict[str, bytes]:
    return {key: still(engine.learners.get(engine.models["songs"], key).learner) for key in people}


def test_every_kind_is_there_and_replays(tmp_path: Path, clock: Clock) -> None:
    engine = whole_life(tmp_path / "data", clock)
    found = {event.type for each in engine.shards for event in engine.events.events_of(each)}
    assert found | NOT_EVENTS == set(TYPES), "a kind of event is not in the law: let it happen in whole_life"
    expected = learners(engine)
    engine.close()
    assert fsck(tmp_path / "data", deep=True).findings == []
    again = Engine(tmp_path / "data", clock=clock, synchronous="OFF")
    again.learners.clear()
    assert learners(again) == expected
    again.close()
    with Inspection(tmp_path / "data") as seen:
        rebuilt = rebuild(StoreSource(seen, seen.model("songs")))
        assert {key: still(rebuilt.learner(key)) for key in PEOPLE} == expected


def test_a_rollback_goes_past_every_kind(tmp_path: Path, clock: Clock) -> None:
    engine = whole_life(tmp_path, clock)
    version = engine.models["songs"].version
    expected = learners(engine)
    states = {}
    for back in range(version, -1, -1):  # each version, however it was made
        engine.roll_back("songs", back)
        states[back] = learners(engine)
        engine.roll_back("songs", version)  # and the way back: what took back is taken back itself
        assert learners(engine) == expected
    fresh = engine.models["songs"].blueprint.learner("ann")
    amended = Learner.from_bytes(states[0]["ann"], "at the beginning")
    assert amended.weights == pytest.approx(fresh.weights), "at version 0 nothing was learnt"
    engine.close()
    again = Engine(tmp_path, clock=clock, synchronous="OFF")
    assert learners(again) == expected
    for back in (0, version // 2):
        again.roll_back("songs", back)
        assert learners(again) == states[back]
    again.close()
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("songs")).problems == []


def test_every_kind_can_be_forgotten(tmp_path: Path, clock: Clock) -> None:
    engine, other = whole_life(tmp_path / "a", clock), whole_life(tmp_path / "b", Clock(), ("bob",))
    engine.forget("songs", "ann")
    ours, theirs = (each.learners.get(each.models["songs"], "bob").learner for each in (engine, other))
    assert still(ours) == still(theirs)
    left = [event for event in engine.events.events_of(engine.models["songs"].shard) if event.key == "ann"]
    assert left == []
    engine.maintain()
    engine.close()
    other.close()
    assert fsck(tmp_path / "a", deep=True).findings == []


def test_every_kind_can_be_folded(tmp_path: Path, clock: Clock) -> None:
    engine = whole_life(tmp_path, clock)
    clock.now += 1000
    engine.sweep_all()
    expected = learners(engine)
    clock.now += 1
    assert engine.retain("songs", 0.5).kept == 0
    engine.learners.clear()
    assert learners(engine) == expected
    made = ask(engine, "ann")
    assert engine.feedback(made, feedback_body(reward=0.5)).status == "learnt"
    engine.roll_back("songs", engine.models["songs"].version - 1)
    assert learners(engine) == expected
    engine.close()
    assert fsck(tmp_path, deep=True).findings == []
