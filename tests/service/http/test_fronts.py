"""Several processes over one data folder: one has the engine, the others pass requests on to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.live import Live
from smidgen.service.admin.fsck import fsck
from smidgen.service.http.forwarding import ForwardClient, ReplyFrame, RequestFrame, is_repeatable

ASK = {"candidates": [{"id": "a"}, {"id": "b"}]}


class Fronts(Live):
    """A service with two fronts."""

    def __init__(self, data: Path, *arguments: str) -> None:
        super().__init__(data, "--workers", "3", *arguments)

    def children(self) -> list[int]:
        """The processes of the supervisor: the engine's first."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return sorted(map(int, text.split()))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fronts]:
    with Fronts(tmp_path_factory.mktemp("fronts"), "--max-body", "100000") as found:
        with httpx.Client(base_url=found.url) as call:
            call.put("/v1/models/m", json={"loop": "choose"})
            call.put("/v1/models/long", json={"loop": "choose"})
        yield found


def test_every_kind_of_request_passes(live: Fronts) -> None:
    with httpx.Client(base_url=live.url) as call:
        made = call.post("/v1/models/m/decisions", json=ASK, headers={"x-request-id": "r/1"})
        assert made.status_code == 201
        assert made.headers["x-request-id"] == "r/1"
        assert made.headers["x-content-type-options"] == "nosniff"
        assert made.headers["content-type"] == "application/json"
        id = made.json()["decision"]
        again = [call.post(f"/v1/decisions/{id}/feedback", json={"reward": 1.0}).json()["status"] for _ in range(2)]
        assert again == ["learnt", "duplicate"]
        assert call.get(f"/v1/decisions/{id}").json()["request_id"] == "r/1"
        batch = call.post("/v1/models/m/decisions:batch", json={"decisions": [ASK] * 3})
        assert len(batch.json()["decisions"]) == 3
        assert call.get("/", headers={"accept": "text/html"}).text.startswith("<!doctype html>")
        assert call.head("/v1/models/m").content == b""
        assert call.get("/v1/models/nobody").json()["error"]["code"] == "unknown_model"
        assert call.post("/v1/models/m/decisions", content=b"{").status_code == 415
        assert call.post("/v1/models/m/decisions?x=1", json=ASK).status_code == 201
        workers = {
            line.split('"')[1] for line in call.get("/metrics").text.splitlines() if line.startswith("process_cpu")
        }
    assert workers == {"0", "1", "2"}


def test_large_and_streamed_bodies(live: Fronts) -> None:
    many = {"candidates": [{"id": str(i), "features": {"x": i}} for i in range(2000)]}
    with httpx.Client(base_url=live.url) as call:
        assert call.post("/v1/models/long/decisions", json=many).status_code == 201
        content = json.dumps(many).encode()
        head = {"content-type": "application/json"}
        pieces = (content[i : i + 1000] for i in range(0, len(content), 1000))
        assert call.post("/v1/models/long/decisions", content=pieces, headers=head).status_code == 201
        for _ in range(20):
            call.post("/v1/models/long/decisions", json=many)
        log = call.get("/v1/models/long/log").content
        assert len(log) > 1 << 20
        assert [json.loads(line)["seq"] for line in log.splitlines()] == list(range(1, 24))
        over = call.post("/v1/models/m/decisions", content=b"[" * 200_000, headers=head)
        assert (over.status_code, over.json()["error"]["code"]) == (413, "too_large")


def test_origins_and_tokens_are_judged_by_the_engine(live: Fronts) -> None:
    with httpx.Client(base_url=live.url) as call:
        foreign = call.post("/v1/models/m/decisions", json=ASK, headers={"origin": "https://evil.example"})
        assert foreign.json()["error"]["code"] == "foreign_origin"
        host = call.get("/v1/models", headers={"host": "evil.example"})
        assert host.status_code == 403


def test_a_caller_who_hangs_up_does_no_harm(live: Fronts) -> None:
    host, port = live.url.removeprefix("http://").strip("/").split(":")
    for sent in (b"", b"abc", b"x" * 50):
        with socket.create_connection((host, int(port))) as line:
            line.sendall(
                b"POST /v1/models/m/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60\r\n\r\n" + sent
            )
    with httpx.Client(base_url=live.url) as call:
        assert call.post("/v1/models/m/decisions", json=ASK).status_code == 201


def test_a_killed_engine_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    """Callers retry as the replies ask; every decision is there once, and feedback is learned once."""
    done: list[tuple[str, str]] = []
    statuses: set[int] = set()
    ended = threading.Event()
    with Fronts(tmp_path) as live:
        with httpx.Client(base_url=live.url) as call:
            call.put("/v1/models/m", json={"loop": "choose"})

        def use(caller: int) -> None:
            with httpx.Client(base_url=live.url, timeout=30) as call:
                for i in range(10_000):
                    if ended.is_set():
                        return
                    name = f"{caller}-{i}"
                    made = call.post("/v1/models/m/decisions", json={"id": name, **ASK})
                    statuses.add(made.status_code)
                    if made.status_code != 201:
                        continue
                    heard = call.post(f"/v1/decisions/{made.json()['decision']}/feedback", json={"reward": 1.0})
                    statuses.add(heard.status_code)
                    if heard.status_code == 200:
                        done.append((name, made.json()["decision"]))

        fronts = set(live.children()[1:])  # the first child is the engine's process
        with ThreadPoolExecutor(4) as pool:
            callers = [pool.submit(use, number) for number in range(4)]
            deadline = time.monotonic() + 20
            while len(done) < 21 and time.monotonic() < deadline:
                time.sleep(0.02)
            (engine,) = set(live.children()) - fronts
            os.kill(engine, signal.SIGKILL)
            deadline = time.monotonic() + 20
            while len(set(live.children()) - fronts - {engine}) < 1 and time.monotonic() < deadline:
                time.sleep(0.02)
            before = len(done)
            while len(done) < before + 20 and time.monotonic() < deadline:
                time.sleep(0.02)
            ended.set()
            for each in callers:
                each.result()
        with httpx.Client(base_url=live.url) as call:
            for name, id in done[:: max(1, len(done) // 40)]:
                story = call.get(f"/v1/decisions/{id}").json()
                assert story["learnt_version"] is not None
                again = call.post("/v1/models/m/decisions", json={"id": name, **ASK})
                assert again.json()["decision"] == id
        assert live.stop()[0] == 0
    assert len(done) > 40
    assert statuses <= {200, 201, 503}
    assert fsck(tmp_path, deep=True).findings == []


def test_what_may_be_sent_again() -> None:
    decide, feedback = b"/v1/models/m/decisions", b"/v1/decisions/1/feedback"
    for method, target, body, expected in (
        ("GET", b"/v1/models", b"", True),
        ("HEAD", b"/", b"", True),
        ("POST", decide, b'{"candidates":[]}', False),
        ("POST", decide, b'{"id":null}', False),
        ("POST", decide + b"?x=1", b'{"id":7}', True),
        ("POST", feedback, b'{"reward":1}', True),
        ("POST", decide, b"{", True),
        ("POST", decide, b'{"id":[]}', True),
        ("POST", b"/v1/models/m:rollback", b"{}", False),
        ("PUT", b"/v1/models/m", b"{}", False),
        ("PATCH", b"/v1/models/m", b"{}", False),
        ("DELETE", b"/v1/models/m", b"", False),
    ):
        assert is_repeatable(RequestFrame(1, method, target, [], body)) is expected, (method, target, body)


def test_requests_of_a_broken_line(tmp_path: Path) -> None:
    """A line that breaks after requests were sent: reads are sent again, decisions without an id are refused."""
    path = str(tmp_path / "engine")
    heard: list[list[int]] = []
    answered: dict[str, ReplyFrame | None] = {}

    async def run() -> None:
        from smidgen.service.http.forwarding import Line

        class Engine(Line):
            def __init__(self) -> None:
                super().__init__()
                self.mine: list[int] = []
                heard.append(self.mine)

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                self.send(ReplyFrame(0))

            def frame_received(self, content: bytes) -> None:
                import msgspec

                frame = msgspec.msgpack.decode(content, type=RequestFrame)
                self.mine.append(frame.id)
                if len(heard) == 1 and len(self.mine) == 3:
                    self.send(ReplyFrame(3, 200, [], b"part", more=True))
                    self.close()
                elif len(heard) == 2:
                    self.send(ReplyFrame(frame.id, 200, [], b"whole"))

        server = await asyncio.get_running_loop().create_unix_server(Engine, path)
        ready = asyncio.Event()
        client = ForwardClient(path, ready.set)
        client.start()
        await ready.wait()
        left = asyncio.Event()

        def deliver(name: str, frame: ReplyFrame | None) -> None:
            answered[name] = frame
            if {"read", "ask"} <= answered.keys() and answered.get("cut", 0) is None:
                left.set()

        for name, method, target in (
            ("read", "GET", b"/v1/models"),
            ("ask", "POST", b"/v1/models/m/decisions"),
            ("cut", "GET", b"/v1/models/m/log"),
        ):
            client.submit(method, target, [], b"{}", None, partial(deliver, name))
        async with asyncio.timeout(10):
            await left.wait()
        client.close()
        server.close()

    asyncio.run(run())
    assert heard == [[1, 2, 3], [1]]
    read, ask = answered["read"], answered["ask"]
    assert read is not None
    assert read.body == b"whole"
    assert ask is not None
    assert (ask.status, json.loads(ask.body)["error"]["code"]) == (503, "busy")
    assert (b"Retry-After", b"1") in ask.headers or (b"retry-after", b"1") in ask.headers
