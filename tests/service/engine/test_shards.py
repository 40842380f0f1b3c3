"""Models with several shards: one model to apps, several logs to those who count events."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.bodies import Clock, feedback_body, model, request
from service.engine.test_teach import examples
from service.memory import CommittedTables, MemoryStore
from smidgen.learners import Learner
from smidgen.service.admin.backup import backup, restore
from smidgen.service.admin.copy_store import copy
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.model import name_and_part, row_names, shard_of
from smidgen.service.errors import Conflict, Impossible, Retained, Unknown
from smidgen.service.schemas import AmendBody, CopyBody
from smidgen.service.storage.address import Database

#: One of each loop; their keys share nothing, neither names of records nor, made so, what newcomers begin with.
ALONE: dict[str, dict[str, Any]] = {
    "news": {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}},
    "songs": {"loop": "choose", "features": ["x", "y"], "default_reward": 0.25, "window_s": 50},
    "mail": {"loop": "label", "labels": ["spam", "work"], "features": ["x", "y"], "learner": "Banditron"},
    "words": {"loop": "filter", "features": {"hashed": 16}, "learner": "RidgeFil"},
    "knobs": {"loop": "tune", "params": {"space": {"type": "Box", "low": [0, 0], "high": [1, 1]}}},
    "letters": {"loop": "draft"},
}
#: Those whose keys share names of records, what numbers look like, and what newcomers begin with.
TOGETHER: dict[str, dict[str, Any]] = {
    "films": {"loop": "choose", "default_reward": 0.25, "window_s": 50},
    "post": {"loop": "label", "labels": ["spam", "work"]},
    "texts": {"loop": "draft"},
}
MODELS = ALONE | TOGETHER
KEYS = [f"user{i}" for i in range(12)]
SHARING = {"loop": "choose", "keyed": True, "shards": 4, "default_reward": 0.0, "window_s": 600}


def body(name: str, key: str, rng: random.Random) -> dict[str, Any]:
    """A request of one of these models."""
    x, y = rng.random(), rng.random()
    found: dict[str, Any] = {
        "choose": {"candidates": [{"id": "a", "features": {"x": x}}, {"id": "b", "features": {"x": y, "y": x}}]},
        "rank": {"candidates": [{"id": "a", "features": [x, y]}, {"id": "b", "features": [y, x]}]},
        "label": {"features": {"x": x, "y": y}},
        "filter": {"features": {f"w{int(6 * x)}": 1.0, "bias": 1.0}},
        "draft": {"drafts": [{"id": id, "text": "Dear all, " * int(3 * x) + id} for id in "ab"]},
        "tune": {},
    }[MODELS[name]["loop"]]
    if name == "films":
        found["context"] = {"hour": str(int(24 * x)), "age": y}
    return found | {"key": key}


def reaction(name: str, rng: random.Random) -> dict[str, Any]:
    """A possible feedback."""
    z = rng.random()
    return {
        "rank": {"better": ["b"] if z < 0.5 else ["a"]},
        "choose": {"reward": z},
        "label": {"correct": z < 0.5},
        "filter": {"relevant": z < 0.5},
        "tune": {"loss": z},
        "draft": {"edited": "Dear all, so be it." if z < 0.5 else "No."},
    }[MODELS[name]["loop"]]


class Stream:
    """Traffic on models, equal for each key whatever the shards; or only that of one shard of four."""

    def __init__(self, engine: Engine, clock: Clock, shards: int, names: list[str], only: int | None = None) -> None:
        self.engine, self.clock, self.names, self.only = engine, clock, names, only
        for name in names:
            made: dict[str, Any] = {**MODELS[name], "keyed": True, "shards": shards}
            if name in ALONE and made["loop"] != "filter":
                made["shared_start"] = False
            if name in ("songs", "mail", "knobs", "films", "post"):
                made["params"] = {**made.get("params", {}), "seed": 5}
            engine.create(name, model(made))
        self.seen: list[tuple[str, Any]] = []

    def play(self, rounds: int, seed: int) -> None:
        rng = random.Random(seed)
        for i in range(rounds):
            name, key = rng.choice(self.names), rng.choice(KEYS)
            asked, answer, answers = body(name, key, rng), reaction(name, rng), rng.random() < 0.7
            self.clock.now += 1.0
            if self.only in (None, shard_of(key, 4)):
                reply = self.engine.decide(name, request(asked | {"id": f"{seed}.{i}"}))
                self.seen.append((key, plain(reply)))
                if answers:
                    try:
                        self.engine.feedback(reply["decision"], feedback_body(**answer))
                    except Impossible as error:  # what was dropped has no relevance
                        self.seen.append((key, error.problem))
            if i % 10 == 9:
                sweep(self.engine)

    def learners(self) -> dict[tuple[str, str], bytes]:
        parts = {(name, key): self.engine.models[name].shard_for(key) for name in self.names for key in KEYS}
        learners = self.engine.learners
        return {at: learners.get(self.engine.acquire(part), at[1]).learner.to_bytes() for at, part in parts.items()}


def sweep(engine: Engine) -> int:
    """Learn silence, as the owner of all shards."""
    if engine.leases is not None:
        engine.leases.renew()
    return engine.sweep_all()


def plain(reply: dict[str, Any]) -> dict[str, Any]:
    """The part of a reply that depends neither on the shards nor on chance."""
    return {name: value for name, value in reply.items() if name not in ("decision", "model_version", "shard")}


@pytest.fixture(params=["sqlite", "memory", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Clock], Engine]]:
    """Opens an engine over one store, again and again."""
    made: list[Engine] = []
    shelf, url = CommittedTables(), request.getfixturevalue("postgres") if request.param == "postgresql" else ""

    def open_(clock: Clock) -> Engine:
        place = {"sqlite": tmp_path, "postgresql": Database(url)}.get(request.param)
        made.append(Engine(MemoryStore(shelf) if place is None else place, clock=clock, synchronous="OFF"))
        return made[-1]

    yield open_
    for engine in made:
        engine.store.close()


class TestWhere:
    def test_a_key_has_its_shard_for_ever(self) -> None:
        """Frozen: logs are spread by it, and other languages compute it too."""
        assert [shard_of(key, 4) for key in ("ann", "bob", "eve", "", "é", "日本", "user-1")] == [2, 2, 3, 0, 3, 3, 2]
        assert [shard_of(key, 64) for key in ("ann", "bob", "eve", "é", "日本")] == [46, 26, 59, 19, 11]
        assert {shard_of(key, 1) for key in KEYS} == {0}

    def test_keys_spread(self) -> None:
        counts = [0] * 8
        for i in range(8000):
            counts[shard_of(f"user{i}", 8)] += 1
        assert 880 < min(counts) <= max(counts) < 1120

    def test_no_app_can_name_a_part(self) -> None:
        assert [name_and_part(row) for row in row_names("a.b-c_d", 3)] == [("a.b-c_d", i) for i in range(3)]


@pytest.mark.parametrize("shards", [3, 4])
def test_every_key_is_decided_for_as_with_one_shard(opened: Callable[[Clock], Engine], shards: int) -> None:
    """Bit for bit, for one of each loop; also by an engine that was killed meanwhile."""
    names, clocks = list(ALONE), (Clock(), Clock())
    one = Stream(Engine(MemoryStore(CommittedTables()), clock=clocks[0]), clocks[0], 1, names)
    many = Stream(opened(clocks[1]), clocks[1], shards, names)
    for seed in (1, 2):
        for each in (one, many):
            each.play(120, seed)
        if many.engine.leases is not None:
            many.engine.leases.stop()
        many.engine.store.close()  # as a kill leaves it
        many.engine = opened(clocks[1])
    assert many.seen == one.seen
    assert many.learners() == one.learners()
    for name in names:
        whole, alone = many.engine.describe(name), one.engine.describe(name)
        for figure in ("model_version", "decisions", "answered", "late", "keys"):
            assert getattr(whole, figure) == getattr(alone, figure), (name, figure)
        assert (whole.quality.of, whole.quality.silent) == (alone.quality.of, alone.quality.silent)
        assert whole.quality.value == pytest.approx(alone.quality.value)
        assert whole.shards == shards
        assert sum(whole.shard_versions or []) == whole.model_version
        for part in many.engine.models[name].parts:
            assert {shard_of(event.key, shards) for event in many.engine.events.all_events(part) if event.key} <= {
                part.part
            }
            seqs = [event.seq for event in many.engine.events.all_events(part)]
            assert seqs == list(range(1, len(seqs) + 1))


def test_what_keys_share_they_share_within_their_shard(opened: Callable[[Clock], Engine]) -> None:
    """Each shard is, bit for bit, a model of its own keys."""
    names, clock = list(TOGETHER), Clock()
    many = Stream(opened(clock), clock, 4, names)
    many.play(240, 4)
    learners = many.learners()
    for shard in range(4):
        clock = Clock()
        one = Stream(Engine(MemoryStore(CommittedTables()), clock=clock), clock, 1, names, only=shard)
        one.play(240, 4)
        mine = [key for key in KEYS if shard_of(key, 4) == shard]
        assert [seen for seen in many.seen if seen[0] in mine] == one.seen
        assert {at: found for at, found in learners.items() if at[1] in mine} == {
            at: found for at, found in one.learners().items() if at[1] in mine
        }


def choose(key: str, id: str | None = None) -> Any:
    return request({"key": key, "candidates": [{"id": "a"}, {"id": "b"}], **({"id": id} if id else {})})


#: Keys of four shards, by shard.
OF = {shard: next(f"k{i}" for i in range(100) if shard_of(f"k{i}", 4) == shard) for shard in range(4)}


class TestLife:
    """The effect of each call on a model with four shards, over every store."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def engine(self, opened: Callable[[Clock], Engine], clock: Clock) -> Engine:
        engine = opened(clock)
        assert engine.create("shop", model(SHARING))[0]
        return engine

    def learn(self, engine: Engine, key: str, reward: float = 1.0) -> Any:
        return engine.feedback(engine.decide("shop", choose(key))["decision"], feedback_body(reward=reward))

    def test_made_once(self, engine: Engine) -> None:
        assert not engine.create("shop", model(SHARING))[0]
        for other in ({**SHARING, "shards": 2}, {name: value for name, value in SHARING.items() if name != "shards"}):
            with pytest.raises(Conflict):
                engine.create("shop", model(other))
        with pytest.raises(Impossible, match="not keyed"):
            engine.create("lonely", model({"loop": "choose", "shards": 2}))
        assert list(engine.models) == ["shop"]
        assert len(engine.shards) == 4

    def test_a_refused_creation_leaves_nothing(self, engine: Engine) -> None:
        engine.begin()
        with pytest.raises(RuntimeError):
            engine.run_in_savepoint(lambda: (engine.create("other", model(SHARING)), fail()))
        engine.commit()
        assert list(engine.models) == ["shop"]
        assert len(engine.shards) == 4
        assert engine.create("other", model(SHARING))[0]

    def test_replies_say_whose_version(self, engine: Engine) -> None:
        for shard, key in OF.items():
            assert engine.decide("shop", choose(key))["shard"] == shard
            reply = self.learn(engine, key)
            assert (reply.shard, reply.model_version) == (shard, 1)
            assert engine.story(engine.decide("shop", choose(key))["decision"]).shown["shard"] == shard
        assert engine.describe("shop").model_version == 4
        assert engine.describe("shop").shard_versions == [1, 1, 1, 1]

    def test_an_id_is_one_of_the_model(self, engine: Engine) -> None:
        first = engine.decide("shop", choose(OF[1], "x"))
        assert engine.decide("shop", choose(OF[1], "x")) == first
        for shard in (0, 2, 3):
            with pytest.raises(Conflict, match="another request"):
                engine.decide("shop", choose(OF[shard], "x"))
        with pytest.raises(Conflict, match="decision 1"):
            engine.decide_all("shop", [choose(OF[2], "y"), choose(OF[3], "y")])
        assert engine.describe("shop").decisions == 1

    def test_a_batch_over_shards_is_all_or_none(self, engine: Engine) -> None:
        keys = [OF[shard] for shard in (3, 0, 2, 3, 1)]
        replies = engine.decide_all("shop", [choose(key, f"b{i}") for i, key in enumerate(keys)])
        assert [reply["shard"] for reply in replies] == [3, 0, 2, 3, 1]
        with pytest.raises(Impossible, match="decision 2"):
            engine.decide_all("shop", [choose(OF[0]), choose(OF[1]), request({"candidates": [{"id": "a"}]})])
        assert engine.describe("shop").decisions == 5

    def test_examples_go_to_the_shard_of_their_key(self, engine: Engine) -> None:
        lesson = {"candidates": [{"id": "a"}, {"id": "b"}], "answer": {"choice": "a", "reward": 1.0}}
        for shard, key in OF.items():
            taught = engine.teach("shop", lessons(lesson, key, f"t{shard}"))
            assert (taught.shard, taught.model_version) == (shard, 1)
        assert engine.teach("shop", lessons(lesson, OF[0], "t0")).model_version == 1
        with pytest.raises(Conflict, match="other examples"):
            engine.teach("shop", lessons(lesson, OF[3], "t0"))

    def test_settings_change_in_all_shards(self, engine: Engine) -> None:
        engine.amend("shop", AmendBody(window_s=77.0))
        assert {part.blueprint.terms.window_s for part in engine.models["shop"].parts} == {77.0}
        assert engine.describe("shop").model_version == 0
        assert not engine.create("shop", model(SHARING))[0]

    def test_archived_renamed_revived(self, engine: Engine, opened: Callable[[Clock], Engine], clock: Clock) -> None:
        self.learn(engine, OF[2])
        engine.archive("shop")
        with pytest.raises(Conflict, match="archived"):
            engine.decide("shop", choose(OF[3]))
        engine.rename("shop", "store")
        assert engine.create("shop", model(SHARING))[0]
        engine.revive("store")
        assert engine.decide("store", choose(OF[2]))["model"] == "store"
        engine.close()
        again = opened(clock)
        assert {name: [part.part for part in found.parts] for name, found in again.models.items()} == {
            "store": [0, 1, 2, 3],
            "shop": [0, 1, 2, 3],
        }
        assert again.describe("store").shard_versions == [0, 0, 1, 0]

    def test_back_to_a_moment(self, engine: Engine, clock: Clock) -> None:
        for shard in (0, 1, 1, 2):
            self.learn(engine, OF[shard])
            clock.now += 10.0
        weights = {key: bytes_of(engine, key) for key in OF.values()}
        then = clock.now
        clock.now += 10.0
        for shard in (0, 2, 3, 3):
            self.learn(engine, OF[shard], 0.0)
        with pytest.raises(Impossible, match="4 shards"):
            engine.roll_back("shop", 1)
        with pytest.raises(Impossible, match="either version or time"):
            engine.roll_back("shop")
        with pytest.raises(Impossible, match="in the future"):
            engine.roll_back("shop", then=clock.now + 1.0)
        with pytest.raises(Impossible, match="is not known"):
            engine.roll_back("shop", then=999_999.0)
        assert engine.describe("shop").shard_versions == [2, 2, 2, 2]
        reply = engine.roll_back("shop", then=then)
        assert [shard.to for shard in reply.shards or []] == [1, 2, 1, 0]
        assert [shard.model_version for shard in reply.shards or []] == [3, 3, 3, 3]
        assert reply.model_version == 12
        assert {key: bytes_of(engine, key) for key in OF.values()} == weights

    def test_one_shard_goes_back_to_a_moment_too(self, engine: Engine, clock: Clock) -> None:
        engine.create("one", model({"loop": "choose"}))
        ask = {"candidates": [{"id": "a"}, {"id": "b"}]}
        for _ in range(3):
            engine.feedback(engine.decide("one", request(ask))["decision"], feedback_body(reward=1.0))
            clock.now += 10.0
        assert engine.roll_back("one", then=clock.now - 15.0).to == 2
        assert engine.roll_back("one", 1).model_version == 5
        assert engine.roll_back("one", then=clock.now).to == 5

    def test_a_copy_has_its_shards_and_forgets_with_it(self, engine: Engine) -> None:
        for key in OF.values():
            self.learn(engine, key)
        assert engine.copy("shop", CopyBody(to="twin")).shards == 4
        for key in OF.values():
            assert bytes_of(engine, key, "twin") == bytes_of(engine, key)
        gone = engine.forget("shop", OF[3])
        assert gone.shard == 3
        assert gone.copies == {"twin": 1}
        with pytest.raises(Unknown):
            engine.forget("shop", OF[3])
        assert engine.describe("shop").keys == 3
        assert bytes_of(engine, OF[2], "twin") == bytes_of(engine, OF[2])

    def test_a_follower_has_the_same_number_of_shards(self, engine: Engine) -> None:
        rival = {"loop": "choose", "keyed": True, "challenger_of": {"model": "shop", "share": 0.5}}
        assert engine.create("rival", model(rival))[1].shards == 4
        assert not engine.create("rival", model(rival))[0]
        with pytest.raises(Impossible, match="shards is 2"):
            engine.create("odd", model({"loop": "choose", "keyed": True, "shards": 2, "shadow_of": "shop"}))
        for _ in range(8):
            for key in OF.values():
                self.learn(engine, key)
        pairs = [(part.leader, part.part) for part in engine.models["rival"].parts]
        assert pairs == [(part, part.part) for part in engine.models["shop"].parts]
        before = engine.describe("shop").model_version
        assert engine.promote("rival").model_version == engine.describe("shop").model_version > before
        assert {part.blueprint.kind for part in engine.models["shop"].parts} == {engine.models["rival"].blueprint.kind}

    def test_old_events_are_folded(self, engine: Engine, opened: Callable[[Clock], Engine], clock: Clock) -> None:
        for key in OF.values():
            self.learn(engine, key)
        weights = {key: bytes_of(engine, key) for key in OF.values()}
        clock.now += 1000.0
        sweep(engine)
        done = engine.retain("shop", 500.0)
        assert len(done.shards or []) == 4
        assert done.folded == sum(shard.folded for shard in done.shards or []) >= 12
        assert engine.describe("shop").base is not None
        engine.close()
        again = opened(clock)
        assert {key: bytes_of(again, key) for key in OF.values()} == weights
        with pytest.raises((Impossible, Retained)):
            again.roll_back("shop", then=clock.now - 900.0)

    def test_silence_is_learnt_in_every_shard(self, engine: Engine, clock: Clock) -> None:
        for key in OF.values():
            engine.decide("shop", choose(key))
        clock.now += 601.0
        assert sweep(engine) == 4
        assert engine.describe("shop").shard_versions == [1, 1, 1, 1]


def lessons(lesson: dict[str, Any], key: str, id: str) -> Any:
    return examples({"examples": [lesson], "key": key, "id": id})


def fail() -> None:
    raise RuntimeError


def bytes_of(engine: Engine, key: str, name: str = "shop") -> bytes:
    """The learner of a key, without the numbers of its decisions."""
    part = engine.models[name].shard_for(key)
    learner = engine.run(lambda: engine.learners.get(engine.acquire(part), key).learner)
    twin = Learner.from_bytes(learner.to_bytes(), "a copy")
    twin.reserve(10**6)
    return twin.to_bytes()


def test_the_log_is_sound(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(tmp_path, clock=clock, synchronous="OFF")
    stream = Stream(engine, clock, 4, ["news", "songs", "words"])
    stream.play(150, 3)
    engine.close()
    with Inspection(tmp_path) as seen:
        assert [found.name for found in seen.models()] == ["news", "songs", "words"]
        for found in seen.models():
            for part in found.parts:
                audit = audit_model(seen, part)
                assert audit.problems == []


def test_it_moves_as_a_whole(tmp_path: Path, postgres: str) -> None:
    """Into another store and back, and through a backup: the same models, the same learners, sound."""
    clock, names = Clock(), ["news", "films"]
    engine = Engine(tmp_path / "data", clock=clock, synchronous="OFF")
    stream = Stream(engine, clock, 4, names)
    stream.play(150, 6)
    learners = stream.learners()
    engine.close()
    copy(tmp_path / "data", Database(postgres))
    copy(Database(postgres), tmp_path / "back")
    backup(tmp_path / "kept", tmp_path / "back")
    restore(tmp_path / "kept", tmp_path / "restored")
    for place in (Database(postgres), tmp_path / "restored"):
        if isinstance(place, Path):
            assert fsck(place, deep=True).sound
        stream.engine = Engine(place, clock=clock)
        assert list(stream.engine.models) == names
        assert stream.learners() == learners
        assert stream.engine.decide("news", request(body("news", KEYS[0], random.Random(1))))["model"] == "news"
        stream.engine.store.close()
