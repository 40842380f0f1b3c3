"""A page of another origin changes nothing: every route by raw requests and in a browser, and the gate by itself."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import BaseRoute, Route

from service.asgi import Caller
from service.browser import chromium
from service.live import Live
from service.tokens import Mint
from smidgen.errors import InvalidArgument
from smidgen.learners.plugins import load_plugins
from smidgen.service.http.app import DEMOS, routes
from smidgen.service.http.middleware import ADMITTED, KEYS, Gate, is_loopback, parse_host
from smidgen.service.http.plugins import mount, unmount
from smidgen.service.http.resources import Options
from smidgen.service.http.rights import MATRIX
from smidgen.service.http.server import serve

OWN = "127.0.0.1:8470"
READS = {"GET", "HEAD", "OPTIONS"}
#: Heads of requests that pages of other origins make browsers send.
FOREIGN: dict[str, dict[str, str]] = {
    "cross-site": {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    "same-site": {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:3000"},
    "cross-site without Origin": {"sec-fetch-site": "cross-site"},
    "cross-site with our Origin": {"sec-fetch-site": "cross-site", "origin": f"http://{OWN}"},
    "a word that no browser sends": {"sec-fetch-site": "elsewhere"},
    "another host": {"origin": "https://evil.example"},
    "another port": {"origin": "http://127.0.0.1:3000"},
    "no port": {"origin": "http://127.0.0.1"},
    "another name of this machine": {"origin": "http://localhost:8470"},
    "a longer name": {"origin": "http://127.0.0.1:8470.evil.example"},
    "an opaque origin": {"origin": "null"},
    "another scheme": {"origin": f"file://{OWN}"},
    "two origins": {"origin": f"http://{OWN} https://evil.example"},
    "a name and a password": {"origin": "https://evil.example", "authorization": "Basic YTpi"},
    "no token after Bearer": {"origin": "https://evil.example", "authorization": "Bearer "},
    "a forwarded host that nobody trusts": {"origin": "https://evil.example", "x-forwarded-host": "evil.example"},
}
#: Heads of requests that may write.
OWN_HEADS: dict[str, dict[str, str]] = {
    "a program": {},
    "our pages": {"sec-fetch-site": "same-origin", "origin": f"http://{OWN}"},
    "our pages behind a proxy that changes Host": {"sec-fetch-site": "same-origin", "origin": "https://app.example"},
    "the address bar": {"sec-fetch-site": "none"},
    "our pages in an older browser": {"origin": f"http://{OWN}"},
    "our pages behind TLS": {"origin": "https://127.0.0.1:8470"},
    "a token": {"sec-fetch-site": "cross-site", "origin": "https://app.example", "authorization": "Bearer x"},
    "a key": {"sec-fetch-site": "cross-site", KEYS[0].decode(): "x"},
}
FLAG = {"loop": "choose", "candidates": [{"id": "a"}, {"id": "b"}]}
BODY = {"candidates": [{"id": "a"}, {"id": "b"}]}


class World:
    """A service in which every bodyless call would change something."""

    def __init__(self, call: Callable[..., httpx.Response]) -> None:
        self.call = call
        self.ids: list[str] = []
        for name, more in (
            ("champion", {}),
            ("rival", {"challenger_of": {"model": "champion", "share": 0.1}}),
            ("keyed", {"keyed": True}),
            ("old", {}),
        ):
            self.made("PUT", f"/v1/models/{name}", {**FLAG, **more})
        for number, more in enumerate(({}, {"activate": False}, {})):
            body = {"id": f"e{number}", **BODY, **more}
            self.ids.append(self.made("POST", "/v1/models/champion/decisions", body)["decision"])
        self.made("POST", f"/v1/decisions/{self.ids[0]}/feedback", {"reward": 1.0})
        self.made("POST", "/v1/models/keyed/decisions", {"key": "k", **BODY})
        self.made(
            "POST", "/personalizer/v1.0/rank", {"eventId": "e", "actions": [{"id": "a"}], "deferActivation": True}
        )
        self.made("DELETE", "/v1/models/old")

    def made(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.call(method, path, **({} if body is None else {"json": body}))
        assert answer.status_code < 300, (method, path, answer.text)
        return answer.json()

    def state(self) -> str:
        """Everything that is kept: the models, and the log of each."""
        models = [each["name"] for each in self.made("GET", "/v1/models")["models"]]
        return "\n".join(itertools.chain(models, (self.call("GET", f"/v1/models/{m}/log").text for m in models)))

    def targets(self, methods: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Every route with these methods, for every model and decision that it could be about."""
        values = {
            "name": ["champion", "rival", "keyed", "old"],
            "id": self.ids,
            "key": ["k", "champion"],
            "event": ["e", "e1"],
            "version": ["v1.1-preview.1"],
            "file": ["app.js"],
        }
        found = []
        for route in all_routes():
            names = re.findall(r"{(\w+)(?::\w+)?}", route.path)
            for given in itertools.product(*(values[name] for name in names)):
                path = route.path
                for value in given:
                    path = re.sub(r"{[^}]*}", value, path, count=1)
                found += [(method, path) for method in sorted(route.methods or ()) if methods(method)]
        return found


def all_routes() -> list[Route]:
    """The routes of the service and of everything that is mounted."""
    load_plugins(DEMOS)

    def plain(route: BaseRoute) -> Route:
        found = getattr(route, "route", route)
        assert isinstance(found, Route)
        return found

    return [plain(each) for each in routes()]


def writes(method: str) -> bool:
    return method not in READS


def reads(method: str) -> bool:
    return method in READS


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Caller(tmp_path) as call:
        yield World(call)


class TestRoutes:
    def test_no_foreign_request_writes(self, world: World) -> None:
        before, targets = world.state(), world.targets(writes)
        assert {"/v1/models/rival:promote", "/v1/models/old:revive", "/personalizer/v1.0/rank", "/ui/sample"} <= {
            path for _, path in targets
        }
        for (method, path), (kind, headers) in itertools.product(targets, FOREIGN.items()):
            answer = world.call(method, path, headers=headers)
            refused = (answer.status_code, answer.json()["error"]["code"])
            code = "Forbidden" if path.startswith("/personalizer/") else "foreign_origin"
            assert refused == (403, code), (method, path, kind)
        assert world.state() == before

    def test_the_same_requests_of_a_program_do(self, world: World) -> None:
        """Else the walk above could not fail."""
        for path in (
            f"/v1/decisions/{world.ids[0]}:retract",
            f"/v1/decisions/{world.ids[1]}/shown",
            "/personalizer/v1.0/events/e/activate",
            "/v1/models/rival:promote",
            "/v1/models/old:revive",
        ):
            before = world.state()
            assert world.call("POST", path).status_code < 300, path
            assert world.state() != before, path

    def test_no_get_writes(self, world: World) -> None:
        before, asked = world.state(), 0
        for method, path in world.targets(reads):
            for headers in ({}, FOREIGN["cross-site"]):
                assert world.call(method, path, headers=headers).status_code < 500, (method, path)
                asked += 1
        assert asked > 100
        assert world.state() == before

    def test_no_get_makes_the_first_model(self, tmp_path: Path) -> None:
        with Caller(tmp_path) as call:
            status = call.get("/personalizer/v1.0/status")
            assert status.json().items() >= {"apiStatus": "Valid", "modelVersion": 0}.items()
            for route in all_routes():
                path = re.sub(r"{[^}]*}", "personalizer", route.path)
                if "GET" in (route.methods or ()):
                    assert call.get(path).status_code < 500, path
            assert call.get("/v1/models").json() == {"models": []}

    @pytest.mark.parametrize("kind", OWN_HEADS)
    def test_our_own_requests_write(self, kind: str, world: World) -> None:
        assert world.call("POST", "/v1/models/old:revive", headers=OWN_HEADS[kind]).status_code == 200

    def test_a_token_decides_as_soon_as_there_is_one(self, tmp_path: Path) -> None:
        with Caller(tmp_path) as call:
            world = World(call)
            _, token = Mint(tmp_path).create(["admin"], None, 0.0)
            foreign, path = FOREIGN["cross-site"], "/v1/models/old:revive"
            assert call("POST", path, headers=foreign).status_code == 403
            assert call("POST", path).status_code == 401
            assert call("POST", path, headers={**foreign, "authorization": "Bearer wrong"}).status_code == 401
            assert call("POST", path, headers={**foreign, "authorization": f"Bearer {token}"}).status_code == 200
            assert world.ids

    def test_refusals_are_counted(self, world: World) -> None:
        world.call("POST", "/v1/models/old:revive", headers=FOREIGN["cross-site"])
        figures = world.call("GET", "/metrics").text
        assert re.search(r'smidgen_refused_total{[^}]*type="ForeignOrigin"} 1\n', figures)


def test_a_proxy_by_its_public_url_or_by_its_address(tmp_path: Path) -> None:
    by_url, by_host = {"origin": "https://smidgen.example.org"}, {"origin": "https://app.example"}
    forwarded = {**by_host, "x-forwarded-host": "app.example"}
    path = "/v1/models/m"
    with Caller(tmp_path, public_url="https://smidgen.example.org", trusted_proxies=("127.0.0.1",)) as call:
        assert call.put(path, FLAG, headers=by_host).status_code == 403
        assert call.put(path, FLAG, headers=forwarded).status_code == 201
        assert call.put(path, FLAG, headers=by_url).status_code == 200
    with Caller(tmp_path, trusted_proxies=("10.0.0.5",)) as call:
        for headers in (by_url, by_host, forwarded):
            assert call.put(path, FLAG, headers=headers).status_code == 403


class TestGate:
    def headers(self, **given: str) -> list[tuple[bytes, bytes]]:
        named = {"host": OWN, **{name.replace("_", "-"): value for name, value in given.items()}}
        return [(name.encode(), value.encode("latin-1")) for name, value in named.items()]

    def test_reads_are_nobodys_business(self) -> None:
        for head in FOREIGN.values():
            assert Gate().judge("GET", self.headers(**head), None) is ADMITTED

    def test_every_header_that_carries_a_token_is_known(self) -> None:
        assert {rule.key for rule in MATRIX.values()} - {None} == {name.decode() for name in KEYS}

    def test_a_public_url_is_our_origin_too(self) -> None:
        head = self.headers(origin="https://smidgen.example.org")
        assert Gate().judge("POST", head, None).refusal is not None
        for url in ("https://smidgen.example.org", "https://Smidgen.example.org:443/"):
            assert Gate(url).judge("POST", head, None) is ADMITTED
        for url in ("http://smidgen.example.org", "https://smidgen.example.org:8443", "https://example.org"):
            assert Gate(url).judge("POST", head, None).refusal is not None

    def test_a_public_url_is_no_host(self) -> None:
        """A forgotten token stays a refusal behind a proxy that passes its own name on."""
        verdict = Gate("https://smidgen.example.org").judge("POST", self.headers(host="smidgen.example.org"), None)
        assert verdict.refusal is None
        assert verdict.while_open is not None

    def test_a_forwarded_host_is_believed_of_a_trusted_proxy_only(self) -> None:
        head = self.headers(origin="https://app.example", x_forwarded_host="evil.example, app.example")
        for proxies, peer, admitted in (
            ((), "10.0.0.5", False),
            (("10.0.0.5",), "10.0.0.5", True),
            (("10.0.0.0/24", "::1"), "10.0.0.5", True),
            (("10.0.0.0/24", "::1"), "::1", True),
            (("10.0.0.5",), "10.0.0.6", False),
            (("10.0.0.5",), None, False),
            (("10.0.0.5",), "a socket", False),
        ):
            verdict = Gate(trusted_proxies=proxies).judge("POST", head, peer)
            assert (verdict is ADMITTED) is admitted, (proxies, peer)
        first = self.headers(origin="https://evil.example", x_forwarded_host="evil.example, app.example")
        assert Gate(trusted_proxies=("10.0.0.5",)).judge("POST", first, "10.0.0.5").refusal is not None
        bad = self.headers(origin="https://app.example", x_forwarded_host="[::1]app.example")
        assert Gate(trusted_proxies=("10.0.0.5",)).judge("POST", bad, "10.0.0.5").refusal is not None

    @pytest.mark.parametrize(
        "url", ["", "smidgen.example.org", "ftp://a", "https://", "https://a/b", "https://a:b", "*"]
    )
    def test_a_public_url_that_makes_no_sense_is_refused_at_once(self, url: str, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="--public-url"):
            serve(Options(tmp_path, public_url=url), "127.0.0.1", 0, lambda address: pytest.fail("it listens"))

    @pytest.mark.parametrize("proxy", ["", "proxy", "10.0.0.5/8", "10.0.0.5:80"])
    def test_a_proxy_that_is_no_address_is_refused_at_once(self, proxy: str, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument, match="--trusted-proxy"):
            serve(
                Options(tmp_path, trusted_proxies=(proxy,)), "127.0.0.1", 0, lambda address: pytest.fail("it listens")
            )

    @pytest.mark.parametrize(
        "host",
        [
            "[::1]evil.com",
            "[::1]:80evil.com",
            "[::1",
            "::1",
            "[evil.com]",
            "[fe80::1%25lo]",
            "127.0.0.1:8470@evil.com",
            "evil.com@127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:8470:1",
            "127.0.0.1/",
            "localhost evil.com",
            "localhost,evil.com",
            "loc\xe1lhost",
            "localhost\n",
        ],
    )
    def test_a_host_is_read_strictly(self, host: str) -> None:
        assert parse_host(host.encode("latin-1")) is None
        for method in ("GET", "POST"):
            verdict = Gate().judge(method, self.headers(host=host), None)
            assert verdict.refusal is not None
            assert verdict.refusal.status == 400

    def test_two_hosts_are_refused(self) -> None:
        verdict = Gate().judge("GET", [*self.headers(), (b"host", b"localhost")], None)
        assert verdict.refusal is not None

    def test_hosts_that_are_ours(self) -> None:
        for host in ("localhost", "LocalHost:1", "127.0.0.1:65535", "127.1.2.3", "[::1]", "[::1]:8470"):
            site = parse_host(host.encode())
            assert site is not None
            assert is_loopback(site.host), host
        for host in ("", "127.0.0.1.evil.com", "localhost.evil.com", "0.0.0.0", "[::2]", "2130706433"):
            site = parse_host(host.encode())
            assert site is not None
            assert not is_loopback(site.host), host


def test_a_page_of_somebody_else_may_be_mounted_and_is_guarded_too(tmp_path: Path) -> None:
    async def write(request: Any) -> Any:
        raise AssertionError("it was called")

    mount("writer", [Route("/writer", write, methods=["POST"])])
    try:
        with Caller(tmp_path) as call:
            assert call("POST", "/writer", headers=FOREIGN["another port"]).status_code == 403
    finally:
        unmount("writer")


# In a browser

#: Everything that a page can send without asking first, to one address; resolves when the browser is done with it.
SEND = """async ([origin, targets]) => {
  const gone = [], wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const until = (e) => new Promise((done) => { e.onload = e.onerror = done; setTimeout(done, 3000); });
  const sent = async (method, path) => {
    const url = origin + path;
    if (method === 'GET') {
      const image = document.createElement('img'), script = document.createElement('script');
      image.src = script.src = url;
      document.body.append(image, script);
      await Promise.all([until(image), until(script), fetch(url, { mode: 'no-cors' }).catch(() => 0)]);
      return;
    }
    if (method !== 'POST') {
      await fetch(url, { method }).catch(() => 0);
      await fetch(url, { method, body: '{}', headers: { 'content-type': 'application/json' } }).catch(() => 0);
      return;
    }
    const token = { authorization: 'Bearer x', 'x-api-key': 'x' };
    await fetch(url, { method, mode: 'no-cors' }).catch(() => 0);
    await fetch(url, { method, mode: 'no-cors', body: '{}', headers: token }).catch(() => 0);
    await fetch(url, { method, headers: token }).catch(() => 0);
    await fetch(url, { method, body: '{}', headers: { 'content-type': 'application/json' } }).catch(() => 0);
    navigator.sendBeacon(url, new Blob(['{}'], { type: 'text/plain' }));
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const frame = document.createElement('iframe'), form = document.createElement('form');
      frame.name = `f${gone.length}-${Math.random()}`;
      Object.assign(form, { method: 'POST', action: url, enctype: type, target: frame.name });
      const field = document.createElement('input');
      Object.assign(field, { name: '{"users": 1, "x": "', value: '"}' });
      form.append(field);
      document.body.append(frame, form);
      const loaded = until(frame);
      form.submit();
      await loaded;
      frame.remove();
    }
    gone.push(path);
  };
  for (let i = 0; i < targets.length; i += 12)
    await Promise.all(targets.slice(i, i + 12).map(([method, path]) => sent(method, path)));
  await wait(300);
  return gone.length;
}"""


@contextmanager
def somebody_else(service: str) -> Iterator[int]:
    """A web server of another origin on this machine, which passes writes on to the service; gives its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = b"<!doctype html><title>elsewhere</title><body></body>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            sent = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            answer = httpx.request("POST", service + self.path, headers=sent)
            self.send_response(answer.status_code)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_a_website_changes_nothing(step: int, tmp_path: Path) -> None:
    """A page on another port and one of another site try some routes, or every one; then our own page does write."""
    rule = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    with chromium(rule) as browser, Live(tmp_path) as live, somebody_else(service := live.url.rstrip("/")) as port:
        with httpx.Client(base_url=service, timeout=60) as app:
            world = World(app.request)
            before = world.state()
            targets = [[method, path] for method, path in world.targets(lambda method: method != "HEAD")][::step]
            posts = [target for target in targets if target[0] == "POST"]
            page = browser.new_page()
            for home, some in ((f"http://127.0.0.1:{port}/", targets), (f"http://evil.example:{port}/", posts)):
                page.goto(home)
                assert page.evaluate(SEND, [service, some]) == len(posts)
                assert world.state() == before, home
            rebound = f"http://evil.example:{httpx.URL(service).port}"
            page.evaluate(SEND, [rebound, posts])
            assert page.goto(f"{rebound}/").status == 403
            assert world.state() == before
            refused = re.search(r'smidgen_refused_total{[^}]*type="ForeignOrigin"} (\d+)', app.get("/metrics").text)
            assert refused is not None
            assert int(refused[1]) > 500 // step, "the requests reached the service"
            revive = "() => fetch('/v1/models/old:revive', { method: 'POST' }).then((r) => r.status)"
            for home in (f"{service}/docs", f"http://127.0.0.1:{port}/"):  # our own page, and one behind a proxy
                page.goto(home)
                assert page.evaluate(revive) == 200
                assert world.state() != before
                world.made("DELETE", "/v1/models/old")
            page.close()
        assert live.stop()[2] == "", "nobody fills the log"
