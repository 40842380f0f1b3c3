"""Everything at once, for minutes: kills, pauses, a clock that jumps, a full and a slow disk, faults, power loss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.faults.journal import Kind
from service.faults.shim import Action, Files
from service.faults.tally import Tally
from service.faults.torment import Torment
from service.killable_services import Nursery

#: How many folders are tormented, and how many lives each has: 1,200 kills.
FOLDERS, LIVES = int(os.environ.get("SMIDGEN_NEMESIS_FOLDERS", "60")), 20


def strike(torment: Torment) -> None:
    """Inject one random fault; cheap ones are more frequent."""
    happens = [torment.kill] * 5 + [torment.pause, torment.clock, torment.full, torment.slow, torment.power]
    chosen = torment.rng.randrange(len(happens) + 2)
    if chosen < len(happens):
        happens[chosen]()
        return
    action, kind = torment.rng.choice(
        [(Action.FAIL, Kind.WRITE), (Action.FAIL, Kind.SYNC), (Action.TEAR, Kind.WRITE), (Action.SHORT, Kind.WRITE)]
    )
    torment.fault(action, kind, torment.rng.choice([Files.WAL, Files.WAL, Files.DATABASE, Files.SNAPSHOTS]))


def haunt(nursery: Nursery, folder: Path, seed: int, tally: Tally, lives: int) -> None:
    torment = Torment(nursery, folder, seed, tally)
    try:
        for _ in range(lives):
            strike(torment)
        torment.finish()
    finally:
        torment.close()


def test_a_short_mix(nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    haunt(nursery, tmp_path, 4, tally, lives=4)
    assert sum(row["kills"] for row in tally.rows.values()) == 4
    assert sum(row["lost"] for row in tally.rows.values()) == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FOLDERS))
def test_a_thousand_kills(seed: int, nursery: Nursery, tmp_path: Path, tally: Tally) -> None:
    haunt(nursery, tmp_path, 10_000 + seed, tally, LIVES)
