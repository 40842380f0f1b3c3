"""Retention: a log that begins with a base leads to the very bits that the whole log led to."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.bodies import MODELS, Clock, decision_body, feedback_body, model, reaction, request
from service.engine.test_forgetting import found_in
from service.engine.test_live_settings import amend
from service.engine.test_rollback import NAMES, World, still, weights_of
from service.live import Live
from service.memory import CommittedTables, MemoryStore
from smidgen.cli import app
from smidgen.client import AsyncClient, Client
from smidgen.errors import SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.engine.retention import checkpoint_states, plan_checkpoint
from smidgen.service.engine.stories import story_of
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import StorageFailed
from smidgen.service.http import retention
from smidgen.service.monitoring.breakdown import by_candidate
from smidgen.service.monitoring.stories import recent, story_sentences
from smidgen.service.schemas import CopyBody


def settled(engine: Engine, name: str) -> dict[str | None, bytes]:
    """The weights, folded again from what the store has."""
    engine.learners.clear()
    return weights_of(engine, name)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_learnt_stays_bit_for_bit(name: str) -> None:
    world = World(name, 11, CommittedTables())
    engine = world.engine
    world.live(60)
    for round in range(3):
        version = engine.models[name].version
        before, decisions = weights_of(engine, name), engine.models[name].decisions
        done = engine.retain(name, 60.0)
        assert done.folded > 0
        assert (done.model_version, engine.models[name].version) == (version, version)
        assert weights_of(engine, name) == before
        assert settled(engine, name) == before
        again = Engine(MemoryStore(world.shelf), clock=world.clock)
        assert weights_of(again, name) == before
        assert engine.models[name].decisions == decisions, "how many there were is still known"
        first = engine.store.events(engine.models[name].shard)[0]
        assert first.seq == done.base + 1, "numbers go on after the base"
        world.open = [reply for reply in world.open if engine.store.decision(reply["decision"]) is not None]
        world.live(30)  # open decisions are answered, and new ones made
        assert settled(engine, name) == weights_of(Engine(MemoryStore(world.shelf), clock=world.clock), name)
        if round == 1:
            engine.maintain(every=1)
    assert len(world.states) == engine.models[name].version + 1, "every version was noted on the way"


@pytest.mark.parametrize("name", NAMES)
def test_versions_above_the_base_can_be_gone_back_to(name: str) -> None:
    world = World(name, 12, CommittedTables())
    world.live(80)
    engine = world.engine
    done = engine.retain(name, 150.0)
    assert 0 < done.base_version < engine.models[name].version
    world.live(10)
    rng = random.Random(3)
    for _ in range(3):
        version = rng.randrange(done.base_version, engine.models[name].version + 1)
        engine.roll_back(name, version)
        world.states.append(world.states[version])
        assert weights_of(engine, name) == world.states[version]
        world.live(5)
    with pytest.raises(SmidgenError) as caught:
        engine.roll_back(name, done.base_version - 1)
    assert (caught.value.status, type(caught.value).__name__) == (409, "Retained")
    # a rollback that reached under a later base cannot be undone itself
    version = done.base_version
    engine.roll_back(name, version)
    made = engine.models[name].version
    world.states.append(world.states[version])
    world.live(4)
    world.clock.now += 1
    before = weights_of(engine, name)
    later = engine.retain(name, world.clock.now - _time_of(engine, name, made - 1))
    if later.base_version < made - 1:
        return
    assert settled(engine, name) == before
    assert engine.describe(name).base is not None
    base = engine.describe(name).base
    assert base is not None
    assert base.oldest_version >= made
    with pytest.raises(SmidgenError) as caught:
        engine.roll_back(name, made - 1)
    assert caught.value.status == 409
    engine.roll_back(name, made)
    assert weights_of(engine, name) == world.states[made]


def _time_of(engine: Engine, name: str, version: int) -> float:
    """A moment just after the event that made a version."""
    shard = engine.models[name].shard
    return next(event.at for event, _ in engine.store.changes(shard) if event.made == version) + 1e-6


def test_what_is_under_the_base() -> None:
    clock = Clock()
    engine = Engine(MemoryStore(CommittedTables()), clock=clock)
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"], "window_s": 100}))
    made = [engine.decide("mail", request({"id": f"r{i}", "features": {"x": i}}))["decision"] for i in range(4)]
    engine.feedback(made[0], feedback_body(correct=True))
    clock.now += 50
    late = [engine.decide("mail", request({"features": {"x": i}}))["decision"] for i in range(2)]
    clock.now += 60  # the window of the first ones is over
    engine.feedback(late[0], feedback_body(correct=True))
    done = engine.retain("mail", 10.0)
    assert (done.base, done.kept) == (8, 2), "open ones, and those that later events are about, are kept"
    assert engine.story(late[1]).why_not == "no feedback has come yet"
    assert engine.feedback(late[1], feedback_body(correct=False)).status == "learnt"
    assert engine.feedback(late[0], feedback_body(correct=True)).status == "duplicate"
    assert engine.retract(late[0]).model_version == 4
    for call in (engine.story, engine.mark_shown, lambda id: engine.feedback(id, feedback_body(correct=True))):
        with pytest.raises(SmidgenError, match="retention") as caught:
            call(made[0])
        assert (caught.value.status, type(caught.value).__name__) == (404, "Erased")
    with pytest.raises(SmidgenError, match="retention") as caught:
        engine.retract(made[0])
    assert (caught.value.status, type(caught.value).__name__) == (409, "Retained")
    with pytest.raises(SmidgenError) as caught:
        engine.story(made[0], allowed="other")
    assert type(caught.value).__name__ == "UnknownDecision", "a foreign decision looks unknown"
    again = engine.decide("mail", request({"id": "r0", "features": {"x": 0}}))
    assert again["decision"] not in made, "an id of the app's own is known as long as its event"
    assert engine.retain("mail", 10.0).folded == 0, "nothing more is old enough"


def test_what_silence_is_worth_is_learnt_after_a_base() -> None:
    clock = Clock()
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf), clock=clock)
    engine.create("ads", model({"loop": "choose", "default_reward": 0.0, "window_s": 50}))
    for _ in range(3):
        engine.decide("ads", request({"candidates": [{"id": "a"}, {"id": "b"}]}))
    clock.now += 20
    assert engine.retain("ads", 10.0).kept == 3
    clock.now += 100
    assert engine.retain("ads", 10.0).kept == 3, "their silence is still to be learnt"
    assert engine.sweep_all() == 3
    assert engine.models["ads"].version == 3
    before = weights_of(engine, "ads")
    clock.now += 100
    assert engine.retain("ads", 10.0).kept == 0
    assert settled(engine, "ads") == before


@pytest.mark.parametrize("slots", [None, [{"id": "hero"}, {"id": "side"}]])
def test_late_feedback_keeps_a_decision_whose_expiry_is_erased(slots: list[dict[str, str]] | None) -> None:
    clock = Clock()
    engine = Engine(MemoryStore(CommittedTables()), clock=clock)
    engine.create("ads", model({"loop": "choose", "default_reward": 0.25, "window_s": 50}))
    asked = {"candidates": [{"id": "a"}, {"id": "b"}], **({} if slots is None else {"slots": slots})}
    id = engine.decide("ads", request(asked))["decision"]
    clock.now += 100
    assert engine.sweep_all() == 1
    clock.now += 100
    assert engine.feedback(id, feedback_body(reward=1.0)).status == "late"
    assert engine.retain("ads", 50.0).kept == 1
    story = story_of(engine.events, engine.shards, id, None, clock.now)
    assert (story.feedback, story.feedback_at, story.learnt_version, story.why_not) == (None, None, 1, None)
    listed, _ = recent(engine.events, engine.models["ads"], clock.now)
    assert [(each["decision"], each["feedback"], each["measure"]) for each in listed] == [(id, None, 0.25)]
    lines = story_sentences(engine.events, engine.shards, id, None, clock.now)
    assert "Retention has erased the event of its feedback." in [line["text"] for line in lines]
    table = by_candidate(engine.store, engine.models["ads"], clock.now).candidates
    assert {each.reward.value for each in table if each.shown} == {0.25}


def test_a_key_begins_as_amended_after_a_base() -> None:
    clock, shelf = Clock(), CommittedTables()
    engine = Engine(MemoryStore(shelf), clock=clock)
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"], "keyed": True}))
    engine.decide("mail", request({"key": "ann", "features": {"x": 1}}))
    amend(engine, "mail", add_labels=["c"])
    clock.now += 100_000
    engine.retain("mail", 10.0)
    engine.retain("mail", 10.0)
    for key in ("ann", "bob"):
        made = engine.decide("mail", request({"key": key, "features": {"x": 1}}))
        assert engine.feedback(made["decision"], feedback_body(label="c")).status == "learnt"
    again = Engine(MemoryStore(shelf), clock=clock)
    served = again.models["mail"]
    for key in ("ann", "bob"):
        ours, theirs = (each.learners.get(each.models["mail"], key).learner for each in (engine, again))
        assert still(ours) == still(theirs)
    assert again.describe("mail").keys == 2
    assert again.decide("mail", request({"key": "ann", "features": {"x": 1}}))["decision"]
    assert again.store.last_number(served.shard, "ann") == 3, "numbers are not given twice"
    with pytest.raises(SmidgenError) as caught:
        again.forget("mail", "ann")
    assert (caught.value.status, type(caught.value).__name__) == (409, "Retained")
    assert again.forget("mail", "bob").forgotten == 2


#: Keys that share nothing: no records, so no table of names.
ALONE = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}, "keyed": True}


def rows(key: str) -> dict[str, Any]:
    return {"key": key, "candidates": [{"id": f"{key}1", "features": [1, 0]}, {"id": "2", "features": [0, 1]}]}


def test_a_copy_with_a_base_holds_a_forgetting_up() -> None:
    clock = Clock()
    engine = Engine(MemoryStore(CommittedTables()), clock=clock)
    engine.create("news", model(ALONE))
    engine.decide("news", request(rows("ann")))
    engine.copy("news", CopyBody(to="twin"))
    clock.now += 100_000
    engine.retain("twin", 10.0)
    with pytest.raises(SmidgenError, match="twin") as caught:
        engine.forget("news", "ann")
    assert caught.value.status == 409
    assert engine.forget("twin", "ann", drop_base=True).forgotten == 0
    assert engine.forget("news", "ann").copies == {}


@pytest.mark.parametrize("learner", [{}, {"learner": "LinUCB"}], ids=str)
def test_a_base_of_before_a_promotion_holds_what_keys_shared_then(learner: dict[str, Any]) -> None:
    clock, shelf = Clock(), CommittedTables()
    engine = Engine(MemoryStore(shelf), clock=clock)
    engine.create("people", model({"loop": "choose", "keyed": True}))
    for key in "abc":
        asked = {"key": key, "context": {"device": f"of {key}"}, "candidates": [{"id": "x"}, {"id": "y"}]}
        engine.feedback(engine.decide("people", request(asked))["decision"], feedback_body(reward=1.0))
    people = engine.models["people"]
    before, version = engine.learners.shared_state(people), people.version
    assert before is not None
    engine.create("rival", model({"loop": "choose", "challenger_of": {"model": "people", "share": 0.5}, **learner}))
    clock.now += 1000.0
    engine.promote("rival")
    assert engine.retain("people", 500.0).base == 7  # three decisions, three answers, and what the model is
    engine.roll_back("people", version)
    for each in (engine, Engine(MemoryStore(shelf), clock=clock)):
        group = each.learners.shared_state(each.models["people"])
        assert group is not None
        assert group.to_bytes() == before.to_bytes()


def test_what_keys_share_cannot_be_taken_out_of_a_base() -> None:
    clock = Clock()
    engine = Engine(MemoryStore(CommittedTables()), clock=clock)
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"], "keyed": True}))
    engine.decide("mail", request({"key": "ann", "features": {"x": 1}}))
    clock.now += 100_000
    engine.retain("mail", 10.0)
    with pytest.raises(SmidgenError, match="keys share") as caught:
        engine.forget("mail", "ann", drop_base=True)
    assert caught.value.status == 409


def played(folder: Path, clock: Clock, names: tuple[str, ...] = ("rank", "keyed", "label")) -> Engine:
    engine = Engine(folder, clock=clock, synchronous="OFF", keyed_in_memory=2)
    for name in names:
        engine.create(name, model({**MODELS[name], "window_s": 300}))
    live(engine, clock, names, 100, seed=5)
    return engine


def live(engine: Engine, clock: Clock, names: tuple[str, ...], rounds: int, seed: int) -> None:
    rng, waiting = random.Random(seed), list[tuple[str, dict[str, Any]]]()
    for _ in range(rounds):
        clock.now += 10 * rng.random()
        name = rng.choice(names)
        waiting.append((name, engine.decide(name, request(decision_body(name, rng)))))
        if rng.random() < 0.8:
            name, reply = waiting.pop(rng.randrange(len(waiting)))
            given = reaction(name, reply, rng)
            if given is not None:
                engine.feedback(reply["decision"], feedback_body(**given))
        engine.maintain(every=13)


def test_the_folder_is_sound_and_the_file_holds_nothing_old(tmp_path: Path) -> None:
    clock = Clock()
    engine = played(tmp_path / "data", clock)
    engine.create("secret", model({"loop": "label", "labels": ["a", "b"]}))
    engine.decide("secret", request({"id": "anna.k@nowhere.test", "features": {"x": 1}}))
    clock.now += 90_000
    live(engine, clock, ("rank", "keyed", "label"), 20, seed=6)
    names = ["rank", "keyed", "label", "secret"]
    before = {name: weights_of(engine, name) for name in names}
    assert found_in(tmp_path / "data")
    for name in names:
        assert engine.retain(name, 200.0).folded
    engine.maintain()
    assert not engine.vacuum_pending
    assert found_in(tmp_path / "data") == []
    assert fsck(tmp_path / "data", deep=True).findings == []
    live(engine, clock, ("rank", "keyed", "label"), 40, seed=7)
    for name in names:
        engine.retain(name, 30.0)
    after = {name: weights_of(engine, name) for name in names}
    assert after != before
    engine.close()
    report = fsck(tmp_path / "data", deep=True)
    assert (report.findings, report.deep) == ([], True)
    with Inspection(tmp_path / "data") as seen:
        for name in names:
            found = audit_model(seen, seen.model(name))
            assert found.problems == []
            lines = list(seen.log.all_lines(seen.model(name)))
            first = msgspec.json.decode(lines[0])
            assert first["type"] == "base"
            file = tmp_path / f"{name}.ndjson"
            file.write_bytes(b"\n".join(lines) + b"\n")
            assert audit_file(NdjsonSource(file)).problems == []
            rebuilt = rebuild(NdjsonSource(file))
            assert {key: still(rebuilt.learner(key)) for key in after[name]} == after[name]
    again = Engine(tmp_path / "data", clock=clock, synchronous="OFF")
    assert {name: weights_of(again, name) for name in names} == after
    again.close()
    brought = from_log((tmp_path / "rank.ndjson").read_bytes())
    other = Engine(tmp_path / "other", synchronous="OFF")
    other.import_model("rank", brought, "a log")
    assert weights_of(other, "rank") == after["rank"]
    other.close()


DAMAGE = {
    "the base state is damaged": "UPDATE base_states SET state = zeroblob(length(state)) WHERE shard = 1",
    "not the one that the log tells of": "UPDATE bases SET decisions = decisions + 1 WHERE shard = 1",
    "which the base keeps, is damaged": "UPDATE events SET body = x'00' WHERE shard = 1 AND seq IN (SELECT seq FROM"
    " carried WHERE shard = 1)",
}


@pytest.mark.parametrize("found", DAMAGE)
def test_damage_is_found(found: str, tmp_path: Path) -> None:
    clock = Clock()
    engine = played(tmp_path, clock, ("rank",))
    assert engine.retain("rank", 100.0).kept
    engine.close()
    assert fsck(tmp_path).findings == []
    database = sqlite3.connect(tmp_path / "smidgen.db")
    database.execute(DAMAGE[found])
    database.commit()
    database.close()
    assert any(found in finding.problem for finding in fsck(tmp_path).findings)
    if found == "the base state is damaged":
        for snapshot in (tmp_path / "snapshots").rglob("*.smidgen"):
            snapshot.unlink()
        again = Engine(tmp_path, clock=clock)
        with pytest.raises(SmidgenError, match="damaged"):  # data: never skipped, never made up
            weights_of(again, "rank")
        again.store.close()


def test_the_past_must_not_change_meanwhile() -> None:
    world = World("label", 2, CommittedTables())
    world.live(40)
    engine, served = world.engine, world.engine.models["label"]
    plan = plan_checkpoint(engine.store, served, world.clock.now, world.clock.now)
    assert plan is not None
    found = list(checkpoint_states(engine.store, served, plan, Progress("retain")))
    engine.stage(served, plan, found, first=True)
    engine.retract(world.learnt[-1])
    with pytest.raises(SmidgenError) as caught:
        engine.apply_checkpoint(served, plan)
    assert caught.value.status == 503
    assert engine.store.checkpoint(served.shard) is None
    before = weights_of(engine, "label")
    assert engine.retain("label", 0.0).folded
    assert settled(engine, "label") == before


def test_what_comes_meanwhile_is_kept() -> None:
    clock, shelf = Clock(), CommittedTables()
    engine = Engine(MemoryStore(shelf), clock=clock)
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"], "window_s": 10}))
    made = [engine.decide("mail", request({"features": {"x": i}}))["decision"] for i in range(3)]
    clock.now += 20
    served = engine.models["mail"]
    plan = plan_checkpoint(engine.store, served, clock.now, clock.now)
    assert plan is not None
    assert plan.carried == ()
    assert engine.feedback(made[1], feedback_body(correct=True)).status == "late"  # between plan and base
    engine.stage(served, plan, list(checkpoint_states(engine.store, served, plan, Progress("retain"))), first=True)
    assert engine.apply_checkpoint(served, plan).kept == 1
    assert engine.purge_pending
    assert engine.story(made[1]).feedback == {"correct": True}
    with pytest.raises(SmidgenError, match="retention"):
        engine.story(made[0])
    while engine.purge_pending:
        engine.maintain()
    assert engine.story(made[1]).feedback == {"correct": True}


def test_over_http(tmp_path: Path) -> None:
    clock = Clock()
    with Caller(tmp_path, clock=clock) as ask:
        ask.put("/v1/models/mail", {"loop": "label", "labels": ["a", "b"], "window_s": 60, "retention_s": 86_400})
        made = [ask.post("/v1/models/mail/decisions", {"features": {"x": i}}).json() for i in range(5)]
        for each in made[:3]:
            ask.post(f"/v1/decisions/{each['decision']}/feedback", {"correct": True})
        weights = ask.get("/v1/models/mail/weights").json()
        shown = ask.get("/v1/models/mail").json()
        assert (shown["retention_s"], shown["base"], shown["undoing"]) == (86_400.0, None, None)
        clock.now += 1000
        done = ask.post("/v1/models/mail:retain", {"older_than_s": 100})
        assert done.status_code == 200
        assert done.json() == {"base": 9, "base_version": 3, "folded": 9, "kept": 0, "model_version": 3}
        assert ask.get("/v1/models/mail/weights").json() == weights
        base = ask.get("/v1/models/mail").json()["base"]
        assert (base["seq"], base["version"], base["oldest_version"]) == (9, 3, 3)
        lines = [msgspec.json.decode(line) for line in ask.get("/v1/models/mail/log").content.splitlines()]
        assert [(line["seq"], line["type"]) for line in lines] == [(9, "base"), (9, "base_state"), (10, "retained")]
        after = ask.get("/v1/models/mail/log?after=9").content.splitlines()
        assert [msgspec.json.decode(line)["type"] for line in after] == ["retained"]
        gone = ask.get(f"/v1/decisions/{made[0]['decision']}")
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "erased")
        undo = ask("POST", f"/v1/decisions/{made[0]['decision']}:retract")
        assert (undo.status_code, undo.json()["error"]["code"]) == (409, "retained")
        back = ask.post("/v1/models/mail:rollback", {"version": 2})
        assert (back.status_code, back.json()["error"]["code"]) == (409, "retained")
        assert ask.post("/v1/models/mail:rollback", {"version": 3}).json() == {"model_version": 4}
        assert ask("PATCH", "/v1/models/mail", json={"retention_s": None}).json()["retention_s"] is None
        assert ask.post("/v1/models/mail:retain", {"older_than_s": -1}).status_code == 422
        assert ask.post("/v1/models/mail:retain", {"older_than_s": 1e6}).json()["folded"] == 0
        again = ask.put(
            "/v1/models/mail", {"loop": "label", "labels": ["a", "b"], "window_s": 60, "retention_s": 86_400}
        )
        assert again.status_code == 200


def test_old_events_go_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "WATCH_S", 0.01)
    monkeypatch.setattr(retention, "SELDOM_S", 0.02)
    clock = Clock()
    with Caller(tmp_path, clock=clock, retention_s=86_400.0) as ask:
        for name, more in (("mine", {"retention_s": 100}), ("usual", {}), ("long", {"retention_s": 1e9})):
            ask.put(f"/v1/models/{name}", {"loop": "label", "labels": ["a", "b"], "window_s": 10, **more})
            ask.post(f"/v1/models/{name}/decisions", {"features": {"x": 1}})
        steps: list[tuple[float, dict[str, int | None]]] = [
            (1000.0, {"mine": 2, "usual": None, "long": None}),
            (90_000.0, {"mine": 2, "usual": 2, "long": None}),
        ]
        for later, expected in steps:
            clock.now += later
            for _ in range(300):
                told_ = {name: ask.get(f"/v1/models/{name}").json()["base"] for name in expected}
                seqs = {name: base and base["seq"] for name, base in told_.items()}
                if seqs == expected:
                    break
                time.sleep(0.02)
            assert seqs == expected


def test_commands(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path)]
    engine = Engine(tmp_path)
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"], "window_s": 1e-3}))
    engine.create("open", model({"loop": "label", "labels": ["a", "b"]}))
    made = [engine.decide("open", request({"features": {"x": i}}))["decision"] for i in range(3)]
    for id in made[:2]:
        engine.feedback(id, feedback_body(correct=True))
    engine.decide("mail", request({"features": {"x": 1}}))
    engine.close()
    run = CliRunner()

    def said(*words: str, status: int = 0) -> str:
        done = run.invoke(app, [*words, *data])
        assert done.exit_code == status, done.output
        return done.output

    assert said("rollback", "open", "1") == "Rolled open back to version 1, as version 3.\n"
    assert said("retract", made[0]).endswith(", as version 4.\n")
    assert said("retain", "open", "--older-than", "30d").startswith("Erased 0 events of open")
    assert said("retain", "mail", "--older-than", "0s").startswith(
        "Erased 2 events of mail; its log starts after event 2."
    )
    assert "Kept " in said("retain", "open", "--older-than", "0s")
    said("retain", "mail", "--older-than", "soon", status=2)
    assert run.invoke(app, ["rollback", "open", "1", *data]).exit_code != 0


def test_a_running_service_does_it(tmp_path: Path) -> None:
    with Live(tmp_path) as live, Client(live.url) as client:
        client.create("mail", loop="label", labels=["a", "b"], window_s=1e-3)
        client.create("songs", loop="choose", keyed=True)
        client.model("mail").decide({"x": 1})
        client.model("songs").decide({"a": {}, "b": {}}, key="ann")
        client.copy("songs", "twin")
        time.sleep(0.01)
        done = client.retain("mail", 0)
        assert (done["folded"], done["kept"]) == (2, 0)
        assert client.describe("mail")["base"]["seq"] == 2
        assert [event["type"] for event in client.log("mail")] == ["base", "base_state", "retained"]
        assert client.forget_everywhere("songs", "ann") == {"songs": 1, "twin": 1}
        client.archive("mail")
        assert client.revive("mail")["archived_at"] is None
        client.archive("mail")
        assert client.rename("mail", "old")["name"] == "old"
        run = CliRunner()
        url = ["--url", live.url]
        assert run.invoke(app, ["rollback", "old", "0", *url]).output == "Rolled old back to version 0, as version 1.\n"
        assert "0 events of old" not in run.invoke(app, ["retain", "old", "--older-than", "0s", *url]).output
        assert run.invoke(app, ["models", "revive", "old", *url]).output == "Restored model old: it decides again.\n"


def test_the_async_client(tmp_path: Path) -> None:
    async def calls(url: str) -> None:
        async with AsyncClient(url) as client:
            await client.create("mail", loop="label", labels=["a", "b"])
            assert (await client.retain("mail", 0))["folded"] == 1
            await client.archive("mail")
            assert (await client.revive("mail"))["archived_at"] is None
            await client.archive("mail")
            assert (await client.rename("mail", "old"))["name"] == "old"
            await client.create("songs", loop="choose", keyed=True)
            await client.model("songs").decide({"a": {}, "b": {}}, key="ann")
            assert await client.forget("songs", "ann") == 1

    with Live(tmp_path) as live:
        asyncio.run(calls(live.url))


def test_a_base_keeps_nothing_of_a_key_that_is_dropped(tmp_path: Path) -> None:
    clock = Clock()
    secret = "anna.k@nowhere.test"
    engine = Engine(tmp_path, clock=clock, synchronous="OFF")
    engine.create("news", model({**ALONE, "window_s": 500}))
    for key in (secret, "bob") * 3:
        made = engine.decide("news", request(rows(key)))
        engine.feedback(made["decision"], feedback_body(better=["2"]))
        engine.decide("news", request(rows(key)))  # open
        clock.now += 1
    engine.retain("news", 1.5)
    engine.feedback(made["decision"], feedback_body(better=["2"]))
    before = engine.learners.get(engine.models["news"], "bob").learner.to_bytes()
    with pytest.raises(SmidgenError) as caught:
        engine.forget("news", secret)
    assert caught.value.status == 409
    engine.forget("news", secret, drop_base=True)
    while engine.purge_pending:
        engine.maintain()
    engine.maintain()
    assert found_in(tmp_path) == []
    assert engine.learners.get(engine.models["news"], "bob").learner.to_bytes() == before
    fresh = engine.models["news"].blueprint.learner(secret)
    assert engine.learners.get(engine.models["news"], secret).learner.to_bytes() == fresh.to_bytes()
    engine.close()
    assert fsck(tmp_path, deep=True).findings == []


def test_snapshots_before_the_retention_checkpoint_prove_nothing(tmp_path: Path) -> None:
    clock = Clock()
    engine = played(tmp_path, clock, ("rank",))
    engine.maintain(every=1)
    live(engine, clock, ("rank",), 20, seed=8)
    old = list((tmp_path / "snapshots").rglob("*.smidgen"))
    assert engine.retain("rank", 0.0).base > max(int(path.stem.partition("-")[0]) for path in old)
    before = weights_of(engine, "rank")
    engine.store.close()
    assert fsck(tmp_path, deep=True).findings == []
    again = Engine(tmp_path, clock=clock, synchronous="OFF")
    assert weights_of(again, "rank") == before
    again.store.close()


def test_a_base_without_its_state_is_refused(tmp_path: Path) -> None:
    clock = Clock()
    engine = played(tmp_path, clock, ("rank",))
    engine.retain("rank", 0.0)
    engine.store.close()
    with closing(sqlite3.connect(tmp_path / "smidgen.db")) as database:
        database.execute("DELETE FROM base_states")
        database.execute("UPDATE bases SET body = x'80'")
        database.commit()
    again = Engine(tmp_path, clock=clock, synchronous="OFF")
    with pytest.raises(SmidgenError, match="missing"):
        settled(again, "rank")
    again.store.close()
    assert {finding.code for finding in fsck(tmp_path).findings} == {"base"}
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("rank")).problems != []


def test_shared_memory_that_a_kill_left_in_disorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = played(tmp_path / "data", Clock(), ("rank",))
    shutil.copytree(tmp_path / "data", tmp_path / "killed")
    engine.close()

    class Disorder(Inspection):
        def __init__(self, folder: Path, *, access: str = "mode=ro", database: Path | None = None) -> None:
            if "readonly_shm" in access:
                raise StorageFailed(f"a write to the disk failed: {problem}", "try again")
            super().__init__(folder, access=access, database=database)

    monkeypatch.setattr("smidgen.service.engine.inspection.Inspection", Disorder)
    problem = "locking protocol"
    assert fsck(tmp_path / "killed").findings == []
    problem = "something else"
    assert [finding.code for finding in fsck(tmp_path / "killed").findings] == ["database"]
