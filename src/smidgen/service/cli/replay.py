"""``smidgen replay``: replay a log through other learners, on one core or many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smidgen.service.cli.serve import DATA, Data, Import

if TYPE_CHECKING:
    from smidgen.service.loops.estimates import Estimate
    from smidgen.service.ope.whatif import WhatIf

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def what_if(
    log: Annotated[
        str | None,
        typer.Argument(
            help="A log: a file or a folder of files (Parquet, NDJSON, dsjson), or a model's name.", metavar="LOG"
        ),
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(help='Learner to compare: "NAME" or "NAME:argument=value,…". Can be repeated.'),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(help='Mean cost per decision, e.g. "usd=0.002": what it would have bought. Can be repeated.'),
    ] = None,
    data: Data = DATA,
    model: Annotated[str | None, typer.Option(help="Model whose log to replay, instead of LOG.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot the results over time to this file (.png, .svg).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report to this file (.html).")] = None,
    examined: Annotated[
        str | None,
        typer.Option(
            help="Probability that users look at each position, e.g. 1,0.6,0.4. Default: estimated from the log."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel jobs; 1 runs in this process.")] = _CORES,
    backend: Annotated[
        str, typer.Option(help="processes, or ray: the cluster at RAY_ADDRESS, or a local one.")
    ] = "processes",
    split: Annotated[str, typer.Option(help="Unit of work: learner, key (keyed models), or auto.")] = "auto",
    modules: Import = None,
) -> None:
    """Replay a log through other learners and compare the results.

    choose and label: estimates the reward of each learner from the propensities in the log (IPS, self-normalized,
    doubly robust, direct) with the effective sample size; where the correct labels are known, runs the learner on them.
    rank: estimates clicks per page with a position-bias model, and how often each learner puts the preferred item
    above the one shown. filter: measures precision on items with known relevance. Says what the log cannot answer.

    Example: [bold]smidgen replay --model banner --learner LinUCB --learner SquareCB:gamma=10 --report out.html[/bold]
    """
    import msgspec

    from smidgen.service.loops.evaluate_budgets import BUDGET
    from smidgen.service.loops.evaluate_clicks import as_curve
    from smidgen.service.ope import whatif
    from smidgen.service.ope.replay import replay
    from smidgen.service.ope.report import write
    from smidgen.service.ope.sources import ENDINGS

    if (log is None) == (model is None):
        raise typer.BadParameter("give either LOG or --model", param_hint="LOG")
    if log is not None and Path(log).suffix in ENDINGS and not Path(log).exists():
        raise typer.BadParameter(f"there is no file {log}: give an exported log", param_hint="LOG")
    curve = None if examined is None else as_curve(examined).tolist()
    with _bar() as progress:
        found = replay(
            log or model or "",
            [*(learner or ()), *(f"{BUDGET}{each}" for each in budget or ())],
            data=data,
            backend=backend,
            jobs=jobs,
            split=split,
            examined=curve,
            modules=modules or (),
            progress=progress,
        )
    if plot is not None:
        whatif.plot(found, plot)
    if report is not None:
        write(found, report)
    if json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        _show(found)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on standard error if it is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("replaying", total=None)
        yield lambda events, of: bar.update(task, completed=events, total=of)


def _show(found: WhatIf) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"{found.log}: {found.decisions} decisions, {found.answered} with feedback", markup=False)
    console.print(f"as logged: {found.logged.measure} {_figure(found.logged)}", markup=False)
    table = Table("learner", "measure", "value", "of", box=None, header_style="bold")
    for outcome in found.outcomes:
        name = outcome.settings if outcome.learner == "as logged" else outcome.learner
        for each in outcome.figures:
            effective = f" (effective {each.effective:.0f})" if each.effective is not None else ""
            table.add_row(name, each.measure, _figure(each), f"{each.of}{effective}")
            name = ""
    if table.rows:
        console.print(table)
    for outcome in found.outcomes:
        words = outcome.overlap.words if outcome.overlap is not None and outcome.learner != "as logged" else []
        for sentence in [*([outcome.verdict] if outcome.verdict else []), *words]:
            console.print(f"{outcome.learner}: {sentence}", markup=False)
    if found.examined is not None:
        shares = ", ".join(f"{read:.2f}" for read in found.examined.read)
        console.print(f"probability that users look at each position: {shares}", markup=False)
    for note in found.notes:
        console.print(f"note: {note}", style="dim", markup=False)
    for note, whose in _remarks(found).items():
        who = "" if len(whose) == len(found.outcomes) else f"{', '.join(whose)}: "
        console.print(f"note: {who}{note}", style="dim", markup=False)


def _remarks(found: WhatIf) -> dict[str, list[str]]:
    """Group the notes: each note once, with the learners it applies to."""
    said: dict[str, list[str]] = {}
    for outcome in found.outcomes:
        for note in outcome.notes:
            said.setdefault(note, []).append(outcome.learner)
    return said


def _figure(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "unknown"
    value = "" if estimate.value is None else f"{estimate.value:.3f} "
    return f"{value}({estimate.low:.3f} … {estimate.high:.3f})"
