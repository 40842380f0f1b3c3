"""Events that operators cause name the token by whose call they were written; those of apps do not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from service import postgres_env
from service.asgi import Caller
from service.bodies import Clock
from service.tokens import Mint
from smidgen.cli import app
from smidgen.service.admin.fsck import fsck
from smidgen.service.log.codec import parse
from smidgen.service.log.events import SIGNED

CHOOSE = {"loop": "choose", "feedback": "reward", "keyed": True, "candidates": [{"id": "a"}, {"id": "b"}]}
LABEL = {"loop": "label", "labels": ["x", "y"]}
APPS = {"decision", "shown", "feedback"}


def check(folder: Path) -> None:
    """The data is sound; of a database, other tests ask that."""
    assert postgres_env.ON or fsck(folder, deep=True).sound


class Operator:
    """A caller, with or without a token, who remembers which tokens the events of each type named."""

    def __init__(self, call: Caller, folder: Path | None) -> None:
        self.call = call
        self.id: str | None = None
        self.headers: dict[str, str] = {}
        self.seen: dict[str, set[str | None]] = {}
        if folder is not None:
            self.id, secret = Mint(folder).create(["admin"], None, 0.0)
            self.headers = {"authorization": f"Bearer {secret}"}

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        given = {"json": body} if body is not None else {}
        answer = self.call(method, path, headers={**self.headers, **more.pop("headers", {})}, **given, **more)
        assert answer.status_code < 300, (method, path, answer.text)
        return answer

    def write(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """Call something that writes, and look at all logs."""
        answer = self(method, path, body, **more)
        for model in self("GET", "/v1/models").json()["models"]:
            for line in self.log(model["name"]):
                if "digest" not in line or line["type"] == "retained":  # else it was erased, and says nothing
                    self.seen.setdefault(line["type"], set()).add(line.get("token_id"))
        return answer

    def log(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("GET", f"/v1/models/{name}/log").text.splitlines()]

    def live(self, clock: Clock) -> None:
        """Cause every type of event."""
        write = self.write
        write("PUT", "/v1/models/m", LABEL)
        write("PATCH", "/v1/models/m", {"window_s": 60.0})
        asked = write("POST", "/v1/models/m/decisions", {"features": {"a": 1.0}, "activate": False}).json()
        write("POST", f"/v1/decisions/{asked['decision']}/shown")
        write("POST", f"/v1/decisions/{asked['decision']}/feedback", {"correct": True})
        write("POST", f"/v1/decisions/{asked['decision']}:retract")
        write("POST", "/v1/models/m/examples", {"examples": [{"features": {"a": 1.0}, "answer": "x"}]})
        write("POST", "/v1/models/m:rollback", {"version": 0})
        write("PUT", "/v1/models/rival", {**LABEL, "challenger_of": "m"})
        write("POST", "/v1/models/rival:promote")
        write("DELETE", "/v1/models/rival")
        write("POST", "/v1/models/rival:rename", {"to": "older"})
        write("POST", "/v1/models/older:revive")
        write("PUT", "/v1/models/keyed", CHOOSE)
        write("POST", "/v1/models/keyed/decisions", {"key": "ann"})
        write("POST", "/v1/models/keyed:copy", {"to": "copy"})
        write("DELETE", "/v1/models/keyed/keys/ann")
        log = self("GET", "/v1/models/m/log").content
        write("POST", "/v1/models/brought:import", headers={"content-type": "application/x-ndjson"}, content=log)
        clock.now += 1000.0
        write("POST", "/v1/models/m:retain", {"older_than_s": 100.0})


@pytest.mark.parametrize("signed", [True, False], ids=["with-a-token", "without"])
def test_each_event_of_an_operator_and_no_other(tmp_path: Path, clock: Clock, signed: bool) -> None:
    with Caller(tmp_path, clock=clock) as call:
        operator = Operator(call, tmp_path if signed else None)
        operator.live(clock)
        assert (operator.id is not None) == signed
        assert {type: operator.seen[type] for type in SIGNED} == {type: {operator.id} for type in SIGNED}
        assert {type: operator.seen[type] for type in APPS} == {type: {None} for type in APPS}
    check(tmp_path)


def test_the_id_replays_and_is_exported_and_imported(tmp_path: Path, clock: Clock) -> None:
    with Caller(tmp_path, clock=clock) as call:
        operator = Operator(call, tmp_path)
        operator("PUT", "/v1/models/m", LABEL)
        for label in "xyx":
            operator("POST", "/v1/models/m/examples", {"examples": [{"features": {"a": 1.0}, "answer": label}]})
        exported = operator("GET", "/v1/models/m/log").content
        first = parse(exported.splitlines()[0], "the first line")
        assert first.token_id == operator.id
        assert "token_id" not in first.unknown_fields, "this smidgen knows the field"
        other = Operator(call, tmp_path)
        other("POST", "/v1/models/n:import", headers={"content-type": "application/x-ndjson"}, content=exported)
        assert {line["token_id"] for line in other.log("n")} == {other.id}, "the one who imported it"
        weights = [operator("GET", f"/v1/models/{name}/weights").json()["weights"] for name in "mn"]
        assert weights[0] == weights[1]
        assert weights[0]
    with Caller(tmp_path, clock=clock) as call:
        operator.call = call
        assert operator("GET", "/v1/models/m/weights").json()["weights"] == weights[0]
        assert operator("GET", "/v1/models/m/log").content == exported
    table = tmp_path / "log.csv"
    done = CliRunner().invoke(
        app, ["log", "export", "m", "--data", str(tmp_path), "--format", "csv", "--out", str(table)]
    )
    assert done.exit_code == 0, done.output
    with table.open(newline="") as file:
        assert {row["token_id"] for row in csv.DictReader(file)} == {operator.id}
    assert fsck(tmp_path, deep=True).sound


def test_a_refused_command_leaves_no_author(tmp_path: Path, clock: Clock) -> None:
    with Caller(tmp_path, clock=clock) as call:
        operator = Operator(call, tmp_path)
        operator("PUT", "/v1/models/m", LABEL)
        answer = call("PATCH", "/v1/models/m", json={"share": 0.5}, headers=operator.headers)
        assert answer.status_code == 422
        assert call.app.state.service.engine.store.author is None
