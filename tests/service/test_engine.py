"""The service's engine: the log is the truth, memory is a fold over it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from service.bodies import MODELS, Clock, batch, engine_with, feedback_body, model, play, request
from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.recovery import state_problem
from smidgen.service.errors import Conflict, Impossible, StorageFailed, Unknown
from smidgen.service.loops.registry import loops
from smidgen.service.storage.sqlite_schema import storage_error

DOCS = [{"id": "p", "features": [1, 0, 0]}, {"id": "q", "features": {"b": 1}}, {"id": "r", "features": [0, 0, 1]}]


def bytes_of(engine: Engine, name: str, key: str | None = None) -> bytes:
    return engine.learners.get(engine.models[name], key).learner.to_bytes()


def lines(engine: Engine, name: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in engine.events.all_lines(engine.models[name])]


@pytest.mark.parametrize("name", MODELS)
def test_a_reopened_service_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, [name])
    play(engine, [name], 60, seed=1)
    keys = [f"user{i}" for i in range(4)] if MODELS[name].get("keyed") else [None]
    before = {key: bytes_of(engine, name, key) for key in keys}
    version, seq = engine.models[name].version, engine.models[name].seq
    engine.store.close()  # as a crash would: no snapshot was taken
    again = Engine(tmp_path)
    assert (again.models[name].version, again.models[name].seq) == (version, seq)
    assert {key: bytes_of(again, name, key) for key in keys} == before
    again.close()  # takes snapshots
    third = Engine(tmp_path)
    assert {key: bytes_of(third, name, key) for key in keys} == before


@pytest.mark.parametrize("name", [name for name in MODELS if not MODELS[name].get("keyed")])
def test_the_exported_log_rebuilds_the_weights(name: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, [name])
    play(engine, [name], 50, seed=2)
    learner: Learner = engine.models[name].blueprint.learner(None)
    shown: dict[str, Decision] = {}
    for line in lines(engine, name):
        if line["type"] == "decision":
            shown[line["decision"]] = Decision.from_json(msgspec.json.encode(line["record"]))
        elif line["type"] == "feedback" and line["status"] == "learnt":
            learner.learn(shown[line["decision"]], serialization.unpack(line["learn"]))
    learner.reserve(engine.models[name].decisions)
    assert learner.to_bytes() == bytes_of(engine, name)
    assert learner.rounds == engine.models[name].version > 5


def test_the_log_has_no_gaps_and_versions_rise_by_one(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank", "label"])
    play(engine, ["rank", "label"], 80, seed=3)
    for name in ("rank", "label"):
        log = lines(engine, name)
        assert [line["seq"] for line in log] == list(range(1, len(log) + 1))
        assert log[0]["type"] == "created"
        versions = [line["model_version"] for line in log if line["type"] == "feedback"]
        assert versions == list(range(1, engine.models[name].version + 1))


def test_feedback_is_learnt_once_and_conflicts_are_reported(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_with(tmp_path, ["rank"], clock=clock)
    reply = engine.decide("rank", request({"candidates": DOCS}))
    id = reply["decision"]
    assert engine.feedback(id, feedback_body(clicked=["r"])).status == "learnt"
    weights = engine.learners.get(engine.models["rank"], None).learner.weights
    assert engine.feedback(id, feedback_body(clicked=["r"])).status == "duplicate"
    with pytest.raises(Conflict, match="other feedback"):
        engine.feedback(id, feedback_body(clicked=["q"]))
    clock.now += 1e6
    assert engine.feedback(id, feedback_body(clicked=["r"])).status == "duplicate"  # also after the window
    np.testing.assert_array_equal(engine.learners.get(engine.models["rank"], None).learner.weights, weights)
    assert engine.models["rank"].version == 1
    story = engine.story(id)
    assert (story.learnt_version, story.why_not, story.feedback) == (1, None, {"clicked": ["r"]})


def test_late_feedback_is_logged_and_not_learnt(tmp_path: Path) -> None:
    clock = Clock()
    engine = engine_with(tmp_path, ["rank"], clock=clock)
    id = engine.decide("rank", request({"candidates": DOCS}))["decision"]
    assert engine.story(id).why_not == "no feedback has come yet"
    clock.now += 86_401
    assert "within the window" in str(engine.story(id).why_not)
    with pytest.raises(Impossible):
        engine.feedback(id, feedback_body(clicked=["nobody"]))
    for _ in range(2):
        assert engine.feedback(id, feedback_body(clicked=["r"])).status == "late"
    assert "after the window" in str(engine.story(id).why_not)
    described = engine.describe("rank")
    assert (described.model_version, described.late, described.answered) == (0, 1, 1)
    assert not engine.learners.get(engine.models["rank"], None).learner.weights.any()


def test_partial_rankings_come_first_and_no_change_is_a_zero_step(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    first = engine.decide("rank", request({"candidates": DOCS}))
    assert first["ranking"] == ["p", "q", "r"]
    engine.feedback(first["decision"], feedback_body(clicked=["p"]))
    assert engine.models["rank"].version == 1
    assert not engine.learners.get(engine.models["rank"], None).learner.weights.any()
    second = engine.decide("rank", request({"candidates": DOCS}))
    engine.feedback(second["decision"], feedback_body(better=["r", "p"]))
    weights = engine.learners.get(engine.models["rank"], None).learner.weights
    discount = 1 / np.log2(np.arange(2, 5))
    np.testing.assert_allclose(
        weights, [discount[1] - discount[0], discount[2] - discount[1], discount[0] - discount[2]]
    )


def test_the_same_request_id_gives_the_same_decision(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["banditron"])
    body = request({"id": "r1", "features": [1, 0, 0]})
    first = engine.decide("banditron", body)
    assert engine.decide("banditron", body) == first
    assert engine.models["banditron"].decisions == 1
    with pytest.raises(Conflict, match="another request"):
        engine.decide("banditron", request({"id": "r1", "features": [0, 1, 0]}))
    twice = engine.decide_batch("banditron", batch({"decisions": [{"id": "r2", "features": [1, 0, 0]}] * 2}))
    assert twice[0] == twice[1]
    assert engine.models["banditron"].decisions == 2


def test_one_bad_item_refuses_the_whole_batch(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["label"])
    with pytest.raises(Impossible, match="decision 1 of the batch"):
        engine.decide_batch("label", batch({"decisions": [{"features": [1, 2, 3]}, {"features": [1, 2]}]}))
    assert (engine.models["label"].decisions, engine.models["label"].seq) == (0, 1)
    assert len(engine.decide_batch("label", batch({"decisions": [{"features": [1, 2, 3]}] * 3}))) == 3


def test_a_compact_matrix_is_as_good_as_lists(tmp_path: Path) -> None:
    import base64

    engine = engine_with(tmp_path, ["label", "rank"])
    matrix = np.array([[1, 0, 0.5], [0, 0.25, 1]], dtype="<f4")
    compact = {"shape": [2, 3], "f32": base64.b64encode(matrix.tobytes()).decode()}
    replies = engine.decide_batch("label", batch({"features": compact}))
    assert len(replies) == 2
    one = engine.decide("rank", request({"candidates": {"ids": ["a", "b"], "features": compact}}))
    plain = [{"id": "a", "features": [1, 0, 0.5]}, {"id": "b", "features": [0, 0.25, 1]}]
    other = engine.decide("rank", request({"candidates": plain}))
    assert one["ranking"] == other["ranking"]
    for id in (one["decision"], other["decision"]):
        engine.feedback(id, feedback_body(clicked=["b"]))
    rank = engine.models["rank"]
    rows = [engine.store.decision(reply["decision"]) for reply in (one, other)]
    first, second = (engine.events.decision(rank, row.seq).decision for row in rows if row is not None)
    assert first.context == second.context
    bad = {"shape": [2, 3], "f32": base64.b64encode(b"\0" * 20).decode()}
    with pytest.raises(Impossible, match="20 bytes"):
        engine.decide_batch("label", batch({"features": bad}))
    nan = base64.b64encode(np.full(6, np.nan, "<f4").tobytes()).decode()
    with pytest.raises(Impossible, match="not finite"):
        engine.decide_batch("label", batch({"features": {"shape": [2, 3], "f32": nan}}))


@pytest.mark.parametrize(
    ("name", "body", "match"),
    [
        ("rank", {}, "candidates is missing"),
        ("rank", {"candidates": DOCS, "features": [1, 2, 3]}, 'unknown field "features"'),
        ("rank", {"candidates": DOCS, "key": "ann"}, "not keyed"),
        ("rank", {"candidates": [DOCS[0], DOCS[0]]}, "two candidates have the id"),
        ("rank", {"candidates": [{"id": "p", "features": {"nope": 1}}]}, 'unknown feature "nope"'),
        ("keyed", {"candidates": [{"id": "p", "features": [1, 2, 3]}]}, "key is missing"),
        ("label", {"features": [1, 2]}, "2 features and the model has 3"),
        ("label", {"features": [1, 2, 3], "top": 3}, 'unknown field "top"'),
        ("tune", {"features": [1]}, 'unknown field "features"'),
    ],
)
def test_impossible_requests_change_nothing(name: str, body: dict[str, Any], match: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, [name])
    with pytest.raises(SmidgenError, match=match) as caught:
        engine.decide(name, request(body))
    assert caught.value.status == 422
    assert (engine.models[name].decisions, engine.models[name].seq) == (0, 1)


@pytest.mark.parametrize(
    ("name", "feedback", "match"),
    [
        ("rank", {"better": ["nobody"]}, "not a candidate"),
        ("rank", {"better": ["d1", "d1"]}, "twice"),
        ("rank", {"correct": True}, "unknown feedback field"),
        ("rank", {"clicked": ["d1"], "better": ["d1"]}, "2 fields"),
        ("choose", {"better": ["d1"]}, "better is an array of 1"),
        ("label", {"label": "w"}, "not one of the model's labels"),
        ("arow", {"correct": False}, "needs the correct label"),
        ("tune", {"gradient": [1, 2, 3]}, "learns from the loss at the point, not from gradient"),
        ("ogd", {"loss": 1.0}, "learns from the gradient at the point, not from loss"),
        ("ogd", {"gradient": [1.0, 2.0]}, "gradient"),
    ],
)
def test_impossible_feedback_changes_nothing(name: str, feedback: dict[str, Any], match: str, tmp_path: Path) -> None:
    import random

    from service.bodies import decision_body

    engine = engine_with(tmp_path, [name])
    id = engine.decide(name, request(decision_body(name, random.Random(0))))["decision"]
    before = bytes_of(engine, name)
    with pytest.raises(SmidgenError, match=match) as caught:
        engine.feedback(id, feedback_body(**feedback))
    assert caught.value.status == 422
    assert bytes_of(engine, name) == before
    assert engine.models[name].version == 0
    assert engine.story(id).feedback is None


def test_a_dropped_item_has_no_relevance(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["filter"])
    for _ in range(200):
        reply = engine.decide("filter", request({"features": [1, 0, 0]}))
        if not reply["forward"]:
            break
        engine.feedback(reply["decision"], feedback_body(relevant=False))
    assert not reply["forward"]
    with pytest.raises(SmidgenError) as caught:
        engine.feedback(reply["decision"], feedback_body(relevant=True))
    assert caught.value.status == 422


def test_models_are_made_once(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    assert engine.create("m", model(MODELS["rank"]))[0]
    assert not engine.create("m", model(MODELS["rank"]))[0]
    with pytest.raises(Conflict, match="other settings"):
        engine.create("m", model(MODELS["label"]))
    id = engine.decide("m", request({"candidates": DOCS}))["decision"]
    assert engine.archive("m").archived_at is not None
    with pytest.raises(Conflict, match="archived"):
        engine.create("m", model(MODELS["rank"]))
    with pytest.raises(Conflict, match="is archived"):
        engine.decide("m", request({"candidates": DOCS}))
    assert engine.feedback(id, feedback_body(clicked=["r"])).status == "learnt"
    assert [line["type"] for line in lines(engine, "m")] == ["created", "decision", "archived", "feedback"]
    with pytest.raises(Unknown):
        engine.describe("nobody")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"learner": "Confidit"}, "cannot use"),
        ({"learner": "Nobody"}, "cannot use"),
        ({"params": {"wings": 2}}, 'unknown param "params.wings"'),
        ({"features": {}}, 'either "hashed" or "auto"'),
        ({"features": ["a", "a"]}, "twice"),
        ({"params": {"dim": 7}}, "dim is 7"),
        ({"params": {"seed": -1}}, "seed"),
        ({"params": {"dim": {"type": "os.system"}}, "features": None}, 'type is "os.system"'),
        ({"labels": ["x"]}, "does not use labels"),
        ({"features": []}, "empty array"),
        ({"loop": "label", "learner": "Banditron", "labels": ["x", "y", "x"]}, 'labels holds "x" twice'),
        ({"loop": "label", "learner": "Confidit", "labels": ["x", "x"]}, 'labels holds "x" twice'),
    ],
)
def test_impossible_models_are_refused(change: dict[str, Any], match: str, tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    with pytest.raises(SmidgenError, match=match) as caught:
        engine.run(lambda: engine.create("m", model({**MODELS["rank"], **change})))
    assert caught.value.status == 422
    assert engine.models == {}
    assert Engine(tmp_path).models == {}


def test_keys_have_learners_of_their_own_and_few_stay_in_memory(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["keyed"], keyed_in_memory=3)
    docs = [{"id": str(i), "features": np.eye(3)[i].tolist()} for i in range(3)]
    for turn in range(3):
        for user in range(8):
            body = request({"key": f"u{user}", "candidates": docs})
            reply = engine.run(lambda body=body: engine.decide("keyed", body))
            feedback = feedback_body(clicked=[str(user % 3)])
            engine.run(lambda r=reply, f=feedback: engine.feedback(r["decision"], f))
        assert len(engine.learners) <= 3 + 1
        assert engine.models["keyed"].keys == 8, turn
    for user in range(8):
        reply = engine.run(lambda u=user: engine.decide("keyed", request({"key": f"u{u}", "candidates": docs})))
        assert reply["ranking"][0] == str(user % 3)
    engine.store.close()
    again = Engine(tmp_path, keyed_in_memory=3)
    assert again.models["keyed"].keys == 8
    assert again.learners.get(again.models["keyed"], "u5").learner.rounds == 3
    assert again.learners.get(again.models["keyed"], "u5").learner.decisions == 4


def test_hashed_names_meet_in_the_same_columns(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["hashed"])
    vectors = engine.models["hashed"].blueprint.loop.vectors
    row = vectors.row({"alpha": 1.0, "beta": 2.0}).dense()
    np.testing.assert_allclose(np.abs(row).sum(), 3.0)
    np.testing.assert_array_equal(row, vectors.row({"beta": 2.0, "alpha": 1.0}).dense())


def test_a_failed_commit_undoes_memory_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(tmp_path, ["rank"])
    kept = engine.run(lambda: engine.decide("rank", request({"candidates": DOCS})))
    before = bytes_of(engine, "rank"), engine.models["rank"].seq

    def full() -> None:
        raise storage_error(sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(engine.store, "commit", full)
    with pytest.raises(StorageFailed, match="disk is full"):
        engine.run(lambda: engine.feedback(kept["decision"], feedback_body(clicked=["r"])))
    monkeypatch.undo()
    assert (bytes_of(engine, "rank"), engine.models["rank"].seq) == before
    assert engine.run(lambda: engine.feedback(kept["decision"], feedback_body(clicked=["r"]))).status == "learnt"


def test_snapshots_are_taken_and_only_three_are_kept(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"], snapshot_every=20)
    for seed in range(8):
        play(engine, ["rank"], 20, seed)
        engine.maintain()
    states = list(engine.store.states(engine.models["rank"].shard))
    assert len(states) == 3
    assert [state_problem(state) for state in states] == [None] * 3
    found = [Path(state.place) for state in states]
    before = bytes_of(engine, "rank")
    engine.store.close()
    found[0].write_bytes(found[0].read_bytes()[:-7])  # truncated
    found[1].write_bytes(b"\0" + found[1].read_bytes()[1:])  # damaged
    assert bytes_of(Engine(tmp_path), "rank") == before
    found[2].unlink()
    assert bytes_of(Engine(tmp_path), "rank") == before  # from the log alone


def test_a_newer_database_is_not_touched(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    engine.store.connection.execute("INSERT INTO migrations VALUES (99, 'from the future', 0)")
    engine.store.close()
    with pytest.raises(StorageFailed, match="schema 99"):
        Engine(tmp_path)


def test_a_database_of_a_build_before_the_first_release_is_not_touched(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "smidgen.db")
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, what TEXT, at REAL)")
    connection.execute("INSERT INTO migrations VALUES (1, 'the first', 0)")
    connection.execute("CREATE TABLE models (id INTEGER PRIMARY KEY)")
    connection.commit()
    connection.close()
    before = (tmp_path / "smidgen.db").read_bytes()
    with pytest.raises(StorageFailed, match="schema 1, from a build before the first release; choose another --data"):
        Engine(tmp_path)
    assert (tmp_path / "smidgen.db").read_bytes() == before


def test_a_body_is_known_again_however_it_was_spelt(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank", "label"])
    first = request({"id": "x", "candidates": [{"id": "p", "features": {"a": 1, "b": 0.5}}]})
    again = msgspec.json.decode(
        b'{"candidates": [{"features": {"b": 5e-1, "a": 1.0}, "id": "p"}], "id": "x", "top": null}', type=loops.decision
    )
    reply = engine.run(lambda: engine.decide("rank", first))
    assert engine.run(lambda: engine.decide("rank", again)) == reply
    for other in ({"a": 1, "b": 0.5000001}, {"a": 1, "b": 0.5, "c": 0}, {"a": 1}):
        body = request({"id": "x", "candidates": [{"id": "p", "features": other}]})
        with pytest.raises(Conflict, match="another request"):
            engine.run(lambda body=body: engine.decide("rank", body))
    assert engine.run(lambda: engine.feedback(reply["decision"], feedback_body(clicked=["p"]))).status == "learnt"
    assert engine.run(lambda: engine.feedback(reply["decision"], feedback_body(clicked=["p"]))).status == "duplicate"
    with pytest.raises(Conflict, match="other feedback"):
        engine.run(lambda: engine.feedback(reply["decision"], feedback_body(better=["p"])))


def test_a_warm_model_decides_and_learns_without_a_question_to_the_database(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    play(engine, ["rank"], 5, seed=1)
    assert engine.has_expired() is False
    statements: list[str] = []
    engine.store.connection.set_trace_callback(lambda sql: statements.append(sql.split()[0]))
    made = engine.decide("rank", request({"candidates": DOCS}))
    engine.feedback(made["decision"], loops.feedback(better=["q"]))
    assert engine.has_expired() is False
    assert statements.count("COMMIT") == 2
    assert "SELECT" not in statements
