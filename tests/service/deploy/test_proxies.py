"""The examples for reverse proxies, with a real service behind them; skipped where the proxy is not installed."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from service.bodies import MODELS
from service.live import Live
from service.tokens import Mint

DEPLOY = Path(__file__).parents[3] / "deploy"
HOST = "smidgen.example.org"
BODY = {"candidates": [{"id": "a", "features": [1, 0, 0]}, {"id": "b", "features": [0, 1, 0]}]}
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def changed(text: str, changes: dict[str, str]) -> str:
    """The example with this test's ports and files; a change that hits nothing is a mistake of the test."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(folder: Path, service: str, port: int) -> list[str]:
    changes = {
        "127.0.0.1:8470": service,
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/smidgen/fullchain.pem": str(folder / "cert.pem"),
        "/etc/ssl/smidgen/privkey.pem": str(folder / "key.pem"),
    }
    example = changed((DEPLOY / "nginx.conf").read_text(), changes)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.geteuid() == 0 else ""  # the worker writes to this test's folder
    root = f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}"
    (folder / "nginx.conf").write_text(f"{root}\nhttp {{ access_log off; {paths}\n{example}\n}}\n")
    return ["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


def caddy(folder: Path, service: str, port: int) -> list[str]:
    own = f"{{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}}\nhttps://{HOST}:{port}"
    changes = {"127.0.0.1:8470": service, f"\n{HOST} {{": f"\n{own} {{\n\ttls {folder}/cert.pem {folder}/key.pem\n"}
    (folder / "Caddyfile").write_text(changed((DEPLOY / "Caddyfile").read_text(), changes))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


class Named(httpx.HTTPTransport):
    """Calls an address by the name that the certificate has."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": HOST}
        return super().handle_request(request)


@contextmanager
def behind(proxy: Callable[[Path, str, int], list[str]], folder: Path, service: str) -> Iterator[httpx.Client]:
    """A caller of the service through the proxy."""
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}"]
    names = [
        "-addext",
        f"subjectAltName=DNS:{HOST}",
        "-keyout",
        str(folder / "key.pem"),
        "-out",
        str(folder / "cert.pem"),
    ]
    subprocess.run([*make, *names], check=True, capture_output=True)
    port = free_port()
    process = subprocess.Popen(proxy(folder, service, port), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    trust = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    try:
        transport = Named(verify=trust)
        with httpx.Client(transport=transport, base_url=f"https://127.0.0.1:{port}", timeout=20.0) as client:
            client.headers["host"] = HOST
            for _ in range(200):
                try:
                    client.get("/healthz")
                    break
                except httpx.TransportError:
                    assert process.poll() is None, process.communicate()[1].decode()
                    time.sleep(0.05)
            yield client
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_the_example_serves_guards_and_limits(proxy: Callable[[Path, str, int], list[str]], tmp_path: Path) -> None:
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"{proxy.__name__} is not installed")
    with Live(tmp_path / "data") as live:
        service = live.url.removeprefix("http://").rstrip("/")
        with behind(proxy, tmp_path, service) as client:
            for path in ("/", "/healthz", "/v1/models", "/metrics"):
                assert client.get(path).status_code == 403, path  # no token yet: nobody comes in by that name
            _, token = Mint(tmp_path / "data").create(["admin"], None, 0.0)
            assert client.get("/v1/models").status_code == 401
            assert client.get("/metrics").status_code == 401
            assert "<title>" in client.get("/").text
            client.headers["authorization"] = f"Bearer {token}"
            assert client.put("/v1/models/m", json=MODELS["rank"]).status_code == 201
            ids = [client.post("/v1/models/m/decisions", json=BODY).json()["decision"] for _ in range(20)]
            for id in ids:
                reply = client.post(f"/v1/decisions/{id}/feedback", json={"clicked": ["b"]})
                assert reply.json()["status"] == "learnt", reply.text
            assert len(client.get("/v1/models/m/log").text.splitlines()) == 41
            assert client.get("/metrics").status_code == 200
            for size, statuses in ((6 << 20, {422}), ((8 << 20) + 100_000, {413})):
                large = client.post("/v1/models/m/decisions", content=b'{"id": "' + b"x" * size + b'"}',
                                    headers={"content-type": "application/json"})  # fmt: skip
                assert large.status_code in statuses, (size, large.text)
            if proxy is nginx:
                assert large.json()["error"]["code"] == "too_large"
            live.stop()
            gone = client.get("/v1/models")
            assert gone.status_code in (502, 503)
            if proxy is nginx:
                assert gone.json()["error"]["code"] == "busy"
                assert gone.headers["retry-after"] == "1"
