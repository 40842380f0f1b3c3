"""The power fails: whatever of the unsynced is gone or torn, what was acknowledged is there, and it was learnt once."""

from __future__ import annotations

import http.client
import random
from pathlib import Path
from typing import Any

import pytest

from service.bodies import MODELS, decision_body, reaction
from service.faults import torment as torments
from service.faults.journal import Change, Kind, read
from service.faults.power import Disk as Model
from service.faults.shim import Action, Control, Files
from service.faults.tally import Tally
from service.faults.torment import Torment
from service.killable_services import OPTIONS, Disk, Line, Nursery, Victim
from smidgen.learners import Learner
from smidgen.service.engine.engine import Engine
from smidgen.service.storage.snapshots import Snapshots


def test_the_power_fails(nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    torment = Torment(nursery, tmp_path, 0, tally)
    for _ in range(3):
        torment.power(folders=5)
    torment.finish()
    torment.close()
    assert (tally.rows["power loss"]["folders"], tally.rows["power loss"]["lost"]) == (15, 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_the_power_fails_again_and_again(seed: int, nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    torment = Torment(nursery, tmp_path, seed, tally)
    for _ in range(8):
        torment.power(folders=6)
    torment.finish()
    torment.close()


def test_the_check_would_notice(
    nursery: Nursery, tmp_path: Path, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without syncs a power loss costs what was acknowledged; if this passed, the tests above would show nothing."""
    monkeypatch.setattr(torments, "OPTIONS", {**OPTIONS, "synchronous": "OFF"})
    torment = Torment(nursery, tmp_path, 3, Tally())

    def lose() -> None:
        for _ in range(5):
            torment.power()

    with pytest.raises(AssertionError, match=r"acknowledged and is lost"):
        lose()
    torment.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_a_disk_that_lies_about_its_syncs(seed: int, nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    """The remaining log is without a fault, or the service reports that it is not."""
    torment = Torment(nursery, tmp_path, seed, tally)
    for _ in range(3):
        torment.power(folders=6, lie=True)
    torment.close()


class Played:
    """A service whose disk keeps a journal, and some rounds of one model."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.root, self.journal = folder / "disk", folder / "journal"
        self.root.mkdir()
        self.model = Model(self.root)
        self.control = Control(folder / "control")
        self.control.set(unsynced=1)
        self._nursery = nursery

    def start(self, crash_at: str = "") -> Victim:
        disk = Disk(self.root, self.journal, self.control.path)
        victim = self._nursery.start(self.root / "data", crash_at, disk=disk, **OPTIONS)
        assert victim is not None
        return victim

    def play(self, line: Line, rounds: int) -> None:
        rng = random.Random(1)
        for _ in range(rounds):
            reply: dict[str, Any] = line("POST", "/v1/models/rank/decisions", decision_body("rank", rng))[1]
            line("POST", f"/v1/decisions/{reply['decision']}/feedback", reaction("rank", reply, rng))


def test_a_snapshot_is_whole_and_in_its_place_before_older_ones_go(nursery: Nursery, tmp_path: Path) -> None:
    """Killed right after a snapshot was said to be synced: whatever else the disk forgot, the snapshot is there."""
    played = Played(nursery, tmp_path)
    victim = played.start("snapshot-synced:2")
    line = Line(victim.url)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    with pytest.raises((OSError, http.client.HTTPException)):
        played.play(line, 100)
    line.close()
    victim.end(None)
    played.model.take(read(played.journal))
    newest = next(Snapshots(played.root / "data").of(1))
    for seed in range(40):
        played.model.lose_power(seed, tmp_path / "after")
        found = next(Snapshots(tmp_path / "after" / "data").of(1), None)
        assert found is not None, "the snapshot's name is gone: its folder was not synced"
        assert found.path.name == newest.path.name
        assert found.path.read_bytes() == newest.path.read_bytes(), "the snapshot is torn: it was not synced"
        assert isinstance(Learner.from_bytes(found.path.read_bytes()), Learner)


def test_a_commit_is_answered_after_its_sync_and_the_head_never_runs_ahead(nursery: Nursery, tmp_path: Path) -> None:
    """In the journal: the log's pages, their sync, then the head; and the data folder itself has a name that lasts."""
    played = Played(nursery, tmp_path)
    victim = played.start()
    line = Line(victim.url)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    played.play(line, 5)
    line.close()
    victim.kill()
    victim.end(None)
    changes = [change for change in read(played.journal) if not change.path.endswith("lock")]
    heads = [place for place, change in enumerate(changes) if change.path.endswith(".heads") and change.content]
    assert len(heads) == 1 + 2 * 5
    for place in heads:
        before = [change for change in changes[:place] if change.path.endswith("-wal")]
        assert before[-1].kind is Kind.SYNC
    folder = str(played.root / "data")
    made = next(place for place, change in enumerate(changes) if change == (Kind.MKDIR, folder, "", 0, b""))
    named = [place for place, change in enumerate(changes) if change[:2] == (Kind.SYNC, str(played.root))]
    assert named, "the data folder's own name was never synced"
    assert made < named[0] < heads[0]


def test_a_folder_made_by_somebody_who_was_killed_has_a_name_that_lasts(nursery: Nursery, tmp_path: Path) -> None:
    """The data folder is there, but its name was not synced."""
    played = Played(nursery, tmp_path)
    played.model.take([Change(Kind.MKDIR, str(played.root / "data"))])
    (played.root / "data").mkdir()
    victim = played.start()
    line = Line(victim.url)
    assert line("PUT", "/v1/models/rank", MODELS["rank"])[0] == 201
    line.close()
    victim.kill()
    victim.end(None)
    played.model.take(read(played.journal))
    for seed in range(10):
        played.model.lose_power(seed, tmp_path / "after")
        engine = Engine(tmp_path / "after" / "data")
        assert list(engine.models) == ["rank"]
        engine.store.close()


def test_a_failed_sync_is_not_taken_for_one(nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    """After a sync that failed, what it covered is written again, not only synced again; then the power fails."""
    torment = Torment(nursery, tmp_path, 5, tally)
    torment.kill()
    model, journal = Model(torment.root), tmp_path / "the journal"
    torment.control.set(unsynced=1)
    torment.control.order(Action.FAIL, kinds=(Kind.SYNC,), files=Files.WAL | Files.DATABASE, nth=3, times=3)
    torment._life("a sync fails, then the power", lambda victim: torment._some(victim, 200), journal=journal)
    assert torment.control.fired > 0
    torment.control.peace()
    model.take(read(journal))
    for seed in range(12):
        model.lose_power(seed, tmp_path / "after")
        torment._check("a sync fails, then the power", tmp_path / "after" / "data")
    torment.close()
