"""The power fails while a data folder of 0.1 is converted: it is the old one or the new one, whole, never between."""

from __future__ import annotations

import copy
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from service.faults.journal import Change, read
from service.faults.power import Disk
from service.faults.shim import Control
from smidgen.service.insight.audit import audit_model
from smidgen.service.store.inspection import Inspection
from smidgen.service.store.upgrade import upgrade

OLD = Path(__file__).parents[1] / "data" / "format_0_1"
CODE = """
import ctypes, sys
from pathlib import Path
from smidgen.service.store.upgrade import upgrade
assert ctypes.CDLL(None).smidgen_faults_arm(*(each.encode() for each in sys.argv[1:4])) == 0
upgrade(Path(sys.argv[1]) / "data")
"""
EVENTS = 224


def killed(target: Path, aside: Path) -> None:
    """A folder of 0.1 as a killed service leaves it: the latest pages are in the write-ahead file only."""
    shutil.copytree(OLD, aside)
    connection = sqlite3.connect(aside / "smidgen.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for table in ("models", "decisions", "events"):
        connection.execute(f"CREATE TABLE other AS SELECT * FROM {table}")
        connection.execute("DROP TABLE other")
    connection.execute("UPDATE models SET created_at = created_at + 0.0")
    shutil.copytree(aside, target)
    connection.close()
    assert (target / "smidgen.db-wal").stat().st_size > 10_000


class Converted:
    """A conversion, with the journal of all that it did; the old folder has part of its log in the write-ahead file."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.root, journal = folder / "disk", folder / "journal"
        killed(self.root / "data", folder / "old")
        self._before = Disk(self.root)
        control = Control(folder / "control")
        control.set(unsynced=1)
        places = [str(self.root), str(journal), str(control.path)]
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        subprocess.run([sys.executable, "-c", CODE, *places], env=environment, check=True)
        control.close()
        self.changes: list[Change] = read(journal)
        self.exchange = next(
            place for place, change in enumerate(self.changes) if change.other.endswith("data/smidgen.db")
        )

    def left(self, place: int, seed: int, target: Path) -> Path:
        """A folder that may be left if the power fails at this place of the journal."""
        disk = copy.deepcopy(self._before)
        disk.take(self.changes[:place])
        disk.lose_power(seed, target)
        return target / "data"


@pytest.fixture(scope="module")
def converted(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Converted:
    return Converted(tmp_path_factory.mktemp("converted"), library)


def check(folder: Path, *, done: bool) -> None:
    found = upgrade(folder)
    assert found is None or not done, "it was converted, and is the old one again"
    assert found is None or (found.models, found.events) == (9, EVENTS)
    with Inspection(folder) as seen:
        audits = [audit_model(seen, model) for model in seen.models()]
    assert [problem for audit in audits for problem in audit.problems] == []
    assert sum(audit.events for audit in audits) == EVENTS


@pytest.mark.parametrize("seed", [0, 5])
def test_at_the_exchange(seed: int, converted: Converted, tmp_path: Path) -> None:
    """Right after the new database has taken the old one's name."""
    check(converted.left(converted.exchange + 1, seed, tmp_path / "left"), done=False)


def test_when_it_is_done_it_is_done(converted: Converted, tmp_path: Path) -> None:
    check(converted.left(len(converted.changes), 0, tmp_path / "left"), done=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_at_any_place(seed: int, converted: Converted, tmp_path: Path) -> None:
    rng = random.Random(seed)
    near = rng.randint(converted.exchange - 12, len(converted.changes))
    place = rng.choice([near, near, near, rng.randrange(len(converted.changes))])
    check(converted.left(place, rng.randrange(1 << 20), tmp_path / "left"), done=place == len(converted.changes))
