"""Hot requests passed to the worker that owns their shard, among the workers of one service on PostgreSQL.

Every worker listens on a Unix socket, under the name with which it owns shards. A decision, or feedback on one, that
comes to another worker is passed on to the owner: it has the learner in memory, and commits many requests at once. A
worker can do everything itself, so nothing depends on who the owner is or whether it lives: without a sign of life for
`SILENT_S` the worker that received a request carries it out.

A request that was sent when the line broke, or the owner fell silent, may or may not have been carried out. Feedback
and decisions with an ``id`` are carried out here: the store knows what was done before. A decision without an ``id`` is
answered with 503 and ``Retry-After``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from smidgen.serialization import UNREADABLE
from smidgen.service.engine.decide import SHARD_DIGITS, UNSHARDED, shard_mark
from smidgen.service.errors import StorageFailed
from smidgen.service.http.forwarding import (
    LARGE,
    EngineLine,
    ForwardClient,
    ForwardServer,
    FrontLine,
    Headers,
    ReplyFrame,
    RequestFrame,
    is_repeatable,
    refusal,
    whole_reply,
)
from smidgen.service.http.middleware import InFlightBytes
from smidgen.service.http.peers import PROOF_S, PeerAddress, Seal
from smidgen.service.storage.records import LeaseRow

if TYPE_CHECKING:
    from smidgen.service.http.fast_path import FastPath, Respond
    from smidgen.service.http.resources import Service

#: After how long without a sign of life the others do without a worker; how many beats that are, and how long each is.
SILENT_S, MISSED = 0.25, 3
BEAT_S = SILENT_S / MISSED
#: How often the owners of shards are read, if nobody says that they have changed.
LOOK_S = 2.0
#: Seconds between two tries to connect to another machine.
PEER_RETRY_S = 0.5
#: Seconds that the others have to finish what they have sent to a worker that stops.
LEAVE_S = 2.0
_FEEDBACK, _DECISIONS, _BATCH = b"/feedback", b"/decisions", b"/decisions:batch"
_DECISION, _MODEL = b"/v1/decisions/", b"/v1/models/"
_log = logging.getLogger("smidgen.service")

Deliver = Callable[[ReplyFrame | None], None]


class _Keyed(msgspec.Struct):
    key: str | None = None


_decode_key = msgspec.json.Decoder(_Keyed).decode


def socket_name(owner: str) -> str:
    """Return the file name of the socket of a worker, from the name under which it owns shards.

    Examples
    --------
    >>> from smidgen.service.http.routing import socket_name
    >>> socket_name("web-1/3/4711")
    '3-4711'
    """
    return "-".join(owner.rsplit("/", 2)[1:])


class OwnLine(EngineLine):
    """Answers one request in this process, as if it had come over a line.

    Parameters
    ----------
    server
        Answers requests.
    deliver
        Called with each part of the reply.
    """

    def __init__(self, server: ForwardServer, deliver: Deliver) -> None:
        super().__init__(server)
        self._deliver = deliver

    def send(self, frame: RequestFrame | ReplyFrame) -> None:
        """Deliver a part of the reply."""
        if isinstance(frame, ReplyFrame):
            self._deliver(frame)


class OwnerClient(ForwardClient):
    """Sends requests to another worker.

    Parameters
    ----------
    path
        The Unix socket of the worker.
    retry
        Carries out a request in this process.
    """

    def __init__(self, path: str, retry: Callable[[RequestFrame, Deliver], None]) -> None:
        super().__init__(path, lambda: None)
        self.is_remote = False
        self._retry = retry
        self._missed = MISSED  # beats of this process without a sign of life: while it is held up, it judges nobody
        self._leaving = False

    @property
    def is_alive(self) -> bool:
        """True while the worker takes requests and gives signs of life."""
        return self._line is not None and not self._leaving and self._missed < MISSED

    def greeted(self, line: FrontLine, frame: ReplyFrame) -> None:
        """Note a sign of life, or that the worker stops: then the line is closed when all replies are there."""
        self._missed = 0
        if frame.status is not None:
            self._leaving = True
            self._close_if_done()
        elif self._line is None:
            super().greeted(line, frame)

    def received(self, frame: ReplyFrame) -> None:
        """Deliver a part of a reply."""
        self._missed = 0
        super().received(frame)
        self._close_if_done()

    def lost(self, line: FrontLine) -> None:
        """Carry out here what may be repeated, refuse the rest, and connect again."""
        if self._line is line or self._line is None:
            self._line, self._leaving = None, False
            self._give_up(is_gone=True)
            if not self._closing:
                self.start()

    def check(self) -> None:
        """Count a beat; wait no longer for a worker that gives no sign of life."""
        self._missed += 1
        if self._line is not None and self._missed >= MISSED:
            self._give_up(is_gone=False)

    def _give_up(self, *, is_gone: bool) -> None:
        """Carry out what may be repeated; refuse the rest if the worker is gone, or has been silent for too long."""
        now = asyncio.get_running_loop().time()
        for id, pending in list(self._pending.items()):
            if not pending.begun and is_repeatable(pending.frame):
                del self._pending[id]
                self._retry(pending.frame, pending.deliver)
            elif is_gone or now >= pending.until:
                del self._pending[id]
                problem = "a worker of the service has gone, and the request may have been carried out"
                pending.deliver(None if pending.begun else refusal(id, problem))

    def _close_if_done(self) -> None:
        if self._leaving and not self._pending and self._line is not None:
            self._line.close()


class PeerClient(OwnerClient):
    """Sends requests to a worker of another machine.

    Parameters
    ----------
    address
        Where it listens.
    secret
        Known to all workers of the store.
    retry
        Carries out a request in this process.
    """

    def __init__(self, address: PeerAddress, secret: bytes, retry: Callable[[RequestFrame, Deliver], None]) -> None:
        super().__init__(str(address), retry)
        self.is_remote = True
        self._address = address
        self._secret = secret
        self._has_tried = False

    async def open_line(self) -> None:
        """Connect to the other machine."""
        if self._has_tried:
            await asyncio.sleep(PEER_RETRY_S)
        self._has_tried = True
        host, port = self._address
        await asyncio.wait_for(
            asyncio.get_running_loop().create_connection(
                lambda: FrontLine(self, Seal(self._secret, is_front=True)), host, port
            ),
            PROOF_S,
        )


class Router:
    """Takes hot calls off a connection: passes them to the owners of their shards, or gives them to the `FastPath`.

    Parameters
    ----------
    here
        The running service.
    holding
        The bytes of bodies that the service holds; those of requests that were passed on count too.
    server
        Answers the requests of other workers.
    folder
        Where the sockets of the workers are.
    """

    def __init__(self, here: Service, holding: InFlightBytes, server: ForwardServer, folder: Path) -> None:
        self._here = here
        self._holding = holding
        self._server = server
        self._folder = folder
        self._fast_path: FastPath = server.direct
        self._leases = here.engine.leases
        self._name = self._leases.name if self._leases is not None else ""
        self._owners: Mapping[int, str] = {}
        self._clients: dict[str, OwnerClient] = {}
        self._largest = min(LARGE, here.options.max_body)
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: list[asyncio.Server] = []
        self._secret = b""
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    async def start(self) -> None:
        """Take requests of other workers, and find out who they are."""
        path = str(self._folder / socket_name(self._name))
        try:
            self._listening.append(await asyncio.get_running_loop().create_unix_server(self._server.line, path))
        except OSError as error:  # a path that is too long, say
            _log.warning("other workers cannot pass requests to this one: %s: %s", path, error)
        if (own := self._here.options.peer) is not None and self._leases is not None:
            self._secret = await asyncio.to_thread(self._here.engine.store.secret, "peer")
            port = own.port and own.port + self._here.options.worker
            try:
                listening = await asyncio.get_running_loop().create_server(
                    lambda: self._server.peer_line(self._secret), own.host, port
                )
            except OSError as error:
                raise StorageFailed(
                    f"port {port} of {own.host} cannot be used for --peer: {error.strerror}",
                    "stop the program that uses it, or choose another port; each worker needs one",
                ) from error
            self._listening.append(listening)
            self._leases.addresses = str(PeerAddress(own.host, listening.sockets[0].getsockname()[1]))
        self._tasks = [asyncio.create_task(work) for work in (self._look(), self._beat())]

    async def stop(self) -> None:
        """Pass nothing on any more, and answer what others have sent."""
        for task in self._tasks[:1]:
            task.cancel()
        self._owners = {}
        for listening in self._listening:
            listening.close()
        self._server.greet(503)
        await self._server.drain(LEAVE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for client in self._clients.values():
            client.close()
        with suppress(OSError):
            (self._folder / socket_name(self._name)).unlink()

    def look_soon(self) -> None:
        """Read the owners of shards: they have changed. Any thread may call it."""
        self._loop.call_soon_threadsafe(self._changed.set)

    @staticmethod
    def matches(target: bytes) -> bool:
        """Check whether a POST to this target is a hot call, or a batch of decisions."""
        return target.endswith((_FEEDBACK, _DECISIONS, _BATCH))

    def handle(self, target: bytes, headers: Headers, body: bytes, respond: Respond, peer: str | None = None) -> bool:
        """Take a POST; False if it is for the ordinary way, and then nothing has happened."""
        size, held = len(body), self._holding
        client = self._owner(target, body)
        if (
            client is None
            or size > self._largest
            or held.held + size > held.limit
            or (client.is_remote and (target.endswith(_BATCH) or not self._fast_path.admits(target, headers, peer)))
        ):
            return self._fast_path.handle(target, headers, body, respond, peer)
        deliver = whole_reply(respond)

        def delivered(frame: ReplyFrame | None) -> None:
            if frame is None or not frame.more:
                held.held -= size
            deliver(frame)

        held.held += size
        self._here.metrics.count("forwarded", "sent")
        client.submit("POST", target, headers, body, peer, delivered)
        return True

    def _owner(self, target: bytes, body: bytes) -> OwnerClient | None:
        """Find another worker that owns the shard of a request and lives."""
        if not self._owners or (mark := self._shard_mark(target, body)) is None:
            return None
        client = self._clients.get(self._owners.get(mark, ""))
        return client if client is not None and client.is_alive else None

    def _shard_mark(self, target: bytes, body: bytes) -> int | None:
        """Read the mark of the shard of a request: from the id of the decision, or from the model and the key."""
        if target.startswith(_DECISION):
            id = target[len(_DECISION) : -len(_FEEDBACK)]
            try:
                return int(id[-SHARD_DIGITS:], 16) if len(id) == UNSHARDED + SHARD_DIGITS else None
            except ValueError:
                return None
        is_batch = target.endswith(_BATCH)
        name = target[len(_MODEL) : -len(_BATCH if is_batch else _DECISIONS)].decode("latin-1")
        model = self._here.engine.models.get(name)
        if model is None or (is_batch and len(model.parts) > 1):
            return None
        if len(model.parts) == 1:
            return shard_mark(model.shard)
        try:
            return shard_mark(model.shard_for(_decode_key(body).key).shard)
        except UNREADABLE:
            return None

    async def _look(self) -> None:
        """Again and again: read who owns which shard, and connect to the owners."""
        while True:
            try:
                rows = await asyncio.to_thread(self._here.engine.store.leases)
            except Exception as error:  # the database is away: every worker does for itself what it can
                _log.debug("the owners of shards could not be read: %s", error)
                rows = list[LeaseRow]()
            owners = {shard_mark(row.shard): row.owner for row in rows}
            living = {
                owner
                for owner in owners.values()
                if owner != self._name and (self._is_near(owner) or self._peer(owner))
            }
            for owner in living - self._clients.keys():
                self._clients[owner] = self._client(owner)
                self._clients[owner].start()
            for owner in self._clients.keys() - living:
                self._clients.pop(owner).close()
            self._owners = owners
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_S)
            self._changed.clear()

    def _is_near(self, owner: str) -> bool:
        """Check whether an owner is a worker of this service on this machine."""
        return (self._folder / socket_name(owner)).exists()

    def _peer(self, owner: str) -> str:
        """The address of an owner on another machine; empty without ``--peer``, here or there."""
        known = self._leases.workers if self._leases is not None and self._here.options.peer is not None else {}
        return known.get(owner, "")

    def _client(self, owner: str) -> OwnerClient:
        if self._is_near(owner):
            return OwnerClient(str(self._folder / socket_name(owner)), self._retry)
        return PeerClient(PeerAddress.of(self._peer(owner)), self._secret, self._retry)

    async def _beat(self) -> None:
        """Again and again: give a sign of life, and look who gives none."""
        while True:
            self._server.greet()
            for client in self._clients.values():
                client.check()
            await asyncio.sleep(BEAT_S)

    def _retry(self, frame: RequestFrame, deliver: Deliver) -> None:
        """Carry out here what was sent to another worker."""
        self._here.metrics.count("forwarded", "taken back")
        OwnLine(self._server, deliver).answer(frame)
