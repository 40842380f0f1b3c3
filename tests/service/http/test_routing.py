"""Workers on PostgreSQL pass hot requests to the owner of their shard; without it they carry them out themselves."""

from __future__ import annotations

import http.client
import re
import signal
import threading
import time
from collections.abc import Iterator, Sized

import pytest

from cluster import Cluster
from service.http.test_workers import LABELS, made, sound
from service.multi_worker import Answer, Fleet, Line, Load, kill
from smidgen.service.storage.postgres import PostgresStore

#: Seconds that anything may take on a busy machine.
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[Fleet]:
    with Fleet(cluster.fresh(), 2) as running:
        yield running


def forwarded(line: Line) -> dict[tuple[str, str], int]:
    """Count the requests that were passed on, by worker and result; other workers publish twice a second."""
    time.sleep(0.6)
    text = line("GET", "/metrics").body
    found = re.findall(r'smidgen_forwarded_total\{worker="(\d)",result="([a-z ]+)"\} (\d+)', text)
    return {(worker, result): int(n) for worker, result, n in found}


def owners(store: str) -> dict[int, int]:
    """Return the process of the owner of each shard."""
    reading = PostgresStore(store)
    try:
        return {lease.shard: int(lease.owner.rpartition("/")[2]) for lease in reading.leases()}
    finally:
        reading.close()


def until_more(heard: Sized, count: int) -> None:
    """Wait until there are so many more replies."""
    wanted, deadline = len(heard) + count, time.monotonic() + PATIENCE_S
    while len(heard) < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def living_owner(fleet: Fleet) -> int:
    """Return the process of a worker that owns shards."""
    deadline = time.monotonic() + PATIENCE_S
    while not (living := set(owners(fleet.store).values()).intersection(fleet.workers())):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return min(living)


class Patient:
    """A client that sends a decision with an id again until it is made, as the guide tells clients to."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.line = fleet.line()

    def __call__(self, name: str) -> Answer:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                reply = self.line("POST", "/v1/models/a/decisions", {"features": [1.0, 0.5], "id": name})
                if reply.status == 201:
                    return reply
                assert reply.status == 503, reply.body
            except (OSError, http.client.HTTPException):
                self.line.close()
                self.line = self._fleet.line()
            time.sleep(0.02)
        raise AssertionError(f"{name} was not decided within {PATIENCE_S} s")


def test_requests_reach_the_owner_from_any_worker(fleet: Fleet) -> None:
    lines = fleet.lines()
    for name in ("plain", "spread"):
        more = {"keyed": True, "shards": 4} if name == "spread" else {}
        assert lines[0]("PUT", f"/v1/models/{name}", {**LABELS, **more}).status == 201
    deadline = time.monotonic() + PATIENCE_S
    while len(owners(fleet.store)) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)
    ids = []
    for number in range(40):
        line = lines[number % 2]
        ids += [made(line, "plain"), made(line, "spread", key=f"k{number}"), made(line, "plain", id=f"own {number}")]
    assert {len(id) for id in ids} == {28}
    assert [made(lines[number % 2], "plain", id=f"own {number}") for number in range(40)] == ids[2::3]
    for number, id in enumerate(ids):
        reply = lines[number % 2]("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
        assert (reply.status, reply.body["status"]) == (200, "learnt")
        reply = lines[(number + 1) % 2]("POST", f"/v1/decisions/{id}/feedback", {"correct": True})
        assert (reply.status, reply.body["status"]) == (200, "duplicate")
    for line in lines:
        some = {"decisions": [{"features": [1.0, 0.5]}] * 3}
        reply = line("POST", "/v1/models/plain/decisions:batch", some)
        assert (reply.status, len(reply.body["decisions"])) == (201, 3)
        assert line("POST", "/v1/models/plain/decisions:batch", {"decisions": [{}]}).status == 422
        assert line("POST", "/v1/models/none/decisions:batch", some).status == 404
    assert lines[0]("GET", "/v1/models/plain").body["decisions"] == 86
    sent = forwarded(lines[0])
    assert sum(n for (_, result), n in sent.items() if result == "sent") >= 50  # of 200 that came to another worker
    sound(fleet.store)


def test_refusals_are_those_of_any_worker(fleet: Fleet) -> None:
    lines = fleet.lines()
    assert lines[0]("PUT", "/v1/models/strict", LABELS).status == 201
    time.sleep(1.5)
    for path, body in (
        ("/v1/models/strict/decisions", {"features": [1.0]}),
        ("/v1/models/strict/decisions", {"features": [1.0, 2.0], "colour": "red"}),
        (f"/v1/decisions/{'0' * 28}/feedback", {"correct": True}),
        (f"/v1/decisions/{'z' * 28}/feedback", {"correct": True}),
        (f"/v1/decisions/{made(lines[0], 'strict')}/feedback", {"better": "a"}),
    ):
        answers = [line("POST", path, body) for line in lines]
        assert answers[0].status == answers[1].status >= 400
        assert answers[0].body == answers[1].body


def test_an_owner_that_is_killed_stops_or_hangs_loses_nothing(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 3) as fleet:
        line = fleet.line()
        for name in ("a", "b"):
            assert line("PUT", f"/v1/models/{name}", LABELS).status == 201
        with Load(fleet, ["a", "b"], 9) as load:
            load.more(100, PATIENCE_S)
            assert sum(forwarded(fleet.line()).values()) > 0  # a worker that is started again counts from 0
            for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM):
                owner = living_owner(fleet)
                kill(owner, how)
                if how == signal.SIGSTOP:  # callers that are connected to it wait
                    time.sleep(3.0)
                    kill(owner, signal.SIGCONT)
                load.more(60, PATIENCE_S)
        assert set(load.refused) <= {503}
    sound(store, load)


def test_a_decision_with_an_id_is_made_once_whatever_becomes_of_the_owner(cluster: Cluster) -> None:
    store = cluster.fresh()
    with Fleet(store, 3) as fleet:
        line = fleet.line()
        assert line("PUT", "/v1/models/a", LABELS).status == 201
        time.sleep(1.0)
        heard: dict[str, str] = {}
        ended = threading.Event()

        def ask(caller: int) -> None:
            own, number = Patient(fleet), 0
            while not ended.is_set():
                name = f"{caller} {number}"
                heard[name] = own(name).body["decision"]
                number += 1

        threads = [threading.Thread(target=ask, args=(caller,)) for caller in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            until_more(heard, 20)
            kill(living_owner(fleet))
        until_more(heard, 40)
        ended.set()
        for thread in threads:
            thread.join(PATIENCE_S + 10)
        patient = Patient(fleet)
        for name, id in heard.items():
            assert patient(name).body["decision"] == id
        decisions = patient.line("GET", "/v1/models/a").body["decisions"]
        assert len(heard) <= decisions <= len(heard) + 6  # the last one of each caller may have failed
    sound(store)
