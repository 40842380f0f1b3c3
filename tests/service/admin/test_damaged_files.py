"""Data folders with damage of any kind: each command says what is wrong and what helps, or works on sound data.

Nothing is silently wrong: a folder that ``smidgen fsck --deep`` calls sound exports the log that it had.
"""

from __future__ import annotations

import random
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from service.bodies import MODELS, Clock, feedback_body, model, play, request
from service.damage import BYTES, change_row
from smidgen.cli import run
from smidgen.errors import SmidgenError
from smidgen.service.admin.backup import backup, restore
from smidgen.service.admin.fsck import FsckReport, fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection, open_for_change
from smidgen.service.engine.log_sources import source_of
from smidgen.service.engine.rebuild import rebuild_all
from smidgen.service.errors import LogDamaged, StorageFailed
from smidgen.service.http.auth import create
from smidgen.service.integrations.exports import Span, lines

NAMES = ("rank", "newcomers", "banner")
#: Seconds that one command may take, and megabytes that all of them together may add to the process.
TIME, MEMORY = 20, 300
_OFFER = {"candidates": [{"id": "a", "features": {"x": 1.0}}, {"id": "b", "features": {"x": 2.0, "kind": "k"}}]}
Log = dict[str, list[bytes]]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small folder with most kinds of rows: keys, one that was forgotten, silence, a rollback, snapshots, a token."""
    folder, clock = tmp_path_factory.mktemp("damage") / "stopped", Clock()
    engine = Engine(folder, clock=clock, synchronous="OFF")
    for name in NAMES[:2]:
        engine.create(name, model(MODELS[name]))
    engine.create("banner", model({"loop": "choose", "default_reward": 0.0, "window_s": 10.0}))
    for seed in (1, 2):
        play(engine, list(NAMES[:2]), 12, seed)
        for turn in range(4):
            made = engine.decide("banner", request(_OFFER))
            if turn % 2:
                engine.feedback(made["decision"], feedback_body(reward=0.5))
            clock.now += 8.0
            engine.sweep_all()
        if seed == 1:
            engine.maintain(every=1)
            keys = engine.store.query("keys", engine.models["newcomers"].shard, prefix="", limit=1)
            engine.forget("newcomers", keys[0][0])
    engine.roll_back("banner", 2)
    engine.close()
    with open_for_change(folder) as store:
        create(store, ["decide", "feedback"], "rank", 1e9)
    return folder


@pytest.fixture(scope="module")
def killed(stopped: Path) -> Path:
    """The folder as a kill leaves it: part of the log is in the write-ahead file."""
    place = stopped.with_name("killed")
    shutil.copytree(stopped, running := stopped.with_name("running"))
    engine = Engine(running, synchronous="OFF")
    play(engine, ["rank", "newcomers"], 8, seed=3)
    shutil.copytree(running, place)
    engine.store.close()
    return place


@contextmanager
def within(seconds: int, what: object) -> Iterator[None]:
    """Fail if it takes longer: nothing may hang."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it takes more than {seconds} s: {what}")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def export(folder: Path) -> Log:
    """Output of ``smidgen log export`` for each model."""
    with Inspection(folder) as seen:
        found = {}
        for each in seen.models():
            recording = source_of(seen, each)
            found[each.name] = list(lines(recording, Span()))
            if recording.gaps:
                raise LogDamaged(recording.gaps[0], "restore a backup")
        return found


def replay(folder: Path) -> None:
    """The work of ``smidgen log replay``."""
    with Inspection(folder) as seen:
        for each in seen.models():
            rebuild_all(source_of(seen, each))


def start(folder: Path) -> None:
    """Start on a copy and decide, as a service does."""
    shutil.rmtree(copy := folder.with_name("started"), ignore_errors=True)
    shutil.copytree(folder, copy)
    engine = Engine(copy, synchronous="OFF")
    try:
        engine.decide("banner", request(_OFFER))
        engine.decide("rank", request({"candidates": [{"id": "d", "features": {"a": 1.0}}]}))
    finally:
        engine.close()


def back_up(folder: Path) -> None:
    """Write a backup, and restore it."""
    backup(folder.with_name("file"), folder)
    shutil.rmtree(put := folder.with_name("put"), ignore_errors=True)
    restore(folder.with_name("file"), put)
    assert fsck(put).blocking_findings == []


COMMANDS: tuple[Callable[[Path], object], ...] = (export, replay, start, back_up)


def tried(command: Callable[[Path], object], folder: Path, what: object) -> object:
    """Result of a command, or its error; any other exception fails the test."""
    with within(TIME, (command.__name__, what)):
        try:
            return command(folder)
        except SmidgenError as error:
            refusal = error
    hint = refusal.hint if isinstance(refusal, StorageFailed) else ""
    assert "free some space" not in hint, (what, refusal)
    assert "who may read" not in hint, (what, refusal)
    return refusal


def damaged(source: Path, folder: Path, seed: int) -> object:
    """A copy of a folder with one thing wrong; what it is."""
    rng = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    if rng.random() < 0.3:
        return seed, change_row(folder / "smidgen.db", rng)
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each.stat().st_size)
    files = [each for each in files if each.suffix != ".db-shm"]  # SQLite's own, and of no process that lives
    file = folder / "smidgen.db" if rng.random() < 0.7 else rng.choice(files)
    content, damage = bytearray(file.read_bytes()), rng.choice(BYTES)
    damage(content, rng)
    file.write_bytes(content)
    return seed, file.name, damage.__name__


def check(source: Path, log: Log, folder: Path, seed: int) -> bool:
    """Damage a folder and try everything on it; whether it is sound."""
    what = damaged(source, folder, seed)

    def deep(folder: Path) -> FsckReport:
        return fsck(folder, deep=True)

    report = tried(deep, folder, what)
    assert isinstance(report, FsckReport), (what, report)  # it reports what is wrong, and does not refuse
    assert report.sound == (not report.findings)
    for finding in report.findings:
        assert finding.where, what
        assert finding.hint, what
        assert "cannot be reached" not in finding.problem, (what, finding)
        assert "free some space" not in finding.hint, (what, finding)
    if report.sound and "models SET name" not in str(what):  # a name is not part of the log
        assert tried(export, folder, what) == log, what
    tried(COMMANDS[seed % len(COMMANDS)], folder, what)
    return report.sound


def checked(sources: list[Path], folder: Path, seeds: range) -> int:
    """Damage a number of folders; return how many of them are healthy all the same."""
    logs = {source: export(source) for source in sources}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sound = sum(check(source := sources[seed % 2], logs[source], folder, seed) for seed in seeds)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < MEMORY
    return sound


def test_without_damage_everything_works(stopped: Path, killed: Path, tmp_path: Path) -> None:
    for source in (stopped, killed):
        shutil.copytree(source, folder := tmp_path / source.name / "data")
        assert fsck(folder, deep=True).findings == []
        for command in COMMANDS:
            assert not isinstance(tried(command, folder, source), SmidgenError)


def test_some_damage(stopped: Path, killed: Path, tmp_path: Path) -> None:
    sound = checked([stopped, killed], tmp_path / "data", range(60))
    assert 3 < sound < 36, "there is damage that matters, and damage in unused parts"


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 6_000, 500))
def test_thousands_of_damages(start: int, stopped: Path, killed: Path, tmp_path: Path) -> None:
    checked([stopped, killed], tmp_path / "data", range(start, start + 500))


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_backup_is_not_restored(seed: int, stopped: Path, tmp_path: Path) -> None:
    backup(file := tmp_path / "file", stopped)
    content, rng = bytearray(before := file.read_bytes()), random.Random(seed)
    BYTES[seed % len(BYTES)](content, rng)
    file.write_bytes(content)
    if bytes(content) == before:
        pytest.skip("a page was exchanged with itself")
    with within(TIME, seed), pytest.raises(SmidgenError, match="file"):
        restore(file, tmp_path / "put")
    assert not (tmp_path / "put").exists()


@pytest.mark.parametrize(
    "command", ["serve --port 0", "fsck", "fsck --deep", "backup FILE", "log export rank", "models"]
)
def test_half_a_database(
    command: str, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file or its folder, says that it is damaged, and what to do."""
    shutil.copytree(stopped, data := tmp_path / "data")
    file = data / "smidgen.db"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    words = command.replace("FILE", str(tmp_path / "file")).split()
    monkeypatch.setattr(sys, "argv", ["smidgen", *words, "--data", str(data)])
    with pytest.raises(SystemExit) as ended:
        run()
    said = f"{ended.value.code}\n{capsys.readouterr().err}"
    assert str(data) in said
    assert "malformed" in said
    assert "restore a backup: smidgen restore FILE --force" in said
    assert "Traceback" not in said


def test_shards_of_any_number_cost_nothing(stopped: Path, tmp_path: Path) -> None:
    """Heads are kept at the place of a shard's number; one that is damaged does not make a file of gigabytes."""
    import sqlite3

    shutil.copytree(stopped, data := tmp_path / "data")
    with sqlite3.connect(data / "smidgen.db") as connection:
        for table, column in (("shards", "id"), ("events", "shard"), ("decisions", "shard")):
            connection.execute(f"UPDATE {table} SET {column} = 1000000001 WHERE {column} = 1")
    connection.close()
    with within(TIME, "fsck"):
        assert "its number 1000000001 is out of range" in {each.problem for each in fsck(data).findings}
    with within(TIME, "backup"), pytest.raises(StorageFailed, match="has errors"):
        backup(tmp_path / "file", data)
    with within(TIME, "start"):
        tried(start, data, "a shard of a large number")
    assert sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file()) < 50 << 20


def test_a_file_that_is_cut_anywhere(stopped: Path, tmp_path: Path) -> None:
    """Not sound, unless only unused bytes at its end are gone."""
    shutil.copytree(stopped, data := tmp_path / "data")
    file, rng, log = data / "smidgen.db", random.Random(1), export(stopped)
    whole = file.read_bytes()
    lengths = [0, 1, 99, 100, 512, 4095, 4096, 8192, len(whole) - 4096]
    for length in (*lengths, *(rng.randrange(len(whole)) for _ in range(20)), len(whole) - 1):
        file.write_bytes(whole[:length])
        report = tried(fsck, data, length)
        assert isinstance(report, FsckReport), length
        if report.sound:
            assert whole[length:].strip(b"\0") == b"", length
            assert export(data) == log
        elif length < len(whole) - 4096:  # else a single row may be damaged, and that is what it says
            assert report.findings[0].where == "smidgen.db", (length, report.findings)
            assert "restore a backup" in report.findings[0].hint, (length, report.findings)
