"""Knobs with a context, with categories, and near a safe setting: requests, stories and the log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection

PRICE: dict[str, Any] = {"loop": "tune", "knobs": {"price": [5, 15]}}
SAFE = {"knobs": {"price": 10.0}, "margin": 0.05}


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as found:
        yield found


def customer(rng: random.Random) -> dict[str, Any]:
    return {"plan": rng.choice(["free", "team"]), "seats": rng.randrange(1, 40)}


def loss(context: dict[str, Any], knobs: dict[str, Any]) -> float:
    return float(((knobs["price"] - (7 if context["plan"] == "free" else 12)) / 10) ** 2)


def play(call: Caller, rounds: int, name: str = "price", **more: Any) -> list[dict[str, Any]]:
    rng, answers = random.Random(0), []
    for _ in range(rounds):
        context = customer(rng)
        answer = call.post(f"/v1/models/{name}/decisions", {"context": context, **more}).json()
        call.post(f"/v1/decisions/{answer['decision']}/feedback", {"loss": loss(context, answer["knobs"])})
        answers.append(answer)
    return answers


def best(call: Caller, plan: str, name: str = "price") -> float:
    query = f'?context={{"plan":"{plan}","seats":20}}'
    return float(call.get(f"/v1/models/{name}{query}").json()["best"]["knobs"]["price"])


def test_the_best_setting_follows_the_context(call: Caller) -> None:
    made = call.put("/v1/models/price", PRICE)
    assert made.status_code == 201
    assert made.json()["features"]["auto"]["dim"] == 20
    assert call.put("/v1/models/price", PRICE).status_code == 200
    answers = play(call, 200)
    assert best(call, "free") == pytest.approx(7, abs=0.5)
    assert best(call, "team") == pytest.approx(12, abs=0.5)
    assert call.get("/v1/models/price").json()["best"]["loss"] is not None
    story = call.get(f"/v1/decisions/{answers[-1]['decision']}").json()
    assert story["asked"].keys() == {"context"}
    assert story["asked"]["context"]["plan"] in ("free", "team")
    assert story["contributions"] is story["contributions_now"] is None
    assert story["shown"]["knobs"] == answers[-1]["knobs"]
    (weight,) = call.get("/v1/models/price/weights").json()["weights"]
    assert weight["name"] == "price"
    assert call.get("/ui/models/price/weights.json").json()["weights"][0]["name"] == "price"
    for context in ({}, None):
        assert call.post("/v1/models/price/decisions", {"context": context}).status_code == 201


def test_no_context_leaves_no_trace_in_the_story(call: Caller) -> None:
    call.put("/v1/models/price", PRICE)
    answer = call.post("/v1/models/price/decisions", {}).json()
    assert call.get(f"/v1/decisions/{answer['decision']}").json()["asked"] is None


def test_without_contexts_the_tuner_is_what_it_was() -> None:
    plain = Engine(MemoryStore(CommittedTables()))
    plain.create("able", model(PRICE))
    plain.create("none", model({**PRICE, "learner": "QuadraticTuner", "params": {"dim": 0}}))
    assert plain.models["none"].blueprint.features is None
    for _ in range(40):
        answers = [plain.decide(name, request({})) for name in ("able", "none")]
        assert answers[0]["knobs"] == answers[1]["knobs"]
        for answer in answers:
            plain.feedback(answer["decision"], feedback_body(loss=answer["knobs"]["price"] ** 2), None)


@pytest.mark.parametrize(
    ("body", "asked", "names"),
    [
        ({**PRICE, "knobs": {f"k{i}": [0, 1] for i in range(6)}}, {"context": {"a": 1}}, "6 knobs"),
        ({**PRICE, "learner": "OGDEG", "params": {"baseline": "mean"}}, {"context": {"a": 1}}, "without one"),
        (PRICE, {"context": {f"k{i}": 1.5 for i in range(21)}}, "context has 21 features"),
        (PRICE, {"context": [1.0, 2.0]}, "context"),
        (PRICE, {"context": {"a": [1, "b"]}}, "context.a"),
        (PRICE, {"features": {"a": 1}}, "features"),
        ({**PRICE, "features": ["age"]}, {"context": {"seats": 1}}, "seats"),
    ],
)
def test_contexts_that_are_refused(call: Caller, body: dict[str, Any], asked: dict[str, Any], names: str) -> None:
    assert call.put("/v1/models/price", body).status_code == 201
    refused = call.post("/v1/models/price/decisions", asked)
    assert refused.status_code in (400, 422), refused.text
    assert names in refused.json()["error"]["message"]
    assert call.get("/v1/models/price").json()["decisions"] == 0


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"features": {"auto": {"dim": 21}}}, "features.auto.dim is 21"),
        ({"knobs": {f"k{i}": [0, 1] for i in range(6)}, "features": {"auto": {}}}, "5 with a context"),
        ({"features": [f"f{i}" for i in range(21)]}, "21"),
        ({"safe": {"knobs": {"price": 99}, "margin": 0.1}}, "price is 99"),
        ({"safe": {"knobs": {"cost": 9}, "margin": 0.1}}, "safe.knobs"),
        ({"safe": {"knobs": {"price": "high"}, "margin": 0.1}}, "safe.knobs"),
        ({"safe": {"knobs": [0.5], "margin": 0.1}}, "safe.knobs"),
        ({"safe": {"knobs": {"price": 9}, "margin": -1}}, "safe.margin"),
        ({"safe": {"knobs": {"price": 9}}}, "margin"),
        ({"safe": SAFE, "learner": "OGDEG"}, "OGDEG"),
        ({"params": {"safe": SAFE}}, "safe"),
        ({"loop": "label", "labels": ["a", "b"], "knobs": None, "safe": SAFE}, "safe setting"),
    ],
)
def test_settings_that_are_refused(call: Caller, more: dict[str, Any], names: str) -> None:
    refused = call.put("/v1/models/price", {**PRICE, **more})
    assert refused.status_code == 422, refused.text
    assert names in refused.text
    assert call.get("/v1/models/price").status_code == 404


def test_best_in_a_context_that_is_no_context(call: Caller) -> None:
    call.put("/v1/models/price", PRICE)
    call.put("/v1/models/mail", {"loop": "label", "labels": ["a", "b"]})
    for path in (
        "price?context=3",
        "price?context={",
        'price?context={"a":[1,"b"]}',
        'mail?context={"a":1}',
    ):
        assert call.get(f"/v1/models/{path}").status_code == 422, path


def test_a_safe_setting_is_kept_and_can_be_changed(call: Caller) -> None:
    made = call.put("/v1/models/price", {**PRICE, "safe": SAFE})
    assert made.json()["safe"] == SAFE
    prices = []
    for _ in range(60):
        answer = call.post("/v1/models/price/decisions", {}).json()
        prices.append(answer["knobs"]["price"])
        call.post(f"/v1/decisions/{answer['decision']}/feedback", {"loss": ((prices[-1] - 8) / 5) ** 2})
    assert max(abs(price - 10) for price in prices[:4]) < 1
    assert max(prices) < 11
    version = call.get("/v1/models/price").json()["model_version"]
    other = {"knobs": {"price": 8.0}, "margin": 0.2}
    assert call("PATCH", "/v1/models/price", json={"safe": other}).json()["safe"] == other
    assert call("PATCH", "/v1/models/price", json={"safe": None}).json()["safe"] is None
    assert call("PATCH", "/v1/models/price", json={"safe": SAFE}).json()["safe"] == SAFE
    for wrong in ({"knobs": {"price": 99}, "margin": 0.1}, {"knobs": {}, "margin": 0.1}, {"margin": 0.1}, 3):
        assert call("PATCH", "/v1/models/price", json={"safe": wrong}).status_code == 422
    after = call.get("/v1/models/price").json()
    assert (after["safe"], after["model_version"]) == (SAFE, version)
    shadow = call.put("/v1/models/shadow", {"loop": "tune", "shadow_of": "price"})
    assert shadow.json()["safe"] == SAFE
    assert call.post("/v1/models/price:copy", {"to": "copy"}).json()["safe"] == SAFE


def test_a_shadow_learns_from_points_in_their_context(call: Caller) -> None:
    call.put("/v1/models/price", PRICE)
    call.put("/v1/models/shadow", {**PRICE, "params": {"width": 2.0}, "shadow_of": "price"})
    play(call, 120)
    assert call.get("/v1/models/shadow").json()["model_version"] == 120
    assert best(call, "team", "shadow") > best(call, "free", "shadow") + 3


def test_examples_have_contexts(call: Caller) -> None:
    call.put("/v1/models/price", PRICE)
    rng, examples = random.Random(1), []
    for _ in range(120):
        context, price = customer(rng), rng.uniform(5, 15)
        answer = {"knobs": {"price": price}, "loss": loss(context, {"price": price})}
        examples.append({"context": context, "answer": answer})
    assert call.post("/v1/models/price/examples", {"examples": examples}).json()["taught"] == 120
    assert best(call, "team") > best(call, "free") + 3


def test_batches_have_contexts(call: Caller) -> None:
    call.put("/v1/models/price", PRICE)
    play(call, 60)
    asked = [{"context": {"plan": plan, "seats": 9}} for plan in ("free", "team")]
    found = call.post("/v1/models/price/decisions:batch", {"decisions": asked}).json()["decisions"]
    assert found[1]["knobs"]["price"] > found[0]["knobs"]["price"]


@pytest.mark.parametrize("keyed", [False, True])
def test_the_log_leads_to_the_same_learner(tmp_path: Path, keyed: bool) -> None:
    """Also with names and statistics that keys share, after a rollback, and after a person is forgotten."""
    shelf, rng = CommittedTables(), random.Random(2)
    engine = Engine(MemoryStore(shelf))
    knobs = {**PRICE["knobs"], "mode": {"categories": ["bulk", "stream"]}}
    engine.create("price", model({**PRICE, "knobs": knobs, "keyed": keyed, "safe": None}))
    for i in range(40):
        key = {"key": f"u{i % 3}"} if keyed else {}
        context = customer(rng) | ({"town": "secret"} if i % 3 == 0 else {})
        answer = engine.decide("price", request({"context": context, **key}))
        engine.feedback(answer["decision"], feedback_body(loss=loss(context, answer["knobs"])), None)
    keys = ["u0", "u1", "u2"] if keyed else [None]

    def states(of: Engine) -> list[bytes]:
        return [of.learners.get(of.models["price"], key).learner.to_bytes() for key in keys]

    assert states(Engine(MemoryStore(shelf))) == states(engine)
    engine.roll_back("price", 30)
    assert states(Engine(MemoryStore(shelf))) == states(engine)
    if keyed:
        engine.forget("price", "u0")
        keys.remove("u0")
        assert states(Engine(MemoryStore(shelf))) == states(engine)
        assert b"secret" not in b"".join(engine.events.all_lines(engine.models["price"]))


def test_contexts_on_disk_pass_the_audit(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/price", {**PRICE, "safe": SAFE})
        play(call, 12)
        call("PATCH", "/v1/models/price", json={"safe": None})
        play(call, 12)
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.models()[0]).problems == []
    with Caller(tmp_path) as call:
        assert call.get("/v1/models/price").json()["model_version"] == 24
