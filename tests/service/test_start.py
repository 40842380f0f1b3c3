"""From its first moment the service says that it is alive; it says that it is ready when nothing is left to compile."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.pulse import Pulse
from smidgen._kernel import JIT
from smidgen.cli import app
from smidgen.service.http import server
from smidgen.service.http.options import Options
from smidgen.service.store.inspection import writing

FILTER = {"loop": "filter", "learner": "PerceptronFilter", "features": ["a", "b"]}
TUNE = {
    "loop": "tune",
    "learner": "OGDEG",
    "params": {"space": {"type": "Ball", "dim": 2, "radius": 1.0}, "loss_bound": 1.0, "delta": 0.2},
}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def started(data: Path, port: int, cache: Path) -> Iterator[subprocess.Popen[str]]:
    """The service with a kernel cache of its own, without waiting for it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "smidgen", "serve", "--port", str(port), "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def kernels(cache: Path) -> set[Path]:
    return set(cache.rglob("*.nbc"))


def until_ready(client: httpx.Client) -> list[int]:
    """The answers of /readyz, up to the first 200."""
    seen = [0]
    while seen[-1] != 200:
        seen.append(client.get("/readyz").status_code)
        time.sleep(0.02)
    return seen[1:]


@pytest.mark.skipif(not JIT, reason="there is nothing to compile")
def test_a_cold_cache_is_filled_aside_before_anybody_is_kept_waiting(tmp_path: Path) -> None:
    data, cache, port = tmp_path / "data", tmp_path / "cache", free_port()
    with Caller(data) as caller:
        assert caller.put("/v1/models/inbox", FILTER).status_code == 201
        made = caller.post("/v1/models/inbox/decisions", {"features": [1.0, 0.5]}).json()
        assert caller.post(f"/v1/decisions/{made['decision']}/feedback", {"relevant": True}).status_code == 200
    with (
        started(data, port, cache) as process,
        Pulse(port, process.pid) as pulse,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        assert client.get("/v1/models").status_code == 503
        assert client.get("/v1/models").headers["retry-after"] == "1"
        answers = until_ready(client)
        assert set(answers[:-1]) == {503}, "it was not ready before its kernels were"
        assert process.stdout is not None
        assert process.stdout.readline().startswith("smidgen is at ")
        ready = kernels(cache)
        assert ready
        made = client.post("/v1/models/inbox/decisions", json={"features": [0.3, -0.5]}).json()
        assert client.post(f"/v1/decisions/{made['decision']}/feedback", json={"relevant": False}).status_code == 200
        assert kernels(cache) == ready, "the first decision had nothing to compile"

        assert client.put("/v1/models/knobs", json=TUNE).status_code == 201
        ready = kernels(cache)
        made = client.post("/v1/models/knobs/decisions", json={}).json()
        assert client.post(f"/v1/decisions/{made['decision']}/feedback", json={"loss": 0.5}).status_code == 200
        assert kernels(cache) == ready, "a new model answers when it can decide"
    assert pulse.steady, pulse
    assert pulse.answers > 20


def test_it_ends_when_it_is_told_to_while_it_starts(tmp_path: Path) -> None:
    port = free_port()
    with started(tmp_path / "data", port, tmp_path / "cache") as process, Pulse(port, process.pid):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_log_that_cannot_be_opened_ends_it_with_one_line(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        bad = store.create("bad", b'{"loop":"rank","learner":"Gone"}', {}, 0.0)
        store.append(bad.slot, "created", 0.0, None)
    done = subprocess.run(
        [sys.executable, "-m", "smidgen", "serve", "--port", "0", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "'Gone' is not a learner" in done.stderr
    assert len(done.stderr.splitlines()) <= 3


def test_models_are_in_memory_when_it_is_ready(tmp_path: Path) -> None:
    with Caller(tmp_path) as caller:
        for name, keyed in (("plain", False), ("keyed", True)):
            assert caller.put(f"/v1/models/{name}", {**FILTER, "keyed": keyed}).status_code == 201
    with Caller(tmp_path) as caller:
        assert len(caller.app.state.service.engine.learners) == 1
        assert caller.get("/readyz").status_code == 200


def test_a_model_that_cannot_be_recovered_keeps_nobody_else_from_deciding(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Caller(tmp_path) as caller:
        for name in ("good", "bad"):
            caller.put(f"/v1/models/{name}", FILTER)
            made = caller.post(f"/v1/models/{name}/decisions", {"features": [1.0, 0.5]}).json()
            caller.post(f"/v1/decisions/{made['decision']}/feedback", {"relevant": True})
    shutil.rmtree(tmp_path / "snapshots")
    with closing(sqlite3.connect(tmp_path / "smidgen.db")) as connection:
        connection.execute("UPDATE events SET body = x'7b' WHERE slot = 2 AND type = 'feedback'")
        connection.commit()
    with Caller(tmp_path) as caller:
        assert caller.post("/v1/models/good/decisions", {"features": [1.0, 0.5]}).status_code == 201
    assert "model bad could not be recovered" in caplog.text


def test_settings_come_from_the_environment_and_an_option_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Options, str, int]] = []
    monkeypatch.setattr(server, "serve", lambda options, host, port, announce: seen.append((options, host, port)))
    for name, value in {
        "HOST": "localhost",
        "PORT": "1234",
        "MAX_BODY": "2048",
        "MAX_CONNECTIONS": "7",
        "SNAPSHOT_EVERY": "11",
        "KEYED_IN_MEMORY": "13",
        "DATA": "/nowhere",
    }.items():
        monkeypatch.setenv(f"SMIDGEN_{name}", value)
    assert CliRunner().invoke(app, ["serve"]).exit_code == 0
    assert CliRunner().invoke(app, ["serve", "--port", "5", "--max-connections", "8"]).exit_code == 0
    wanted = Options(Path("smidgen-data"), 2048, max_connections=7, snapshot_every=11, keyed_in_memory=13)
    assert seen[0] == (wanted, "localhost", 1234)
    assert (seen[1][0].max_connections, seen[1][2]) == (8, 5)
