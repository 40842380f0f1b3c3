"""Requests passed from HTTP processes to the process that has the engine, over a Unix socket.

A front parses HTTP and knows nothing else: it sends each request whole, as one frame, and writes the reply that comes
back. All requests of one turn of the event loop go out in one write. The engine's process judges and answers them as if
they had come to its own port: hot calls by the `FastPath`, all others by the application.

If the line breaks, a request that was sent may or may not have been carried out. The front sends it again where that is
safe: reads, feedback, and decisions with an ``id`` of the caller's. All others are answered with 503.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from struct import Struct as Packing
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smidgen.serialization import UNREADABLE
from smidgen.service.errors import Busy, TooLarge, TooSlow
from smidgen.service.http.errors import error_response
from smidgen.service.http.peers import HELLO, LARGEST_REPLY, LARGEST_REQUEST, PROOF_S, Seal
from smidgen.service.http.protocol import SAFE_HEADERS

if TYPE_CHECKING:
    from smidgen.service.http.fast_path import FastPath

Headers = list[tuple[bytes, bytes]]
#: Seconds that a request waits for the engine's process, and seconds between two tries to reach it.
PATIENCE_S, RETRY_S = 5.0, 0.05
#: Seconds that a body may take to arrive.
BODY_S = 60.0
#: Largest body that is taken off its connection whole.
LARGE = 64 << 10
#: Most bytes of requests that a front holds.
HELD = 128 << 20
#: Most lines of other machines that have not proved themselves yet.
UNPROVED = 64
_LENGTH = Packing("<I")
_log = logging.getLogger("smidgen.service")


class RequestFrame(msgspec.Struct, array_like=True):
    """A request. One without a method cancels an earlier request with the same id."""

    id: int
    method: str
    target: bytes = b""
    headers: Headers = []
    body: bytes = b""
    peer: str | None = None


class ReplyFrame(msgspec.Struct, array_like=True):
    """A part of a reply: the head and some of the body.

    Number 0 is about the line: without a status the other process is ready, and still there; with 503 it is stopping.
    """

    id: int
    status: int | None = None
    headers: Headers = []
    body: bytes = b""
    more: bool = False


def json_reply(id: int, status: int, content: bytes, more: Mapping[str, str]) -> ReplyFrame:
    """Make a whole reply of JSON, with the headers that every reply has."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content)), *SAFE_HEADERS]
    return ReplyFrame(id, status, headers + [(name.encode(), value.encode()) for name, value in more.items()], content)


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(RequestFrame).decode
_decode_reply = msgspec.msgpack.Decoder(ReplyFrame).decode


class Line(asyncio.Protocol, ABC):
    """One end of a connection that carries frames. What is sent within one turn of the event loop is one write.

    Parameters
    ----------
    seal
        Proves to the other end, on another machine, that this one knows the secret; None within a machine.
    largest
        The largest frame that is accepted.
    """

    def __init__(self, seal: Seal | None = None, largest: int = 1 << 32) -> None:
        self.transport: Any = None
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._to_send: list[bytes] = []
        self._seal = seal
        self._largest = largest
        self._is_proved = False

    def connection_made(self, transport: Any) -> None:
        """Keep the connection; on another machine's, begin to prove who this is."""
        self.transport = transport
        if self._seal is None:
            self._prove()
        else:
            transport.write(self._seal.hello)
            self._loop.call_later(PROOF_S, self._expire)

    def send(self, frame: RequestFrame | ReplyFrame) -> None:
        """Send a frame at the end of this turn."""
        content = _encode(frame)
        if self._seal is not None:
            content = self._seal.close(content)
        if not self._to_send:
            self._loop.call_soon(self._flush)
        self._to_send += (_LENGTH.pack(len(content)), content)

    def data_received(self, data: bytes) -> None:
        """Take the frames that are complete."""
        received = self._received
        received += data
        begin, size = 0, len(received)
        if self._seal is not None and not self._seal.is_agreed:
            if size < HELLO:
                return
            begin = HELLO
            if not self._seal.agree(bytes(received[:HELLO])):
                self._refuse()
                return
            self.agreed()
        while size - begin >= 4:
            length = _LENGTH.unpack_from(received, begin)[0]
            if length > self._largest:
                self._refuse()
                return
            end = begin + 4 + length
            if end > size:
                break
            content: bytes | None = bytes(received[begin + 4 : end])
            begin = end
            if self._seal is not None and content is not None:
                content = self._seal.open(content)
                if content is None:
                    self._refuse()
                    return
                if not self._is_proved:
                    self._prove()
            if content is not None:
                self.frame_received(content)
        if begin:
            del received[:begin]

    def agreed(self) -> None:
        """Called when the keys of a line between machines are known."""

    def proved(self) -> None:
        """Called when the other end may be trusted: at once within a machine, else after its first frame."""

    def _prove(self) -> None:
        self._is_proved = True
        self.proved()

    def _expire(self) -> None:
        if not self._is_proved:
            self._refuse()

    def _refuse(self) -> None:
        """End a line whose other end does not know the secret, or sends what nobody may send."""
        if not self.transport.is_closing():
            _log.warning("a line of %s was closed: it sent a foreign frame", self.transport.get_extra_info("peername"))
        self.transport.abort()

    @abstractmethod
    def frame_received(self, content: bytes) -> None:
        """Take one frame."""

    def close(self) -> None:
        """Send what waits and close."""
        self._flush()
        self.transport.close()

    def _flush(self) -> None:
        to_send, self._to_send = self._to_send, []
        if to_send and not self.transport.is_closing():
            self.transport.write(b"".join(to_send))


# In the process that has the engine.


class ForwardServer:
    """Answers the requests that fronts send.

    Parameters
    ----------
    app
        The application.
    direct
        Answers hot calls.
    """

    def __init__(self, app: ASGIApp, direct: FastPath) -> None:
        self.app = app
        self.direct = direct
        self.lines: set[EngineLine] = set()
        self.unproved: set[EngineLine] = set()

    def line(self) -> EngineLine:
        """Make the protocol of a new connection."""
        return EngineLine(self)

    def peer_line(self, secret: bytes) -> EngineLine:
        """Make the protocol of a new connection of another machine."""
        return EngineLine(self, Seal(secret, is_front=False))

    def greet(self, status: int | None = None) -> None:
        """Tell the other ends of all lines that this process is there; with 503, that it is stopping."""
        for line in self.lines:
            line.send(ReplyFrame(0, status))

    async def drain(self, patience_s: float) -> None:
        """Wait until all fronts have closed their lines, or patience ends."""
        deadline = asyncio.get_running_loop().time() + patience_s
        while self.lines and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        for line in list(self.lines):
            line.close()


class EngineLine(Line):
    """The engine's end of a line. Other machines may send nothing but hot calls."""

    def __init__(self, server: ForwardServer, seal: Seal | None = None) -> None:
        super().__init__(seal, LARGEST_REQUEST if seal is not None else 1 << 32)
        self._server = server
        self._running: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}

    def connection_made(self, transport: Any) -> None:
        """Keep the connection, unless too many have not proved themselves yet."""
        if self._seal is not None:
            self._server.unproved.add(self)
        super().connection_made(transport)
        if len(self._server.unproved) > UNPROVED:
            transport.abort()

    def proved(self) -> None:
        """Say that the engine is ready."""
        self._server.unproved.discard(self)
        self._server.lines.add(self)
        self.send(ReplyFrame(0))

    def connection_lost(self, exc: Exception | None) -> None:
        """Signal running requests that their callers are gone."""
        self._server.lines.discard(self)
        self._server.unproved.discard(self)
        for _, gone in self._running.values():
            gone.set()

    def pause_writing(self) -> None:
        """Take no more requests while the front does not take replies; fronts never stop taking replies."""
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Take requests again."""
        self.transport.resume_reading()

    def frame_received(self, content: bytes) -> None:
        """Answer a request."""
        frame = _decode_request(content)
        if not frame.method:
            if (running := self._running.get(frame.id)) is not None:
                running[1].set()
            return
        if self._seal is not None and not (frame.method == "POST" and self._server.direct.matches(frame.target)):
            self._refuse()
            return
        self.answer(frame)

    def answer(self, frame: RequestFrame) -> None:
        """Answer a request as if it had come to a port of this process."""
        direct = self._server.direct
        if frame.method == "POST" and direct.matches(frame.target):

            def respond(status: int, body: bytes, more: dict[str, str]) -> None:
                self.send(json_reply(frame.id, status, body, more))

            if direct.handle(frame.target, frame.headers, frame.body, respond, frame.peer):
                return
        gone = asyncio.Event()
        task = self._loop.create_task(self._call(frame, gone))
        self._running[frame.id] = task, gone
        task.add_done_callback(lambda _: self._running.pop(frame.id, None))

    async def _call(self, frame: RequestFrame, gone: asyncio.Event) -> None:
        path, _, query = frame.target.partition(b"?")
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": frame.method,
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": frame.headers,
            "client": (frame.peer, 0) if frame.peer is not None else None,
            "server": None,
            "state": {},
        }
        unread, status, headers = True, None, Headers()

        async def receive() -> Message:
            nonlocal unread
            if unread:
                unread = False
                return {"type": "http.request", "body": frame.body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], [(bytes(name), bytes(value)) for name, value in message["headers"]]
                return
            body, more = message.get("body", b""), message.get("more_body", False)
            if not gone.is_set():
                self.send(ReplyFrame(frame.id, status, headers, bytes(body), more))
            status, headers = None, []

        try:
            await self._server.app(scope, receive, send)
        except Exception:  # the application has answered with 500 before it raises
            _log.exception("a request failed")
            if status is not None:
                self.send(ReplyFrame(frame.id, status, headers))


# In a front.


class Pending:
    """A request that was sent, until the last part of its reply.

    Parameters
    ----------
    frame
        The request.
    deliver
        Called with each part of the reply, and with None if the line broke after the first.
    until
        When a request that was not sent yet is answered with 503.
    """

    __slots__ = ("begun", "deliver", "frame", "until")

    def __init__(self, frame: RequestFrame, deliver: Callable[[ReplyFrame | None], None], until: float) -> None:
        self.frame = frame
        self.deliver = deliver
        self.until = until
        self.begun = False


class FrontLine(Line):
    """The front's end of a line."""

    def __init__(self, client: ForwardClient, seal: Seal | None = None) -> None:
        super().__init__(seal, LARGEST_REPLY if seal is not None else 1 << 32)
        self._client = client

    def agreed(self) -> None:
        """Prove with a frame that asks for nothing that this end knows the secret."""
        self.send(RequestFrame(0, ""))

    def frame_received(self, content: bytes) -> None:
        """Deliver a part of a reply."""
        frame = _decode_reply(content)
        if frame.id:
            self._client.received(frame)
        else:
            self._client.greeted(self, frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """Reconnect."""
        self._client.lost(self)


class ForwardClient:
    """Sends requests to the engine's process, and sends some again if the line breaks.

    Parameters
    ----------
    path
        The Unix socket.
    ready
        Called once, when the engine can be reached for the first time.
    """

    def __init__(self, path: str, ready: Callable[[], None]) -> None:
        self._path = path
        self._ready: Callable[[], None] | None = ready
        self._line: FrontLine | None = None
        self._pending: dict[int, Pending] = {}
        self._number = 0
        self._closing = False
        self._connecting: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """True while the engine can be reached."""
        return self._line is not None

    def start(self) -> None:
        """Begin to connect."""
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def close(self) -> None:
        """Close the line."""
        self._closing = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._line is not None:
            self._line.close()

    def submit(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes,
        peer: str | None,
        deliver: Callable[[ReplyFrame | None], None],
    ) -> int:
        """Send a request; returns its number."""
        self._number += 1
        frame = RequestFrame(self._number, method, target, headers, body, peer)
        loop = asyncio.get_running_loop()
        self._pending[frame.id] = Pending(frame, deliver, loop.time() + PATIENCE_S)
        if self._line is not None:
            self._line.send(frame)
        else:
            loop.call_later(PATIENCE_S, self._expire, frame.id)
        return frame.id

    def cancel(self, id: int) -> None:
        """Forget a request whose caller has gone."""
        if self._pending.pop(id, None) is not None and self._line is not None:
            self._line.send(RequestFrame(id, ""))

    def received(self, frame: ReplyFrame) -> None:
        """Deliver a part of a reply."""
        if (pending := self._pending.get(frame.id)) is None:
            return
        pending.begun = True
        if not frame.more:
            del self._pending[frame.id]
        pending.deliver(frame)

    def greeted(self, line: FrontLine, frame: ReplyFrame) -> None:
        """Take a line into use that is ready, and send what waits."""
        self._line = line
        for pending in self._pending.values():
            line.send(pending.frame)
        if self._ready is not None:
            self._ready()
            self._ready = None

    def lost(self, line: FrontLine) -> None:
        """Keep the requests that may be sent again, refuse the others, and connect again."""
        if line is not self._line and self._line is not None:
            return
        was_ready, self._line = self._line is not None, None
        if self._closing:
            return
        loop = asyncio.get_running_loop()
        for id, pending in list(self._pending.items()):
            if pending.begun:
                del self._pending[id]
                pending.deliver(None)
            elif was_ready and not is_repeatable(pending.frame):
                del self._pending[id]
                pending.deliver(refusal(id, "the service was restarted, and the request may have been carried out"))
            elif was_ready:
                pending.until = loop.time() + PATIENCE_S
                loop.call_later(PATIENCE_S, self._expire, id)
        self.start()

    async def _connect(self) -> None:
        while True:
            try:
                await self.open_line()
            except OSError:
                await asyncio.sleep(RETRY_S)
            else:
                return

    async def open_line(self) -> None:
        """Connect to the other process."""
        await asyncio.get_running_loop().create_unix_connection(lambda: FrontLine(self), self._path)

    def _expire(self, id: int) -> None:
        """Refuse a request that could not be sent in time."""
        pending = self._pending.get(id)
        if pending is not None and self._line is None and asyncio.get_running_loop().time() >= pending.until - 0.01:
            del self._pending[id]
            pending.deliver(refusal(id, "the service is starting"))


def is_repeatable(frame: RequestFrame) -> bool:
    """Report whether a request does no harm if it is carried out twice.

    Examples
    --------
    >>> from smidgen.service.http.forwarding import RequestFrame, is_repeatable
    >>> ask = RequestFrame(1, "POST", b"/v1/models/m/decisions", [], b'{"candidates": []}')
    >>> named = RequestFrame(2, "POST", b"/v1/models/m/decisions", [], b'{"id": "page-7", "candidates": []}')
    >>> is_repeatable(ask), is_repeatable(named), is_repeatable(RequestFrame(3, "GET", b"/v1/models"))
    (False, True, True)
    """
    if frame.method in ("GET", "HEAD"):
        return True
    path = frame.target.partition(b"?")[0]
    if frame.method != "POST":
        return False
    if path.endswith((b"/feedback", b"/shown")):
        return True
    if not path.endswith(b"/decisions"):
        return False
    try:
        return bool(msgspec.json.decode(frame.body, type=_Named).id)
    except UNREADABLE:
        return True  # it is refused either way


class _Named(msgspec.Struct):
    id: str | int | None = None


def refusal(id: int, message: str) -> ReplyFrame:
    """Make a reply that asks the caller to send the request again."""
    return json_reply(id, 503, *error_response(Busy(message, "send the request again in a moment")))


class Front:
    """The application of a front: passes every request on.

    Parameters
    ----------
    path
        The Unix socket of the engine's process.
    max_body
        The largest body in bytes.
    ready
        Called when the engine can be reached for the first time.
    work
        What runs in the background as long as the front does.

    Attributes
    ----------
    direct
        Takes hot calls off a connection.
    """

    def __init__(
        self, path: str, max_body: int, ready: Callable[[], None], work: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        self._work = work
        self._client = ForwardClient(path, ready)
        self._max_body = max_body
        self._held = 0
        self.direct = DirectForward(self._client, min(LARGE, max_body))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the server."""
        if scope["type"] == "lifespan":
            await receive()
            self._client.start()
            working = asyncio.create_task(self._work())
            await send({"type": "lifespan.startup.complete"})
            await receive()
            working.cancel()
            self._client.close()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._forward(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/healthz" and not self._client.is_connected:
            await _reply(send, json_reply(0, 200, b'{"status":"ok"}', {}))
            return
        body, refusal = await self._body(scope, receive)
        try:
            if refusal is not None:
                await _reply(send, json_reply(0, refusal.status, *error_response(refusal)))
                return
            await self._pass(scope, receive, send, body)
        finally:
            self._held -= len(body)

    async def _body(self, scope: Scope, receive: Receive) -> tuple[bytes, Busy | TooLarge | TooSlow | None]:
        """Read the body, as far as the limits allow, and say which of them it exceeds."""
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(BODY_S):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    part = message.get("body", b"")
                    size += len(part)
                    if size > self._max_body:
                        problem = f"the body has more than {self._max_body} bytes"
                        return b"", TooLarge(problem, "send less, or raise --max-body")
                    if self._held + size > max(HELD, 4 * self._max_body):
                        return b"", Busy("too many bytes of requests are waiting", "send the request again in a second")
                    parts.append(part)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            return b"", TooSlow(f"the body did not arrive within {BODY_S:g} seconds", "send the whole body at once")
        self._held += size
        return b"".join(parts), None

    async def _pass(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        parts: asyncio.Queue[ReplyFrame | None] = asyncio.Queue()
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        peer = scope.get("client")
        id = self._client.submit(
            scope["method"], target, scope["headers"], body, peer[0] if peer else None, parts.put_nowait
        )
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            while True:
                part = asyncio.ensure_future(parts.get())
                await asyncio.wait((part, gone), return_when=asyncio.FIRST_COMPLETED)
                if not part.done():
                    part.cancel()
                    return
                frame = part.result()
                if frame is None:
                    raise ConnectionResetError("the engine's process ended within a reply")
                await _reply(send, frame)
                if not frame.more:
                    return
        finally:
            gone.cancel()
            self._client.cancel(id)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _reply(send: Send, frame: ReplyFrame) -> None:
    if frame.status is not None:
        await send({"type": "http.response.start", "status": frame.status, "headers": frame.headers})
    await send({"type": "http.response.body", "body": frame.body, "more_body": frame.more})


class DirectForward:
    """Passes on requests that were taken off their connection whole (see `FastPath`)."""

    def __init__(self, client: ForwardClient, largest: int) -> None:
        self._client = client
        self._largest = largest

    @staticmethod
    def matches(target: bytes) -> bool:
        """Check whether a POST to this target is a hot call."""
        return target.endswith((b"/feedback", b"/decisions"))

    def handle(
        self,
        target: bytes,
        headers: Headers,
        body: bytes,
        respond: Callable[[int, bytes, dict[str, str]], None],
        peer: str | None = None,
    ) -> bool:
        """Pass a POST on; False if it is too large for this way."""
        if len(body) > self._largest or not self._client.is_connected:
            return False
        self._client.submit("POST", target, headers, body, peer, whole_reply(respond))
        return True


def whole_reply(respond: Callable[[int, bytes, dict[str, str]], None]) -> Callable[[ReplyFrame | None], None]:
    """Make a receiver of a reply in parts, which responds when the last one is there."""
    found: list[ReplyFrame] = []

    def deliver(frame: ReplyFrame | None) -> None:
        if frame is None:
            frame = refusal(0, "the service was restarted, and the request may have been carried out")
            found.clear()
        found.append(frame)
        if not frame.more:
            head = found[0]
            own = (b"content-type", b"content-length", *(name for name, _ in SAFE_HEADERS))
            more = {name.decode(): value.decode() for name, value in head.headers if name not in own}
            respond(head.status or 500, b"".join(each.body for each in found), more)

    return deliver
