"""``python -m benchmarks``: run every workload, print the tables, keep the numbers; ``scaling``: time against size."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchmarks import (
    choices,
    clicks,
    drafts,
    knobs,
    label,
    rankings,
    records,
    report,
    rewards,
    scaling,
    second_order,
    startup,
    tune,
    vectorizing,
    vectors,
    verbs,
)
from benchmarks.chart import charts
from benchmarks.interleave import Measured, measure
from benchmarks.machine import machine

WORKLOADS = {
    **label.WORKLOADS,
    **rankings.WORKLOADS,
    **clicks.WORKLOADS,
    **second_order.WORKLOADS,
    **choices.WORKLOADS,
    **tune.WORKLOADS,
    **knobs.WORKLOADS,
    **verbs.WORKLOADS,
    **rewards.WORKLOADS,
    **vectorizing.WORKLOADS,
    **drafts.WORKLOADS,
    **vectors.WORKLOADS,
    **records.WORKLOADS,
    **startup.WORKLOADS,
}
ROUNDS, QUICK_ROUNDS = 11, 3


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("compare", "scaling"), default="compare", help="(default compare)")
    parser.add_argument("--rounds", type=int, help=f"interleaved rounds ({ROUNDS}, with --quick {QUICK_ROUNDS})")
    parser.add_argument("--only", default="", help="only workloads (or learners) whose name contains this")
    parser.add_argument("--quick", action="store_true", help="few rounds, small sizes: two minutes")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="folder for the results")
    parser.add_argument("--page", type=Path, help="a page to put the results into, and its pictures beside it")
    parser.add_argument("--again", action="store_true", help="measure nothing: take the numbers in the folder")
    given = parser.parse_args(arguments)
    (scaling.main if given.what == "scaling" else compare)(given, Console(width=150))


def compare(given: argparse.Namespace, console: Console) -> None:
    """Every workload against its peers."""
    path = given.out / "results.json"
    if given.again:
        where, measured = report.read(path)
    else:
        where, measured = {**machine(), "quick": given.quick}, []
        for each in measured_all(given.only, given.quick, given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)):
            measured.append(each)
            report.write(path, where, measured)
    console.print(report.as_table(measured))
    console.print(report.explained(measured), markup=False)
    console.print(report.aims_table(measured))
    pictures = {key: path.name for key, path in charts(measured, given.out).items()}
    (given.out / "results.md").write_text(report.as_markdown(where, measured, pictures), encoding="utf-8")
    if given.page:
        images = {key: f"images/{path.name}" for key, path in charts(measured, given.page.parent / "images").items()}
        report.insert(given.page, "results", report.as_markdown(where, measured, images))
    console.print(f"written to {given.out}/results.md, results.json" + (f" and {given.page}" if given.page else ""))


def measured_all(only: str, quick: bool, rounds: int) -> Iterator[Measured]:
    """Workload by workload; each is made when its turn comes, and forgotten afterwards."""
    chosen = [make for name, make in WORKLOADS.items() if only in name]
    seconds = 0.005 if quick else 0.02
    for make in track(chosen, "measuring"):
        yield measure(make(quick), rounds, seconds)


if __name__ == "__main__":
    main()
