"""/readyz is 200 only when a decision can be committed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body
from smidgen.service.http import resources
from smidgen.service.storage.address import Database
from smidgen.service.storage.sqlite_schema import storage_error


def readiness(call: Caller) -> tuple[int, str | None]:
    answer = call.get("/readyz")
    return answer.status_code, answer.json().get("error", {}).get("code")


def test_a_disk_that_became_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "BELIEVED_S", 0.0)
    monkeypatch.setattr(resources, "WRITTEN_S", 0.0)
    with Caller(tmp_path) as call:
        call.put("/v1/models/rank", MODELS["rank"])
        assert readiness(call) == (200, None)
        connection = call.app.state.service.engine.store.connection
        connection.execute("PRAGMA query_only = ON")
        for _ in range(2):
            assert readiness(call) == (503, "storage_failed")
            made = call.post("/v1/models/rank/decisions", decision_body("rank", random.Random(1)))
            assert made.status_code == 503
            assert call.get("/healthz").status_code == 200
            assert call.get("/v1/models/rank").json()["decisions"] == 0
        connection.execute("PRAGMA query_only = OFF")
        assert readiness(call) == (200, None)


def test_a_commit_that_has_just_failed_is_not_forgotten_within_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "BELIEVED_S", 1e9)
    with Caller(tmp_path) as call:
        call.put("/v1/models/rank", MODELS["rank"])
        store = call.app.state.service.engine.store

        def full(*_: object) -> Any:
            raise storage_error(sqlite3.OperationalError("database or disk is full"))

        monkeypatch.setattr(store, "commit", full)
        assert readiness(call) == (200, None), "what was proved within the second is believed"
        made = call.post("/v1/models/rank/decisions", decision_body("rank", random.Random(1)))
        assert made.status_code == 503
        assert readiness(call) == (503, "storage_failed")
        monkeypatch.undo()
        assert readiness(call) == (200, None)


def test_a_probe_takes_as_much_as_a_decision_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """One page more or less would fit on a disk that has no space for a decision."""
    with Caller(tmp_path) as call:
        store = call.app.state.service.engine.store
        wal = tmp_path / "smidgen.db-wal"
        sizes = []
        for _ in range(4):
            store.begin()
            before = wal.stat().st_size
            store.probe()
            store.commit()
            sizes.append(wal.stat().st_size - before)
        assert min(sizes) > 32_768
        pages = store.connection.execute("PRAGMA page_count").fetchone()
        store.begin()
        store.probe()
        store.commit()
        assert store.connection.execute("PRAGMA page_count").fetchone() == pages, "the file does not grow by it"


def test_a_writer_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "BELIEVED_S", 0.0)
    with Caller(tmp_path) as call:
        store = call.app.state.service.engine.store
        commit = store.commit
        monkeypatch.setattr(store, "commit", lambda: (time.sleep(1.0), commit()))
        call.app.state.service.writer.healthy = False
        assert readiness(call) == (503, "storage_failed")


def test_a_file_system_that_became_full_or_read_only_is_seen_without_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Caller(tmp_path) as call:
        store, writer = call.app.state.service.engine.store, call.app.state.service.writer
        real = os.statvfs(tmp_path)

        def broken() -> Any:
            raise storage_error(sqlite3.OperationalError("database or disk is full"))

        monkeypatch.setattr(store, "commit", broken)
        for changed in ({"f_bavail": 3}, {"f_flag": real.f_flag | os.ST_RDONLY}, None):
            fields = {name: getattr(real, name) for name in dir(real) if name.startswith("f_")} | (changed or {})
            monkeypatch.setattr(os, "statvfs", Mock(return_value=SimpleNamespace(**fields)))
            writer.healthy, writer.last_commit_at = True, time.monotonic() - 10.0
            assert readiness(call) == ((503, "storage_failed") if changed else (200, None))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_probes_of_an_idle_service_do_not_write(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with Caller(tmp_path if kind == "sqlite" else Database(request.getfixturevalue("postgres"))) as call:
        writer = call.app.state.service.writer
        call.put("/v1/models/rank", MODELS["rank"])
        commits = writer.commits
        writer.last_commit_at -= 30.0
        for _ in range(5):
            assert call.get("/readyz").status_code == 200
        assert writer.commits == commits
        writer.last_commit_at -= 40.0
        assert call.get("/readyz").status_code == 200
        assert writer.commits == commits + 1


def test_a_worker_does_not_tell_strangers_its_number(postgres: str) -> None:
    with Caller(Database(postgres)) as call:
        assert call.get("/readyz").json() == {"status": "ready", "worker": 0, "models": 0}
        made = call.post("/v1/tokens", {"scopes": ["admin"]}).json()
        until = time.monotonic() + 30.0
        while call.get("/readyz").json() != {"status": "ready"}:  # the worker has seen the token
            assert time.monotonic() < until
        header = {"authorization": f"Bearer {made['token']}"}
        assert call.get("/readyz", headers=header).json() == {"status": "ready", "worker": 0, "models": 0}
