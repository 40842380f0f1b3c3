"""Examples whose answers are known: taught once, as one event, replayed bit for bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body, engine_with, model, play
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import CopyBody, ExamplesBody

TAUGHT = ("rank", "second", "choose", "label", "banditron", "arow", "filter", "full", "hashed", "ogd", "keyed")
RECORDS: dict[str, dict[str, Any]] = {
    "records": {"loop": "label", "labels": ["x", "y"]},
    "banners": {"loop": "choose"},
    "prices": {"loop": "tune", "params": {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}},
    "users": {"loop": "choose", "keyed": True},
}


def examples(body: dict[str, Any]) -> ExamplesBody:
    found: ExamplesBody = msgspec.convert(body, loops.examples)
    return found


def example(name: str, rng: random.Random) -> dict[str, Any]:
    """A possible example for this model, for the key ``user1`` if it has keys."""
    if name in ("records", "banners", "users"):
        record = {"age": rng.randrange(90), "country": rng.choice(["se", "de"])}
        if name == "records":
            return {"features": record, "answer": rng.choice(["x", "y"])}
        offered = [{"id": id, "features": {"kind": id * 2}} for id in ("a", "b")]
        chosen = {"choice": rng.choice(["a", "b"]), "reward": rng.random()}
        body = {"candidates": offered, "context": record, "answer": chosen}
        return body | ({"key": "user1"} if name == "users" else {})
    if name == "prices":
        return {"answer": {"point": [rng.random(), rng.random()], "loss": rng.random()}}
    body = decision_body(name, rng)
    if "key" in body:
        body["key"] = "user1"
    loop = MODELS[name]["loop"]
    answers = {
        "rank": ["d3", "d1"],
        "choose": "d2",
        "label": "y",
        "filter": rng.random() < 0.5,
        "tune": [0.1, 0.2, 0.3],
    }
    return body | {"answer": answers[loop]}


def settings(name: str) -> dict[str, Any]:
    return RECORDS[name] if name in RECORDS else MODELS[name]


def bytes_of(engine: Engine, name: str) -> bytes:
    served = engine.models[name]
    learner = engine.learners.get(served, "user1" if served.keyed else None).learner
    return learner.to_bytes()


@pytest.mark.parametrize("name", [*TAUGHT, *RECORDS])
def test_examples_are_learnt_and_come_back(name: str) -> None:
    rng, shelf = random.Random(1), CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create(name, model(settings(name)))
    fresh = bytes_of(engine, name)
    found = engine.teach(name, examples({"examples": [example(name, rng) for _ in range(5)]}))
    assert (found.taught, found.model_version) == (5, 1)
    if name in MODELS:
        play(engine, [name], 30, seed=3)
    found = engine.teach(name, examples({"id": "history", "examples": [example(name, rng) for _ in range(3)]}))
    assert found.taught == 3
    known, version = bytes_of(engine, name), engine.models[name].version
    assert known != fresh
    again = Engine(MemoryStore(shelf))  # from nothing but the log
    assert bytes_of(again, name) == known
    assert again.models[name].version == version == found.model_version
    taught = [event for event in again.store.events(1, limit=10**6) if event.type == "taught"]
    assert len(taught) == 2


def test_the_log_is_sound_and_rebuilds(tmp_path: Path) -> None:
    rng, names = random.Random(5), ["rank", "label", "keyed"]
    engine = engine_with(tmp_path / "data", names)
    for name in names:
        engine.teach(name, examples({"id": "a", "examples": [example(name, rng) for _ in range(4)]}))
        play(engine, [name], 20, seed=2)
        engine.teach(name, examples({"examples": [example(name, rng)]}))
    engine.close()
    with Inspection(tmp_path / "data") as seen:
        for name in names:
            served = seen.model(name)
            found = audit_model(seen, served)
            assert found.problems == []
            assert found.compared
            path = tmp_path / f"{name}.ndjson"
            path.write_bytes(b"\n".join(seen.log.all_lines(served)) + b"\n")
            assert audit_file(NdjsonSource(path)).problems == []


def test_a_call_is_taught_once() -> None:
    rng = random.Random(2)
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("label", model(MODELS["label"]))
    body = {"id": "once", "examples": [example("label", rng) for _ in range(3)]}
    first = engine.teach("label", examples(body))
    known = bytes_of(engine, "label")
    again = engine.teach("label", examples(body))
    assert (again.taught, again.model_version) == (3, first.model_version)
    assert bytes_of(engine, "label") == known
    with pytest.raises(SmidgenError) as caught:
        engine.teach("label", examples({"id": "once", "examples": [example("label", rng)]}))
    assert caught.value.status == 409


def test_a_call_stays_known_when_a_copy_forgets_its_key() -> None:
    engine, rng = Engine(MemoryStore(CommittedTables())), random.Random(3)
    engine.create("users", model(RECORDS["users"]))
    body = {"id": "once", "examples": [example("users", rng)]}
    first = engine.teach("users", examples(body))
    engine.copy("users", CopyBody(to="copy", learnt=False))
    engine.teach("copy", examples(body))
    engine.forget("copy", "user1")
    known = bytes_of(engine, "users")
    assert engine.teach("users", examples(body)) == first
    assert bytes_of(engine, "users") == known
    assert engine.teach("copy", examples(body)).model_version == 3, "the copy has forgotten the call"


def test_one_bad_example_refuses_all() -> None:
    rng = random.Random(2)
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("label", model(MODELS["label"]))
    engine.teach("label", examples({"examples": [example("label", rng)]}))
    known, seq = bytes_of(engine, "label"), engine.models["label"].seq
    bad = example("label", rng) | {"answer": "nobody"}
    with pytest.raises(SmidgenError, match=r"examples\[2\].*nobody"):
        engine.teach("label", examples({"id": "x", "examples": [example("label", rng), example("label", rng), bad]}))
    assert (bytes_of(engine, "label"), engine.models["label"].seq) == (known, seq)
    found = engine.teach("label", examples({"id": "x", "examples": [example("label", rng)]}))
    assert found.model_version == 2


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        (
            "duel",
            {"examples": [{"candidates": [{"id": "d0", "features": [1, 0, 0]}], "answer": "d0"}]},
            "cannot be taught",
        ),
        (
            "keyed",
            {"examples": [{"candidates": [{"id": "d", "features": [1, 0, 0]}], "answer": ["d"]}]},
            "key is missing",
        ),
        (
            "rank",
            {"key": "a", "examples": [{"candidates": [{"id": "d", "features": [1, 0, 0]}], "answer": ["d"]}]},
            "not keyed",
        ),
        ("filter", {"examples": [{"features": [1, 0, 0], "answer": "yes"}]}, "true"),
        (
            "choose",
            {"examples": [{"candidates": [{"id": "d", "features": [1, 0, 0]}], "answer": "e"}]},
            "not a candidate",
        ),
        ("label", {"examples": [{"features": [1, 0, 0], "top": 3, "answer": "x"}]}, "unknown field"),
        ("label", {"examples": [{"id": "mine", "features": [1, 0, 0], "answer": "x"}]}, "its own id"),
    ],
)
def test_what_cannot_be_taught_is_reported(name: str, body: dict[str, Any], words: str) -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create(name, model(MODELS[name]))
    with pytest.raises(SmidgenError) as caught:
        engine.teach(name, examples(body))
    assert caught.value.status == 422
    assert words in f"{caught.value.problem} {caught.value.hint}"
    assert engine.models[name].version == 0


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", {"loop": "label", "labels": ["spam", "work"]})
        body = {
            "id": "seed",
            "examples": [
                {"features": {"from": "boss"}, "answer": "work"},
                {"features": {"from": "x"}, "answer": "spam"},
            ],
        }
        for _ in range(2):
            answered = ask.post("/v1/models/mail/examples", body)
            assert (answered.status_code, answered.json()) == (200, {"taught": 2, "model_version": 1})
        assert ask.post("/v1/models/mail/examples", {"id": "seed", "examples": body["examples"][:1]}).status_code == 409
        reply = ask.post("/v1/models/mail/decisions", {"features": {"from": "boss"}}).json()
        assert (reply["label"], reply["model_version"]) == ("work", 1)
        lines = [msgspec.json.decode(line) for line in ask.get("/v1/models/mail/log").text.splitlines()]
        assert [line["type"] for line in lines] == ["created", "taught", "decision"]
        assert (lines[1]["examples"], lines[1]["model_version"]) == (2, 1)
        assert ask.post("/v1/models/mail/examples", {"examples": []}).status_code == 422
        assert ask.post("/v1/models/nobody/examples", body).status_code == 404
