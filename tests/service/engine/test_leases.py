"""Workers divide shards among themselves, and hand them over as soon as one comes or goes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from cluster import Cluster
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen.service.engine import leases
from smidgen.service.engine.leases import ShardLeases, choose_owner
from smidgen.service.storage.postgres import PostgresStore
from smidgen.service.storage.protocol import Store

SHARDS = range(1, 41)
#: Seconds that anything may take on a busy machine.
PATIENCE_S = 30.0


@pytest.fixture(params=["memory", "postgresql"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], Store]]:
    """Make stores of several workers."""
    if request.param == "memory":
        exchange = Exchange()
        yield lambda: SharedMemoryStore(exchange)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    place, opened = cluster.fresh(), list[PostgresStore]()

    def open_one() -> PostgresStore:
        opened.append(PostgresStore(place))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


def worker(store: Store, name: str) -> ShardLeases:
    return ShardLeases(store, lambda: SHARDS, name)


def owned(worker: ShardLeases) -> set[int]:
    return {shard for shard in SHARDS if worker.epoch(shard) is not None}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_shards_are_spread_and_few_move() -> None:
    workers = [f"web-{n}/0/{n}" for n in range(8)]
    before = {shard: choose_owner(shard, workers) for shard in range(4000)}
    assert all(400 < count < 600 for count in Counter(before.values()).values())
    after = {shard: choose_owner(shard, workers[1:]) for shard in range(4000)}
    assert {shard for shard in before if before[shard] != after[shard]} == {
        shard for shard, owner in before.items() if owner == workers[0]
    }


def test_a_worker_asks_for_its_own_shards_and_hands_over_the_others(make: Callable[[], Store]) -> None:
    first, second = worker(make(), "one"), worker(make(), "two")
    assert set(first.renew()) == set(SHARDS)
    assert second.renew() == []  # they are still the other's
    finished: list[set[int]] = []
    assert first.renew(lambda: finished.append(owned(first))) == []
    kept = {shard for shard in SHARDS if choose_owner(shard, ["one", "two"]) == "one"}
    assert finished == [kept]  # it trusts memory no more while the batch that is open ends, and nobody else owns yet
    assert 0 < len(kept) < len(SHARDS)
    assert set(second.renew()) == set(SHARDS) - kept
    assert (owned(first), owned(second)) == (kept, set(SHARDS) - kept)
    first.stop()
    assert owned(first) == set()
    assert set(second.renew()) == kept
    second.stop()


def test_who_died_is_replaced_when_its_lease_ends(make: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_S", 0.3)
    dead, heir = worker(make(), "dead"), worker(make(), "heir")
    dead.renew()
    began = time.monotonic()

    def inherits() -> bool:
        heir.renew()
        return owned(heir) == set(SHARDS)

    until(inherits)
    assert time.monotonic() - began >= 0.25
    assert owned(dead) == set()
    dead.renew()  # it was only paused: the others have its shards now, until they hand some over
    assert owned(dead) == set()
    heir.renew()
    dead.renew()
    assert owned(dead) | owned(heir) == set(SHARDS)
    assert owned(dead)
    assert owned(heir)


def test_a_change_is_announced_and_not_waited_for(make: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewals are so rare here that only announcements explain why shards move."""
    monkeypatch.setattr(leases, "LEASE_S", 600.0)
    monkeypatch.setattr(leases, "RENEW_S", 300.0)
    workers = [worker(make(), name) for name in ("one", "two", "three")]
    news: list[list[int]] = []
    changed = threading.Event()
    for each in workers:
        each.start(news.append, lambda: None, changed.set)

    def is_divided(living: list[ShardLeases]) -> bool:
        names = sorted(each.name for each in living)
        return all(owned(each) == {s for s in SHARDS if choose_owner(s, names) == each.name} for each in living)

    until(lambda: is_divided(workers))
    assert changed.is_set()
    workers[1].stop()
    until(lambda: is_divided([workers[0], workers[2]]))
    assert owned(workers[1]) == set()
    workers[0].hand_over(lambda: None)
    until(lambda: is_divided([workers[2]]))
    workers[2].hand_over(lambda: None)  # there is nobody to hand over to
    assert owned(workers[2]) == set(SHARDS)
    for each in workers:
        each.stop()
    assert owned(workers[2]) == set()
    assert len(set().union(*news)) == len(SHARDS)
