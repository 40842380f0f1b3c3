"""Kill -9, again and again, while clients write: nothing acknowledged is lost, nothing is applied twice."""

from __future__ import annotations

import http.client
import os
import random
import signal
import sqlite3
import time
from functools import partial
from pathlib import Path

import pytest

from service.bodies import decision_body, engine_with
from service.killable_services import NAMES, OPTIONS, Line, Nursery, Writer, all_work, check_folder, create_models
from service.live import Live
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import StorageFailed
from smidgen.service.storage import crash_points

#: A place is passed at most this often before the kill; those that are passed rarely must be met early.
PASSINGS = {"snapshot-aside": 3, "snapshot-renamed": 3, "snapshot-synced": 3, "key-state-written": 6}
NAMED = [name for name in crash_points.POINTS if name != "migration"]


def torment(nursery: Nursery, folder: Path, points: list[str], seed: int) -> None:
    """Services one after another on the same folder, killed at each of the points ('' is: at any time)."""
    rng, data = random.Random(seed), folder / "data"
    engine_with(data, list(NAMES)).store.close()
    writers = [Writer(number, seed) for number in range(3)]
    before = 0
    for point in points:
        crash_at = f"{point}:{rng.randint(1, PASSINGS.get(point, 25))}" if point else ""
        wait = None if point else rng.uniform(0.0, 0.15)
        victim = nursery.start(data, crash_at, **OPTIONS)
        if victim is not None:
            all_work(writers, victim.url, partial(kill_after, victim.pid, wait))
            assert victim.end(None) == -signal.SIGKILL, (folder / "errors.txt").read_text()
        events = check_folder(data, folder / "copy", writers)
        assert events >= before
        before = events
    last = nursery.start(data, **OPTIONS)
    assert last is not None
    all_work(writers, last.url, lambda: None, until_idle=True)  # what was cut off is sent again
    line = Line(last.url)
    for id, (_, feedback) in [item for writer in writers for item in writer.sent.items()][-20:]:
        story = line("GET", f"/v1/decisions/{id}")[1]
        assert (story["feedback"], story["why_not"]) == (feedback, None)
    versions = [line("GET", f"/v1/models/{name}")[1]["model_version"] for name in NAMES]
    assert sum(versions) == sum(len(writer.sent) for writer in writers)  # each once
    line.close()
    assert last.end(signal.SIGKILL) == -signal.SIGKILL
    check_folder(data, folder / "copy", writers)
    assert all(writer.learnt.keys() == writer.sent.keys() for writer in writers)


def kill_after(pid: int, seconds: float | None) -> None:
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("point", NAMED)
def test_killed_at_a_named_point(point: str, nursery: Nursery, tmp_path: Path) -> None:
    torment(nursery, tmp_path, [point] * 2, seed=NAMED.index(point))


def test_killed_at_random(nursery: Nursery, tmp_path: Path) -> None:
    torment(nursery, tmp_path, [""] * 8, seed=77)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_killed_more_than_two_hundred_times(seed: int, nursery: Nursery, tmp_path: Path) -> None:
    torment(nursery, tmp_path, random.Random(seed).sample([*NAMED, *[""] * 10], 21), seed=1000 + seed)


def test_killed_in_a_migration(nursery: Nursery, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert nursery.start(data, "migration") is None
    left = sqlite3.connect(data / "smidgen.db")
    assert left.execute("SELECT count(*) FROM migrations").fetchone() == (0,)
    assert left.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall() == [("migrations",)]
    left.close()
    after = nursery.start(data)
    assert after is not None
    create_models(after.url)
    assert after.end(signal.SIGTERM) == 0
    check_folder(data, tmp_path / "copy", [])


def test_the_command_takes_its_crash_point_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_with(tmp_path, list(NAMES)).store.close()
    monkeypatch.setenv(crash_points.VARIABLE, "decision-appended:3")
    with Live(tmp_path) as live:
        line = Line(live.url)
        for count in range(3):
            body = decision_body("rank", random.Random(count))
            if count < 2:
                assert line("POST", "/v1/models/rank/decisions", body)[0] == 201
            else:
                with pytest.raises((OSError, http.client.HTTPException)):
                    line("POST", "/v1/models/rank/decisions", body)
        line.close()
        assert live.process.wait(30) == -signal.SIGKILL
    again = Engine(tmp_path)
    assert again.models["rank"].decisions == 2
    again.close()


DAMAGE = {
    "feedback on .* is lost": "DELETE FROM events WHERE shard = 1 AND seq = 5;"
    "UPDATE decisions SET feedback_seq = NULL, version = NULL WHERE version = 2;"
    "UPDATE shards SET seq = 4, version = 1, chain = (SELECT chain FROM events WHERE shard = 1 AND seq = 4)"
    " WHERE id = 1",
    "decision .* is lost": "UPDATE events SET body = swapped(body, 'd3', 'd9') WHERE shard = 1 AND seq = 2",
    "applied twice": "INSERT INTO events SELECT shard, 6, type, version, at, decision, key, made, salt, chain, body"
    " FROM events WHERE shard = 1 AND seq = 5; UPDATE shards SET seq = 6 WHERE id = 1",
    "nobody sent": "UPDATE events SET body = swapped(body, 'clicked', 'renamed') WHERE shard = 1 AND seq = 5",
    "weights of rank": "UPDATE decisions SET seq = 6 - seq WHERE shard = 1",
}


@pytest.mark.parametrize("found", DAMAGE)
def test_the_checks_would_notice(found: str, nursery: Nursery, tmp_path: Path) -> None:
    data = tmp_path / "data"
    engine_with(data, list(NAMES)).store.close()
    victim = nursery.start(data)
    assert victim is not None
    writers = [Writer(0, seed=5)]
    line = Line(victim.url)
    for click in ("d3", "d1"):
        body = {"id": click, **decision_body("rank", random.Random(1))}
        reply = line("POST", "/v1/models/rank/decisions", body)[1]
        writers[0].made[reply["decision"]] = ("rank", reply)
        writers[0].sent[reply["decision"]] = ("rank", {"clicked": [click]})
        heard = line("POST", f"/v1/decisions/{reply['decision']}/feedback", {"clicked": [click]})[1]
        writers[0].learnt[reply["decision"]] = heard["model_version"]
    line.close()
    assert victim.end(signal.SIGKILL) == -signal.SIGKILL
    check_folder(data, tmp_path / "copy", writers)
    database = sqlite3.connect(data / "smidgen.db")
    database.create_function("swapped", 3, lambda body, old, new: body.replace(old.encode(), new.encode()))
    database.executescript(DAMAGE[found])
    database.close()
    if "feedback" in found:  # its end is gone: the head next to the database shows it
        with pytest.raises(StorageFailed, match="event 5 of the model 'rank' is missing"):
            Engine(data)
        (data / "smidgen.db.heads").unlink()
    with pytest.raises(AssertionError, match=found):
        check_folder(data, tmp_path / "copy", writers)
