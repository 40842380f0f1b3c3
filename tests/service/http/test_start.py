"""From its first moment the service says that it is alive; it says that it is ready when its models are in memory."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import socket
import sqlite3
import stat
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
from service.heartbeat import Pulse
from service.live import Live
from smidgen.cli import app
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.inspection import open_for_change
from smidgen.service.errors import StorageFailed
from smidgen.service.http import server
from smidgen.service.http.resources import Options
from smidgen.service.storage import data_dir
from smidgen.service.storage.data_dir import in_use, lock_folder

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
def started(data: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The service, without waiting for it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "smidgen", "serve", "--port", str(port), "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def until_ready(client: httpx.Client) -> list[int]:
    """The answers of /readyz, up to the first 200."""
    seen = [0]
    while seen[-1] != 200:
        seen.append(client.get("/readyz").status_code)
        time.sleep(0.02)
    return seen[1:]


def libraries(pid: int) -> set[str]:
    """The shared libraries that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[-1] for line in lines if ".so" in line}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads Linux's /proc")
def test_nothing_is_compiled_or_loaded_for_the_first_calls(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with (
        started(data, port) as process,
        Pulse(port, process.pid) as pulse,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        until_ready(client)
        ready = libraries(process.pid)
        assert not [name for name in ready if "llvmlite" in name or "numba" in name]
        for name, model, request, feedback in (
            ("inbox", FILTER, {"features": [0.3, -0.5]}, {"relevant": False}),
            ("knobs", TUNE, {}, {"loss": 0.5}),
        ):
            assert client.put(f"/v1/models/{name}", json=model).status_code == 201
            made = client.post(f"/v1/models/{name}/decisions", json=request).json()
            assert client.post(f"/v1/decisions/{made['decision']}/feedback", json=feedback).status_code == 200
        assert libraries(process.pid) == ready
    assert pulse.steady, pulse


def test_a_signal_ends_it_while_it_starts(tmp_path: Path) -> None:
    port = free_port()
    with started(tmp_path / "data", port) as process, Pulse(port, process.pid):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_log_that_cannot_be_opened_ends_it_with_one_line(tmp_path: Path) -> None:
    with open_for_change(tmp_path) as store:
        bad = store.create("bad", b'{"loop":"rank","learner":"Gone"}', {}, 0.0)
        store.append(bad.shard, "created", 0.0, None)
    done = subprocess.run(
        [sys.executable, "-m", "smidgen", "serve", "--port", "0", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert 'learner is "Gone"' in done.stderr
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
        connection.execute("UPDATE events SET body = x'7b' WHERE shard = 2 AND type = 'feedback'")
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
        "PUBLIC_URL": "https://smidgen.example.org",
        "TRUSTED_PROXY": "10.0.0.5 10.1.0.0/16",
        "DATA": "/nowhere",
    }.items():
        monkeypatch.setenv(f"SMIDGEN_{name}", value)
    assert CliRunner().invoke(app, ["serve"]).exit_code == 0
    assert CliRunner().invoke(app, ["serve", "--port", "5", "--max-connections", "8"]).exit_code == 0
    wanted = Options(
        Path("smidgen-data"),
        2048,
        max_connections=7,
        snapshot_every=11,
        keyed_in_memory=13,
        public_url="https://smidgen.example.org",
        trusted_proxies=("10.0.0.5", "10.1.0.0/16"),
    )
    assert seen[0] == (wanted, "localhost", 1234)
    assert (seen[1][0].max_connections, seen[1][2]) == (8, 5)


@pytest.mark.parametrize("fate", ["deleted", "replaced"])
def test_a_second_service_is_refused_whatever_becomes_of_the_lock_file(fate: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    serve = [sys.executable, "-m", "smidgen", "serve", "--port", "0", "--data", str(data)]
    with Live(data) as first:
        httpx.put(f"{first.url}v1/models/news", json=FILTER).raise_for_status()
        (data / "lock").unlink()
        if fate == "replaced":
            (data / "lock").touch()
        second = subprocess.run(serve, capture_output=True, text=True, timeout=60, check=False)
        assert (second.returncode, second.stdout) == (1, "")
        assert f"another service is using the data folder {data}" in second.stderr
        assert "Traceback" not in second.stderr
        other = CliRunner().invoke(app, ["models", "archive", "news", "--data", str(data)])
        assert "another service is using" in str(other.exception)
        assert fsck(data).running
        asked = {"features": [1.0, 0.5]}
        assert httpx.post(f"{first.url}v1/models/news/decisions", json=asked).status_code == 201
    assert not fsck(data).running
    with Live(data) as again:
        assert httpx.get(f"{again.url}v1/models/news").json()["decisions"] == 1


def test_a_folder_that_cannot_be_locked_is_guarded_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, where only files can be locked."""
    flock = fcntl.flock

    def files_only(handle: int, kind: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(handle, kind)

    monkeypatch.setattr(fcntl, "flock", files_only)
    monkeypatch.setattr(data_dir, "PATIENCE_S", 0.05)
    assert not in_use(tmp_path)
    with lock_folder(tmp_path):
        assert in_use(tmp_path)
        with pytest.raises(StorageFailed, match="another service is using"), lock_folder(tmp_path):
            pass
    assert not in_use(tmp_path)


def test_a_lock_that_the_file_system_refuses_is_no_other_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(handle: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuses)
    with pytest.raises(StorageFailed, match="cannot be used: No locks available"), lock_folder(tmp_path):
        pass
