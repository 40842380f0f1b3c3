"""The line between a worker and the owner of a shard: what becomes of requests when it breaks or falls silent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from smidgen.service.http.forwarding import Line, ReplyFrame, RequestFrame, _decode_request
from smidgen.service.http.routing import MISSED, SILENT_S, Deliver, OwnerClient, socket_name

FEEDBACK = b"/v1/decisions/0123/feedback"
DECIDE = b"/v1/models/m/decisions"


class Owner(Line):
    """The other end: takes requests, and answers when the test says so."""

    def __init__(self, owners: list[Owner]) -> None:
        super().__init__()
        self.requests: list[RequestFrame] = []
        owners.append(self)

    def frame_received(self, content: bytes) -> None:
        self.requests.append(_decode_request(content))


class Case:
    """A client, its owner, and what was delivered and taken back."""

    def __init__(self, path: str) -> None:
        self.owners: list[Owner] = []
        self.replies: dict[str, ReplyFrame | None] = {}
        self.taken_back: list[bytes] = []
        self.client = OwnerClient(path, self._retry)

    def _retry(self, frame: RequestFrame, deliver: Deliver) -> None:
        self.taken_back.append(frame.body)
        deliver(ReplyFrame(frame.id, 200, body=b"here"))

    def send(self, name: str, target: bytes, body: bytes) -> None:
        def deliver(frame: ReplyFrame | None) -> None:
            assert name not in self.replies, "a request is answered once"
            self.replies[name] = frame

        self.client.submit("POST", target, [], body, None, deliver)

    def send_each_kind(self) -> None:
        self.send("feedback", FEEDBACK, b'{"reward":1}')
        self.send("decision", DECIDE, b"{}")
        self.send("named", DECIDE, b'{"id":"7"}')

    def statuses(self) -> dict[str, int | None]:
        return {name: None if frame is None else frame.status for name, frame in self.replies.items()}


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not what():
            await asyncio.sleep(0.005)


def run(tmp_path: Path, play: Callable[[Case], Awaitable[None]]) -> Case:
    """Play a case against an owner that has said that it is ready."""
    path = str(tmp_path / "owner")

    async def whole() -> Case:
        case = Case(path)
        server = await asyncio.get_running_loop().create_unix_server(lambda: Owner(case.owners), path)
        case.client.start()
        await until(lambda: bool(case.owners))
        assert not case.client.is_alive
        case.owners[0].send(ReplyFrame(0))
        await until(lambda: case.client.is_alive)
        await play(case)
        case.client.close()
        server.close()
        for owner in case.owners:
            owner.transport.abort()
        await asyncio.sleep(0.05)
        return case

    return asyncio.run(whole())


def test_a_line_that_breaks_after_sending(tmp_path: Path) -> None:
    async def play(case: Case) -> None:
        case.send_each_kind()
        await until(lambda: len(case.owners[0].requests) == 3)
        case.owners[0].transport.abort()
        await until(lambda: len(case.replies) == 3)
        assert not case.client.is_alive
        await until(lambda: len(case.owners) == 2)  # it connects again
        case.owners[1].send(ReplyFrame(0))
        await until(lambda: case.client.is_alive)

    case = run(tmp_path, play)
    assert case.statuses() == {"feedback": 200, "decision": 503, "named": 200}
    assert case.taken_back == [b'{"reward":1}', b'{"id":"7"}']
    assert (b"retry-after", b"1") in (case.replies["decision"] or ReplyFrame(0)).headers


def test_a_line_that_breaks_before_sending(tmp_path: Path) -> None:
    async def play(case: Case) -> None:
        case.owners[0].transport.abort()
        case.send_each_kind()  # the line is broken, which nobody has noticed yet
        await until(lambda: len(case.replies) == 3)

    case = run(tmp_path, play)
    assert case.statuses() == {"feedback": 200, "decision": 503, "named": 200}


def test_an_owner_that_gives_no_sign_of_life(tmp_path: Path) -> None:
    async def play(case: Case) -> None:
        case.send_each_kind()
        time.sleep(2 * SILENT_S)  # this process is held up, which says nothing about the owner
        for _ in range(MISSED - 1):
            case.client.check()
        assert case.client.is_alive
        assert not case.replies
        case.client.check()
        assert not case.client.is_alive
        assert case.statuses() == {"feedback": 200, "named": 200}
        await until(lambda: len(case.owners[0].requests) == 3)
        for request in case.owners[0].requests:  # late replies: that of the decision counts, the others are known
            case.owners[0].send(ReplyFrame(request.id, 201, body=b"owner"))
        await until(lambda: len(case.replies) == 3)

    case = run(tmp_path, play)
    assert case.statuses() == {"feedback": 200, "named": 200, "decision": 201}


def test_a_decision_of_an_owner_that_stays_silent_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smidgen.service.http.forwarding.PATIENCE_S", 0.1)

    async def play(case: Case) -> None:
        case.send_each_kind()
        while len(case.replies) < 3:
            await asyncio.sleep(0.02)
            case.client.check()

    assert run(tmp_path, play).statuses() == {"feedback": 200, "named": 200, "decision": 503}


def test_an_owner_that_stops_answers_what_it_has(tmp_path: Path) -> None:
    async def play(case: Case) -> None:
        case.send("decision", DECIDE, b"{}")
        await until(lambda: len(case.owners[0].requests) == 1)
        case.owners[0].send(ReplyFrame(0, 503))
        await until(lambda: not case.client.is_alive)
        assert not case.owners[0].transport.is_closing()
        case.owners[0].send(ReplyFrame(case.owners[0].requests[0].id, 201))
        await until(lambda: case.replies.keys() == {"decision"})
        await until(lambda: case.owners[0].transport.is_closing())

    case = run(tmp_path, play)
    assert case.statuses() == {"decision": 201}
    assert not case.taken_back


def test_names_of_sockets() -> None:
    assert socket_name("web/1/0/77") == "0-77"
