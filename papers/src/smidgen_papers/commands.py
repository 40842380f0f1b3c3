"""``smidgen papers``: list, run, report. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from smidgen_papers.part import Run
    from smidgen_papers.runner import Shown, Work
    from smidgen_papers.verify import Checked

app = typer.Typer(
    name="papers",
    help="""Reproduce the papers: every figure, table and claim.

    [bold]smidgen papers list[/bold] shows what there is, [bold]smidgen papers run coactive/fig2 --quick[/bold] runs
    one in seconds, [bold]smidgen papers report[/bold] makes a page of all that was run.""",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Data = Annotated[
    Path | None, typer.Option(help="Folder of the data sets; else SMIDGEN_PAPERS_DATA. What is absent is generated.")
]
Out = Annotated[Path, typer.Option(help="Folder for pictures, numbers and finished parts.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small version of each: few repetitions, the same code.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed, the same numbers.")]
Jobs = Annotated[int, typer.Option(min=1, help="Parts at a time; 1 stays in this process.")]
_OUT = Path("smidgen-papers")
_CORES = os.cpu_count() or 1


@app.command("list")
def list_(data: Data = None, out: Out = _OUT, quick: Quick = False, seed: Seed = 0) -> None:
    """List the figures and tables: what they need, whether it is there, how long they take, what is done."""
    from rich.console import Console
    from rich.table import Table

    from smidgen_papers.catalogue import chosen
    from smidgen_papers.runner import work_of

    run = _run(data, out, quick, seed)
    table = Table("experiment", "what", "data", "time", "done", title_justify="left", box=None, header_style="bold")
    for figure in chosen():
        work = work_of([figure], run)
        there = [f"{name} {'✓' if run.has(name) else '✗ (generated)'}" for name in figure.data]
        seconds = sum(part.seconds for part in work.parts)
        table.add_row(figure.id, figure.title, "\n".join(there) or "generated", _time(seconds), _share(work))
    Console().print(table)
    typer.echo("\ntime: one core from nothing; parts that two experiments share are computed once")


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments (coactive/fig2) or papers (coactive).", show_default=False)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every experiment of every paper.")] = False,
    data: Data = None,
    out: Out = _OUT,
    jobs: Jobs = _CORES,
    seed: Seed = 0,
    quick: Quick = False,
    backend: Annotated[
        str, typer.Option(help="processes, or ray: on the cluster of RAY_ADDRESS, else closed on this machine.")
    ] = "processes",
) -> None:
    """Run experiments: the figure, the numbers behind it, and a verdict on each claim.

    Finished parts are kept by the hash of their settings, code and data: an interrupted run goes on where it stopped,
    and what has not changed is not computed again. Writes OUT/PAPER/FIGURE.svg, .png and .csv.
    """
    from smidgen_papers.catalogue import chosen
    from smidgen_papers.report import write_numbers
    from smidgen_papers.runner import compute, show, work_of

    if bool(names) == all_:
        raise typer.BadParameter("name experiments or papers, or say --all", param_hint="NAMES")
    asked = _run(data, out, quick, seed)
    figures = chosen(names or ())
    work = work_of(figures, asked)
    typer.echo(f"{len(figures)} experiments, {len(work.parts)} parts, {len(work.kept)} of them kept from before")
    try:
        _with_bar(work, lambda report: compute(work, asked, jobs=jobs, backend=backend, report=report))
    except KeyboardInterrupt:
        typer.echo("interrupted; finished parts are kept, and the same command goes on from here", err=True)
        raise typer.Exit(130) from None
    for figure in figures:
        shown = show(figure, asked)
        paths = write_numbers(shown, out)
        _print(shown, next((path for path in paths if path.suffix == ".svg"), paths[0] if paths else out))


@app.command()
def report(data: Data = None, out: Out = _OUT, seed: Seed = 0) -> None:
    """Make one self-contained page, OUT/report.html, and the CSV files of all experiments that are complete.

    Of an experiment that was run in full and quickly, the full run is shown.
    """
    from smidgen_papers.report import page, write_numbers

    shown = _complete(data, out, seed)
    for _, one in shown:
        write_numbers(one, out)
    target = out / "report.html"
    target.write_text(page(shown), encoding="utf-8")
    typer.echo(f"{target}: {len(shown)} experiments")


@app.command()
def pages(
    docs: Annotated[Path, typer.Argument(help="The documentation's folder.")] = Path("docs"),
    data: Data = None,
    out: Out = _OUT,
    seed: Seed = 0,
    prose: Annotated[
        bool, typer.Option("--prose", help="Only the remarks, into pages that are there; no results are needed.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing: say what the pages have otherwise than these results.")
    ] = False,
) -> None:
    """Write the documentation's pages about the papers, text and pictures, from the experiments that are complete.

    The same results give the same pages, to the byte; only times differ from run to run.
    """
    from smidgen_papers.pages import differing, write_pages
    from smidgen_papers.prose import write_prose

    if check:
        differences = differing(_complete(data, out, seed), docs)
        for name, lines in differences.items():
            typer.echo("\n  ".join([f"{name}: {'otherwise' if lines else 'the same'}", *lines]))
        raise typer.Exit(int(any(differences.values())))
    for path in write_prose(docs) if prose else write_pages(_complete(data, out, seed), docs):
        typer.echo(str(path))


@app.command()
def verify(
    earlier: Annotated[Path, typer.Argument(help="The OUT folder of an earlier run.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments or papers; none means all.", show_default=False)
    ] = None,
    data: Data = None,
    out: Out = _OUT,
    jobs: Jobs = _CORES,
    seed: Seed = 0,
    quick: Quick = False,
    every: Annotated[bool, typer.Option("--every", help="Compute every part anew, not one of each kind.")] = False,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="How far a number may be off, relatively; 0: no bit.")
    ] = 0.0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take the earlier answers over into OUT, for what came out as it was.")
    ] = False,
) -> None:
    """Compute parts of an earlier run again, and compare: the code of today should give the same.

    Of every kind of part (a function with a data set and a learner) one is computed. The run ends with 1 if something
    came out otherwise. Times are not compared.
    """
    from smidgen_papers.catalogue import chosen
    from smidgen_papers.verify import take_over
    from smidgen_papers.verify import verify as compare

    asked, kept = _run(data, out, quick, seed), earlier / "kept"
    verdicts = compare(
        chosen(names or ()), asked, kept, everything=every, jobs=jobs, report=lambda one: _tell(one, tolerance)
    )
    for verdict in verdicts:
        worst = max((one.deviation for one in verdict.checked), default=0.0)
        said = "nothing to compare" if not verdict.checked else "the same bits" if worst == 0 else f"{worst:.2g} apart"
        typer.echo(
            f"{verdict.figure.id}: {len(verdict.checked)} computed again, {verdict.kept} kept, of {len(verdict.parts)} "
            f"parts: {said}"
        )
    if keep:
        typer.echo(f"{take_over(verdicts, asked, kept, tolerance)} answers taken over into {out}")
    if any(verdict.checked and not verdict.holds(tolerance) for verdict in verdicts):
        raise typer.Exit(1)


def _tell(one: Checked, tolerance: float) -> None:
    if one.deviation > tolerance:
        typer.echo(f"{one.part.work} {one.part.settings}: {one.where} is {one.deviation:.2g} apart", err=True)


def _run(data: Path | None, out: Path, quick: bool, seed: int) -> Run:
    from smidgen_papers.data.folder import data_folder
    from smidgen_papers.part import Place, Run

    return Run(Place(data_folder(data), out / "kept"), quick, seed)


def _complete(data: Path | None, out: Path, seed: int) -> list[tuple[Run, Shown]]:
    from smidgen_papers.catalogue import chosen
    from smidgen_papers.runner import complete, show

    runs = [_run(data, out, quick, seed) for quick in (False, True)]
    found = [(next((run for run in runs if complete(figure, run)), None), figure) for figure in chosen()]
    shown = [(run, show(figure, run)) for run, figure in found if run is not None]
    if not shown:
        typer.echo(f"nothing in {out} is complete; run experiments first: smidgen papers run --all --quick", err=True)
        raise typer.Exit(1)
    return shown


def _with_bar(work: Work, go: Callable[[Callable[..., None]], None]) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    missing = work.missing
    if not missing:
        return
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=120) as bar:
        task = bar.add_task(f"0/{len(missing)} parts", total=sum(part.seconds for part in missing))
        done = 0

        def report(part: object, seconds: float) -> None:
            nonlocal done
            done += 1
            bar.update(task, advance=getattr(part, "seconds", 1.0), description=f"{done}/{len(missing)} parts")

        go(report)


def _print(shown: Shown, path: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"\n[bold]{shown.figure.id}[/bold] {shown.figure.title}  →  {path}")
    for note in shown.outcome.notes:
        console.print(f"  {note}", style="dim", markup=False)
    colours = {"holds": "green", "does not hold here": "red", "cannot be tested here": "yellow"}
    if shown.findings:
        table = Table("verdict", "the paper says", "measured", box=None, pad_edge=True)
        for claim, finding in shown.findings:
            text = f"{finding.effect}. {finding.reason}" if finding.reason else finding.effect
            table.add_row(f"[{colours[finding.verdict]}]{finding.verdict}[/]", f"{claim.says} ({claim.where})", text)
        console.print(table)


def _share(work: Work) -> str:
    return f"{len(work.kept)}/{len(work.parts)}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
