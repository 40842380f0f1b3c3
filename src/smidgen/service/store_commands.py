"""``smidgen store copy``: all of a store into another one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from smidgen.service.commands import Import, as_place
from smidgen.service.keeping_commands import bar

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
    from smidgen.service.store.copying import copy

    with bar() as progress:
        done = copy(source, target, progress)
    typer.echo(
        f"{target}: {done.models} models, {done.events} events, {done.tokens} tokens, {done.states} states;"
        " read back, and learnt again bit for bit"
    )
    if done.running:
        typer.echo(f"a service is writing to {source}: what it acknowledged since is not in the copy", err=True)
