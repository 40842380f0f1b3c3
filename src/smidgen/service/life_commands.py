"""``smidgen models create|archive|copy|promote|…`` and ``smidgen forget``: the life of a model from the command line.

With ``--url`` a running service does it; without, the data folder of one that is stopped is changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen.service.anywhere import Name, Where, anywhere
from smidgen.service.listing_commands import list_models

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.models.engine import Engine

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

    from smidgen.service.faults import wrong_form
    from smidgen.service.messages import ModelBody
    from smidgen.service.refusals import BadRequest

    try:
        text = settings if settings.lstrip().startswith("{") else Path(settings).read_text(encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{settings} cannot be read: {error.strerror}", "give JSON, or a file of it") from error
    try:
        plain = msgspec.json.decode(text)
        body = msgspec.convert(plain, ModelBody)
    except msgspec.ValidationError as error:
        raise wrong_form(error, plain) from error
    except msgspec.DecodeError as error:
        raise BadRequest(f"the settings are not JSON: {error}", 'give e.g. {"loop": "choose"}') from error

    def there(client: Client) -> str:
        given = dict(plain)
        client.create(name, loop=given.pop("loop"), learner=given.pop("learner", None), **given)
        return str(client.describe(name)["learner"])

    learner = place.do(lambda engine: engine.create(name, body)[1].learner, there)
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

    from smidgen.service.messages import RenameBody
    from smidgen.service.refusals import BadRequest

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
    from smidgen.service.messages import CopyBody

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
        from smidgen.service.insight.trial import compared

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
    from smidgen.service.models.bringing import from_learner, from_log

    content, log = file.read_bytes(), file.suffix in (".ndjson", ".jsonl", ".json")
    if place.url is not None:
        media = "application/x-ndjson" if log else "application/octet-stream"
        with place.client() as client:
            client.bring(name, content, media)
    else:
        brought = (from_log if log else from_learner)(content)
        with place.engine() as engine:
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
