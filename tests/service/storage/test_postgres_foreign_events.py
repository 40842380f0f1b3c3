"""Events of other workers arrive with the lock, equal to those from a query, without another round trip."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from service.bodies import MODELS, decision_body, model, reaction, request
from service.engine.test_teach import examples
from smidgen.service.engine.engine import Engine
from smidgen.service.log.events import Event
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import AmendBody
from smidgen.service.storage.postgres import PostgresStore

NAMES = ("rank", "tune", "keyed", "newcomers", "label")
LABELS = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}


class Sceptical(PostgresStore):
    """Asks for what it has fetched as well, and compares."""

    compared = 0

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._read_changes, self.changes = self.changes, self._compare_changes

    def event_types(self, shard: int, after: int) -> set[str]:
        found = super().event_types(shard, after)
        assert found == self._asked(partial(super().event_types, shard, after))
        return found

    def _compare_changes(
        self, shard: int, after: int = 0, key: str | None = None
    ) -> Iterator[tuple[Event, Event | None]]:
        listed = list(self._read_changes(shard, after, key))
        assert listed == self._asked(lambda: list(self._read_changes(shard, after, key)))
        return iter(listed)

    def _asked(self, question: Any) -> Any:
        news = self._locks.news
        since = news._since.copy()
        news.forget()
        answer = question()
        news._since.update(since)
        Sceptical.compared += bool(since)
        return answer


@pytest.fixture
def three(postgres: str) -> Iterator[list[Engine]]:
    engines = [Engine(Sceptical(postgres), worker=str(i)) for i in range(3)]
    for name in NAMES:
        engines[0].create(name, model(MODELS[name]))
    yield engines
    for engine in engines:
        engine.store.close()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_fetched_events_are_those_of_notifications(three: list[Engine], seed: int) -> None:
    rng, open_ = random.Random(seed), dict[str, tuple[str, Any]]()
    before = Sceptical.compared
    for _ in range(120):
        engine = rng.choice(three)
        engine.begin()
        names = [rng.choice(NAMES) for _ in range(rng.randrange(3))]
        given = rng.sample(sorted(open_), min(len(open_), rng.randrange(4)))
        if rng.random() < 0.7:
            engine.prefetch([*((None, (id,)) for id in given), *((name, ()) for name in names)])
        for id in given:
            name, reply = open_.pop(id)
            engine.run_in_savepoint(partial(engine.feedback, id, loops.feedback(**reaction(name, reply, rng))))
        for name in names:
            asked = request({**decision_body(name, rng)})
            reply = engine.run_in_savepoint(partial(engine.decide, name, asked))
            open_[reply["decision"]] = name, reply
        if rng.random() < 0.05:
            engine.run_in_savepoint(partial(engine.amend, rng.choice(NAMES), AmendBody(window_s=rng.uniform(1e4, 1e5))))
        if rng.random() < 0.1:
            engine.rollback()
            open_ = {id: each for id, each in open_.items() if engine.store.decision(id) is not None}
            open_ = {id: each for id, each in open_.items() if engine.story(id).feedback is None}
        else:
            engine.commit()
    assert Sceptical.compared > before + 50
    for name in NAMES:
        keys = [None] if not three[0].models[name].keyed else list(_keys(three[0], name))
        for key in keys:
            found = {engine.run(partial(_learner, engine, name, key)) for engine in three}
            found.add(three[0].run(partial(_afresh, three[0], name, key)))
            assert len(found) == 1, (name, key)


def _keys(engine: Engine, name: str) -> set[str]:
    return {key for (key,) in engine.store.query("keys", engine.models[name].shard, prefix="", limit=100)}


def _learner(engine: Engine, name: str, key: str | None) -> bytes:
    return engine.learners.get(engine.locked_model(name), key).learner.to_bytes()


def _afresh(engine: Engine, name: str, key: str | None) -> bytes:
    engine.learners.evict_shard(engine.models[name].shard)
    return _learner(engine, name, key)


def test_a_batch_of_several_models_waits_twice_whatever_others_wrote(postgres: str) -> None:
    two = [Engine(PostgresStore(postgres), worker=str(i)) for i in range(2)]
    names = [f"m{i}" for i in range(4)]
    for name in names:
        two[0].create(name, model(LABELS))
    open_: list[list[str]] = [[], []]
    waited = []
    for turn in range(12):
        engine, mine = two[turn % 2], open_[turn % 2]
        before = engine.store.round_trips
        engine.refresh()
        engine.begin()
        found, mine[:] = mine[:], []
        engine.prefetch([*((engine.is_hot_for_feedback(id), (id,)) for id in found), *((name, ()) for name in names)])
        for id in found:
            engine.run_in_savepoint(partial(engine.feedback, id, loops.feedback(correct=True)))
        for name in names:
            asked = request({"features": [1.0, float(turn)]})
            mine.append(engine.run_in_savepoint(partial(engine.decide, name, asked))["decision"])
        engine.commit()
        waited.append(engine.store.round_trips - before)
    assert waited[-4:] == [2] * 4
    for engine in two:
        engine.store.close()


def test_much_news_and_lessons_are_asked_for(postgres: str) -> None:
    """More than is fetched ahead, and what is about no decision, is learnt all the same."""
    two = [Engine(Sceptical(postgres), worker=str(i)) for i in range(2)]
    two[0].create("m", model(LABELS))
    for turn in range(6):
        engine = two[turn % 2]
        made = [
            each["decision"]
            for each in engine.run(partial(engine.decide_all, "m", [request({"features": [1.0, 0.0]})] * 70))
        ]
        engine.begin()
        for id in made:
            engine.run_in_savepoint(partial(engine.feedback, id, loops.feedback(correct=False)))
        engine.commit()
        engine.teach("m", examples({"examples": [{"features": [1.0, float(turn)], "answer": "x"}]}))
    found = {engine.run(partial(_learner, engine, "m", None)) for engine in two}
    found.add(two[0].run(partial(_afresh, two[0], "m", None)))
    assert len(found) == 1
    for engine in two:
        engine.store.close()
