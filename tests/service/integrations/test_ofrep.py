"""OpenFeature's remote evaluation: its published Python provider, unchanged; and the protocol itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.live import Live
from service.tokens import Mint
from smidgen.client import Client

FLAGS = "/ofrep/v1/evaluate/flags"
COLOURS = [{"id": "teal"}, {"id": "red", "features": {"warm": True}}]


def flag(candidates: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"loop": "choose", "feedback": "reward", "candidates": candidates, **more}


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path) as caller:
        caller.put("/v1/models/button", flag(COLOURS))
        yield caller


def test_its_own_provider_evaluates(tmp_path: Path) -> None:
    api = pytest.importorskip("openfeature.api", reason="the OpenFeature SDK is not installed")
    provider = pytest.importorskip("openfeature.contrib.provider.ofrep", reason="its provider is not installed")
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import ErrorCode

    with Live(tmp_path / "data") as live, Client(live.url) as ours:
        ours.create("button", loop="choose", feedback="reward", candidates=COLOURS)
        ours.create("beta", loop="choose", feedback="reward", keyed=True, candidates=[{"id": "true"}, {"id": "false"}])
        sizes = [{"id": "small", "value": 12}, {"id": "large", "value": 16}]
        ours.create("size", loop="choose", feedback="reward", candidates=sizes)
        theirs = provider.OFREPProvider(live.url)
        api.set_provider(theirs)
        try:
            flags, ann = api.get_client(), EvaluationContext("ann", {"device": "ios", "visits": 3, "tags": ["a", "b"]})
            found = flags.get_string_details("button", "grey", ann)
            assert found.value in ("teal", "red")
            assert (found.variant, found.reason) == (found.value, "SPLIT")
            assert ours.learn(found.flag_metadata["decision"], reward=1.0).status == "learnt"
            assert flags.get_boolean_value("beta", None, ann) in (True, False)
            assert flags.get_integer_value("size", 0, ann) in (12, 16)
            missing = flags.get_boolean_details("beta", False)
            assert (missing.value, missing.error_code) == (False, ErrorCode.TARGETING_KEY_MISSING)
            nobody = flags.get_string_details("nobody", "grey", ann)
            assert (nobody.value, nobody.error_code) == ("grey", ErrorCode.FLAG_NOT_FOUND)
        finally:
            api.clear_providers()
            theirs.session.close()


class TestOneFlag:
    def test_is_a_decision_that_counts_once_it_is_rewarded(self, call: Caller) -> None:
        reply = call.post(f"{FLAGS}/button", {"context": {"targetingKey": "ann", "device": "ios"}}).json()
        assert reply.keys() == {"key", "value", "variant", "reason", "metadata"}
        assert 0.0 < reply["metadata"]["propensity"] <= 1.0
        decision = reply["metadata"]["decision"]
        assert call.get(f"/v1/decisions/{decision}").json()["shown"]["choice"] == reply["value"]
        assert call.post(f"/v1/decisions/{decision}/feedback", {"reward": 1}).json()["status"] == "learnt"
        names = {each["name"] for each in call.get("/v1/models/button/weights").json()["weights"]}
        assert f"id={reply['value']}" in names
        assert not any("targetingKey" in name for name in names)

    @pytest.mark.parametrize("body", [{}, {"context": {}}, {"context": {"a": [1, {"b": 2}], "c": None}}, {"other": 1}])
    def test_takes_every_context(self, call: Caller, body: Any) -> None:
        assert call.post(f"{FLAGS}/button", body).status_code == 200

    def test_refusals_are_the_protocols(self, call: Caller) -> None:
        unknown = call.post(f"{FLAGS}/nobody", {})
        assert (unknown.status_code, unknown.json()["errorCode"]) == (404, "FLAG_NOT_FOUND")
        assert unknown.json()["key"] == "nobody"
        headers = {"content-type": "application/json"}
        broken = call("POST", f"{FLAGS}/button", content=b"{", headers=headers)
        assert (broken.status_code, broken.json()["errorCode"]) == (400, "PARSE_ERROR")
        far = call.post(f"{FLAGS}/button", {"context": {"x": 1e300}})
        assert (far.status_code, far.json()["errorCode"]) == (400, "INVALID_CONTEXT")

    def test_a_model_without_kept_candidates_or_archived_is_no_flag(self, call: Caller) -> None:
        call.put("/v1/models/plain", {"loop": "choose", "feedback": "reward"})
        call("DELETE", "/v1/models/button")
        for name in ("plain", "button"):
            assert call.post(f"{FLAGS}/{name}", {}).json()["errorCode"] == "FLAG_NOT_FOUND"

    def test_an_api_key_is_a_token(self, call: Caller, tmp_path: Path) -> None:
        _, key = Mint(tmp_path).create(["decide"], "button", 0.0)
        assert call.post(f"{FLAGS}/button", {}).status_code == 401
        assert call.post(f"{FLAGS}/button", {}, headers={"X-API-Key": key}).status_code == 200
        assert call.post(f"{FLAGS}/button", {}, headers={"Authorization": f"Bearer {key}"}).status_code == 200


class TestAllFlags:
    def test_are_the_same_until_a_model_learns(self, call: Caller) -> None:
        call.put("/v1/models/keyed", flag(COLOURS, keyed=True))
        body = {"context": {"device": "ios"}}
        first = call.post(FLAGS, body)
        button, keyed = first.json()["flags"]
        assert button["value"] in ("teal", "red")
        assert keyed["errorCode"] == "TARGETING_KEY_MISSING"
        again = call.post(FLAGS, body, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.headers["etag"]) == (304, first.headers["etag"])
        call.post(f"/v1/decisions/{button['metadata']['decision']}/feedback", {"reward": 1})
        assert call.post(FLAGS, body, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


class TestKeptCandidates:
    def test_a_request_may_leave_them_out_or_bring_others(self, call: Caller) -> None:
        assert call.post("/v1/models/button/decisions", {}).json()["choice"] in ("teal", "red")
        other = call.post("/v1/models/button/decisions", {"candidates": [{"id": "blue"}]})
        assert other.json()["choice"] == "blue"
        only = call.post("/v1/models/button/decisions", {"exclude": ["teal"]})
        assert only.json()["choice"] == "red"
        assert [each["id"] for each in call.get("/v1/models/button").json()["candidates"]] == ["teal", "red"]

    def test_are_checked_when_the_model_is_made(self, call: Caller) -> None:
        twice = call.put("/v1/models/x", flag([{"id": "a"}, {"id": "a"}]))
        assert (twice.status_code, twice.json()["error"]["code"]) == (422, "impossible")
        assert call.put("/v1/models/x", {"loop": "rank", "candidates": COLOURS}).status_code == 422
        numbers = flag([{"id": "a", "features": [1.0]}], features=["x", "y"])
        assert call.put("/v1/models/x", numbers).status_code == 422

    def test_survive_a_restart(self, tmp_path: Path) -> None:
        with Caller(tmp_path) as call:
            call.put("/v1/models/button", flag(COLOURS))
        with Caller(tmp_path) as call:
            assert call.put("/v1/models/button", flag(COLOURS)).status_code == 200
            assert call.post(f"{FLAGS}/button", {}).status_code == 200
