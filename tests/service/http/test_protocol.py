"""HTTP at the level of bytes: what two readers could read differently is refused, and nobody is waited for long."""

from __future__ import annotations

import contextlib
import re
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.live import Live
from smidgen.service.http.protocol import (
    HEAD,
    HEAD_S,
    HEADERS,
    IDLE_S,
    PIPELINED,
    PROBES,
    LimitedHttpProtocol,
    protocol_for,
)
from smidgen.service.http.server import SPARE_FILES, _connections

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("data"), "--max-connections", "40") as service:
        yield service


def port(live: Live) -> int:
    return int(live.url.rstrip("/").rpartition(":")[2])


def connected(live: Live) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port(live)), timeout=20)


def everything(caller: socket.socket) -> bytes:
    """Bytes until the other side closes."""
    content = b""
    try:
        while part := caller.recv(65536):
            content += part
    except ConnectionError:
        pass
    return content


def exchange(live: Live, *parts: bytes) -> bytes:
    """Send bytes, and read until the other side closes."""
    with connected(live) as caller:
        try:
            for part in parts:
                caller.sendall(part)
        except ConnectionError:
            pass
        return everything(caller)


def statuses(content: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", content)]


BAD: dict[str, tuple[bytes, int]] = {
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    "two hosts": (GET + b"Host: 127.0.0.1\r\n\r\n", 400),
    "two other hosts": (GET + b"hOST: elsewhere\r\n\r\n", 400),
    "no host in 1.0": (b"GET /healthz HTTP/1.0\r\n\r\n", 400),
    "bare LF": (b"GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n", 400),
    "bare LF after a header": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\nX: y\r\n\r\n", 400),
    "bare LF at the end": (GET + b"\n", 400),
    "bare CR": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\rX: y\r\n\r\n", 400),
    "folded header": (GET + b"X: a\r\n b\r\n\r\n", 400),
    "folded with a tab": (GET + b"X: a\r\n\tb\r\n\r\n", 400),
    "space before the colon": (b"GET /healthz HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", 400),
    "NUL": (GET + b"X: a\0b\r\n\r\n", 400),
    "length and coding": (GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "coding and length": (GET + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    "two lengths": (GET + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
    "signed length": (GET + b"Content-Length: +0\r\n\r\n", 400),
    "another coding": (GET + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "a coding before chunked": (GET + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunked in two headers": (GET + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    "HTTP/2.0": (b"GET /healthz HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", 505),
    "HTTP/0.9": (b"GET /healthz\r\n\r\n", 400),
    "CONNECT": (b"CONNECT a:1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "too many headers": (GET + b"".join(b"X-%d: y\r\n" % i for i in range(HEADERS)) + b"\r\n", 431),
    "a long header": (GET + b"X: " + b"y" * HEAD + b"\r\n\r\n", 431),
    "a long target": (b"GET /" + b"y" * HEAD + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 431),
    "a head without end": (GET + b"X: " + b"y" * (1 << 20), 431),
}


@pytest.mark.parametrize("name", BAD)
def test_what_could_be_read_in_two_ways_is_refused(live: Live, name: str) -> None:
    request, status = BAD[name]
    answer = exchange(live, request)
    assert statuses(answer) == [status], answer[:300]
    assert b"connection: close" in answer
    assert b'{"error": {"code": "' in answer


def test_what_fits_is_taken(live: Live) -> None:
    many = b"".join(b"X-%d: y\r\n" % i for i in range(HEADERS - 2))
    assert statuses(exchange(live, GET + many + b"Connection: close\r\n\r\n")) == [200]
    long = b"X: " + b"y" * (HEAD - 200) + b"\r\n"
    assert statuses(exchange(live, GET + long + b"Connection: close\r\n\r\n")) == [200]
    drop_by_drop = [bytes([byte]) for byte in GET + b"Connection: close\r\n\r\n"]
    assert statuses(exchange(live, *drop_by_drop)) == [200]


def test_trailers_are_not_headers(live: Live) -> None:
    """Else one could say who he is after the service has asked."""
    head = b"PUT /v1/models/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    assert statuses(exchange(live, head + chunked + b"Content-Encoding: gzip\r\n\r\n")) == [422]
    assert statuses(exchange(live, head + chunked + b"X: y\r\n" * (HEADERS + 1) + b"\r\n"))[:1] in ([431], [])


def test_an_offer_to_upgrade_is_declined_and_the_body_kept(live: Live) -> None:
    """Request as sent by Java's client and curl --http2."""
    body = b'{"nonsense": 1}'
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    head = b"PUT /v1/models/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    sized = head + offer + b"Content-Length: %d\r\n\r\n" % len(body)
    last = GET + b"Connection: close\r\n\r\n"
    for parts in ((sized + body + last,), (sized, body, last)):
        answer = exchange(live, *parts)
        assert statuses(answer) == [422, 200], answer
        assert b"nonsense" in answer


def test_requests_behind_one_another_are_answered_in_order(live: Live) -> None:
    answer = exchange(
        live, (GET + b"\r\n") * 5 + b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    )
    assert statuses(answer) == [200] * 5 + [404]
    flood = exchange(live, (GET + b"\r\n") * (100 * PIPELINED))
    assert len(statuses(flood)) < 100 * PIPELINED


def test_past_the_cap_callers_are_turned_away_at_once(live: Live) -> None:
    held = [connected(live) for _ in range(40)]
    try:
        _until(lambda: statuses(exchange(live)) == [503])
        silent = exchange(live)
        assert statuses(silent) == [503], "though it asked for nothing"
        assert b"retry-after: 1" in silent
        assert statuses(exchange(live, GET.replace(b"/healthz", b"/v1/models") + b"\r\n")) == [503]
        held[0].sendall(GET + b"Connection: close\r\n\r\n")
        assert statuses(everything(held[0])) == [200], "those who are inside are served"
    finally:
        for each in held:
            each.close()
    _until(lambda: statuses(exchange(live, GET + b"Connection: close\r\n\r\n")) == [200])


def _until(true: Any) -> None:
    """Wait for it; at most 20 seconds."""
    ends = time.monotonic() + 20
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.05)


def _answered(caller: socket.socket) -> bool:
    """True if there is something to read, including the end."""
    look = select.poll()
    look.register(caller, select.POLLIN)
    return bool(look.poll(0))


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written, self.closed, self.aborted = b"", False, False

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> None:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Nothing:
    """A task that does nothing, a timer that never rings."""

    def add_done_callback(self, call: Any) -> None: ...

    def cancel(self) -> None: ...


class Clock:
    """An event loop that only knows the time, and starts nothing."""

    def __init__(self) -> None:
        self.now = 100.0
        self.later: list[Any] = []

    def time(self) -> float:
        return self.now

    def create_task(self, work: Any) -> Any:
        work.close()
        return Nothing()

    def call_later(self, delay: float, call: Any) -> Any:
        self.later.append(call)
        return Nothing()


def a_connection(most: int = 10) -> tuple[LimitedHttpProtocol, Wire, Clock]:
    import uvicorn
    from uvicorn.server import ServerState

    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    config = uvicorn.Config(app, http=protocol_for(most), ws="none", lifespan="off")
    clock, wire = Clock(), Wire()
    made = protocol_for(most)(config=config, server_state=ServerState(), app_state={}, _loop=clock)
    made.connection_made(wire)
    return made, wire, clock


def test_a_head_has_ten_seconds_from_its_first_byte() -> None:
    made, wire, clock = a_connection()
    made.data_received(GET)
    clock.now += HEAD_S - 1
    made.data_received(b"X: y\r\n")
    assert not made.is_overdue(clock.now)
    clock.now += 2
    assert made.is_overdue(clock.now)
    made.end()
    assert statuses(wire.written) == [408]
    assert wire.closed


def test_blank_lines_are_the_beginning_of_a_head() -> None:
    made, _, clock = a_connection()
    made.data_received(b"\r\n")
    clock.now += HEAD_S + 1
    assert made.is_overdue(clock.now)


def test_an_idle_connection_has_sixty_seconds() -> None:
    made, wire, clock = a_connection()
    clock.now += IDLE_S - 1
    assert not made.is_overdue(clock.now)
    clock.now += 2
    assert made.is_overdue(clock.now)
    made.end()
    assert wire.aborted
    assert wire.written == b""


def test_a_request_that_is_worked_on_is_not_overdue_and_idles_afterwards() -> None:
    made, _, clock = a_connection()
    made.data_received(GET + b"\r\n")
    clock.now += 10 * IDLE_S
    assert not made.is_overdue(clock.now)
    made.cycle.response_complete = True
    made.on_response_complete()
    assert not made.is_overdue(clock.now + IDLE_S - 1)
    assert made.is_overdue(clock.now + IDLE_S + 1)
    made.data_received(GET)
    assert made.is_overdue(clock.now + HEAD_S + 1)


def test_who_does_not_take_the_answer_is_let_go() -> None:
    made, _, clock = a_connection()
    made.data_received(GET + b"\r\n")
    made.pause_writing()
    clock.now += IDLE_S + 1
    assert made.is_overdue(clock.now)
    made.resume_writing()
    assert not made.is_overdue(clock.now)


def test_the_rest_of_a_body_that_is_answered_already_is_not_waited_for() -> None:
    made, _, clock = a_connection()
    made.data_received(GET + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
    made.cycle.response_complete = True
    made.on_response_complete()
    clock.now += HEAD_S + 1
    made.data_received(b"2\r\nab\r\n")
    assert made.is_overdue(clock.now)
    made.data_received(b"0\r\n\r\n")
    assert not made.is_overdue(clock.now)


def test_an_error_after_a_request_is_not_its_reply() -> None:
    made, wire, _ = a_connection()
    made.data_received(GET + b"\r\n")
    made.data_received(b"nonsense\n")
    assert wire.aborted
    assert wire.written == b""
    made.data_received(b"more")


def test_an_error_in_a_body_is_reported(live: Live) -> None:
    chunked = b"PUT /v1/models/a HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
    json = b"Content-Type: application/json\r\n\r\n"
    for chunks in (b"zz\r\n", b"2\n{}\r\n", b"2\r\n{}\n0\r\n\r\n", b"2\r\n{}x\r\n"):
        assert statuses(exchange(live, chunked + json + chunks)) == [400]


def test_a_fault_of_our_own_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    made, wire, _ = a_connection()
    monkeypatch.setattr(made, "_start_asgi_task", lambda *_: 1 / 0)
    made.data_received(GET + b"\r\n")
    assert wire.closed
    assert "ZeroDivisionError" in caplog.text


def test_the_reserve_for_probes_is_bounded_while_all_of_it_answers() -> None:
    first, _, clock = a_connection(1)
    kind, made = type(first), []
    for _ in range(PROBES + 1):
        wire = Wire()
        each = kind(config=first.config, server_state=first.server_state, app_state={}, _loop=clock)
        each.connection_made(wire)
        each.data_received(GET + b"\r\n")
        made.append((each, wire))
    assert len(kind.reserve) == PROBES
    assert all(wire.written == b"" for _, wire in made[:-1]), "they are being answered"
    assert statuses(made[-1][1].written) == [503]
    made[0][0].connection_lost(None)
    assert len(kind.reserve) == PROBES - 1
    assert len(first.connections) == PROBES


def test_the_oldest_of_the_reserve_that_asks_for_nothing_makes_room() -> None:
    first, _, clock = a_connection(1)
    wires = [Wire() for _ in range(PROBES + 2)]
    for wire in wires:
        each = type(first)(config=first.config, server_state=first.server_state, app_state={}, _loop=clock)
        each.connection_made(wire)
        if wire is wires[1]:
            each.data_received(GET + b"\r\n")
    assert [statuses(wire.written) for wire in wires[:4]] == [[503], [], [503], []]


def test_files_are_counted_before_connections_are_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: limits.append(new))
    assert _connections(500) == 500
    assert len(limits) == 1
    assert _connections(1000) == 1000
    assert limits[-1] == (1000 + SPARE_FILES, 4096)
    assert _connections(100_000) == 4096 - SPARE_FILES
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert _connections(100_000) == 100_000


def test_two_thousand_half_requests_with_few_files_neither_fill_the_log_nor_shut_others_out(tmp_path: Path) -> None:
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft[0] < 2200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2500, soft[1]), soft[1]))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200));"
        "from smidgen.cli import run; sys.argv = ['smidgen', 'serve', '--port', '0', '--data', sys.argv[1]]; run()"
    )
    errors = tmp_path / "errors"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "data")], stdout=-1, stderr=file, text=True
        )
    held = []
    try:
        assert process.stdout is not None
        address = ("127.0.0.1", int(process.stdout.readline().split()[3].rstrip("/").rpartition(":")[2]))
        for _ in range(2000):
            held.append(socket.create_connection(address, timeout=20))
            with contextlib.suppress(ConnectionError):
                held[-1].sendall(GET)
        with socket.create_connection(address, timeout=20) as caller:
            assert statuses(everything(caller)) == [503], "turned away, not left hanging"
        kept = [each for each in held if not _answered(each)]
        assert 50 < len(kept) <= 200 - SPARE_FILES
        for each in held:
            each.close()

        def served() -> bool:
            with socket.create_connection(address, timeout=20) as caller:
                caller.sendall(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return statuses(everything(caller)) == [200]

        _until(served)
        assert errors.stat().st_size < 1000, errors.read_text()[:2000]
    finally:
        for each in held:
            each.close()
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


class Direct:
    """Takes every request whole."""

    def __init__(self) -> None:
        self.direct = self
        self.taken: list[bytes] = []

    def matches(self, target: bytes) -> bool:
        return True

    def handle(self, target: bytes, headers: Any, body: bytes, respond: Any, peer: str | None = None) -> bool:
        self.taken.append(body)
        respond(200, b"{}", {})
        return True


def post(length: int, more: bytes = b"") -> bytes:
    return b"POST /v1/decisions/1/feedback HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n" % (length, more)


def test_a_body_that_comes_soon_after_its_head_is_taken_with_it() -> None:
    made, wire, clock = a_connection()
    made.app = app = Direct()
    for body in (b"{}", b"[]"):
        made.data_received(post(2))
        made.data_received(body[:1])
        made.data_received(body[1:])
    assert app.taken == [b"{}", b"[]"]
    assert statuses(wire.written) == [200, 200]
    for call in clock.later:
        call()
    assert statuses(wire.written) == [200, 200]


def test_a_body_that_comes_late_or_is_large_goes_the_ordinary_way() -> None:
    made, _, clock = a_connection()
    made.app = app = Direct()
    made.data_received(post(2))
    assert made.cycle is None
    clock.later[-1]()
    assert made.cycle is not None
    made.data_received(b"{}")
    for head in (post(70_000), post(2, b"Expect: 100-continue\r\n")):
        made, _, clock = a_connection()
        made.app = app
        made.data_received(head)
        assert made.cycle is not None
    assert app.taken == []


def test_a_connection_that_ends_before_the_body_is_forgotten() -> None:
    made, _, clock = a_connection()
    made.app = app = Direct()
    made.data_received(post(2))
    made.connection_lost(None)
    for call in clock.later:
        call()
    assert made.cycle is None
    assert app.taken == []
