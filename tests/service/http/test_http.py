"""The contract over HTTP: statuses, forms, refusals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import MODELS, Clock, decision_body, reaction
from service.tokens import Mint

DOCS = [{"id": "p", "features": [1, 0, 0]}, {"id": "q", "features": [0, 1, 0]}, {"id": "r", "features": [0, 0, 1]}]


@pytest.fixture
def call(tmp_path: Path, clock: Clock) -> Iterator[Caller]:
    with Caller(tmp_path, clock=clock, max_body=100_000) as caller:
        yield caller


def error(answer: Any) -> tuple[int, str]:
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "hint"}
    return answer.status_code, body["error"]["code"]


@pytest.mark.parametrize("name", MODELS)
def test_every_loop_from_beginning_to_end(name: str, call: Caller) -> None:
    rng = random.Random(5)
    assert call.put(f"/v1/models/{name}", MODELS[name]).status_code == 201
    assert call.put(f"/v1/models/{name}", MODELS[name]).status_code == 200
    answers = {
        "rank": "ranking",
        "choose": "choice",
        "label": "label",
        "filter": "forward",
        "tune": "point",
        "draft": "choice",
    }
    learnt = 0
    for _ in range(12):
        made = call.post(f"/v1/models/{name}/decisions", decision_body(name, rng))
        assert made.status_code == 201
        reply = made.json()
        assert {"decision", "model_version", "explored", "propensity", "expires_at"} <= set(reply)
        assert answers[MODELS[name]["loop"]] in reply
        assert reply["model_version"] == learnt
        given = reaction(name, reply, rng)
        if given is not None:
            heard = call.post(f"/v1/decisions/{reply['decision']}/feedback", given)
            learnt += 1
            assert (heard.status_code, heard.json()) == (200, {"status": "learnt", "model_version": learnt})
            story = call.get(f"/v1/decisions/{reply['decision']}").json()
            assert (story["learnt_version"], story["why_not"]) == (learnt, None)
            assert story["feedback"].keys() == {"unchanged"} if name == "sealed" else story["feedback"] == given
    shown = call.get(f"/v1/models/{name}").json()
    assert (shown["model_version"], shown["decisions"]) == (learnt, 12)
    log = [msgspec.json.decode(line) for line in call.get(f"/v1/models/{name}/log?after=3").text.splitlines()]
    assert [line["seq"] for line in log] == list(range(4, 14 + learnt))


def test_feedback_statuses(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/m", MODELS["rank"])
    first, second = (call.post("/v1/models/m/decisions", {"candidates": DOCS}).json()["decision"] for _ in range(2))
    where = f"/v1/decisions/{first}/feedback"
    assert call.post(where, {"clicked": ["r"]}).json() == {"status": "learnt", "model_version": 1}
    assert call.post(where, {"clicked": ["r"]}).json() == {"status": "duplicate", "model_version": 1}
    assert error(call.post(where, {"clicked": ["q"]})) == (409, "conflict")
    assert error(call.post("/v1/decisions/nobody/feedback", {"clicked": ["q"]})) == (404, "unknown_decision")
    assert error(call.post(f"/v1/decisions/{second}/feedback", {"better": ["x"]})) == (422, "impossible")
    clock.now += 90_000
    late = call.post(f"/v1/decisions/{second}/feedback", {"better": ["q"]})
    assert (late.status_code, late.json()) == (202, {"status": "late", "model_version": 1})
    assert call.post(where, {"clicked": ["r"]}).json()["status"] == "duplicate"


def test_batches_keep_their_order_and_name_the_bad_item(call: Caller) -> None:
    call.put("/v1/models/m", MODELS["label"])
    rows = [{"id": f"r{i}", "features": [i, 1, 0]} for i in range(5)]
    made = call.post("/v1/models/m/decisions:batch", {"decisions": rows})
    assert made.status_code == 201
    again = call.post("/v1/models/m/decisions:batch", {"decisions": rows})
    assert again.json() == made.json()
    refused = call.post("/v1/models/m/decisions:batch", {"decisions": [*rows, {"features": [1]}]})
    assert error(refused) == (422, "impossible")
    assert "decision 5" in refused.json()["error"]["message"]
    assert call.get("/v1/models/m").json()["decisions"] == 5


def test_archived_models_decide_no_more(call: Caller) -> None:
    call.put("/v1/models/m", MODELS["rank"])
    assert call("DELETE", "/v1/models/m").json()["archived_at"] is not None
    assert error(call.post("/v1/models/m/decisions", {"candidates": DOCS})) == (409, "conflict")
    assert error(call.put("/v1/models/m", MODELS["rank"])) == (409, "conflict")
    assert call.get("/v1/models/m/log").status_code == 200
    assert error(call("DELETE", "/v1/models/nobody")) == (404, "unknown_model")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[", 400),
        (b'{"loss": NaN}', 400),
        (b'{"loss": Infinity}', 400),
        (b'{"loss": 1e999}', 422),
        (b'{"loss": "1"}', 422),
        (b'{"loss": 1, "loss": 1}', 400),
        (b'{"loss": 1, "why": 1}', 422),
        (b'{"better": "\xff"}', 400),
        (b"[" * 20_000 + b"]" * 20_000, 400),
        (b'{"better":' + b"[" * 20_000 + b"]" * 20_000 + b"}", 400),
        (b"null", 422),
        (b'{"loss": 1} {"loss": 2}', 400),
    ],
)
def test_bad_bodies_are_refused(raw: bytes, status: int, call: Caller) -> None:
    answer = call("POST", "/v1/decisions/x/feedback", content=raw, headers={"content-type": "application/json"})
    assert error(answer)[0] == status


def test_bodies_are_limited_and_must_be_plain_json(call: Caller) -> None:
    headers = {"content-type": "application/json"}
    where = "/v1/decisions/x/feedback"
    assert error(call("POST", where, content=b"x" * 100_001, headers=headers)) == (413, "too_large")

    async def chunks() -> Any:
        for _ in range(12):
            yield b" " * 10_000

    assert error(call("POST", where, content=chunks(), headers=headers)) == (413, "too_large")
    assert error(call("POST", where, content=b"{}", headers={"content-type": "text/plain"})) == (415, "wrong_media")
    assert error(call("POST", where, content=b"{}")) == (415, "wrong_media")
    assert error(call("POST", where, content=b"{}", headers={**headers, "content-encoding": "gzip"})) == (
        415,
        "wrong_media",
    )


@pytest.mark.parametrize("name", ["a\n", "..", "a/b", "%2e%2e", "a" * 101, "ü", "-a", ""])
def test_names_are_never_paths(name: str, call: Caller, tmp_path: Path) -> None:
    from urllib.parse import quote

    answer = call.put(f"/v1/models/{quote(name, safe='%')}", MODELS["rank"])
    assert answer.status_code in (400, 404, 405)
    assert call.get("/v1/models").json() == {"models": []}


def test_unknown_paths_and_methods(call: Caller) -> None:
    assert error(call.get("/v1/nothing")) == (404, "unknown")
    assert error(call("PATCH", "/v1/models")) == (405, "method_not_allowed")
    assert error(call.get("/v1/models/m/log?after=-1")) == (400, "bad_request")


def test_tokens_are_needed_once_one_exists(call: Caller) -> None:
    tokens = Mint(call.app.state.service.options.data)
    call.put("/v1/models/m", MODELS["rank"])
    call.put("/v1/models/other", MODELS["rank"])
    foreign = call.post("/v1/models/other/decisions", {"candidates": DOCS}).json()["decision"]
    _, decide = tokens.create(["decide"], "m", 0.0)
    id, admin = tokens.create(["admin"], None, 0.0)

    def bearing(token: str) -> dict[str, Any]:
        return {"headers": {"authorization": f"Bearer {token}"}}

    body = {"candidates": DOCS}
    assert error(call.post("/v1/models/m/decisions", body)) == (401, "not_allowed")
    assert error(call.post("/v1/models/m/decisions", body, **bearing("smidgen_wrong"))) == (401, "not_allowed")
    assert call.post("/v1/models/m/decisions", body, **bearing(decide)).status_code == 201
    assert error(call.post("/v1/models/other/decisions", body, **bearing(decide))) == (403, "out_of_scope")
    assert error(call.put("/v1/models/n", MODELS["rank"], **bearing(decide))) == (403, "out_of_scope")
    assert error(call.post(f"/v1/decisions/{foreign}/feedback", {"clicked": ["r"]}, **bearing(decide))) == (
        403,
        "out_of_scope",
    )
    assert error(call.get(f"/v1/decisions/{foreign}", **bearing(decide))) == (404, "unknown_decision")
    assert [m["name"] for m in call.get("/v1/models", **bearing(decide)).json()["models"]] == ["m"]
    _, feedback = tokens.create(["feedback"], "m", 0.0)
    assert error(call.post(f"/v1/decisions/{foreign}/feedback", {"clicked": ["r"]}, **bearing(feedback))) == (
        404,
        "unknown_decision",
    )
    assert call.put("/v1/models/n", MODELS["rank"], **bearing(admin)).status_code == 201
    tokens.revoke(id, 1.0)
    assert error(call.put("/v1/models/n", MODELS["rank"], **bearing(admin))) == (401, "not_allowed")
    assert call.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("host", "good"),
    [("127.0.0.1:8470", True), ("localhost", True), ("[::1]:8470", True), ("evil.example", False), ("", False)],
)
def test_without_a_token_only_this_machine_is_served(host: str, good: bool, call: Caller) -> None:
    assert call.get("/v1/models", headers={"host": host}).status_code == (200 if good else 403)
    _, token = Mint(call.app.state.service.options.data).create(["admin"], None, 0.0)
    with_token = {"host": host, "authorization": f"Bearer {token}"}
    assert call.get("/v1/models", headers=with_token).status_code == 200
    assert call.get("/v1/models", headers={"host": host}).status_code == 401


def test_health_metrics_and_the_document(call: Caller) -> None:
    call.put("/v1/models/m", MODELS["rank"])
    assert call.get("/healthz").json()["status"] == "ok"
    assert call.get("/readyz").json().items() >= {"status": "ready", "models": 1}.items()
    assert 'smidgen_model_decisions_total{model="m"} 0' in call.get("/metrics").text
    document = call.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    served = {
        route.path.replace(":path}", "}") for route in call.app.routes if getattr(route, "path", "").startswith("/v1")
    }
    assert served == {path for path in document["paths"] if path.startswith("/v1")}
