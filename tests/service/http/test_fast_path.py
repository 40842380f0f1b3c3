"""The short way of decisions and feedback: the answers of the ordinary one, byte for byte, and few statements."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import MODELS
from service.killable_services import Line
from service.live import Live
from service.tokens import Mint
from smidgen.service.engine.engine import Engine
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Candidate, ModelBody
from smidgen.service.storage.records import SCOPES, NewFeedback
from smidgen.service.storage.sqlite import SQLiteStore

ROWS = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}
BODY = {"candidates": [{"id": id, "features": row} for id, row in ROWS.items()]}
RANK = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 3}}
JSON = ["content-type: application/json"]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("direct")) as service:
        line = Line(service.url)
        line("PUT", "/v1/models/m", RANK)
        line("PUT", "/v1/models/keyed", {**RANK, "keyed": True})
        line("PUT", "/v1/models/old", RANK)
        line("DELETE", "/v1/models/old")
        line.close()
        yield service


def exchange(live: Live, target: str, body: bytes, headers: list[str], *, whole: bool) -> bytes:
    """The answer to a POST that is sent in one piece or in two, without its date."""
    host = [] if any(each.startswith("host:") for each in headers) else ["host: 127.0.0.1"]
    head = [f"POST {target} HTTP/1.1", *host, f"content-length: {len(body)}", "connection: close", *headers]
    raw = "\r\n".join([*head, "", ""]).encode() + body
    with socket.create_connection(("127.0.0.1", int(live.url.rstrip("/").rpartition(":")[2])), timeout=20) as caller:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if whole:
            caller.sendall(raw)
        else:
            caller.sendall(raw[:-1])
            if not answered_early(caller):  # as what the head alone shows to be wrong
                caller.sendall(raw[-1:])
        content = b""
        while part := caller.recv(65536):
            content += part
    return re.sub(rb"date: [^\r]*\r\n", b"", content)


def answered_early(caller: socket.socket) -> bool:
    """True if the server answers before the whole request is sent; also lets the first piece arrive."""
    caller.settimeout(0.1)
    try:
        return bool(caller.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False
    finally:
        caller.settimeout(20)


DECIDE, NOWHERE = "/v1/models/m/decisions", "/v1/decisions/" + 24 * "0" + "/feedback"
SAME: dict[str, tuple[str, Any, list[str], int]] = {
    "a decision": (DECIDE, {**BODY, "id": "again"}, JSON, 201),
    "a charset": (DECIDE, {**BODY, "id": "again"}, ["content-type: Application/JSON; charset=utf-8"], 201),
    "a percent": ("/v1/models/%6d/decisions", {**BODY, "id": "again"}, JSON, 201),
    "a query": (DECIDE + "?a=/decisions", {**BODY, "id": "again"}, JSON, 201),
    "no candidates": (DECIDE, {}, JSON, 422),
    "a key": (DECIDE, {**BODY, "key": "k"}, JSON, 422),
    "no key": ("/v1/models/keyed/decisions", BODY, JSON, 422),
    "archived": ("/v1/models/old/decisions", BODY, JSON, 409),
    "another body": (DECIDE, {"id": "again", "candidates": BODY["candidates"][:2]}, JSON, 409),
    "no model": ("/v1/models/none/decisions", BODY, JSON, 404),
    "no decision": (NOWHERE, {"clicked": ["a"]}, JSON, 404),
    "no id": ("/v1/decisions/x-y/feedback", {"clicked": ["a"]}, JSON, 404),
    "no feedback": (NOWHERE, {"unknown": 1}, JSON, 422),
    "no JSON": (NOWHERE, b"{", JSON, 400),
    "twice": (NOWHERE, b'{"clicked":["a"],"clicked":["b"]}', JSON, 400),
    "another media": (DECIDE, BODY, ["content-type: text/plain"], 415),
    "encoded": (DECIDE, BODY, [*JSON, "content-encoding: gzip"], 415),
    "a page elsewhere": (DECIDE, BODY, [*JSON, "sec-fetch-site: cross-site"], 403),
    "a page of another port": (DECIDE, BODY, [*JSON, "origin: http://127.0.0.1:3000"], 403),
    "our own page": (DECIDE, {**BODY, "id": "again"}, [*JSON, "origin: http://127.0.0.1"], 201),
    "another name": (DECIDE, BODY, [*JSON, "host: evil.example"], 403),
    "a name behind an address": (DECIDE, BODY, [*JSON, "host: [::1]evil.example"], 400),
    "two media": (DECIDE, {**BODY, "id": "again"}, [*JSON, "content-type: text/plain"], 201),
}


@pytest.mark.parametrize("name", SAME)
def test_both_ways_answer_alike(live: Live, name: str) -> None:
    target, given, headers, status = SAME[name]
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    exchange(live, target, body, headers, whole=True)  # so that neither is the first
    answers = [exchange(live, target, body, headers, whole=whole) for whole in (True, False)]
    assert answers[0] == answers[1]
    assert answers[0].startswith(b"HTTP/1.1 %d " % status)


def test_feedback_is_the_same_both_ways(live: Live) -> None:
    line = Line(live.url)
    id = line("POST", DECIDE, BODY)[1]["decision"]
    target, body = f"/v1/decisions/{id}/feedback", b'{"clicked":["c"]}'
    first = exchange(live, target, body, JSON, whole=True)
    assert b'"status":"learnt"' in first
    assert exchange(live, target, body, JSON, whole=True) == exchange(live, target, body, JSON, whole=False)
    other = [exchange(live, target, b'{"clicked":["a"]}', JSON, whole=whole) for whole in (True, False)]
    assert other[0] == other[1]
    assert other[0].startswith(b"HTTP/1.1 409 ")
    assert line("GET", "/v1/models/m")[1]["model_version"] == 1
    line.close()


def test_pipelined_requests_are_answered_in_order(live: Live) -> None:
    """The second and the third wait behind one that was taken whole."""
    body = json.dumps({**BODY, "id": "piped"}).encode()
    head = f"POST {DECIDE} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    ask = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
    last = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(live.url.rstrip("/").rpartition(":")[2])), timeout=20) as caller:
        caller.sendall(ask + ask + last)
        content = b""
        while part := caller.recv(65536):
            content += part
    assert re.findall(rb"HTTP/1\.1 (\d+)", content) == [b"201", b"201", b"200"]
    assert content.count(b'"decision":') == 2


class TestTaking:
    def take(
        self,
        call: Caller,
        target: str,
        body: bytes,
        *headers: tuple[bytes, bytes],
        host: bytes = b"localhost:8470",
        peer: str | None = None,
    ) -> tuple[int, bytes] | None:
        """Reply of the fast path; None if it leaves the request to the normal path."""
        usual = [
            (b"host", host),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]

        async def taken() -> tuple[int, bytes] | None:
            answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

            def respond(status: int, content: bytes, more: dict[str, str]) -> None:
                answer.set_result((status, content))

            given = [*usual, *headers]
            found = call.app.state.direct.handle(target.encode(), given, body, respond, peer)
            return await answer if found else None

        result: tuple[int, bytes] | None = call._run(taken())
        return result

    def test_what_is_usual_is_taken_and_nothing_else(self, tmp_path: Path) -> None:
        with Caller(tmp_path) as call:
            call.put("/v1/models/m", RANK)
            here, body = call.app.state.service, json.dumps(BODY).encode()
            made = self.take(call, DECIDE, body)
            assert made is not None
            assert made[0] == 201
            target = f"/v1/decisions/{json.loads(made[1])['decision']}/feedback"
            assert self.take(call, target, b'{"clicked":["b"]}') == (200, b'{"status":"learnt","model_version":1}')
            assert "m" in here.writer._quick  # and from now on the event loop does it itself
            again = self.take(call, DECIDE, body)
            assert again is not None
            assert again[0] == 201
            assert self.take(call, DECIDE, body, (b"expect", b"100-continue")) is None
            assert self.take(call, DECIDE, body, (b"host", b"localhost")) is None
            assert self.take(call, DECIDE, body, (b"sec-fetch-site", b"cross-site")) is None
            assert self.take(call, DECIDE, body, (b"origin", b"https://evil.example")) is None
            assert self.take(call, DECIDE, body, (b"origin", b"http://localhost:8470")) is not None
            for host in (b"evil.example", b"[::1]evil.example", b""):
                assert self.take(call, DECIDE, body, host=host) is None
            assert self.take(call, DECIDE, b" " * 100_000) is None
            assert self.take(call, "/v1/models/other/decisions", body) is None
            assert call.app.state.direct._holding.held == 0

    def test_tokens_are_asked_for_as_soon_as_there_is_one(self, tmp_path: Path) -> None:
        from smidgen.service.http import auth

        with Caller(tmp_path) as call:
            call.put("/v1/models/m", RANK)
            engine, body = call.app.state.service.engine, json.dumps(BODY).encode()
            assert self.take(call, DECIDE, body) is not None
            made = call._run(
                call.app.state.service.writer.run(lambda: auth.create(engine.store, ["decide"], None, engine.clock()))
            )
            assert (self.take(call, DECIDE, body) or (401,))[0] == 401  # left to the ordinary way, or refused
            bearer = (b"authorization", f"Bearer {made[1]}".encode())
            assert self.take(call, DECIDE, body, bearer) is not None
            assert (self.take(call, NOWHERE, b'{"clicked":["b"]}', bearer) or (403,))[0] == 403  # out of its scope

    def test_it_asks_the_matrix(self, tmp_path: Path) -> None:
        """The normal path refuses what a token does not cover; nothing has happened then."""
        with Caller(tmp_path) as call:
            for name in ("m", "other"):
                call.put(f"/v1/models/{name}", RANK)
            body, mint = json.dumps(BODY).encode(), Mint(tmp_path)
            decided = {name: f"/v1/models/{name}/decisions" for name in ("m", "other")}
            react = "/v1/decisions/{}/feedback".format(call.post(decided["other"], BODY).json()["decision"])
            tokens = {
                (scope, model): (b"authorization", f"Bearer {mint.create([scope], model, 0.0)[1]}".encode())
                for scope in SCOPES
                for model in ("m", None)
            }
            taken = {key for key, token in tokens.items() if self.take(call, decided["other"], body, token) is not None}
            assert taken == {("decide", None), ("admin", None)}
            taken = {key for key, token in tokens.items() if self.take(call, decided["m"], body, token) is not None}
            assert taken == {("decide", None), ("admin", None), ("decide", "m"), ("admin", "m")}
            reply = {key: self.take(call, react, b'{"clicked":["b"]}', token) for key, token in tokens.items()}
            statuses = {key: answer[0] for key, answer in reply.items() if answer is not None}
            assert statuses == {
                ("feedback", "m"): 404,
                ("admin", "m"): 404,
                ("feedback", None): 200,
                ("admin", None): 200,
            }

    def test_a_forwarded_host_is_believed_of_a_trusted_proxy(self, tmp_path: Path) -> None:
        page = ((b"origin", b"https://app.example"), (b"x-forwarded-host", b"app.example"))
        with Caller(tmp_path, trusted_proxies=("10.0.0.5",)) as call:
            call.put("/v1/models/m", RANK)
            body = json.dumps(BODY).encode()
            assert self.take(call, DECIDE, body, *page, peer="10.0.0.5") is not None
            assert self.take(call, DECIDE, body, *page, peer="10.0.0.6") is None
            assert self.take(call, DECIDE, body, *page) is None

    def test_a_refusal_of_the_learner_is_reported(self, tmp_path: Path) -> None:
        with Caller(tmp_path) as call:
            call.put("/v1/models/m", MODELS["rank"])
            refused = self.take(call, DECIDE, json.dumps({"candidates": [{"id": "a", "features": [1.0]}]}).encode())
            assert refused is not None
            assert refused[0] == 422


class TestStatements:
    """Number of database queries, which must not grow unnoticed."""

    def statements(self, engine: Engine, commands: list[Any]) -> list[str]:
        seen: list[str] = []
        store = engine.store
        assert isinstance(store, SQLiteStore)
        store.connection.set_trace_callback(lambda text: seen.append(" ".join(text.split()[:2])))
        engine.begin()
        engine.sweep()
        self.answers = [engine.run_in_savepoint(command) for command in commands]
        engine.commit()
        return seen

    def test_a_batch_costs_two_statements_for_each_event_and_five_in_all(self, tmp_path: Path) -> None:
        engine = Engine(tmp_path, synchronous="OFF")
        engine.create("m", ModelBody(**RANK))
        request = loops.decision(candidates=[Candidate(id=id, features=row) for id, row in ROWS.items()])
        engine.decide("m", request)  # the learner is in memory from now on
        made = self.statements(engine, [lambda: engine.decide("m", request)] * 20)
        assert made.count("INSERT INTO") == 40
        assert len(made) <= 45
        ids = [answer["decision"] for answer in self.answers]
        body = loops.feedback(clicked=["b"])
        heard = self.statements(engine, [lambda id=id: engine.feedback(id, body) for id in ids])
        assert (heard.count("INSERT INTO"), heard.count("UPDATE decisions"), heard.count("COMMIT")) == (20, 20, 1)
        assert len(heard) <= 45
        again = self.statements(engine, [lambda id=id: engine.feedback(id, body) for id in ids])
        assert again.count("INSERT INTO") == again.count("UPDATE decisions") == 0
        assert {answer.status for answer in self.answers} == {"duplicate"}
        engine.close()

    def test_a_command_that_is_undone_leaves_what_waits_of_others(self, tmp_path: Path) -> None:
        engine = Engine(tmp_path, synchronous="OFF")
        engine.create("m", ModelBody(**RANK))
        request = loops.decision(candidates=[Candidate(id=id, features=row) for id, row in ROWS.items()])
        body = loops.feedback(clicked=["b"])
        engine.begin()
        first = engine.run_in_savepoint(lambda: engine.decide("m", request))

        def fails() -> None:
            engine.decide("m", request)
            engine.feedback(first["decision"], body)
            raise ValueError("undone")

        with pytest.raises(ValueError, match="undone"):
            engine.run_in_savepoint(fails)
        learnt = engine.run_in_savepoint(lambda: engine.feedback(first["decision"], body))
        assert (learnt.status, learnt.model_version) == ("learnt", 1)
        engine.commit()
        model = engine.model("m")
        assert (model.decisions, model.version) == (1, 1)
        assert [event.type for event in engine.events.all_events(model)] == ["created", "decision", "feedback"]
        engine.close()

    def test_a_second_answer_fails_the_batch_whatever_the_writer_believes(self, tmp_path: Path) -> None:
        engine = Engine(tmp_path, synchronous="OFF")
        engine.create("m", ModelBody(**RANK))
        request = loops.decision(candidates=[Candidate(id=id, features=row) for id, row in ROWS.items()])
        id = engine.decide("m", request)["decision"]
        found = NewFeedback(id, engine.clock(), None, bytes(16), None, None, b"", open_until=engine.clock() + 100.0)
        shard = engine.model("m").shard
        engine.run(lambda: engine.store.write_feedback(shard, [found]))
        if engine.store.shared:  # it is not believed: others write too
            assert engine.run(lambda: engine.store.write_feedback(shard, [found]))[0].status == "duplicate"
        else:
            with pytest.raises(RuntimeError, match="1 of 1 rows do not fit"):
                engine.run(lambda: engine.store.write_feedback(shard, [found]))
        assert engine.model("m").version == 1
        assert engine.store.counts(shard) == engine.model("m").counts
        engine.store.close()
