"""Commands on models: ``models``, ``forget``, ``rollback``, ``retract``, ``retain``.

With ``--url`` the commands call a running service. Without, they change the data folder of a stopped one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen.service.cli.serve import DATA, TIMES, CommandTarget, Data, Import, Name, with_target

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.engine.engine import Engine
    from smidgen.service.engine.undo import Progress
    from smidgen.service.schemas import Finding, ModelReply, Quality
    from smidgen.service.storage.address import Place

# ``smidgen models``: list the models of a store or of a running service.


def list_models(
    context: typer.Context,
    data: Data = DATA,
    url: Annotated[
        str | None, typer.Option(help="Address of a running service, instead of --data, e.g. http://127.0.0.1:8470.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="Token for --url, if the service requires one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    modules: Import = None,
    health: Annotated[
        bool, typer.Option("--health", help="Print every finding of the health checks, with a fix.")
    ] = False,
) -> None:
    """List the models with their learner, number of decisions, quality and health; or run a subcommand on one.

    Examples: [bold]smidgen models[/bold], [bold]smidgen models --health[/bold],
    [bold]smidgen models create banner '{"loop": "choose"}'[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    import msgspec

    listed = _from_service(url, token) if url is not None else _from_database(data)
    if json:
        listing = [msgspec.to_builtins(model) | {"findings": msgspec.to_builtins(found)} for model, found in listed]
        plain = listing if health else [model for model, _ in listed]
        typer.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
        return
    if health:
        for model, found in listed:
            for line in _in_words(model, found):
                typer.echo(line)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 1))
    for head in ("model", "loop", "learner", "decisions", "quality", "health"):
        table.add_column(head, overflow="fold", justify="right" if head == "decisions" else "left")
    for model, found in listed:
        name = model.name if model.archived_at is None else f"{model.name} (archived)"
        learner = f"{model.learner} × {model.keys} keys" if model.keys is not None else model.learner
        table.add_row(name, model.loop, learner, f"{model.decisions:,}", _quality(model.quality), _worst(found))
    none = 'There are no models. Create one: smidgen models create banner \'{"loop": "choose"}\''
    Console().print(table if listed else none, markup=False, highlight=False)


def _from_database(data: Place) -> list[tuple[ModelReply, list[Finding]]]:
    from smidgen.service.engine.description import summarize_model
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.monitoring.health import Health

    now, health = time.time(), Health()
    with Inspection(data) as seen:
        return [
            (summarize_model(seen.reading, model, now), health.of(seen.reading, model, now).findings)
            for model in seen.models()
        ]


def _from_service(url: str, token: str | None) -> list[tuple[ModelReply, list[Finding]]]:
    import msgspec

    from smidgen.client import Client
    from smidgen.service.schemas import Finding, ModelReply

    with Client(url, token=token) as client:
        models = msgspec.convert(client.models(), list[ModelReply])
        return [(model, msgspec.convert(client.health(model.name), list[Finding])) for model in models]


def _quality(quality: Quality) -> str:
    if quality.value is None:
        return f"{quality.measure}: no data yet"
    known = quality.low is not None and quality.high is not None
    interval = f" ({quality.low:.3f}–{quality.high:.3f})" if known else ""
    return f"{quality.measure} {quality.value:.3f}{interval}"


def _worst(found: list[Finding]) -> str:
    if not found:
        return "healthy"
    worst = [each.code for each in found if each.severity == found[0].severity]
    return f"{found[0].severity}: {', '.join(dict.fromkeys(worst))}"


def _in_words(model: ModelReply, found: list[Finding]) -> list[str]:
    lines = [f"{model.name}: {_worst(found)}"]
    for each in found:
        lines += [f"  {each.severity} {each.code}: {each.message}", f"    {each.hint}"]
    return lines


models = typer.Typer(
    name="models",
    help="List, create, copy, import, compare, promote, rename and archive models.",
    rich_markup_mode="rich",
)
models.callback(invoke_without_command=True)(list_models)


@models.command()
@with_target
def create(
    place: CommandTarget,
    name: Name,
    settings: Annotated[
        str, typer.Argument(help="Settings as JSON (the body of PUT /v1/models/NAME), or the path of a JSON file.")
    ],
) -> None:
    """Create a model.

    Examples: [bold]smidgen models create banner '{"loop": "choose"}'[/bold],
    [bold]smidgen models create search settings.json --url http://127.0.0.1:8470[/bold]
    """
    import msgspec

    from smidgen.serialization import UNREADABLE
    from smidgen.service.errors import BadRequest, not_json, validation_error
    from smidgen.service.schemas import ModelBody

    try:
        text = settings if settings.lstrip().startswith("{") else Path(settings).read_text(encoding="utf-8")
    except OSError as error:
        raise BadRequest(
            f"the file {settings} cannot be read: {error.strerror}", "give a JSON object or the path of a JSON file"
        ) from error
    try:
        plain = msgspec.json.decode(text)
        body = msgspec.convert(plain, ModelBody)
    except msgspec.ValidationError as error:
        raise validation_error(error, plain, ModelBody) from error
    except UNREADABLE as error:
        raise not_json(error, "SETTINGS", 'give an object, e.g. {"loop": "choose"}') from error

    def there(client: Client) -> str:
        given = dict(plain)
        client.create(name, loop=given.pop("loop"), learner=given.pop("learner", None), **given)
        return str(client.describe(name)["learner"])

    learner = place.run(lambda engine: engine.create(name, body)[1].learner, there, create=True)
    typer.echo(f"Created model {name} (learner: {learner}).")


@models.command()
@with_target
def archive(place: CommandTarget, name: Name) -> None:
    """Archive a model: it makes no more decisions.

    The log stays. Feedback on earlier decisions is accepted until its window closes.

    Example: [bold]smidgen models archive banner[/bold]
    """
    place.run(lambda engine: engine.archive(name), lambda client: client.archive(name))
    typer.echo(f"Archived model {name}.")


@models.command()
@with_target
def revive(place: CommandTarget, name: Name) -> None:
    """Restore an archived model: it decides again and continues from its last state.

    Example: [bold]smidgen models revive banner[/bold]
    """
    place.run(lambda engine: engine.revive(name), lambda client: client.revive(name))
    typer.echo(f"Restored model {name}: it decides again.")


@models.command()
@with_target
def rename(
    place: CommandTarget,
    name: Name,
    to: Annotated[str, typer.Argument(help="New name.", metavar="TO")],
) -> None:
    """Rename an archived model, so that its name can be used for a new one.

    Example: [bold]smidgen models rename banner banner-2025[/bold]
    """
    import msgspec

    from smidgen.service.errors import BadRequest
    from smidgen.service.schemas import RenameBody

    try:
        body = msgspec.convert({"to": to}, RenameBody)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the new name is {to!r}", "use letters, digits, dots, dashes and underscores") from error
    place.run(lambda engine: engine.rename(name, body.to), lambda client: client.rename(name, body.to))
    typer.echo(f"Renamed model {name} to {to}.")


@models.command()
@with_target
def copy(
    place: CommandTarget,
    name: Name,
    to: Annotated[str, typer.Argument(help="Name of the copy.", metavar="TO")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Copy the settings only, not the learned state.")] = False,
) -> None:
    """Copy a model to a new name, with its learned state.

    Example: [bold]smidgen models copy banner banner-test --fresh[/bold]
    """
    from smidgen.service.schemas import CopyBody

    body = CopyBody(to=to, learnt=not fresh)
    place.run(
        lambda engine: engine.copy(name, body),
        lambda client: client.copy(name, to, learnt=not fresh),
    )
    typer.echo(f"Copied model {name} to {to}{' (settings only)' if fresh else ''}.")


@models.command()
@with_target
def promote(place: CommandTarget, name: Name) -> None:
    """Promote a challenger or shadow: its champion takes over its settings and state.

    Example: [bold]smidgen models promote banner-next[/bold]
    """

    def here(engine: Engine) -> dict[str, Any]:
        found = engine.promote(name)
        return {"champion": found.champion, "model_version": found.model_version}

    reply = place.run(here, lambda client: client.promote(name))
    version = reply["model_version"]
    typer.echo(f"Promoted {name}: {reply['champion']} uses its settings and state from version {version} on.")


@models.command()
@with_target
def compare(place: CommandTarget, name: Name) -> None:
    """Compare a champion with its challenger or shadow: which is better, with what confidence, and how long to wait.

    Example: [bold]smidgen models compare banner[/bold]
    """

    def here(engine: Engine) -> str:
        from smidgen.service.monitoring.compare import compare_arms

        return compare_arms(engine.store, engine.model(name), engine.clock()).in_words

    typer.echo(place.run(here, lambda client: client.compare(name)["in_words"]))


@with_target
def worth(place: CommandTarget, name: Name) -> None:
    """Print what a model is worth against its holdout: means, lift, verdict, and a check of the split."""

    def here(engine: Engine) -> dict[str, Any]:
        import msgspec

        from smidgen.service.monitoring.worth import worth_of

        out: dict[str, Any] = msgspec.to_builtins(worth_of(engine.store, engine.model(name), engine.clock()))
        return out

    found = place.run(here, lambda client: client.worth(name))
    typer.echo(f"model: {_mean(found['model'])}")
    typer.echo(f"holdout: {_mean(found['holdout'])}")
    typer.echo(f"difference: {_mean(found['lift']['difference'])}")
    typer.echo(f"ratio: {_mean(found['lift']['ratio'])}")
    ratio, to_go = found["sample_ratio"], found["decisions_to_go"]
    observed = "nothing yet" if ratio["observed"] is None else f"{ratio['observed']:.2%}"
    fits = "as expected" if ratio["ok"] else f"WRONG: p = {ratio['p']:.2g}"
    typer.echo(f"share of the holdout: {observed}, asked for {ratio['expected']:.2%} ({fits})")
    more = f", about {to_go:,} more decisions" if to_go else ""
    typer.echo(f"verdict: {found['verdict']}{more}")


@with_target
def candidates(
    place: CommandTarget,
    name: Name,
    holdout: Annotated[bool, typer.Option("--holdout", help="Count the decisions of the holdout too.")] = False,
) -> None:
    """Print what each candidate of a model earned, with intervals, the most shown first."""

    def here(engine: Engine) -> list[dict[str, Any]]:
        import msgspec

        from smidgen.service.monitoring.breakdown import by_candidate

        found = by_candidate(engine.store, engine.model(name), engine.clock(), held=holdout)
        rows: list[dict[str, Any]] = msgspec.to_builtins(found.candidates)
        return rows

    for row in place.run(here, lambda client: client.candidates(name, holdout=holdout)):
        trend = "" if row["trend"] is None else f", trend {row['trend']:+.3f}"
        typer.echo(f"{row['id']}: {_mean(row['reward'])}, shown {row['shown']} ({row['share']:.1%}){trend}")


@with_target
def segments(
    place: CommandTarget,
    name: Name,
    by: Annotated[str, typer.Option(help="A field of the records, e.g. context.device.")],
) -> None:
    """Print what a model's decisions earned by the value of a field of their records."""

    def here(engine: Engine) -> dict[str, Any]:
        import msgspec

        from smidgen.service.monitoring.breakdown import by_segment, names_of

        names = names_of(engine, engine.locked_shard(name, None))
        found = by_segment(engine.store, engine.model(name), by, names, engine.clock())
        out: dict[str, Any] = msgspec.to_builtins(found)
        return out

    found = place.run(here, lambda client: client.segments(name, by))
    for row in found["segments"]:
        typer.echo(f"{by} = {row['value']}: {_mean(row['reward'])}, {row['decisions']} decisions")
    typer.echo(found["note"])


def _mean(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return "nothing yet"
    known = found["low"] is not None and found["high"] is not None
    interval = f" ({found['low']:.3f} … {found['high']:.3f})" if known else ""
    return f"{found['value']:.3f}{interval} over {found['n']}"


@models.command("import")
@with_target
def import_model(
    place: CommandTarget,
    name: Name,
    file: Annotated[
        Path, typer.Argument(help="A saved learner, or an exported log (.ndjson).", metavar="FILE", exists=True)
    ],
) -> None:
    """Create a model from a saved learner or an exported log, or fill an empty model.

    Example: [bold]smidgen models import banner banner.ndjson[/bold]
    """
    from smidgen.service.engine.lifecycle import from_learner, from_log

    content, log = file.read_bytes(), file.suffix in (".ndjson", ".jsonl", ".json")
    if place.url is not None:
        media = "application/x-ndjson" if log else "application/octet-stream"
        with place.client() as client:
            client.import_model(name, content, media)
    else:
        brought = (from_log if log else from_learner)(content)
        with place.engine(create=True) as engine:
            engine.import_model(name, brought, str(file.name))
    typer.echo(f"Imported {file} into model {name}.")


@with_target
def forget(
    place: CommandTarget,
    name: Name,
    key: Annotated[
        str, typer.Argument(help="Key or unit (usually the user's id) whose events to erase.", metavar="KEY")
    ],
) -> None:
    """Delete one user's data from a model, and from the copies of a keyed model.

    Erases the events of the key, or of the unit if the model has no keys, and rebuilds the weights as if these events
    had never existed. No byte of them remains in the data folder. Backups and exports are not changed: delete those
    yourself.

    Example: [bold]smidgen forget banner user-4711[/bold]
    """

    def here(engine: Engine) -> dict[str, int]:
        done = engine.forget(name, key)
        engine.maintain()
        return {name: done.forgotten, **done.copies}

    events = place.run(here, lambda client: client.forget_everywhere(name, key))
    typer.echo(f"Erased {events.pop(name)} events of {key} from {name}.")
    for copy, count in events.items():
        typer.echo(f"Erased {count} events of {key} from its copy {copy}.")


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
#: Seconds between two updates of the progress bar.
LOOK_S = 0.2


@with_target
def rollback(
    place: CommandTarget,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(min=0, help="Version to return to.", metavar="VERSION", show_default=False)
    ] = None,
    time: Annotated[
        datetime | None,
        typer.Option(formats=TIMES, help="Time to return to (UTC); required for models with several shards."),
    ] = None,
) -> None:
    """Roll a model back to the weights of an earlier version or time.

    Later events stay in the log and no longer affect the weights.

    Examples: [bold]smidgen rollback banner 1200[/bold], [bold]smidgen rollback banner --time 2026-11-17T12:00[/bold]
    """
    if (version is None) == (time is None):
        raise typer.BadParameter("give either a version or --time", param_hint="VERSION, --time")
    then = time.replace(tzinfo=UTC).timestamp() if time is not None else None

    def here(engine: Engine, progress: Progress) -> int:
        from smidgen.service.engine.rollback import refold, version_at_time

        model = engine.model(name)
        to = version if then is None or model.keyed else version_at_time(engine.store, model, then)
        known = to is not None and to <= model.version
        ready = refold(engine.store, model, ("rolled_back", to or 0), progress) if known else None
        return engine.roll_back(name, version, ready, then=then).model_version

    made = _run_with_progress("rollback", name, place, here, lambda client: client.rollback(name, version, time=then))
    typer.echo(f"Rolled {name} back to {f'version {version}' if time is None else time}, as version {made}.")


@with_target
def retract(
    place: CommandTarget,
    decision: Annotated[str, typer.Argument(help="Id of the decision whose feedback to undo.", metavar="DECISION")],
) -> None:
    """Undo the feedback on one decision.

    The weights become those without this feedback. The decision accepts feedback again until its window closes.

    Example: [bold]smidgen retract d-1842[/bold]
    """

    def here(engine: Engine, progress: Progress) -> int:
        return engine.retract(decision).model_version

    made = _run_with_progress("retract", None, place, here, lambda client: client.retract(decision))
    typer.echo(f"Undid the feedback on decision {decision}, as version {made}.")


@with_target
def retain(
    place: CommandTarget,
    name: Name,
    older_than: Annotated[str, typer.Option(help="Minimum age of the events, e.g. 30d, 12h, 90m.", metavar="AGE")],
) -> None:
    """Erase old events for good, and keep what the model learned from them.

    Folds the events into a retention checkpoint; the weights stay the same bit for bit. Erased events can no longer be
    rolled back, forgotten by key or shown as stories. To keep them elsewhere, run smidgen log export first.

    Example: [bold]smidgen retain banner --older-than 90d[/bold]
    """
    seconds = age(older_than)

    def here(engine: Engine, progress: Progress) -> dict[str, Any]:
        import msgspec

        reply: dict[str, Any] = msgspec.to_builtins(engine.retain(name, seconds, progress))
        engine.maintain()
        return reply

    done = _run_with_progress("retain", name, place, here, lambda client: client.retain(name, seconds))
    kept = f" Kept {done['kept']} older decisions whose window is open." if done["kept"] else ""
    typer.echo(f"Erased {done['folded']} events of {name}; its log starts after event {done['base']}.{kept}")


def age(text: str) -> float:
    """Seconds from an age such as ``30d``.

    Examples
    --------
    >>> from smidgen.service.cli.models import age
    >>> age("30d"), age("1.5h"), age("45s")
    (2592000.0, 5400.0, 45.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is not an age; give e.g. 30d, 12h or 90m", param_hint="--older-than")
    return float(found[1]) * _UNITS[found[2]]


def _run_with_progress(
    what: Any,
    name: str | None,
    place: CommandTarget,
    here: Callable[[Engine, Progress], Any],
    there: Callable[[Client], Any],
) -> Any:
    """Run the command with a progress bar."""
    from smidgen.service.engine.undo import Progress

    if place.url is None:
        with place.engine() as engine:
            progress = Progress(what)
            with _bar(what, lambda: (progress.done, progress.of)):
                return here(engine, progress)
    with place.client() as client, place.client() as looking:

        def look() -> tuple[int, int]:
            work = looking.describe(name)["undoing"] if name is not None else None
            return (work["done"], work["of"]) if work is not None else (0, 0)

        with _bar(what, look):
            return there(client)


@contextmanager
def _bar(what: str, look: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Show a progress bar on standard error if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task, ended = bar.add_task(what, total=None), threading.Event()

        def draw() -> None:
            from smidgen.errors import SmidgenError

            while not ended.wait(LOOK_S):
                try:
                    done, of = look()
                except SmidgenError:  # the command itself reports the error
                    continue
                bar.update(task, completed=done, total=of or None)

        drawing = threading.Thread(target=draw, name="smidgen progress")
        drawing.start()
        try:
            yield
        finally:
            ended.set()
            drawing.join()
