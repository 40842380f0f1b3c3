"""The shim and the model of a disk do what they say; otherwise the tests with them would show nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.faults.journal import Change, Kind, read
from service.faults.power import SECTOR, Disk
from service.faults.shim import Action, Control, Files

ARM = "import ctypes, os, sys; ctypes.CDLL(None).smidgen_faults_arm(*(a.encode() for a in sys.argv[1:4]));"
WORK = """
from pathlib import Path
root = Path(sys.argv[1])
(root / "snapshots").mkdir()
with (root / "snapshots" / "aside").open("wb") as file:
    file.write(b"s" * 3000)
    file.flush()
    os.fsync(file.fileno())
(root / "snapshots" / "aside").replace(root / "snapshots" / "1.smidgen")
handle = os.open(root / "x.db-wal", os.O_RDWR | os.O_CREAT)
os.pwrite(handle, b"a" * 2000, 0)
os.fdatasync(handle)
os.pwrite(handle, b"b" * 1000, 1500)
os.ftruncate(handle, 2200)
with (root / "old").open("a") as file:
    file.write("more")
with (root / "short").open("w") as file:
    file.write("new")
os.unlink(root / "gone")
os.link(root / "old", root / "second")
folder = os.open(root, os.O_RDONLY)
os.unlink("also gone", dir_fd=folder)
if "sync" in sys.argv:
    os.fsync(folder)
"""


class Place:
    """A folder, and processes that work in it with the shim."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.root = folder / "disk"
        self.root.mkdir()
        self.journal = folder / "journal"
        self.control = Control(folder / "control")
        self._library = library

    def run(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = [str(self.root), str(self.journal), str(self.control.path)]
        return subprocess.run(
            [sys.executable, "-c", ARM + code, *places, *arguments],
            env={**os.environ, "LD_PRELOAD": str(self._library)},
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path, library: Path) -> Place:
    return Place(tmp_path, library)


def fill(root: Path) -> None:
    for name in ("old", "short", "gone", "also gone"):
        (root / name).write_text("before")


def test_the_journal_leads_to_the_very_folder(place: Place) -> None:
    fill(place.root)
    disk = Disk(place.root)
    assert place.run(WORK).returncode == 0
    disk.take(read(place.journal))
    assert disk.now() == place.files()
    assert len(place.files()) == 5
    target = place.root.parent / "after"
    disk.lose_power(1, target)  # all of it reached the disk
    assert sorted(path.read_bytes() for path in target.rglob("*") if path.is_file()) == sorted(place.files().values())


@pytest.mark.parametrize("synced", [False, True])
def test_what_is_not_synced_is_gone(place: Place, synced: bool) -> None:
    fill(place.root)
    disk = Disk(place.root)
    assert place.run(WORK, *["sync"] * synced).returncode == 0
    disk.take(read(place.journal))
    left = {Path(path).name: content for path, content in disk.after_loss(0).items()}
    if not synced:  # the new names are not there, the old ones are, and so is what was in the files
        assert left == dict.fromkeys(("old", "short", "gone", "also gone"), b"before")
        return
    assert left == {
        "old": b"before",
        "second": b"before",
        "short": b"before",
        "x.db-wal": b"a" * 2000,
        "snapshots": None,
    }
    assert "1.smidgen" not in left  # its own folder was not synced


def test_sectors_are_torn_and_a_failed_sync_is_not_made_good_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(4 * SECTOR))
    path = str(tmp_path / "file")
    seen = set()
    for seed in range(2, 200):
        disk = Disk(tmp_path)
        disk.take([Change(Kind.WRITE, path, "", 100, b"x" * 3 * SECTOR), Change(Kind.SYNC_FAILED, path)])
        disk.take([Change(Kind.WRITE, path, "", 0, b"y"), Change(Kind.SYNC, path)])
        content = disk.after_loss(seed)[path]
        assert content is not None
        assert content[:1] == b"y"
        assert len(content) == 4 * SECTOR
        pieces = [content[100:SECTOR], content[SECTOR : 2 * SECTOR], content[2 * SECTOR : 3 * SECTOR]]
        assert all(len(set(piece)) == 1 for piece in pieces)
        seen.add(tuple(piece[0] for piece in pieces))
    assert len(seen) == 8
    assert disk.now()[path] == b"y" + bytes(99) + b"x" * 3 * SECTOR + bytes(SECTOR - 100)


def test_a_file_gone_with_its_folder(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    folder, path = str(tmp_path / "a"), str(tmp_path / "a" / "b")
    disk.take([Change(Kind.MKDIR, folder), Change(Kind.CREATE, path), Change(Kind.WRITE, path, "", 0, b"c")])
    disk.take([Change(Kind.SYNC, path), Change(Kind.SYNC, folder)])
    assert disk.after_loss(0) == {}
    disk.take([Change(Kind.SYNC, str(tmp_path))])
    assert disk.after_loss(0) == {folder: None, path: b"c"}
    disk.take([Change(Kind.UNLINK, path), Change(Kind.SYNC, folder), Change(Kind.UNLINK, folder)])
    assert (disk.after_loss(0), disk.after_loss(1)) == ({folder: None}, {})


WRITE = """
handle = os.open(sys.argv[1] + "/x.db-wal", os.O_RDWR | os.O_CREAT)
said = []
for number in range(4):
    try:
        said.append(os.pwrite(handle, bytes([65 + number]) * 10, 10 * number))
        os.fdatasync(handle)
    except OSError as error:
        said.append(error.strerror)
print(said)
"""
DONE, EIO = "[10, 10, 10, 10]\n", "'Input/output error'"
FULL = "'No space left on device'"


def emptied(place: Place) -> Disk:
    """The disk as it was before the run: empty."""
    shutil.rmtree(place.root)
    place.root.mkdir()
    return Disk(place.root)


@pytest.mark.parametrize(
    ("order", "said", "left"),  # what is left: a letter for five bytes, a dot for five zeros
    [
        ({"action": Action.FAIL}, f"[10, {EIO}, 10, 10]\n", "AA..CCDD"),
        ({"action": Action.FAIL, "times": 9, "error": 28}, f"[10, {FULL}, {FULL}, {FULL}]\n", "AA"),
        ({"action": Action.TEAR}, f"[10, {EIO}, 10, 10]\n", "AAB.CCDD"),
        ({"action": Action.SHORT, "nth": 4}, "[10, 10, 10, 5]\n", "AABBCCD"),
        ({"action": Action.DROP}, DONE, "AA..CCDD"),
        ({"action": Action.KILL, "nth": 3}, "", "AABB"),
        ({"action": Action.TEAR_AND_KILL, "nth": 3}, "", "AABBC"),
        ({"action": Action.FAIL, "files": Files.HEADS}, DONE, "AABBCCDD"),
        ({"action": Action.FAIL, "kinds": (Kind.RENAME,)}, DONE, "AABBCCDD"),
        ({"action": Action.NOTHING}, DONE, "AABBCCDD"),
    ],
)
def test_orders_are_obeyed(order: dict[str, Any], said: str, left: str, place: Place) -> None:
    place.control.order(**{"kinds": (Kind.WRITE,), "nth": 2, **order})
    assert place.run(WRITE).stdout == said
    content = b"".join(letter.encode() * 5 if letter != "." else bytes(5) for letter in left)
    assert (place.root / "x.db-wal").read_bytes() == content
    disk = emptied(place)
    disk.take(read(place.journal))
    assert list(disk.now().values()) == [content]


@pytest.mark.parametrize(
    ("action", "said"), [(Action.FAIL, f"[{', '.join([f'10, {EIO}'] * 4)}]\n"), (Action.DROP, DONE)]
)
def test_syncs_fail_or_are_a_lie(action: Action, said: str, place: Place) -> None:
    place.control.order(action, kinds=(Kind.SYNC,), nth=1, times=4)
    assert place.run(WRITE).stdout == said
    assert place.control.fired == 4
    disk = emptied(place)
    disk.take([*read(place.journal), Change(Kind.SYNC, str(place.root))])
    assert list(disk.after_loss(0).values()) == [b""]
    assert list(disk.after_loss(1).values()) == list(disk.now().values()) != [b""]


def test_a_full_disk_a_slow_one_and_a_clock_that_jumps(place: Place) -> None:
    place.control.set(full=1)
    assert place.run(WRITE).stdout == f"[{', '.join([FULL] * 4)}]\n"
    place.control.peace()
    assert place.run(WRITE).stdout == DONE
    place.control.set(delay_us=30_000)
    clock = "import time; begun = time.monotonic();"
    took = place.run(clock + WRITE + "print(time.monotonic() - begun)").stdout.splitlines()[1]
    assert float(took) > 8 * 0.03
    place.control.set(clock_ns=10**9 * 86_400 * 365 * 100, delay_us=0)
    assert int(place.run("import time; print(time.gmtime(time.time()).tm_year)").stdout) > 2110
