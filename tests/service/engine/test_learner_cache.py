"""Contents of memory: keyed learners within a number and a size, unanswered decisions within a size."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from service.bodies import MODELS, batch, engine_with, feedback_body, model, play, request
from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.learner_cache import LearnerCache, OpenDecisions
from smidgen.service.engine.shared_state import SharedKeyState
from smidgen.service.engine.undo import UndoStack

DOCS = [{"id": name, "features": [1.0, 0.5, float(i)]} for i, name in enumerate("pqr")]


class CountingDict(OrderedDict[Any, Any]):
    """A dictionary that knows how often it was walked through."""

    walks = 0

    def __iter__(self) -> Any:
        CountingDict.walks += 1
        return super().__iter__()


def test_a_miss_does_not_walk_through_the_whole_cache(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["keyed"], keyed_in_memory=5)
    engine.learners._keyed = CountingDict()
    CountingDict.walks = 0
    engine.begin()
    for user in range(50):
        engine.learners.get(engine.models["keyed"], f"u{user}")
    engine.commit()
    assert len(engine.learners) == 5
    assert [key for _, key in OrderedDict.__iter__(engine.learners._keyed)] == [f"u{user}" for user in range(45, 50)]
    assert CountingDict.walks == 0


def test_keyed_learners_stay_within_a_size_too(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF")
    body = {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 30}, "keyed": True}
    engine.run(lambda: engine.create("m", model(body)))
    size = engine.models["m"].blueprint.size
    assert size > 8 * 30 * 30
    engine.learners = LearnerCache(engine.store, UndoStack(), 1000, memory=10 * size)
    engine.begin()
    for user in range(40):
        engine.learners.get(engine.models["m"], f"u{user}")
    assert len(engine.learners) == 10
    engine.learners.clear()
    for user in range(40):
        engine.learners.get(engine.models["m"], f"u{user}")
    assert len(engine.learners) == 10  # forgetting began again
    engine.commit()


@pytest.mark.parametrize("name", ["rank", "duel", "label", "filter", "hashed", "tune", "keyed"])
def test_feedback_is_the_same_from_memory_and_from_disk(name: str, tmp_path: Path) -> None:
    events = []
    for limit in (0, 16 << 20):
        engine = Engine(tmp_path / str(limit), synchronous="OFF", clock=lambda: 5.0)
        engine._open_decisions._limit = limit
        engine.run(lambda engine=engine: engine.create(name, model(MODELS[name])))
        play(engine, [name], 40, seed=3)
        assert (len(engine._open_decisions) == 0) is (limit == 0)
        ids = [event.decision for event in engine.store.events(1) if event.type == "decision"]
        text = b"\n".join(engine.events.all_lines(engine.models[name])).decode()
        for place, id in enumerate(ids):
            text = text.replace(id, f"decision {place}")
        events.append(text)
    assert events[0] == events[1]
    assert '"type":"feedback"' in events[0]


def test_the_oldest_decisions_leave_memory_first() -> None:
    recent = OpenDecisions(limit=7_000)
    for place in range(5):
        recent.add(f"d{place}", place, 500)  # any value will do
    assert [recent.get(f"d{place}") for place in range(5)] == [None, None, None, 3, 4]
    recent.drop("d3")
    recent.drop("d3")
    recent.add("d5", 5, 500)
    assert len(recent) == 2
    assert recent.get("d4") == 4
    recent.clear()
    recent.add("d6", 6, 1_000)
    assert recent.get("d6") == 6


def test_a_decision_that_was_undone_is_not_remembered(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    engine.begin()
    reply = engine.decide("rank", request({"candidates": DOCS}))
    engine.rollback()
    with pytest.raises(Exception, match="there is no decision"):
        engine.run(lambda: engine.feedback(reply["decision"], feedback_body(clicked=["q"])))


def test_names_of_one_time_stand_together_and_do_not_repeat(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"], clock=lambda: 1_700_000_000.0)
    body = request({"candidates": DOCS})
    names = [reply["decision"] for reply in engine.run(lambda: engine.decide_all("rank", [body] * 200))]
    assert len(set(names)) == 200
    assert {name[:10] for name in names} == {f"{1_700_000_000 * 256:010x}"}
    assert len({name[10:12] for name in names}) > 50  # the rest is drawn
    assert {len(name) for name in names} == {28 if engine.store.shared else 24}


def test_a_state_of_an_event_that_is_missing_is_not_of_this_log(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["tune"])
    for _ in range(3):
        play(engine, ["tune"], 5, seed=0)
        engine.snapshots.write(engine.models["tune"])
    states = list(engine.store.states(1))
    assert [state.own for state in states] == [True] * 3
    engine.store.connection.execute("DELETE FROM events WHERE shard = 1 AND seq = ?", (states[1].seq,))
    assert [state.own for state in engine.store.states(1)] == [True, False, True]
    with pytest.raises(KeyError):
        engine.store.append(7, "created", 0.0, None)


def test_a_refused_batch_leaves_the_learners_numbers_as_they_were(tmp_path: Path, monkeypatch: Any) -> None:
    """The third of four decisions fails: nothing is written, and the numbers of the first two are given again."""
    engine = engine_with(tmp_path, ["rank"])
    body = request({"candidates": DOCS})
    engine.decide("rank", body)
    learner = engine.learners.get(engine.models["rank"], None).learner
    before, decide, calls = learner.to_bytes(), learner._decide, []

    def fails(context: Any, number: int) -> Any:
        calls.append(number)
        if len(calls) == 3:
            raise InvalidArgument("no", "never")
        return decide(context, number)

    monkeypatch.setattr(learner, "_decide", fails)
    with pytest.raises(SmidgenError, match="decision 2 of the batch"):
        engine.decide_all("rank", [body] * 4)
    assert calls == [2, 3, 4]
    assert learner is engine.learners.get(engine.models["rank"], None).learner  # nothing was read again
    assert (learner.to_bytes(), engine.models["rank"].decisions) == (before, 1)


def test_a_learner_with_decisions_that_are_not_written_does_not_leave(tmp_path: Path) -> None:
    """Four keys and the first again in one batch, with room for two: every decision has a number of its own."""
    engine = engine_with(tmp_path, ["keyed"], keyed_in_memory=2)
    asked = [{"candidates": DOCS, "key": key} for key in "abcda"]
    replies = engine.decide_batch("keyed", batch({"decisions": asked}))
    numbers = [engine.events.decision(engine.models["keyed"], seq).decision.number for seq in range(2, 7)]
    assert numbers == [1, 1, 1, 1, 2]
    for version, reply in enumerate(replies, 1):
        echoed = engine.feedback(reply["decision"], feedback_body(clicked=["q"]))
        assert (echoed.status, echoed.model_version) == ("learnt", version)
    engine.close()
    with Inspection(tmp_path) as seen:
        assert [audit_model(seen, each).problems for each in seen.models()] == [[]]


@pytest.mark.parametrize("limit", ["number", "bytes"])
def test_a_batch_over_many_keys_keeps_few_learners(limit: str, tmp_path: Path, monkeypatch: Any) -> None:
    engine = engine_with(tmp_path, ["keyed"], keyed_in_memory=3 if limit == "number" else 2_000)
    if limit == "bytes":
        engine.learners._memory = 3 * engine.models["keyed"].blueprint.size
    get, most = engine.learners.get, [0]

    def counted(*arguments: Any) -> Any:
        held = get(*arguments)
        most[0] = max(most[0], len(engine.learners))
        return held

    monkeypatch.setattr(engine.learners, "get", counted)
    engine.decide_batch("keyed", batch({"decisions": [{"candidates": DOCS, "key": f"u{i}"} for i in range(40)]}))
    assert most == [4]  # the three that may stay, and the one that is needed
    assert len(engine.learners) == 3
    asked = [{"candidates": DOCS, "key": f"u{i}"} for i in range(39)]
    with pytest.raises(SmidgenError, match="decision 39 of the batch"):  # when the others are written already
        engine.decide_batch("keyed", batch({"decisions": [*asked, {**asked[0], "chosen": "nobody"}]}))
    assert engine.models["keyed"].decisions == 40
    assert engine.learners.get(engine.models["keyed"], "u5").learner.decisions == 1


@pytest.mark.parametrize("keyed_in_memory", [1, 2_000])
def test_a_batch_learns_what_the_app_has_chosen_before_it_goes_on(tmp_path: Path, keyed_in_memory: int) -> None:
    asked = [{"candidates": DOCS, "key": key, "chosen": "q"} for key in "aba"]
    replies = []
    for way in ("one by one", "in a batch"):
        engine = engine_with(tmp_path / way, ["keyed"], keyed_in_memory=keyed_in_memory, clock=lambda: 5.0)
        if way == "in a batch":
            made = engine.decide_batch("keyed", batch({"decisions": asked}))
        else:
            made = [engine.decide("keyed", request(each)) for each in asked]
        replies.append([{name: value for name, value in each.items() if name != "decision"} for each in made])
        types = [event.type for event in engine.store.events(engine.models["keyed"].shard)]
        assert types == ["created", *["decision", "taught"] * 3]
        engine.close()
    assert replies[0] == replies[1]
    assert [reply["model_version"] for reply in replies[0]] == [0, 1, 2]


def test_a_shadow_that_fails_begins_with_what_its_log_says(tmp_path: Path, monkeypatch: Any) -> None:
    """A shadow's learner that begins with what other keys share, and then fails, has not begun: no event says so."""
    engine = Engine(tmp_path, synchronous="OFF", clock=lambda: 5.0)
    engine.create("people", model({"loop": "choose", "keyed": True}))
    engine.create("rival", model({"loop": "choose", "keyed": True, "shadow_of": "people"}))
    asked = {"candidates": [{"id": "p"}, {"id": "q"}]}
    for key in "abc":
        engine.feedback(engine.decide("people", request({**asked, "key": key}))["decision"], feedback_body(reward=1.0))
    decide = SharedKeyState.decide

    def fails(self: SharedKeyState, learner: Any, context: Any, known: Any) -> Any:
        if self is engine.learners.shared_state(engine.models["rival"]):
            raise InvalidArgument("no", "never")
        return decide(self, learner, context, known)

    monkeypatch.setattr(SharedKeyState, "decide", fails)
    engine.decide("people", request({**asked, "key": "d"}))
    assert engine.models["rival"].decisions == 3
    monkeypatch.undo()
    engine.decide("people", request({**asked, "key": "d"}))
    assert engine.models["rival"].decisions == 4
    held = [engine.learners.get(engine.models[name], "d").learner.to_bytes() for name in ("people", "rival")]
    engine.close()
    again = Engine(tmp_path, synchronous="OFF")
    assert [again.learners.get(again.models[name], "d").learner.to_bytes() for name in ("people", "rival")] == held
    again.close()


@pytest.mark.parametrize("way", ["the batch is abandoned", "the command fails"])
def test_nothing_is_known_of_a_model_whose_making_was_undone(tmp_path: Path, way: str) -> None:
    """The next model gets its number and its shard, and must not find its learner there."""
    engine = Engine(tmp_path, synchronous="OFF", clock=lambda: 5.0)
    before = {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 3}}

    def make() -> None:
        engine.create("news", model(before))
        reply = engine.decide("news", request({"candidates": DOCS}))
        engine.events.decision(engine.models["news"], 2)
        engine.feedback(reply["decision"], feedback_body(clicked=["q"]))
        if way == "the command fails":
            raise InvalidArgument("no", "never")

    engine.begin()
    with suppress(InvalidArgument):
        engine.run_in_savepoint(make)
    engine.rollback()
    assert engine.models == {}
    engine.create("news", model(MODELS["rank"]))
    engine.decide("news", request({"candidates": DOCS}))
    learner = engine.learners.get(engine.models["news"], None).learner
    assert type(learner).__name__ == "PreferencePerceptron"
    assert learner.decisions == 1
    assert engine.events.decision(engine.models["news"], 2).decision.kind == "PreferencePerceptron"
    engine.close()
