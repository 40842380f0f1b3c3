"""Forgetting follows into copies: of copies, too, archived or renamed; and names of archived models are used again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.engine.test_forgetting import MODELS, SECRET, Life, found_in, weights
from service.memory import CommittedTables, MemoryStore
from smidgen.cli import app
from smidgen.errors import SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_log
from smidgen.service.schemas import CopyBody


def family(life: Life) -> None:
    """Copies of songs, and copies of those; one is archived and renamed, one learns on, one learnt nothing."""
    engine = life.engine
    for source, to in (("songs", "first"), ("first", "second"), ("second", "third"), ("songs", "old")):
        engine.copy(source, CopyBody(to=to))
    engine.copy("songs", CopyBody(to="fresh", learnt=False))
    for key in (SECRET, "bob"):
        if (engine.store.query("keys", engine.models["songs"].shard, prefix=key, limit=1)) == [(key,)]:
            made = engine.decide("second", request({"key": key, "candidates": [{"id": "a"}, {"id": f"x{key}"}]}))
            engine.feedback(made["decision"], feedback_body(reward=0.5))
    engine.archive("first")
    engine.rename("first", "first-of-old")


def test_copies_forget_too(tmp_path: Path) -> None:
    life, other = Life(tmp_path / "a", 1), Life(tmp_path / "b", 1, without=SECRET)
    family(life)
    family(other)
    versions = {name: each.version for name, each in life.engine.models.items()}
    done = life.engine.forget("songs", SECRET)
    assert done.forgotten > 10
    assert done.copies == {"first-of-old": 1, "second": 3, "third": 1, "old": 1}
    assert {name for name, each in life.engine.models.items() if each.version > versions[name]} == {
        "songs",
        *done.copies,
    }
    for name in done.copies:
        for key in ("bob", "cy"):
            assert weights(life.engine, name, key) == weights(other.engine, name, key)
        assert life.engine.describe(name).keys == other.engine.describe(name).keys
    for name in ("mail", "news"):
        life.engine.forget(name, SECRET)
    life.engine.maintain()
    assert found_in(tmp_path / "a") == []
    life.engine.close()
    other.engine.close()
    assert fsck(tmp_path / "a", deep=True).findings == []
    with Inspection(tmp_path / "a") as seen:
        for name in done.copies:
            assert audit_model(seen, seen.model(name)).problems == []


def test_a_refusal_on_the_way_forgets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("songs", model(MODELS["songs"]))
    made = engine.decide("songs", request({"key": "ann", "candidates": [{"id": "a"}]}))
    engine.feedback(made["decision"], feedback_body(reward=1.0))
    engine.copy("songs", CopyBody(to="twin"))
    before = [engine.store.events(engine.models[name].shard) for name in ("songs", "twin")]
    forget, shards = engine.store.forget, list[int]()

    def fails(shard: int, *found: Any) -> object:
        shards.append(shard)
        if len(shards) == 2:
            raise OSError("the disk is gone")
        return forget(shard, *found)

    monkeypatch.setattr(engine.store, "forget", fails)
    with pytest.raises(OSError, match="gone"):
        engine.forget("songs", "ann")
    assert [engine.store.events(engine.models[name].shard) for name in ("songs", "twin")] == before


def test_a_log_that_was_brought_counts_as_the_models_own() -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("mail", model(MODELS["mail"]))
    for key in ("ann", "bob"):
        made = engine.decide("mail", request({"key": key, "features": {"from": key}}))
        engine.feedback(made["decision"], feedback_body(correct=True))
    content = b"\n".join(engine.events.all_lines(engine.models["mail"])) + b"\n"
    engine.import_model("brought", from_log(content), "a log")
    engine.copy("brought", CopyBody(to="twin"))
    assert engine.describe("brought").keys == 2
    assert engine.forget("brought", "ann").copies == {"twin": 1}
    assert engine.describe("brought").keys == engine.describe("twin").keys == 1
    assert engine.models["mail"].version == 2, "what it came from is another matter"
    assert engine.forget("mail", "ann").copies == {}


def test_an_archived_model_is_revived() -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create("mail", model({"loop": "label", "labels": ["spam", "work"]}))
    made = engine.decide("mail", request({"features": {"x": 1}}))
    engine.archive("mail")
    with pytest.raises(SmidgenError) as caught:
        engine.decide("mail", request({"features": {"x": 1}}))
    assert caught.value.status == 409
    assert engine.revive("mail").archived_at is None
    assert engine.revive("mail").archived_at is None, "twice does no harm"
    assert engine.feedback(made["decision"], feedback_body(correct=True)).model_version == 1
    again = Engine(MemoryStore(shelf))
    assert again.decide("mail", request({"features": {"x": 1}}))["model_version"] == 1
    types = [event.type for event in again.store.events(1)]
    assert types == ["created", "decision", "archived", "revived", "feedback", "decision"]


def test_an_archived_name_is_free_after_renaming(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF")
    body = model({"loop": "label", "labels": ["spam", "work"]})
    engine.create("mail", body)
    engine.create("other", body)
    made = engine.decide("mail", request({"features": {"x": 1}}))
    for to, message in (("elsewhere", "is active"), ("other", "is active")):
        with pytest.raises(SmidgenError, match=message) as caught:
            engine.rename("mail", to)
        assert caught.value.status == 409
    engine.archive("mail")
    with pytest.raises(SmidgenError, match="already"):
        engine.rename("mail", "other")
    assert engine.rename("mail", "mail-2025").name == "mail-2025"
    assert engine.create("mail", body)[0], "the new name is free"
    assert engine.feedback(made["decision"], feedback_body(correct=True)).status == "learnt"
    assert engine.story(made["decision"]).model == "mail-2025"
    engine.close()
    again = Engine(tmp_path, synchronous="OFF")
    assert set(again.models) == {"mail", "mail-2025", "other"}
    assert (again.models["mail-2025"].version, again.models["mail"].version) == (1, 0)
    again.close()
    assert fsck(tmp_path, deep=True).findings == []


def test_a_renaming_that_fails_is_undone() -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create("mail", model({"loop": "label", "labels": ["a", "b"]}))
    engine.archive("mail")
    engine.begin()
    engine.run_in_savepoint(lambda: engine.rename("mail", "old"))
    engine.run_in_savepoint(lambda: engine.revive("old"))
    engine.rollback()
    assert list(engine.models) == ["mail"]
    assert engine.models["mail"].name == "mail"
    assert engine.models["mail"].archived_at is not None


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", MODELS["mail"])
        made = ask.post("/v1/models/mail/decisions", {"key": SECRET, "features": {"x": 1}}).json()
        ask.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": True})
        ask.post("/v1/models/mail:copy", {"to": "twin"})
        gone = ask("DELETE", f"/v1/models/mail/keys/{SECRET}").json()
        assert gone == {"forgotten": 2, "model_version": 2, "copies": {"twin": 1}}
        assert found_in(tmp_path) == []
        ask("DELETE", "/v1/models/mail")
        refused = ask.put("/v1/models/mail", MODELS["mail"])
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
        assert ask("POST", "/v1/models/mail:revive").json()["archived_at"] is None
        assert ask.post("/v1/models/mail:rename", {"to": "old"}).status_code == 409
        ask("DELETE", "/v1/models/mail")
        assert ask.post("/v1/models/mail:rename", {"to": "no good name"}).status_code == 422
        assert ask.post("/v1/models/mail:rename", {"to": "old"}).json()["name"] == "old"
        assert ask.put("/v1/models/mail", {"loop": "choose"}).status_code == 201
        assert ask("POST", "/v1/models/nobody:revive").status_code == 404


def test_commands(tmp_path: Path) -> None:
    run = CliRunner()
    data = ["--data", str(tmp_path)]
    for command in (
        ["models", "create", "mail", '{"loop": "label", "labels": ["a", "b"]}'],
        ["models", "archive", "mail"],
        ["models", "revive", "mail"],
        ["models", "archive", "mail"],
        ["models", "rename", "mail", "old"],
        ["models", "create", "mail", '{"loop": "choose"}'],
    ):
        done = run.invoke(app, [*command, *data])
        assert done.exit_code == 0, done.output
    assert run.invoke(app, ["models", "rename", "old", "no good name", *data]).exit_code != 0
    engine = Engine(tmp_path)
    assert set(engine.models) == {"mail", "old"}
    engine.create("songs", model(MODELS["songs"]))
    engine.decide("songs", request({"key": "ann", "candidates": [{"id": "a"}]}))
    engine.copy("songs", CopyBody(to="twin"))
    engine.close()
    said = run.invoke(app, ["forget", "songs", "ann", *data])
    assert said.output == "Erased 1 events of ann from songs.\nErased 1 events of ann from its copy twin.\n"
