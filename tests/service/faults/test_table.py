"""The table on the page is the one of the counts, and says what it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.faults.tally import VARIABLE, Tally, read

pytest.importorskip("benchmarks", reason="the benchmarks are in the checkout only")

from service.faults.table import MARK, PAGE, RESULTS, table


def test_the_page_has_the_counts_of_the_last_run() -> None:
    text = PAGE.read_text()
    shown = text.partition(f"<!-- {MARK} -->\n")[2].partition(f"<!-- /{MARK} -->")[0]
    assert shown == f"\n{table(read(RESULTS))}\n", "run `make faults-table`"


def test_counts_of_several_runs_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "counts.json"))
    for _ in range(2):
        tally = Tally()
        tally.add("kill -9", lives=1, kills=1, folders=1, acknowledged=700)
        tally.add("a write is dropped, and said to be done", lives=1, kills=1, folders=1, noticed=1)
        tally.keep()
    counts = read(tmp_path / "counts.json")
    assert counts["kill -9"] == {"lives": 2, "kills": 2, "folders": 2, "acknowledged": 1400, "lost": 0}
    lines = table(counts).splitlines()
    assert lines[2].endswith("| 2 | 0 | 2 | 1,400 | 0 | 0 | 0 |")
    assert lines[3].endswith("| 2 | 0 | 2 | 0 | 0 | 0 | 2 |")
    assert lines[5].startswith("4 services were killed. On disks that do not lie, 2 folders")
    with pytest.raises(SystemExit, match="no words"):
        table({"a meteor": {"lives": 1}})
