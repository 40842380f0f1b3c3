"""``smidgen replay``: what if another learner had stood here? Over logs of any length, on one core or many."""

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
        typer.Option(help='Another learner, as "NAME" or "NAME:argument=value,…"; may be given several times.'),
    ] = None,
    data: Data = DATA,
    model: Annotated[str | None, typer.Option(help="The model whose log it is, instead of LOG.")] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the running figures into this file (.png, .svg).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with pictures into this file (.html).")] = None,
    examined: Annotated[
        str | None,
        typer.Option(help="Of rankings: how likely each place is looked at, e.g. 1,0.6,0.4; else the log must tell."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Pieces at a time; 1 stays in this process.")] = _CORES,
    backend: Annotated[
        str, typer.Option(help="processes, or ray: on the cluster of RAY_ADDRESS, else closed on this machine.")
    ] = "processes",
    split: Annotated[
        str, typer.Option(help="By learner, by key (of keyed models), or auto: by learner if there are enough.")
    ] = "auto",
    modules: Import = None,
) -> None:
    """What if another learner had stood here? Replays a log through other learners and compares.

    choose by reward, label: what each would have earned, weighted by the propensities of the log (IPS, self-normalised,
    doubly robust) or by a model fitted on the way (direct), and how much of the log bears on it; a run of its own where
    the right labels are known. rank: the clicks per page by how likely each place is looked at; how often each would
    have put the user's better object above the one shown. filter: the precision on what is known. What a log cannot
    tell is said.
    """
    import msgspec

    from smidgen.service.loops.evaluate_clicks import as_curve
    from smidgen.service.ope import whatif
    from smidgen.service.ope.replay import replay
    from smidgen.service.ope.report import write

    if (log is None) == (model is None):
        raise typer.BadParameter("give a log, or --model and --data", param_hint="LOG")
    curve = None if examined is None else as_curve(examined).tolist()
    with _bar() as progress:
        found = replay(
            log or model or "",
            learner or (),
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
    """A bar for long logs, where somebody is looking."""
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
    console.print(f"{found.log}: {found.decisions} decisions, {found.answered} learnt from", markup=False)
    console.print(f"what happened: {found.logged.measure} {_figure(found.logged)}", markup=False)
    table = Table("learner", "measure", "value", "of", box=None, header_style="bold")
    for outcome in found.outcomes:
        name = outcome.settings if outcome.learner == "as logged" else outcome.learner
        for each in outcome.figures:
            effective = f" (worth {each.effective:.0f})" if each.effective is not None else ""
            table.add_row(name, each.measure, _figure(each), f"{each.of}{effective}")
            name = ""
    if table.rows:
        console.print(table)
    for outcome in found.outcomes:
        words = outcome.overlap.words if outcome.overlap is not None and outcome.learner != "as logged" else []
        for sentence in [*([outcome.verdict] if outcome.verdict else []), *words]:
            console.print(f"{outcome.learner}: {sentence}", markup=False)
    if found.examined is not None:
        told = ", ".join(f"{read:.2f}" for read in found.examined.read)
        console.print(f"how likely each place is looked at: {told}", markup=False)
    for note in found.notes:
        console.print(f"note: {note}", style="dim", markup=False)
    for note, whose in _remarks(found).items():
        who = "" if len(whose) == len(found.outcomes) else f"{', '.join(whose)}: "
        console.print(f"note: {who}{note}", style="dim", markup=False)


def _remarks(found: WhatIf) -> dict[str, list[str]]:
    """What is to be said of learners, each remark once, with those whom it is about."""
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
