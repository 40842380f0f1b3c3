"""An apprentice: the app chooses, the model is taught it, and how often it would have said the same is counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.engine.test_champions import CHAMPIONS, World, ask, twin
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.engine.engine import Engine

WORDS = ("short", "long", "odd")


def offer(rng: random.Random) -> tuple[dict[str, Any], str]:
    """Candidates for a phone or a screen, and the one that the shop's own rule takes."""
    device = rng.choice(["phone", "screen"])
    kinds = list(WORDS)
    rng.shuffle(kinds)
    body = {
        "candidates": [{"id": f"{i}", "features": {"kind": kind}} for i, kind in enumerate(kinds)],
        "context": {"device": device},
    }
    return body, str(kinds.index("short" if device == "phone" else "long"))


@pytest.mark.parametrize("body", [{"loop": "choose", "id_feature": False}, {"loop": "choose", "feedback": "better"}])
def test_an_apprentice_comes_to_agree(body: dict[str, Any]) -> None:
    engine, rng = Engine(MemoryStore()), random.Random(3)
    engine.create("m", model(body))
    for _ in range(200):
        asked, right = offer(rng)
        reply = engine.decide("m", request(asked | {"chosen": right}))
        assert (reply["choice"], reply["explored"]) == (right, False)
    agreement = engine.describe("m").agreement
    assert agreement is not None
    assert agreement.of == 200
    assert 0.75 < agreement.value <= 1.0
    assert engine.models["m"].version == 200
    learner = engine.learners.get(engine.models["m"], None).learner
    right_now = 0
    for _ in range(50):
        asked, right = offer(rng)
        context, ids = engine.models["m"].blueprint.loop.context(request(asked))
        right_now += ids[learner.predict(context)] == right
    assert right_now >= 45


CHOSEN = {
    "records": ("choice", "c", "c"),
    "keyed": ("choice", "a", "a"),
    "rows": ("choice", "d", "d"),
    "labels": ("label", "y", "y"),
    "named": ("label", "y", "y"),
    "filter": ("forward", True, True),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_was_chosen_is_answered_taught_and_replayed(name: str) -> None:
    body = CHAMPIONS[name]
    field, chosen, answered = CHOSEN[name]
    world = World(body, CommittedTables(), shadow=twin(body, shadow_of="champion"))
    for _ in range(10):
        reply = world.engine.decide("champion", request(ask(body, world.rng) | {"chosen": chosen}))
        assert reply[field] == answered
    for each in ("champion", "shadow"):
        assert world.engine.models[each].version == 10
        agreement = world.engine.describe(each).agreement
        assert agreement is not None
        assert agreement.of == 10
    again = world.open()
    assert world.states(again) == world.states()
    assert again.story(reply["decision"]).shown[field] == answered
    reaction = {"choice": {"reward": 1.0}, "label": {"label": "y"}, "forward": {"relevant": True}}[field]
    assert (
        world.engine.feedback(reply["decision"], feedback_body(**reaction)).status == "learnt"
    )  # and what came of it counts
    assert world.engine.models["shadow"].version == 11
    assert world.states(world.open()) == world.states()


LEARNERS = {
    "records": CHAMPIONS["records"],
    "bits": {"loop": "label", "learner": "Banditron", "labels": ["x", "y", "z"], "params": {"dim": 2}},
    "true labels": CHAMPIONS["named"],
}


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_drawn_and_what_came_of_it_is_learned(name: str) -> None:
    body = LEARNERS[name]
    world = World(body, CommittedTables())
    for i in range(12):
        chosen = "abcd"[i % 4] if name == "records" else "xy"[i % 2]
        reply = world.engine.decide("champion", request(ask(body, world.rng) | {"chosen": chosen}))
        assert reply["propensity"] is None
        assert not reply.get("propensities")
        assert reply["explored"] is False
        feedback = {"records": {"reward": i % 2}, "bits": {"correct": i % 3 == 0}, "true labels": {"label": "x"}}[name]
        assert world.engine.feedback(reply["decision"], feedback_body(**feedback)).status == "learnt"
    assert world.engine.story(reply["decision"]).shown["propensity"] is None
    assert world.states(world.open()) == world.states()


def test_what_is_excluded_cannot_be_chosen() -> None:
    for loop in ("rank", "choose"):
        engine = Engine(MemoryStore())
        engine.create("m", model({"loop": loop}))
        asked = {"candidates": [{"id": "a"}, {"id": "b"}], "exclude": ["b"]}
        with pytest.raises(SmidgenError) as caught:
            engine.decide("m", request(asked | {"chosen": "b"}))
        assert caught.value.status == 422
        assert engine.decide("m", request(asked | {"chosen": "a"}))["propensity"] is None


def test_a_ranking_may_be_chosen() -> None:
    body = CHAMPIONS["rank"]
    world = World(body, CommittedTables())
    for _ in range(3):
        reply = world.engine.decide("champion", request(ask(body, world.rng) | {"chosen": ["d", "b"]}))
        assert reply["ranking"][:2] == ["d", "b"]
        assert sorted(reply["ranking"]) == ["a", "b", "c", "d"]
    assert world.engine.decide("champion", request(ask(body, world.rng) | {"chosen": "c"}))["ranking"][0] == "c"
    assert world.engine.models["champion"].version == 4
    assert world.states(world.open()) == world.states()


def test_one_that_cannot_be_taught_only_agrees_or_not() -> None:
    engine, rng = Engine(MemoryStore()), random.Random(0)
    engine.create("m", model({"loop": "rank"}))
    asked, right = offer(rng)
    reply = engine.decide("m", request(asked | {"chosen": right}))
    assert reply["ranking"][0] == right
    described = engine.describe("m")
    assert (described.learner, described.model_version) == ("PDGD", 0)
    assert described.agreement is not None
    assert engine.feedback(reply["decision"], feedback_body(clicked=[right])).status == "learnt"
    engine.create("pairs", model({"loop": "rank", "learner": "FairPairs"}))
    reply = engine.decide("pairs", request(asked | {"chosen": right}))
    with pytest.raises(SmidgenError) as caught:  # it learns only from pairs that it has drawn itself
        engine.feedback(reply["decision"], feedback_body(clicked=[right]))
    assert 400 <= caught.value.status < 500


BAD = {
    "records": ["e", ["a", "b"], True],
    "labels": ["w", 3, ["y"]],
    "filter": ["forward", 1],
    "rank": [True, ["a", "a"], ["a", "x"]],
    "tune": ["a"],
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_chosen_is_refused(name: str) -> None:
    body = CHAMPIONS[name]
    world = World(body, CommittedTables())
    for chosen in BAD[name]:
        with pytest.raises(SmidgenError) as caught:
            world.engine.decide("champion", request(ask(body, world.rng) | {"chosen": chosen}))
        assert caught.value.status == 422
    assert world.engine.models["champion"].decisions == 0
    assert world.engine.decide("champion", request(ask(body, world.rng)))["decision"]


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        assert call.put("/v1/models/m", {"loop": "choose"}).status_code == 201
        assert call.get("/v1/models/m").json()["agreement"] is None
        asked, right = offer(random.Random(1))
        reply = call.post("/v1/models/m/decisions", asked | {"chosen": right})
        assert (reply.status_code, reply.json()["choice"], reply.json()["model"]) == (201, right, "m")
        shown = call.get("/v1/models/m").json()
        assert (shown["agreement"]["of"], shown["model_version"]) == (1, 1)
        refused = call.post("/v1/models/m/decisions", asked | {"chosen": "nobody"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "impossible")
