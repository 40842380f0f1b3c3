"""Promotion: an event of the champion's log that replays, survives crashes and rollbacks, and can be forgotten."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.engine.test_champions import CHAMPIONS, World, answer, ask, twin
from service.engine.test_rollback import still
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.engine.rollback import refold
from smidgen.service.monitoring.compare import compare_arms
from smidgen.service.schemas import AmendBody, CopyBody

#: A champion, and the settings of the one that will stand in its place.
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "records": (CHAMPIONS["records"], {"learner": "ThompsonChoice"}),
    "silent": (CHAMPIONS["silent"], {"learner": "SquareCB"}),
    "keyed": (CHAMPIONS["keyed"], {"learner": "ThompsonChoice"}),
    "rows": (CHAMPIONS["rows"], {"learner": "SquareCB", "params": {"seed": 4}}),
    "labels": (CHAMPIONS["labels"], {"learner": "Confidit"}),
    "rank": (CHAMPIONS["rank"], {"learner": "SecondOrderPreferencePerceptron"}),
    "filter": (CHAMPIONS["filter"], {"learner": "PRidgeFil", "params": {"p": 0.3}}),
    "same": (CHAMPIONS["records"], {"params": {"width": 2.0}}),
}


def world_of(name: str, shelf: CommittedTables | Path, seed: int = 0) -> World:
    body, changes = PAIRS[name]
    other = twin(body, challenger_of={"model": "champion", "share": 0.4}) | changes
    return World(body, shelf, seed, challenger=other)


def weights(world: World, engine: Engine | None = None) -> dict[tuple[str, str | None], bytes]:
    """All states, without the numbers of decisions, which never go back."""
    return {place: still(Learner.from_bytes(content, "a state")) for place, content in world.states(engine).items()}


@pytest.mark.parametrize("name", PAIRS)
def test_a_promotion_replays_and_is_returned_from(name: str, tmp_path: Path) -> None:
    world = world_of(name, tmp_path / "data")
    world.play(40)
    champion = world.engine.models["champion"]
    before, old = weights(world), champion.blueprint.kind
    version = champion.version
    reply = world.engine.promote("challenger")
    assert (reply.champion, champion.version) == ("champion", reply.model_version)
    if not champion.keyed:
        assert reply.model_version == version + 1
    now = weights(world)
    assert all(now["champion", key] == before["challenger", key] for who, key in before if who == "champion")
    assert world.engine.describe("champion").learner == world.engine.describe("challenger").learner
    assert weights(world, reopened(world)) == now
    world.engine.close()  # with snapshots of the promoted state
    world.engine = world.open()
    champion = world.engine.models["champion"]
    assert weights(world) == now
    world.play(20)
    assert weights(world, reopened(world)) == weights(world)
    check(world, tmp_path)
    # the return: the version before the promotion
    ready = refold(world.engine.store.reader(), champion, ("rolled_back", version)) if name == "rows" else None
    last = champion.version
    assert world.engine.roll_back("champion", version, ready).model_version == last + 1
    back = {place: state for place, state in weights(world).items() if place[0] == "champion"}
    assert back == {place: state for place, state in before.items() if place[0] == "champion"}
    assert (champion.blueprint.kind, world.engine.describe("champion").learner) == (old, old)
    world.play(20)
    assert weights(world, reopened(world)) == weights(world)
    again = world.engine.promote("challenger")  # and forward once more
    assert again.model_version == champion.version
    world.play(5)
    assert weights(world, reopened(world)) == weights(world)
    check(world, tmp_path)
    assert world.engine.create("champion", model(PAIRS[name][0]))[0] is False  # the body of creation is the same


def reopened(world: World) -> Engine:
    """An engine on a copy of the folder, as after a crash."""
    assert isinstance(world.shelf, Path)
    copied = world.shelf.parent / "copy"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(world.shelf, copied)
    engine = Engine(copied, clock=world.clock)
    engine.store.close()
    return Engine(copied, clock=world.clock)


def check(world: World, tmp_path: Path) -> None:
    """The log is whole, in the folder and as a file, and leads to the same learners."""
    with Inspection(tmp_path / "data") as seen:
        for each in ("champion", "challenger"):
            served = seen.model(each)
            assert not audit_model(seen, served).problems
            file = tmp_path / f"{each}.ndjson"
            file.write_bytes(b"".join(line + b"\n" for line in seen.log.all_lines(served)))
            assert not audit_file(NdjsonSource(file)).problems
            brought = from_log(file.read_bytes())
            blueprint, learners = brought.blueprint, brought.learners
            assert blueprint.kind == world.engine.models[each].blueprint.kind
            live = weights(world)
            assert all(still(learners[key]) == live[each, key] for key in learners if (each, key) in live)


@pytest.mark.parametrize("name", PAIRS)
def test_what_was_open_at_the_promotion_stays_learnable(name: str) -> None:
    world = world_of(name, CommittedTables())
    world.play(20)
    body = PAIRS[name][0]
    open_ = [world.engine.decide("champion", request(ask(body, world.rng))) for _ in range(12)]
    world.engine.promote("challenger")
    champion = world.engine.models["champion"]
    learnt = 0
    for reply in open_:
        if (given := answer(body, reply, world.rng)) is None:
            continue
        before = champion.version
        heard = world.engine.feedback(reply["decision"], feedback_body(**given))
        assert heard.status == "learnt"
        assert world.engine.feedback(reply["decision"], feedback_body(**given)).status == "duplicate"
        own = reply["model"] == "champion"
        assert champion.version == before + 1 or (not own and name == "labels"), reply  # of a wrong label, nothing
        assert world.engine.story(reply["decision"]).shown == reply
        learnt += 1
    assert learnt >= 4
    world.clock.now += 31.0
    world.engine.sweep_all()  # of one that learns silence, what nobody answered
    assert weights(world, world.open()) == weights(world)
    # after the return, decisions of the old settings are its own again
    late = world.engine.decide("champion", request(ask(body, world.rng)))
    world.engine.roll_back("champion", 5)
    if (given := answer(body, late, world.rng)) is not None:
        assert world.engine.feedback(late["decision"], feedback_body(**given)).status == "learnt"
    assert weights(world, world.open()) == weights(world)


@pytest.mark.parametrize("keys", [{}, {"keyed": True}], ids=str)
def test_what_was_open_is_learnt_by_the_names_of_the_one_that_was_promoted(keys: dict[str, Any]) -> None:
    engine = Engine(MemoryStore(CommittedTables()), clock=lambda: 5.0)
    engine.create("champion", model({"loop": "choose", **keys}))
    whose = {"key": "ann"} if keys else {}

    def ask(*ids: str) -> str:
        body = {**whose, "context": {"device": "web"}, "candidates": [{"id": id} for id in ids]}
        return str(engine.decide("champion", request(body))["decision"])

    def learnt() -> dict[str, float]:
        champion = engine.models["champion"]
        learner = engine.learners.get(champion, whose.get("key")).learner
        table = engine.learners.table(champion, learner)
        assert table is not None
        return {name: float(learner.weights[column]) for column, name in table.named_columns()}

    engine.feedback(ask("a", "b"), feedback_body(reward=0.0))
    engine.create("shadow", model({"loop": "choose", "shadow_of": {"model": "champion"}}))  # the same settings
    engine.feedback(ask("x", "y"), feedback_body(reward=0.0))
    before = ask("a", "b")
    engine.promote("shadow")
    assert not any(learnt().values())
    engine.feedback(before, feedback_body(reward=1.0))
    assert max(("id=x", "id=y", "id=a", "id=b"), key=lambda name: learnt().get(name, 0.0)) in ("id=a", "id=b")


def test_settings_change_before_and_after() -> None:
    body = CHAMPIONS["labels"]
    world = World(
        body,
        CommittedTables(),
        challenger=twin(body, challenger_of={"model": "champion", "share": 0.5}) | {"learner": "Confidit"},
    )
    world.play(10)
    world.engine.amend("champion", AmendBody(add_labels=["new"]))
    world.play(10)
    version = world.engine.models["champion"].version
    world.engine.promote("challenger")
    world.engine.amend("champion", AmendBody(add_labels=["newer"], window_s=50))
    world.play(10)
    assert weights(world, world.open()) == weights(world)
    world.engine.roll_back("champion", version)
    described = world.engine.describe("champion")
    assert (described.learner, described.labels, described.window_s) == (
        "HingeConfidit",
        ["x", "y", "z", "new", "newer"],
        50,
    )
    world.play(10)
    assert weights(world, world.open()) == weights(world)


def test_a_key_is_forgotten_in_what_was_promoted(tmp_path: Path) -> None:
    world = world_of("keyed", tmp_path / "data")
    world.play(40)
    world.engine.promote("challenger")
    world.play(10)
    bob = {place: state for place, state in weights(world).items() if place[1] == "bob"}
    world.engine.forget("champion", "ann")
    for name, served in world.engine.models.items():
        fresh = served.blueprint.learner("ann")
        assert world.engine.learners.get(served, "ann").learner.to_bytes() == fresh.to_bytes(), name
    assert {place: state for place, state in weights(world).items() if place[1] == "bob"} == bob
    assert weights(world, reopened(world)) == weights(world)
    world.engine.close()
    assert b"ann" not in b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())


def test_what_lies_before_a_promotion_is_not_retracted() -> None:
    world = world_of("records", CommittedTables())
    first = world.play(10)[3]
    version = world.engine.models["champion"].version
    world.engine.promote("challenger")
    after = next(reply for reply in world.play(20) if reply["model"] == "champion")
    with pytest.raises(SmidgenError, match="before the promotion") as caught:
        world.engine.retract(first["decision"])
    assert caught.value.status == 409
    world.engine.retract(after["decision"])
    assert weights(world, world.open()) == weights(world)
    world.engine.roll_back("champion", version)
    world.engine.retract(first["decision"])
    assert weights(world, world.open()) == weights(world)


def test_what_cannot_be_promoted() -> None:
    world = world_of("rows", CommittedTables())
    with pytest.raises(SmidgenError, match="is neither a shadow nor a challenger") as caught:
        world.engine.promote("champion")
    assert caught.value.status == 422
    world.engine.copy("challenger", CopyBody(to="copy"))
    with pytest.raises(SmidgenError, match="is neither a shadow nor a challenger"):
        world.engine.promote("copy")
    world.engine.archive("challenger")
    with pytest.raises(SmidgenError, match="archived") as caught:
        world.engine.promote("challenger")
    assert caught.value.status == 409
    assert world.engine.models["champion"].version == 0


def test_a_failed_promotion_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of("rows", CommittedTables())
    world.play(10)
    before = weights(world)

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("smidgen.service.engine.lifecycle.crash_point", fail)
    with pytest.raises(ZeroDivisionError):
        world.engine.promote("challenger")
    champion = world.engine.models["champion"]
    assert (champion.past, champion.blueprint.kind) == ((), "LinUCB")
    assert weights(world) == before
    world.play(5)
    assert weights(world, world.open()) == weights(world)


def test_a_comparison_begins_again() -> None:
    world = world_of("rows", CommittedTables())
    world.play(50)
    reader = world.engine.store.reader()
    assert compare_arms(reader, world.engine.models["champion"], world.clock.now).difference.n == 50
    world.engine.promote("challenger")
    assert compare_arms(reader, world.engine.models["champion"], world.clock.now).difference.n == 0
    world.play(10)
    assert compare_arms(reader, world.engine.models["champion"], world.clock.now).difference.n == 10


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path / "data") as call:
        call.put("/v1/models/banner", {"loop": "choose", "learner": "LinUCB"})
        call.put("/v1/models/rival", {"loop": "choose", "learner": "ThompsonChoice", "challenger_of": "banner"})
        asked = {"candidates": [{"id": "a"}, {"id": "b"}]}
        open_ = call.post("/v1/models/banner/decisions", asked).json()
        reply = call.post("/v1/models/rival:promote", {})
        assert (reply.status_code, reply.json()) == (200, {"champion": "banner", "model_version": 1})
        shown = call.get("/v1/models/banner").json()
        assert (shown["learner"], shown["model_version"]) == ("ThompsonChoice", 1)
        heard = call.post(f"/v1/decisions/{open_['decision']}/feedback", {"reward": 1.0})
        assert (heard.status_code, heard.json()) == (200, {"status": "learnt", "model_version": 2})
        types = [
            line.split('"type":"')[1].split('"')[0] for line in call.get("/v1/models/banner/log").text.splitlines()
        ]
        assert types == ["created", "decision", "promoted", "feedback"]
        assert call.get("/v1/models/banner/health").status_code == 200
        back = call.post("/v1/models/banner:rollback", {"version": 0})
        assert (back.status_code, back.json()["model_version"]) == (200, 3)
        assert call.get("/v1/models/banner").json()["learner"] == "LinUCB"
        assert call.get(f"/v1/decisions/{open_['decision']}").json()["shown"] == open_
        assert call.post("/v1/models/banner:promote", {}).status_code == 422
        assert call.post("/v1/models/nobody:promote", {}).status_code == 404
    assert not fsck(tmp_path / "data").findings
