"""Bad vectors, costs and reports: each is refused with a clear error, and nothing is half learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller

BODY = {"loop": "choose", "feedback": "reward", "budget": {"usd": 1.0}, "rewards": {"click": 0.2, "purchase": 1.0}}
CANDIDATES: list[dict[str, Any]] = [{"id": "a", "costs": {"usd": 1}}, {"id": "b", "costs": {"usd": 2}}]
REQUESTS: dict[str, tuple[dict[str, Any] | str, str]] = {
    "another length": ({"context": {"emb": [1, 2]}}, "context.emb"),
    "NaN": ('{"candidates": [{"id": "a"}], "context": {"emb": [1, NaN, 2]}}', ""),
    "one number": ({"context": {"emb": [1]}}, "context.emb"),
    "nested": ({"context": {"emb": [[1, 2], [3, 4]]}}, "context.emb"),
    "mixed": ({"context": {"emb": [1, "x", 2]}}, "context.emb"),
    "booleans": ({"context": {"emb": [True, False, True]}}, "context.emb"),
    "a million": ({"context": {"other": [0.5] * 1_000_000}}, ""),
    "negative cost": ({"candidates": [{"id": "a", "costs": {"usd": -1}}]}, "costs"),
    "infinite cost": ('{"candidates": [{"id": "a", "costs": {"usd": 1e999}}]}', ""),
    "unknown currency": ({"candidates": [{"id": "a", "costs": {"eur": 1}}]}, "eur"),
}
REPORTS: dict[str, tuple[dict[str, Any], str]] = {
    "a part that is not declared": ({"reward": {"refund": 1}}, "refund"),
    "a number in the place of parts": ({"reward": 1.0}, "parts"),
    "too large": ({"reward": {"click": 1e7}}, "reward.click"),
    "final without a reward": ({"final": True}, "final"),
    "negative cost": ({"costs": {"usd": -0.5}}, "costs"),
    "unknown currency": ({"costs": {"eur": 0.5}}, "eur"),
}


def state(call: Caller) -> dict[str, Any]:
    found: dict[str, Any] = call.get("/v1/models/m").json()
    return {name: found[name] for name in ("model_version", "decisions", "answered", "late", "budget", "quality")}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_that_cannot_be_are_refused_whole(tmp_path: Path, name: str) -> None:
    asked, said = REQUESTS[name]
    with Caller(tmp_path) as call:
        call.put("/v1/models/m", BODY)
        first = {"candidates": CANDIDATES, "context": {"emb": [1, 2, 3]}}
        assert call.post("/v1/models/m/decisions", first).status_code == 201
        before = state(call)
        path = "/v1/models/m/decisions"
        if isinstance(asked, str):
            refused = call("POST", path, content=asked, headers={"content-type": "application/json"})
        else:
            refused = call.post(path, {"candidates": CANDIDATES, **asked})
        assert refused.status_code in (400, 413, 422), refused.text
        assert said in refused.json()["error"]["message"]
        assert refused.json()["error"]["hint"]
        assert state(call) == before
        assert call.post(path, first).status_code == 201


@pytest.mark.parametrize("name", REPORTS)
def test_reports_that_cannot_be_are_refused_whole(tmp_path: Path, name: str) -> None:
    given, said = REPORTS[name]
    with Caller(tmp_path) as call:
        call.put("/v1/models/m", BODY)
        made = call.post("/v1/models/m/decisions", {"candidates": CANDIDATES}).json()["decision"]
        before, path = state(call), f"/v1/decisions/{made}/feedback"
        refused = call.post(path, given)
        assert refused.status_code == 422, refused.text
        assert said in refused.json()["error"]["message"]
        assert state(call) == before
        assert call.post(path, {"reward": {"click": 1}}).json()["status"] == "recorded"
        assert call.post(path, {"reward": {"click": 1}}).json()["status"] == "duplicate"
        assert call.post(path, {"reward": {"click": 0}}).status_code == 409
        assert call.post(path, {"reward": {"purchase": 1}}).json()["status"] == "learnt"
        assert state(call)["model_version"] == before["model_version"] + 1
