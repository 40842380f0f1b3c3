"""The load benchmark's own arithmetic: figures, aims, files, raw writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rich")

from benchmarks import per_request, vw_daemon
from benchmarks.load import sync_alone
from benchmarks.service import figure, write


def test_figures_are_medians_and_know_their_aims() -> None:
    found = figure("feedback ÷ no-op", "×", [0.9, 0.5, 0.85], "≥ 0.8")
    assert (found.median, found.low, found.high, found.rounds, found.reached) == (0.85, 0.5, 0.9, 3, "yes")
    assert figure("recovery", "s", [2.5], "≤ 2").reached == "no"
    assert figure("recovery", "s", [1.5], "≤ 2").reached == "yes"
    assert figure("memory", "MB", [200.0]).reached == ""


def test_the_table_and_the_numbers_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = {"date": "2026-01-01", "cpu": "one", "load": [0.0, 0.0, 0.0], "versions": {"python": "3.11"}}
    figures = [figure("feedback", "requests/s", [1000.0, 3000.0, 2000.0]), figure("ratio", "×", [0.7], "≥ 0.8")]
    write(tmp_path, {**where, "quick": True, "seconds": 0.3}, figures)
    rows = [line for line in (tmp_path / "service.md").read_text().splitlines() if line.startswith("|")]
    assert rows[2] == "| feedback | requests/s | 2,000.00 | 1,000.00 – 3,000.00 | 3 |  |  |"
    assert rows[3] == "| ratio | × | 0.70 |  | 1 | ≥ 0.8 | no |"
    kept = json.loads((tmp_path / "service.json").read_text())
    assert [each["median"] for each in kept["results"]] == [2000.0, 0.7]
    assert "and no more" in capsys.readouterr().out


@pytest.mark.parametrize("in_place", [False, True])
def test_raw_writes_are_counted_and_leave_nothing(in_place: bool, tmp_path: Path) -> None:
    assert sync_alone(tmp_path, 0.05, in_place=in_place) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_cost_of_requests_is_compared_with_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the other version is this one: the ratios are near one, but a run as short as this says no more."""
    monkeypatch.setattr(per_request, "BATCH", 20)
    root = Path(per_request.__file__).parents[1]
    found = {each.what: each for each in per_request.per_request(tmp_path, root, 4, 40, 1)}
    for what in ("no-op POST", "feedback", "decision, 5 × 5"):
        assert 0.05 < found[f"CPU for {what} ÷ before"].median < 20.0
        assert found[f"CPU for {what}, now"].median > 1.0
    assert found["rate of feedback ÷ that of the no-op POST before, 4 callers"].aim == "≥ 0.6"
    assert found["feedback in batches, now, 2 callers"].median > 0.0
    assert found["decisions in batches, now, 2 callers"].aim == "≥ 8000"


def test_what_a_daemon_without_a_log_loses(tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit", reason="the peers are an extra: pip install smidgen[bench]")
    found = {each.what: each.median for each in vw_daemon.beside(tmp_path, 20, 1)}
    assert found["lost by kill -9, Vowpal Wabbit's daemon, of 20 acknowledged"] == 20.0
    assert found["lost by kill -9, ours, of 20 acknowledged"] == 0.0
    assert found["CPU for Vowpal Wabbit's daemon, a lesson, one caller"] > 0.0
