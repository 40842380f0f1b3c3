"""A disk that is full: the service says so, does nothing by halves, and goes on when there is space again."""

from __future__ import annotations

import asyncio
import random
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body, engine_with, request
from service.killable_services import Line, Writer, check_folder
from service.live import Live
from smidgen.service.storage.sqlite_schema import storage_error

Limit = Callable[[bool], None]


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A file system of 3 MB at this place, where we may mount one."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if tried.returncode:
        pytest.skip(f"no small disk can be mounted: {tried.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def filler(disk: Path) -> Limit:
    """Fill the disk to the last byte, or make room again."""

    def limit(full: bool) -> None:
        file = disk / "filler"
        if not full:
            file.unlink()
            return
        with file.open("wb", buffering=0) as out:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while out.write(b"\0" * size) == size:
                        pass
                except OSError:
                    continue

    return limit


def largest_file(pid: int, data: Path) -> Limit:
    """Let the process write no file beyond the size that the log has now, or any again."""

    def limit(full: bool) -> None:
        soft = (data / "smidgen.db-wal").stat().st_size + 20_000 if full else resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

    return limit


def write_until_refused(line: Line, writer: Writer, *, rounds: int) -> tuple[int, str, dict[str, Any]] | None:
    """Decisions and feedback; gives the refused request, or None. What is answered is booked."""
    rng = random.Random(len(writer.made))
    for _ in range(rounds):
        body = {"id": f"r{len(writer.made)}", **decision_body("rank", rng)}
        body["candidates"] = [{**c, "id": c["id"] + "x" * 190} for c in body["candidates"]]
        status, reply = line("POST", "/v1/models/rank/decisions", body)
        if status != 201:
            return status, "/v1/models/rank/decisions", body
        writer.made[reply["decision"]] = ("rank", reply)
        answered = {"clicked": [reply["ranking"][2]]}
        writer.sent[reply["decision"]] = ("rank", answered)
        where = f"/v1/decisions/{reply['decision']}/feedback"
        status, heard = line("POST", where, answered)
        if status != 200:
            return status, where, answered
        writer.learnt[reply["decision"]] = heard["model_version"]
    return None


def fill_and_go_on(live: Live, limit: Limit) -> Writer:
    line, writer = Line(live.url), Writer(0, 0)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    assert write_until_refused(line, writer, rounds=20) is None
    limit(True)
    refused = write_until_refused(line, writer, rounds=2000)
    assert refused is not None, "the disk was never full"
    status, where, body = refused
    for _ in range(3):  # and again: it stays a refusal, not a fault
        status, reply = line("POST", where, body)
        assert (status, reply["error"]["code"]) == (503, "storage_failed")
        assert line.headers["retry-after"] == "1"
    seen = line("GET", "/v1/models/rank")[1]
    assert (seen["model_version"], seen["decisions"]) == (len(writer.learnt), len(writer.made))
    assert line("GET", "/healthz")[0] == 200
    assert line("GET", "/readyz")[0] == 503
    answered = [msgspec.json.decode(event) for event in line("GET", "/v1/models/rank/log")[1].splitlines()]
    assert len(answered) == 1 + len(writer.learnt) + len(writer.made)
    limit(False)
    assert line("GET", "/readyz")[0] == 200
    assert line("POST", where, body)[0] in (200, 201)  # the very request that was refused
    if "candidates" in body:
        again = line("POST", where, body)[1]
        writer.made[again["decision"]] = ("rank", again)
    else:
        assert line("POST", where, body)[1]["status"] == "duplicate"
        writer.learnt[where.split("/")[3]] = 0
    assert write_until_refused(line, writer, rounds=10) is None
    assert line("GET", "/v1/models/rank")[1]["model_version"] == len(writer.learnt)
    line.close()
    return writer


def test_a_small_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        with Live(disk / "data", "--snapshot-every", "15") as live:
            writer = fill_and_go_on(live, filler(disk))
            assert live.stop()[0] == 0
        check_folder(disk / "data", tmp_path / "copy", [writer])


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Live(data) as live:
        writer = fill_and_go_on(live, largest_file(live.process.pid, data))
        assert live.stop()[0] == 0
    check_folder(data, tmp_path / "copy", [writer])


def test_a_disk_that_is_full_at_the_start_is_reported_in_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        filler(disk)(True)
        with pytest.raises(AssertionError, match=r"cannot be opened|cannot be used") as caught, Live(disk / "data"):
            pass
        assert "Traceback" not in str(caught.value)


def test_a_disk_that_is_read_only_at_the_start_is_reported_in_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        engine_with(disk / "data", ["rank"]).close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(AssertionError, match=r"cannot be opened|cannot be used") as caught, Live(disk / "data"):
            pass
        assert "Traceback" not in str(caught.value)


def test_a_batch_that_cannot_be_undone_at_once_is_undone_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit fails, and then undoing it fails too: nobody finds half a batch, and readers are not disturbed."""
    with Caller(tmp_path) as call:
        call.put("/v1/models/rank", MODELS["rank"])
        engine = call.app.state.service.engine
        held = engine.learners.get(engine.models["rank"], None)

        def fails(*_: object) -> Any:
            raise storage_error(sqlite3.OperationalError("disk I/O error"))

        monkeypatch.setattr(engine.store, "commit", fails)
        monkeypatch.setattr(engine.store, "rollback", fails)
        body = decision_body("rank", random.Random(1))
        for _ in range(2):
            assert call.post("/v1/models/rank/decisions", body).status_code == 503
            assert call.get("/v1/models/rank").json()["decisions"] == 0
        monkeypatch.undo()
        made = call.post("/v1/models/rank/decisions", body)
        assert made.status_code == 201
        assert engine.learners.get(engine.models["rank"], None) is held  # nothing was read again
        assert (held.learner.decisions, engine.models["rank"].decisions) == (1, 1)
        assert call.get("/v1/models/rank").json()["decisions"] == 1


def test_one_broken_command_does_not_take_others_with_it(tmp_path: Path) -> None:
    """Commands that share a commit with one that breaks off halfway are carried out all the same."""
    with Caller(tmp_path) as call:
        call.put("/v1/models/rank", MODELS["rank"])
        here = call.app.state.service
        engine = here.engine

        def half() -> None:
            engine.archive("rank")
            raise ZeroDivisionError("a fault")

        async def together() -> list[Any]:
            body = request(decision_body("rank", random.Random(1)))
            first = here.writer.run(lambda: engine.decide("rank", body))
            third = here.writer.run(lambda: engine.decide("rank", body))
            return await asyncio.gather(first, here.writer.run(half), third, return_exceptions=True)

        first, broken, third = call._run(together())
        assert isinstance(broken, ZeroDivisionError)
        assert first["decision"] != third["decision"]
        seen = call.get("/v1/models/rank").json()
        assert (seen["decisions"], seen["archived_at"]) == (2, None)
        assert [msgspec.json.decode(x)["type"] for x in call.get("/v1/models/rank/log").text.splitlines()] == [
            "created",
            "decision",
            "decision",
        ]
