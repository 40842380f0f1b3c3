"""Commands on models: models, forget, rollback, retract, retain.

``smidgen models create|archive|copy|promote|…`` and ``smidgen forget``: the life of a model from the command line.

With ``--url`` a running service does it; without, the data folder of one that is stopped is changed.

``smidgen rollback``, ``retract``, ``retain``: the past of a model from the command line, with progress.

With ``--url`` a running service does it; without, the data folder of one that is stopped is changed.
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

from smidgen.service.cli.serve import DATA, TIMES, Data, Import, Name, Where, anywhere

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.engine.engine import Engine
    from smidgen.service.engine.undo import Progress
    from smidgen.service.schemas import Finding, ModelReply, Quality
    from smidgen.service.storage.address import Place

# ``smidgen models``: the models at a glance, from the store or from a running service.


def list_models(
    context: typer.Context,
    data: Data = DATA,
    url: Annotated[str | None, typer.Option(help="Ask a running service instead, e.g. http://127.0.0.1:8470.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="For --url, if the service needs one.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    modules: Import = None,
    health: Annotated[
        bool, typer.Option("--health", help="What was found about each: in words, with the way out.")
    ] = False,
) -> None:
    """List the models: what they learn with, how far they are, how well they do, and what is wrong with them."""
    if context.invoked_subcommand is not None:
        return
    import msgspec

    listed = _from_service(url, token) if url is not None else _from_database(data)
    if json:
        told = [msgspec.to_builtins(model) | {"findings": msgspec.to_builtins(found)} for model, found in listed]
        plain = told if health else [model for model, _ in listed]
        typer.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
        return
    if health:
        for model, found in listed:
            for line in _in_words(model, found):
                typer.echo(line)
        return
    from rich.console import Console
    from rich.table import Table

    heads = ("model", "loop", "learner", "version", "decisions", "late", "how well", "health")
    table = Table(*heads, box=None, header_style="bold")
    for model, found in listed:
        name = model.name if model.archived_at is None else f"{model.name} (archived)"
        learner = f"{model.learner} × {model.keys} keys" if model.keys is not None else model.learner
        counts = (str(count) for count in (model.model_version, model.decisions, model.late))
        table.add_row(name, model.loop, learner, *counts, _how_well(model.quality), _worst(found))
    Console().print(table if listed else "there are no models")


def _from_database(data: Place) -> list[tuple[ModelReply, list[Finding]]]:
    from smidgen.service.engine.description import at_a_glance
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.monitoring.health import Health

    now, health = time.time(), Health()
    with Inspection(data) as seen:
        return [
            (at_a_glance(seen.reading, model, now), health.of(seen.reading, model, now).findings)
            for model in seen.models()
        ]


def _from_service(url: str, token: str | None) -> list[tuple[ModelReply, list[Finding]]]:
    import msgspec

    from smidgen.client import Client
    from smidgen.service.schemas import Finding, ModelReply

    with Client(url, token=token) as client:
        models = msgspec.convert(client.models(), list[ModelReply])
        return [(model, msgspec.convert(client.health(model.name), list[Finding])) for model in models]


def _how_well(quality: Quality) -> str:
    if quality.value is None:
        return f"{quality.measure}: nothing yet"
    silent = f" closed, {quality.silent} silent" if quality.silent else " closed"
    known = quality.low is not None and quality.high is not None
    interval = f" ({quality.low:.3f} … {quality.high:.3f})" if known else ""
    return f"{quality.measure} {quality.value:.3f}{interval}, last {quality.of}{silent}"


def _worst(found: list[Finding]) -> str:
    if not found:
        return "good"
    worst = [each.code for each in found if each.severity == found[0].severity]
    return f"{found[0].severity}: {', '.join(dict.fromkeys(worst))}"


def _in_words(model: ModelReply, found: list[Finding]) -> list[str]:
    lines = [f"{model.name}: {_worst(found)}"]
    for each in found:
        lines += [f"  {each.severity} {each.code}: {each.message}", f"    {each.hint}"]
    return lines


models = typer.Typer(
    name="models",
    help="List the models, make, copy, import, compare, promote and archive them.",
    rich_markup_mode="rich",
)
models.callback(invoke_without_command=True)(list_models)


@models.command()
@anywhere
def create(
    place: Where,
    name: Name,
    settings: Annotated[str, typer.Argument(help="Its settings as JSON, as PUT takes them, or a file of it.")],
) -> None:
    """Make a model, e.g. smidgen models create banner '{"loop": "choose"}'."""
    import msgspec

    from smidgen.serialization import UNREADABLE
    from smidgen.service.errors import BadRequest, wrong_form
    from smidgen.service.schemas import ModelBody

    try:
        text = settings if settings.lstrip().startswith("{") else Path(settings).read_text(encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{settings} cannot be read: {error.strerror}", "give JSON, or a file of it") from error
    try:
        plain = msgspec.json.decode(text)
        body = msgspec.convert(plain, ModelBody)
    except msgspec.ValidationError as error:
        raise wrong_form(error, plain) from error
    except UNREADABLE as error:
        raise BadRequest(f"the settings are not JSON: {error}", 'give e.g. {"loop": "choose"}') from error

    def there(client: Client) -> str:
        given = dict(plain)
        client.create(name, loop=given.pop("loop"), learner=given.pop("learner", None), **given)
        return str(client.describe(name)["learner"])

    learner = place.do(lambda engine: engine.create(name, body)[1].learner, there, create=True)
    typer.echo(f"{name} is there, with {learner}")


@models.command()
@anywhere
def archive(place: Where, name: Name) -> None:
    """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""
    place.do(lambda engine: engine.archive(name), lambda client: client.archive(name))
    typer.echo(f"{name} is archived")


@models.command()
@anywhere
def revive(place: Where, name: Name) -> None:
    """Let an archived model decide again; it goes on where it was."""
    place.do(lambda engine: engine.revive(name), lambda client: client.revive(name))
    typer.echo(f"{name} decides again")


@models.command()
@anywhere
def rename(
    place: Where,
    name: Name,
    to: Annotated[str, typer.Argument(help="What it is called from now on.", metavar="TO")],
) -> None:
    """Give an archived model another name, so that its own is free for a new one."""
    import msgspec

    from smidgen.service.errors import BadRequest
    from smidgen.service.schemas import RenameBody

    try:
        body = msgspec.convert({"to": to}, RenameBody)
    except msgspec.ValidationError as error:
        raise BadRequest(f"the name is {to!r}", "use letters, digits, dots, dashes and underscores") from error
    place.do(lambda engine: engine.rename(name, body.to), lambda client: client.rename(name, body.to))
    typer.echo(f"{name} is called {to}; its name is free")


@models.command()
@anywhere
def copy(
    place: Where,
    name: Name,
    to: Annotated[str, typer.Argument(help="What the copy is called.", metavar="TO")],
    fresh: Annotated[bool, typer.Option("--fresh", help="Without what the other has learnt.")] = False,
) -> None:
    """Make a copy of a model under another name."""
    from smidgen.service.schemas import CopyBody

    body = CopyBody(to=to, learnt=not fresh)
    place.do(
        lambda engine: engine.copy(name, body),
        lambda client: client.copy(name, to, learnt=not fresh),
    )
    typer.echo(f"{to} is a copy of {name}{', which has learnt nothing' if fresh else ''}")


@models.command()
@anywhere
def promote(place: Where, name: Name) -> None:
    """Let the champion of a challenger, or of a shadow, decide with its settings and state from now on."""

    def here(engine: Engine) -> dict[str, Any]:
        found = engine.promote(name)
        return {"champion": found.champion, "model_version": found.model_version}

    told = place.do(here, lambda client: client.promote(name))
    version = told["model_version"]
    typer.echo(f"{told['champion']} decides with the settings and the state of {name}, from version {version} on")


@models.command()
@anywhere
def compare(place: Where, name: Name) -> None:
    """Say whether the challenger or the shadow of a champion is better, how sure that is, and how long to wait."""

    def here(engine: Engine) -> str:
        from smidgen.service.monitoring.compare import compared

        return compared(engine.store, engine.model(name), engine.clock()).in_words

    typer.echo(place.do(here, lambda client: client.compare(name)["in_words"]))


@models.command("import")
@anywhere
def bring(
    place: Where,
    name: Name,
    file: Annotated[Path, typer.Argument(help="A saved learner, or a log (.ndjson).", metavar="FILE", exists=True)],
) -> None:
    """Make a model of a saved learner, or of what an exported log leads to; or fill an empty one."""
    from smidgen.service.engine.lifecycle import from_learner, from_log

    content, log = file.read_bytes(), file.suffix in (".ndjson", ".jsonl", ".json")
    if place.url is not None:
        media = "application/x-ndjson" if log else "application/octet-stream"
        with place.client() as client:
            client.bring(name, content, media)
    else:
        brought = (from_log if log else from_learner)(content)
        with place.engine(create=True) as engine:
            engine.fill(name, brought, str(file.name))
    typer.echo(f"{name} begins with what {file} holds")


@anywhere
def forget(
    place: Where,
    name: Name,
    key: Annotated[str, typer.Argument(help="Whose events are erased.", metavar="KEY")],
) -> None:
    """Forget a key of a model exactly: its events are erased, its learner is as if they had never been.

    Copies of the model forget it too. No byte of it is left in the data folder. Backups are yours to look after.
    """

    def here(engine: Engine) -> dict[str, int]:
        done = engine.forget(name, key)
        engine.maintain()
        return {name: done.forgotten, **done.copies}

    events = place.do(here, lambda client: client.forget_everywhere(name, key))
    typer.echo(f"{events.pop(name)} events of {key} are erased")
    for copy, count in events.items():
        typer.echo(f"  and {count} of {copy}, a copy")


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
#: How often the bar is drawn anew.
LOOK_S = 0.2


@anywhere
def rollback(
    place: Where,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(min=0, help="The version to go back to.", metavar="VERSION", show_default=False)
    ] = None,
    time: Annotated[
        datetime | None,
        typer.Option(formats=TIMES, help="Or the moment, UTC; of a model with several shards the only way."),
    ] = None,
) -> None:
    """Go back to the weights of a version, or of a moment; what came after stays in the log, and counts no more."""
    if (version is None) == (time is None):
        raise typer.BadParameter("give a version or a time, one of the two", param_hint="VERSION, --time")
    then = time.replace(tzinfo=UTC).timestamp() if time is not None else None

    def here(engine: Engine, progress: Progress) -> int:
        from smidgen.service.engine.rollback import folded, version_then

        model = engine.model(name)
        to = version if then is None or model.keyed else version_then(engine.store, model, then)
        known = to is not None and to <= model.version
        ready = folded(engine.store, model, ("rolled_back", to or 0), progress) if known else None
        return engine.roll_back(name, version, ready, then=then).model_version

    made = _done("rollback", name, place, here, lambda client: client.rollback(name, version, time=then))
    typer.echo(f"{name} has the weights of {f'version {version}' if time is None else time}, as version {made}")


@anywhere
def retract(
    place: Where,
    decision: Annotated[str, typer.Argument(help="The decision whose feedback is undone.", metavar="DECISION")],
) -> None:
    """Undo what was learnt of a decision, which is open again until its window ends."""

    def here(engine: Engine, progress: Progress) -> int:
        return engine.retract(decision).model_version

    made = _done("retract", None, place, here, lambda client: client.retract(decision))
    typer.echo(f"what was learnt of {decision} is undone; that makes version {made}")


@anywhere
def retain(
    place: Where,
    name: Name,
    older_than: Annotated[str, typer.Option(help="The age, e.g. 30d, 12h, 90m.", metavar="AGE")],
) -> None:
    """Fold events of this age into the model's base state and erase them, for good.

    What was learnt stays, bit for bit. What lies under the base cannot be taken back, forgotten or told any more. To
    keep the events elsewhere: smidgen log export MODEL --out FILE, before.
    """
    seconds = age(older_than)

    def here(engine: Engine, progress: Progress) -> dict[str, Any]:
        import msgspec

        told: dict[str, Any] = msgspec.to_builtins(engine.retain(name, seconds, progress))
        engine.maintain()
        return told

    done = _done("retain", name, place, here, lambda client: client.retain(name, seconds))
    kept = f"; {done['kept']} decisions under it are kept" if done["kept"] else ""
    typer.echo(
        f"{done['folded']} events of {name} are folded and erased; its log begins after event {done['base']}{kept}"
    )


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
        raise typer.BadParameter(f"{text!r} is no age; say e.g. 30d, 12h or 90m", param_hint="--older-than")
    return float(found[1]) * _UNITS[found[2]]


def _done(
    what: Any,
    name: str | None,
    place: Where,
    here: Callable[[Engine, Progress], Any],
    there: Callable[[Client], Any],
) -> Any:
    """Do it, and show how far it is."""
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
    """How far it is, on standard error, if somebody looks."""
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
                except SmidgenError:  # the work itself says what is wrong
                    continue
                bar.update(task, completed=done, total=of or None)

        drawing = threading.Thread(target=draw, name="smidgen progress")
        drawing.start()
        try:
            yield
        finally:
            ended.set()
            drawing.join()
