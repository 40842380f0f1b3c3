"""Error messages of commands: each names the value and a fix with the nearest valid name; no tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smidgen import cli

#: Arguments, exit status, parts of the message. DATA is a data folder with a model called banner.
CASES: dict[str, tuple[list[str], int, tuple[str, ...]]] = {
    "unknown command": (["modls"], 2, ("'modls'", "Did you mean 'models'?")),
    "unknown subcommand": (["models", "crate", "x"], 2, ("'crate'", "Did you mean 'create'?")),
    "unknown option": (["serve", "--prot", "3"], 2, ("--prot", "--port")),
    "unknown field": (["models", "create", "x", '{"lop": "rank"}'], 1, ('"lop"', 'did you mean "loop"?')),
    "unknown loop": (["models", "create", "x", '{"loop": "chose"}'], 1, ('"chose"', 'did you mean "choose"?')),
    "unknown loop of learners": (["learners", "--loop", "rnak"], 2, ("'rnak'", 'did you mean "rank"?')),
    "not JSON": (["models", "create", "x", "{1}"], 1, ("SETTINGS is not valid JSON (byte", '{"loop": "choose"}')),
    "missing settings file": (
        ["models", "create", "x", "/nowhere.json"],
        1,
        ("/nowhere.json", "cannot be read", "JSON"),
    ),
    "unknown model": (["log", "verify", "baner"], 1, ('"baner"', 'did you mean "banner"?')),
    "unknown learner": (["replay", "banner", "--learner", "LinUBC"], 1, ('"LinUBC"', 'did you mean "LinUCB"?')),
    "missing log": (
        ["replay", "/nowhere/log.ndjson", "--learner", "LinUCB"],
        2,
        ("/nowhere/log.ndjson", "exported log"),
    ),
    "unknown format": (
        ["log", "export", "banner", "--format", "parket", "--out", "/tmp/x"],
        1,
        ('"parket"', 'did you mean "parquet"?'),
    ),
    "unknown scope": (["token", "create", "--scope", "decid"], 1, ("decid", 'did you mean "decide"?')),
    "bad age": (["retain", "banner", "--older-than", "soon"], 2, ("'soon'", "30d, 12h or 90m")),
    "version and time": (["rollback", "banner"], 2, ("either a version or --time",)),
    "missing key": (["forget", "banner", "ann"], 1, ('"keyed": true',)),
    "missing backup": (["restore", "/nowhere.backup", "--data", "new"], 1, ("/nowhere.backup",)),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder") / "data"
    done = run(["models", "create", "banner", '{"loop": "choose"}'], folder)
    assert done.stdout.startswith("Created model banner (learner: "), done.stderr
    return folder


def run(arguments: list[str], data: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SMIDGEN_STORE": str(data), "COLUMNS": "200", "TERMINAL_WIDTH": "200"}
    command = [sys.executable, "-m", "smidgen", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


@pytest.mark.parametrize("case", CASES)
def test_errors_name_the_value_and_a_fix(
    case: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, status, parts = CASES[case]
    monkeypatch.setattr("sys.argv", ["smidgen", *arguments])
    monkeypatch.setenv("SMIDGEN_STORE", str(data))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 200)
    with pytest.raises(SystemExit) as ended:
        cli.run()
    code = ended.value.code
    text = f"{code}\n" if isinstance(code, str) else ""  # Python prints a text and exits with 1
    found = capsys.readouterr().err + text
    assert (1 if text else code) == status, found
    assert all(part in found for part in parts), found


@pytest.mark.parametrize("case", ["unknown command", "unknown model"])
def test_a_process_exits_with_the_status_and_no_traceback(case: str, data: Path) -> None:
    arguments, status, parts = CASES[case]
    done = run(arguments, data)
    assert done.returncode == status, done.stdout + done.stderr
    assert all(part in done.stderr for part in parts), done.stderr
    assert "Traceback" not in done.stderr


def test_the_list_of_models_fits_80_columns(data: Path) -> None:
    run(["models", "create", "a-model-with-a-very-long-name-for-the-front-page", '{"loop": "rank"}'], data)
    command = [sys.executable, "-m", "smidgen", "models"]
    environment = {**os.environ, "SMIDGEN_STORE": str(data), "COLUMNS": "80"}
    listed = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=True).stdout
    assert "banner" in listed
    assert max(map(len, listed.splitlines())) <= 80
    assert "…" not in listed
