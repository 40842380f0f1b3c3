"""Exports by time: from one moment on, up to another; day after day every event is in exactly one piece."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from service.asgi import Caller
from smidgen.cli import app

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()


class Clock:
    """Time that the test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions at noon sharp of three days, each answered a quarter of an hour later."""
    folder, clock = tmp_path_factory.mktemp("spans") / "data", Clock()
    with Caller(folder, clock=clock) as call:
        call.put("/v1/models/m", {"loop": "choose", "feedback": "reward", "features": ["p"], "explore": 0.5})
        for _ in range(3):
            rows = [{"id": "a", "features": [1]}, {"id": "b", "features": [2]}]
            made = call.post("/v1/models/m/decisions", {"candidates": rows}).json()["decision"]
            clock.now += 900
            call.post(f"/v1/decisions/{made}/feedback", {"reward": 1})
            clock.now += 86_400 - 900
    return folder


def exported(data: Path, out: Path, format: str, *span: str) -> Result:
    command = ["log", "export", "m", "--data", str(data), "--format", format, "--out", str(out), *span]
    return CliRunner().invoke(app, command)


def seqs(data: Path, out: Path, format: str, *span: str) -> list[int]:
    """The numbers of the events of a span; of dsjson, the number of its lines."""
    assert exported(data, out, format, *span).exit_code == 0
    if format == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        return list(parquet.read_table(out)["seq"].to_pylist())
    if format == "csv":
        with out.open(newline="") as file:
            return [int(row["seq"]) for row in csv.DictReader(file)]
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    return [line["seq"] for line in lines] if format == "ndjson" else list(range(len(lines)))


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet"])
def test_the_first_moment_counts_and_the_last_does_not(data: Path, tmp_path: Path, format: str) -> None:
    def numbers(*span: str) -> list[int]:
        return seqs(data, tmp_path / "out", format, *span)

    assert numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert numbers("--since", "2026-11-17T12:00") == [4, 5, 6, 7]
    assert numbers("--until", "2026-11-17T12:00") == [1, 2, 3]
    assert numbers("--since", "2026-11-17T12:00:00Z", "--until", "2026-11-17T12:15") == [4]
    days = [("2026-11-16", "2026-11-17"), ("2026-11-17", "2026-11-18"), ("2026-11-18", "2026-11-19")]
    pieces = [numbers("--since", first, "--until", last) for first, last in days]
    assert [number for piece in pieces for number in piece] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet", "dsjson"])
def test_an_empty_span_is_an_empty_file(data: Path, tmp_path: Path, format: str) -> None:
    moment = "2026-11-17T12:00"
    assert seqs(data, tmp_path / "out", format, "--since", moment, "--until", moment) == []
    assert seqs(data, tmp_path / "out", format, "--since", "2030-01-01") == []


def test_dsjson_counts_a_decision_when_its_answer_came(data: Path, tmp_path: Path) -> None:
    def lines(*span: str) -> int:
        return len(seqs(data, tmp_path / "out", "dsjson", *span))

    assert lines() == 3
    assert lines("--until", "2026-11-16T12:15") == 0
    assert lines("--since", "2026-11-16T12:15", "--until", "2026-11-16T12:16") == 1


@pytest.mark.parametrize("format", ["ndjson", "csv", "parquet", "dsjson"])
def test_a_span_that_ends_before_it_begins_is_refused(data: Path, tmp_path: Path, format: str) -> None:
    done = exported(data, tmp_path / "out", format, "--since", "2026-11-18", "--until", "2026-11-17")
    assert done.exit_code == 2
    assert "before" in done.output
    assert not (tmp_path / "out").exists()


def test_days_in_a_folder_are_one_log_again(data: Path, tmp_path: Path) -> None:
    for day in (16, 17, 18):
        out = tmp_path / f"{day}.ndjson"
        assert (
            exported(data, out, "ndjson", "--since", f"2026-11-{day}", "--until", f"2026-11-{day + 1}").exit_code == 0
        )
    done = CliRunner().invoke(app, ["log", "verify", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "7 events, 3 decisions, 3 learnt" in done.output


def test_days_are_one_log_again_although_a_key_was_forgotten_and_clocks_differ(tmp_path: Path) -> None:
    clock, data, days = Clock(), tmp_path / "data", tmp_path / "days"
    days.mkdir()
    with Caller(data, clock=clock) as call:
        call.put("/v1/models/m", {"loop": "choose", "features": ["p"], "keyed": True})
        for key in ("ann", "bob", "eve"):
            clock.now = NOON + 43_200.1  # a moment after midnight, and answered by one whose clock is behind
            rows = {"key": key, "candidates": [{"id": "a", "features": [1]}, {"id": "b", "features": [2]}]}
            made = call.post("/v1/models/m/decisions", rows).json()["decision"]
            clock.now -= 0.2
            assert call.post(f"/v1/decisions/{made}/feedback", {"reward": 1}).json()["status"] == "learnt"
        assert call("DELETE", "/v1/models/m/keys/bob").status_code == 200
    found = [
        number
        for day in (16, 17)
        for number in seqs(
            data, days / f"{day}.ndjson", "ndjson", "--since", f"2026-11-{day}", "--until", f"2026-11-{day + 1}"
        )
    ]
    assert found == list(range(1, 9))
    done = CliRunner().invoke(app, ["log", "verify", str(days)])
    assert done.exit_code == 0, done.output
