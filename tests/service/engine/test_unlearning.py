"""Forgetting where keys share names and starts: others are as in the same log without the person, bit for bit."""

from __future__ import annotations

import random
import sqlite3
import struct
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service import live
from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from service.engine.test_forgetting import clean
from service.engine.test_shared_state import MODELS, lessons
from service.forgetting_oracle import LeftOut, LogLine
from smidgen.errors import SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine import writer
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.forgetting import LogsWithoutKey
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log, refold_without
from smidgen.service.log import codec
from smidgen.service.log.events import Event
from smidgen.service.schemas import AmendBody, CopyBody, Holdout
from smidgen.service.storage import sqlite

SECRET, WORD, VALUE = "anna.k@nowhere.test", "zzprivate", 31_415.926_535
PEOPLE = (SECRET, "bob", "cy", "dee", "eve", "fay")
#: The same models with fewer columns than there are names.
CROWDED = {
    name: {**body, "features": {"auto": {**body.get("features", {}).get("auto", {}), "dim": 16}}}
    if isinstance(body.get("features", {}), dict) and name != "duel"
    else body
    for name, body in MODELS.items()
}


class World:
    """Some people use some models; one of them sends names, values and ids that nobody else does."""

    def __init__(self, folder: Path, seed: int, models: dict[str, dict[str, Any]] = MODELS) -> None:
        self.folder, self.rng, self.clock = folder, random.Random(seed), Clock()
        self.engine = self.open()
        self.names = names = list(models)
        for name, body in models.items():
            self.engine.create(name, model(body))
        self.engine.create("rival", model({"loop": "choose", "shadow_of": "songs", "shared_start": True}))
        self.engine.create("other", model({"loop": "label", "challenger_of": {"model": "mail", "share": 0.3}}))
        self.made: dict[str, list[tuple[str, str, dict[str, Any]]]] = {name: [] for name in names}
        self.marks: set[str] = {SECRET, WORD}
        self.ids: set[str] = set()

    def open(self) -> Engine:
        """The service, begun again."""
        settings: dict[str, Any] = {"snapshot_every": 40, "keyed_in_memory": 3}
        return Engine(self.folder, clock=self.clock, synchronous="OFF", **settings)

    def crash(self) -> None:
        """It ends without storing anything."""
        self.engine.store.close()
        self.engine = self.open()

    def record(self, key: str) -> dict[str, Any]:
        """A record of a user; some users send numbers that others do not."""
        rng = self.rng
        found: dict[str, Any] = {"os": rng.choice(["ios", "web"]), "age": rng.randint(18, 90)}
        if key == SECRET:
            found |= {f"pay {WORD}": VALUE + rng.random(), "town": f"{WORD} town", "rare": rng.random()}
        elif rng.random() < 0.15:
            found |= {"rare": rng.random()}
        if rng.random() < 0.3:
            del found["age"]
        return found

    def asked(self, name: str, key: str) -> dict[str, Any]:
        """A request."""
        rng, mine = self.rng, f" {WORD}" if key == SECRET else ""
        kind = name.partition("-")[0]
        ids = ["of all", f"loved by {key}{mine}", str(rng.randint(0, 5))]
        body: dict[str, Any] = {"key": key}
        if key == SECRET:
            body["id"] = f"{WORD} {rng.random()}"
        if kind in ("songs", "news"):
            features = [
                {"words": rng.randint(0, 900), "who": f"likes {key}", **({"len": 3} if mine else {})} for _ in ids
            ]
            offered = [{"id": id, "features": each} for id, each in zip(ids, features, strict=True)]
            return body | {"candidates": offered, "context": self.record(key)}
        if kind in ("plain", "duel"):
            rows = [[rng.random(), rng.random()] for _ in ids]
            return body | {"candidates": [{"id": i, "features": r} for i, r in zip(ids, rows, strict=True)]}
        title = f"a b{mine}" if rng.random() < 0.5 else "b c"
        return body | {"features": {"from": f"friend of {key}", "title": title, **self.record(key)}}

    def ask(self, name: str, key: str) -> None:
        """A decision, and mostly its answer."""
        body = self.asked(name, key)
        reply = self.engine.decide(name, request(body))
        if key == SECRET:
            self.ids.add(reply["decision"])
        self.clock.now += 1.0
        chance, y, loved = self.rng.random(), self.rng.random(), body.get("candidates", [{}, {}])[1].get("id")
        said: dict[str, Any] = {
            "songs": {"reward": y},
            "mail": {"correct": y < 0.5},
            "news": {"better": [loved]},
            "plain": {"better": loved},
            "duel": {"better": [loved]},
            "filter": {"relevant": y < 0.5},
        }[name.partition("-")[0]]
        if name.partition("-")[0] == "filter" and not reply["forward"]:
            return
        if chance < 0.75:
            self.engine.feedback(reply["decision"], feedback_body(**said))
        self.made.setdefault(name, []).append((key, reply["decision"], said))

    def step(self, *, undo: bool = True) -> None:
        """One random step."""
        rng, chance = self.rng, self.rng.random() * (1.0 if undo else 0.9)
        name, others = rng.choice(self.names), PEOPLE[1 : 3 + len(self.made[self.names[0]]) // 8]
        key = SECRET if rng.random() < 0.3 else rng.choice(others)
        try:
            if chance < 0.86:
                self.ask(name, key)
            elif chance < 0.9:
                _, decision, said = rng.choice(self.made[name])
                self.engine.feedback(decision, feedback_body(**said))
            elif chance < 0.92:
                self.engine.retract(rng.choice(self.made[name])[1])
            elif chance < 0.93:
                self.engine.roll_back(name, max(0, self.engine.models[name].version - rng.randint(0, 4)))
            elif chance < 0.94:
                self.crash()
            elif chance < 0.95 and name.startswith("mail"):
                given = [{"features": {**self.record(key)}, "answer": "work"} for _ in range(2)]
                self.engine.teach(name, lessons({"key": key, "examples": given}))
            elif chance < 0.96 and name == "songs":
                self.engine.amend(name, AmendBody(explore=rng.random() / 2))
            else:
                self.engine.sweep_all()
                self.engine.maintain()
        except (SmidgenError, IndexError):
            return  # nothing to take back, say

    def logs(self) -> dict[int, list[LogLine]]:
        """Contents of all logs."""
        return {
            shard: [msgspec.json.decode(line) for line in self.engine.events.all_lines(served)]
            for shard, served in self.engine.shards.items()
        }

    def found(self) -> list[str]:
        """Remaining traces of the user, with their places."""
        marks = [mark.encode() for mark in self.marks] + [id.encode() for id in self.ids]
        marks += [bytes.fromhex(id) for id in self.ids]
        kept = live.kept(self.folder)
        left = [f"{mark!r} in {name}" for name, content in kept.items() for mark in marks if mark in content]
        numbers = struct.pack("<d", VALUE)[4:]  # the upper half of all her values
        return left + [f"a value in {name}" for name, content in kept.items() if numbers in content]


def sound(folder: Path) -> None:
    """All logs are whole, and lead to everything that was stored; a folder is sound."""
    with Inspection(folder) as seen:
        assert [audit_model(seen, served).problems for served in seen.models()] == [[]] * len(seen.models())
    if (folder / "smidgen.db").exists():
        report = fsck(folder, deep=True)
        assert (report.findings, report.notes) == ([], [])


def equal(world: World, left: LeftOut, shards: set[int]) -> None:
    """Logs and their folds equal those that were expected to remain."""
    after = world.logs()
    for shard in shards:
        served, (fold, said) = world.engine.shards[shard], left.of(shard)
        kept = [line for line in after[shard] if line["type"] != "erased"]
        assert kept == [line for line in said if line["type"] != "erased"], f"the log of {served.name}"
        for key in {line["key"] for line in said} - {None}:
            expected = fold.now.learner(key).to_bytes()
            assert world.engine.learners.get(served, key).learner.to_bytes() == expected, (served.name, key)
        group = world.engine.learners.shared_state(served)
        if group is not None and fold.now.group is not None:
            extents = [line["places"] for line in after[shard] if line.get("places") and line["type"] == "erased"]
            fold.now.group.reserve(extents[-1] if extents else None)
            assert group.to_bytes() == fold.now.group.to_bytes(), f"what the keys of {served.name} share"


class Everybody(LogsWithoutKey):
    """Logs that are followed from their first event, though nobody is left out."""

    def first(self, shard: int) -> Event | None:
        return self.reading.events(shard)[0]._replace(type="imported")


@pytest.mark.parametrize(
    ("seed", "models"), [(0, MODELS), pytest.param(1, MODELS, marks=pytest.mark.long), (2, CROWDED)]
)
def test_a_log_that_is_followed_with_everybody_comes_out_as_it_is(tmp_path: Path, seed: int, models: Any) -> None:
    world = World(tmp_path / "data", seed, models)
    for _ in range(150):
        world.step()
    family(world)
    for _ in range(80):
        world.step()
    found = Everybody(world.engine.shards, "nobody").follow(world.engine.store, list(world.engine.shards.values()))
    assert [(world.engine.shards[shard].name, each.rewrites) for shard, each in found.items() if each.rewrites] == []
    assert all(each.position == world.engine.shards[shard].seq for shard, each in found.items())
    equal(world, LeftOut(world.logs(), None), set(world.engine.shards))
    without = LogsWithoutKey(world.engine.shards, "bob").follow(world.engine.store, list(world.engine.shards.values()))
    assert len([shard for shard, each in without.items() if each.rewrites]) > 4
    world.engine.close()


def family(world: World) -> None:
    """Copies, copies of copies, and models that stand next to others; one is promoted."""
    engine = world.engine
    for name in list(world.names):
        engine.copy(name, CopyBody(to=f"{name}-copy"))
        world.names.append(f"{name}-copy")
        world.made[f"{name}-copy"] = []
    engine.copy("mail-copy", CopyBody(to="mail-again"))
    engine.promote("rival")
    engine.promote("other")


# With copies: as a part of the others by day.
@pytest.mark.parametrize(
    "kind", ["alone", pytest.param("with copies", marks=pytest.mark.long), "promoted twice", "meanwhile", "crowded"]
)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_others_are_as_if_the_person_had_never_been(tmp_path: Path, kind: str, seed: int) -> None:
    world = World(tmp_path / "data", seed, CROWDED if kind == "crowded" else MODELS)
    long = seed > 0  # by night
    for _ in range((300 if kind == "alone" else 200) if long else 120):
        world.step()
    if kind != "alone":
        family(world)
    for _ in range(0 if kind == "alone" else 150 if long else 90):
        world.step()
    if kind == "promoted twice":
        world.engine.promote("rival")
        for _ in range(60):
            world.step()
    ready: dict[str, LogsWithoutKey] = {}
    if kind == "meanwhile":
        reading, shards = world.engine.store.reader(), world.engine.shards
        for name in MODELS:
            ready[name] = refold_without(reading, shards, world.engine.models[name], SECRET)
        for _ in range(60):
            world.step(undo=False)
    before = world.logs()
    assert world.found()
    for name in MODELS:
        assert name not in ready or ready[name].is_fresh()
        world.engine.forget(name, SECRET, ready=ready.get(name))
    left = LeftOut(before, SECRET)
    equal(world, left, set(world.engine.shards))
    clean(world.engine)
    assert world.found() == []
    world.crash()
    equal(world, left, set(world.engine.shards))
    world.engine.close()
    assert world.found() == []
    sound(world.folder)


@pytest.mark.parametrize("name", ["songs", "news", "plain"])
def test_what_was_brought_as_a_log_keeps_no_name_of_the_person(tmp_path: Path, name: str) -> None:
    world = World(tmp_path / "data", 5, {each: MODELS[each] for each in dict.fromkeys(("songs", "mail", name))})
    for _ in range(120):
        world.step(undo=False)
    lines = b"\n".join(world.engine.events.all_lines(world.engine.models[name]))
    other = Engine(tmp_path / "other", clock=world.clock, synchronous="OFF")
    other.import_model("brought", from_log(lines), "a log")
    served = other.models["brought"]
    weights = other.learners.get(served, "bob").learner.weights.copy()
    other.forget("brought", SECRET)
    assert other.learners.get(served, "bob").learner.weights.tolist() == weights.tolist(), (
        "what others began with stays"
    )
    group = other.learners.shared_state(served)
    assert group is not None
    if group.table is not None:
        assert [known for known in group.table.names if "bob" in known]
    clean(other)
    other.close()
    world.folder = tmp_path / "other"
    assert world.found() == []
    sound(tmp_path / "other")
    world.engine.close()


def test_a_key_that_has_learnt_nothing_hides_no_name_in_what_was_brought(tmp_path: Path) -> None:
    world = World(tmp_path / "data", 5, {"songs": MODELS["songs"], "mail": MODELS["mail"]})
    for _ in range(60):
        world.step(undo=False)
    world.engine.decide("songs", request(world.asked("songs", "late")))
    lines = b"\n".join(world.engine.events.all_lines(world.engine.models["songs"]))
    world.engine.close()
    world.folder = tmp_path / "other"
    other = Engine(world.folder, clock=world.clock, synchronous="OFF")
    other.import_model("brought", from_log(lines), "a log")
    other.forget("brought", SECRET)
    clean(other)
    other.close()
    assert world.found() == []


def test_others_in_the_holdout_keep_no_name_of_the_person(tmp_path: Path) -> None:
    world = World(tmp_path / "data", 6, {"songs": MODELS["songs"], "mail": MODELS["mail"]})
    for _ in range(20):
        world.ask("songs", SECRET)
        world.ask("songs", "bob")
    world.engine.amend("songs", AmendBody(holdout=Holdout(share=1.0, policy="first", salt="s")))
    for key in ("bob", "cy", SECRET):
        world.ask("songs", key)
    world.engine.amend("songs", AmendBody(holdout=None))
    world.ask("songs", "cy")
    shard, before = world.engine.models["songs"].shard, world.logs()
    held = [f"{line}" for line in before[shard] if line["type"] == "held_out"]
    assert (len(held), WORD in held[1]) == (3, True), "new names of features that say that a number is absent"
    left = LeftOut(before, SECRET)
    world.engine.forget("songs", SECRET)
    equal(world, left, {shard})
    clean(world.engine)
    world.engine.close()
    assert world.found() == []
    sound(world.folder)


def test_copies_of_before_events_said_where_they_are_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = codec.encode

    def silent(body: Any) -> bytes:
        return write({name: each for name, each in body.items() if name != "of"} if isinstance(body, dict) else body)

    monkeypatch.setattr(codec, "encode", silent)
    world = World(tmp_path / "data", 6)
    for _ in range(150):
        world.step()
    family(world)
    for _ in range(60):
        world.step()
    monkeypatch.undo()
    before, lineage = world.logs(), world.engine.store.lineage()
    assert not [line for lines in before.values() for line in lines if "of" in line]
    for name in MODELS:
        world.engine.forget(name, SECRET)
    left = LeftOut(before, SECRET, {row.shard: (row.source, row.seq) for row in lineage})
    equal(world, left, set(world.engine.shards))
    clean(world.engine)
    assert world.found() == []
    world.engine.close()


def test_a_copy_forgets_by_itself(tmp_path: Path) -> None:
    world = World(tmp_path / "data", 7)
    for _ in range(150):
        world.step()
    family(world)
    for _ in range(80):
        world.step()
    before, names = world.logs(), [*(f"{name}-copy" for name in MODELS), "mail-again"]
    for name in names[:-1]:
        world.engine.forget(name, SECRET)
    left, nobody = LeftOut(before, SECRET), LeftOut(before, None)
    forgot = {world.engine.models[name].shard for name in names}
    equal(world, left, forgot)
    equal(world, nobody, set(world.engine.shards) - forgot)
    world.engine.close()


def test_a_rewritten_event_that_is_changed_is_found(tmp_path: Path) -> None:
    world = World(tmp_path / "data", 8)
    for _ in range(150):
        world.step()
    world.engine.forget("songs", SECRET)
    world.engine.forget("songs", "bob")
    world.engine.close()
    assert fsck(world.folder, deep=True).findings == []
    database = sqlite3.connect(world.folder / "smidgen.db")
    ((rowid, body),) = database.execute("SELECT rowid, body FROM events WHERE length(salt) = 32 ORDER BY seq LIMIT 1")
    with database:
        database.execute("UPDATE events SET body = ? WHERE rowid = ?", (body + b"\xc0", rowid))
    database.close()
    problems = [finding.problem for finding in fsck(world.folder).findings]
    assert [problem for problem in problems if "was rewritten, and the log does not tell of what it says" in problem]


def test_who_is_forgotten_where_a_source_has_a_base(tmp_path: Path) -> None:
    world = World(tmp_path / "data", 9)
    for _ in range(60):
        world.step(undo=False)
    world.engine.copy("songs", CopyBody(to="songs-copy"))
    world.clock.now += 1000.0
    assert world.engine.retain("songs", 1.0).folded
    before = world.logs()
    for name in ("songs", "songs-copy"):
        with pytest.raises(SmidgenError) as caught:
            world.engine.forget(name, SECRET)
        assert type(caught.value).__name__ == "Retained"
    assert world.logs() == before
    world.engine.close()


def test_a_large_file_is_written_again_when_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "SMALL", 0)
    monkeypatch.setattr(writer, "QUIET_S", 0.2)
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", MODELS["mail"])
        for key in (SECRET, "bob"):
            for i in range(30):
                body = {"key": key, "features": {f"pay {WORD}" if key == SECRET else "age": i}}
                made = ask.post("/v1/models/mail/decisions", body).json()
                ask.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": i % 2 == 0})
        gone = ask("DELETE", f"/v1/models/mail/keys/{SECRET}").json()
        assert gone["fragments"] is True
        ends = time.monotonic() + 30
        while sqlite3.connect(tmp_path / "smidgen.db").execute("PRAGMA user_version").fetchone() != (0,):
            assert time.monotonic() < ends
            time.sleep(0.05)
        assert not [name for name, content in live.kept(tmp_path).items() if WORD.encode() in content]
