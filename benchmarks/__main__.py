"""``python -m benchmarks``: run every workload, print the table, keep the numbers."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import coactive, label, tune
from benchmarks.interleave import Result, Workload, measure

PACKAGES = ("numpy", "scipy", "numba", "smidgen", "scikit-learn", "vowpalwabbit", "river", "mabwiser")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds per workload (default 15)")
    parser.add_argument("--only", default="", help="only workloads whose name contains this")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for the results")
    arguments = parser.parse_args()
    jobs = [job for job in (*coactive.workloads(), *label.workloads(), *tune.workloads()) if arguments.only in job.name]
    results = [row for job in track(jobs, "measuring") for row in measure(job, arguments.rounds)]
    console = Console(width=140)
    console.print(as_table(results))
    console.print(explained(jobs), markup=False)
    arguments.out.mkdir(exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps({**machine(), "results": [asdict(r) for r in results]}))
    (arguments.out / "results.md").write_text(as_markdown(results, jobs))
    console.print(f"written to {arguments.out}/results.md and results.json")


def machine() -> dict[str, Any]:
    """Where and with what the numbers were made."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    """The versions of those packages that are here."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def as_table(results: list[Result]) -> Table:
    """The results for the terminal."""
    table = Table()
    for column in ("workload", "contender", "µs per unit", "times ours (median)", "range"):
        table.add_column(column, justify="left" if column in ("workload", "contender") else "right")
    for row in results:
        table.add_row(
            row.workload, row.contender, _per_unit(row), f"{row.ratio:.2f}", f"{row.low:.2f} – {row.high:.2f}"
        )
    return table


def _per_unit(row: Result) -> str:
    return f"{row.microseconds:,.{2 if row.microseconds < 100 else 0}f} / {row.unit}"


def explained(jobs: list[Workload]) -> str:
    """What each workload asks for, and what there is to know of each contender."""
    lines = []
    for job in jobs:
        lines.append(f"- *{job.name}*: {job.job}.")
        lines += [f"    - {name}: {remark}." for name, remark in job.remarks.items()]
    return "\n".join(lines) + "\n"


def as_markdown(results: list[Result], jobs: list[Workload]) -> str:
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
        f"| {r.workload} | {r.contender} | {_per_unit(r)} | {r.ratio:.2f} | {r.low:.2f} – {r.high:.2f} |"
        for r in results
    ]
    return "\n".join([*lines, "", explained(jobs)])


if __name__ == "__main__":
    main()
