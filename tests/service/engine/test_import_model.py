"""Models from elsewhere: copies, saved learners, exported logs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import smidgen
from service.asgi import Caller
from service.bodies import MODELS, feedback_body, model, play, request
from service.engine.test_live_settings import amend
from service.memory import CommittedTables, MemoryStore
from smidgen.cli import app
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import from_learner, from_log
from smidgen.service.schemas import CopyBody

NAMES = ("rank", "label", "filter", "tune", "hashed", "keyed")


def learners(engine: Engine, name: str) -> dict[str | None, bytes]:
    served = engine.models[name]
    keys = [f"user{i}" for i in range(4)] if served.keyed else [None]
    return {key: engine.learners.get(served, key).learner.to_bytes() for key in keys}


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_knows_what_the_other_knows_and_goes_its_own_way(name: str) -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create(name, model(MODELS[name]))
    play(engine, [name], 40, seed=1)
    told_ = engine.copy(name, CopyBody(to="twin"))
    assert told_.name == "twin"
    assert learners(engine, "twin") == learners(engine, name)
    engine.copy(name, CopyBody(to="fresh", learnt=False))
    assert engine.models["fresh"].version == 0
    known = learners(engine, "twin")
    play(engine, [name], 20, seed=2)
    assert learners(engine, "twin") == known != learners(engine, name)
    again = Engine(MemoryStore(shelf))
    assert learners(again, "twin") == known
    with pytest.raises(SmidgenError) as caught:
        engine.copy(name, CopyBody(to="twin"))
    assert caught.value.status == 409


def test_a_copy_has_what_was_amended() -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create("mail", model({"loop": "label", "labels": ["spam", "work"]}))
    amend(engine, "mail", add_labels=["family"], add_text=["subject"])
    for learnt in (True, False):
        name = f"copy{learnt}"
        engine.copy("mail", CopyBody(to=name, learnt=learnt))
        assert engine.describe(name).labels == ["spam", "work", "family"]
        made = engine.decide(name, request({"features": {"subject": "two words"}}))
        assert engine.feedback(made["decision"], feedback_body(label="family")).status == "learnt"
        again = Engine(MemoryStore(shelf))
        assert learners(again, name) == learners(engine, name)
        assert again.describe(name).features == engine.describe("mail").features


@pytest.mark.parametrize("name", NAMES)
def test_a_log_can_be_brought(name: str, tmp_path: Path) -> None:
    engine = Engine(MemoryStore(CommittedTables()))
    engine.create(name, model(MODELS[name]))
    play(engine, [name], 40, seed=1)
    content = b"\n".join(engine.events.all_lines(engine.models[name])) + b"\n"
    other = Engine(tmp_path, synchronous="OFF")
    found = from_log(content)
    other.import_model(name, found, "a log")
    assert learners(other, name) == learners(engine, name)
    play(other, [name], 20, seed=3)
    with pytest.raises(SmidgenError) as caught:
        other.import_model(name, found, "a log")
    assert caught.value.status == 409
    other.close()
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model(name)).problems == []


def test_a_saved_learner_can_be_brought() -> None:
    learner = smidgen.PreferencePerceptron(dim=2)
    rng = np.random.default_rng(1)
    for _ in range(5):
        decision = learner.decide(smidgen.Ranking(rng.normal(size=(4, 2))))
        learner.learn(decision, decision.action[::-1].copy())
    engine = Engine(MemoryStore(CommittedTables()))
    engine.import_model("ranker", from_learner(learner.to_bytes()), "a file")
    served = engine.models["ranker"]
    assert engine.learners.get(served, None).learner.weights.tolist() == learner.weights.tolist()
    body = {"candidates": [{"id": "a", "features": [1, 0]}, {"id": "b", "features": [0, 1]}]}
    made = engine.decide("ranker", request(body))
    assert engine.feedback(made["decision"], feedback_body(better=["b"])).status == "learnt"


def test_over_http(tmp_path: Path) -> None:
    rng = random.Random(1)
    with Caller(tmp_path) as ask:
        ask.put("/v1/models/mail", {"loop": "label", "labels": ["spam", "work"]})
        for _ in range(5):
            made = ask.post("/v1/models/mail/decisions", {"features": {"from": rng.choice("ab")}}).json()
            ask.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": True})
        weights = ask.get("/v1/models/mail/weights").json()["weights"]
        copied = ask.post("/v1/models/mail:copy", {"to": "twin", "learnt": True})
        assert (copied.status_code, copied.json()["name"]) == (201, "twin")
        assert ask.get("/v1/models/twin/weights").json()["weights"] == weights
        assert ask.post("/v1/models/mail:copy", {"to": "twin"}).status_code == 409
        log = ask.get("/v1/models/mail/log").content
        headers = {"content-type": "application/x-ndjson"}
        brought = ask("POST", "/v1/models/again:import", content=log, headers=headers)
        assert brought.status_code == 201
        assert ask.get("/v1/models/again/weights").json()["weights"] == weights
        assert ask("POST", "/v1/models/again:import", content=log, headers=headers).status_code == 409
        refused = ask("POST", "/v1/models/bad:import", content=b"{}\n", headers=headers)
        assert refused.status_code in (400, 422)
        assert refused.json()["error"]["message"].startswith("line 1 of the log is not an event")  # no path of ours
        saved: dict[str, Any] = {"content-type": "application/octet-stream"}
        learner = smidgen.RidgeFil(dim=2).to_bytes()
        assert ask("POST", "/v1/models/filter:import", content=learner, headers=saved).status_code == 201
        assert ask.post("/v1/models/filter/decisions", {"features": [1, 0]}).status_code == 201
        assert ask("POST", "/v1/models/bad:import", content=b"nonsense", headers=saved).status_code >= 400
        assert (
            ask("POST", "/v1/models/bad:import", content=b"x", headers={"content-type": "text/csv"}).status_code == 415
        )


def test_commands(tmp_path: Path) -> None:
    runner, data = CliRunner(), str(tmp_path / "data")

    def run(*arguments: str) -> tuple[int, str]:
        done = runner.invoke(app, [*arguments, "--data", data])
        return done.exit_code, str(done.exception or done.output)

    assert run("models", "create", "banner", '{"loop": "choose", "keyed": true}') == (
        0,
        "Created model banner (learner: ChoiceBank).\n",
    )
    assert run("models", "copy", "banner", "twin", "--fresh")[0] == 0
    saved = tmp_path / "saved"
    smidgen.RidgeFil(dim=2).save(saved)
    assert run("models", "import", "inbox", str(saved))[0] == 0
    assert run("models", "archive", "twin") == (0, "Archived model twin.\n")
    assert "there is no key" in run("forget", "banner", "ann")[1]
    assert "cannot be read" in run("models", "create", "x", str(tmp_path / "none"))[1]
    assert run("models", "import", "x", str(tmp_path / "none"))[0] == 2
    listed = runner.invoke(app, ["models", "--data", data, "--json"])
    assert all(name in listed.output for name in ("banner", "twin", "inbox"))
