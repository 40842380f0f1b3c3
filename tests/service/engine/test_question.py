"""The question of a decision in its story: what was asked, the best answers, and what spoke for the one."""

from __future__ import annotations

from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.memory import MemoryStore
from smidgen.service.engine.engine import Engine

ITEMS = [{"id": id, "features": {"size": float(i), "kind": f"k{i}"}} for i, id in enumerate("abcd")]
OFFER = {"context": {"device": "ios", "age": 31.0}, "candidates": ITEMS}
RECORD = {"features": {"device": "ios", "text": "where is my parcel", "pages": 3.0}}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "choose": ({"loop": "choose", "feedback": "reward"}, OFFER, {"reward": 1.0}),
    "better": ({"loop": "choose", "feedback": "better"}, OFFER, {"better": "b"}),
    "rank": ({"loop": "rank"}, OFFER, {"clicked": ["b"]}),
    "label": ({"loop": "label", "labels": ["x", "y"]}, RECORD, {"label": "y"}),
    "filter": ({"loop": "filter"}, RECORD, {"relevant": True}),
    "numbers": (
        {"loop": "choose", "feedback": "reward", "features": ["size", "age"]},
        {"candidates": [{"id": id, "features": {"size": 1.0 + i, "age": 0.5}} for i, id in enumerate("ab")]},
        {"reward": 1.0},
    ),
    "keyed": ({"loop": "choose", "feedback": "reward", "keyed": True}, OFFER | {"key": "ann"}, {"reward": 1.0}),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_story_holds_the_question(call: Caller, name: str) -> None:
    body, asked, heard = MODELS[name]
    call.put("/v1/models/m", body)
    for _ in range(3):
        made = call.post("/v1/models/m/decisions", asked).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", heard)
    story = call.get(f"/v1/decisions/{made['decision']}").json()
    assert story["asked"] == {field: value for field, value in asked.items() if field != "key"}
    answer = next(made[field] for field in ("choice", "ranking", "label", "forward") if field in made)
    assert story["greedy"] == answer or made["explored"]
    assert (story["contributions"]["version"], story["contributions_now"]["version"]) == (2, 3)
    assert story["contributions"]["items"]
    assert len(story["contributions"]["items"]) <= 20
    if body["loop"] in ("rank", "choose", "label") and name != "better":
        assert len(story["top"]) <= 3
        best = story["greedy"][0] if body["loop"] == "rank" else story["greedy"]
        assert story["top"][0]["id"] == best
    then = dict(story["contributions"]["items"])
    later = call.post("/v1/models/m/decisions", asked).json()
    call.post(f"/v1/decisions/{later['decision']}/feedback", heard)
    again = call.get(f"/v1/decisions/{made['decision']}").json()
    assert dict(again["contributions"]["items"]) == then
    assert again["contributions_now"]["version"] == 4


@pytest.mark.parametrize("name", ["choose", "rank", "label"])
def test_requests_that_are_not_kept_are_described_by_name(call: Caller, name: str) -> None:
    body, asked, heard = MODELS[name]
    call.put("/v1/models/m", body | {"keep_asked": False})
    assert call.get("/v1/models/m").json()["keep_asked"] is False
    for _ in range(3):
        made = call.post("/v1/models/m/decisions", asked).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", heard)
    said = call.get(f"/v1/decisions/{made['decision']}").json()["asked"]
    record = said["features"] if name == "label" else said["context"]
    assert record["device"] == "ios"
    if name != "label":
        assert [each["features"]["kind"] for each in said["candidates"]] == ["k0", "k1", "k2", "k3"]


def test_the_policy_of_a_holdout_has_no_contributions(call: Caller) -> None:
    call.put("/v1/models/m", {"loop": "choose", "feedback": "reward", "holdout": {"share": 1.0}})
    made = call.post("/v1/models/m/decisions", OFFER).json()
    story = call.get(f"/v1/decisions/{made['decision']}").json()
    assert (story["holdout"], story["contributions"], story["contributions_now"]) == (True, None, None)
    assert story["asked"] == OFFER


@pytest.mark.parametrize("count", [5, 60])
@pytest.mark.parametrize("name", ["choose", "better", "rank", "label", "filter", "numbers"])
def test_the_question_takes_few_bytes(name: str, count: int) -> None:
    body, asked, heard = MODELS[name]
    if "candidates" in asked:
        many = [asked["candidates"][i % len(asked["candidates"])] | {"id": f"item{i}"} for i in range(count)]
        asked, heard = asked | {"candidates": many}, {"better": "item1", "clicked": ["item1"], "reward": 1.0}
        heard = {field: heard[field] for field in MODELS[name][2]}
    engine = Engine(MemoryStore())
    engine.create("m", model(body))
    for _ in range(20):
        made = engine.decide("m", request(asked))["decision"]
        engine.feedback(made, feedback_body(**heard))
    row = engine.store.decision(made)
    assert row is not None
    event = engine.store.event(row.shard, row.seq)
    shared = engine.events.decision(engine.models["m"], row.seq).shared or {}
    assert event is not None
    size = len(event.body or b"")
    added = sum(len(shared[field]) + len(field) + 4 for field in ("asked", "why") if field in shared) + 1
    assert len(shared["why"]) <= 400
    assert added <= 600 if body["loop"] in ("label", "filter") else size <= 1.35 * (size - added)
