"""Shared state of a shard's keys is a fold of the log: restarts, undo, deletion and copies give the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.bodies import Clock, feedback_body, model, request
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.engine.log_sources import NdjsonSource, StoreSource
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.loops.registry import loops
from smidgen.service.monitoring.weights import by_name
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import AmendBody, CopyBody, ExamplesBody

SECRET = "anna.k@nowhere.test"
MODELS: dict[str, dict[str, Any]] = {
    "songs": {"loop": "choose", "keyed": True, "default_reward": 0.0, "window_s": 30},  # pooled, one table of names
    "mail": {"loop": "label", "labels": ["spam", "work"], "keyed": True, "features": {"auto": {"text": ["title"]}}},
    "news": {"loop": "rank", "feedback": "better", "keyed": True, "features": {"auto": {"dim": 1200}}},  # the mean
    "plain": {"loop": "choose", "feedback": "better", "keyed": True, "features": ["x", "y"]},  # names of its own
    "duel": {
        "loop": "rank",
        "learner": "PreferencePerceptron",
        "keyed": True,
        "shared_start": True,
        "params": {"dim": 2},
    },
    "filter": {"loop": "filter", "keyed": True},  # names, and no start
}


def lessons(body: dict[str, Any]) -> ExamplesBody:
    return msgspec.convert(body, loops.examples)


class Life:
    """Some people use some models."""

    def __init__(self, folder: Path, seed: int = 0, *, every: int = 20_000, keyed_in_memory: int = 2) -> None:
        self.clock = Clock()
        self.folder = folder
        self._settings: dict[str, Any] = {"snapshot_every": every, "keyed_in_memory": keyed_in_memory}
        self.engine = self.open()
        for name, body in MODELS.items():
            self.engine.create(name, model(body))
        self.rng = random.Random(seed)
        self.people = [SECRET, "bob", "cy", "dee"]
        self.answered: dict[str, list[str]] = {name: [] for name in MODELS}

    def open(self) -> Engine:
        """The service, begun again."""
        return Engine(self.folder, clock=self.clock, synchronous="OFF", **self._settings)

    def crash(self) -> None:
        """The service ends without storing anything."""
        self.engine.store.close()
        self.engine = self.open()

    def asked(self, name: str, key: str) -> dict[str, Any]:
        """A request of an app."""
        rng = self.rng
        x, y, age = rng.random(), rng.random(), rng.randint(18, 90)
        ids = [f"{name} of all", f"loved by {key}", str(rng.randint(0, 5))]
        if name in ("songs", "news"):
            features = [{"words": int(900 * v), "who": f"likes {key}"} for v in (x, y, x * y)]
            candidates = [{"id": id, "features": each} for id, each in zip(ids, features, strict=True)]
            return {"key": key, "candidates": candidates, "context": {"age": age, "os": rng.choice(["ios", "web"])}}
        if name in ("plain", "duel"):
            rows = [[x, y], [y, x], [x * y, 0.5]]
            return {"key": key, "candidates": [{"id": i, "features": r} for i, r in zip(ids, rows, strict=True)]}
        return {"key": key, "features": {"from": f"friend of {key}", "age": age, "title": rng.choice(["a b", "b c"])}}

    def play(self, rounds: int, people: list[str] | None = None) -> None:
        """Rounds, some of them answered, some silent."""
        for _ in range(rounds):
            name, key = self.rng.choice(list(MODELS)), self.rng.choice(people or self.people)
            reply = self.engine.decide(name, request(self.asked(name, key)))
            self.clock.now += 1.0
            chance, y = self.rng.random(), self.rng.random()
            if chance > 0.8:
                self.engine.sweep_all()
                continue
            said: dict[str, Any] = {
                "songs": {"reward": y},
                "mail": {"correct": y < 0.5},
                "news": {"better": [f"loved by {key}"]},
                "plain": {"better": f"loved by {key}"},
                "duel": {"better": [f"loved by {key}"]},
                "filter": {"relevant": y < 0.5},
            }[name]
            if name != "filter" or reply["forward"]:
                self.engine.feedback(reply["decision"], feedback_body(**said))
                self.answered[name].append(reply["decision"])
            self.engine.maintain()

    def sound(self) -> None:
        """The log is whole, and leads to everything that was stored."""
        self.engine.close()
        with Inspection(self.folder) as seen:
            for name in MODELS:
                found = audit_model(seen, seen.model(name))
                assert found.problems == []
        self.engine = self.open()

    def shared(self) -> dict[str, bytes]:
        """Shared state of keys, by model."""
        groups = {name: self.engine.learners.shared_state(self.engine.model(name)) for name in MODELS}
        return {name: group.to_bytes() for name, group in groups.items() if group is not None}

    def learners(self) -> dict[tuple[str, str], bytes]:
        """All learners of keys."""
        found = {}
        for name in MODELS:
            served = self.engine.model(name)
            for (key,) in self.engine.store.query("keys", served.shard, prefix="", limit=100):
                found[name, key] = self.engine.learners.get(served, key).learner.to_bytes()
        return found

    def from_the_log(self) -> tuple[dict[str, bytes], dict[tuple[str, str], bytes]]:
        """States rebuilt from the log alone."""
        groups, learners = {}, {}
        with Inspection(self.folder) as seen:
            for name in MODELS:
                rebuilt = rebuild(StoreSource(seen, seen.model(name)))
                assert rebuilt.group is not None
                groups[name] = rebuilt.group.to_bytes()
                learners |= {
                    (name, str(key)): rebuilt.learner(key).to_bytes() for key in rebuilt.numbers | rebuilt.learners
                }
        return groups, learners

    def agrees(self) -> None:
        """States in memory, recovered states and states rebuilt from the log are the same bits."""
        live = self.shared(), self.learners()
        self.crash()
        assert (self.shared(), self.learners()) == live
        assert self.from_the_log() == live


@pytest.mark.parametrize("every", [40, 20_000])
def test_what_keys_share_survives_a_crash_and_follows_from_the_log_alone(tmp_path: Path, every: int) -> None:
    life = Life(tmp_path / "data", every=every)
    assert sorted(life.shared()) == sorted(MODELS)
    life.play(150)
    life.agrees()
    life.play(60)
    life.sound()
    life.agrees()


def test_a_key_replays_alone(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=1, keyed_in_memory=1)
    life.play(120)
    life.play(30, ["a newcomer"])
    before = life.learners()
    life.crash()
    for name in MODELS:
        served = life.engine.model(name)
        alone = life.engine.learners.get(served, "a newcomer").learner.to_bytes()
        assert alone == before[name, "a newcomer"]


@pytest.mark.parametrize("seed", [2, 3])
def test_undoing_is_a_fold_without_what_was_undone(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path / "data", seed=seed, every=50)
    life.play(100)
    versions = {name: life.engine.model(name).version for name in MODELS}
    life.play(40, [*life.people, "new one", "new two"])
    for name, version in versions.items():
        life.engine.roll_back(name, version)
        life.engine.retract(life.answered[name][0])
    life.agrees()
    for name in MODELS:
        life.engine.retract(life.answered[name][1])
    life.play(40)
    life.agrees()
    life.sound()


def test_after_a_rollback_a_newcomer_begins_again(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=4)
    served = life.engine.model("songs")
    for reward in (1.0, 1.0, 1.0):
        reply = life.engine.decide("songs", request({"key": "bob", "candidates": [{"id": "A"}]}))
        life.engine.feedback(reply["decision"], feedback_body(reward=reward))
    life.engine.decide("songs", request({"key": "new", "candidates": [{"id": "A"}]}))
    assert life.engine.learners.get(served, "new").learner.weights.any()
    life.engine.roll_back("songs", 0)
    assert not life.engine.learners.get(served, "new").learner.weights.any()
    life.engine.decide("songs", request({"key": "new", "candidates": [{"id": "A"}]}))
    assert not life.engine.learners.get(served, "new").learner.weights.any()
    reply = life.engine.decide("songs", request({"key": "bob", "candidates": [{"id": "A"}]}))
    life.engine.feedback(reply["decision"], feedback_body(reward=1.0))
    life.engine.decide("songs", request({"key": "another", "candidates": [{"id": "A"}]}))
    assert life.engine.learners.get(served, "another").learner.weights.any()
    live = life.learners()
    life.crash()
    assert life.learners() == live


@pytest.mark.parametrize("every", [30, 20_000])
def test_forgetting_leaves_nothing_of_the_person_in_what_keys_share(tmp_path: Path, every: int) -> None:
    life = Life(tmp_path / "data", seed=5, every=every)
    life.play(160)
    life.engine.maintain(every=1)
    for name in MODELS:
        life.engine.forget(name, SECRET)
    life.engine.maintain()
    life.agrees()
    for name in ("songs", "mail", "news", "filter"):
        group = life.engine.learners.shared_state(life.engine.model(name))
        assert group is not None
        assert group.table is not None
        assert not [known for known in group.table.names if SECRET in known]
        assert [known for known in group.table.names if "bob" in known]
        assert [known for known in group.table.names if known.startswith(("context.os=", "age"))]
    life.play(40, ["bob", "cy", "new"])
    life.agrees()
    life.sound()
    life.engine.close()
    for path in (tmp_path / "data").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_names_keep_their_columns_when_somebody_is_forgotten(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=6)
    served = life.engine.model("songs")
    for key in (SECRET, "bob", "cy"):
        for _ in range(4):
            asked = {"key": key, "candidates": [{"id": "A"}, {"id": f"of {key}"}], "context": {"os": "ios"}}
            reply = life.engine.decide("songs", request(asked))
            life.engine.feedback(reply["decision"], feedback_body(reward=float(reply["choice"] == "A")))

    def columns() -> dict[str, int]:
        table = life.engine.learners.table(served, life.engine.learners.get(served, "bob").learner)
        assert table is not None
        return {name: column for column, name in table.named_columns()}

    before = columns()
    assert [name for name in before if SECRET in name]
    life.engine.forget("songs", SECRET)
    after, weighed = columns(), [each.name for each in by_name(life.engine, served, "bob", 1000).weights]
    assert after == {name: column for name, column in before.items() if SECRET not in name}
    assert "id=A" in weighed
    assert not [name for name in weighed if name.startswith("#")], "no weight stands in a column without a name"


def test_copies_and_imports_take_what_keys_share(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=7)
    life.play(120)
    shared, learners = life.shared(), life.learners()
    for name in MODELS:
        life.engine.copy(name, CopyBody(to=f"{name}-copy"))
        lines = b"\n".join(life.engine.events.all_lines(life.engine.model(name)))
        life.engine.import_model(f"{name}-log", from_log(lines), "a log")
        for made in (f"{name}-copy", f"{name}-log"):
            served = life.engine.model(made)
            group = life.engine.learners.shared_state(served)
            assert group is not None
            assert group.to_bytes() == shared[name]
            for (of, key), content in learners.items():
                if of == name:
                    assert life.engine.learners.get(served, key).learner.to_bytes() == content
    asked = life.asked("songs", "new")
    first = life.engine.decide("songs", request(asked))
    again = life.engine.decide("songs-copy", request(asked))
    assert first["choice"] == again["choice"]
    life.crash()
    group = life.engine.learners.shared_state(life.engine.model("songs-copy"))
    assert group is not None
    assert group.to_bytes() == shared["songs"]


def test_an_exported_log_is_whole(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=8)
    life.play(100)
    for name in MODELS:
        path = tmp_path / f"{name}.ndjson"
        path.write_bytes(b"\n".join(life.engine.events.all_lines(life.engine.model(name))) + b"\n")
        assert audit_file(NdjsonSource(path)).problems == []
        rebuilt = rebuild(NdjsonSource(path))
        assert rebuilt.group is not None
        assert rebuilt.group.to_bytes() == life.shared()[name]
        found = what_if(NdjsonSource(path), [])
        assert found.decisions == life.engine.model(name).decisions


def test_settings_change_for_keys_and_for_what_they_share(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=9)
    life.play(80)
    life.engine.amend("songs", AmendBody(explore=0.3, add_text=["who"]))
    life.engine.amend("mail", AmendBody(add_labels=["play"], add_text=["from"]))
    life.play(60, [*life.people, "new"])
    life.agrees()
    life.sound()


def test_examples_are_shared_too(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=10)
    examples = [{"features": {"from": "boss", "age": age}, "answer": "work"} for age in (30, 40, 50)]
    examples += [{"features": {"from": "shop", "age": age}, "answer": "spam"} for age in (30, 40, 50)]
    life.engine.teach("mail", lessons({"key": "bob", "examples": examples, "id": "once"}))
    life.engine.teach("mail", lessons({"key": "bob", "examples": examples, "id": "once"}))
    reply = life.engine.decide("mail", request({"key": "new", "features": {"from": "boss", "age": 35}}))
    assert reply["label"] == "work"
    life.engine.teach("mail", lessons({"key": "third", "examples": examples[:2]}))
    life.agrees()
    life.sound()


def test_a_log_that_begins_with_a_base_leads_to_the_same(tmp_path: Path) -> None:
    life = Life(tmp_path / "data", seed=11)
    life.play(80)
    life.clock.now += 100.0
    life.play(30, ["bob", "new"])
    for name in MODELS:
        assert life.engine.retain(name, 60.0).folded
    life.agrees()
    life.play(40, [*life.people, "newer"])
    life.agrees()
    life.sound()


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_key_without_events_is_not_published(tmp_path: Path, at_the_end: bool) -> None:
    life = Life(tmp_path / "data", seed=12, keyed_in_memory=1)
    for _ in range(3):
        reply = life.engine.decide("songs", request({"key": "bob", "candidates": [{"id": "A"}]}))
        life.engine.feedback(reply["decision"], feedback_body(reward=1.0))
    learners, served = life.engine.learners, life.engine.model("songs")

    def heard() -> None:
        """An answer of before a promotion, say, of which nothing could be learnt."""
        learners.after_change(served, "new", learners.get(served, "new"), served.seq)

    life.engine.run(heard)
    if at_the_end:
        life.engine.close()
        life.engine = life.open()
    else:
        life.engine.decide("songs", request({"key": "bob", "candidates": [{"id": "A"}]}))
    life.engine.decide("songs", request({"key": "new", "candidates": [{"id": "A"}]}))
    assert life.engine.learners.get(life.engine.model("songs"), "new").learner.weights.any()
