"""Chaos on PostgreSQL: workers, owners, machines, wires and the database itself fail; nothing acknowledged is lost."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, missing
from service.faults import breaking_lines, paths, worse_workers
from service.faults.mayhem import LABEL, LEASE_S, PATIENCE, Mayhem
from service.multi_worker import Fleet
from smidgen.service.storage.postgres import PostgresStore
from smidgen.testing import check_store

#: What happens in the normal tests; the nightly ones draw from the same.
SOME = Counter(
    end_connections=3,
    tear=2,
    kill_worker=2,
    kill_owner=3,
    stop_owner=3,
    slow_owner=4,
    stop_database=1,
    cut=1,
    pause_owner=1,
    kill_machine=1,
)
FEW = Counter(end_connections=1, kill_worker=1, kill_owner=1, stop_owner=1, slow_owner=1, tear=1)
#: Both machines pass requests to each other.
PEER = ("--peer", "127.0.0.1:0")
#: How many lines between workers break in the normal tests, at least.
BROKEN = 20


@pytest.fixture
def own() -> Iterator[Cluster]:
    """A server for one play, which stops it."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    server = Cluster()
    yield server
    server.close()


def play_on(path: str, cluster: Cluster, seed: int, patch: pytest.MonkeyPatch) -> Mayhem:
    """Two machines whose requests go one way, or ways that chance chooses."""
    if path in ("forwarding", "peers"):
        return Mayhem(cluster, seed, options=PEER if path == "peers" else ())
    patch.setenv("PYTHONPATH", _with_tests())
    patch.setenv(paths.VARIABLE, path)
    if path == "mixed":
        patch.setenv(paths.SKEW_VARIABLE, "5")
    return Mayhem(cluster, seed, 2, ("service.faults.paths",), PEER if path == "mixed" else ())


def played(play: Mayhem, faults: list[str]) -> Mayhem:
    """Let things happen, then hold everything against the log."""
    with play:
        play.go_on()
        play.rng.shuffle(faults)
        for name in faults:
            play.do(name)
    assert play.wrong() == []
    assert play.strange() == []
    assert play.acknowledged() > 8 * len(faults)
    return play


def test_some_of_everything(own: Cluster) -> None:
    play = played(Mayhem(own, 1, options=PEER), list(SOME.elements()))
    assert play.faults == SOME
    assert set(play.faults) == set(Mayhem.FAULTS)
    assert play.longest_ownerless < 10 * LEASE_S  # the guide has the time on an idle machine


@pytest.mark.parametrize("path", ["locks", "mixed"])
def test_other_ways(own: Cluster, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks only; or any way by chance, with leases that are lost and not known yet, and clocks 5 s apart."""
    play = played(play_on(path, own, 5, monkeypatch), list(FEW.elements()))
    assert play.faults == FEW


def test_lines_that_break_before_and_after_a_request_is_read(
    own: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store, broken, ids = own.fresh(), tmp_path / "broken", set[str]()
    broken.write_bytes(b"")
    monkeypatch.setenv("PYTHONPATH", _with_tests())
    monkeypatch.setenv(breaking_lines.VARIABLE, str(broken))
    with Fleet(store, 2, "--import", "service.faults.breaking_lines") as fleet:
        lines = fleet.lines()
        assert lines[0]("PUT", "/v1/models/one", LABEL).status == 201
        deadline = time.monotonic() + PATIENCE
        while len(broken.read_bytes()) < BROKEN:
            assert time.monotonic() < deadline
            for line in lines:  # one of them owns the shard, and the other passes its requests on
                body = {"features": [1.0, 0.5], "id": f"request {len(ids)}"}
                made = line("POST", "/v1/models/one/decisions", body)
                assert made.status == 201, made.body
                ids.add(made.body["decision"])
                heard = line("POST", f"/v1/decisions/{made.body['decision']}/feedback", {"correct": True})
                assert heard.status == 200, heard.body
        shown = lines[0]("GET", "/v1/models/one").body
    assert set(broken.read_bytes()) == set(b"ab")
    assert (shown["decisions"], shown["model_version"]) == (len(ids), len(ids))


@pytest.mark.long
@pytest.mark.parametrize("path", ["locks", "forwarding", "peers", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_hundreds(own: Cluster, seed: int, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play = play_on(path, own, 100 + seed, monkeypatch)
    with play:
        play.go_on()
        for _ in range(52):
            play.do(play.rng.choice(Mayhem.FAULTS))
    assert play.wrong() == []
    assert play.strange() == []
    print(f"\n{dict(play.faults)}; {play.acknowledged()} acknowledged; ownerless {play.longest_ownerless:.2f} s")


# Defects that the checks must find


def test_who_answers_before_the_commit_is_found(own: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(worse_workers.VARIABLE, "answers-before-the-commit")
    monkeypatch.setenv("PYTHONPATH", _with_tests())
    play = Mayhem(own, 2, workers=1, modules=("service.faults.worse_workers",))
    with play:
        for _ in range(8):
            play.go_on(4)
            play.end_connections()
    assert any("is gone" in each for each in play.wrong())


@pytest.mark.parametrize("keys", [pytest.param(True, marks=pytest.mark.long), False])
def test_workers_that_lock_no_shard(own: Cluster, monkeypatch: pytest.MonkeyPatch, keys: bool) -> None:
    """The keys of the tables stop them; without the keys as well, they are found."""
    monkeypatch.setenv(worse_workers.VARIABLE, "locks-no-shard")
    monkeypatch.setenv("PYTHONPATH", _with_tests())
    play = Mayhem(own, 3, workers=2, modules=("service.faults.worse_workers",))
    if not keys:
        PostgresStore(play.store).close()  # makes the tables
        with play._asking() as asking:
            asking.execute("DROP INDEX event_order; DROP INDEX decision_requests")
            asking.execute("ALTER TABLE decisions DROP CONSTRAINT decisions_pkey")
    with play:
        play.go_on(60)
    assert bool(play.wrong()) != keys


def test_an_owner_without_a_fence_is_found(own: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    publish, place = PostgresStore.publish, own.fresh()

    def unfenced(
        self: PostgresStore, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None
    ) -> bool:
        return publish(self, shard, key, seq, content)

    monkeypatch.setattr(PostgresStore, "publish", unfenced)
    with pytest.raises(AssertionError, match="fenced off"):
        check_store(lambda: PostgresStore(place))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("fsync", ["on", "off"])
def test_the_log_of_the_database_is_synced_before_the_answer(own: Cluster, fsync: str, tmp_path: Path) -> None:
    """Seen in the system calls of the server: a sync for every answer, and none if the server is configured without."""
    settings = own.folder / "data" / "postgresql.auto.conf"
    settings.write_text(settings.read_text().replace("fsync = on", f"fsync = {fsync}"))
    own.restart()
    store = own.fresh(durable="no") if fsync == "off" else own.fresh()
    with Fleet(store, 1) as fleet:
        line = fleet.line()
        assert line("PUT", "/v1/models/m", {"loop": "label", "labels": ["x", "y"]}).status == 201
        line("POST", "/v1/models/m/decisions", {"features": {"a": 1.0}})
        first = int((own.folder / "data" / "postmaster.pid").read_text().split()[0])
        pids = [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        out = tmp_path / "calls"
        command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,pwrite64", "-o", str(out)]
        tracing = subprocess.Popen(
            [*command, *(word for pid in pids for word in ("-p", str(pid)))], stderr=subprocess.PIPE, text=True
        )
        assert tracing.stderr is not None
        if "attached" not in (said := tracing.stderr.readline()):
            tracing.kill()
            tracing.communicate()
            pytest.skip(f"strace may not trace here: {said}")
        time.sleep(0.5)
        answered = 0
        for _ in range(10):
            made = line("POST", "/v1/models/m/decisions", {"features": {"a": 1.0}})
            reply = line("POST", f"/v1/decisions/{made.body['decision']}/feedback", {"correct": True})
            answered += (made.status == 201) + (reply.status == 200)
        tracing.terminate()
        tracing.communicate(timeout=20)
    synced = len(re.findall(r"(?:fsync|fdatasync)\(\d+<[^>]*pg_wal[^>]*>\)\s+= 0", out.read_text()))
    assert answered == 20
    assert synced >= answered if fsync == "on" else synced == 0


def _with_tests() -> str:
    root = Path(__file__).resolve().parents[3]
    return f"{root / 'src'}:{root / 'tests'}"
