"""Fresh starts of learners, read from the log: in stories, health and the curve; undone with their causes."""

from __future__ import annotations

from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.learners.choose.choice_bank import ChoiceBank
from smidgen.learners.label.label_bank import LabelBank
from smidgen.learners.pipeline import restarts_of, unwrap
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.restarts import read_restarts
from smidgen.service.monitoring import checks_learning
from smidgen.service.monitoring.health import diagnose
from smidgen.service.schemas import Finding

GATE = {"loop": "label", "labels": ["x", "y"], "learner": "LabelBank", "params": {"dim": 2}}
#: Rounds for which it is right; then it is wrong, and starts again some 30 rounds later.
RIGHT, WRONG = 220, 60


class World:
    """Label models that are right, then wrong."""

    def __init__(self, body: dict[str, Any], keys: int = 0, in_memory: int = 1000) -> None:
        self.shelf, self.clock, self.in_memory = CommittedTables(), Clock(), in_memory
        self.keys, self.ids = keys, dict[str | None, list[str]]()
        self.engine = self.opened()
        self.engine.create("gate", model(body))

    def opened(self) -> Engine:
        """Another engine on the same log, with nothing in memory."""
        return Engine(MemoryStore(self.shelf), clock=self.clock, keyed_in_memory=self.in_memory)

    def play(self, right: int, wrong: int, key: str | None = None) -> World:
        """Decisions with feedback."""
        for t in range(right + wrong):
            self.clock.now += 1.0
            body = {"features": [1.0, float(t % 3)]} | ({} if key is None else {"key": key})
            made = self.engine.decide("gate", request(body))
            self.engine.feedback(made["decision"], feedback_body(correct=t < right))
            self.ids.setdefault(key, []).append(made["decision"])
        return self

    def starts(self, engine: Engine, place: int, key: str | None = None) -> list[int]:
        """The versions in the story of a decision."""
        return [each.version for each in engine.story(self.ids[key][place]).restarts or ()]

    def finding(self, engine: Engine) -> Finding | None:
        """The finding of health."""
        reading = engine.store.reader()
        report = diagnose(reading, engine.model("gate"), self.clock.now, engine.learners.peek)
        reading.close()
        return next((each for each in report.findings if each.code == "restarted"), None)


def test_the_story_says_when_the_learner_started_again_on_every_worker() -> None:
    world = World(GATE).play(RIGHT, WRONG)
    (start,) = restarts_of(world.engine.learners.get(world.engine.models["gate"], None).learner)
    assert RIGHT < start.decision < RIGHT + WRONG
    assert start.reason == "rewards changed"
    for engine in (world.engine, world.opened()):
        assert world.starts(engine, 0) == [start.decision]  # each feedback makes one version
        assert world.starts(engine, start.decision - 1) == [start.decision]
        assert world.starts(engine, start.decision) == []
        found = world.finding(engine)
        assert found is not None
        assert found.figures == {
            "version": start.decision,
            "ago": RIGHT + WRONG - start.decision,
            "restarts": 1,
            "key": None,
        }
        assert "rewards changed" in found.message
    story = world.engine.story(world.ids[None][0])
    assert story.restarts is not None
    assert story.restarts[0].reason == "rewards changed"
    assert story.restarts[0].at > story.made_at
    world.engine.close()  # writes a state: it need not be learnt again
    assert world.starts(world.opened(), 0) == [start.decision]


def test_a_rollback_and_a_retraction_take_a_fresh_start_back() -> None:
    world = World(GATE).play(RIGHT, WRONG)
    (version,) = world.starts(world.engine, 0)
    world.engine.retract(world.ids[None][version - 1])
    later = world.starts(world.engine, 0)  # the answers after it lead to one, at another version
    assert len(later) == 1
    assert later[0] > version
    world.engine.roll_back("gate", RIGHT)
    assert world.starts(world.engine, 0) == []
    assert world.finding(world.engine) is None


def test_the_learners_of_keys_are_found_also_where_they_left_memory() -> None:
    world = World({**GATE, "keyed": True}, in_memory=1).play(5, 0, "ann").play(RIGHT, WRONG, "bob")
    (version,) = world.starts(world.engine, 0, "bob")
    assert world.starts(world.engine, 0, "ann") == []
    world.play(3, 0, "ann")
    assert world.engine.learners.peek(world.engine.models["gate"], "bob") is None
    for engine in (world.engine, world.opened()):
        assert world.starts(engine, 0, "bob") == [version]
        found = world.finding(engine)
        assert found is not None
        assert (found.figures["version"], found.figures["key"]) == (version, "bob")


def test_a_fresh_start_is_reported_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(GATE).play(RIGHT, 0)
    assert world.finding(world.engine) is None
    world.play(0, WRONG)
    assert world.finding(world.engine) is not None
    monkeypatch.setattr(checks_learning, "RESTARTED_HELD", 10)
    assert world.finding(world.engine) is None


def test_learners_without_change_detection_have_none() -> None:
    world = World({**GATE, "learner": "HingeConfidit"}).play(RIGHT, WRONG)
    assert world.starts(world.engine, 0) == []
    assert world.finding(world.engine) is None


def test_fresh_starts_of_an_imported_learner_are_those_of_another_log() -> None:
    world = World(GATE).play(RIGHT, WRONG)
    reading, served = world.engine.store.reader(), world.engine.models["gate"]
    learner = world.engine.learners.get(served, None).learner
    bank = unwrap(learner)
    assert isinstance(bank, (ChoiceBank, LabelBank))
    bank._book._restarts.insert(0, (1, 10**6))
    assert [each.version for each in read_restarts(reading, served, None, learner) or ()] == world.starts(
        world.opened(), 0
    )


def test_over_http_and_in_the_figures_of_the_page(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/gate", GATE)
    first = None
    for t in range(RIGHT + WRONG):
        clock.now += 1.0
        made = call.post("/v1/models/gate/decisions", {"features": [1.0, float(t % 3)]}).json()["decision"]
        call.post(f"/v1/decisions/{made}/feedback", {"correct": t < RIGHT})
        first = first or made
    (start,) = call.get(f"/v1/decisions/{first}").json()["restarts"]
    assert start["reason"] == "rewards changed"
    assert call.get("/ui/models/gate/curve.json").json()["restarts"] == [start]
    lines = [line["text"] for line in call.get(f"/ui/decisions/{first}/story.json").json()["lines"]]
    assert f"The learner started again after version {start['version']}: rewards changed." in lines
    codes = [each["code"] for each in call.get("/v1/models/gate/health").json()["findings"]]
    assert "restarted" in codes
