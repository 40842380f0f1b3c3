"""Several workers over one PostgreSQL: each answers as a single one would, and the end of one loses nothing."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cluster import Cluster
from service.multi_worker import ENVIRONMENT, Answer, Fleet, Line, Load, kill
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection, open_for_change
from smidgen.service.engine.leases import LEASE_S
from smidgen.service.engine.model import shard_of
from smidgen.service.http import auth
from smidgen.service.http.server import ORPHAN_S
from smidgen.service.storage.address import parse_address
from smidgen.service.storage.postgres_address import Address

LABELS = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[Fleet]:
    with Fleet(cluster.fresh(), 2) as running:
        yield running


@pytest.fixture(scope="module")
def lines(fleet: Fleet) -> list[Line]:
    return fleet.lines()


def sound(store: str, load: Load | None = None) -> None:
    """Every log folds to what was published, and all that was acknowledged is in it, once."""
    with Inspection(parse_address(store)) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            report = audit_model(seen, model)
            assert not report.problems, report.problems
        if load is not None:
            versions: dict[tuple[int, int], str] = {}
            for id, version in load.learnt.items():
                row = seen.reading.decision(id)
                assert row is not None
                assert row.version == version
                assert versions.setdefault((row.shard, version), id) == id
            rows = {id: seen.reading.decision(id) for id in load.decided}
            assert None not in rows.values()
            assert all((row := rows[id]) is not None and row.version is not None for id in load.repeated)


def made(line: Line, name: str, **more: Any) -> str:
    answer = line("POST", f"/v1/models/{name}/decisions", {"features": [1.0, 0.5], **more})
    assert answer.status == 201, answer.body
    return str(answer.body["decision"])


def test_what_one_worker_does_the_other_knows_at_once(lines: list[Line]) -> None:
    first, second = lines
    for i in range(10):
        assert first("PUT", f"/v1/models/m{i}", LABELS).status == 201
        assert second("PUT", f"/v1/models/m{i}", LABELS).status == 200
        id = made(second, f"m{i}", id="mine")
        assert made(first, f"m{i}", id="mine") == id
        reply = first("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
        assert (reply.status, reply.body) == (200, {"status": "learnt", "model_version": 1})
        reply = second("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
        assert (reply.status, reply.body) == (200, {"status": "duplicate", "model_version": 1})
        assert second("POST", f"/v1/decisions/{id}/feedback", {"correct": False}).status == 409
        assert second("GET", f"/v1/decisions/{id}").body["learnt_version"] == 1
        made(second, f"m{i}")
        assert [line("GET", f"/v1/models/m{i}").body["decisions"] for line in lines] == [2, 2]
        weights = [line("GET", f"/v1/models/m{i}/weights").body for line in lines]
        assert weights[0] == weights[1]


def test_settings_ends_and_names_too(lines: list[Line]) -> None:
    first, second = lines
    assert first("PUT", "/v1/models/lives", LABELS).status == 201
    made(second, "lives")
    assert first("PATCH", "/v1/models/lives", {"add_labels": ["z"], "window_s": 60}).status == 200
    assert second("GET", "/v1/models/lives").body["labels"] == ["x", "y", "z"]
    id = made(second, "lives")
    assert second("POST", f"/v1/decisions/{id}/feedback", {"label": "z"}).status == 200
    assert first("POST", f"/v1/decisions/{id}:retract").status == 200
    assert second("POST", f"/v1/decisions/{id}/feedback", {"label": "x"}).body["status"] == "learnt"
    assert first("POST", "/v1/models/lives:rollback", {"version": 0}).status == 200
    rival = {"loop": "label", "learner": "Confidit", "labels": ["x", "y"], "params": {"dim": 2}, "shadow_of": "lives"}
    assert second("PUT", "/v1/models/shade", rival).status == 201
    made(first, "lives")
    assert [line("GET", "/v1/models/shade").body["decisions"] for line in lines] == [1, 1]
    assert first("DELETE", "/v1/models/lives").status == 200
    assert second("POST", "/v1/models/lives/decisions", {"features": [1.0, 1.0]}).status == 409
    assert first("POST", "/v1/models/lives:rename", {"to": "lived"}).status == 200
    assert second("POST", "/v1/models/lives/decisions", {"features": [1.0, 1.0]}).status == 404
    assert second("GET", "/v1/models/lived").status == 200
    assert second("PUT", "/v1/models/lives", LABELS).status == 201
    made(first, "lives")


def test_a_model_that_all_make_at_once_is_made_once(fleet: Fleet) -> None:
    answers: list[Answer] = []
    begin = threading.Barrier(6)

    def make() -> None:
        line = fleet.line()
        begin.wait()
        answers.extend([line("PUT", f"/v1/models/rush{i}", LABELS) for i in range(5)])
        line.close()

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] * 25 + [201] * 5


def test_an_id_is_used_once_whatever_the_shard_and_the_worker(lines: list[Line]) -> None:
    """Two workers hear of one id at the same moment, with keys of different shards: one of them decides."""
    shards = 4
    assert lines[0]("PUT", "/v1/models/spread", {**LABELS, "keyed": True, "shards": shards}).status == 201
    keys = [next(f"k{i}" for i in range(100) if shard_of(f"k{i}", shards) == shard) for shard in (1, 3)]
    heard: dict[int, list[Answer]] = {}

    def ask(line: Line, key: str, gate: threading.Barrier) -> None:
        for number in range(30):
            gate.wait(30)
            body = {"features": [1.0, 0.5], "key": key, "id": f"race {number}"}
            heard.setdefault(number, []).append(line("POST", "/v1/models/spread/decisions", body))

    gate = threading.Barrier(2)
    threads = [threading.Thread(target=ask, args=(line, key, gate)) for line, key in zip(lines, keys, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [sorted(answer.status for answer in heard[number]) for number in range(30)] == [[201, 409]] * 30
    assert [line("GET", "/v1/models/spread").body["decisions"] for line in lines] == [30, 30]


def test_shards_outlive_a_worker(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 2) as fleet:
        line = fleet.line()
        assert line("PUT", "/v1/models/spread", {**LABELS, "keyed": True, "shards": 8}).status == 201
        with Load(fleet, ["spread"], keys=40) as load:
            load.more(60, 60)
            kill(fleet.workers()[0])
            load.more(60, 60)
        deadline = time.monotonic() + 30
        while (reply := fleet.line()("GET", "/v1/models/spread")).status != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert reply.body["model_version"] == sum(reply.body["shard_versions"]) >= load.acknowledged()
        assert min(reply.body["shard_versions"]) > 0
    sound(store, load)


def test_silence_is_learnt_once(fleet: Fleet, lines: list[Line]) -> None:
    body = {"loop": "choose", "default_reward": 0.0, "window_s": 0.3}
    assert lines[0]("PUT", "/v1/models/quiet", body).status == 201
    for i in range(20):
        asked = {"candidates": [{"id": "a"}, {"id": "b"}]}
        assert lines[i % 2]("POST", "/v1/models/quiet/decisions", asked).status == 201
    deadline = time.monotonic() + 10
    while lines[1]("GET", "/v1/models/quiet").body["model_version"] < 20:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.6)
    assert [line("GET", "/v1/models/quiet").body["model_version"] for line in lines] == [20, 20]


def test_silence_needs_no_owner(cluster: Cluster) -> None:
    """Somebody who is dead owns all shards for long: silence is learnt all the same, and at a start before all else."""
    store = cluster.fresh()
    body = {"loop": "choose", "default_reward": 0.0, "window_s": 0.5}

    def made(line: Line) -> str:
        reply = line("POST", "/v1/models/quiet/decisions", {"candidates": [{"id": "a"}, {"id": "b"}]})
        return str(reply.body["decision"])

    with Fleet(store, 2) as fleet:
        lines = fleet.lines()
        assert lines[0]("PUT", "/v1/models/quiet", body).status == 201
        _haunt(cluster, store)
        for i in range(10):
            made(lines[i % 2])
        _until(lambda: lines[0]("GET", "/v1/models/quiet").body["model_version"] == 10, 20)
        last = made(lines[0])
    time.sleep(0.6)
    _haunt(cluster, store)
    with Fleet(store, 1) as fleet:
        line = fleet.line()
        _until(lambda: line("GET", "/readyz").status == 200, 60)
        assert line("GET", "/v1/models/quiet").body["model_version"] == 11
        assert line("POST", f"/v1/decisions/{last}/feedback", {"reward": 1.0}).status == 202
    sound(store)


def _haunt(cluster: Cluster, store: str) -> None:
    """Let somebody who is dead own all shards."""
    with psycopg.connect(cluster.url(), autocommit=True) as asking:
        asking.execute(f"SET search_path TO {Address.of(store).schema}")
        asking.execute("INSERT INTO leases SELECT id, 'ghost', 9, 1e11 FROM shards ON CONFLICT (shard) DO NOTHING")
        asking.execute("UPDATE leases SET owner = 'ghost', epoch = epoch + 1, until = 1e11")


def test_everybody_says_who_he_is(fleet: Fleet, lines: list[Line]) -> None:
    assert [line("GET", "/readyz").body["worker"] for line in lines] == [0, 1]
    time.sleep(0.6)
    reply = lines[1]("GET", "/ui/models.json").body["workers"]
    assert (reply["worker"], reply["of"], [each["worker"] for each in reply["workers"]]) == (1, 2, [0, 1])
    assert set(reply["owners"].values()) <= {each["name"] for each in reply["workers"]}
    text = lines[0]("GET", "/metrics").body
    for worker in (0, 1):
        assert f'smidgen_commits_total{{worker="{worker}"}}' in text
        assert f'smidgen_shards_owned{{worker="{worker}"}}' in text
    assert "smidgen_workers 2" in text
    assert lines[0]("GET", "/healthz").status == 200


def test_retention_of_both_at_once(fleet: Fleet, lines: list[Line]) -> None:
    assert lines[0]("PUT", "/v1/models/old", {**LABELS, "keyed": True}).status == 201
    for i in range(30):
        id = made(lines[i % 2], "old", key=f"k{i % 7}")
        lines[1]("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
    statuses: list[int] = []

    def retain(line: Line) -> None:
        statuses.append(line("POST", "/v1/models/old:retain", {"older_than_s": 0.0}).status)

    threads = [threading.Thread(target=retain, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 200 in statuses
    assert set(statuses) <= {200, 503}
    id = made(lines[0], "old", key="k1")
    assert lines[1]("POST", f"/v1/decisions/{id}/feedback", {"correct": True}).status == 200
    sound(fleet.store)


def test_curves_and_what_if_over_a_log_that_all_write(fleet: Fleet, lines: list[Line], tmp_path: Path) -> None:
    """All workers report the same figures, while both learn and after one has taken something back."""
    assert lines[0]("PUT", "/v1/models/asked", LABELS).status == 201
    with Load(fleet, ["asked"], 4) as load:
        load.more(20, 30)
        assert lines[0]("GET", "/ui/models/asked/curve.json").status == 200
        assert "Confidit" in str(_replayed("asked", "--store", fleet.store))
        load.more(20, 30)
    version = lines[0]("GET", "/v1/models/asked").body["model_version"]
    assert version == load.acknowledged()

    def curves(*asked: Line) -> list[Any]:
        reply = [line("GET", "/ui/models/asked/curve.json").body for line in asked]
        assert all(curve["complete"] for curve in reply)
        return reply

    before = curves(lines[0])[0]["points"]  # the other one looks at it for the first time when it is not the same
    assert before[-1]["to"] == version
    first = min(load.learnt, key=lambda id: load.learnt[id])
    assert lines[1]("POST", f"/v1/decisions/{first}:retract").status == 200
    found = curves(*lines)
    assert found[0] == found[1]
    assert lines[0]("POST", "/v1/models/asked:rollback", {"version": 5}).status == 200
    found = curves(*lines)
    assert found[0] == found[1]
    file = tmp_path / "asked.ndjson"
    file.write_text(lines[0]("GET", "/v1/models/asked/log?limit=100000").body)
    assert _replayed("asked", "--store", fleet.store) == _replayed(str(file))


def _replayed(*arguments: str) -> Any:
    command = [sys.executable, "-m", "smidgen", "replay", *arguments, "--learner", "Confidit", "--json", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ENVIRONMENT})
    assert done.returncode == 0, done.stderr
    return {name: text for name, text in json.loads(done.stdout).items() if name != "log"}


def test_tokens_are_seen_and_their_ends_too(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 2) as fleet:
        lines = fleet.lines()
        assert lines[0]("PUT", "/v1/models/m", LABELS).status == 201
        with open_for_change(parse_address(store)) as opened:
            id, token = auth.create(opened, ["admin"], None, time.time())
        for line in lines:
            assert line("GET", "/v1/models", token=token).status == 200
        for line in lines:
            assert line("POST", "/v1/models/m/decisions", {"features": [1.0, 1.0]}).status == 401
            assert line("POST", "/v1/models/m/decisions", {"features": [1.0, 1.0]}, token=token).status == 201
        with open_for_change(parse_address(store)) as opened:
            auth.revoke(opened, id, time.time())
        for line in lines:
            assert line("POST", "/v1/models/m/decisions", {"features": [1.0, 1.0]}, token=token).status == 401
        assert [line("GET", "/v1/models", token=token).status for line in lines] == [401, 401]


def test_killed_paused_and_without_a_database(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 2) as fleet:
        line = fleet.line()
        for name in ("a", "b"):
            assert line("PUT", f"/v1/models/{name}", LABELS).status == 201
        with Load(fleet, ["a", "b"], 4) as load:
            load.more(20, 20)
            before = fleet.workers()
            kill(before[0])
            load.more(20, 10)
            _until(lambda: len(fleet.workers()) == 2 and before[0] not in fleet.workers(), 10)
            _owned(store, before[0], 10)

            paused = fleet.workers()[-1]
            kill(paused, signal.SIGSTOP)
            load.more(20, LEASE_S + 100)  # callers that are connected to it give up after 30 s, and may get it again
            kill(paused, signal.SIGCONT)
            load.more(20, 10)

            cluster.stop("immediate")
            answer = fleet.line()("POST", "/v1/models/a/decisions", {"features": [1.0, 1.0]})
            assert answer.status == 503
            assert fleet.line()("GET", "/healthz").status == 200
            ready = fleet.line()("GET", "/readyz")
            assert ready.status == 503
            assert not [each for each in (answer, ready) if "postgresql" in str(each.body)], "its address is secret"
            cluster.start()
            load.more(20, 15)
        assert set(load.refused) <= {503}
        status, _, said = fleet.stop()
        assert status == 0, said
    sound(store, load)


def test_workers_end_with_their_supervisor(cluster: Cluster) -> None:
    with Fleet(cluster.fresh(), 2) as fleet:
        workers = fleet.workers()
        assert len(workers) == 2
        kill(fleet.process.pid)
        _until(lambda: not any(os.path.exists(f"/proc/{process}/exe") for process in workers), ORPHAN_S + 5)


def test_workers_that_start_leave_the_port_when_their_supervisor_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    """The first worker answers /healthz and imports for a minute: another service can have the port within a second."""
    (tmp_path / "slow_to_import.py").write_text("import time\n\ntime.sleep(60)\n")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    arguments = ["--store", cluster.fresh(), "--workers", "2", "--port", str(port), "--import", "slow_to_import"]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "smidgen", "serve", *arguments],
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    ) as service:
        _until(lambda: _answers(port), 30)
        began = time.monotonic()
        service.kill()
        _until(lambda: not _answers(port), 10)
        with socket.create_server(("127.0.0.1", port)):
            assert time.monotonic() - began < 1.0
        assert service.stderr is not None
        said = service.stderr.read()  # ends when the workers have gone, which share it
    assert time.monotonic() - began < ORPHAN_S + 5
    assert "Traceback" not in said, said


def _answers(port: int) -> bool:
    """True if a service answers the liveness probe there."""
    line = Line(f"http://127.0.0.1:{port}/")
    try:
        return line("GET", "/healthz").status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


def test_a_database_that_is_away_is_reported() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "smidgen", "serve", "--store", "postgresql://x@127.0.0.1:1/x", "--workers", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "Traceback" not in done.stderr


def _until(what: Any, within: float) -> None:
    deadline = time.monotonic() + within
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _owned(store: str, dead: int, within: float) -> None:
    """All shards have an owner, who is not the one that is dead."""
    from smidgen.service.storage.postgres import PostgresStore

    opened = PostgresStore(store)
    try:
        shards = {row.shard for row in opened.models()}

        def lives() -> bool:
            leases = [lease for lease in opened.leases() if not lease.owner.endswith(f"/{dead}")]
            return shards <= {lease.shard for lease in leases if lease.until > time.time()}

        _until(lives, within)
    finally:
        opened.close()
