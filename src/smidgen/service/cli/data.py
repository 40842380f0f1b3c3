"""Commands on logs and stores: log, fsck, backup, restore, store."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen.service.cli.serve import DATA, TIMES, Data, Import, as_place

if TYPE_CHECKING:
    from smidgen.learners import Learner
    from smidgen.service.admin.fsck import FsckReport, Progress
    from smidgen.service.admin.verify import Audit
    from smidgen.service.engine.rebuild import Rebuilding

# ``smidgen log verify|replay|export``: the log is the truth; check it, learn it again, take it elsewhere.

log = typer.Typer(
    name="log",
    help="Check, replay and export a model's log. A running service is not disturbed.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Source = Annotated[
    str, typer.Argument(help="A model's name, or an exported log: a file or a folder of files.", metavar="NAME")
]


@log.command()
def verify(name: Source, data: Data = DATA, modules: Import = None) -> None:
    """Check that a log is whole, and that learning it again gives the snapshots bit for bit.

    Events without gaps, every record readable, every feedback with its decision and only one, versions that count by
    one; then a replay from nothing, held against every snapshot. The exit status is 1 if anything is wrong.
    """
    from smidgen.service.admin.verify import audit_file, audit_model, together
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.ope.sources import files_of, recorded

    if files_of(Path(name)):
        with recorded(name, data) as recording:
            found = audit_file(recording)
    else:
        with Inspection(data) as seen:
            audits = {part.in_shard.get("shard"): audit_model(seen, part) for part in seen.model(name).parts}
            found = together(name, audits)
    _print(found)
    if found.problems:
        raise typer.Exit(1)


@log.command()
def replay(
    name: Source,
    data: Data = DATA,
    key: Annotated[str | None, typer.Option(help="Of a keyed model: whose learner.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the learner here; smidgen.load reads it.")] = None,
    modules: Import = None,
) -> None:
    """Rebuild the learner from the log alone, without snapshots, and show its weights."""
    from smidgen.service.engine.rebuild import rebuild_all
    from smidgen.service.errors import Unknown
    from smidgen.service.ope.sources import recorded

    with recorded(name, data) as recording:
        shards = rebuild_all(recording)
    seq, version = sum(each.seq for each in shards.values()), sum(each.version for each in shards.values())
    keys = sum(len(each.numbers) for each in shards.values())
    typer.echo(f"{recording.name}: {seq} events, version {version}")
    rebuilt = next((each for each in shards.values() if key in each.numbers), next(iter(shards.values())))
    if rebuilt.blueprint is not None and rebuilt.blueprint.body.keyed and key is None:
        typer.echo(f"{keys} keys, one learner each; choose one with --key")
        if out is not None:
            raise typer.BadParameter("a keyed model has many learners; say --key as well", param_hint="--out")
        return
    if key is not None and key not in rebuilt.numbers:
        raise Unknown(f"there is no key {key!r} in the log", "leave --key out to see how many there are")
    learner = rebuilt.learner(key)
    _describe(learner, _names(rebuilt))
    if out is not None:
        learner.save(out)
        typer.echo(f"saved to {out}")


@log.command()
def export(
    name: Annotated[str, typer.Argument(help="A model's name.")],
    data: Data = DATA,
    out: Annotated[Path | None, typer.Option(help="The file; NDJSON to standard output if left out.")] = None,
    format: Annotated[str, typer.Option(help="ndjson, csv, parquet or dsjson.")] = "ndjson",
    shard: Annotated[int | None, typer.Option(min=0, help="Of a model with several shards: only this one.")] = None,
    after: Annotated[int, typer.Option(min=0, help="Only the events after this one.")] = 0,
    since: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Only the events from this moment on (itself too), UTC.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Only the events before this moment (itself not), UTC.")
    ] = None,
    modules: Import = None,
) -> None:
    """Write the log for other programs.

    ndjson: every event in full, enough to rebuild the weights bit for bit. csv, parquet: a table, one event per row
    (parquet holds each event in full beside it). dsjson: answered choices by reward, for Vowpal Wabbit, each counted
    when its answer came. --since and --until cut out a span: day after day, every event is in exactly one. Exits with 1
    if events are missing; what can be read is written all the same.
    """
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.engine.recordings import DatabaseRecording, recording_of
    from smidgen.service.errors import LogDamaged
    from smidgen.service.integrations.exports import Span, find, lines
    from smidgen.service.log.events import stamp
    from smidgen.service.storage.sqlite_schema import RESTORE

    if since is not None and until is not None and since > until:
        raise typer.BadParameter(
            f"it ends at {until:%Y-%m-%dT%H:%M:%S}, before it begins", param_hint="--since, --until"
        )
    span = Span(
        after,
        *(stamp(at.replace(tzinfo=UTC).timestamp()) if at else usual for at, usual in ((since, ""), (until, "~"))),
    )
    if out is None and format != "ndjson":
        raise typer.BadParameter(f"{format} is written into a file", param_hint="--out")
    with Inspection(data) as seen:
        model = seen.model(name)
        if shard is not None and shard >= len(model.parts):
            raise typer.BadParameter(f"it is {shard}, and {name} has {len(model.parts)}", param_hint="--shard")
        if after and shard is None and len(model.parts) > 1:
            raise typer.BadParameter(f"each shard of {name} counts its own events; say --shard", param_hint="--after")
        recording = recording_of(seen, model) if shard is None else DatabaseRecording(seen, model.parts[shard])
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
        raise LogDamaged(f"the export is not complete: {'; '.join(recording.gaps[:10])}", RESTORE)


def _print(found: Audit) -> None:
    keys = "" if found.keys is None else f", {found.keys} keys"
    counts = f"{found.decisions} decisions, {found.learnt} learnt, {found.late} late"
    typer.echo(f"{found.name}: {found.events} events, {counts}{keys}")
    if found.passed_over:
        typer.echo(f"  passed over {found.passed_over} events of types that this smidgen does not know")
    for what in found.compared[:5]:
        typer.echo(f"  replayed and compared with {what}")
    if len(found.compared) > 5:
        typer.echo(f"  … and with {len(found.compared) - 5} more")
    for problem in found.problems[:20]:
        typer.echo(f"  wrong: {problem}", err=True)
    if len(found.problems) > 20:
        typer.echo(f"  … and {len(found.problems) - 20} more", err=True)
    typer.echo("  not sound" if found.problems else "  sound", err=bool(found.problems))


def _names(rebuilt: Rebuilding) -> dict[int, str]:
    """The names of columns, as far as the log has any that are no matter of the learner."""
    from smidgen.service.engine.model import HashedNames

    blueprint, group = rebuilt.blueprint, rebuilt.group
    if group is not None and group.table is not None:
        return dict(group.table.named_columns())
    if rebuilt.hashed and blueprint is not None and blueprint.dim is not None:
        hashed = HashedNames(blueprint.dim, rebuilt.hashed)
        return {c: name if hashed.sign(c) > 0 else f"{name}, counted with a minus" for c, name in hashed.all()}
    return dict(enumerate((blueprint.names if blueprint is not None else None) or ()))


def _describe(learner: Learner, names: dict[int, str]) -> None:
    import numpy as np

    from smidgen.errors import NoWeights
    from smidgen.learners.pipeline import vectorizer_of

    typer.echo(repr(learner))
    typer.echo(f"{learner.rounds} rounds learnt of {learner.decisions} decisions")
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


# ``smidgen fsck``, ``backup``, ``restore``: whether the data is sound, a copy of it, and the way back.

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
    """Write a backup of a data folder into one file, while the service runs or not.

    It is of one moment, checked like fsck does, written aside, synced, read back, and only then given its name. An
    older backup of that name is replaced. Only its owner can read it.
    """
    from smidgen.service.admin.backup import backup as write

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
    from smidgen.service.admin.backup import restore as put

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


# ``smidgen store copy``: all of a store into another one.

store = typer.Typer(
    name="store",
    help="Move what the service keeps: from a data folder into PostgreSQL, or back.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@store.callback()
def _root() -> None:
    """Keep ``copy`` a command of its own."""


@store.command("copy")
def copy_store(
    source: Annotated[
        Any, typer.Argument(parser=as_place, metavar="FROM", help="A data folder, or postgresql://user@host/database.")
    ],
    target: Annotated[Any, typer.Argument(parser=as_place, metavar="TO", help="The same; it must be empty.")],
    modules: Import = None,
) -> None:
    """Write all of a store into another one: models, events, decisions, states, tokens, bases.

    For example [bold]smidgen store copy smidgen-data postgresql://smidgen@db/smidgen[/bold], then
    [bold]smidgen serve --store postgresql://smidgen@db/smidgen[/bold].

    Stop the service first. A store that is in use is read as of one moment: what is acknowledged later is not in the
    copy. Every row is read back, the chain of every log is followed, and every log is learnt again in both places and
    compared bit for bit; only then is anything kept. The source stays as it is.
    """
    from smidgen.service.admin.copy_store import copy

    with bar() as progress:
        done = copy(source, target, progress)
    typer.echo(
        f"{target}: {done.models} models, {done.events} events, {done.tokens} tokens, {done.states} states;"
        " read back, and learnt again bit for bit"
    )
    if done.running:
        typer.echo(f"a service is writing to {source}: what it acknowledged since is not in the copy", err=True)
