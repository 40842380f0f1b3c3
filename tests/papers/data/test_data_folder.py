"""Finding the data, and saying what is missing."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from smidgen.errors import DataMissing, InvalidArgument, SmidgenError
from smidgen_papers.data import available, data_folder, fingerprint, require, sets


def test_the_folder_that_is_named_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMIDGEN_PAPERS_DATA", raising=False)
    monkeypatch.setenv("SMIDGEN_DATA", str(tmp_path / "by-old-name"))
    assert data_folder() == tmp_path / "by-old-name"
    monkeypatch.setenv("SMIDGEN_PAPERS_DATA", str(tmp_path / "by-variable"))
    assert data_folder() == tmp_path / "by-variable"
    assert data_folder(tmp_path) == tmp_path


def test_a_folder_next_to_the_current_one_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMIDGEN_DATA", raising=False)
    monkeypatch.delenv("SMIDGEN_PAPERS_DATA", raising=False)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    found = data_folder()
    assert found is not None
    assert found.samefile(tmp_path / "shared" / "data")


def test_plain_files_stand_for_packed_ones(tmp_path: Path) -> None:
    (tmp_path / "uci").mkdir()
    assert not available("kin8nm", tmp_path)
    with gzip.open(tmp_path / "uci" / "kin8nm.csv.gz", "wb") as file:
        file.write(b"a,y\n1,2\n")
    packed = fingerprint("kin8nm", tmp_path)
    (tmp_path / "uci" / "kin8nm.csv.gz").unlink()
    (tmp_path / "uci" / "kin8nm.csv").write_bytes(b"a,y\n1,2\n")
    assert require("kin8nm", tmp_path) == [tmp_path / "uci" / "kin8nm.csv"]
    assert fingerprint("kin8nm", tmp_path) == packed
    assert len(packed) == 16


def test_the_fingerprint_follows_the_bytes(tmp_path: Path) -> None:
    file = tmp_path / "uci" / "kin8nm.csv"
    file.parent.mkdir()
    file.write_text("a,y\n1,2\n")
    before = fingerprint("kin8nm", tmp_path)
    file.write_text("a,y\n1,2.5\n")
    assert fingerprint("kin8nm", tmp_path) != before


@pytest.mark.parametrize("name", sets)
def test_what_is_missing_is_reported_with_a_hint(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissing) as refusal:
        require(name, tmp_path)
    assert isinstance(refusal.value, FileNotFoundError)
    message = str(refusal.value)
    assert all(part in message for part in (*sets[name].files, sets[name].source, "SMIDGEN_PAPERS_DATA", str(tmp_path)))


def test_no_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smidgen_papers.data.folder.data_folder", lambda path=None: None)
    assert not available("kin8nm")
    with pytest.raises(DataMissing, match="no data folder is known"):
        require("kin8nm")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="choose one of mq2008"):
        available("mnist")


def test_the_catalogue_is_complete() -> None:
    for name, data in sets.items():
        assert data.name == name
        assert all((data.files, data.what, data.source, data.terms, data.differs))
    assert issubclass(DataMissing, SmidgenError)


def test_the_service_goes_by_neither_name() -> None:
    """Whose variable still has the old name must not find a service in the folder of the papers' data."""
    import smidgen.service

    pytest.importorskip("typer")
    from typer.main import get_command

    from smidgen.cli import app

    def variables(command: Any) -> set[str]:
        inner = (variables(each) for each in getattr(command, "commands", {}).values())
        return {str(parameter.envvar) for parameter in command.params}.union(*inner)

    commands = getattr(get_command(app), "commands", {})
    assert "serve" in commands
    for name, command in commands.items():
        if name != "papers":
            assert variables(command).isdisjoint({"SMIDGEN_DATA", "SMIDGEN_PAPERS_DATA"}), name
    room = Path(str(smidgen.service.__file__)).parent
    for path in room.rglob("*.py"):
        assert '"SMIDGEN_DATA"' not in path.read_text(), path
