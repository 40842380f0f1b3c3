"""Refused connections: nothing of them in the log, probes are answered all the same, and answers have safe headers."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import pytest

from service.asgi import Caller
from service.tokens import Mint
from smidgen.service.errors import StorageFailed
from smidgen.service.http import protocol
from smidgen.service.http.app import routes
from smidgen.service.http.errors import QUIET_S
from smidgen.service.http.protocol import PIPELINED, PROBE_S, PROBES
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import database_error

HOST = b"Host: 127.0.0.1\r\n"
ALIVE, READY = (b"GET %s HTTP/1.1\r\n%s" % (path, HOST) for path in (b"/healthz", b"/readyz"))
#: Requests that are answered after a look at the database in another thread.
LOOKS = [b"GET %s HTTP/1.1\r\n%s\r\n" % (path, HOST) for path in (b"/v1/models", b"/metrics", b"/v1/models/m/log")]
POST = b"POST /v1/models/m/decisions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
BODY = b'{"candidates": [{"id": "a", "features": [1, 0, 0]}]}'
RANK = b'{"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}'
CLOSE = b"Connection: close\r\n\r\n"


class Service:
    """``smidgen serve`` with few connections and its log in a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / "log"
        self._command = [sys.executable, "-m", "smidgen", "serve", "--port", "0", "--data", str(folder / "data")]
        self._command += arguments

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[3].rstrip("/").rpartition(":")[2])
        assert statuses(self.exchange(self.put(b"m", RANK))) == [201]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)

    def put(self, name: bytes, body: bytes) -> bytes:
        head = b"PUT /v1/models/%s HTTP/1.1\r\n%sContent-Type: application/json\r\n" % (name, HOST)
        return head + b"Content-Length: %d\r\n" % len(body) + CLOSE + body

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def exchange(self, *parts: bytes) -> bytes:
        """Send bytes, and read until the other side closes."""
        with self.connected() as caller:
            with contextlib.suppress(ConnectionError):
                for part in parts:
                    caller.sendall(part)
            return everything(caller)

    @property
    def log(self) -> str:
        return self._log.read_text()


def everything(caller: socket.socket) -> bytes:
    content = b""
    with contextlib.suppress(ConnectionError):
        while part := caller.recv(65536):
            content += part
    return content


def statuses(content: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", content)]


def until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("few"), "--max-connections", "40", "--max-body", "100000") as found:
        yield found


@contextlib.contextmanager
def crowd(service: Service, count: int = 40) -> Iterator[list[socket.socket]]:
    """As many idle connections as the service accepts."""
    held = [service.connected() for _ in range(count)]
    try:
        until(lambda: statuses(service.exchange(POST + b"Content-Length: 0\r\n\r\n")) == [503])
        yield held
    finally:
        for each in held:
            each.close()
        until(lambda: statuses(service.exchange(b"GET /v1/models HTTP/1.1\r\n" + HOST + CLOSE)) == [200])


# The log


def reset(caller: socket.socket) -> None:
    """Close a connection with a reset, as a client that was killed."""
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller.close()


def many(part: bytes, times: int = 40) -> Callable[[Service], None]:
    """Send this on a connection of its own, again and again, and wait for the end."""
    return lambda service: [service.exchange(part) for _ in range(times)] and None


def aborted(part: bytes, wait: float = 0.0) -> Callable[[Service], None]:
    """Send this and reset the connection, again and again."""

    def act(service: Service) -> None:
        for _ in range(40):
            caller = service.connected()
            with contextlib.suppress(ConnectionError):
                caller.sendall(part)
            time.sleep(wait)
            reset(caller)

    return act


def past_the_cap(service: Service) -> None:
    with crowd(service):
        for part in (b"", POST, ALIVE + CLOSE, READY + CLOSE, b"nonsense\r\n\r\n"):
            many(part, 5)(service)


def slow_heads(service: Service) -> None:
    with contextlib.ExitStack() as stack:
        callers = [stack.enter_context(service.connected()) for _ in range(20)]
        for number, caller in enumerate(callers):
            caller.sendall((READY, POST, b"\r\n", ALIVE + b"\r\n" + READY)[number % 4])
        for caller in callers:
            assert statuses(everything(caller))[-1:] == [408]


def not_read(service: Service) -> None:
    """Clients that ask for much, take none of it, and are gone."""
    for _ in range(5):
        caller = service.connected()
        with contextlib.suppress(ConnectionError):
            caller.sendall((b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n") * 16)
        time.sleep(0.2)
        reset(caller)


LAST = POST + b"Connection: close\r\n"
DECIDE = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
KINDS: dict[str, Callable[[Service], None]] = {
    "past the cap": past_the_cap,
    "a slow head": slow_heads,
    "more requests behind one another than may wait": many((READY + b"\r\n") * (PIPELINED + 2)),
    **{f"more than may wait: {each.split()[1].decode()}": many(each * (PIPELINED + 2)) for each in LOOKS},
    **{f"gone with several open: {each.split()[1].decode()}": aborted(each * 10, 0.002) for each in LOOKS},
    **{f"nonsense behind several: {each.split()[1].decode()}": many(each * 5 + b"nonsense\n") for each in LOOKS},
    "many more": many((READY + b"\r\n") * (20 * PIPELINED), 10),
    "more behind a decision": many(DECIDE + (READY + b"\r\n") * (PIPELINED + 2)),
    "nonsense behind a request": many(READY + b"\r\nnonsense\n"),
    "nonsense behind several": many((READY + b"\r\n") * 5 + b"nonsense\n"),
    "nonsense behind a decision": many(DECIDE + b"nonsense\n"),
    "no HTTP": many(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "a large head": many(ALIVE + b"X: " + b"y" * (1 << 17) + b"\r\n\r\n"),
    "a bad Host": many(b"GET /healthz HTTP/1.1\r\nHost: [::1]evil.example\r\n" + CLOSE),
    "another Host": many(b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n" + CLOSE),
    "a page elsewhere": many(POST + b"Origin: https://evil.example\r\nContent-Length: 0\r\n" + CLOSE),
    "two lengths": many(POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"),
    "a body too large": many(LAST + b"Content-Length: 200000\r\n\r\n" + b" " * 1000),
    "a body too large in chunks": many(
        LAST + b"Transfer-Encoding: chunked\r\n\r\n" + 2 * (b"fffe\r\n" + b" " * 65534 + b"\r\n")
    ),
    "a bad chunk": many(POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "no JSON": many(POST + b"Content-Length: 1\r\n" + CLOSE + b"{"),
    "no method": many(b"BREW /healthz HTTP/1.1\r\n" + HOST + CLOSE),
    "no path": many(b"GET /nowhere HTTP/1.1\r\n" + HOST + CLOSE),
    "an offer to upgrade": many(ALIVE + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + ALIVE + CLOSE),
    "gone at once": aborted(b""),
    "gone in the head": aborted(READY[:20]),
    "gone after the head": aborted(READY + b"\r\n"),
    "gone with several open": aborted((READY + b"\r\n") * 10),
    "gone with several open, a moment later": aborted((READY + b"\r\n") * 10, 0.002),
    "gone in the body": aborted(POST + b"Content-Length: 500\r\n\r\n{"),
    "gone after a decision": aborted(DECIDE),
    "gone after some decisions": aborted(DECIDE * 5),
    "answers that nobody reads": not_read,
}


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_fills_the_log(kind: str, service: Service) -> None:
    before = service.log
    KINDS[kind](service)
    assert statuses(service.exchange(READY + CLOSE)) == [200]
    assert service.log == before


def test_nobody_fills_the_log_by_many_at_once(service: Service) -> None:
    """All kinds that are quick, in four threads, while others decide."""
    before = service.log
    quick = [act for kind, act in KINDS.items() if kind not in ("past the cap", "a slow head")]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(act, service) for act in quick]:
            done.result()
    assert statuses(service.exchange(READY + CLOSE)) == [200]
    assert service.log == before


# Probes


class TestProbes:
    @pytest.mark.parametrize("path", [b"/healthz", b"/readyz", b"/healthz?probe=1"])
    def test_are_answered_at_the_cap(self, path: bytes, service: Service) -> None:
        with crowd(service):
            for method in (b"GET", b"HEAD"):
                for _ in range(3 * PROBES):
                    answer = service.exchange(b"%s %s HTTP/1.1\r\n%s\r\n" % (method, path, HOST))
                    assert statuses(answer) == [200], "and it is closed, though nobody asked for that"
                    assert b"connection: close" in answer

    def test_nothing_else_is(self, service: Service) -> None:
        body = b"Content-Length: 2\r\n\r\n{}"
        others = {
            "a read": b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\r\n",
            "a write": DECIDE,
            "a path below": b"GET /healthz/ HTTP/1.1\r\n" + HOST + b"\r\n",
            "a longer path": b"GET /healthzz HTTP/1.1\r\n" + HOST + b"\r\n",
            "a probe that is written to": ALIVE.replace(b"GET", b"POST") + b"\r\n",
            "a probe with a body": ALIVE + body,
            "a probe with chunks": ALIVE + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "the pages": b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
        }
        with crowd(service) as held:
            for kind, other in others.items():
                answer = service.exchange(other)
                assert statuses(answer) == [503], kind
                assert b"retry-after: 1" in answer
            second = service.exchange(ALIVE + b"\r\n" + b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\r\n")
            assert b'"models"' not in second, "one request for each connection of the reserve"
            held[0].sendall(b"GET /v1/models HTTP/1.1\r\n" + HOST + CLOSE)
            assert statuses(everything(held[0])) == [200], "those who are inside are served"

    def test_a_connection_that_asks_for_nothing_is_turned_away(self, service: Service) -> None:
        with crowd(service):
            for part in (b"", ALIVE):
                begun = time.monotonic()
                assert statuses(service.exchange(part)) == [503]
                assert time.monotonic() - begun < PROBE_S + 2

    def test_connections_that_do_nothing_do_not_use_the_reserve_up(self, service: Service) -> None:
        with crowd(service), contextlib.ExitStack() as stack:
            idle = [stack.enter_context(service.connected()) for _ in range(5 * PROBES)]
            for number, each in enumerate(idle):
                with contextlib.suppress(ConnectionError):
                    each.sendall((b"", ALIVE, b"P", b"\r\n")[number % 4])
            for _ in range(20):
                assert statuses(service.exchange(ALIVE + b"\r\n")) == [200]
                assert statuses(service.exchange(READY + b"\r\n")) == [200]


# Headers


SAFE = {name.decode(): value.decode() for name, value in protocol.SAFE_HEADERS}


def test_every_answer_forbids_guessing_and_keeping(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/m", json.loads(RANK))
        paths = [getattr(each, "route", each) for each in routes()]
        for route in paths:
            path = re.sub(r"{[^}]*}", "m", route.path)
            page = path in ("/", "/docs") or path.startswith(("/ui/", "/demo/"))
            for method in sorted({*(route.methods or ()), "BREW"}):
                # Hosts are refused before there is a method or a route.
                hosts = ({"host": "evil.example"}, {"host": "[::1]x"}) if method == "BREW" else ()
                for headers in ({}, {"content-type": "application/json"}, *hosts):
                    answer = call(method, path, headers=headers, content=b"{}" if headers else b"")
                    assert answer.headers["x-content-type-options"] == "nosniff", (method, path, headers)
                    kept = answer.headers["cache-control"]
                    assert kept == "no-store" or (page and answer.status_code < 400 and kept == "no-cache"), path
        for path in ("/nowhere", "/v1/nowhere"):
            assert call.get(path).headers.items() >= SAFE.items()


def test_a_failure_of_our_own_has_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(tmp_path) as call:
        monkeypatch.setattr(call.app.state.service, "models", lambda: 1 / 0)

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=call.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.get("/v1/models")

        answer = call._run(ask())
        assert answer.status_code == 500
        assert answer.headers.items() >= SAFE.items()


@pytest.mark.parametrize(
    ("part", "status"),
    [
        (DECIDE, 201),
        (DECIDE.replace(b"features", b"nonsense"), 422),
        (DECIDE.replace(b"/m/", b"/n/"), 404),
        (b"nonsense\r\n\r\n", 400),
        (POST + b"Content-Length: 200000\r\n\r\n", 413),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    ],
)
def test_answers_of_the_fast_path_and_of_the_wire_have_them(part: bytes, status: int, service: Service) -> None:
    answer = service.exchange(part.replace(HOST, HOST + b"Connection: close\r\n"))
    assert statuses(answer) == [status], answer
    for name, value in protocol.SAFE_HEADERS:
        assert answer.lower().count(b"\r\n" + name + b": " + value + b"\r\n") == 1


# What probes and refusals tell


def bearing(token: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {token}"}}


def test_probes_tell_strangers_nothing_but_that_it_runs(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        assert call.get("/healthz").json() == {"status": "ok"}
        _, token = Mint(tmp_path).create(["read"], None, 0.0)
        _, blind = Mint(tmp_path).create(["decide"], None, 0.0)
        for given in ({}, bearing("wrong"), bearing(blind)):
            assert call.get("/healthz", **given).json() == {"status": "ok"}
            assert call.get("/readyz", **given).json() == {"status": "ready"}
        assert call.get("/healthz", **bearing(token)).json().keys() == {"status", "version"}
        assert call.get("/readyz", **bearing(token)).json() == {"status": "ready", "models": 0}


def test_the_address_of_the_database_is_for_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    address = Address.of("postgresql://somebody:secret@db.internal:6543/decisions")
    problem = 'connection to server at "db.internal", port 6543 failed: no password for user "somebody"'
    with Caller(tmp_path) as call:
        call.put("/v1/models/m", {"loop": "choose", "candidates": [{"id": "a"}, {"id": "b"}]})

        def away(*_: object) -> Any:
            raise database_error(problem, address)

        monkeypatch.setattr(call.app.state.service.engine.store, "commit", away)
        call.app.state.service.writer.last_commit_at = -1e9
        body = {"candidates": [{"id": "a"}]}
        rank = {"actions": [{"id": "a"}, {"id": "b"}]}
        answers = [
            call.get("/readyz"),
            call.post("/v1/models/m/decisions", body),
            call.post("/v1/models/m/decisions:batch", {"decisions": [body]}),
            call.post("/v1/feedback:batch", {"feedback": [{"decision": "0" * 24, "reward": 1}]}),
            call.post("/personalizer/v1.0/rank", rank),
            call.post("/ofrep/v1/evaluate/flags/m", {"context": {}}),
        ]
        monkeypatch.undo()
    for answer in answers:
        assert answer.status_code == 503
        for secret in ("db.internal", "6543", "somebody", "secret"):
            assert secret not in answer.text
    listed = [record.getMessage() for record in caplog.records if "db.internal" in record.getMessage()]
    assert len(listed) == 1, f"one line within {QUIET_S:g} seconds"
    assert "secret" not in listed[0]


def test_a_path_of_the_disk_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(tmp_path) as call:

        def full(*_: object) -> Any:
            raise OSError(28, "No space left on device", str(tmp_path / "smidgen.db"))

        monkeypatch.setattr(call.app.state.service.engine.store, "commit", full)
        answer = call.put("/v1/models/m", json.loads(RANK))
        monkeypatch.undo()
    assert answer.status_code == 503
    assert "No space left on device" in answer.text
    assert str(tmp_path) not in answer.text


# Readiness


def test_readiness_is_proved_by_a_write_once_in_a_minute(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        writer = call.app.state.service.writer
        writer.last_commit_at = -1e9
        assert call.get("/readyz").status_code == 200
        commits, written = writer.commits, (tmp_path / "smidgen.db-wal").stat().st_mtime_ns
        for ago in range(20):
            writer.last_commit_at = time.monotonic() - 2.5 * ago
            assert call.get("/readyz").status_code == 200
        assert (writer.commits, (tmp_path / "smidgen.db-wal").stat().st_mtime_ns) == (commits, written)
        writer.last_commit_at -= 60.0
        assert call.get("/readyz").status_code == 200
        assert writer.commits == commits + 1


def test_a_failure_is_seen_within_the_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(tmp_path) as call:
        assert call.get("/readyz").status_code == 200

        def full(*_: object) -> Any:
            raise StorageFailed("a write to the disk failed: it is full", "free some space")

        monkeypatch.setattr(call.app.state.service.engine.store, "commit", full)
        assert call.put("/v1/models/m", json.loads(RANK)).status_code == 503
        assert call.get("/readyz").status_code == 503
        monkeypatch.undo()
