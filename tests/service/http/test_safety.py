"""Probes of a stranger, a careless app and a bad network: the promises of the contract's Safety section."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from starlette.routing import Route

from service import live as stores
from service.asgi import Caller
from service.bodies import MODELS
from service.killable_services import Line
from service.live import Live
from service.tokens import Mint
from smidgen.errors import SmidgenError
from smidgen.service.engine import writer as writing
from smidgen.service.engine.writer import Writer
from smidgen.service.http import middleware
from smidgen.service.http.resources import Options
from smidgen.service.http.server import serve

DOCS = [{"id": "p", "features": [1, 0, 0]}, {"id": "q", "features": [0, 1, 0]}, {"id": "r", "features": [0, 0, 1]}]
BODY = {"candidates": DOCS}
#: Open to everybody: they hold nothing of the models.
DESCRIPTIONS = ("/openapi.json", "/ui/loops.json", "/ui/guests.json")


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path, max_body=100_000) as caller:
        caller.put("/v1/models/m", MODELS["rank"])
        caller.put("/v1/models/other", MODELS["rank"])
        yield caller


def tokens(call: Caller) -> Mint:
    return Mint(call.app.state.service.options.data)


def bearing(token: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {token}"}}


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


class TestBinding:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "0", "127.0.0.1.example.org", ""])
    def test_elsewhere_without_a_token_is_refused_before_anything_listens(self, host: str, tmp_path: Path) -> None:
        with pytest.raises(SmidgenError, match="no token exists") as caught:
            serve(Options(tmp_path), host, 0, lambda address: pytest.fail("it listens"))
        assert caught.value.status == 401

    def test_elsewhere_with_a_token_is_not(self, tmp_path: Path) -> None:
        _, token = Mint(tmp_path).create(["admin"], None, 0.0)
        with Live(tmp_path, "--host", "0.0.0.0") as live:
            line = Line(live.url.replace("0.0.0.0", "127.0.0.1"))
            assert line("GET", "/v1/models")[0] == 401
            line.close()
            assert token not in "".join(live.stop()[1:])


class TestTokens:
    def test_are_kept_as_hashes_and_never_in_the_clear(self, call: Caller, tmp_path: Path) -> None:
        _, token = tokens(call).create(["admin"], None, 0.0)
        call.put("/v1/models/n", MODELS["rank"], **bearing(token))
        secret = token.removeprefix("smidgen_").encode()
        digest = hashlib.sha256(token.encode()).digest()
        kept = stores.kept(tmp_path)
        assert any(digest in content for content in kept.values())
        assert not any(secret in content for content in kept.values())

    def test_are_compared_in_constant_time(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        _, token = tokens(call).create(["admin"], None, 0.0)
        compared: list[tuple[bytes, bytes]] = []
        honest = hmac.compare_digest

        def spy(a: bytes, b: bytes) -> bool:
            compared.append((a, b))
            return honest(a, b)

        monkeypatch.setattr(hmac, "compare_digest", spy)
        assert call.get("/v1/models", **bearing(token[:-1] + "x")).status_code == 401
        assert call.get("/v1/models", **bearing(token)).status_code == 200
        assert [len(a) == len(b) == 32 for a, b in compared] == [True, True]
        monkeypatch.setattr(hmac, "compare_digest", lambda a, b: False)
        assert call.get("/v1/models", **bearing(token)).status_code == 401  # nothing else lets it in

    @pytest.mark.parametrize(
        "header", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer x{}", "Bearer {}x", "Bearer a {}"]
    )
    def test_near_misses_are_401_and_say_how(self, header: str, call: Caller) -> None:
        _, token = tokens(call).create(["admin"], None, 0.0)
        answer = call.get("/v1/models", headers={"authorization": header.format(token)})
        assert code(answer) == (401, "not_allowed")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert token not in answer.text

    def test_a_token_in_the_address_is_none(self, call: Caller) -> None:
        _, token = tokens(call).create(["admin"], None, 0.0)
        assert call.get(f"/v1/models?token={token}&access_token={token}").status_code == 401

    @pytest.mark.parametrize(
        ("scope", "allowed"),
        [
            ("decide", {"decide", "batch", "show", "list", "story"}),
            ("feedback", {"feedback", "show", "list", "story"}),
            ("read", {"log", "show", "list", "story"}),
            ("admin", {"decide", "batch", "feedback", "create", "archive", "log", "show", "list", "story"}),
        ],
    )
    def test_each_scope_covers_its_calls_and_no_other(self, scope: str, allowed: set[str], call: Caller) -> None:
        id = call.post("/v1/models/m/decisions", BODY).json()["decision"]
        _, token = tokens(call).create([scope], None, 0.0)
        calls: dict[str, tuple[str, str, Any]] = {
            "decide": ("POST", "/v1/models/m/decisions", BODY),
            "batch": ("POST", "/v1/models/m/decisions:batch", {"decisions": [BODY]}),
            "feedback": ("POST", f"/v1/decisions/{id}/feedback", {"clicked": ["q"]}),
            "show": ("GET", "/v1/models/m", None),
            "list": ("GET", "/v1/models", None),
            "story": ("GET", f"/v1/decisions/{id}", None),
            "log": ("GET", "/v1/models/m/log", None),
            "create": ("PUT", "/v1/models/new", MODELS["rank"]),
            "archive": ("DELETE", "/v1/models/m", None),
        }
        for name, (method, path, body) in calls.items():
            options = bearing(token) if body is None else {"json": body, **bearing(token)}
            status = call(method, path, **options).status_code
            assert (status < 300) if name in allowed else (status == 403), (name, status)
            without = call(method, path, **({} if body is None else {"json": body}))
            assert without.status_code == 401, name

    def test_figures_need_any_token_and_one_of_a_model_shows_no_other(self, call: Caller) -> None:
        call.put("/v1/models/other", MODELS["rank"])
        assert 'model="other"' in call.get("/metrics").text
        _, narrow = tokens(call).create(["decide"], "m", 0.0)
        _, wide = tokens(call).create(["feedback"], None, 0.0)
        assert code(call.get("/metrics")) == (401, "not_allowed")
        assert 'model="other"' in call.get("/metrics", **bearing(wide)).text
        seen = call.get("/metrics", **bearing(narrow)).text
        assert 'smidgen_model_decisions_total{model="m"}' in seen
        assert '"other"' not in seen

    def test_every_path_below_v1_and_ui_needs_one(self, call: Caller) -> None:
        tokens(call).create(["admin"], None, 0.0)
        asked = 0
        for route in (each for each in call.app.routes if isinstance(each, Route)):
            path = re.sub(r"\{[^}]*\}", "m", route.path)
            for method in (route.methods or set()) - {"HEAD"}:
                if path.startswith("/v1") or (path.endswith(".json") and path not in DESCRIPTIONS):
                    asked += 1
                    assert call(method, path, json={}).status_code == 401, (method, path)
        assert asked >= 9

    def test_a_foreign_decision_looks_like_one_that_does_not_exist(self, call: Caller) -> None:
        foreign = call.post("/v1/models/other/decisions", BODY).json()["decision"]
        for scope in ("feedback", "admin"):
            _, token = tokens(call).create([scope], "m", 0.0)
            for reply in ({"clicked": ["q"]}, {"clicked": ["nobody"]}, {"loss": 1.0}):
                real = call.post(f"/v1/decisions/{foreign}/feedback", reply, **bearing(token))
                none = call.post(f"/v1/decisions/{'0' * 24}/feedback", reply, **bearing(token))
                assert code(real) == code(none) == (404, "unknown_decision")
                assert real.text.replace(foreign, "") == none.text.replace("0" * 24, "")
            real = call.get(f"/v1/decisions/{foreign}", **bearing(token))
            none = call.get(f"/v1/decisions/{'0' * 24}", **bearing(token))
            assert real.text.replace(foreign, "") == none.text.replace("0" * 24, "")
            assert code(real) == (404, "unknown_decision")
            assert code(call.get("/v1/models/other", **bearing(token))) == (403, "out_of_scope")
        assert call.app.state.service.engine.models["other"].version == 0


class TestHeaders:
    @pytest.mark.parametrize(
        "path", ["/", "/docs", "/v1/models", "/v1/models/m", "/openapi.json", "/healthz", "/metrics"]
    )
    def test_no_cookies_and_no_permission_for_other_origins(self, path: str, call: Caller) -> None:
        origin = {"origin": "https://evil.example", "cookie": "session=1"}
        answers = [call.get(path, headers=origin)]
        asked = {**origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        answers.append(call("OPTIONS", path, headers=asked))
        assert answers[0].status_code == 200
        assert answers[1].status_code == 405
        for answer in answers:
            assert not [name for name in answer.headers if name.startswith("access-control") or name == "set-cookie"]

    def test_a_name_that_somebody_else_points_here_is_refused_while_there_is_no_token(self, call: Caller) -> None:
        for host in ("evil.example", "evil.example:8470", "127.0.0.1.evil.example", "localhost.evil.example", ""):
            for path in ("/", "/v1/models", "/v1/models/m", "/metrics"):
                assert call.get(path, headers={"host": host}).status_code == 403, host
            assert call.post("/v1/models/m/decisions", BODY, headers={"host": host}).status_code == 403
        for host in ("localhost", "localhost:8470", "127.0.0.1:1", "[::1]:8470"):
            assert call.get("/v1/models", headers={"host": host}).status_code == 200
        _, token = tokens(call).create(["admin"], None, 0.0)
        named = {"host": "service.example", **bearing(token)["headers"]}
        assert call.get("/v1/models", headers=named).status_code == 200
        assert call.get("/v1/models", headers={"host": "service.example"}).status_code == 401

    def test_a_form_of_another_page_cannot_write(self, call: Caller) -> None:
        """Requests that a browser sends across origins without a preflight: three content types."""
        for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            content = json.dumps(BODY).encode()
            answer = call("POST", "/v1/models/m/decisions", content=content, headers={"content-type": media})
            assert code(answer) == (415, "wrong_media")
        assert call.app.state.service.engine.models["m"].decisions == 0


class TestPaths:
    @pytest.mark.parametrize(
        "name", ["../../etc/passwd", "..%2f..%2fx", "/etc/passwd", "1", "000000000000001", "~root"]
    )
    def test_a_name_never_leads_to_a_file(self, name: str, tmp_path: Path) -> None:
        """Snapshots lie under the model's number, whatever it is called."""
        with Caller(tmp_path / "data", snapshot_every=1) as call:
            made = call.put(f"/v1/models/{quote(name, safe='')}", MODELS["rank"])
            assert made.status_code in (201, 400, 404, 405)
            if made.status_code == 201:
                assert call.post(f"/v1/models/{quote(name, safe='')}/decisions", BODY).status_code == 201
        files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        assert all(re.fullmatch(r"data/(smidgen\.db.*|snapshots/1/\d{15}-[0-9a-f]{16}\.smidgen)", f) for f in files)

    @pytest.mark.parametrize(
        "path", ["/ui/files/..%2Fapp.py", "/ui/files/%2e%2e/app.py", "/ui/files//etc/passwd", "/ui/files/.."]
    )
    def test_pages_are_only_pages(self, path: str, call: Caller) -> None:
        assert call.get(path).status_code in (404, 405)


class TestSlowness:
    def test_a_body_that_does_not_arrive_is_given_up(self, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(middleware, "PATIENCE_S", 0.2)

        async def trickle() -> Any:
            yield b'{"candidates": '
            await asyncio.sleep(5)
            yield b"[]}"

        begun = time.monotonic()
        headers = {"content-type": "application/json"}
        answer = call("POST", "/v1/models/m/decisions", content=trickle(), headers=headers)
        assert code(answer) == (408, "too_slow")
        assert time.monotonic() - begun < 3


def wire(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def post(path: str, body: bytes, *headers: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def first_line(connection: socket.socket) -> bytes:
    return connection.recv(4096).split(b"\r\n")[0]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("wire") / "data") as live:
        line = Line(live.url)
        line("PUT", "/v1/models/m", MODELS["rank"])
        line.close()
        yield live


class TestWire:
    """Behavior that only a real socket shows."""

    def test_half_a_request_changes_nothing_and_disturbs_nobody(self, live: Live) -> None:
        body = json.dumps(BODY).encode()
        whole = post("/v1/models/m/decisions", body, f"content-length: {len(body)}")
        halves = []
        for length in (1, 40, len(whole) - len(body), len(whole) - 1):
            connection = wire(live.url)
            connection.sendall(whole[:length])
            halves.append(connection)
        line = Line(live.url)
        assert line("GET", "/v1/models/m")[1]["decisions"] == 0
        for connection in halves:
            connection.close()
        assert line("POST", "/v1/models/m/decisions", BODY)[0] == 201
        assert line("GET", "/v1/models/m")[1]["decisions"] == 1
        line.close()

    @pytest.mark.parametrize(
        "raw",
        [
            b"GET / HTTP/1.1\r\nhost: localhost\r\nx-long: " + b"a" * 1_000_000 + b"\r\n\r\n",
            b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 200_000 + b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"nonsense\r\n\r\n",
            post("/v1/models/m/decisions", b"{}", "content-length: -1"),
            post("/v1/models/m/decisions", b"{}", "content-length: 2", "content-length: 3"),
            post("/v1/models/m/decisions", b"zz\r\n{}\r\n", "transfer-encoding: chunked"),
        ],
        ids=["header", "path", "headers", "tls", "nonsense", "negative", "two lengths", "bad chunk"],
    )
    def test_broken_requests_are_refused_and_the_connection_is_closed(self, raw: bytes, live: Live) -> None:
        with wire(live.url) as connection:
            try:
                connection.sendall(raw)
                assert re.fullmatch(rb"HTTP/1.1 4\d\d .*", first_line(connection))
                while connection.recv(4096):
                    pass
            except ConnectionError:
                pass  # closed while we were still writing
        line = Line(live.url)
        assert line("GET", "/readyz")[0] == 200
        line.close()

    @pytest.mark.parametrize("framing", ["plain", "chunked"])
    def test_a_body_beyond_the_limit_is_refused_before_it_has_arrived(self, framing: str, live: Live) -> None:
        size = (8 << 20) + 1
        with wire(live.url) as connection:
            if framing == "plain":
                connection.sendall(post("/v1/models/m/decisions", b"{", f"content-length: {size}"))
            else:
                connection.sendall(post("/v1/models/m/decisions", b"", "transfer-encoding: chunked"))
                for _ in range(9):
                    connection.sendall(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
            assert first_line(connection) == b"HTTP/1.1 413 Request Entity Too Large"

    def test_nothing_that_was_sent_is_in_the_output(self, tmp_path: Path) -> None:
        _, token = Mint(tmp_path).create(["admin"], None, 0.0)
        with Live(tmp_path) as live:
            header = f"authorization: Bearer {token}"
            for raw in (
                post("/v1/models/m/decisions", b"{}", header, "content-length: 2"),
                post("/v1/models/m/decisions", b"{}", header, "content-length: 3"),
                post(f"/v1/models/{token}/decisions", b"{}", header, "content-length: 2"),
                post("/v1/models/m/decisions", b"zz\r\n", header, "transfer-encoding: chunked"),
                f"GET / HTTP/1.1\r\nhost: localhost\r\n{header}\r\n\0\r\n\r\n".encode(),
            ):
                with wire(live.url) as connection_:
                    connection_.sendall(raw)
                    connection_.shutdown(socket.SHUT_WR)
                    while connection_.recv(4096):
                        pass
            status, out, err = live.stop()
            assert status == 0
            assert token.removeprefix("smidgen_") not in out + err

    def test_identical_requests_in_flight_are_one_decision_and_one_feedback(self, live: Live) -> None:
        line = Line(live.url)
        before = line("GET", "/v1/models/m")[1]
        body = {"id": "the same", **BODY}
        replies = in_flight(live.url, "/v1/models/m/decisions", body, 8)
        assert [status for status, _ in replies] == [201] * 8
        assert all(reply == replies[0][1] for _, reply in replies)
        heard = in_flight(live.url, f"/v1/decisions/{replies[0][1]['decision']}/feedback", {"clicked": ["q"]}, 8)
        assert [status for status, _ in heard] == [200] * 8
        assert sorted(reply["status"] for _, reply in heard) == ["duplicate"] * 7 + ["learnt"]
        assert {reply["model_version"] for _, reply in heard} == {before["model_version"] + 1}
        after = line("GET", "/v1/models/m")[1]
        assert (after["decisions"], after["model_version"]) == (before["decisions"] + 1, before["model_version"] + 1)
        line.close()

    def test_conflicting_feedbacks_in_flight_are_learnt_once(self, live: Live) -> None:
        line = Line(live.url)
        version = line("GET", "/v1/models/m")[1]["model_version"]
        id = line("POST", "/v1/models/m/decisions", BODY)[1]["decision"]
        bodies = [{"clicked": [doc["id"]]} for doc in DOCS] * 2
        heard = in_flight(live.url, f"/v1/decisions/{id}/feedback", bodies, len(bodies))
        learnt = [body for body, (_, reply) in zip(bodies, heard, strict=True) if reply.get("status") == "learnt"]
        assert len(learnt) == 1
        assert sorted(status for status, _ in heard) == [200, 200, 409, 409, 409, 409]
        assert line("GET", f"/v1/decisions/{id}")[1]["feedback"] == learnt[0]
        assert line("GET", "/v1/models/m")[1]["model_version"] == version + 1
        line.close()


def in_flight(url: str, path: str, body: Any, count: int) -> list[tuple[int, Any]]:
    """Send a request (or one body each) on several connections at once."""
    replies: list[Any] = [None] * count
    start = threading.Barrier(count)

    def send(place: int) -> None:
        line = Line(url)
        start.wait()
        replies[place] = line("POST", path, body[place] if isinstance(body, list) else body)
        line.close()

    threads = [threading.Thread(target=send, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return replies


class TestQueue:
    def test_when_too_many_wait_the_rest_is_refused_and_nothing_is_dropped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Caller(tmp_path) as call:
            call.put("/v1/models/m", MODELS["rank"])
            here = call.app.state.service
            monkeypatch.setattr(writing, "LIMIT", 5)
            may_go, begun = threading.Event(), threading.Event()
            commit = here.engine.commit

            def slow() -> None:
                begun.set()
                may_go.wait(30)
                commit()

            monkeypatch.setattr(here.engine, "commit", slow)

            async def many() -> list[Any]:
                def ask(i: int) -> Any:
                    body = {"id": f"r{i}", **BODY}
                    return asyncio.ensure_future(call._client.post("/v1/models/m/decisions", json=body))

                asked = [ask(0)]
                await asyncio.to_thread(begun.wait, 30)  # the first is with the disk, and the others wait
                asked += [ask(i) for i in range(1, 20)]
                await asyncio.wait(asked, timeout=30, return_when=asyncio.FIRST_COMPLETED)
                may_go.set()
                return list(await asyncio.gather(*asked))

            answers = call._run(many())
            listed = [answer for answer in answers if answer.status_code == 503]
            made = [answer.json()["decision"] for answer in answers if answer.status_code == 201]
            assert len(listed) + len(made) == 20
            assert len(made) == 6
            for answer in listed:
                assert code(answer) == (503, "busy")
                assert int(answer.headers["retry-after"]) >= 1
            log = [json.loads(line) for line in call.get("/v1/models/m/log").text.splitlines()]
            assert [event["decision"] for event in log[1:]] == made  # what was not refused is done, and nothing else

    def test_a_stopping_service_refuses_what_is_new_and_finishes_what_waits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Caller(tmp_path) as call:
            call.put("/v1/models/m", MODELS["rank"])
            here = call.app.state.service
            writer: Writer = here.writer
            may_go = threading.Event()
            commit = here.engine.commit

            def slow() -> None:
                may_go.wait(30)
                commit()

            monkeypatch.setattr(here.engine, "commit", slow)
            monkeypatch.setattr(writing, "LARGEST", 3)

            async def race() -> tuple[list[Any], Any]:
                asked = [
                    asyncio.ensure_future(call._client.post("/v1/models/m/decisions", json=BODY)) for _ in range(10)
                ]
                while writer.waiting < 7:  # three are with the disk, seven wait
                    await asyncio.sleep(0.01)
                stopping = asyncio.ensure_future(writer.stop())
                await asyncio.sleep(0.01)
                ready = await call._client.get("/readyz")
                may_go.set()
                await stopping
                return list(await asyncio.wait_for(asyncio.gather(*asked), 10)), ready

            answers, ready = call._run(race())
            assert code(ready) == (503, "busy")
            assert [answer.status_code for answer in answers] == [201] * 10
            assert here.engine.models["m"].decisions == 10

    def test_sigterm_finishes_what_was_asked(self, tmp_path: Path) -> None:
        """Requests that are under way when the signal comes are answered, and what was answered is there."""
        with Live(tmp_path) as live:
            line = Line(live.url)
            line("PUT", "/v1/models/m", MODELS["rank"])
            line.close()
            decisions = [{"id": f"r{i}", **BODY} for i in range(400)]
            body = json.dumps({"decisions": decisions}).encode()
            whole = post("/v1/models/m/decisions:batch", body, f"content-length: {len(body)}", "connection: close")
            connections = [wire(live.url) for _ in range(4)]
            for connection in connections:
                connection.sendall(whole)
            assert connections[0].recv(1, socket.MSG_PEEK)  # the first is answered, the others are under way
            live.process.send_signal(signal.SIGTERM)
            answers = [_everything(connection) for connection in connections]
            status, _, errors = live.stop()
            assert (status, errors) == (0, "")
        made = [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in answers if b" 201 " in answer[:20]]
        assert len(made) == 4
        assert all(reply == made[0] for reply in made)
        with Caller(tmp_path) as call:
            again = call.post("/v1/models/m/decisions:batch", {"decisions": decisions})
            assert again.json() == made[0]
            assert call.get("/v1/models/m").json()["decisions"] == 400


def _everything(connection: socket.socket) -> bytes:
    parts = []
    with connection:
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionError:
            pass
    return b"".join(parts)
