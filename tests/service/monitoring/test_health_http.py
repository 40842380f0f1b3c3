"""Health and quality as an app and its owner see them: over HTTP, from the clients, on the command line."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import smidgen
from service.asgi import Caller
from service.bodies import Clock
from service.live import Live
from service.tokens import Mint
from smidgen.cli import app

DAY = 86_400.0
KEYS = {"code", "severity", "message", "hint", "figures"}


def choose_world(call: Caller, rounds: int = 40, seed: int = 3) -> tuple[int, int]:
    """Feedback as apps send it: a click marks the shown item as right, no click sends nothing.

    Returns the numbers of both.
    """
    rng, clicks, shown = random.Random(seed), 0, set()
    assert call.put("/v1/models/banner", {"loop": "choose", "feedback": "better"}).status_code == 201
    for _ in range(rounds):
        context = {"device": rng.choice(["phone", "desktop"])}
        body = {"candidates": [{"id": each, "features": {"kind": each}} for each in "abc"], "context": context}
        reply = call.post("/v1/models/banner/decisions", body).json()
        shown.add(reply["choice"])
        if rng.random() < 0.4:
            answered = call.post(f"/v1/decisions/{reply['decision']}/feedback", {"better": reply["choice"]})
            assert answered.json()["status"] == "learnt"
            clicks += 1
    return clicks, len(shown)


def test_the_choose_world_says_nothing_to_learn_from_where_it_said_100_per_cent(call: Caller, clock: Clock) -> None:
    clicks, shown = choose_world(call)
    assert shown == 1  # the first candidate for ever
    answer = call.get("/v1/models/banner/health")
    assert answer.status_code == 200
    findings = answer.json()["findings"]
    assert all(each.keys() == KEYS for each in findings)
    first = findings[0]
    assert (first["code"], first["severity"]) == ("nothing_to_learn", "problem")
    assert first["message"].startswith("Nothing to learn from")
    assert first["figures"]["unchanged"] == clicks
    bound = call.get("/ui/models/banner/curve.json").json()["bound"]
    assert bound["curve"] == []
    assert "Nothing to learn from" in bound["why_not"]
    clock.now += 2 * DAY
    quality = call.get("/v1/models/banner").json()["quality"]
    assert (quality["of"], quality["silent"]) == (40, 40 - clicks)
    assert quality["value"] == pytest.approx(clicks / 40)
    assert quality["low"] < quality["value"] < quality["high"] < 1.0
    assert {"nothing_to_learn", "silence"} <= {
        each["code"] for each in call.get("/v1/models/banner/health").json()["findings"]
    }


def test_findings_are_figures_for_prometheus(call: Caller) -> None:
    choose_world(call)
    call.put("/v1/models/quiet", {"loop": "choose"})
    lines = call.get("/metrics").text.splitlines()
    assert "# TYPE smidgen_model_findings gauge" in lines
    assert 'smidgen_model_findings{model="banner",code="nothing_to_learn",severity="problem"} 1' in lines
    assert not any('model="quiet"' in line for line in lines if line.startswith("smidgen_model_findings"))


def test_the_list_of_models_has_the_findings(call: Caller) -> None:
    choose_world(call)
    (listed,) = call.get("/ui/models.json").json()["models"]
    assert listed["findings"] == call.get("/v1/models/banner/health").json()["findings"]


def test_who_may_ask(call: Caller, tmp_path: Path) -> None:
    assert call.get("/v1/models/none/health").status_code == 404
    assert call.get("/v1/models/a%0A/health").status_code == 400
    call.put("/v1/models/mine", {"loop": "choose"})
    mint = Mint(tmp_path)
    mine, other = ({"Authorization": f"Bearer {mint.create(['decide'], name, 0.0)[1]}"} for name in ("mine", "other"))
    assert call.get("/v1/models/mine/health").status_code == 401
    assert call.get("/v1/models/mine/health", headers=mine).json() == {"findings": []}
    assert call.get("/v1/models/mine/health", headers=other).status_code == 403


def test_the_document_describes_it(call: Caller) -> None:
    document = call.get("/openapi.json").json()
    operation = document["paths"]["/v1/models/{name}/health"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/HealthReply"}
    finding = document["components"]["schemas"]["Finding"]["properties"]
    assert finding.keys() == KEYS
    assert "nothing_to_learn" in finding["code"]["enum"]
    assert "silent" in document["components"]["schemas"]["Quality"]["properties"]


def test_late_answers_count_in_quality_and_are_not_silent(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/m", {"loop": "choose", "window_s": 10.0})
    ids = [call.post("/v1/models/m/decisions", {"candidates": [{"id": "a"}]}).json()["decision"] for _ in range(4)]
    call.post(f"/v1/decisions/{ids[0]}/feedback", {"reward": 1.0})
    quality = call.get("/v1/models/m").json()["quality"]
    assert (quality["of"], quality["silent"], quality["value"]) == (1, 0, 1.0)
    clock.now += 20.0
    assert call.post(f"/v1/decisions/{ids[1]}/feedback", {"reward": 1.0}).status_code == 202
    quality = call.get("/v1/models/m").json()["quality"]
    assert (quality["of"], quality["silent"], quality["value"]) == (4, 2, 0.5)


def _sick(client: smidgen.Client) -> None:
    model = client.create("banner", loop="choose", feedback="better", window_s=0.5)
    for n in range(40):
        d = model.decide({"a": {"kind": "short"}, "b": {"kind": "long"}})
        if n % 2:
            model.learn(d, better=d.choice)


def test_clients_and_commands_over_a_real_connection(tmp_path: Path) -> None:
    with Live(tmp_path) as live:
        with smidgen.Client(live.url) as client:
            _sick(client)
            found = client.health("banner")
            assert found[0]["code"] == "nothing_to_learn"
            assert client.model("banner").health()[0] == found[0]
            sound = client.create("sound", loop="choose")
            assert sound.health() == []

        async def ask() -> tuple[Any, Any]:
            async with smidgen.AsyncClient(live.url) as client:
                return await client.health("banner"), await client.model("banner").health()

        for each in asyncio.run(ask()):
            assert each[0]["code"] == "nothing_to_learn"
        outcome = _run("models", "--health", "--url", live.url)
        assert "problem nothing_to_learn: Nothing to learn from" in outcome
        assert "sound: healthy" in outcome
        listed = json.loads(_run("models", "--json", "--health", "--url", live.url))
        assert [each["findings"] == [] for each in listed] == [False, True]
    table = _run("models", "--data", str(tmp_path))
    assert "health" in table
    assert "problem: nothing_to_learn" in " ".join(table.split())
    assert "findings" not in json.loads(_run("models", "--data", str(tmp_path), "--json"))[0]


def _run(*arguments: str) -> str:
    done = CliRunner(env={"COLUMNS": "300", "TERM": "dumb"}).invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.output
