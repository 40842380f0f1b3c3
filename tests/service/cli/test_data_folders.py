"""Commands that create a data folder: a walk over every command with ``--data``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer.main

from smidgen.cli import app, run

#: Commands that create a data folder which does not exist.
CREATE = {"serve", "models create", "models import", "token create", "restore"}
#: Commands that work without one: doctor reports that ``serve`` will create it.
NEED_NONE = {"doctor"}
#: Arguments and options that a command cannot do without; all others are the word "a".
GIVEN = {
    "models create": ["a", '{"loop": "choose", "params": {"dim": 2}}'],
    "models import": ["a", "SAVED"],
    "restore": ["SAVED"],
    "rollback": ["a", "1"],
    "retain": ["a", "--older-than", "30d"],
    "replay": ["--model", "a", "--learner", "LinUCB"],
    "segments": ["a", "--by", "context.device"],
    "token create": ["--scope", "decide"],
}


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that takes the service's ``--data``, by the words that call it; that of papers is for data sets."""
    command = command or typer.main.get_command(app)
    for name, each in getattr(command, "commands", {}).items():
        if name != "papers":
            yield from commands(each, (*path, name))
    if path and any("--data" in parameter.opts for parameter in command.params):
        yield " ".join(path), command


def arguments(name: str, command: click.Command, saved: Path) -> list[str]:
    """Arguments with which the command would run, were there a data folder."""
    if name in GIVEN:
        return [str(saved) if each == "SAVED" else each for each in GIVEN[name]]
    wanted = [parameter for parameter in command.params if parameter.required]
    assert all(parameter.param_type_name == "argument" for parameter in wanted), f"say in GIVEN how to call {name}"
    return ["a"] * len(wanted)


def status_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    """Run a command as a shell does; its exit status, or the message that stands for status 1."""
    monkeypatch.setattr(sys, "argv", ["smidgen", *words])
    with pytest.raises(SystemExit) as ended:
        run()
    return ended.value.code


def test_the_walk_sees_the_commands() -> None:
    found = {name for name, _ in commands()}
    assert found >= CREATE | NEED_NONE
    assert {"forget", "models", "models copy", "rollback", "log verify", "fsck", "backup", "snapshot list"} <= found


@pytest.mark.parametrize("there", [False, True], ids=["no folder", "an empty folder"])
@pytest.mark.parametrize(("name", "command"), [each for each in commands() if each[0] not in CREATE | NEED_NONE])
def test_other_commands_exit_with_2_and_name_the_path(
    name: str,
    command: click.Command,
    there: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "nowhere" / "data"
    if there:
        folder.mkdir(parents=True)
    assert status_of(monkeypatch, *name.split(), *arguments(name, command, tmp_path), "--data", str(folder)) == 2
    said = capsys.readouterr().err
    assert str(folder) in said
    assert "Usage" not in said
    assert list(tmp_path.iterdir()) == ([folder.parent] if there else [])
    assert not there or list(folder.iterdir()) == []


def test_creating_commands_create_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("models create", "token create"):
        folder = tmp_path / name.replace(" ", "-")
        assert status_of(monkeypatch, *name.split(), *GIVEN[name], "--data", str(folder)) in (0, None)
        assert (folder / "smidgen.db").exists()


def test_the_doctor_looks_and_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status_of(monkeypatch, "doctor", "--data", str(tmp_path / "nowhere"), "--port", "0")
    assert list(tmp_path.iterdir()) == []
