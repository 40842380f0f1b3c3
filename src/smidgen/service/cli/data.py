"""Commands on logs and stores: log, fsck, backup, restore, store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen.service.cli.serve import DATA, TIMES, Data, Import, as_address

if TYPE_CHECKING:
    from smidgen.learners import Learner
    from smidgen.service.admin.fsck import FsckReport, Progress
    from smidgen.service.admin.verify import Audit
    from smidgen.service.engine.rebuild import Rebuilder

# ``smidgen log verify|replay|export``: check, replay and export a log.

log = typer.Typer(
    name="log",
    help="Check, replay and export a model's log. Safe while the service is running.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Source = Annotated[
    str, typer.Argument(help="A model's name, or an exported log (a file or a folder of files).", metavar="NAME")
]


@log.command()
def verify(name: Source, data: Data = DATA, modules: Import = None) -> None:
    """Check that a log is complete and that replaying it reproduces the snapshots bit for bit.

    Checks that no event is missing, that every record is readable, that every feedback belongs to exactly one decision
    and that versions increase by one. Then replays the log from scratch and compares the result with every snapshot.
    Exits with 1 if a check fails.

    Example: [bold]smidgen log verify banner --data smidgen-data[/bold]
    """
    from smidgen.service.admin.verify import audit_file, audit_model, combine_audits
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.ope.sources import files_of, open_log

    if files_of(Path(name)):
        with open_log(name, data) as recording:
            found = audit_file(recording)
    else:
        with Inspection(data) as seen:
            audits = {part.shard_suffix.get("shard"): audit_model(seen, part) for part in seen.model(name).parts}
            found = combine_audits(name, audits)
    _print(found)
    if found.problems:
        raise typer.Exit(1)


@log.command()
def replay(
    name: Source,
    data: Data = DATA,
    key: Annotated[str | None, typer.Option(help="Key whose learner to rebuild, for keyed models.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the learner to this file; smidgen.load reads it.")] = None,
    modules: Import = None,
) -> None:
    """Rebuild a learner from the log alone, without snapshots, and print its weights.

    Example: [bold]smidgen log replay banner --out banner.smidgen[/bold]
    """
    from smidgen.checks import suggest
    from smidgen.service.engine.rebuild import rebuild_all
    from smidgen.service.errors import Unknown
    from smidgen.service.ope.sources import open_log

    with open_log(name, data) as recording:
        shards = rebuild_all(recording)
    seq, version = sum(each.seq for each in shards.values()), sum(each.version for each in shards.values())
    keys = sum(len(each.numbers) for each in shards.values())
    typer.echo(f"{recording.name}: {seq} events, version {version}")
    rebuilt = next((each for each in shards.values() if key in each.numbers), next(iter(shards.values())))
    if rebuilt.blueprint is not None and rebuilt.blueprint.body.keyed and key is None:
        typer.echo(f"The model has {keys} keys with one learner each. Choose one with --key.")
        if out is not None:
            raise typer.BadParameter("a keyed model has one learner per key; add --key", param_hint="--out")
        return
    if key is not None and key not in rebuilt.numbers:
        raise Unknown(f"there is no key {key!r} in the log", f"{suggest(key, rebuilt.numbers, 'the log has no keys')}")
    learner = rebuilt.learner(key)
    _describe(learner, _names(rebuilt))
    if out is not None:
        learner.save(out)
        typer.echo(f"Saved the learner to {out}.")


@log.command()
def export(
    name: Annotated[str, typer.Argument(help="A model's name.")],
    data: Data = DATA,
    out: Annotated[Path | None, typer.Option(help="File to write. Default: NDJSON to standard output.")] = None,
    format: Annotated[str, typer.Option(help="ndjson, csv, parquet or dsjson (Vowpal Wabbit).")] = "ndjson",
    shard: Annotated[int | None, typer.Option(min=0, help="Export this shard only.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Export events after this number.")] = 0,
    since: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Export events from this time on, inclusive (UTC).")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Export events before this time, exclusive (UTC).")
    ] = None,
    modules: Import = None,
) -> None:
    """Export the log for other programs.

    ndjson holds every event in full, enough to rebuild the weights bit for bit. csv and parquet are tables with one
    event per row; parquet also holds each event in full. dsjson holds choices with rewards in the format of Vowpal
    Wabbit, at the time of the reward. --since and --until select a time range; consecutive ranges never overlap. Exits
    with 1 if events are missing; readable events are exported anyway.

    Example: [bold]smidgen log export banner --out banner.parquet --format parquet --since 2026-11-01[/bold]
    """
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.engine.log_sources import StoreSource, source_of
    from smidgen.service.errors import LogDamaged
    from smidgen.service.integrations.exports import Span, find, lines
    from smidgen.service.log.events import stamp
    from smidgen.service.storage.sqlite_schema import RESTORE

    if since is not None and until is not None and since > until:
        raise typer.BadParameter(
            f"--until is {until:%Y-%m-%dT%H:%M:%S}, which is before --since", param_hint="--since, --until"
        )
    span = Span(
        after,
        *(stamp(at.replace(tzinfo=UTC).timestamp()) if at else usual for at, usual in ((since, ""), (until, "~"))),
    )
    if out is None and format != "ndjson":
        raise typer.BadParameter(
            f"{format} cannot be written to standard output; give a file with --out", param_hint="--out"
        )
    with Inspection(data) as seen:
        model = seen.model(name)
        if shard is not None and shard >= len(model.parts):
            raise typer.BadParameter(
                f"{shard} is out of range: {name} has {len(model.parts)} shards, 0 to {len(model.parts) - 1}",
                param_hint="--shard",
            )
        if after and shard is None and len(model.parts) > 1:
            raise typer.BadParameter(f"each shard of {name} numbers its own events; add --shard", param_hint="--after")
        recording = source_of(seen, model) if shard is None else StoreSource(seen, model.parts[shard])
        if out is None:
            for line in lines(recording, span):
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        else:
            count = find(format).write(recording, span, out)
            if format == "dsjson":
                typer.echo(f"{count} answered decisions", err=True)
            typer.echo(str(out))
    if recording.gaps:
        raise LogDamaged(f"the export is incomplete: {'; '.join(recording.gaps[:10])}", RESTORE)


def _print(found: Audit) -> None:
    keys = "" if found.keys is None else f", {found.keys} keys"
    counts = f"{found.decisions} decisions, {found.learnt} learnt, {found.late} late"
    typer.echo(f"{found.name}: {found.events} events, {counts}{keys}")
    if found.passed_over:
        typer.echo(f"  skipped {found.passed_over} events of types that this version does not know")
    for what in found.compared[:5]:
        typer.echo(f"  replayed and compared with {what}")
    if len(found.compared) > 5:
        typer.echo(f"  … and with {len(found.compared) - 5} more")
    for problem in found.problems[:20]:
        typer.echo(f"  error: {problem}", err=True)
    if len(found.problems) > 20:
        typer.echo(f"  … and {len(found.problems) - 20} more", err=True)
    typer.echo("  errors found" if found.problems else "  no errors found", err=bool(found.problems))


def _names(rebuilt: Rebuilder) -> dict[int, str]:
    """The names of columns, as far as the log has any that are no matter of the learner."""
    from smidgen.service.engine.model import HashedNames

    blueprint, group = rebuilt.blueprint, rebuilt.group
    if group is not None and group.table is not None:
        return dict(group.table.named_columns())
    if rebuilt.hashed and blueprint is not None and blueprint.dim is not None:
        hashed = HashedNames(blueprint.dim, rebuilt.hashed)
        return {c: name if hashed.sign(c) > 0 else f"{name}, counted negatively" for c, name in hashed.all()}
    return dict(enumerate((blueprint.names if blueprint is not None else None) or ()))


def _describe(learner: Learner, names: dict[int, str]) -> None:
    import numpy as np

    from smidgen.errors import NoWeights
    from smidgen.learners.pipeline import vectorizer_of

    typer.echo(repr(learner))
    typer.echo(f"Learned {learner.rounds} rounds from {learner.decisions} decisions.")
    try:
        weights = learner.weights
    except NoWeights as error:
        typer.echo(error.problem)
        return
    typer.echo(f"weights: shape {weights.shape}, norm {np.linalg.norm(weights):.6g}")
    features = vectorizer_of(learner)
    known = names if features is None else dict(features.named_columns())
    if weights.ndim == 1:
        for i in np.argsort(-np.abs(weights), kind="stable")[:10]:
            typer.echo(f"  {known.get(int(i), i)}: {weights[i]:.6g}")


# ``smidgen fsck``, ``backup``, ``restore``: check, copy and restore a data folder.

Backup = Annotated[Path, typer.Argument(help="Path of the backup file.", metavar="FILE")]
Deep = Annotated[bool, typer.Option("--deep", help="Also replay every log and compare the weights bit for bit.")]


def fsck(
    data: Data = DATA,
    deep: Deep = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    modules: Import = None,
) -> None:
    """Check a data folder for errors. Read only; safe while the service is running.

    Checks the database file, the hash chain of every log, the derived tables, the log heads, the snapshots, the tokens
    and the file permissions. Prints every finding with a fix. Exits with 1 if there are errors.

    Example: [bold]smidgen fsck --data smidgen-data --deep[/bold]
    """
    from smidgen.service.admin.fsck import fsck as check

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
    """Back up a data folder to one file. Safe while the service is running.

    The backup is a consistent snapshot. smidgen checks the data as fsck does, writes to a temporary file, syncs it,
    reads it back and then renames it to FILE. An existing backup of that name is replaced. Only the owner can read the
    file.

    Example: [bold]smidgen backup nightly.smidgen-backup --data smidgen-data[/bold]
    """
    from smidgen.service.admin.backup import backup as write

    with bar() as progress:
        made = write(file, data, progress=progress)
    size = file.stat().st_size
    typer.echo(
        f"Wrote and verified {file}: {count(made.models, 'model')}, {count(made.events, 'event')}, {size:,} bytes."
    )


def restore(
    file: Backup,
    data: Annotated[Path, typer.Option(help="Data folder to create; must be missing or empty.")] = DATA,
    force: Annotated[bool, typer.Option("--force", help="Rename an existing data folder first.")] = False,
    deep: Deep = False,
    modules: Import = None,
) -> None:
    """Restore a data folder from a backup.

    Stop the service first. The restored data is checked as fsck does before it replaces anything. Events acknowledged
    after the backup are not in it.

    Example: [bold]smidgen restore nightly.smidgen-backup --data smidgen-data --force[/bold]
    """
    from smidgen.service.admin.backup import restore as put

    with bar() as progress:
        done = put(file, data, force=force, deep=deep, progress=progress)
    made = done.manifest
    size = f"{count(made.models, 'model')}, {count(made.events, 'event')}"
    typer.echo(f"Restored {data}: {size}, as of {made.made_at}. No errors found.")
    if done.moved is not None:
        typer.echo(f"Renamed the old folder to {done.moved}.")


def count(n: int, noun: str) -> str:
    """A number and its noun: ``1 model``, ``2 models``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _tell(report: FsckReport) -> None:
    held = " (in use by a service)" if report.running else ""
    size = f"{count(report.models, 'model')}, {count(report.events, 'event')}, {count(report.tokens, 'token')}"
    typer.echo(f"{report.data}{held}: {size}")
    states = f", {count(report.states, 'key state')}" if report.states else ""
    typer.echo(f"  {count(report.snapshots, 'snapshot')}{states}")
    for note in report.notes:
        typer.echo(f"  note: {note}")
    for finding in report.findings:
        typer.echo(f"  error: {finding.where}: {finding.problem}", err=True)
        typer.echo(f"    {finding.hint}", err=True)
    if report.sound:
        typer.echo("  no errors found; every log replayed bit for bit" if report.deep else "  no errors found")
    else:
        typer.echo(f"  {count(len(report.findings), 'error')} found", err=True)


@contextmanager
def bar() -> Iterator[Progress]:
    """Show a progress bar on standard error if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("opening", total=None)

        def progress(what: str, done: int, of: int) -> None:
            bar.update(task, description=what, completed=done, total=of or None)

        yield progress


# ``smidgen store copy``: copy a store.

store = typer.Typer(
    name="store",
    help="Copy all data from a data folder to PostgreSQL, or back.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@store.callback()
def _root() -> None:
    """Keep ``copy`` a subcommand."""


@store.command("copy")
def copy_store(
    source: Annotated[
        Any,
        typer.Argument(parser=as_address, metavar="FROM", help="A data folder, or postgresql://user@host/database."),
    ],
    target: Annotated[
        Any, typer.Argument(parser=as_address, metavar="TO", help="A data folder or database URL; must be empty.")
    ],
    modules: Import = None,
) -> None:
    """Copy a whole store to another one: models, events, decisions, states, tokens, retention checkpoints.

    Stop the service first. If the source is in use, the copy is a consistent snapshot and later events are not in it.
    smidgen reads back every row, verifies the hash chain of every log, replays every log in both stores and compares
    the weights bit for bit before it commits. The source does not change.

    Example: [bold]smidgen store copy smidgen-data postgresql://smidgen@db/smidgen[/bold], then
    [bold]smidgen serve --store postgresql://smidgen@db/smidgen[/bold]
    """
    from smidgen.service.admin.copy_store import copy

    with bar() as progress:
        done = copy(source, target, progress)
    typer.echo(
        f"{target}: {count(done.models, 'model')}, {count(done.events, 'event')}, {count(done.tokens, 'token')}, "
        f"{count(done.states, 'state')}; read back, and replayed bit for bit"
    )
    if done.running:
        typer.echo(f"a service is writing to {source}: what it acknowledged since is not in the copy", err=True)
