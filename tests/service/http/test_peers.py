"""Workers of several machines pass requests to each other, and to nobody who does not know the secret of the store."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

from cluster import Cluster
from service.http.test_routing import PATIENCE_S, owners
from service.http.test_workers import LABELS, made, sound
from service.multi_worker import Fleet, Line, kill
from smidgen.service.engine.inspection import open_for_change
from smidgen.service.errors import NotAllowed
from smidgen.service.http import auth
from smidgen.service.http.forwarding import EngineLine, FrontLine, ReplyFrame, RequestFrame
from smidgen.service.http.peers import HELLO, PeerAddress, Seal
from smidgen.service.storage.address import parse_address
from smidgen.service.storage.postgres import PostgresStore

SECRET = b"s" * 32


@pytest.mark.parametrize("text", ["8480", "host:", ":8480", "host:port", "host:70000", "0.0.0.0:8480", "[::]:1", "*:1"])
def test_addresses_that_nobody_can_use_are_refused(text: str) -> None:
    with pytest.raises(NotAllowed, match="--peer"):
        PeerAddress.of(text)


# One line, and what may come over it


def pair(secret: bytes = SECRET) -> tuple[Seal, Seal]:
    """Both ends of a line that have agreed."""
    front, engine = Seal(SECRET, is_front=True), Seal(secret, is_front=False)
    assert front.agree(engine.hello)
    assert engine.agree(front.hello)
    return front, engine


def test_each_frame_fits_once_and_in_order() -> None:
    front, engine = pair()
    one, two = front.close(b"one"), front.close(b"two")
    assert engine.open(one) == b"one"
    assert engine.open(one) is None  # repeated
    front, engine = pair()
    assert engine.open(two) is None  # of another line
    one, two = front.close(b"one"), front.close(b"two")
    assert pair()[1].open(one) is None
    assert engine.open(one) is None  # one frame did not fit: the count has moved on
    front, engine = pair()
    changed = bytearray(front.close(b"one"))
    changed[-1] ^= 1
    assert engine.open(bytes(changed)) is None


def test_a_frame_does_not_fit_its_own_sender_or_another_secret() -> None:
    front, engine = pair()
    assert front.open(front.close(b"one")) is None
    front, engine = pair(secret=b"t" * 32)
    assert engine.open(front.close(b"one")) is None
    assert not front.agree(front.hello)  # its own greeting, sent back
    assert not Seal(SECRET, is_front=True).agree(b"GET / HTTP/1.1\r\n" + bytes(HELLO - 16))


class Server:
    """Stand-in for the engine at the end of a line; keeps the bodies that it received."""

    def __init__(self) -> None:
        self.lines: set[Any] = set()
        self.unproved: set[Any] = set()
        self.asked: list[bytes] = []
        self.direct = self

    @staticmethod
    def matches(target: bytes) -> bool:
        return target.endswith(b"/feedback")

    def handle(self, target: bytes, headers: Any, body: bytes, respond: Any, peer: str | None = None) -> bool:
        self.asked.append(body)
        respond(200, b"{}", {})
        return True


class Client:
    """Stand-in for the front end of a line; keeps the frames that it received."""

    def __init__(self) -> None:
        self.heard: list[ReplyFrame] = []
        self.greetings = 0
        self.is_lost = asyncio.Event()

    def greeted(self, line: FrontLine, frame: ReplyFrame) -> None:
        self.greetings += 1

    def received(self, frame: ReplyFrame) -> None:
        self.heard.append(frame)

    def lost(self, line: FrontLine) -> None:
        self.is_lost.set()


async def listening(server: Any, made: list[EngineLine] | None = None) -> asyncio.Server:
    def accept() -> EngineLine:
        line = EngineLine(server, Seal(SECRET, is_front=False))
        if made is not None:
            made.append(line)
        return line

    return await asyncio.get_running_loop().create_server(accept, "127.0.0.1", 0)


async def connected(place: asyncio.Server, secret: bytes = SECRET) -> tuple[Any, Client]:
    client: Any = Client()
    _, line = await asyncio.get_running_loop().create_connection(
        lambda: FrontLine(client, Seal(secret, is_front=True)), *place.sockets[0].getsockname()
    )
    return line, client


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


async def refused(place: asyncio.Server, said: bytes) -> None:
    """Say something to a server, and wait until it ends the line."""
    reader, writer = await asyncio.open_connection(*place.sockets[0].getsockname())
    writer.write(said)
    with suppress(ConnectionError):
        while await asyncio.wait_for(reader.read(100), PATIENCE_S):
            pass
    writer.close()


def ask(number: int, body: bytes = b"", target: bytes = b"/v1/decisions/1/feedback") -> RequestFrame:
    return RequestFrame(number, "POST", target, [], body)


def test_who_knows_the_secret_is_answered() -> None:
    async def play() -> None:
        server = Server()
        place = await listening(server)
        line, client = await connected(place)
        await until(lambda: client.greetings == 1)
        line.send(ask(1, b"one"))
        line.send(ask(2, b"two"))
        await until(lambda: len(client.heard) == 2)
        assert server.asked == [b"one", b"two"]
        assert (len(server.lines), server.unproved) == (1, set())
        place.close()
        line.close()

    asyncio.run(play())


def test_nobody_else_is_heard_or_believed() -> None:
    async def play() -> None:
        server = Server()
        place = await listening(server)
        _, client = await connected(place, b"t" * 32)
        await asyncio.wait_for(client.is_lost.wait(), PATIENCE_S)
        assert (client.greetings, server.asked, server.lines, server.unproved) == (0, [], set(), set())
        for said in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Seal(SECRET, is_front=True).hello + b"\xff\xff\xff\x7f"):
            await refused(place, said)
        assert server.asked == []
        place.close()

    asyncio.run(play())


def test_a_recorded_line_cannot_be_played_again() -> None:
    async def play() -> None:
        server = Server()
        place = await listening(server)
        record, ended = bytearray(), asyncio.Event()

        async def copying(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, to = await asyncio.open_connection(*place.sockets[0].getsockname())

            async def pump(source: asyncio.StreamReader, into: asyncio.StreamWriter, note: bytearray) -> None:
                while data := await source.read(1 << 16):
                    note.extend(data)
                    into.write(data)
                into.close()

            await asyncio.gather(pump(reader, to, record), pump(there, writer, bytearray()))
            ended.set()

        between = await asyncio.start_server(copying, "127.0.0.1", 0)
        line, client = await connected(between)
        await until(lambda: client.greetings == 1)
        line.send(ask(1, b"one"))
        await until(lambda: len(client.heard) == 1)
        await refused(place, bytes(record))
        assert server.asked == [b"one"]
        line.close()
        between.close()
        place.close()
        await asyncio.wait_for(ended.wait(), PATIENCE_S)

    asyncio.run(play())


def test_a_peer_may_send_hot_calls_only_and_no_large_frames() -> None:
    async def play() -> None:
        for wrong in (
            ask(1, target=b"/v1/models/a/rollback"),
            RequestFrame(1, "DELETE", b"/v1/models/a/feedback"),
            ask(1, bytes(1 << 20)),
        ):
            server = Server()
            place = await listening(server)
            line, client = await connected(place)
            await until(lambda client=client: client.greetings == 1)
            line.send(wrong)
            await asyncio.wait_for(client.is_lost.wait(), PATIENCE_S)
            assert server.asked == []
            place.close()

    asyncio.run(play())


def test_lines_that_prove_nothing_are_limited() -> None:
    async def play() -> None:
        server = Server()
        made: list[EngineLine] = []
        place = await listening(server, made)
        opened = [socket.create_connection(place.sockets[0].getsockname()) for _ in range(70)]
        await until(lambda: len(made) == 70)
        await until(lambda: len(server.unproved) == 64)
        for each in opened:
            each.close()
        await until(lambda: not server.unproved)
        place.close()

    asyncio.run(play())


# Two machines: services with folders of sockets of their own


@pytest.fixture
def machines(cluster: Cluster) -> Iterator[tuple[Fleet, Fleet]]:
    store = cluster.fresh()
    with Fleet(store, 1, "--peer", "127.0.0.1:0") as here, Fleet(store, 1, "--peer", "127.0.0.1:0") as there:
        yield here, there


def sent(line: Line) -> int:
    """Count the requests that the only worker of a machine has passed on."""
    return sum(map(int, re.findall(r'smidgen_forwarded_total\{.*result="sent"\} (\d+)', line("GET", "/metrics").body)))


def create(fleets: tuple[Fleet, Fleet]) -> list[str]:
    """Create models until each machine owns some."""
    line, names = fleets[0].line(), list[str]()
    deadline = time.monotonic() + PATIENCE_S
    while len(names) < 8 or len(set(owners(fleets[0].store).values())) < 2:
        assert time.monotonic() < deadline, owners(fleets[0].store)
        names.append(f"m{len(names)}")
        assert line("PUT", f"/v1/models/{names[-1]}", LABELS).status == 201
        time.sleep(0.1)
    return names


def test_two_machines_are_one_service(machines: tuple[Fleet, Fleet]) -> None:
    names, lines = create(machines), [fleet.line() for fleet in machines]
    deadline = time.monotonic() + PATIENCE_S
    number, learnt = 0, 0
    while min(map(sent, lines)) < 10:  # the lines between them need a moment
        assert time.monotonic() < deadline
        for name in names:
            line, other = lines if number % 2 else lines[::-1]
            id = made(line, name, id=f"own {number}")
            assert made(other, name, id=f"own {number}") == id
            reply = other("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
            assert reply.status == 200
            learnt += 1
            number += 1
    assert sum(lines[0]("GET", f"/v1/models/{name}").body["model_version"] for name in names) == learnt
    sound(machines[0].store)


def test_rights_are_those_of_any_worker(machines: tuple[Fleet, Fleet]) -> None:
    names, lines = create(machines), [fleet.line() for fleet in machines]
    with open_for_change(parse_address(machines[0].store)) as store:
        _, decide = auth.create(store, ["decide"], names[0], time.time())
        _, admin = auth.create(store, ["admin"], None, time.time())
    time.sleep(0.5)
    for _ in range(3):
        for line in lines:
            for name in names:
                body = {"features": [1.0, 2.0]}
                allowed = [line("POST", f"/v1/models/{name}/decisions", body, t).status for t in (admin, decide, None)]
                assert allowed == [201, 201 if name == names[0] else 403, 401]


def test_a_peer_that_is_killed_is_done_without(machines: tuple[Fleet, Fleet]) -> None:
    names, (here, there) = create(machines), machines
    line = here.line()
    for name in names:
        made(line, name)
    kill(there.process.pid)
    there.process.communicate()
    for number in range(40):
        deadline = time.monotonic() + PATIENCE_S
        while (
            reply := line("POST", f"/v1/models/{names[number % len(names)]}/decisions", {"features": [1.0, 2.0]})
        ).status != 201:
            assert (reply.status, time.monotonic() < deadline) == (503, True)
            time.sleep(0.02)
    sound(here.store)


def test_without_the_option_nobody_listens_and_nobody_connects(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 1) as here, Fleet(store, 1, "--peer", "127.0.0.1:0") as there:
        names, lines = create((here, there)), [here.line(), there.line()]
        for name in names * 3:
            for line in lines:
                made(line, name)
        assert [sent(line) for line in lines] == [0, 0]
        with closing(psycopg.connect(cluster.url(), autocommit=True)) as asking:
            schema = PostgresStore(store)
            with closing(schema):
                asking.execute(f"SET search_path TO {schema.address.schema}")
            rows = asking.execute("SELECT addresses FROM workers ORDER BY addresses").fetchall()
        assert rows[0] == ("",)
        assert rows[1][0].startswith("127.0.0.1:")
        with socket.create_connection(("127.0.0.1", PeerAddress.of(rows[1][0]).port), 5) as stranger:
            stranger.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(64))
            answer = b""
            try:
                while data := stranger.recv(4096):
                    answer += data
            except ConnectionError:
                pass
            assert len(answer) == HELLO
