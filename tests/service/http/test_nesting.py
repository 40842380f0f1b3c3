"""Nested bodies: every route that takes a body, at depths around the limits of the stack, answers 4xx and not 5xx."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from service.asgi import Caller
from smidgen.learners.plugins import load_plugins
from smidgen.service.errors import DEEP
from smidgen.service.http.app import DEMOS, routes

DEPTHS = (DEEP - 20, DEEP + 1, 480, 1_000, 100_000)
#: Every body at the depths around our own limit; past it all are refused at one place, and every fourth body is enough.
CLOSE = 20
#: More of them around the limits of readers, with every body: half a minute.
MANY_DEPTHS = (DEEP - 20, DEEP + 1, 250, 330, 400, 470, 480, 490, 700, 900, 980, 1_000, 5_000, 100_000)
#: Paths of the routes, with a model and a decision that are there.
VALUES = {"name": "flag", "key": "k", "event": "e", "version": "v1.1-preview.1", "file": "app.js"}
FIELDS = (
    "candidates", "context", "features", "params", "labels", "knobs", "examples", "feedback", "decisions", "actions",
    "contextFeatures", "events", "drafts", "value", "reward", "clicked", "better", "shadow_of", "add_text", "gradient",
)  # fmt: skip
#: Bodies whose other fields are right, with a place for something nested.
AROUND = (
    "{}",
    '{"x": {}}',
    '{"candidates": [{"id": "a", "features": {}}, {"id": "b"}]}',
    '{"candidates": [{"id": "a", "features": {"x": {}}}, {"id": "b"}]}',
    '{"candidates": [{"id": "a"}, {"id": "b"}], "context": {"x": {}}}',
    '{"actions": [{"id": "a", "features": [{"x": {}}]}, {"id": "b"}]}',
    '{"actions": [{"id": "a"}, {"id": "b"}], "contextFeatures": [{"x": {}}]}',
    '{"actions": [{"id": "a"}, {"id": "b"}], "somethingElse": {}}',
    '{"context": {"targetingKey": "k", "x": {}}}',
    '{"context": {}, "somethingElse": {}}',
    '{"loop": "choose", "candidates": [{"id": "a", "value": {}}, {"id": "b"}]}',
    '{"loop": "rank", "params": {"x": {}}}',
    '{"loop": "tune", "knobs": {"x": {}}}',
    '{"action_name": "click", "query_id": "q", "event_attributes": {"object": {"object_id": "a", "x": {}}}}',
    '{"_label_cost": -1, "_label_Action": 1, "c": {"x": {}, "_multi": [{"_tag": "a"}]}}',
    '{"_label_cost": -1, "_label_Action": 1, "c": {"_multi": [{"_tag": "a", "x": {}}]}}',
    *(f'{{"{field}": {{}}}}' for field in FIELDS),
)
MEDIA = ("application/json", "application/x-ndjson", "application/x-dsjson", "application/octet-stream")


def nested(depth: int, kind: str) -> str:
    return "[" * depth + "]" * depth if kind == "lists" else '{"a":' * depth + "1" + "}" * depth


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with Caller(tmp_path_factory.mktemp("nested")) as caller:
        made = caller.put("/v1/models/flag", {"loop": "choose", "candidates": [{"id": "a"}, {"id": "b"}]})
        assert made.status_code == 201
        yield caller


def targets() -> list[tuple[str, str]]:
    load_plugins(DEMOS)
    found = [getattr(each, "route", each) for each in routes()]
    return sorted(
        {
            (method, re.sub(r"{(\w+)[^}]*}", lambda name: VALUES.get(name[1], "0" * 24), route.path))
            for route in found
            if isinstance(route, Route)
            for method in (route.methods or set()) & {"POST", "PUT", "PATCH"}
        }
    )


@pytest.mark.parametrize("depths", [DEPTHS, pytest.param(MANY_DEPTHS, marks=pytest.mark.long)], ids=["some", "many"])
@pytest.mark.parametrize(("method", "path"), targets())
def test_nested_bodies_are_no_failure_of_ours(method: str, path: str, depths: tuple[int, ...], call: Caller) -> None:
    medias = MEDIA if path.endswith((":import", "/ubi")) else MEDIA[:1]
    before = log(call)
    asked = []
    for media, depth, kind in itertools.product(medias, depths, ("lists", "objects")):
        inside = nested(depth, kind)
        some = AROUND[:2] if depth >= 5_000 else AROUND[:: 4 if depths is DEPTHS and depth > DEEP + CLOSE else 1]
        bodies = [around.replace("{}", inside, 1) for around in some]
        asked += [(media, depth, kind, body) for body in bodies]

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=call.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [
                await client.request(method, path, content=body.encode(), headers={"content-type": media})
                for media, _, _, body in asked
            ]

    failed = {
        (media, depth, kind, body[:60], answer.status_code)
        for (media, depth, kind, body), answer in zip(asked, call._run(ask()), strict=True)
        if answer.status_code >= 500 or (depth > DEEP and answer.status_code < 400 and not _without_body(path))
    }
    assert failed == set()
    assert path.startswith(("/v1/models/flag", "/personalizer", "/ofrep")) or log(call) == before


def _without_body(path: str) -> bool:
    """True if a call ignores its body."""
    return path.endswith((":revive", ":promote", ":retract", "/shown", "/activate", "/ubi"))


def log(call: Caller) -> Any:
    return call.get("/v1/models/flag/log").text


def test_the_limit_is_exact_and_brackets_in_words_do_not_count(call: Caller) -> None:
    def status(context: Any) -> int:
        return call.post("/ofrep/v1/evaluate/flags/flag", {"context": context}).status_code

    def deep(levels: int) -> Any:
        return {"_note": json.loads(nested(levels, "objects"))}  # notes are for people: they may be anything

    assert status(deep(DEEP - 2)) == 200
    refused = call.post("/ofrep/v1/evaluate/flags/flag", {"context": deep(DEEP - 1)})
    assert refused.status_code == 400
    assert f"{DEEP} levels" in refused.text
    assert status({"word": "[" * 1_000}) == 200


def test_a_number_that_is_too_large_is_refused_in_a_field_that_is_passed_over(call: Caller) -> None:
    for path in ("/ofrep/v1/evaluate/flags/flag", "/personalizer/v1.0/rank"):
        body = b'{"context": {}, "actions": [{"id": "a"}], "x": 1e999}'
        answer = call("POST", path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400, answer.text
        assert "out of range" in answer.text
