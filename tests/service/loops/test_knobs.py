"""Knobs in the service: names and units of their own, from the model's settings to the story of a decision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import smidgen
from service.asgi import Caller
from service.bodies import engine_with, feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen import knobs
from smidgen.client import wire
from smidgen.errors import InvalidArgument
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource

KNOBS: dict[str, Any] = {"threads": {"integer": [1, 64]}, "timeout": {"log": [0.01, 10]}, "ratio": [0, 1]}
MODEL = {"loop": "tune", "knobs": KNOBS}


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as found:
        yield found


def cost(at: dict[str, Any]) -> float:
    """The whole bill: best at 16 threads, .1 s, .3."""
    parts = (math.log(at["threads"] / 16) / 4, math.log10(at["timeout"] / 0.1) / 3, at["ratio"] - 0.3)
    return 500.0 + 40.0 * sum(part**2 for part in parts)


def played(call: Caller, rounds: int, name: str = "pool") -> list[dict[str, Any]]:
    answers = []
    for _ in range(rounds):
        answer = call.post(f"/v1/models/{name}/decisions", {}).json()
        answers.append(answer)
        call.post(f"/v1/decisions/{answer['decision']}/feedback", {"loss": cost(answer["knobs"])})
    return answers


def test_it_decides_and_tells_in_own_units(call: Caller) -> None:
    made = call.put("/v1/models/pool", MODEL)
    assert made.status_code == 201
    assert made.json()["learner"] == "QuadraticTuner"
    assert list(made.json()["knobs"].items()) == list(KNOBS.items())
    assert "space" not in made.json()["params"]
    first = call.get("/v1/models/pool").json()["best"]
    assert first["loss"] is first["low"] is first["high"] is None
    assert call.put("/v1/models/pool", {"knobs": dict(reversed(KNOBS.items())), "loop": "tune"}).status_code == 200
    assert call.put("/v1/models/pool", {**MODEL, "knobs": {"ratio": [0, 1]}}).status_code == 409
    answers = played(call, 120)
    for answer in answers:
        assert all(0.0 <= share <= 1.0 for share in answer["point"])
        assert list(answer["knobs"]) == list(KNOBS)
        threads, timeout, ratio = answer["knobs"].values()
        assert type(threads) is int
        assert 1 <= threads <= 64
        assert 0.01 <= timeout <= 10
        shares = [(threads - 0.5) / 64, math.log(timeout / 0.01) / math.log(1000), ratio]
        assert answer["point"] == pytest.approx(shares)
    found = call.get("/v1/models/pool").json()["best"]
    assert cost(found["knobs"]) < 503.0
    assert found["low"] <= found["loss"] <= found["high"]
    assert found["loss"] == pytest.approx(cost(found["knobs"]), abs=3.0)
    assert found["clipped"] == 0
    assert len(found["point"]) == 3
    named = call.get("/v1/models/pool/weights").json()["weights"]
    assert {each["name"]: each["weight"] for each in named} == pytest.approx(found["knobs"])
    shown = call.get("/ui/models/pool/weights.json").json()["weights"]
    assert [each["name"] for each in shown] == list(KNOBS)


def test_stories_speak_of_the_knobs(call: Caller) -> None:
    call.put("/v1/models/pool", MODEL)
    (answer,) = played(call, 1)
    story = call.get(f"/v1/decisions/{answer['decision']}").json()
    assert story["shown"]["knobs"] == answer["knobs"]
    lines = call.get(f"/ui/decisions/{answer['decision']}/story.json").json()["lines"]
    text = f"threads {answer['knobs']['threads']}"
    assert any(text in line["text"] for line in lines)
    assert text in call.get(f"/ui/decisions/{answer['decision']}/answers.json").json()["text"]
    assert text in str(call.get("/ui/models/pool/recent.json").json())


def test_the_learner_is_the_recommended_one(call: Caller) -> None:
    some, many = ({f"k{i}": [0, 1] for i in range(n)} for n in (64, 65))
    assert call.put("/v1/models/some", {"loop": "tune", "knobs": some}).json()["learner"] == "QuadraticTuner"
    made = call.put("/v1/models/many", {"loop": "tune", "knobs": many}).json()
    assert made["learner"] == "OGDEG"
    assert made["params"]["baseline"] == "mean"
    assert made["params"].get("loss_bound") is None
    ball = {"space": {"type": "Ball", "dim": 3, "radius": 1.0}}
    made = call.put("/v1/models/ball", {"loop": "tune", "params": ball}).json()
    assert (made["learner"], made["params"]["baseline"], made["knobs"]) == ("OGDEG", "mean", None)
    answer = call.post("/v1/models/ball/decisions", {}).json()
    assert "knobs" not in answer
    found = call.get("/v1/models/ball").json()["best"]
    assert (found["knobs"], len(found["point"])) == (None, 3)
    named = {"loop": "tune", "learner": "ONSEG", "params": {"delta": 0.1, "gamma": 0.2, "loss_bound": 1.0}}
    call.put("/v1/models/named", {**named, "knobs": KNOBS})
    played(call, 3, "named")
    assert call.get("/v1/models/named").json()["best"]["clipped"] == 3
    assert call.put("/v1/models/nothing", {"loop": "tune"}).status_code == 422


@pytest.mark.parametrize(
    ("given", "names", "way_out"),
    [
        ({"ratio": [1, 1]}, "knobs.ratio is [1,1]", "the lower first"),
        ({"timeout": {"log": [0, 10]}}, 'knobs.timeout is {"log":[0,10]}', "above 0"),
        ({"timeout": {"log": [-1, 10]}}, "knobs.timeout", "above 0"),
        ({"threads": {"integer": [64, 1]}}, 'knobs.threads is {"integer":[64,1]}', "the lower first"),
        ({"threads": {"integer": [1.5, 2.5]}}, "knobs.threads", "whole numbers"),
        ({"threads": {"integer": [1, 2, 3]}}, "knobs.threads", "[low, high]"),
        ({"threads": {"integer": [1, True]}}, "knobs.threads has the limit true", "[low, high]"),
        ({"threads": {"integer": [1, 2**60]}}, "knobs.threads", "other units"),
        ({"threads": {"whole": [1, 64]}}, "knobs.threads", "integer"),
        ({"threads": {}}, "knobs.threads", "integer"),
        ({"threads": 5}, "knobs.threads is 5", "[low, high]"),
        ({"threads": None}, "knobs.threads is None", "[low, high]"),
        ({"size": ["s", "m", "l"]}, 'knobs.size is ["s","m","l"]', "categories"),
        ({"size": ["s", "l"]}, 'knobs.size has the limit "s"', "categories"),
        ({"size": {"categories": ["s", "m"]}}, "no knob is a number", "choose"),
        ({"size": {"categories": ["s"]}, "a": [0, 1]}, "knobs.size.categories", "two or more"),
        ({"size": {"categories": ["s", "s"]}, "a": [0, 1]}, "knobs.size.categories", "different"),
        ({"size": {"categories": ["s", 3]}, "a": [0, 1]}, "knobs.size.categories", "names"),
        ({"size": {"categories": "s"}, "a": [0, 1]}, "knobs.size.categories", "list"),
        ({"size": "small"}, "knobs.size is 'small'", "categories"),
        ({"$": [0, 1]}, "$", "name"),
        ({}, "knobs has 0 entries", "1 to 1,000"),
        ({f"k{i}": [0, 1] for i in range(1001)}, "1,001 entries", "1,000"),
    ],
)
def test_what_is_no_knob_is_refused(call: Caller, given: dict[str, Any], names: str, way_out: str) -> None:
    refused = call.put("/v1/models/pool", {"loop": "tune", "knobs": given})
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert names in error["message"]
    assert way_out in error["hint"]
    assert call.get("/v1/models/pool").status_code == 404


def test_other_refusals(call: Caller) -> None:
    space = {"space": {"type": "Box", "low": [0], "high": [1]}}
    for body in (
        {**MODEL, "params": space},
        {**MODEL, "loop": "label", "labels": ["a", "b"]},
        {**MODEL, "learner": "OGD", "params": {"gradient_bound": 1.0}},
        {"loop": "tune", "knobs": [1, 2]},
        {"loop": "tune", "params": {"space": {"type": "Knobs", "knobs": []}}},
    ):
        assert call.put("/v1/models/pool", body).status_code == 422
    for raw in ('{"loop": "tune", "knobs": {"a": [0, NaN]}}', '{"loop": "tune", "knobs": {"a": [0, 1e999]}}'):
        headers = {"content-type": "application/json"}
        assert call("PUT", "/v1/models/pool", content=raw, headers=headers).status_code in (400, 422)
    call.put("/v1/models/pool", MODEL)
    answer = call.post("/v1/models/pool/decisions", {}).json()
    assert call.post(f"/v1/decisions/{answer['decision']}/feedback", {"loss": 1e300}).status_code == 422
    assert call.post("/v1/models/pool/decisions", {"knobs": {}}).status_code == 422


def test_examples_in_own_units_or_as_a_point(call: Caller) -> None:
    call.put("/v1/models/pool", MODEL)
    values = {"threads": 16, "timeout": 0.1, "ratio": 0.3}
    good = [{"answer": {"knobs": values, "loss": 500.0}}, {"answer": {"point": [0.9, 0.9, 0.9], "loss": 540.0}}]
    taught = call.post("/v1/models/pool/examples", {"examples": good})
    assert taught.json() == {"taught": 2, "model_version": 1}
    for answer in (
        {"knobs": {**values, "threads": 65}, "loss": 1.0},
        {"knobs": {"threads": 16}, "loss": 1.0},
        {"point": [0.5, 0.5], "loss": 1.0},
        {"point": [0.5, 0.5, 1.1], "loss": 1.0},
        {"knobs": values},
        {"knobs": values, "point": [0.5, 0.5, 0.5], "loss": 1.0},
    ):
        refused = call.post("/v1/models/pool/examples", {"examples": [{"answer": answer}]})
        assert refused.status_code == 422, answer


def test_it_comes_back_from_the_log_and_from_elsewhere(tmp_path: Path) -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create("pool", model(MODEL))
    for _ in range(30):
        answer = engine.decide("pool", request({}))
        engine.feedback(answer["decision"], feedback_body(loss=cost(answer["knobs"])), None)
    learner = engine.learners.get(engine.models["pool"], None).learner
    again = Engine(MemoryStore(shelf))
    assert again.learners.get(again.models["pool"], None).learner.to_bytes() == learner.to_bytes()
    next_one, same = engine.decide("pool", request({})), again.decide("pool", request({}))
    assert list(next_one["knobs"].items()) == list(same["knobs"].items())
    tuner = smidgen.QuadraticTuner(space=smidgen.Knobs({"b": (0, 2), "a": knobs.Integer(1, 9)}))
    tuner.teach({"a": 3, "b": 1.0}, 0.5)
    with Caller(tmp_path / "data") as call:
        media = {"content-type": "application/octet-stream"}
        made = call("POST", "/v1/models/brought:import", content=tuner.to_bytes(), headers=media)
        assert made.status_code in (200, 201), made.text
        assert made.json()["knobs"] == {"b": [0, 2], "a": {"integer": [1, 9]}}
        assert list(call.post("/v1/models/brought/decisions", {}).json()["knobs"]) == ["b", "a"]
        copied = call.post("/v1/models/brought:copy", {"to": "copy"})
        assert copied.json()["knobs"] == made.json()["knobs"]


def test_the_log_is_whole(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, [])
    engine.create("pool", model({**MODEL, "keyed": True}))
    for i in range(12):
        answer = engine.decide("pool", request({"key": f"user{i % 2}"}))
        engine.feedback(answer["decision"], feedback_body(loss=cost(answer["knobs"])), None)
    engine.close()
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.models()[0]).problems == []


def test_the_client_sends_what_people_have() -> None:
    space = smidgen.Knobs({"threads": knobs.Integer(1, 64), "timeout": knobs.Log(0.01, 10), "ratio": (0, 1)})
    for given in (space, dict(space.knobs), KNOBS, {**KNOBS, "ratio": (0, 1)}):
        assert msgspec.json.decode(wire.encode(wire.knobs_body(given))) == KNOBS
    assert wire.knobs_body(None) is None
    with pytest.raises(InvalidArgument, match="knobs"):
        wire.knobs_body([1, 2])


def test_the_document_knows_them(call: Caller) -> None:
    schema = call.get("/openapi.json").json()["components"]["schemas"]["ModelBody"]["properties"]["knobs"]
    assert "integer" in str(schema)
    assert "minItems" in str(schema)
    example = call.get("/ui/loops.json").json()["tune"]["example"]
    assert example["model"]["learner"] == "QuadraticTuner"
    assert call.put("/v1/models/pool", example["model"]).status_code == 201


def test_a_log_file(tmp_path: Path) -> None:
    with Caller(tmp_path / "data") as call:
        call.put("/v1/models/pool", MODEL)
        played(call, 6)
        (tmp_path / "log.ndjson").write_bytes(call.get("/v1/models/pool/log").content)
    assert audit_file(NdjsonSource(tmp_path / "log.ndjson")).problems == []


def test_categories_go_out_and_come_back(call: Caller) -> None:
    asked = {"mode": {"categories": ["bulk", "stream"]}, "size": [0, 1]}
    made = call.put("/v1/models/modes", {"loop": "tune", "knobs": asked}).json()
    assert made["knobs"] == asked
    seen = set()
    for _ in range(30):
        answer = call.post("/v1/models/modes/decisions", {}).json()
        seen.add(answer["knobs"]["mode"])
        assert len(answer["point"]) == 1
        loss = (answer["knobs"]["size"] - 0.5) ** 2 + (answer["knobs"]["mode"] == "bulk")
        assert call.post(f"/v1/decisions/{answer['decision']}/feedback", {"loss": loss}).status_code == 200
    assert seen == {"bulk", "stream"}
    assert call.get("/v1/models/modes").json()["best"]["knobs"]["mode"] == "stream"
    example = {"examples": [{"answer": {"knobs": {"mode": "stream", "size": 0.2}, "loss": 0.3}}]}
    assert call.post("/v1/models/modes/examples", example).status_code == 200
    wrong = {"examples": [{"answer": {"point": [0.2], "loss": 0.3}}]}
    assert "categories" in call.post("/v1/models/modes/examples", wrong).text
