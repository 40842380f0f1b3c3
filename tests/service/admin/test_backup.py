"""smidgen backup and smidgen restore: whole or not at all, of one moment, and a folder that a service starts on."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from service.bodies import decision_body, engine_with, play
from service.live import Live
from smidgen.cli import app
from smidgen.errors import CorruptFile, SmidgenError
from smidgen.service.admin import backup as backups
from smidgen.service.admin import backup as restoring
from smidgen.service.admin.backup import MANIFEST, Archive, backup, restore
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import StorageFailed
from smidgen.service.storage import crash_points
from smidgen.service.storage.data_dir import lock_folder

NAMES = ["rank", "tune", "keyed"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs, snapshots and states of keys."""
    folder = tmp_path_factory.mktemp("backup") / "data"
    engine = engine_with(folder, NAMES)
    play(engine, NAMES, 90, seed=1)
    engine.maintain(every=1)
    play(engine, NAMES, 30, seed=2)
    engine.close()
    return folder


@pytest.fixture(scope="module")
def written(original: Path) -> Path:
    """A backup of it."""
    path = original.parent / "first.backup"
    backup(path, original)
    return path


def bits(folder: Path) -> dict[str, Any]:
    """State that a service recovers: every learner's bytes, and the end of every log."""
    engine = Engine(folder, synchronous="OFF")
    keys: list[str | None] = [*engine.store.state_keys(engine.models["keyed"].shard)]
    found: dict[str, Any] = {
        name: [engine.learners.get(engine.models[name], key).learner.to_bytes() for key in places]
        for name, places in (("rank", [None]), ("tune", [None]), ("keyed", keys))
    }
    found["ends"] = {name: (model.seq, model.counts.chain, model.version) for name, model in engine.models.items()}
    engine.store.close()
    return found


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"}, catch_exceptions=False)


def content(file: tarfile.TarFile, name: str) -> bytes:
    found = file.extractfile(name)
    assert found is not None
    return found.read()


class TestBackAndForth:
    def test_a_restored_folder_goes_on_bit_for_bit(self, original: Path, written: Path, tmp_path: Path) -> None:
        done = restore(written, tmp_path / "deep" / "data", deep=True)
        assert done.moved is None
        assert done.report.sound
        assert bits(tmp_path / "deep" / "data") == bits(Path(shutil.copytree(original, tmp_path / "copy")))

    def test_any_tar_can_read_it(self, original: Path, written: Path) -> None:
        with tarfile.open(written, "r:") as file:
            names = file.getnames()
            manifest = json.loads(content(file, MANIFEST))
            assert names == [MANIFEST, *[each["name"] for each in manifest["files"]]]
            assert {"smidgen.db", "smidgen.db.heads"} < set(names)
            assert sum(name.startswith("snapshots/") for name in names) == 2, "the newest of each model without keys"
            for each in manifest["files"]:
                found = content(file, each["name"])
                assert (len(found), hashlib.sha256(found).hexdigest()) == (each["size"], each["sha256"])

    def test_the_commands(self, original: Path, tmp_path: Path) -> None:
        path, data = tmp_path / "b", tmp_path / "data"
        made = invoke("backup", path, "--data", original)
        assert made.exit_code == 0
        assert made.output.startswith(f"Wrote and verified {path}: 3 models, ")
        assert "No errors found." in invoke("restore", path, "--data", data).output
        again = invoke("restore", path, "--data", data, "--force")
        assert again.exit_code == 0
        (old,) = [each for each in tmp_path.iterdir() if each.name.startswith("data.replaced-")]
        assert f"Renamed the old folder to {old}." in again.output
        assert fsck(old).sound
        assert left(tmp_path) == {"b", "data", old.name}

    def test_while_the_service_runs_it_is_of_one_moment(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        engine_with(data, ["rank"]).close()
        with Live(data, "--snapshot-every", "20") as live:
            stop, sent = threading.Event(), [0]

            def write() -> None:
                rng = random.Random(1)
                with httpx.Client(base_url=live.url) as client:
                    while not stop.is_set():
                        made = client.post("/v1/models/rank/decisions", json=decision_body("rank", rng)).json()
                        body = {"clicked": [made["ranking"][1]]}
                        assert client.post(f"/v1/decisions/{made['decision']}/feedback", json=body).status_code == 200
                        sent[0] += 1

            writer = threading.Thread(target=write)
            writer.start()
            ends = []
            try:
                for count in range(4):
                    before = sent[0]
                    manifest = backup(tmp_path / f"b{count}", data)
                    assert 1 + 2 * before <= manifest.events <= 1 + 2 * sent[0] + 2
                    ends.append(manifest.events)
            finally:
                stop.set()
                writer.join()
        assert ends == sorted(ends)
        for count in range(4):
            restore(tmp_path / f"b{count}", tmp_path / f"r{count}", deep=True)
            engine = Engine(tmp_path / f"r{count}")
            assert engine.models["rank"].seq == ends[count]
            engine.store.close()

    def test_an_older_log_in_the_place_of_a_newer_one_starts(self, original: Path, tmp_path: Path) -> None:
        data = Path(shutil.copytree(original, tmp_path / "data"))
        backup(tmp_path / "b", data)
        known = bits(data)
        engine = Engine(data, synchronous="OFF")
        play(engine, NAMES, 60, seed=7)
        engine.close()
        newer = {name: end[0] for name, end in bits(data)["ends"].items()}
        done = restore(tmp_path / "b", data, force=True)
        assert bits(data) == known
        assert done.moved is not None
        assert {name: end[0] for name, end in bits(done.moved)["ends"].items()} == newer, "nothing was thrown away"
        with Live(data) as live:
            assert httpx.get(f"{live.url}readyz").status_code == 200

    def test_a_killed_folder_is_backed_up_without_being_touched(self, original: Path, tmp_path: Path) -> None:
        data = Path(shutil.copytree(original, tmp_path / "data"))
        engine = Engine(data, synchronous="OFF")
        play(engine, NAMES, 20, seed=3)
        killed = Path(shutil.copytree(data, tmp_path / "killed"))
        engine.store.close()
        before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in killed.rglob("*") if path.is_file()}
        backup(tmp_path / "b", killed)
        assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in killed.rglob("*") if p.is_file()}
        restore(tmp_path / "b", tmp_path / "r")
        assert bits(tmp_path / "r") == bits(killed)

    def test_an_empty_folder_may_be_there_already(self, written: Path, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        restore(written, tmp_path / "data")
        assert fsck(tmp_path / "data").sound

    def test_a_folder_without_models(self, tmp_path: Path) -> None:
        Engine(tmp_path / "data").close()
        assert backup(tmp_path / "b", tmp_path / "data").models == 0
        restore(tmp_path / "b", tmp_path / "r")
        assert fsck(tmp_path / "r").sound


class TestRefused:
    def test_a_folder_that_is_not_sound_is_not_backed_up_over_a_good_backup(
        self, original: Path, tmp_path: Path
    ) -> None:
        data = Path(shutil.copytree(original, tmp_path / "data"))
        backup(tmp_path / "b", data)
        good = (tmp_path / "b").read_bytes()
        with closing(sqlite3.connect(data / "smidgen.db")) as connection:
            connection.execute("UPDATE events SET at = 0 WHERE seq = 3")
            connection.commit()
        with pytest.raises(StorageFailed, match="has errors, so no backup was written"):
            backup(tmp_path / "b", data)
        assert (tmp_path / "b").read_bytes() == good
        assert left(tmp_path) == {"b", "data"}

    def test_a_file_that_is_no_backup_is_not_overwritten(self, original: Path, tmp_path: Path) -> None:
        data = Path(shutil.copytree(original, tmp_path / "data"))
        for path in (data / "smidgen.db", data):
            with pytest.raises(StorageFailed, match="is not a backup"):
                backup(path, data)
        assert fsck(data).sound

    def test_places_that_are_not_there(self, original: Path, written: Path, tmp_path: Path) -> None:
        with pytest.raises(StorageFailed, match="there is no database"):
            backup(tmp_path / "b", tmp_path)
        with pytest.raises(StorageFailed, match="cannot be written to"):
            backup(tmp_path / "nowhere" / "b", original)
        with pytest.raises(StorageFailed, match="cannot be restored"):
            restore(tmp_path / "nowhere", tmp_path / "data")
        (tmp_path / "file").touch()
        with pytest.raises(StorageFailed, match="is not a folder"):
            restore(written, tmp_path / "file")
        assert left(tmp_path) == {"file"}

    def test_a_folder_that_is_not_empty(self, written: Path, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "notes.txt").touch()
        with pytest.raises(StorageFailed, match="is not empty"):
            restore(written, tmp_path / "data")
        assert left(tmp_path / "data") == {"notes.txt"}

    def test_a_folder_that_a_service_uses(self, written: Path, tmp_path: Path) -> None:
        with lock_folder(tmp_path / "data"), pytest.raises(StorageFailed, match="another service is using"):
            restore(written, tmp_path / "data", force=True)
        assert left(tmp_path) == {"data"}

    def test_a_disk_that_is_too_small(self, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage(tmp_path)._replace(free=1000)
        monkeypatch.setattr(restoring.shutil, "disk_usage", lambda _: usage)
        with pytest.raises(StorageFailed, match=r"needs .* bytes and .* has 1,000"):
            restore(written, tmp_path / "data")

    def test_content_that_is_not_sound_is_not_put_back(self, original: Path, tmp_path: Path) -> None:
        data = Path(shutil.copytree(original, tmp_path / "data"))
        with closing(sqlite3.connect(data / "smidgen.db")) as connection:
            connection.execute("UPDATE shards SET late = 9")
            connection.commit()
        (tmp_path / "b").write_bytes(packed({"smidgen.db": (data / "smidgen.db").read_bytes()}))
        with pytest.raises(StorageFailed, match=r"has errors, so nothing was restored: model rank: 9 late"):
            restore(tmp_path / "b", tmp_path / "r")
        assert left(tmp_path) == {"b", "data"}


def packed(files: dict[str, bytes], change: Callable[[dict[str, Any]], None] = lambda manifest: None) -> bytes:
    """A backup by hand, whose manifest fits unless it is changed."""
    entries = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    ]
    manifest = {"smidgen_backup": 1, "version": "x", "made_at": "x", "models": 0, "events": 0, "files": entries}
    change(manifest)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in {MANIFEST: json.dumps(manifest).encode(), **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()[: _end(manifest, files)] + bytes(1024)


def _end(manifest: dict[str, Any], files: dict[str, bytes]) -> int:
    sizes = [len(json.dumps(manifest).encode()), *map(len, files.values())]
    return sum(512 + size + -size % 512 for size in sizes)


def entry(name: str, type: bytes, link: str = "", size: int = 0) -> bytes:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = type, link, size
    return made.tobuf(tarfile.GNU_FORMAT)


DATABASE = b"x" * 700
GOOD = packed({"smidgen.db": DATABASE})
AFTER_MANIFEST = _end(msgspec.json.decode(GOOD[512 : GOOD.index(b"\0", 512)]), {})


def grown(manifest: dict[str, Any]) -> None:
    manifest["files"][0]["size"] = 1 << 50


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "zeros": bytes(10_240),
    "text": b"hello" * 1000,
    "gzip": b"\x1f\x8b\x08" + bytes(1000),
    "cut in the manifest": GOOD[:600],
    "cut in the database": GOOD[: AFTER_MANIFEST + 800],
    "cut at the end": GOOD[:-512],
    "more at the end": GOOD + b"x",
    "another file at the end": GOOD[:-1024] + entry("x", tarfile.REGTYPE) + bytes(1024),
    "a path upwards": packed({"smidgen.db": DATABASE, "../evil": b"x"}),
    "a path from the root": packed({"smidgen.db": DATABASE, "/tmp/evil": b"x"}),
    "a path upwards among the snapshots": packed({"smidgen.db": DATABASE, "snapshots/1/../../evil": b"x"}),
    "another file": packed({"smidgen.db": DATABASE, "evil.py": b"x"}),
    "a file twice": packed({"smidgen.db": DATABASE}, lambda m: m["files"].append(m["files"][0])),
    "no database": packed({"smidgen.db.heads": b"x"}),
    "no files": packed({}),
    "a digest that is wrong": packed({"smidgen.db": DATABASE}, lambda m: m["files"][0].update(sha256="0" * 64)),
    "a size that is wrong": packed({"smidgen.db": DATABASE}, lambda m: m["files"][0].update(size=699)),
    "a size beyond the file": packed({"smidgen.db": DATABASE}, grown),
    "a size below nothing": packed({"smidgen.db": DATABASE}, lambda m: m["files"][0].update(size=-1)),
    "a later format": packed({"smidgen.db": DATABASE}, lambda m: m.update(smidgen_backup=2)),
    "no manifest": packed({"smidgen.db": DATABASE})[AFTER_MANIFEST:],
    "a manifest that is no object": entry(MANIFEST, tarfile.REGTYPE, size=2) + b"[]" + bytes(510) + bytes(1024),
    "a manifest of a terabyte": entry(MANIFEST, tarfile.REGTYPE, size=1 << 40) + b"{}" + bytes(2000),
    "a manifest that is nested": entry(MANIFEST, tarfile.REGTYPE, size=51_200) + b"[" * 51_200 + bytes(1024),
    "a link for the database": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.LNKTYPE, "manifest.json"),
    "a device": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.CHRTYPE),
    "a fifo": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.FIFOTYPE),
    "a folder": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.DIRTYPE),
    "a sparse file": GOOD[:AFTER_MANIFEST] + entry("smidgen.db", tarfile.GNUTYPE_SPARSE, size=700),
    "long names, one after the other": (entry("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=10) + bytes(512)) * 5000,
    "an extended header": entry("x", tarfile.XHDTYPE, size=600) + bytes(1024) + GOOD,
    "something between": GOOD[: AFTER_MANIFEST + 512 + 700] + b"hidden" + GOOD[AFTER_MANIFEST + 512 + 706 :],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused_and_write_nothing(what: str, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(HOSTILE[what])
    with pytest.raises(CorruptFile, match="is not a usable backup"):
        restore(tmp_path / "b", tmp_path / "place" / "data")
    assert left(tmp_path) <= {"b", "place"}
    assert not (tmp_path / "place").exists() or left(tmp_path / "place") == set()


def test_what_is_packed_by_hand_is_one_otherwise(tmp_path: Path) -> None:
    """Else the test above would show nothing."""
    (tmp_path / "b").write_bytes(GOOD)
    with (tmp_path / "b").open("rb") as file:
        Archive(file, "b").verify(lambda count: None)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_a_damaged_backup_is_never_taken_for_a_good_one(
    place: float, bit: int, cut: bool, written: Path, tmp_path: Path
) -> None:
    content = bytearray(written.read_bytes())
    at = int(place * len(content))
    if cut:
        del content[at:]
    else:
        content[at] ^= 1 << bit
    path = tmp_path / "b"
    path.write_bytes(content)
    try:
        with path.open("rb") as file:
            archive = Archive(file, "b")
            whole = {each.name: b"".join(parts) for each, parts in archive.parts()}
    except SmidgenError:
        return
    with written.open("rb") as file:  # the damage was in a field that says nothing: an owner, a date, a version
        assert whole == {each.name: b"".join(parts) for each, parts in Archive(file, "b").parts()}


def killed_at(point: str, work: Callable[[], object]) -> None:
    """Do it in a child that dies at that point."""
    child = os.fork()
    if child == 0:
        try:
            crash_points.arm(point)
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, f"{point} was not passed"


class TestKilled:
    @pytest.mark.parametrize("old", [False, True])
    @pytest.mark.parametrize("point", [point for point in crash_points.KEEPING if point.startswith("backup")])
    def test_during_a_backup(self, point: str, old: bool, original: Path, written: Path, tmp_path: Path) -> None:
        path = tmp_path / "b"
        if old:
            shutil.copy(written, path)
        killed_at(point, lambda: backup(path, original))
        if path.exists():
            restore(path, tmp_path / "r")
            assert fsck(tmp_path / "r").sound
        assert path.exists() == (old or point == "backup-renamed")
        hidden = {name for name in left(tmp_path) if name.endswith(".aside")}
        assert len(hidden) == 1
        backup(path, original)
        assert not {name for name in left(tmp_path) if name.endswith(".aside")}, "what was left over is gone"
        assert fsck(original).sound

    @pytest.mark.parametrize("old", [False, True])
    @pytest.mark.parametrize("point", ["restore-part:1", "restore-part:3", "restore-checked", "restore-put"])
    def test_during_a_restore(self, point: str, old: bool, written: Path, tmp_path: Path) -> None:
        data = tmp_path / "data"
        if old:
            engine = engine_with(data, ["rank"])
            play(engine, ["rank"], 10, seed=5)
            engine.close()
        before = models(data)
        killed_at(point, lambda: restore(written, data, force=True))
        done = point == "restore-put"
        assert models(data) == (set(NAMES) if done else before)
        assert not data.exists() or fsck(data).sound
        restore(written, data, force=True)
        assert models(data) == set(NAMES)
        assert not {name for name in left(tmp_path) if name.endswith(".aside")}, "what was left over is gone"
        kept = [models(path) for path in tmp_path.glob("data.replaced-*")]
        assert len(kept) == (old or done) + (old and done)
        assert not old or {"rank"} in kept, "the old folder is never thrown away"


def models(folder: Path) -> set[str] | None:
    if not folder.exists():
        return None
    engine = Engine(Path(shutil.copytree(folder, folder.with_name("looked at"))))
    found = set(engine.models)
    engine.store.close()
    shutil.rmtree(folder.with_name("looked at"))
    return found


def test_who_is_at_work_is_not_swept_away(tmp_path: Path) -> None:
    with backups.staging_dir(tmp_path, "b") as first:
        with backups.staging_dir(tmp_path, "b") as second:
            assert first.is_dir()
            assert second.is_dir()
        assert first.is_dir()
    assert left(tmp_path) == set()


def test_where_folders_cannot_be_exchanged_at_once(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_with(tmp_path / "data", ["rank"]).close()
    monkeypatch.setattr(restoring, "swap_dirs", lambda one, other: False)
    done = restore(written, tmp_path / "data", force=True)
    assert models(tmp_path / "data") == set(NAMES)
    assert done.moved is not None
    assert models(done.moved) == {"rank"}
    assert left(tmp_path) == {"data", done.moved.name}


def test_a_disk_of_its_own(written: Path, tmp_path: Path) -> None:
    """A container's volume cannot be renamed: the files come one by one, the database last."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        tried = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=9m,mode=0755", "tmpfs", str(disk)], capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if tried.returncode:
        pytest.skip(f"no disk can be mounted: {tried.stderr.decode().strip()}")
    try:
        (disk / "lost+found").mkdir()
        for point in ("restore-part", "restore-moved:1", "restore-moved:2"):
            killed_at(point, lambda: restore(written, disk))
            if point == "restore-part":
                continue
            with pytest.raises(StorageFailed, match="belongs to it and is still there"):
                Engine(disk)
            for name in left(disk) - {"lost+found"}:
                shutil.rmtree(disk / name) if (disk / name).is_dir() else (disk / name).unlink()
        restore(written, disk)
        assert left(disk) == {"smidgen.db", "smidgen.db.heads", "snapshots", "lost+found"}
        assert fsck(disk).sound
        with pytest.raises(StorageFailed, match="is a mount point and not empty"):
            restore(written, disk, force=True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
