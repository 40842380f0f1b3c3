"""Log lines, the access log, and request ids on both paths of a request."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.asgi import Caller
from service.live import Live
from smidgen.service.http.metrics import Metrics
from smidgen.service.http.telemetry import MOST_ID, JsonFormatter, RequestObserver, TextFormatter, request_id

MODEL = {"loop": "choose"}
ASK = {"candidates": [{"id": "a"}, {"id": "b"}]}


def lines_of(live: Live) -> list[dict[str, Any]]:
    status, _, err = live.stop()
    assert status == 0
    return [json.loads(line) for line in err.splitlines()]


def test_both_paths_echo_log_and_keep_the_request_id(tmp_path: Path) -> None:
    options = ("--access-log", "--log-format", "json")
    with Live(tmp_path, *options) as live, httpx.Client(base_url=live.url) as call:
        assert "x-request-id" not in call.put("/v1/models/m", json=MODEL).headers
        fast = call.post("/v1/models/m/decisions", json=ASK, headers={"x-request-id": "fast/1"})
        slow = call.post("/v1/models/m/decisions?x=1", json=ASK, headers={"x-request-id": "slow:2"})
        plain = call.post("/v1/models/m/decisions", json=ASK)
        answers = [fast, slow, plain]
        assert [each.headers.get("x-request-id") for each in answers] == ["fast/1", "slow:2", None]
        stories = [call.get(f"/v1/decisions/{each.json()['decision']}").json() for each in answers]
        assert [story["request_id"] for story in stories] == ["fast/1", "slow:2", None]
        call.get("/v1/models/nobody", headers={"x-request-id": "r3"})
        lines = lines_of(live)
    assert all(line["logger"] == "smidgen.access" and line["level"] == "info" for line in lines)
    found = {line["request_id"]: line for line in lines if "request_id" in line}
    route = "/v1/models/{name}/decisions"
    assert [found[id]["route"] for id in ("fast/1", "slow:2")] == [route, route]
    assert found["r3"]["status"] == 404
    assert found["r3"]["path"] == "/v1/models/nobody"
    assert all(0 < line["seconds"] < 10 and line["peer"] == "127.0.0.1" for line in lines)


def test_mistakes_of_callers_are_not_logged(tmp_path: Path) -> None:
    with Live(tmp_path) as live, httpx.Client(base_url=live.url) as call:
        call.put("/v1/models/m", json=MODEL)
        answers = [
            call.post("/v1/models/m/decisions", content=b"{", headers={"content-type": "application/json"}),
            call.post("/v1/models/m/decisions", json={"candidates": 1}),
            call.post("/v1/models/m/decisions", json=ASK, headers={"content-type": "text/plain"}),
            call.post("/v1/decisions/nobody/feedback", json={"reward": 1.0}),
            call.get("/v1/models/m/log?after=x"),
            call.get("/nowhere"),
            call.request("TRACE", "/v1/models"),
            call.get("/v1/models", headers={"host": "evil.example"}),
        ]
        assert all(400 <= each.status_code < 500 for each in answers), answers
        status, _, err = live.stop()
    assert (status, err) == (0, "")


@pytest.mark.parametrize("value", [b"", b"two words", b"a\tb", "ü".encode(), b"x" * (MOST_ID + 1), b'"', b"a\nb"])
def test_unsafe_ids_are_ignored(tmp_path: Path, value: bytes) -> None:
    assert request_id(value) is None


def test_the_longest_id_is_kept_in_a_batch(tmp_path: Path) -> None:
    id = "x" * MOST_ID
    with Caller(tmp_path) as call:
        call.put("/v1/models/m", MODEL)
        body = {"decisions": [ASK, ASK]}
        made = call.post("/v1/models/m/decisions:batch", body, headers={"X-Request-Id": id})
        assert made.status_code == 201, made.text
        for each in made.json()["decisions"]:
            assert call.get(f"/v1/decisions/{each['decision']}").json()["request_id"] == id
        log = call.get("/v1/models/m/log").text
        assert log.count(id) == 2


def test_text_lines_cannot_be_forged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "smidgen.access"):
        RequestObserver(Metrics(), access_log=True).finish("unmatched", "GET", "/a\nb\x1b", 404, 0.5)
        RequestObserver(Metrics()).finish("unmatched", "GET", "/silent", 404, 0.5)
    (record,) = caplog.records
    line = TextFormatter().format(record)
    assert re.match(r"\S+Z info GET /a\\nb\\x1b 404 method=GET route=unmatched", line)
    assert "\n" not in line
    assert json.loads(JsonFormatter().format(record))["path"] == "/a\nb\x1b"


def test_a_failure_has_its_traceback_in_one_line() -> None:
    try:
        raise ValueError("of our own")
    except ValueError as error:
        found = (type(error), error, error.__traceback__)
    record = logging.LogRecord("smidgen.service", logging.ERROR, "", 0, "a request failed", (), found)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert "ValueError: of our own" in json.loads(line)["traceback"]
    assert TextFormatter().format(record).count("\n") >= 2
