"""The fast path of owners on PostgreSQL: one pipeline per batch, compared at the commit; the lock path as fallback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from service.bodies import MODELS, decision_body, model, reaction, request
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import Conflict, NeedsDatabase, Outdated
from smidgen.service.log.events import Chain
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import AmendBody
from smidgen.service.storage import crash_points
from smidgen.service.storage.postgres import PostgresStore
from smidgen.testing.store_decisions import make_model, new_decision, new_feedback

LABELS = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}
NAMES = ("rank", "tune", "keyed", "label")


class Killed(BaseException):
    """The process has ended."""


@pytest.fixture
def two(postgres: str) -> Iterator[list[Engine]]:
    """Two workers, each of which believes that it owns all shards."""
    engines = [Engine(PostgresStore(postgres), worker=str(i)) for i in range(2)]
    for engine in engines:
        engine.store.trust(lambda shard: True)
    yield engines
    for engine in engines:
        engine.store.close()


def ask(x: float = 1.0) -> Any:
    """A request of the model with labels."""
    return request({"features": [1.0, x]})


def warm(engine: Engine, count: int = 3) -> None:
    """Decide and learn, so that memory has all that is needed."""
    for _ in range(count):
        id = engine.decide("m", ask())["decision"]
        engine.feedback(id, loops.feedback(correct=True))


def sound(engine: Engine) -> None:
    """Events of all logs have no gap, and the chain holds."""
    for shard in engine.shards:
        events = engine.store.events(shard, limit=100_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert Chain().check_all(events) is None


def test_a_batch_of_an_owner_is_one_round_trip(two: list[Engine]) -> None:
    engine = two[0]
    engine.create("m", model(LABELS))
    engine.create("n", model(LABELS))
    warm(engine)
    engine.decide("n", ask())
    before = engine.store.round_trips
    assert engine.store.try_begin()
    ids = [engine.run_in_savepoint(partial(engine.decide, "m", ask(float(i))))["decision"] for i in range(20)]
    for id in ids[:10]:
        answer = engine.run_in_savepoint(partial(engine.feedback, id, loops.feedback(correct=False)))
        assert answer.status == "learnt"
    engine.run_in_savepoint(partial(engine.decide, "n", ask()))
    assert engine.store.round_trips == before
    engine.commit()
    assert engine.store.round_trips == before + 1
    assert all(engine.story(id).feedback is not None for id in ids[:10])
    sound(engine)


def test_a_command_that_needs_the_database_does_not_wait_on_the_event_loop(two: list[Engine]) -> None:
    engine = two[0]
    engine.create("m", model(LABELS))
    warm(engine)
    assert engine.store.try_begin()
    with pytest.raises(NeedsDatabase):
        engine.run_in_savepoint(lambda: engine.store.find_request(1, "unknown"))
    engine.rollback()
    assert engine.run(lambda: engine.store.find_request(1, "unknown")) is None
    assert engine.store.try_begin()
    engine.rollback()


def test_a_refused_command_leaves_the_rest_of_the_batch(two: list[Engine]) -> None:
    engine = two[0]
    engine.create("m", model(LABELS))
    warm(engine)
    engine.begin()
    first = engine.run_in_savepoint(partial(engine.decide, "m", ask()))["decision"]

    def fails() -> None:
        engine.decide("m", ask())
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        engine.run_in_savepoint(fails)
    second = engine.run_in_savepoint(partial(engine.decide, "m", ask()))["decision"]
    engine.commit()
    assert engine.story(first).decision == first
    assert engine.story(second).decision == second
    sound(engine)


def test_an_outdated_batch_commits_nothing_and_is_repeated_with_locks(two: list[Engine]) -> None:
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    other.refresh()
    other.decide("m", ask())
    owner.begin()
    lost = owner.run_in_savepoint(partial(owner.decide, "m", ask()))["decision"]
    with pytest.raises(Outdated):
        owner.commit()
    owner.rollback()
    assert owner.store.decision(lost) is None
    before = owner.store.counts(owner.models["m"].shard)
    kept = owner.decide("m", ask())["decision"]  # with locks: it sees what the other wrote
    assert owner.store.decision(kept) is not None
    assert before is not None
    sound(owner)


def test_a_change_of_the_catalogue_outdates_a_batch(two: list[Engine]) -> None:
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    owner.begin()
    owner.run_in_savepoint(partial(owner.decide, "m", ask()))
    other.refresh()
    other.create("elsewhere", model(LABELS))
    with pytest.raises(Outdated):
        owner.commit()
    owner.rollback()
    owner.decide("m", ask())
    assert owner.decide("elsewhere", ask())["model"] == "elsewhere"


def test_a_batch_that_only_reads_is_compared_too(two: list[Engine]) -> None:
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    owner.begin()
    assert owner.run_in_savepoint(lambda: owner.locked_model("m").seq) == owner.models["m"].seq
    other.refresh()
    other.decide("m", ask())
    with pytest.raises(Outdated):
        owner.commit()
    owner.rollback()


def test_a_batch_that_needs_a_query_continues_with_locks(two: list[Engine]) -> None:
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    owner.begin()
    made = owner.run_in_savepoint(partial(owner.decide, "m", ask()))["decision"]
    owner.run_in_savepoint(partial(owner.amend, "m", AmendBody(window_s=50_000.0)))
    found = owner.store.decision(made)
    owner.commit()
    assert found == owner.store.decision(made)
    assert owner.store.counts(1) == other.store.reader().counts(1)
    sound(owner)
    warm(owner)  # with locks, since it has changed the catalogue; from then on it trusts its memory
    owner.begin()
    owner.run_in_savepoint(partial(owner.decide, "m", ask()))
    other.refresh()
    other.decide("m", ask())
    with pytest.raises(Outdated):
        owner.run_in_savepoint(partial(owner.amend, "m", AmendBody(window_s=60_000.0)))
    owner.rollback()
    sound(owner)


def test_feedback_that_another_worker_took_is_not_learned_again(two: list[Engine]) -> None:
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    id = owner.decide("m", ask())["decision"]
    other.refresh()
    assert other.feedback(id, loops.feedback(correct=True)).status == "learnt"
    assert owner.feedback(id, loops.feedback(correct=True)).status == "duplicate"
    for _ in range(40):  # the owner trusts its memory again
        owner.decide("m", ask())
    assert owner.feedback(id, loops.feedback(correct=True)).status == "duplicate"
    with pytest.raises(Conflict):
        owner.feedback(id, loops.feedback(correct=False))
    sound(owner)


@pytest.mark.parametrize("seed", range(6))
def test_two_workers_that_believe_to_be_alone_lose_nothing(two: list[Engine], seed: int) -> None:
    """Batches of both overlap; those that are acknowledged are in the log, once, and both learn the same."""
    rng, acknowledged, open_ = random.Random(seed), set[str](), dict[str, tuple[str, Any]]()
    for name in NAMES:
        two[0].create(name, model(MODELS[name]))
    two[1].refresh()
    outdated = 0
    for _ in range(60):
        order = rng.sample(two, 2)
        made: list[dict[str, tuple[str, Any]]] = [{}, {}]
        for place, engine in enumerate(order[: rng.choice((1, 2, 2))]):
            try:
                made[place] = _some_commands(engine, rng, open_)
                if not engine.store._batch.is_unsent:
                    engine.commit()  # it holds locks: the other must not wait for it
            except Outdated:
                outdated += 1
                engine.rollback()
                made[place] = {}
        for place, engine in enumerate(order):
            try:
                if engine.store.in_batch:
                    engine.commit()
            except Outdated:
                outdated += 1
                engine.rollback()
            else:
                open_ |= made[place]
                acknowledged |= made[place].keys()
    assert outdated > 0
    assert len(acknowledged) > 50
    for engine in two:
        sound(engine)
    logged = [
        event.decision
        for shard in two[0].shards
        for event in two[0].store.events(shard, limit=100_000)
        if event.type == "decision"
    ]
    assert set(logged) == acknowledged
    assert len(logged) == len(acknowledged)
    for name in NAMES:
        if not two[0].models[name].keyed:
            states = {engine.run(partial(_learner, engine, name)) for engine in two}
            two[0].learners.evict_shard(two[0].models[name].shard)
            assert states == {two[0].run(partial(_learner, two[0], name))}


def _some_commands(engine: Engine, rng: random.Random, open_: dict[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """Begin a batch of decisions and feedback, which stays open; the decisions."""
    made: dict[str, tuple[str, Any]] = {}
    engine.begin()
    for _ in range(rng.randrange(1, 4)):
        name = rng.choice(NAMES)
        reply = engine.run_in_savepoint(partial(engine.decide, name, request(decision_body(name, rng))))
        made[reply["decision"]] = name, reply
    if open_ and rng.random() < 0.6:
        id = rng.choice(sorted(open_))
        name, reply = open_[id]
        with suppress(Conflict):  # it has feedback already
            engine.run_in_savepoint(partial(engine.feedback, id, loops.feedback(**reaction(name, reply, rng))))
    return made


def _learner(engine: Engine, name: str) -> bytes:
    return engine.learners.get(engine.locked_model(name), None).learner.to_bytes()


@pytest.mark.parametrize(("point", "lasts"), [("before-commit", False), ("after-commit", True)])
def test_an_owner_that_is_killed_around_its_commit(two: list[Engine], point: str, lasts: bool) -> None:
    """Another worker continues; a batch that was committed and not answered is there, one that was not is not."""
    owner, other = two
    owner.create("m", model(LABELS))
    warm(owner)
    owner.begin()
    id = owner.run_in_savepoint(partial(owner.decide, "m", ask()))["decision"]

    def kill(passed: str) -> None:
        if passed == point:
            raise Killed

    crash_points.watch(kill)
    try:
        with pytest.raises(Killed):
            owner.commit()
    finally:
        crash_points.watch(None)
    owner.store._batch.close()
    other.refresh()
    assert (other.store.decision(id) is not None) is lasts
    after = other.decide("m", ask())["decision"]
    assert other.feedback(after, loops.feedback(correct=True)).status == "learnt"
    if lasts:
        assert other.feedback(id, loops.feedback(correct=True)).status == "learnt"
    sound(other)


def test_the_store_alone_trusts_what_it_has_written(postgres: str) -> None:
    store, other = PostgresStore(postgres), PostgresStore(postgres)
    row = make_model(store, "m")
    store.trust(lambda shard: shard == row.shard)
    store.catalogue_number()
    for number in range(1, 4):
        store.begin()
        store.acquire(row.shard)
        assert store.trusts(row.shard)
        store.write_decisions(row.shard, [new_decision(number, number=number)])
        store.write_feedback(row.shard, [new_feedback(number)._replace(open_until=1e9)])
        store.commit()
    assert store.counts(row.shard) == other.counts(row.shard)
    other.begin()
    other.write_decisions(row.shard, [new_decision(9, number=9)])
    other.commit()
    store.begin()
    store.write_decisions(row.shard, [new_decision(10, number=10)])
    with pytest.raises(Outdated):
        store.commit()
    store.rollback()
    store.begin()
    assert not store.trusts(row.shard)
    store.write_decisions(row.shard, [new_decision(10, number=10)])
    store.commit()
    assert [event.seq for event in store.events(row.shard)] == list(range(1, other.counts(row.shard).seq + 1))
    store.close()
    other.close()
