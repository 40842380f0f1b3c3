"""Permissions of a data folder: only its owner may read it, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.bodies import engine_with, play
from service.live import Live
from smidgen.service.admin.backup import backup, restore
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import open_for_change
from smidgen.service.storage import data_dir
from smidgen.service.storage.data_dir import lock_folder


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def all_modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): mode(path) for path in (folder, *folder.rglob("*"))}


def right(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): 0o700 if path.is_dir() else 0o600 for path in (folder, *folder.rglob("*"))}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_everything_in_the_folder_is_for_its_owner_only(mask: int, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with umask(mask), lock_folder(folder):
        engine = engine_with(folder, ["rank", "keyed"])
        play(engine, ["rank", "keyed"], 10, seed=1)
        engine.maintain(every=1)
        assert {"lock", "smidgen.db", "smidgen.db-wal", "smidgen.db-shm", "smidgen.db.heads"} <= set(os.listdir(folder))
        assert len(list((folder / "snapshots").rglob("*.smidgen"))) == 1
        assert all_modes(folder) == right(folder)
        backup(tmp_path / "backup", folder)
        engine.close()
        restore(tmp_path / "backup", tmp_path / "restored")
    assert mode(tmp_path / "backup") == 0o600
    assert all_modes(folder) == right(folder)
    assert all_modes(tmp_path / "restored") == right(tmp_path / "restored")


def test_a_folder_that_others_can_open_is_closed_at_the_start_and_said_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    engine = engine_with(folder, ["rank"])
    play(engine, ["rank"], 10, seed=1)
    engine.close()
    (folder / "notes.txt").write_text("not ours")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Live(folder) as live:
        assert all_modes(folder) == {**right(folder), "notes.txt": 0o644}
        _, _, errors = live.stop()
    (line,) = (line for line in errors.splitlines() if "could open" in line)
    assert line.endswith(f"warning others could open {folder} (and 5 more); it is for its owner only now")
    assert data_dir.exposed_paths(folder) == []


def test_a_stricter_mode_is_kept(tmp_path: Path) -> None:
    engine_with(tmp_path / "data", ["rank"]).close()
    (tmp_path / "data" / "smidgen.db").chmod(0o640)
    (tmp_path / "data" / "smidgen.db.heads").chmod(0o400)
    Engine(tmp_path / "data").store.close()
    assert (mode(tmp_path / "data" / "smidgen.db"), mode(tmp_path / "data" / "smidgen.db.heads")) == (0o600, 0o400)


def test_a_folder_that_is_everybodys_is_left_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.chmod(0o1777)
    Engine(tmp_path).store.close()
    assert mode(tmp_path) == 0o1777
    assert mode(tmp_path / "smidgen.db") == 0o600
    assert f"others can open {tmp_path}; give the data a folder of its own" in caplog.text
    assert len(caplog.records) == 1


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x")
    elsewhere.chmod(0o644)
    engine_with(tmp_path / "data", ["rank"]).close()
    (tmp_path / "data" / "snapshots" / "1" / "link.smidgen").symlink_to(elsewhere)
    (tmp_path / "data" / "smidgen-link.db").symlink_to(elsewhere)
    Engine(tmp_path / "data").store.close()
    assert mode(elsewhere) == 0o644


def test_a_token_makes_a_folder_that_is_closed_too(tmp_path: Path) -> None:
    with umask(0), open_for_change(tmp_path / "new" / "data"):
        pass
    assert all_modes(tmp_path / "new" / "data") == right(tmp_path / "new" / "data")


def test_a_file_in_the_way_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(FileExistsError):
        data_dir.make_folder(tmp_path / "data")
