"""The endpoint for search engines: UBI events whose query_id is a decision's id become clicks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import smidgen
from service.asgi import Caller
from service.bodies import Clock
from service.live import Live
from service.tokens import Mint

MODEL: dict[str, Any] = {"loop": "rank", "features": ["match", "fresh"]}
OFFERED = [
    {"id": "B07XLFYN6S", "features": [0.9, 0.1]},
    {"id": "B013UFPODY", "features": [0.2, 0.8]},
    {"id": 17, "features": [0.1, 0.3]},
]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as found:
        found.put("/v1/models/search", MODEL)
        yield found


def asked(call: Caller, name: str = "search") -> str:
    decision: str = call.post(f"/v1/models/{name}/decisions", {"candidates": OFFERED}).json()["decision"]
    return decision


def event(query: str | None, object_id: Any = "B013UFPODY", action: str = "click") -> dict[str, Any]:
    """An event as the published clients send it."""
    return {
        "application": "primary-search",
        "action_name": action,
        "query_id": query,
        "session_id": "84266fdbd31d4c2c6d0665f7e8380fa3",
        "client_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
        "user_id": None,
        "timestamp": "2025-02-18T20:20:39.123Z",
        "message_type": "CLICK_THROUGH",
        "message": "clicked on a product",
        "event_attributes": {
            "object": {"object_id": object_id, "object_id_field": "asin", "name": "a: toner", "price": 3.5},
            "position": {"ordinal": 2, "xy": {"x": 1.0, "y": 2.0}},
            "browser": {"width": 1280},
        },
    }


def test_clicks_of_a_page_are_one_feedback(call: Caller) -> None:
    one, two, silent = asked(call), asked(call), asked(call)
    sent = [
        event(one, action="impression"),
        event(one),
        event(two, "17"),
        event(one, 17),
        event(one, action="add_to_cart"),
        event(silent, action="on_search"),
        {"action_name": "page_exit", "query_id": one, "timestamp": "2025-02-18T20:21:00Z"},
    ]
    reply = call.post("/v1/ubi", sent)
    assert reply.status_code == 200
    assert reply.json() == {
        "results": [
            {"decision": one, "clicked": ["B013UFPODY", 17], "status": "learnt", "model_version": 1},
            {"decision": two, "clicked": [17], "status": "learnt", "model_version": 2},
        ],
        "passed_over": 3,
        "unknown": 0,
        "elsewhere": 0,
    }
    story = call.get(f"/v1/decisions/{one}").json()
    assert story["feedback"] == {"clicked": ["B013UFPODY", 17]}
    assert call.get(f"/v1/decisions/{silent}").json()["feedback"] is None
    again = call.post("/v1/ubi", sent).json()["results"]
    assert [each["status"] for each in again] == ["duplicate", "duplicate"]
    (later,) = call.post("/v1/ubi", event(one, "B07XLFYN6S")).json()["results"]
    assert later == {"decision": one, "clicked": ["B07XLFYN6S"], "status": "answered"}
    assert call.get("/v1/models/search").json()["model_version"] == 2


@pytest.mark.parametrize("form", ["one", "list", "held", "lines"])
def test_every_form_of_a_body(call: Caller, form: str) -> None:
    decision = asked(call)
    one = event(decision)
    body: Any = {"one": one, "list": [one], "held": {"events": [one]}, "lines": None}[form]
    if form == "lines":
        content = f"{json.dumps(one)}\n{json.dumps(event(None))}\n"
        reply = call("POST", "/v1/ubi", content=content, headers={"content-type": "application/x-ndjson"})
    else:
        reply = call.post("/v1/ubi", body)
    assert [each["status"] for each in reply.json()["results"]] == ["learnt"]


def test_what_is_not_ours_is_counted_and_no_fault(call: Caller) -> None:
    call.put("/v1/models/banner", {"loop": "choose", "features": ["match", "fresh"]})
    decision, choice = asked(call), asked(call, "banner")
    sent = [event("00112233-4455-6677-8899-aabbccddeeff"), event(choice), event(decision, "gone"), event(None)]
    reply = call.post("/v1/ubi", sent).json()
    assert reply == {"results": [], "passed_over": 1, "unknown": 2, "elsewhere": 1}
    watched = call.post("/v1/ubi?actions=dwell,like", [event(decision, action="like"), event(decision, 17)]).json()
    assert watched["results"][0]["clicked"] == ["B013UFPODY"]
    assert watched["passed_over"] == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("{", 400),
        ("[{]", 400),
        ("5", 422),
        ("{}", 422),
        ('[{"query_id": "a"}]', 422),
        ('[{"action_name": "click", "query_id": 5}]', 422),
        ('[{"action_name": "click", "event_attributes": {"object": {"object_id": [1]}}}]', 422),
        ("[" + ",".join(['{"action_name":"click"}'] * 10_001) + "]", 422),
        ("[" * 100_000, 422),
        ('[{"action_name": "click", "more": ' + "[" * 100_000, 400),
        ("[]", 200),
    ],
)
def test_bodies_that_are_none(call: Caller, content: str, status: int) -> None:
    reply = call("POST", "/v1/ubi", content=content, headers={"content-type": "application/json"})
    assert reply.status_code == status, reply.text
    assert call("POST", "/v1/ubi", content="[]", headers={"content-type": "text/plain"}).status_code == 415


def test_late_clicks_and_foreign_models(tmp_path: Path) -> None:
    clock = Clock()
    with Caller(tmp_path / "data", clock=clock) as call:
        call.put("/v1/models/search", {**MODEL, "window_s": 60})
        call.put("/v1/models/other", MODEL)
        decision, foreign = asked(call), asked(call, "other")
        clock.now += 61
        assert call.post("/v1/ubi", event(decision)).json()["results"][0]["status"] == "late"
        _, token = Mint(tmp_path / "data").create(["feedback"], "search", 1.0)
        headers = {"authorization": f"Bearer {token}"}
        reply = call.post("/v1/ubi", event(foreign), headers=headers).json()
        assert (reply["results"], reply["unknown"]) == ([], 1)
        assert call.post("/v1/ubi", event(foreign)).status_code == 401


def test_the_clients_have_it(tmp_path: Path) -> None:
    with Live(tmp_path / "data") as service, smidgen.Client(service.url) as client:
        model = client.create("search", loop="rank", features=["match", "fresh"])
        answer = model.decide({"a": [1.0, 0.0], "b": [0.0, 1.0]})
        reply = client.ubi([event(answer.id, "b", "like")], actions=["like"])
        assert reply["results"][0]["status"] == "learnt"

        async def again() -> Any:
            async with smidgen.AsyncClient(service.url) as other:
                return await other.ubi([event(answer.id, "b")])

        assert asyncio.run(again())["results"][0]["status"] == "duplicate"
