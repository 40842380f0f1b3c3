"""Undo by replay: retract and rollback, over every kind of event, live, after a crash, and folded in the background."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import MODELS, Clock, decision_body, feedback_body, model, reaction, request
from service.engine.test_teach import TAUGHT, example, examples
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.rollback import refold
from smidgen.service.log import codec

REWARDS = {"loop": "choose", "default_reward": 0.0, "window_s": 50}
NAMES = [*MODELS, "rewards"]


def settings(name: str) -> dict[str, Any]:
    return REWARDS if name == "rewards" else MODELS[name]


def ask(name: str, rng: random.Random) -> dict[str, Any]:
    if name == "rewards":
        return {"candidates": [{"id": f"d{i}", "features": {"x": rng.random()}} for i in range(3)]}
    return decision_body(name, rng)


def answer(name: str, reply: dict[str, Any], rng: random.Random) -> dict[str, Any] | None:
    return {"reward": rng.random()} if name == "rewards" else reaction(name, reply, rng)


def weights_of(engine: Engine, name: str) -> dict[str | None, bytes]:
    """The learners as they are, without the numbers of their decisions, which never go back."""
    served = engine.models[name]
    keys = [f"user{i}" for i in range(4)] if served.keyed else [None]
    return {key: still(engine.learners.get(served, key).learner) for key in keys}


def still(learner: Learner) -> bytes:
    twin = Learner.from_bytes(learner.to_bytes(), "a copy")
    twin.reserve(10**6)
    return twin.to_bytes()


class World:
    """A model that lives: decisions, feedback, examples, silence, and what takes back; with all states that it had."""

    def __init__(self, name: str, seed: int, shelf: CommittedTables) -> None:
        self.name, self.rng, self.clock = name, random.Random(seed), Clock()
        self.shelf = shelf
        self.engine = Engine(MemoryStore(shelf), clock=self.clock)
        self.engine.create(name, model(settings(name)))
        self.open: list[dict[str, Any]] = []
        self.learnt: list[str] = []
        self.states = [weights_of(self.engine, name)]

    def live(self, rounds: int) -> None:
        for _ in range(rounds):
            self.step()
            self.note()
            self.engine.begin()
            self.engine.sweep(1)
            self.engine.commit()
            self.note()

    def note(self) -> None:
        if len(self.states) <= self.engine.models[self.name].version:
            self.states.append(weights_of(self.engine, self.name))

    def step(self) -> None:
        rng, engine, name = self.rng, self.engine, self.name
        self.clock.now += rng.random() * 10
        chance = rng.random()
        if chance < 0.5 or not self.open:
            self.open.append(engine.decide(name, request(ask(name, rng))))
        elif chance < 0.9:
            reply = self.open.pop(rng.randrange(len(self.open)))
            given = answer(name, reply, rng)
            if given is not None and engine.feedback(reply["decision"], feedback_body(**given)).status == "learnt":
                self.learnt.append(reply["decision"])
        elif name in TAUGHT:
            engine.teach(name, examples({"examples": [example(name, rng)]}))


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_rollback_has_the_weights_of_the_version(name: str, in_background: bool) -> None:
    world = World(name, 3, CommittedTables())
    world.live(60)
    rng, engine = random.Random(5), world.engine
    for _ in range(3):
        version = rng.randrange(len(world.states))
        ready = refold(engine.store.reader(), engine.models[name], ("rolled_back", version)) if in_background else None
        engine.maintain(every=1)  # a snapshot that will be spoilt
        before = engine.models[name].version
        assert engine.roll_back(name, version, ready).model_version == before + 1
        assert weights_of(engine, name) == world.states[version]
        world.states.append(world.states[version])
        again = Engine(MemoryStore(world.shelf), clock=world.clock)  # after a crash
        assert weights_of(again, name) == world.states[version]
        world.live(10)  # life goes on
        assert len(world.states) == engine.models[name].version + 1
    with pytest.raises(SmidgenError, match="no version"):
        engine.roll_back(name, 10**6)


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("name", ["rank", "label", "filter", "keyed", "tune", "rewards"])
def test_a_retraction_is_a_log_without_the_feedback(name: str, in_background: bool) -> None:
    world = World(name, 4, CommittedTables())
    world.live(60)
    engine = world.engine
    chosen = random.Random(1).choice(world.learnt)
    version = engine.story(chosen).learnt_version
    assert version is not None
    ready = refold(engine.store.reader(), engine.models[name], ("retracted", version)) if in_background else None
    engine.maintain(every=1)
    reported_version = engine.retract(chosen, None, ready).model_version
    assert reported_version == engine.models[name].version
    # the same life without that feedback: the log is folded by hand
    expected = {}
    for key in weights_of(engine, name):
        learner = engine.models[name].blueprint.learner(key)
        for event, made in engine.store.changes(1, 0, key):
            if event.made == version or event.type == "retracted" or made is None:
                if event.type == "taught":
                    for context, right in codec.read_learner_input(event):
                        learner.teach(context, right)
                continue
            decision = learner.from_compact(codec.read_decision(made.body, made.seq).record)
            heard = codec.read_feedback(event.body, event.seq)
            learner.learn(codec.as_learnt(decision, heard.row, event.seq), codec.read_learner_input(event))
        expected[key] = still(learner)
    assert weights_of(engine, name) == expected
    assert weights_of(Engine(MemoryStore(world.shelf), clock=world.clock), name) == expected
    story = engine.story(chosen)
    assert (story.learnt_version, story.feedback) == (None, None)
    with pytest.raises(SmidgenError) as caught:
        engine.retract(chosen)
    assert caught.value.status == 409


def test_feedback_after_a_rollback_is_known() -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("label", model(MODELS["label"]))
    made = [engine.decide("label", request({"features": [1, 0, 0]}))["decision"] for _ in range(3)]
    for id in made[:2]:
        engine.feedback(id, feedback_body(correct=True))
    assert engine.roll_back("label", 1).model_version == 3
    assert engine.feedback(made[1], feedback_body(correct=True)).status == "duplicate"
    assert engine.feedback(made[2], feedback_body(correct=True)).model_version == 4  # what was open stays open
    with pytest.raises(SmidgenError) as caught:
        engine.retract(made[1])
    assert caught.value.status == 409


def test_the_log_is_sound_afterwards(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF")
    engine.create("label", model(MODELS["label"]))
    rng = random.Random(2)
    learnt = []
    for i in range(40):
        reply = engine.decide("label", request(ask("label", rng)))
        engine.feedback(reply["decision"], feedback_body(correct=rng.random() < 0.5))
        learnt.append(reply["decision"])
        if i % 10 == 9:
            engine.retract(learnt.pop(rng.randrange(len(learnt))))
            engine.roll_back("label", engine.models["label"].version - 3)
            learnt = []
        engine.maintain(every=7)
    engine.close()
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("label")).problems == []


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask_:
        ask_.put("/v1/models/mail", {"loop": "label", "labels": ["spam", "work"]})
        made = [ask_.post("/v1/models/mail/decisions", {"features": {"from": "a"}}).json() for _ in range(3)]
        for each in made:
            ask_.post(f"/v1/decisions/{each['decision']}/feedback", {"correct": True})
        weights = ask_.get("/v1/models/mail/weights").json()["weights"]
        first = made[0]["decision"]
        assert ask_("POST", f"/v1/decisions/{first}:retract").json() == {"model_version": 4}
        assert ask_("POST", f"/v1/decisions/{first}:retract").status_code == 409
        again = ask_.post(f"/v1/decisions/{first}/feedback", {"correct": False})
        assert again.json() == {"status": "learnt", "model_version": 5}
        back = ask_.post("/v1/models/mail:rollback", {"version": 3})
        assert back.json() == {"model_version": 6}
        assert ask_.get("/v1/models/mail/weights").json()["weights"] == weights
        assert ask_.post("/v1/models/mail:rollback", {"version": 99}).status_code == 422
        assert ask_("POST", "/v1/decisions/" + "0" * 24 + ":retract").status_code == 404


def test_feedback_in_a_batch(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask_:
        ask_.put("/v1/models/mail", {"loop": "label", "labels": ["spam", "work"]})
        made = [
            ask_.post("/v1/models/mail/decisions", {"features": {"from": "a"}}).json()["decision"] for _ in range(3)
        ]
        body = {
            "feedback": [
                {"decision": made[0], "correct": True},
                {"decision": "0" * 24, "correct": True},
                {"decision": made[1], "relevant": True},
                {"decision": made[0], "correct": True},
                {"decision": made[0], "correct": False},
                {"decision": made[2], "label": "work"},
            ]
        }
        told_ = ask_.post("/v1/feedback:batch", body)
        assert told_.status_code == 200
        results = told_.json()["results"]
        assert [each.get("status", each.get("error", {}).get("code")) for each in results] == [
            "learnt", "unknown_decision", "impossible", "duplicate", "conflict", "learnt",
        ]  # fmt: skip
        assert [each.get("model_version") for each in results] == [1, None, None, 1, None, 2]
        assert ask_.post("/v1/feedback:batch", {"feedback": []}).status_code == 422
