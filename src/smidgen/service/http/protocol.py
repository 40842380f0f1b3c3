"""HTTP/1.1 on one connection: uvicorn's protocol over httptools, with the limits that a public service needs.

httptools refuses bare line feeds, folded headers and a Content-Length together with a Transfer-Encoding. It accepts two
or no Host headers, a head of any size, trailers as headers, any version, and any coding before "chunked"; and it drops
the body of a request that offers an upgrade. This module refuses all of these.
"""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

if TYPE_CHECKING:
    from smidgen.service.http.fast_path import FastPath

#: Maximum number of bytes, and of headers, in the head of a request.
HEAD, HEADERS = 64 << 10, 100
#: Maximum seconds from the first byte of a request to the end of its head.
HEAD_S = 10.0
#: Seconds that a request is kept whole although its body has not arrived with its head, and the largest such body:
#: many clients send both apart.
REST_S, SMALL = 0.005, 64 << 10
#: Seconds that a connection may be idle, or not accept a reply.
IDLE_S = 60.0
#: Number of requests that may wait behind one another on a connection.
PIPELINED = 16
#: Number of connections beyond the cap that are accepted for probes, and how many seconds each has to send its request.
PROBES, PROBE_S = 16, 1.0
#: The paths of probes.
PROBE_PATHS = (b"/healthz", b"/readyz")
#: Headers of every answer that does not set them itself: no browser guesses its type, no cache keeps it.
SAFE_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))

_log = logging.getLogger("smidgen.service")
_NOBODY = asyncio.Event()  # of a request that nobody reads piece by piece
_OFFER = (b"upgrade", b"connection", b"http2-settings")


class RequestRejected(Exception):
    """A request that is not read to its end.

    Attributes
    ----------
    status, message, hint
        The reply to the caller.
    """

    def __init__(self, status: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint

    def response(self) -> bytes:
        """The whole answer, after which the connection is closed."""
        code = "busy" if self.status == 503 else HTTPStatus(self.status).phrase.lower().replace(" ", "_")
        body = json.dumps({"error": {"code": code, "message": self.message, "hint": self.hint}})
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            "content-type: application/json",
            f"content-length: {len(body)}",
            "connection: close",
            *(["retry-after: 1"] if self.status in (429, 503) else []),
            *(f"{name.decode()}: {value.decode()}" for name, value in SAFE_HEADERS),
        ]
        return "\r\n".join([*lines, "", body]).encode()


_LARGE = RequestRejected(431, "the head is too large", f"send at most {HEAD} bytes and {HEADERS} headers")
_FULL = RequestRejected(503, "there are as many connections as the service takes", "try again in a moment")
_SAFE_LINES = b"".join(name + b": " + value + b"\r\n" for name, value in SAFE_HEADERS)


class BufferedRequest(RequestResponseCycle):
    """A request that was taken off its connection whole; the answer is written in one go.

    Parameters
    ----------
    keep_alive
        Whether the connection is for further requests.
    """

    def __init__(self, *, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        self.message_event = _NOBODY
        self.disconnected = self.response_started = self.response_complete = False


class LimitedHttpProtocol(HttpToolsProtocol):
    """An HTTP/1.1 connection with limits.

    Past the cap there is a reserve for probes: an orchestrator that gets no answer restarts a service that is only
    busy. A connection of the reserve has a second to ask for /healthz or /readyz, once; anything else is refused. The
    oldest that has not asked yet makes room for a new one, so connections that say nothing cannot use the reserve up.
    """

    #: Maximum number of connections; beyond it they are refused, except for probes.
    most_connections = 1000
    #: The connections of the reserve, oldest first.
    reserve: ClassVar[dict[LimitedHttpProtocol, None]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._refusal: RequestRejected | None = None
        self._running: RequestResponseCycle | None = None  # the request that the application works on
        self._probing_since: float | None = None  # when it came, if it is of the reserve
        self._begun: float | None = None  # when the head that is being read began to come
        self._idle_since: float | None = None  # since when there is neither a request nor a part of one
        self._stuck_since: float | None = None  # since when the peer does not accept data
        self._unwanted_since: float | None = None  # since when the rest of a body comes that was answered already
        self._in_head = False
        self._complete = True  # whether the latest request has come in full
        self._fast_path: FastPath | None = None  # who takes requests whole
        self._rest_due: asyncio.TimerHandle | None = None
        self._parts: list[bytes] | None = None  # the body of a request that may be taken whole, as far as it has come
        self._size = self._fed = self._headers = 0

    # The connection

    def connection_made(self, transport: Any) -> None:
        """Take it, or turn it away."""
        if len(self.connections) - len(self.reserve) >= self.most_connections:
            waiting = [each for each in self.reserve if not each.transport.is_closing()]
            silent = next((each for each in waiting if each._running is None), None)
            if len(waiting) >= PROBES:
                if silent is None:
                    self.transport = transport
                    transport.write(_FULL.response())
                    transport.close()
                    return
                silent.refuse(_FULL)
            self.reserve[self] = None
            self._probing_since = self.loop.time()
        super().connection_made(transport)
        self._idle_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it, and whatever it still waits for."""
        self.reserve.pop(self, None)
        self._abandon()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        self._idle_since = None
        if self._begun is None and self._complete:
            self._begun = self.loop.time()
        known = self._in_head
        try:
            self._feed(data)
            if self._parts is not None and self._rest_due is None:
                if self._is_small() and not self.expect_100_continue:
                    self._rest_due = self.loop.call_later(REST_S, self._give_up_rest)
                else:
                    self._ordinary()
            self._fed += len(data) if self._in_head and known else 0
            if self._fed > HEAD:
                raise _LARGE
        except (httptools.HttpParserError, RequestRejected) as error:
            refusal = self._refusal or (error if isinstance(error, RequestRejected) else None)
            cause = error.__context__
            if refusal is None and cause is not None and not isinstance(cause, httptools.HttpParserError):
                _log.error("a request could not be read", exc_info=cause)
            self.refuse(refusal or RequestRejected(400, f"this is not HTTP/1.1: {error}", "fix the client"))

    def refuse(self, refusal: RequestRejected) -> None:
        """Answer with an error and close. Writes no log line, so a caller cannot fill the log."""
        waiting = self.cycle is not None and not self.cycle.response_complete
        own = (
            not self._in_head and not self._complete and not self.pipeline
        )  # the fault is in the body that it waits for
        self._abandon()
        if waiting and (self.cycle.response_started or not own):
            self.transport.abort()  # an answer now would be taken for that of the request before
        elif not self.transport.is_closing():
            self.transport.write(refusal.response())
            self.transport.close()

    def _abandon(self) -> None:
        """Mark every request that is not answered as disconnected: nobody writes to a connection that is closed.

        With several requests on a connection, the one that is worked on is neither the latest nor among those that
        wait: the application would write to a closed connection, and the log would have its traceback.
        """
        self._parts = None
        for cycle in (self._running, self.cycle, *(each for each, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def is_overdue(self, now: float) -> bool:
        """Check whether it has kept the service waiting for too long."""
        if self._probing_since is not None and self._running is None and now - self._probing_since > PROBE_S:
            return True
        heads, others = (self._begun, self._unwanted_since), (self._idle_since, self._stuck_since)
        return any(since is not None and now - since > HEAD_S for since in heads) or any(
            since is not None and now - since > IDLE_S for since in others
        )

    def end(self) -> None:
        """Close a connection that is overdue."""
        if self._probing_since is not None and self._running is None:
            self.refuse(_FULL)
        elif self._begun is not None:
            self.refuse(
                RequestRejected(408, f"the head has not arrived within {HEAD_S:g} seconds", "send it in one go")
            )
        else:
            self._abandon()
            self.transport.abort()

    def pause_writing(self) -> None:
        """Called when the peer does not read its replies."""
        super().pause_writing()
        self._stuck_since = self.loop.time()

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        self._stuck_since = None

    # The request

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:  # declined: the request is read as if it had not been made
            method, rest = self.parser.get_method(), data[offer.args[0] :]
            if method == b"CONNECT":
                raise RequestRejected(
                    400, "CONNECT is not supported: this server is not a proxy", "use GET, POST, PUT or DELETE"
                ) from offer
            lines = [method + b" " + self.url + b" HTTP/" + self.parser.get_http_version().encode()]
            lines += [name + b": " + value for name, value in self.headers if name not in _OFFER]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
            self._feed(b"\r\n".join([*lines, b"", b""]) + rest)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head, self._complete = True, False
        self._size = self._fed = self._headers = 0
        if self._begun is None:
            self._begun = self.loop.time()

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        self._size += len(url)
        if self._size > HEAD:
            self._refuse(_LARGE)
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer: those are passed over."""
        self._headers += 1
        self._size += len(name) + len(value) + 4
        if self._size > HEAD or self._headers > HEADERS:
            self._refuse(_LARGE)
        if self._in_head:
            name = name.lower()
            self.headers.append((name, value))
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        """The head is there; the request begins."""
        if self.parser.should_upgrade():
            return
        names, version = [name for name, _ in self.headers], self.parser.get_http_version()
        if (hosts := names.count(b"host")) != 1:
            self._refuse(RequestRejected(400, f"there are {hosts} Host headers", "send exactly one"))
        if version not in ("1.1", "1.0"):
            self._refuse(RequestRejected(505, f"this is HTTP/{version}", "speak HTTP/1.1"))
        if b"transfer-encoding" in names:
            codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
            if codings != [b"chunked"]:
                self._refuse(
                    RequestRejected(501, "the transfer is coded", 'send "Transfer-Encoding: chunked" and nothing else')
                )
        if len(self.pipeline) >= PIPELINED:
            self._refuse(RequestRejected(429, f"more than {PIPELINED} requests wait here", "wait for the answers"))
        if self._probing_since is not None and not self._is_probe(names):
            self._refuse(_FULL)
        self._in_head, self._begun = False, None
        self._size = self._headers = 0
        if self._direct(version):
            self._parts = []
        else:
            super().on_headers_complete()
            if self._probing_since is not None:
                self.cycle.keep_alive = False

    def _is_probe(self, names: list[bytes]) -> bool:
        """Check for a request that the reserve is for: the first of its connection, a read, without a body."""
        return (
            self._running is None
            and self.parser.get_method() in (b"GET", b"HEAD")
            and self.url.partition(b"?")[0] in PROBE_PATHS
            and b"content-length" not in names
            and b"transfer-encoding" not in names
        )

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if self._parts is not None:
            self._parts.append(body)
        elif not self.parser.should_upgrade():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        if not self.parser.should_upgrade():
            self._complete, self._unwanted_since = True, None
            if self._parts is not None and self._take(b"".join(self._parts)):
                self._parts = None
                return
            if self._parts is not None:
                self._ordinary()
            super().on_message_complete()

    # Requests that are taken whole

    def _direct(self, version: str) -> bool:
        """Check whether the request whose head is there may be taken whole."""
        self._fast_path = getattr(self.app, "direct", None)
        return (
            self._fast_path is not None
            and self._fast_path.matches(self.url)
            and (self.cycle is None or self.cycle.response_complete)
            and version == "1.1"
            and self.parser.get_method() == b"POST"
            and not self.flow.write_paused
        )

    def _take(self, body: bytes) -> bool:
        """Give the request away whole."""
        taken = BufferedRequest(keep_alive=self.parser.should_keep_alive())
        peer = self.client[0] if self.client else None
        respond = partial(self._respond, taken)
        if self._fast_path is None or not self._fast_path.handle(self.url, self.headers, body, respond, peer):
            return False
        self.cycle = taken
        return True

    def _is_small(self) -> bool:
        """Check whether the body that is to come may be taken whole."""
        length = dict(self.headers).get(b"content-length", b"")
        return length.isdigit() and len(length) < 6 and int(length) <= SMALL

    def _give_up_rest(self) -> None:
        """Let a request whose body has not arrived at once go the ordinary way."""
        self._rest_due = None
        if self._parts is not None:
            self._ordinary()

    def _ordinary(self) -> None:
        """Let the request that is there, or a part of it, go the ordinary way."""
        parts, self._parts = self._parts or [], None
        super().on_headers_complete()
        for part in parts:
            super().on_body(part)

    def _respond(self, taken: BufferedRequest, status: int, content: bytes, more: dict[str, str]) -> None:
        """Write an answer in one go."""
        taken.response_started = taken.response_complete = True
        if taken.disconnected or self.transport.is_closing():
            return
        lines = [STATUS_LINE[status]]
        for name, value in self.server_state.default_headers:
            lines += (name, b": ", value, b"\r\n")
        lines += (b"content-length: %d\r\ncontent-type: application/json\r\n" % len(content),)
        lines += (f"{name}: {value}\r\n".encode() for name, value in more.items())
        lines.append(_SAFE_LINES)
        lines += (b"\r\n" if taken.keep_alive else b"connection: close\r\n\r\n", content)
        self.transport.write(b"".join(lines))
        if not taken.keep_alive:
            self.transport.close()
        if self.pipeline or not taken.keep_alive:
            self.on_response_complete()
        else:  # the same, without a timer of its own: `overdue` closes those that idle
            self.server_state.total_requests += 1
            self.flow.resume_reading()
            self._idle_since = self.loop.time()

    def on_response_complete(self) -> None:
        """The answer is out; from now on the connection idles, or the rest of a body that nobody wants still comes."""
        super().on_response_complete()
        if self._complete:
            self._idle_since = self.loop.time()
        else:
            self._unwanted_since = self.loop.time()

    def _refuse(self, refusal: RequestRejected) -> None:
        """Refuse from within the parser, which lets through only exceptions of its own."""
        self._refusal = refusal
        raise refusal


def protocol_for(most: int) -> type[LimitedHttpProtocol]:
    """The protocol with a number of connections, and a reserve of its own."""
    return type("Guarded", (LimitedHttpProtocol,), {"most_connections": most, "reserve": {}})
