"""``python -m benchmarks``: run every workload, print the table, keep the numbers."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import coactive
from benchmarks.interleave import Result, measure

PACKAGES = ("numpy", "scipy", "numba", "smidgen")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds per workload (default 15)")
    parser.add_argument("--only", default="", help="only workloads whose name contains this")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for the results")
    arguments = parser.parse_args()
    jobs = [job for job in coactive.workloads() if arguments.only in job.name]
    results = [row for job in track(jobs, "measuring") for row in measure(job, arguments.rounds)]
    Console(width=140).print(as_table(results))
    arguments.out.mkdir(exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps({**machine(), "results": [asdict(r) for r in results]}))
    (arguments.out / "results.md").write_text(as_markdown(results))
    Console().print(f"written to {arguments.out}/results.md and results.json")


def machine() -> dict[str, Any]:
    """Where and with what the numbers were made."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def as_table(results: list[Result]) -> Table:
    """The results for the terminal."""
    table = Table()
    for column in ("workload", "contender", "µs per unit", "times ours (median)", "range"):
        table.add_column(column, justify="left" if column in ("workload", "contender") else "right")
    for row in results:
        unit = f"{row.microseconds:,.1f} / {row.unit}"
        table.add_row(row.workload, row.contender, unit, f"{row.ratio:.2f}", f"{row.low:.2f} – {row.high:.2f}")
    return table


def as_markdown(results: list[Result]) -> str:
    """The results for the docs."""
    where = machine()
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    lines = [
        f"Measured on {where['date']}: {where['cpu']}; {versions}.",
        "",
        "| workload | contender | µs per unit | times ours (median) | range |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.workload} | {r.contender} | {r.microseconds:,.1f} / {r.unit} | {r.ratio:.2f} "
        f"| {r.low:.2f} – {r.high:.2f} |"
        for r in results
    ]
    jobs = dict.fromkeys((r.workload, r.job) for r in results)
    return "\n".join([*lines, "", *(f"- *{name}*: {job}." for name, job in jobs)]) + "\n"


if __name__ == "__main__":
    main()
