"""``smidgen fsck``, ``backup``, ``restore``: whether the data is sound, a copy of it, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smidgen.service.commands import DATA, Data, Import

if TYPE_CHECKING:
    from smidgen.service.safekeeping.fsck import FsckReport, Progress

Backup = Annotated[Path, typer.Argument(help="The backup.", metavar="FILE")]
Deep = Annotated[bool, typer.Option("--deep", help="Also learn every log again, and compare bit for bit.")]


def fsck(
    data: Data = DATA,
    deep: Deep = False,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    modules: Import = None,
) -> None:
    """Check that a data folder is sound; nothing in it is changed, and a running service is not disturbed.

    The database file, the chain of every log, the tables beside it, the heads, the snapshots, the tokens, and who may
    read the files. The exit status is 0 if all is well; else every finding is told, with the way out.
    """
    from smidgen.service.safekeeping.fsck import fsck as check

    with bar() as progress:
        report = check(data, deep=deep, progress=progress)
    if json:
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        _tell(report)
    if not report.sound:
        raise typer.Exit(1)


def backup(file: Backup, data: Data = DATA, modules: Import = None) -> None:
    """Write a backup of a data folder into one file, while the service runs or not.

    It is of one moment, checked like fsck does, written aside, synced, read back, and only then given its name. An
    older backup of that name is replaced. Only its owner can read it.
    """
    from smidgen.service.safekeeping.backup import backup as write

    with bar() as progress:
        made = write(file, data, progress=progress)
    size = file.stat().st_size
    typer.echo(f"{file}: {made.models} models, {made.events} events, {size:,} bytes; written and read back")


def restore(
    file: Backup,
    data: Annotated[Path, typer.Option(help="The data folder to make: not there, or empty.")] = DATA,
    force: Annotated[bool, typer.Option("--force", help="Move an old data folder aside.")] = False,
    deep: Deep = False,
    modules: Import = None,
) -> None:
    """Make a data folder of a backup. It is checked like fsck does before it is put in its place.

    What was acknowledged after the backup is not in it. Stop the service first.
    """
    from smidgen.service.safekeeping.restore import restore as put

    with bar() as progress:
        done = put(file, data, force=force, deep=deep, progress=progress)
    made = done.manifest
    typer.echo(f"{data}: {made.models} models, {made.events} events, as of {made.made_at}; sound")
    if done.moved is not None:
        typer.echo(f"the old folder is {done.moved}")


def _tell(report: FsckReport) -> None:
    held = ", which a service is using" if report.running else ""
    typer.echo(f"{report.data}{held}: {report.models} models, {report.events} events, {report.tokens} tokens")
    states = f", {report.states} states of keys" if report.states else ""
    typer.echo(f"  {report.snapshots} snapshots{states}")
    for note in report.notes:
        typer.echo(f"  note: {note}")
    for finding in report.findings:
        typer.echo(f"  wrong: {finding.where}: {finding.problem}", err=True)
        typer.echo(f"    {finding.hint}", err=True)
    if report.sound:
        typer.echo("  sound; every log learnt again, bit for bit" if report.deep else "  sound")
    else:
        typer.echo(f"  not sound: {len(report.findings)} findings", err=True)


@contextmanager
def bar() -> Iterator[Progress]:
    """How far it is, on standard error, if somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("opening", total=None)

        def progress(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of or None)

        yield progress
