"""Settings that change while a model lives: what was learnt stays, what is open stays open, and all of it replays."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from service.engine.test_teach import examples
from service.memory import CommittedTables, MemoryStore
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.schemas import AmendBody

MAIL = {"loop": "label", "labels": ["spam", "work"]}
BANNER = {"loop": "choose"}
OFFER = {"candidates": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}


def amend(engine: Engine, name: str, **changes: Any) -> Any:
    return engine.amend(name, msgspec.convert(changes, AmendBody))


def bytes_of(engine: Engine, name: str, key: str | None = None) -> bytes:
    return engine.learners.get(engine.models[name], key).learner.to_bytes()


@pytest.mark.parametrize("body", [MAIL, MAIL | {"learner": "AROW", "params": {"dim": 3}}, MAIL | {"keyed": True}])
def test_labels_can_be_added(body: dict[str, Any]) -> None:
    shelf, rng, key = CommittedTables(), random.Random(1), "ann" if "keyed" in body else None
    engine = Engine(MemoryStore(shelf))
    engine.create("mail", model(body))
    row: Any = [1.0, 0.0, 0.5] if "params" in body else {"from": "boss"}

    def ask() -> dict[str, Any]:
        return engine.decide("mail", request({"features": row} | ({"key": key} if key else {})))

    def hear(reply: dict[str, Any], label: str) -> None:
        engine.feedback(reply["decision"], feedback_body(label=label))

    for _ in range(10):
        hear(ask(), rng.choice(["spam", "work"]))
    before, version = ask(), engine.models["mail"].version
    reply = amend(engine, "mail", add_labels=["family", "work", "bills"])
    assert reply.labels == ["spam", "work", "family", "bills"]
    assert reply.model_version == version
    hear(before, "work")  # what was open stays open
    for _ in range(60):
        hear(ask(), "family")
    assert engine.models["mail"].version == version + 61
    assert sum(ask()["label"] == "family" for _ in range(10)) >= 8
    known = bytes_of(engine, "mail", key)
    again = Engine(MemoryStore(shelf))
    assert bytes_of(again, "mail", key) == known
    assert again.describe("mail").labels == reply.labels
    assert amend(again, "mail", add_labels=["family"]).labels == reply.labels
    assert [event.type for event in again.store.events(1, limit=10**6)].count("amended") == 1
    if key is not None:  # a key that comes later has them too
        other = again.decide("mail", request({"features": row, "key": "bob"}))
        again.feedback(other["decision"], feedback_body(label="bills"))


def test_shares_and_the_window_and_the_default() -> None:
    clock, shelf = Clock(), CommittedTables()
    engine = Engine(MemoryStore(shelf), clock=clock)
    engine.create("banner", model(BANNER))
    for _ in range(5):
        engine.feedback(engine.decide("banner", request(OFFER))["decision"], feedback_body(reward=0.5))
    weights = engine.learners.get(engine.models["banner"], None).learner.weights
    open_one = engine.decide("banner", request(OFFER))
    reply = amend(engine, "banner", explore=0.6, window_s=30, default_reward=0.0)
    assert (reply.explore, reply.window_s, reply.default_reward) == (0.6, 30, 0.0)
    assert (engine.learners.get(engine.models["banner"], None).learner.weights == weights).all()
    assert engine.feedback(open_one["decision"], feedback_body(reward=1.0)).status == "learnt"
    shares = engine.decide("banner", request(OFFER))["propensities"]
    assert min(shares.values()) >= 0.2 - 1e-12
    clock.now += 31
    assert engine.sweep_all() == 1
    engine.decide("banner", request(OFFER))
    amend(engine, "banner", default_reward=None)
    clock.now += 31
    assert engine.sweep_all() == 0  # silence means nothing any more
    amend(engine, "banner", explore=0.0)
    assert engine.decide("banner", request(OFFER))["propensity"] == 1.0
    again = Engine(MemoryStore(shelf), clock=clock)
    assert bytes_of(again, "banner") == bytes_of(engine, "banner")
    assert again.describe("banner").explore == 0.0
    assert again.decide("banner", request(OFFER))["propensity"] == 1.0


def test_texts_can_be_added() -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create("mail", model(MAIL))

    def teach(subject: str, label: str) -> None:
        engine.teach("mail", examples({"examples": [{"features": {"subject": subject}, "answer": label}]}))

    teach("cheap flights", "spam")
    assert amend(engine, "mail", add_text=["subject"]).features == {
        "auto": {"dim": 4096, "text": ["subject"], "crosses": "auto", "id_feature": True, "vectors": 32}
    }
    teach("cheap flights", "spam")
    learner: Any = engine.learners.get(engine.models["mail"], None).learner
    names = [name for name, _ in learner.weights_by_name()]
    assert any("cheap" in name and "flights" not in name for name in names)
    again = Engine(MemoryStore(shelf))
    assert bytes_of(again, "mail") == bytes_of(engine, "mail")


def test_the_log_is_sound_and_survives_a_rollback(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "data", synchronous="OFF")
    engine.create("mail", model(MAIL))
    rng = random.Random(3)
    labels = ["spam", "work"]
    for i in range(40):
        made = engine.decide("mail", request({"features": {"n": rng.random(), "from": rng.choice("abc")}}))
        engine.feedback(made["decision"], feedback_body(label=rng.choice(labels)))
        if i == 20:
            labels.append("family")
            amend(engine, "mail", add_labels=["family"])
        if i == 30:
            engine.roll_back("mail", 15)  # beyond the amendment, which stays
        engine.maintain(every=9)
    engine.close()
    with Inspection(tmp_path / "data") as seen:
        served = seen.model("mail")
        assert served.blueprint.labels == labels
        assert audit_model(seen, served).problems == []
        path = tmp_path / "mail.ndjson"
        path.write_bytes(b"\n".join(seen.log.all_lines(served)) + b"\n")
    assert audit_file(NdjsonSource(path)).problems == []


@pytest.mark.parametrize(
    ("body", "changes", "words"),
    [
        (MAIL, {}, "body is empty"),
        (BANNER, {"add_labels": ["x"]}, "named labels"),
        (BANNER | {"params": {"dim": 2}}, {"add_text": ["x"]}, "accepts records"),
        (MAIL, {"default_reward": 0.5}, "learns from rewards"),
        ({"loop": "filter"}, {"explore": 0.5}, "exploration"),
    ],
)
def test_what_cannot_change_is_reported(body: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("m", model(body))
    with pytest.raises(SmidgenError) as caught:
        amend(engine, "m", **changes)
    assert caught.value.status == 422
    assert words in f"{caught.value.problem} {caught.value.hint}"
    assert engine.models["m"].seq == 1


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", MAIL)
        told_ = ask("PATCH", "/v1/models/mail", json={"add_labels": ["family"], "window_s": 60})
        assert (told_.status_code, told_.json()["labels"], told_.json()["window_s"]) == (
            200,
            [*MAIL["labels"], "family"],
            60,
        )
        assert ask.put("/v1/models/mail", MAIL).status_code == 200  # the body of creation is still the same
        assert ask("PATCH", "/v1/models/mail", json={"loop": "rank"}).status_code == 422
        assert ask("PATCH", "/v1/models/nobody", json={"window_s": 1}).status_code == 404
        made = ask.post("/v1/models/mail/decisions", {"features": {"x": 1}}).json()
        said = ask.post(f"/v1/decisions/{made['decision']}/feedback", {"label": "family"})
        assert said.json()["status"] == "learnt"


@pytest.mark.parametrize("keys", [["ann"], ["ann", "bob", "cy"]], ids=["written at the end", "written on the way"])
def test_a_key_that_is_published_after_a_label_was_added_has_it_once(tmp_path: Path, keys: list[str]) -> None:
    settings: dict[str, Any] = {"synchronous": "OFF", "keyed_in_memory": 2}
    engine = Engine(tmp_path, **settings)
    engine.create("mail", model({"loop": "label", "labels": ["x", "y"], "keyed": True, "feedback": "label"}))

    def decided(key: str, label: str) -> None:
        made = engine.decide("mail", request({"key": key, "features": {"from": "boss"}}))["decision"]
        engine.feedback(made, feedback_body(label=label))

    decided("ann", "x")
    amend(engine, "mail", add_labels=["z"])
    for key in keys[1:]:
        decided(key, "z")
    engine.close()
    engine = Engine(tmp_path, **settings)
    for key in keys:
        decided(key, "z")
    assert engine.models["mail"].version == 2 * len(keys)
    engine.close()
