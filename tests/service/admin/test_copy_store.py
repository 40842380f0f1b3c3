"""All of a store into another one: a folder into PostgreSQL and back, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.bodies import MODELS, engine_with, model, play
from smidgen.cli import app
from smidgen.service.admin import copy_store
from smidgen.service.admin.copy_store import copy
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection, open_for_change
from smidgen.service.errors import StorageFailed
from smidgen.service.http.auth import create
from smidgen.service.storage.address import Database, Place
from smidgen.service.storage.data_dir import lock_folder
from smidgen.service.storage.postgres import PostgresStore
from smidgen.service.storage.sql import TABLES

NAMES = ["rank", "keyed", "newcomers", "hashed"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with models that have learnt, forgotten, and begin with a base."""
    engine = engine_with(tmp_path / "data", NAMES, snapshot_every=5)
    engine.run(lambda: engine.create("spread", model({**MODELS["keyed"], "shards": 3})))
    play(engine, NAMES, 120, seed=1)
    engine.forget("keyed", "user1")
    engine.retain("rank", 0.0)
    engine.maintain(every=1)
    engine.close()
    with open_for_change(tmp_path / "data") as store:
        create(store, ["decide"], "rank", 5.0)
    return tmp_path / "data"


def _content(place: Place) -> dict[str, Any]:
    with Inspection(place) as seen:
        return {name: [tuple(row) for row in seen.reading.rows_of(name)] for name in TABLES}


def test_a_folder_goes_into_a_database_and_back(folder: Path, postgres: str, tmp_path: Path) -> None:
    there, back = Database(postgres), tmp_path / "back"
    before = _content(folder)
    assert all(before[name] for name in ("models", "events", "decisions", "tokens", "bases", "key_states"))
    done = copy(folder, there)
    assert (done.models, done.tokens, done.running) == (5, 1, False)  # the parts of one over shards count once
    looked = fsck(folder)
    assert (looked.models, looked.events) == done[:2]
    assert _content(there) == before
    assert copy(there, back)[:4] == done[:4]
    assert _content(back) == before
    assert [fsck(place, deep=True).sound for place in (there, back)] == [True, True]
    engines = [Engine(where, clock=lambda: 2_000_000.0) for where in (PostgresStore(postgres), back)]
    for engine in engines:
        assert [state.own for state in engine.store.states(engine.models["rank"].shard)][:1] == [True]
        play(engine, NAMES, 40, seed=7)
    weights = [
        [
            engine.learners.get(engine.models[name], key).learner.to_bytes()
            for name, key in (("rank", None), ("keyed", "user0"))
        ]
        for engine in engines
    ]
    assert weights[0] == weights[1]
    for engine in engines:
        engine.close()


def test_what_is_not_empty_is_not_filled(folder: Path, postgres: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres)
    store.begin()
    store.create("mine", b"{}", {}, 1.0)
    store.commit()
    with pytest.raises(StorageFailed, match="is not empty: it holds models"):
        copy(folder, Database(postgres))
    assert [row.name for row in store.models()] == ["mine"]
    store.close()
    with pytest.raises(StorageFailed, match="source and target are both"):
        copy(folder, folder)
    with pytest.raises(StorageFailed, match="no database in"):
        copy(tmp_path / "nothing", Database(postgres))
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(StorageFailed, match="no store in"):
        copy(Database(postgres.replace("schema=", "schema=no")), tmp_path / "new")


@pytest.mark.parametrize("broken", ["_digest", "_learners", "_check_chain"])
def test_what_differs_is_not_kept(
    broken: str, folder: Path, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        if broken == "_check_chain":
            raise StorageFailed("the log is not sound", "")
        return object()

    monkeypatch.setattr(copy_store, broken, fail)
    for target in (Database(postgres), tmp_path / "new"):
        with pytest.raises(StorageFailed):
            copy(folder, target)
        assert not any(_content(target).values())
    monkeypatch.undo()
    assert copy(folder, Database(postgres)).models == 5  # and can be filled then


def test_a_chain_that_does_not_hold_is_not_copied(folder: Path, postgres: str) -> None:
    with open_for_change(folder) as store:
        store._buffer.run("UPDATE events SET at = at + 1.0 WHERE shard = 2 AND seq = 3")
    with pytest.raises(StorageFailed, match="keyed has errors: event 3 does not fit"):
        copy(folder, Database(postgres))


def test_the_command_says_what_it_did(folder: Path, postgres: str) -> None:
    with lock_folder(folder):  # as a service holds it
        said = CliRunner().invoke(app, ["store", "copy", str(folder), postgres])
    assert said.exit_code == 0, said.output
    assert "5 models" in said.output
    assert "read back, and replayed bit for bit" in said.output
    assert "what it acknowledged since is not in the copy" in said.output
    listed = CliRunner().invoke(app, ["models", "--store", postgres])
    assert "newcomers" in listed.output


def test_the_commands_look_at_a_database(folder: Path, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy(folder, Database(postgres))
    monkeypatch.setenv("SMIDGEN_STORE", postgres)

    def run(*arguments: str, status: int = 0) -> str:
        said = CliRunner().invoke(app, list(arguments))
        assert said.exit_code == status, said.output
        return said.output

    assert "no errors found" in run("fsck", "--deep")
    assert "no errors found" in run("log", "verify", "keyed")
    assert run("log", "export", "newcomers").count("\n") > 20
    assert "the state after event" in run("snapshot", "list")
    assert "0 damaged" in run("snapshot", "verify")
    token = run("token", "create", "--scope", "admin").splitlines()[-1].split()[2].rstrip(".")
    assert token in run("token", "list")
    assert "Revoked token" in run("token", "revoke", token)
    assert "rank" in run("models")
    assert "Archived model" in run("models", "archive", "hashed")
    assert "version" in run("rollback", "keyed", "3")
    assert "no errors found" in run("fsck", "--deep")
    refused = CliRunner().invoke(app, ["backup", "file"])
    assert refused.exit_code != 0
    assert "pg_dump" in str(refused.exception)
    assert "rank" in run("models", "--data", str(folder))  # what is typed wins
