"""Findings of `smidgen doctor`, and that it changes nothing."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from smidgen import doctor
from smidgen.cli import app
from smidgen.service.storage import sqlite_schema


def found(data: Path, **more: int) -> dict[str, doctor.Diagnosis]:
    return {each.what: each for each in doctor.examine(data, **({"port": 0} | more))}


def test_a_machine_that_runs_these_tests_is_well(tmp_path: Path) -> None:
    given = found(tmp_path / "data")
    assert not [each for each in given.values() if each.state == "problem"]
    assert "smidgen[service]" in given
    assert "creates it" in given["data"].found
    assert not (tmp_path / "data").exists()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert found(tmp_path, port=other.getsockname()[1])["port"].state == "note"


def test_a_folder_that_others_read_or_that_is_none(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert found(tmp_path)["data"].state == "note"
    tmp_path.chmod(0o700)
    assert found(tmp_path)["data"].state == "ok"
    (tmp_path / "file").write_text("")
    assert found(tmp_path / "file")["data"].state == "problem"


def test_what_is_missing_is_named_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda package: package != "starlette")
    reply = found(tmp_path)["smidgen[service]"]
    assert (reply.state, reply.hint) == ("note", 'pip install "smidgen[service]" if you need it')
    assert "starlette" in reply.found
    monkeypatch.setattr(sqlite_schema, "sqlite_version", lambda: (3, 30, 0))
    assert found(tmp_path)["SQLite"].state == "problem"


def test_the_core_that_is_in_use_and_one_that_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from smidgen import _core

    assert found(tmp_path)["core"].found == f"compiled, for {_core.LEVEL}"
    monkeypatch.delattr("smidgen._core")
    monkeypatch.setitem(sys.modules, "smidgen._core", None)
    assert found(tmp_path)["core"].state == "problem"


def test_the_command(tmp_path: Path) -> None:
    given = ["doctor", "--data", str(tmp_path / "data"), "--port", "0"]
    done = CliRunner().invoke(app, [*given, "--json"])
    assert done.exit_code == 0
    assert {"what", "found", "state", "hint"} == json.loads(done.output)[0].keys()
    (tmp_path / "data").write_text("")
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 1
    assert "problem" in done.output
