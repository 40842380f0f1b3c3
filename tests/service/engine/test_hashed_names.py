"""Hashed features read back: names are recorded once in the log, kept within a limit, and shown with the right sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from smidgen.service.engine import model as hashed_names
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.model import HashedNames
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.monitoring.weights import by_name
from smidgen.service.schemas import CopyBody

COUNTRIES = ("se", "no", "de", "fi", "dk", "pl", "fr", "es")
BODY: dict[str, Any] = {"loop": "filter", "learner": "RidgeFull", "features": {"hashed": 256}, "keyed": False}


def play(engine: Engine, rounds: int = 40, key: str | None = None, mine: str = "") -> None:
    """Mail from se and no is relevant, other mail is not."""
    for i in range(rounds):
        country = COUNTRIES[i % len(COUNTRIES)]
        asked: dict[str, Any] = {"features": {f"country={country}{mine}": 1.0}, "key": key}
        reply = engine.decide("mail", request({name: value for name, value in asked.items() if value is not None}))
        engine.feedback(reply["decision"], feedback_body(relevant=country in ("se", "no")))


def read(engine: Engine, name: str = "mail", key: str | None = None) -> dict[str, float]:
    return {each.name: each.weight for each in by_name(engine, engine.models[name], key, 100).weights}


def test_weights_have_names_and_the_right_sign(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF", clock=Clock())
    engine.create("mail", model(BODY))
    play(engine)
    weights = read(engine)
    assert weights.keys() == {f"country={country}" for country in COUNTRIES}
    assert {name for name, weight in weights.items() if weight > 0} == {"country=se", "country=no"}
    engine.close()
    again = Engine(tmp_path, synchronous="OFF", clock=Clock())
    assert read(again) == weights
    again.copy("mail", CopyBody(to="copy"))
    assert read(again, "copy") == weights
    again.import_model("log", from_log(b"\n".join(again.events.all_lines(again.models["mail"]))), "a log")
    assert read(again, "log") == weights
    again.close()
    with Inspection(tmp_path) as seen:
        assert {*rebuild(StoreSource(seen, seen.model("mail"))).hashed} == weights.keys()


def test_names_that_share_a_column_say_so() -> None:
    names = HashedNames(2, [f"country={country}" for country in COUNTRIES])
    shared = [names.label(column) for column in range(2)]
    assert all(each is not None and each.endswith(" (share a column)") for each in shared)
    for column in range(2):
        found = str(names.label(column)).removesuffix(" (share a column)").split(" | ")
        for name in found:
            at, sign = names.place(name.removeprefix("−"))
            assert at == column
            assert (sign != names.sign(column)) == name.startswith("−")


def test_no_more_names_are_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_names, "MOST", 5)
    names = HashedNames(4)
    names.add(f"name {i}" for i in range(50))
    assert len(names) == 5
    assert any("…" in str(names.label(column)) for column in range(4))
    names.add(["long " * 100])
    assert len(names) == 5


def test_a_refused_request_tells_no_name(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF", clock=Clock())
    engine.create("mail", model(BODY))
    play(engine, 1)
    engine.begin()
    engine.run_in_savepoint(lambda: engine.decide("mail", request({"features": {"lost": 1.0}})))
    engine.rollback()
    named = engine.models["mail"].hashed
    assert named is not None
    assert named.known() == ["country=se"]
    engine.decide("mail", request({"features": {"lost": 1.0}}))
    assert named.known() == ["country=se", "lost"]


def test_who_is_forgotten_takes_his_names_along(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF", clock=Clock())
    engine.create("mail", model(BODY | {"keyed": True}))
    play(engine, 16, "anna@nowhere.test", " of anna@nowhere.test")
    play(engine, 16, "bob")
    engine.maintain(every=1)
    engine.forget("mail", "anna@nowhere.test")
    engine.maintain()
    assert read(engine, key="bob").keys() == {f"country={country}" for country in COUNTRIES}
    engine.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"anna@nowhere" not in path.read_bytes()


def test_stories_speak_of_names(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put(
            "/v1/models/topics",
            {"loop": "label", "learner": "Confidit", "features": {"hashed": 64}, "labels": ["a", "b"]},
        )
        for _ in range(6):
            made = call.post("/v1/models/topics/decisions", {"features": {"word=goal": 1.0}}).json()
            call.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": made["label"] == "a"})
        items = call.get(f"/v1/decisions/{made['decision']}").json()["contributions"]["items"]
        assert [name for name, _ in items] == ["word=goal"]
        assert items[0][1] > 0
        weights = call.get("/v1/models/topics/weights").json()["weights"]
        assert weights[0]["name"] == "word=goal"
        assert weights[0]["label"] == "a"
        assert weights[0]["weight"] > 0
