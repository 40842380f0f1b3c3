"""Units of models without keys are forgotten: what is left is what others alone would have made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.bodies import feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.lifecycle import refold_without
from smidgen.service.errors import Conflict, Retained, Unknown
from smidgen.service.schemas import AmendBody, CopyBody
from smidgen.service.storage.sqlite import SQLiteStore

ITEMS = [{"id": id, "features": {"size": i, "kind": "new" if i else "old"}} for i, id in enumerate("abc")]
VECTORS = {"emb": [0.1, 0.2, -0.3]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "label": (
        {"loop": "label", "labels": ["x", "y"], "learner": "AROW", "feedback": "label"},
        {},
        lambda i: feedback_body(label="xy"[i % 3 == 0]),
    ),
    "choose": (
        {"loop": "choose", "holdout": {"share": 0.2, "policy": "first", "salt": "s"}, "budget": {"usd": 3.0}},
        {"candidates": ITEMS},
        lambda i: feedback_body(reward=(i % 7) / 7, costs={"usd": i % 5}),
    ),
    "reports": ({"loop": "choose", "rewards": "sum"}, {"candidates": ITEMS}, lambda i: feedback_body(reward=0.1 * i)),
    "rank": (
        {"loop": "rank", "learner": "PreferencePerceptron"},
        {"candidates": ITEMS},
        lambda i: feedback_body(better=["abc"[i % 3]]),
    ),
}
SECRET = "bob"


def opened(body: dict[str, Any], store: Any = None) -> tuple[Engine, Any, list[float]]:
    shelf, clock = CommittedTables(), [1000.0]
    engine = Engine(store if store is not None else MemoryStore(shelf), clock=lambda: clock[0])
    engine.create("m", model({"window_s": 1e6, **body}))
    return engine, shelf, clock


def record(i: int, *, secret: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"device": "ios" if i % 2 else "web", "n": i % 4, "city": f"c{i % 5}"}
    if secret:
        return found | {"pay": 1e4 + i, "street": "elm", "country": "se"}
    return found | ({"country": "se"} if i > 12 else {}) | (VECTORS if i % 6 == 5 else {})


def play(engine: Engine, case: str, rounds: range, *, secrets: bool) -> list[str]:
    """Play rounds; every third is the secret unit's, if there are such. The ids of its decisions."""
    body, asked, answer = CASES[case]
    found = []
    for i in rounds:
        secret = i % 3 == 0
        if secret and not secrets:
            continue
        unit = SECRET if secret else f"u{i % 5}"
        fields = record(i, secret=secret)
        given = {"features": fields} if body["loop"] == "label" else {**asked, "context": fields}
        chosen = {"chosen": "abc"[i % 3]} if body["loop"] == "choose" and case != "reports" and i % 4 == 1 else {}
        reply = engine.decide("m", request({**given, "unit": unit, **chosen}))
        found += [reply["decision"]] if secret else []
        if i % 5 != 4:
            engine.feedback(reply["decision"], answer(i))
    return found


def weights(engine: Engine) -> Any:
    return engine.learners.get(engine.models["m"], None).learner.weights_by_name()


def state(engine: Engine) -> bytes:
    return engine.learners.read_learner(engine.models["m"], None).to_bytes()


@pytest.mark.parametrize("case", CASES)
def test_the_log_that_is_left_makes_the_same_learner(case: str) -> None:
    engine, shelf, _ = opened(CASES[case][0])
    gone = play(engine, case, range(60), secrets=True)
    before, decisions = engine.models["m"].version, engine.models["m"].counts.decisions
    reply = engine.forget("m", SECRET)
    assert reply.forgotten >= len(gone)
    assert reply.model_version == engine.models["m"].version == before + 1
    assert engine.models["m"].counts.decisions == decisions - len(gone)
    for id in gone:
        with pytest.raises(Unknown):
            engine.story(id)
    again = Engine(MemoryStore(shelf), clock=lambda: 1000.0)
    assert state(again) == state(engine)
    assert not any("street" in name or "elm" in name or "pay" in name for name, _ in weights(engine))
    for text in (b"elm", b"street", SECRET.encode()):
        assert not any(text in (event.body or b"") for event in engine.store.events(1, 0, 10_000))
    play(engine, case, range(61, 80), secrets=False)
    play(again, case, range(61, 80), secrets=False)
    assert state(again) == state(engine)
    with pytest.raises(Unknown, match="no unit"):
        engine.forget("m", SECRET)


def test_weights_are_those_of_a_model_that_never_saw_the_unit() -> None:
    engine, _, _ = opened(CASES["label"][0])
    other, _, _ = opened(CASES["label"][0])
    play(engine, "label", range(60), secrets=True)
    play(other, "label", range(60), secrets=False)
    assert weights(engine) != weights(other)
    engine.forget("m", SECRET)
    found, wanted = dict(weights(engine)), dict(weights(other))
    assert found.keys() == wanted.keys()
    assert all((found[name] == wanted[name]).all() for name in wanted)
    for each in (engine, other):
        play(each, "label", range(60, 80), secrets=False)
    assert all((dict(weights(engine))[name] == value).all() for name, value in weights(other))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("undo", ["retract", "roll back", "amend"])
def test_what_was_undone_stays_undone(case: str, undo: str) -> None:
    engine, shelf, _ = opened(CASES[case][0])
    play(engine, case, range(20), secrets=True)
    mine = engine.decide("m", request(asked_by(case, "u1")))["decision"]
    if case == "reports":
        engine.feedback(mine, feedback_body(reward=0.5, final=True))
    else:
        engine.feedback(mine, CASES[case][2](1))
    if undo == "retract":
        engine.retract(mine)
    elif undo == "roll back":
        engine.roll_back("m", max(0, engine.models["m"].version - 4))
    else:
        engine.amend("m", msgspec.convert({"window_s": 2e6}, AmendBody))
    play(engine, case, range(20, 40), secrets=True)
    engine.forget("m", SECRET)
    assert state(Engine(MemoryStore(shelf), clock=lambda: 1000.0)) == state(engine)


def asked_by(case: str, unit: str) -> dict[str, Any]:
    body, asked, _ = CASES[case]
    fields = {"device": "ios", "n": 2}
    return {"unit": unit} | ({"features": fields} if body["loop"] == "label" else {**asked, "context": fields})


@pytest.mark.parametrize(("role", "share"), [("shadow_of", 0.0), ("challenger_of", 0.0), ("challenger_of", 1.0)])
def test_shadow_and_challenger_forget_too(role: str, share: float) -> None:
    engine, shelf, _ = opened(CASES["choose"][0])
    of = {"model": "m", "share": share} if role == "challenger_of" else "m"
    engine.create("other", model({"loop": "choose", "learner": "LinUCB", role: of}))
    gone = play(engine, "choose", range(60), secrets=True)
    with pytest.raises(Conflict, match="decides on the requests of"):
        engine.forget("other", SECRET)
    engine.forget("m", SECRET)
    assert gone
    again = Engine(MemoryStore(shelf), clock=lambda: 1000.0)
    for name in ("m", "other"):
        one, two = (each.learners.read_learner(each.models[name], None) for each in (engine, again))
        assert one.to_bytes() == two.to_bytes()
        assert not any("street" in name for name, _ in one.weights_by_name())
        shard = engine.models[name].shard
        assert not any(b"elm" in (event.body or b"") for event in engine.store.events(shard, 0, 10_000))


def test_what_cannot_be_forgotten_exactly_is_refused() -> None:
    engine, _, clock = opened(CASES["choose"][0] | {"window_s": 10.0})
    play(engine, "choose", range(12), secrets=True)
    engine.copy("m", msgspec.convert({"to": "n"}, CopyBody))
    for name in ("m", "n"):
        with pytest.raises(Retained, match="copy"):
            engine.forget(name, SECRET)
    engine, _, clock = opened(CASES["choose"][0] | {"window_s": 10.0})
    play(engine, "choose", range(12), secrets=True)
    clock[0] += 1000.0
    engine.retain("m", 100.0)
    with pytest.raises(Retained, match="checkpoint"):
        engine.forget("m", SECRET)


def test_the_background_folds_and_the_writer_ends_it(tmp_path: Path) -> None:
    engine, _, _ = opened(CASES["choose"][0], SQLiteStore(tmp_path))
    play(engine, "choose", range(30), secrets=True)
    ready = refold_without(engine.store, dict(engine.shards), engine.models["m"], SECRET)
    play(engine, "choose", range(30, 42), secrets=True)
    engine.forget("m", SECRET, ready=ready)
    engine.maintain()
    left = state(engine)
    engine.store.close()
    again = Engine(SQLiteStore(tmp_path), clock=lambda: 1000.0)
    assert state(again) == left
    again.store.close()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"street" not in file.read_bytes(), file
