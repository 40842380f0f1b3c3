"""Data folders of the unreleased 0.1 are converted, or refused in one line.

``data/format_0_1`` was written by that code (commit d8dfd30): nine models, open and late decisions, an archived model,
a token; ``known.json`` has what that code knew of it.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.asgi import Caller
from service.bodies import MODELS, decision_body, request, told
from smidgen.cli import app
from smidgen.errors import NoWeights, SmidgenError
from smidgen.service.models.engine import Engine
from smidgen.service.refusals import StorageFailed
from smidgen.service.store.lock import only_one
from smidgen.service.store.upgrade import KEPT, upgrade

OLD = Path(__file__).parent / "data" / "format_0_1"
KNOWN: dict[str, Any] = json.loads((OLD / "known.json").read_text())


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "data"))


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(OLD, tmp_path_factory.mktemp("upgraded") / "data"))
    assert upgrade(folder) is not None
    return folder


@pytest.fixture
def new(upgraded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(upgraded, tmp_path / "data"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command",
    ["serve --port 0", "models", "token list", "token create --scope admin", "log export rank", "snapshot list"],
)
def test_an_old_folder_is_refused_with_the_way_out(command: str, old: Path) -> None:
    before = files(old)
    with pytest.raises(StorageFailed) as caught:
        CliRunner().invoke(app, [*command.split(), "--data", str(old)], catch_exceptions=False)
    assert "format of smidgen 0.1" in caught.value.problem
    assert caught.value.hint == f"convert it first: smidgen upgrade --data {old}"
    assert "\n" not in str(caught.value)
    assert {name: content for name, content in files(old).items() if name != "lock"} == before


def test_check_only_looks(old: Path) -> None:
    before = files(old)
    said = CliRunner().invoke(app, ["upgrade", "--check", "--data", str(old)], catch_exceptions=False).output
    assert "9 models, 224 events" in said
    assert "it can be converted" in said
    assert files(old) == before


def test_the_old_database_is_kept_and_states_are_made_anew(upgraded: Path) -> None:
    assert (upgraded / KEPT).read_bytes() == (OLD / "smidgen.db").read_bytes()
    assert sorted(path.name for path in upgraded.iterdir()) == [
        "known.json",
        "lock",
        "smidgen-0.1.db",
        "smidgen.db",
        "smidgen.db.heads",
    ]
    assert upgrade(upgraded) is None
    said = CliRunner().invoke(app, ["upgrade", "--data", str(upgraded)], catch_exceptions=False).output
    assert "has the present format" in said


@pytest.mark.parametrize("name", KNOWN["models"])
def test_counts_and_weights_are_the_old_ones_bit_for_bit(name: str, new: Path) -> None:
    engine, known = Engine(new), KNOWN["models"][name]
    model = engine.models[name]
    assert {each: getattr(model, each) for each in ("seq", "version", "late", "decisions", "keys")} == {
        each: known[each] for each in ("seq", "version", "late", "decisions", "keys")
    }
    for key, (weights, rounds, decisions) in known["weights"].items():
        learner = engine.learners.get(model, None if key == "None" else key).learner
        try:
            found = learner.weights.tobytes().hex()
        except NoWeights:
            found = ""
        assert (found, learner.rounds, learner.decisions) == (weights, rounds, decisions)
    engine.store.close()


@pytest.mark.parametrize("name", ["rank", "keyed"])
def test_the_exported_log_says_what_it_said(name: str, new: Path) -> None:
    engine = Engine(new)
    lines = [json.loads(line) for line in engine.events.all_lines(engine.models[name])]
    engine.store.close()
    for line in lines:
        line.pop("resolved", None)
        if "record" in line:
            line["record"]["settings"] = ""
            assert line["reply"].pop("model") == name  # which replies of that time did not say
    before = KNOWN["models"][name]["lines"]
    for line in before:
        if "record" in line:
            line["record"]["settings"] = ""
    assert lines == before


@pytest.mark.parametrize("name", KNOWN["models"])
def test_the_new_log_is_sound(name: str, new: Path) -> None:
    result = CliRunner().invoke(app, ["log", "verify", name, "--data", str(new)], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_life_goes_on(new: Path) -> None:
    clock = [1_700_090_100.0]
    engine = Engine(new, clock=lambda: clock[0])
    again = request({"id": "asked once", **decision_body("rank", random.Random(1))})
    assert engine.decide("rank", again) == KNOWN["asked"] | {"model": "rank"}  # the request's digest is known again
    open_, late = KNOWN["open"]["decision"], KNOWN["late"]["decision"]
    assert engine.feedback(open_, told(better=KNOWN["open"]["choice"])).status == "learnt"
    assert engine.feedback(late, told(clicked=["d1"])).status == "late"
    with pytest.raises(SmidgenError, match="other feedback"):
        engine.feedback(late, told(clicked=["d2"]))
    assert engine.story(open_).shown == KNOWN["open"] | {"model": "duel"}
    assert engine.models["arow"].archived_at is not None
    known = engine.learners.get(engine.models["duel"], None).learner.to_bytes()
    engine.close()
    engine = Engine(new)
    assert engine.learners.get(engine.models["duel"], None).learner.to_bytes() == known
    engine.close()
    with Caller(new) as call:
        headers = {"authorization": f"Bearer {KNOWN['token']}"}
        assert call.get("/v1/models").status_code == 401
        assert [each["name"] for each in call.get("/v1/models", headers=headers).json()["models"]] == ["rank"]


def test_a_folder_in_use_is_not_converted(old: Path) -> None:
    with only_one(old), pytest.raises(StorageFailed, match="another service uses"):
        upgrade(old)


def test_what_a_crash_left_aside_is_done_anew(old: Path) -> None:
    (old / "upgrading").mkdir()
    (old / "upgrading" / "smidgen.db").write_bytes(b"half")
    found = upgrade(old)
    assert found is not None
    assert found.models == 9
    assert not (old / "upgrading").exists()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("DELETE FROM events WHERE model = 1 AND seq = 5", "event 6 of the model 'rank' is the 5. of its log"),
        (
            "UPDATE events SET body = CAST(json_set(body, '$.reply.explored', json('true')) AS BLOB) WHERE seq = 2",
            "another reply",
        ),
        (
            "UPDATE events SET body = CAST(json_set(body, '$.model_version', 9) AS BLOB) WHERE type = 'feedback'",
            "was learnt",
        ),
        ("UPDATE events SET at = at + 1e9 WHERE type = 'feedback' AND model = 2", "was learnt and would be late"),
        ("UPDATE events SET body = x'00' WHERE seq = 2", "cannot be converted"),
        (
            "UPDATE models SET body = CAST(json_set(body, '$.learner', 'RankingSVM') AS BLOB) WHERE id = 1",
            "cannot be taken over",
        ),
        ("DROP TABLE decisions", "cannot be converted"),
        ("INSERT INTO migrations VALUES (99, 'later', 0)", "has schema 99"),
        ("DELETE FROM migrations", "none of smidgen's"),
    ],
)
def test_what_cannot_be_converted_is_left_as_it_was(damage: str, problem: str, old: Path) -> None:
    connection = sqlite3.connect(old / "smidgen.db")
    connection.execute(damage)
    connection.commit()
    connection.close()
    before = (old / "smidgen.db").read_bytes()
    for check in (True, False):
        with pytest.raises(StorageFailed, match=problem):
            upgrade(old, check=check)
    assert (old / "smidgen.db").read_bytes() == before
    assert not (old / KEPT).exists()


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="there is no database"):
        upgrade(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert set(KNOWN["models"]) <= set(MODELS)
