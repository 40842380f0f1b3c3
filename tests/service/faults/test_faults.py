"""Writes and syncs that fail, are torn or dropped while clients write: answered with 503, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.faults.journal import Kind
from service.faults.shim import Action, Files
from service.faults.tally import Tally
from service.faults.torment import Torment
from service.killable_services import Nursery

#: What is tried in every file: action and operation.
FAULTS = [
    (Action.FAIL, Kind.WRITE),
    (Action.FAIL, Kind.SYNC),
    (Action.TEAR, Kind.WRITE),
    (Action.SHORT, Kind.WRITE),
    (Action.DROP, Kind.WRITE),
    (Action.DROP, Kind.SYNC),
    (Action.FAIL, Kind.TRUNCATE),
    (Action.FAIL, Kind.RENAME),
]
#: Which files are written, synced, cut and renamed at all while a service lives.
HAPPENS = {
    Kind.WRITE: (Files.WAL, Files.DATABASE, Files.HEADS, Files.SNAPSHOTS),
    Kind.SYNC: (Files.WAL, Files.DATABASE, Files.SNAPSHOTS),
    Kind.TRUNCATE: (Files.DATABASE,),
    Kind.RENAME: (Files.SNAPSHOTS,),
}
CASES = [(action, kind, file) for action, kind in FAULTS for file in HAPPENS[kind]]


@pytest.fixture
def torment(nursery: Nursery, tmp_path: Path, tally: Tally) -> Iterator[Torment]:
    torment = Torment(nursery, tmp_path, seed=1, tally=tally)
    torment.settle()
    yield torment
    torment.close()


@pytest.mark.parametrize(
    "case", [case for case in CASES if case[2] is Files.WAL], ids=lambda case: "-".join(each.name for each in case)
)
def test_the_log_goes_wrong(case: tuple[Action, Kind, Files], torment: Torment) -> None:
    """Every commit writes to the log and syncs it: a failure there reaches the clients as 503, and nothing else."""
    action, kind, file = case
    fired = torment.fault(action, kind, file, nth=20, times=5)
    assert fired == 5
    (row,) = torment.tally.rows.values()
    if action in (Action.FAIL, Action.TEAR):
        assert row["refused"] > 0
        assert {status for writer in torment.writers for status in writer.refused} == {503}
    elif action is Action.SHORT or kind is Kind.SYNC:
        assert row["refused"] == 0
    assert row["acknowledged"] > 0
    assert (row["folders"], row["lost"]) == (1, 0)
    if (action, kind) == (Action.FAIL, Kind.SYNC):
        torment.finish()


@pytest.mark.parametrize("file", [Files.DATABASE, Files.HEADS, Files.SNAPSHOTS], ids=lambda file: file.name)
def test_other_files_cost_nobody_his_answer(file: Files, torment: Torment) -> None:
    """Files other than the log are not waited for: all their writes fail for a while, and no client notices."""
    assert torment.fault(Action.FAIL, Kind.WRITE, file, nth=1, times=3) == 3
    assert torment.tally.rows["a write fails"]["refused"] == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(each.name for each in case))
def test_everything_goes_wrong(
    case: tuple[Action, Kind, Files], seed: int, nursery: Nursery, tmp_path: Path, tally: Tally
) -> None:
    torment = Torment(nursery, tmp_path, seed=1000 * seed + CASES.index(case), tally=tally)
    lied = case[0] is Action.DROP and case[1] is Kind.WRITE
    for _ in range(1 if lied else 3):
        torment.fault(*case)
    if not lied:
        torment.finish()
    torment.close()
