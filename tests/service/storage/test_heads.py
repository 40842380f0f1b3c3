"""The heads next to the database: the start detects the loss of acknowledged events."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from service.bodies import engine_with, play
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import StorageFailed
from smidgen.service.storage.snapshots import NAME, Head, Heads


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A folder as a crash leaves it: part of the log is in the write-ahead file."""
    folder, copy = tmp_path / "data", tmp_path / "copy"
    engine = engine_with(folder, ["rank", "tune"])
    play(engine, ["rank", "tune"], 30, seed=1)
    shutil.copytree(folder, copy)
    engine.store.close()
    return copy


def events(folder: Path) -> int:
    engine = Engine(folder)
    count = sum(model.seq for model in engine.models.values())
    engine.store.close()
    return count


def test_the_heads_are_where_the_log_ends(played: Path) -> None:
    engine = Engine(played)
    heads = Heads(played).read()
    assert heads == {model.shard: Head(model.seq, model.counts.chain) for model in engine.models.values()}
    engine.store.close()


def test_without_its_wal_file_the_service_does_not_start(played: Path) -> None:
    whole = events(Path(shutil.copytree(played, played.parent / "whole")))
    (played / "smidgen.db-wal").unlink()
    with pytest.raises(StorageFailed, match="acknowledged events are lost") as caught:
        Engine(played)
    assert str(played / NAME) in caught.value.hint
    (played / NAME).unlink()  # the remedy for operators who accept the loss
    assert events(played) < whole


def test_a_deleted_database_does_not_start_empty(played: Path) -> None:
    for name in ("smidgen.db", "smidgen.db-wal", "smidgen.db-shm"):
        (played / name).unlink()
    with pytest.raises(StorageFailed, match=r"the database smidgen\.db is missing in .*: smidgen\.db\.heads"):
        Engine(played)
    assert not (played / "smidgen.db").exists(), "and none was made"
    (played / "smidgen.db").touch()  # nor is an empty one taken for a new one
    with pytest.raises(StorageFailed, match=r"of the model number \d is missing"):
        Engine(played)


def test_an_older_copy_that_went_on_is_another_log(played: Path) -> None:
    shutil.copytree(played, played.parent / "older")
    for seed, folder in ((2, played), (3, played.parent / "older")):
        engine = Engine(folder, synchronous="OFF")
        play(engine, ["rank", "tune"], 20, seed)
        engine.store.close()
    shutil.copy(played / NAME, played.parent / "older" / NAME)
    with pytest.raises(StorageFailed, match=r"(is another one|is missing) in the database"):
        Engine(played.parent / "older")


def test_a_head_that_is_behind_is_normal(played: Path) -> None:
    before = (played / NAME).read_bytes()
    engine = Engine(played, synchronous="OFF")
    play(engine, ["rank", "tune"], 20, seed=2)
    engine.store.close()
    (played / NAME).write_bytes(before)
    count = events(played)
    (played / NAME).unlink()
    assert events(played) == count


@pytest.mark.parametrize("cut", [1, 31, 33, 64, 70])
def test_a_torn_record_says_nothing(cut: int, played: Path) -> None:
    content = (played / NAME).read_bytes()
    (played / NAME).write_bytes(content[:cut])
    assert len(Heads(played).read()) == (cut >= 64)
    (played / NAME).write_bytes(content[:cut] + b"\0" + content[cut + 1 :])
    assert events(played) > 0


def test_a_head_that_cannot_be_written_costs_nobody_his_answer(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    engine.store.close()
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with pytest.raises(StorageFailed, match=r"smidgen\.db\.heads cannot be read: Is a directory"):
        Engine(tmp_path)
    (tmp_path / NAME).rmdir()
    engine = Engine(tmp_path, synchronous="OFF")
    assert (tmp_path / NAME).is_file(), "a start writes what nobody has"
    engine.store.close()
    engine = Engine(tmp_path, synchronous="OFF")
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    play(engine, ["rank"], 5, seed=1)
    assert engine.models["rank"].decisions == 5
    engine.store.close()


def test_an_undone_command_is_undone_on_disk_too(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    engine.begin()
    engine.run_in_savepoint(lambda: engine.archive("rank"))
    with pytest.raises(ZeroDivisionError):
        engine.run_in_savepoint(lambda: engine.store.append(1, "rumour", 0.0, b"") / 0)
    engine.commit()
    engine.store.close()
    connection = sqlite3.connect(tmp_path / "smidgen.db")
    found = connection.execute("SELECT seq, type FROM events ORDER BY seq").fetchall()
    connection.close()
    assert found == [(1, "created"), (2, "archived")]
