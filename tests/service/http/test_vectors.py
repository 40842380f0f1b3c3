"""Vectors over HTTP: lengths fixed by the first decision, weights, stories, logs, health, restarts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection


def vector(rng: random.Random, n: int = 48) -> list[float]:
    return [rng.gauss(0.0, 1.0) for _ in range(n)]


def ask(call: Caller, name: str, numbers: Any, **more: Any) -> Any:
    body = {"context": {"emb": numbers}, "candidates": [{"id": "a"}, {"id": "b", "features": {"kind": "x"}}], **more}
    return call("POST", f"/v1/models/{name}/decisions", json=body)


def play(call: Caller, name: str, rounds: int, **more: Any) -> list[str]:
    rng, made = random.Random(3), []
    for _ in range(rounds):
        numbers = vector(rng)
        reply = ask(call, name, numbers, **more).json()
        reward = float((numbers[0] > 0) == (reply["choice"] == "a"))
        assert call("POST", f"/v1/decisions/{reply['decision']}/feedback", json={"reward": reward}).status_code == 200
        made.append(reply["decision"])
    return made


@pytest.mark.parametrize("keyed", [False, True])
def test_the_first_decision_fixes_the_length_across_a_restart(tmp_path: Path, keyed: bool) -> None:
    more = {"key": "ann"} if keyed else {}
    with Caller(tmp_path) as call:
        assert call("PUT", "/v1/models/m", json={"loop": "choose", "keyed": keyed}).status_code == 201
        assert ask(call, "m", [1, 2, 3], **more).status_code == 201
    with Caller(tmp_path) as call:
        refused = ask(call, "m", [1, 2], **more)
        assert refused.status_code == 422
        assert "context.emb has 2 numbers, and the vectors of this field have 3" in refused.text
        given = [{"id": "a"}, {"id": "b", "features": {"emb": [1.0, 2.0]}}]
        ids = [{"id": each["id"], "features": {"emb": [1.0, 2.0, 3.0]}} for each in given]
        assert ask(call, "m", [1, 2, 3], **more, candidates=ids).status_code == 201
        refused = ask(call, "m", [1, 2, 3], **more, candidates=given)
        assert "candidates[1].features.emb has 2 numbers" in refused.json()["error"]["message"]
        made = ask(call, "m", [3, 2, 1], **more)
        assert made.status_code == 201
        story = call("GET", f"/v1/decisions/{made.json()['decision']}").json()
        assert story["asked"]["context"]["emb"] == {"f32": "AABAQAAAAEAAAIA/"}
        assert call("POST", f"/v1/decisions/{made.json()['decision']}/feedback", json={"reward": 1}).status_code == 200


@pytest.mark.parametrize("keyed", [False, True])
def test_the_earliest_decision_of_the_log_fixes_the_length_in_any_order_of_feedback(
    tmp_path: Path, keyed: bool
) -> None:
    more = {"key": "ann"} if keyed else {}
    with Caller(tmp_path) as call:
        call("PUT", "/v1/models/m", json={"loop": "choose", "keyed": keyed})
        first = ask(call, "m", [1, 2, 3], **more).json()["decision"]
        assert ask(call, "m", [1, 2], **more).status_code == 422
        later = ask(call, "m", [4, 5, 6], **more).json()["decision"]
        assert call.post(f"/v1/decisions/{later}/feedback", {"reward": 1}).json()["status"] == "learnt"
    with Caller(tmp_path) as call:
        assert ask(call, "m", [1, 2], **more).status_code == 422
        assert call.post(f"/v1/decisions/{first}/feedback", {"reward": 0}).json()["status"] == "learnt"


@pytest.mark.parametrize("keyed", [False, True])
def test_a_decision_of_the_holdout_fixes_no_length(tmp_path: Path, keyed: bool) -> None:
    more = {"key": "ann"} if keyed else {"unit": "ann"}
    with Caller(tmp_path) as call:
        body = {"loop": "choose", "keyed": keyed, "holdout": {"share": 1.0}}
        call("PUT", "/v1/models/m", json=body)
        assert ask(call, "m", [1, 2, 3], **more).json()["holdout"] is True
        assert ask(call, "m", [1, 2], **more).json()["holdout"] is True
        assert call("PATCH", "/v1/models/m", json={"holdout": None}).status_code == 200
        assert ask(call, "m", [1, 2, 3, 4], **more).status_code == 201
        assert ask(call, "m", [1, 2, 3], **more).status_code == 422


@pytest.mark.parametrize("keyed", [False, True])
def test_weights_stories_and_the_log(tmp_path: Path, keyed: bool) -> None:
    more = {"key": "ann"} if keyed else {}
    with Caller(tmp_path) as call:
        body = {"loop": "choose", "features": {"auto": {"vectors": 8}}, "keyed": keyed}
        made = call("PUT", "/v1/models/m", json=body)
        assert made.json()["features"]["auto"]["vectors"] == 8
        decisions = play(call, "m", 30, **more)
        query = "?key=ann" if keyed else "?"
        lines = {each["name"] for each in call("GET", f"/v1/models/m/weights{query}").json()["weights"]}
        assert {"context.emb", "context.emb × id=a"} <= lines
        wide = {each["name"] for each in call("GET", f"/v1/models/m/weights{query}&expand=emb").json()["weights"]}
        assert "context.emb~3 × id=b" in wide
        story = call("GET", f"/v1/decisions/{decisions[-1]}").json()
        assert any(name.startswith("context.emb × id=") for name, _ in story["contributions_now"]["items"])
        story = call("GET", f"/v1/decisions/{decisions[-1]}?expand=emb").json()
        assert any(name.startswith("context.emb~") for name, _ in story["contributions_now"]["items"])
        log = call("GET", "/v1/models/m/log").text
        lines_ = [json.loads(line) for line in log.splitlines()]
        assert sum(line["type"] == "decision" for line in lines_) == 30
        assert call("POST", "/v1/models/m:rollback", json={"version": 10}).status_code == 200
        assert ask(call, "m", [1, 2], **more).status_code == 422
        play(call, "m", 5, **more)
        page = call("GET", "/v1/models/m/health").json()
        assert page["findings"] is not None
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("m")).problems == []


def test_vectors_are_refused_where_the_model_says_so_or_they_are_none(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call("PUT", "/v1/models/none", json={"loop": "choose", "features": {"auto": {"vectors": 0}}})
        assert "refuses vectors" in ask(call, "none", [1, 2]).text
        call("PUT", "/v1/models/m", json={"loop": "choose"})
        for wrong, place in (
            ([1.0], "a vector has 2 to 4,096"),
            ([0.5] * 5000, "a vector has 2 to 4,096"),
            ([1, "x"], "context.emb[1]"),
            ([1, True], "context.emb[1]"),
            ([1e300, 1], "context.emb[0]"),
            ([[1, 2], [3, 4]], "context.emb[0]"),
        ):
            refused = ask(call, "m", wrong)
            assert (refused.status_code, place in refused.text) == (422, True), refused.text
        assert ask(call, "m", [1, 2]).status_code == 201  # nothing was fixed by what was refused


def test_health_says_who_goes_without_columns_and_what_a_projection_keeps(tmp_path: Path) -> None:
    rng = random.Random(0)
    with Caller(tmp_path) as call:
        call("PUT", "/v1/models/m", json={"loop": "choose"})
        for _ in range(45):
            body = {"context": {"emb": vector(rng, 256)}, "candidates": [{"id": f"c{k}"} for k in range(40)]}
            made = call("POST", "/v1/models/m/decisions", json=body).json()
            call("POST", f"/v1/decisions/{made['decision']}/feedback", json={"reward": 0.5})
        found = {each["code"]: each for each in call("GET", "/v1/models/m/health").json()["findings"]}
        assert found["few_columns"]["figures"]["without"] == 8
        assert found["projection"]["figures"]["share"] < 0.2
