"""``deploy/backup-to-bucket`` and ``deploy/restore-drill``, run with rclone on a folder that stands for a bucket."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from service.live import Live
from smidgen.service import Engine

DEPLOY = Path(__file__).parents[3] / "deploy"
REAL = shutil.which("rclone")
pytestmark = pytest.mark.skipif(REAL is None, reason="rclone is not installed")
ASK = {"candidates": [{"id": "a"}, {"id": "b"}]}


class Shell:
    """Runs the scripts with programs of this test first in the path."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("smidgen", f'exec "{sys.executable}" -m smidgen "$@"')
        self.temporary = folder / "temporary"
        self.temporary.mkdir()

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def __call__(self, script: str, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "TMPDIR": str(self.temporary)}
        done = subprocess.run(
            [DEPLOY / script, *arguments], env=environment, capture_output=True, text=True, timeout=120
        )
        assert list(self.temporary.iterdir()) == [], "nothing is left behind"
        return done


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_drill_restores_what_a_running_service_uploaded(shell: Shell, tmp_path: Path) -> None:
    data, bucket, restored = tmp_path / "data", tmp_path / "bucket", tmp_path / "restored"
    bucket.mkdir()
    old, foreign = bucket / "smidgen-20200101T000000Z.backup", bucket / "of-others.txt"
    for path in (old, foreign):
        path.write_text("x")
        os.utime(path, (time.time() - 40 * 86400,) * 2)
    with Live(data) as live, httpx.Client(base_url=live.url) as call:
        call.put("/v1/models/m", json={"loop": "choose"})
        decision = call.post("/v1/models/m/decisions", json=ASK).json()["decision"]
        call.post(f"/v1/decisions/{decision}/feedback", json={"reward": 1.0})
        done = shell("backup-to-bucket", data, bucket)
        assert done.returncode == 0, done.stderr
        weights = call.get("/v1/models/m/weights").json()
    assert foreign.exists()
    assert not old.exists()
    drill = shell("restore-drill", bucket)
    assert drill.returncode == 0, drill.stderr
    assert "No errors found" in drill.stdout
    assert shell("restore-drill", bucket, restored).returncode == 0
    with Live(restored) as live, httpx.Client(base_url=live.url) as call:
        assert call.get(f"/v1/decisions/{decision}").json()["learnt_version"] == 1
        assert call.get("/v1/models/m/weights").json() == weights


def test_nothing_is_deleted_before_an_upload_was_read_back(shell: Shell, tmp_path: Path) -> None:
    data, bucket = tmp_path / "data", tmp_path / "bucket"
    bucket.mkdir()
    old = bucket / "smidgen-20200101T000000Z.backup"
    old.write_text("x")
    os.utime(old, (time.time() - 40 * 86400,) * 2)
    assert shell("backup-to-bucket", tmp_path / "nowhere", bucket).returncode != 0
    Engine(data).close()
    shell.program("rclone", f'"{REAL}" "$@" || exit\n[ "$1" = copyto ] && echo more >> "$3"\nexit 0')
    done = shell("backup-to-bucket", data, bucket)
    assert done.returncode == 1
    assert "is not the backup that was made" in done.stderr
    assert old.exists()


def test_a_drill_fails_without_a_backup_or_with_a_damaged_one(shell: Shell, tmp_path: Path) -> None:
    data, bucket = tmp_path / "data", tmp_path / "bucket"
    bucket.mkdir()
    assert "there is no backup in" in shell("restore-drill", bucket).stderr
    Engine(data).close()
    assert shell("backup-to-bucket", data, bucket).returncode == 0
    (made,) = bucket.iterdir()
    made.write_bytes(made.read_bytes()[:-20_000])
    assert shell("restore-drill", bucket).returncode != 0
