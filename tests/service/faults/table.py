"""The table "what was tried, how often, what was lost", written from the counts of real runs: ``make faults``.

``python -m service.faults.table COUNTS`` adds the counts of a run to `RESULTS` and writes the table into the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.report import insert

from service.faults.tally import read

RESULTS = Path(__file__).with_name("results.json")
PROJECT = Path(__file__).parents[3]
PAGE = PROJECT / "docs/evidence/fault-tolerance.md"
MARK = "faults"
#: What the rows are called, in order; a row without counts is left out.
ROWS = {
    "kill -9": "`kill -9` at any moment, or at a named point of a commit or snapshot",
    "pause, then kill -9": "stopped for a while in the midst of it (SIGSTOP), then killed",
    "clock jumps, then kill -9": "the clock jumps by up to three days, forth and back; then killed",
    "disk full, then kill -9": "the disk is full for a while; then killed",
    "slow disk, then kill -9": "every write and sync takes 0.2 to 20 ms; then killed",
    "a write fails": "writes fail (EIO, ENOSPC); then killed",
    "a write is torn and fails": "writes are torn and fail; then killed",
    "a write is done in part, and says so": "writes are done in part, and say so; then killed",
    "a sync fails": "syncs fail; then killed",
    "a sync is dropped, and said to be done": "syncs are dropped, and said to be done; then killed",
    "a truncation fails": "truncations fail; then killed",
    "a rename fails": "renames fail; then killed",
    "power loss": "power loss: unsynced writes are there, gone or torn in sectors, unsynced names undone",
    "a sync fails, then the power": "syncs fail, then the power: later syncs do not bring back what was lost",
    "a write is dropped, and said to be done": "*a disk that lies*: writes are dropped; then killed",
    "power loss after syncs that were a lie": "*a disk that lies*: syncs are dropped, then power loss",
}
COLUMNS = (
    "services",
    "operations gone wrong",
    "folders checked",
    "acknowledged",
    "answered 503",
    "lost, twice or wrong",
    "noticed",
)
HEAD = f"| what was tried | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}\n"


def table(counts: dict[str, dict[str, int]]) -> str:
    """The counts as Markdown."""
    unknown = counts.keys() - ROWS.keys() - {"the last life"}
    if unknown:
        raise SystemExit(f"these have no words yet: {', '.join(sorted(unknown))}")
    rows = [_row(words, counts[what]) for what, words in ROWS.items() if what in counts]
    honest = {what: row for what, row in counts.items() if "lie" not in what and "dropped, and" not in what}
    kills = sum(row.get("kills", 0) for row in counts.values())
    lost = sum(row.get("lost", 0) for row in honest.values())
    folders = sum(row.get("folders", 0) for row in honest.values())
    return (
        f"{HEAD}{''.join(rows)}\n{kills:,} services were killed. On disks that do not lie, {folders:,} folders were"
        f" checked, and {lost:,} had lost an acknowledged event, learnt one twice, or held weights that their log does"
        " not lead to.\n"
    )


def _row(words: str, row: dict[str, int]) -> str:
    names = ("lives", "faults", "folders", "acknowledged", "refused", "lost", "noticed")
    return f"| {words} | {' | '.join(f'{row.get(name, 0):,}' for name in names)} |\n"


def write() -> None:
    """Write the table of `RESULTS` into the page."""
    insert(PAGE, MARK, table(read(RESULTS)))


if __name__ == "__main__":
    for counts in sys.argv[1:]:
        RESULTS.write_text(Path(counts).read_text())
    write()
