"""Webhooks: messages are signed, retried in order, and say what changed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from service.live import Live, Serving, where
from smidgen.errors import InvalidArgument
from smidgen.service.http.metrics import Metrics
from smidgen.service.http.webhooks import MOST, Message, Watcher, Webhooks, check_webhook, signature
from smidgen.service.schemas import Finding

PASSWORD = "0123456789abcdef"


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent; answers with the next status of its list, then with 204."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.arrived = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.server.arrived.set()

    def log_message(self, *_: Any) -> None:
        """Be silent."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def finding(code: Any = "no_exploration", severity: Any = "warning") -> Finding:
    return Finding(code=code, severity=severity, message="m", hint="h", figures={"n": 1})


def subjects(messages: list[Message]) -> list[tuple[str, str]]:
    events = [json.loads(message.body) for message in messages]
    return [(event["type"], event["data"].get("code") or event["data"]["verdict"]) for event in events]


def test_only_changes_are_news() -> None:
    watcher = Watcher("https://smidgen.example.org")
    assert subjects(watcher.findings("m", [finding()], 0.0)) == [("smidgen.finding.opened", "no_exploration")]
    assert watcher.findings("m", [finding()], 1.0) == []
    (worse,) = watcher.findings("m", [finding(severity="problem")], 2.0)
    assert json.loads(worse.body)["data"]["severity"] == "problem"
    assert subjects(watcher.findings("m", [], 3.0)) == [("smidgen.finding.closed", "no_exploration")]
    (again,) = watcher.findings("m", [finding()], 4.0)
    event = json.loads(again.body)
    assert event["specversion"] == "1.0"
    assert event["subject"] == "m"
    assert event["source"] == "https://smidgen.example.org"
    assert event["id"] == again.id != worse.id
    assert watcher.verdict("m", "worth", "not yet", None, 5.0) == []
    assert subjects(watcher.verdict("m", "worth", "better", None, 6.0)) == [("smidgen.verdict.changed", "better")]
    assert watcher.verdict("m", "worth", "better", None, 7.0) == []
    assert subjects(watcher.verdict("m", "worth", "not yet", None, 8.0)) == [("smidgen.verdict.changed", "not yet")]
    watcher.forget(set())
    assert len(watcher.findings("m", [finding()], 9.0)) == 1


def deliver(url: str, messages: list[Message], until: int) -> tuple[Webhooks, Metrics]:
    """Deliver until a number of messages is delivered or dropped."""
    metrics = Metrics()
    here: Any = SimpleNamespace(metrics=metrics, options=SimpleNamespace(public_url=None))

    async def run() -> Webhooks:
        hooks = Webhooks(here, url, PASSWORD)
        hooks._enqueue(messages)
        task = asyncio.create_task(hooks.deliver(pauses=(0.01, 0.01)))
        async with asyncio.timeout(20):
            while sum(metrics._counts.values()) < until:
                await asyncio.sleep(0.01)
        task.cancel()
        return hooks

    return asyncio.run(run()), metrics


def test_messages_are_signed_and_tried_again_in_order(receiver: Receiver) -> None:
    receiver.statuses = [500, 302]
    messages = [Message("one", b'{"a":1}'), Message("two", b'{"a":2}')]
    _, metrics = deliver(receiver.url, messages, 2)
    assert [head["webhook-id"] for head, _ in receiver.received] == ["one", "one", "one", "two"]
    for head, body in receiver.received:
        assert head["content-type"] == "application/cloudevents+json"
        made = signature(PASSWORD, head["webhook-id"], int(head["webhook-timestamp"]), body)
        assert head["webhook-signature"] == made
    assert metrics._counts["webhook", "delivered"] == 2


def test_a_message_is_dropped_after_its_last_try(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    receiver.statuses = [500, 500, 500]
    _, metrics = deliver(receiver.url, [Message("one", b"{}"), Message("two", b"{}")], 2)
    assert metrics._counts == {("webhook", "failed"): 1, ("webhook", "delivered"): 1}
    assert "message one was dropped after 3 tries: status 500" in caplog.text


def test_the_queue_is_bounded() -> None:
    async def run() -> Metrics:
        metrics = Metrics()
        here: Any = SimpleNamespace(metrics=metrics, options=SimpleNamespace(public_url=None))
        hooks = Webhooks(here, "http://127.0.0.1:9", PASSWORD)
        hooks._enqueue(Message(str(i), b"{}") for i in range(MOST + 3))
        assert hooks._waiting[0].id == "3"
        return metrics

    assert asyncio.run(run())._counts["webhook", "dropped"] == 3


def test_a_service_reports_a_finding(tmp_path: Path, receiver: Receiver) -> None:
    own = {"SMIDGEN_WEBHOOK": receiver.url, "SMIDGEN_WEBHOOK_SECRET": PASSWORD}
    with Live(tmp_path) as live, httpx.Client(base_url=live.url) as call:
        call.put("/v1/models/m", json={"loop": "choose"})
        for _ in range(60):
            made = call.post("/v1/models/m/decisions", json={"candidates": [{"id": "a"}, {"id": "b"}]}).json()
            call.post(f"/v1/decisions/{made['decision']}/feedback", json={"reward": 0.5})
        wanted = {each["code"] for each in call.get("/v1/models/m/health").json()["findings"]}
    assert wanted
    with Serving("--store", where(tmp_path), **own):
        assert receiver.arrived.wait(20)
    events = [json.loads(body) for _, body in receiver.received]
    assert {event["type"] for event in events} == {"smidgen.finding.opened"}
    assert {event["data"]["code"] for event in events} <= wanted
    assert PASSWORD not in repr(receiver.received)


@pytest.mark.parametrize(
    ("url", "password"), [("ftp://x", PASSWORD), ("nowhere", PASSWORD), ("http://x", ""), ("http://x", "short")]
)
def test_what_cannot_be_used_is_refused(url: str, password: str) -> None:
    with pytest.raises(InvalidArgument):
        check_webhook(url, password)
