"""A column means one thing for the life of a log: names keep theirs, whatever is taken back, and no other gets it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from service.bodies import Clock, feedback_body, model, request
from service.engine.test_teach import examples
from service.memory import CommittedTables, MemoryStore
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen.features import Encoded, Vectorizer
from smidgen.service.admin.verify import audit_file
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.log_sources import NdjsonSource, source_of
from smidgen.service.engine.rebuild import rebuild_all
from smidgen.service.log import codec
from smidgen.service.monitoring.weights import by_name
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import CopyBody

KEYED = {"loop": "choose", "keyed": True, "window_s": 1e6}
MODELS: dict[str, dict[str, Any]] = {
    "alone": {"loop": "choose", "window_s": 1e6},
    "keyed": KEYED,
    "shards": KEYED | {"shards": 3},
    "better": KEYED | {"feedback": "better"},
}
STORES = ("sqlite", "memory", "workers")


class Shop:
    """A model, what every decision stood on, and who it was for."""

    def __init__(self, store: str, folder: Path, kind: str) -> None:
        self.clock, self.kind, self.folder = Clock(), kind, folder
        shelf, exchange = CommittedTables(), Exchange()
        self._open: Callable[[], Engine] = {
            "sqlite": lambda: Engine(folder, clock=self.clock, synchronous="OFF", keyed_in_memory=2),
            "memory": lambda: Engine(MemoryStore(shelf), clock=self.clock, keyed_in_memory=2),
            "workers": lambda: Engine(SharedMemoryStore(exchange), clock=self.clock, keyed_in_memory=2),
        }[store]
        self.engines = [self._open() for _ in range(2 if store == "workers" else 1)]
        self.engine.create("shop", model(MODELS[kind]))
        self.name = "shop"
        self.meant: dict[tuple[int, int], str] = {}  # of a shard and a column
        self.offered: dict[str, str] = {}

    @property
    def engine(self) -> Engine:
        """The worker whose turn it is."""
        self.engines.append(self.engines.pop(0))
        return self.engines[0]

    def restart(self) -> None:
        """All begin again, without having stored anything."""
        for engine in self.engines:
            engine.store.close()
        self.engines = [self._open() for _ in self.engines]

    def table(self, key: str | None) -> Vectorizer:
        """The names that a learner reads."""
        learners = self.engine.learners

        def look() -> Vectorizer | None:
            served = self.engines[0].locked_model(self.name).shard_for(key)
            return learners.table(served, learners.get(served, key).learner)

        found = self.engines[0].run(look)
        assert found is not None
        return found

    def of(self, id: str) -> tuple[int, str | None, Encoded]:
        """The shard, the key and the context of a decision."""
        engine = self.engine

        def look() -> tuple[int, str | None, Encoded]:
            row = engine.store.decision(id)
            assert row is not None
            (part,) = [part for part in engine.locked_model(self.name).parts if part.shard == row.shard]
            made = engine.events.decision(part, row.seq)
            assert isinstance(made.decision.context, Encoded)
            return part.part, made.key, made.decision.context

        return engine.run(look)

    def ask(self, key: str, *ids: str, **context: Any) -> str:
        """A decision; what its columns mean is noted."""
        self.clock.now += 1.0
        whose = {} if self.kind == "alone" else {"key": key}
        body = {**whose, "candidates": [{"id": id} for id in ids], "context": context}
        id = str(self.engine.decide(self.name, request(body))["decision"])
        part, _, made = self.of(id)
        names, self.offered[id] = self.table(whose.get("key")).names, ids[-1]
        for column in made.indices.tolist():
            assert self.meant.setdefault((part, column), names[column]) == names[column] != ""
        return id

    def tell(self, id: str, reward: float = 1.0) -> None:
        """An answer; the columns of new names are noted, and nobody had them before."""
        self.clock.now += 1.0
        self.engine.feedback(
            id, feedback_body(better=self.offered[id]) if self.kind == "better" else feedback_body(reward=reward)
        )
        part, key, made = self.of(id)
        names = self.table(key).names
        for name in [name for name in made.names if name in names]:  # a cross with a number that is 0 now is left out
            column = names.index(name)
            assert self.meant.setdefault((part, column), name) == name, "nobody had it before"
        for column in made.indices.tolist():
            assert names[column] == self.meant[part, column], "its columns mean what they meant"

    def agrees(self) -> None:
        """After a restart all is the same, and so it is from the log alone."""
        live = self.states()
        self.restart()
        assert self.states() == live
        engine = self.engine
        logged, served = SimpleNamespace(log=engine.events), engine.run(lambda: engine.locked_model(self.name))
        rebuilt = rebuild_all(source_of(logged, served))
        alone = {}
        for shard, each in rebuilt.items():
            alone |= {(shard, key): each.learner(key).to_bytes() for key in each.numbers | each.learners}
            alone |= {(shard, "all"): each.group.to_bytes()} if each.group is not None else {}
        assert alone == {place: content for place, content in live.items() if place in alone}
        assert len(alone) >= len(live) - len(rebuilt)

    def states(self) -> dict[tuple[int, str | None], bytes]:
        """All learners, and what they share."""
        found: dict[tuple[int, str | None], bytes] = {}
        engine = self.engine

        def look() -> None:
            for part in engine.locked_model(self.name).parts:
                keys = [key for (key,) in engine.store.query("keys", part.shard, prefix="", limit=100)]
                for key in keys if part.keyed else [None]:
                    found[part.part, key] = engine.learners.get(part, key).learner.to_bytes()
                if (group := engine.learners.shared_state(part)) is not None:
                    found[part.part, "all"] = group.to_bytes()

        engine.run(look)
        return found


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=MODELS)
def shop(request: pytest.FixtureRequest, store: str, tmp_path: Path) -> Shop:
    return Shop(store, tmp_path / "data", request.param)


def back(shop: Shop) -> None:
    """Go back to the beginning."""
    if shop.kind == "shards":
        shop.engine.roll_back("shop", None, then=1_000_000.0)
    else:
        shop.engine.roll_back("shop", 0)


@pytest.mark.parametrize("restarted", [False, True])
def test_an_open_decision_keeps_its_columns_when_what_named_them_is_rolled_back(shop: Shop, restarted: bool) -> None:
    for _ in range(3):
        shop.tell(shop.ask("ann", "A", "B", os="ios"))
    waiting = shop.ask("ann", "A", "B", os="ios")
    back(shop)
    if restarted:
        shop.restart()
    shop.tell(shop.ask("ann", "X", "Y", os="web", age=30))
    shop.tell(waiting)
    shop.tell(shop.ask("ann", "X", "A", os="ios", age=40))
    shop.agrees()


@pytest.mark.parametrize("kind", ["alone", "keyed", "shards"])
def test_a_reward_after_a_rollback_is_the_one_of_its_name(store: str, kind: str, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path / "data", kind)
    for _ in range(3):
        shop.tell(shop.ask("ann", "A"))
    waiting = shop.ask("ann", "A")
    back(shop)
    shop.tell(shop.ask("ann", "X"), 0.0)
    shop.tell(waiting, 1.0)
    engine, key = shop.engine, None if shop.kind == "alone" else "ann"
    found = engine.run(lambda: by_name(engine, engine.locked_model("shop").shard_for(key), key, 10).weights)
    weights = {each.name: each.weight for each in found}
    assert weights["id=A"] > 0.1 > weights.get("id=X", 0.0)


def test_what_a_retracted_answer_named_keeps_its_column(shop: Shop) -> None:
    first = shop.ask("ann", "A", "B", os="ios")
    shop.tell(first)
    others = [shop.ask("ann", "A", "B", os="ios", age=age) for age in (20, 30, 40)]
    shop.tell(others[0])
    shop.tell(others[1])
    shop.engine.retract(first)
    shop.tell(shop.ask("ann", "X", "Y"))
    shop.engine.retract(others[0])
    shop.tell(others[2])
    shop.tell(first)  # it was open again
    shop.tell(shop.ask("ann", "A", "X", age=50))
    shop.agrees()


def test_who_goes_back_and_forth_keeps_all_columns(shop: Shop) -> None:
    rng, waiting = random.Random(3), list[str]()
    for _ in range(8):
        for _ in range(6):
            ids = rng.sample("ABCDEFGH", 2)
            waiting.append(shop.ask(rng.choice(["ann", "bob"]), *ids, os=rng.choice(["ios", "web", "tv"])))
            if rng.random() < 0.7:
                shop.tell(waiting.pop(rng.randrange(len(waiting))))
        if shop.kind == "shards":
            shop.engine.roll_back("shop", None, then=shop.clock.now - rng.randrange(20))
        else:
            shop.engine.roll_back("shop", rng.randrange(shop.engine.model("shop").version + 1))
    shop.agrees()


@pytest.mark.parametrize("kind", ["keyed", "shards", "better"])
def test_nobody_gets_the_columns_of_names_that_are_forgotten(store: str, kind: str, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path / "data", kind)
    shop.tell(shop.ask("bob", "A", os="ios"))
    shop.tell(shop.ask("ann", "A", "only ann", os="ios"))
    waiting = shop.ask("bob", "A", "only ann", os="ios")  # it has names that only she had sent so far
    shop.engine.forget("shop", "ann")
    names = [shop.ask("bob", "X", "Y", os="ios"), shop.ask("cy", "X", "Z", os="web")]
    for each in names:
        shop.tell(each)
    shop.tell(waiting)
    shop.agrees()


def test_the_names_of_who_is_forgotten_leave_with_what_was_rolled_back(tmp_path: Path) -> None:
    shop = Shop("sqlite", tmp_path / "data", "keyed")
    shop.tell(shop.ask("ann", "A", "only ann"))
    shop.tell(shop.ask("bob", "A", "B"))
    back(shop)
    assert "id=only ann" in shop.table("bob").names
    shop.engine.forget("shop", "ann")
    shop.engine.maintain()
    assert "id=only ann" not in shop.table("bob").names
    assert "id=B" in shop.table("bob").names
    shop.agrees()
    shop.engine.close()
    assert not [path for path in shop.folder.rglob("*") if path.is_file() and b"only ann" in path.read_bytes()]


@pytest.mark.parametrize("kind", MODELS)
def test_a_base_keeps_what_was_rolled_back_named(tmp_path: Path, kind: str) -> None:
    shop = Shop("sqlite", tmp_path / "data", kind)
    shop.tell(shop.ask("ann", "A", "B", os="ios"))
    shop.tell(shop.ask("ann", "A", "B", os="ios"))
    waiting = shop.ask("ann", "A", "B", os="ios")
    back(shop)
    shop.clock.now += 1000.0
    assert shop.engine.retain("shop", 10.0).folded
    shop.tell(shop.ask("ann", "X", "Y", os="web"))
    shop.tell(waiting)
    shop.agrees()


@pytest.mark.parametrize("kind", ["alone", "keyed"])
def test_the_names_of_another_model_leave_with_its_promotion(store: str, kind: str, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path / "data", kind)
    shop.tell(shop.ask("ann", "A", "B"))
    shop.tell(shop.ask("ann", "A", "C"))
    waiting = [shop.ask("ann", "A", "C"), shop.ask("ann", "A", "B")]
    shop.engine.roll_back("shop", 1)
    shop.engine.create("rival", model({"loop": "choose", "shadow_of": "shop", "learner": "LinUCB"}))
    shop.engine.promote("rival")
    meant, shop.meant = shop.meant, {}  # its table is another
    shop.tell(shop.ask("ann", "X", "Y"))
    shop.tell(shop.ask("ann", "V", "W"))
    shop.engine.roll_back("shop", 1)
    shop.meant = meant
    for id in (*waiting, shop.ask("ann", "A", "Z"), shop.ask("ann", "B", "C")):
        shop.tell(id)
    assert not {"id=X", "id=Y", "id=V", "id=W"} & set(shop.table(None if kind == "alone" else "ann").names)
    shop.agrees()


@pytest.mark.parametrize("kind", ["alone", "keyed"])
def test_a_copy_that_goes_back_keeps_the_names_that_it_began_with(store: str, kind: str, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path / "data", kind)
    shop.tell(shop.ask("ann", "A", "B", os="ios", age=3))
    shop.engine.copy("shop", CopyBody(to="copy"))
    shop.name = "copy"
    waiting = [shop.ask("ann", "A", "B", os="ios", age=4) for _ in range(2)]
    shop.tell(waiting[0])
    waiting.append(shop.ask("ann", "A", "B", os="ios", age=4))
    shop.engine.roll_back("copy", 0)
    shop.tell(shop.ask("ann", "X", "Y", os="ios"))
    shop.tell(waiting[1])
    shop.tell(waiting[2])
    shop.agrees()


@pytest.mark.parametrize("kind", ["alone", "keyed", "better"])
def test_the_log_alone_says_so(tmp_path: Path, kind: str) -> None:
    shop = Shop("sqlite", tmp_path / "data", kind)
    for _ in range(3):
        shop.tell(shop.ask("ann", "A", "B", os="ios"))
    waiting = shop.ask("ann", "A", "B", os="ios")
    back(shop)
    shop.tell(shop.ask("ann", "X", "Y", os="web", age=30))
    shop.tell(waiting)
    if kind != "alone":
        shop.tell(shop.ask("bob", "Z"))
        shop.engine.forget("shop", "ann")
    path = tmp_path / "log.ndjson"
    served = shop.engine.model("shop")
    path.write_bytes(b"\n".join(shop.engine.events.all_lines(served)) + b"\n")
    assert audit_file(NdjsonSource(path)).problems == []
    (rebuilt,) = rebuild_all(NdjsonSource(path)).values()
    table = rebuilt.group.table if rebuilt.group is not None else None
    key = None if kind == "alone" else "bob"
    assert (shop.table(key).names if table is None else table.names) == shop.table(key).names
    assert rebuilt.learner(key).to_bytes() == shop.states()[0, key]
    assert what_if(NdjsonSource(path), []).decisions == shop.engine.model("shop").decisions


def test_what_was_taken_back_before_names_were_kept_is_folded_as_it_was(tmp_path: Path) -> None:
    shop = Shop("memory", tmp_path, "alone")
    shop.tell(shop.ask("ann", "A", "B"))
    engine, body = shop.engine, codec.encode({"version": 0})
    engine.run(lambda: engine.store.append(engine.model("shop").shard, "rolled_back", 1.0, body, changes=True))
    shop.restart()
    assert shop.table(None).names == ["(constant)"]
    shop.meant = {}
    shop.tell(shop.ask("ann", "X"))
    shop.engine.roll_back("shop", 0)  # beyond it: what was lost stays lost
    assert shop.table(None).names == ["(constant)", "id=X"]
    shop.agrees()


def test_examples_that_are_rolled_back_keep_their_columns(store: str, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path / "data", "alone")
    shop.engine.create("mail", model({"loop": "label", "labels": ["spam", "work"]}))
    shop.name, before = "mail", list[list[str]]()
    for who, age in (("boss", {"age": 3}), ("shop", {}), ("aunt", {"size": 2})):
        given = {"examples": [{"features": {"from": who} | age, "answer": "work"}]}
        shop.engine.teach("mail", examples(given))
        before.append(shop.table(None).names)
    assert "age (missing)" in before[-1]
    shop.engine.roll_back("mail", 1)
    assert shop.table(None).names == before[-1]
    shop.agrees()
