"""``smidgen log verify|replay|export``: the log is the truth; check it, learn it again, take it elsewhere."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smidgen.service.anywhere import TIMES
from smidgen.service.commands import DATA, Data, Import

if TYPE_CHECKING:
    from smidgen.learners import Learner
    from smidgen.service.insight.audit import Audit
    from smidgen.service.store.rebuilding import Rebuilding

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
    from smidgen.service.insight.audit import audit_file, audit_model, together
    from smidgen.service.replay.opening import files_of, recorded
    from smidgen.service.store.inspection import Inspection

    if files_of(Path(name)):
        with recorded(name, data) as recording:
            found = audit_file(recording)
    else:
        with Inspection(data) as seen:
            audits = {part.in_slot.get("slot"): audit_model(seen, part) for part in seen.model(name).parts}
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
    from smidgen.service.refusals import Unknown
    from smidgen.service.replay.opening import recorded
    from smidgen.service.store.rebuilding import rebuild_all

    with recorded(name, data) as recording:
        slots = rebuild_all(recording)
    seq, version = sum(each.seq for each in slots.values()), sum(each.version for each in slots.values())
    keys = sum(len(each.numbers) for each in slots.values())
    typer.echo(f"{recording.name}: {seq} events, version {version}")
    rebuilt = next((each for each in slots.values() if key in each.numbers), next(iter(slots.values())))
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
    slot: Annotated[int | None, typer.Option(min=0, help="Of a model with several slots: only this one.")] = None,
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
    when its answer came. --since and --until cut out a span: day after day, every event is in exactly one.
    """
    from smidgen.service.clock import stamp
    from smidgen.service.exports import Span, find
    from smidgen.service.exports.ndjson import lines
    from smidgen.service.store.database_recording import DatabaseRecording, recording_of
    from smidgen.service.store.inspection import Inspection

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
        if slot is not None and slot >= len(model.parts):
            raise typer.BadParameter(f"it is {slot}, and {name} has {len(model.parts)}", param_hint="--slot")
        if after and slot is None and len(model.parts) > 1:
            raise typer.BadParameter(f"each slot of {name} counts its own events; say --slot", param_hint="--after")
        recording = recording_of(seen, model) if slot is None else DatabaseRecording(seen, model.parts[slot])
        if out is None:
            for line in lines(recording, span):
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            return
        count = find(format).write(recording, span, out)
    if format == "dsjson":
        typer.echo(f"{count} answered decisions", err=True)
    typer.echo(str(out))


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
    from smidgen.service.models.hashed_names import HashedNames

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
    from smidgen.learners.records.around import vectorizer_of

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
