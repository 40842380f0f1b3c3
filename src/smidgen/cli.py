"""The commands. Everything heavy is imported by the command that needs it, so that ``--help`` is quick.

Installed distributions add commands of their own in the group ``smidgen.commands``. A distribution names them in its
``pyproject.toml``:

.. code-block:: toml

    [project.entry-points."smidgen.commands"]
    weigh = "greengrocer.commands:weigh"

The value is a function, which becomes the command, or a ``typer.Typer`` with commands of its own. It is imported
whenever ``smidgen`` starts: let it import what is heavy inside its functions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen import __version__
from smidgen.errors import SmidgenError
from smidgen.service.cli import data, models, serve
from smidgen.service.cli.data import log, store
from smidgen.service.cli.replay import what_if
from smidgen.service.cli.serve import DATA, Folder, Import

if TYPE_CHECKING:
    from smidgen.data import UbiLog
    from smidgen.evaluate import Examination

GROUP = "smidgen.commands"


def plugin_commands() -> dict[str, list[EntryPoint]]:
    """The commands of other distributions, by name; a name has more than one entry if several bring it."""
    named: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        known = named.setdefault(each.name, [])
        if each.value not in {one.value for one in known}:
            known.append(each)
    return named


def add_plugin_commands(app: typer.Typer) -> None:
    """Add the commands that are brought to the app.

    The app's own commands keep their names. What cannot be had is not hidden: a command that cannot be imported, or
    that two bring, is listed, and says why when it is called. The others work.
    """
    own = _command_names(app)
    for name, entries in plugin_commands().items():
        if name in own:
            continue
        if len(entries) > 1:
            _refuse(app, name, f"two bring it: {' and '.join(one.value for one in entries)}; uninstall one of them")
            continue
        try:
            thing = entries[0].load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module does
            _refuse(app, name, f"{entries[0].value} cannot be imported ({type(error).__name__}: {error})")
            continue
        _add(app, name, thing, entries[0].value)


def _command_names(app: typer.Typer) -> set[str]:
    called = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    return called | {str(each.name) for each in app.registered_groups}


def _add(app: typer.Typer, name: str, thing: Any, where: str) -> None:
    if isinstance(thing, typer.Typer):
        app.add_typer(thing, name=name)
    elif callable(thing):
        app.command(name)(thing)
    else:
        _refuse(app, name, f"{where} is {thing!r} and must be a function or a typer.Typer")


def _refuse(app: typer.Typer, name: str, why: str) -> None:
    app.command(
        name,
        help=f"Cannot be run: {why}",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_refusal(name, why))


def _refusal(name: str, why: str) -> Callable[[], None]:
    def refuse() -> None:
        sys.exit(f"smidgen: the command {name} cannot be run: {why}")

    return refuse


def ubi(
    queries: Annotated[Path, typer.Argument(help="The searches (ubi_queries) as NDJSON; .gz too.")],
    events: Annotated[Path, typer.Argument(help="The events (ubi_events) as NDJSON; .gz too.")],
    actions: Annotated[
        str | None, typer.Option(help="Which actions are clicks, with commas between; left out: click, purchase, ….")
    ] = None,
    places: Annotated[int, typer.Option(min=2, max=100, help="How many places to tell of.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Read a log of user behaviour insights: click rates by place, and how far people look, where the log can tell.

    Click rates mix where a result stood with how good it was. The curve of looks comes from results of the same
    search that stood at neighbouring places at different times; it needs no experiment, and says so where an order
    never changed.
    """
    from smidgen.data import read_ubi
    from smidgen.data.ubi import CLICKS
    from smidgen.evaluate import harvested

    log = read_ubi(queries, events, clicks=actions.split(",") if actions else CLICKS)
    pages = ((page.user_query, page.hits, page.clicked) for page in log.pages if page.user_query)
    curve = harvested(pages, places=places)
    if json:
        import msgspec

        typer.echo(msgspec.json.encode(_figures(log, curve, places)).decode())
    else:
        _print(log, curve, places)


def _figures(log: UbiLog, curve: Examination, places: int) -> dict[str, Any]:
    """What the log says, in what JSON can say: null for what is not known."""
    return {
        "searches": len(log),
        "clicks": sum(len(page.clicked) for page in log.pages),
        "passed_over": log.passed_over,
        "unknown": log.unknown,
        "elsewhere": log.elsewhere,
        "without_hits": log.without_hits,
        "click_rates": _known(log.click_rates(places)),
        "looks": {"value": _known(curve.read), "low": _known(curve.low), "high": _known(curve.high)},
    }


def _print(log: UbiLog, curve: Examination, places: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"{log!r}")
    console.print(
        f"{log.passed_over} other events, {log.unknown} clicks of unknown searches, {log.elsewhere} on no result, "
        f"{log.without_hits} searches without results."
    )
    table = Table("place", "clicked", "looked at (95 %)", box=None)
    looks = zip(*(_known(values) for values in (curve.read, curve.low, curve.high)), strict=True)
    for place, (rate, (read, low, high)) in enumerate(zip(_known(log.click_rates(places)), looks, strict=True), 1):
        told = "–" if read is None or low is None or high is None else f"{read:.2f} ({low:.2f} to {high:.2f})"
        table.add_row(str(place), "–" if rate is None else f"{rate:.1%}", told)
    console.print(table)
    if _known(curve.read)[1] is None:
        console.print(
            "How far people look is not known: no result of a search left its place for the next one and was clicked "
            "at both. Show lists with some randomness in them, as the recommended learner does, and it will be."
        )


def _known(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


app = typer.Typer(
    name="smidgen",
    help="""Learn online from the little feedback that people really give.

    A decision goes out, a reaction comes back, the model takes one step.

    Start with [bold]smidgen demo[/bold]; see what there is with [bold]smidgen learners[/bold].""",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

app.command()(serve.serve)
app.add_typer(models.models, name="models")
app.command()(data.fsck)
app.command()(data.backup)
app.command()(data.restore)
app.command()(models.forget)
app.command()(models.rollback)
app.command()(models.retract)
app.command()(models.retain)
app.add_typer(serve.token, name="token")
app.add_typer(log, name="log")
app.command("replay")(what_if)
app.command()(ubi)
app.add_typer(serve.snapshot, name="snapshot")
app.add_typer(store, name="store")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"smidgen {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def learners(
    loop: Annotated[str | None, typer.Option(help="Only this loop, e.g. rank.")] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    modules: Import = None,
) -> None:
    """List the algorithms: loop, feedback, paper, regret bound, cost per round.

    In costs N is the number of features and φ one joint feature vector; in bounds T is the number of rounds. The
    bounds are functions in smidgen.bounds.
    """
    from smidgen.learners import cards
    from smidgen.learners.card import in_order, learner_json, learner_table

    chosen = in_order(cards, loop)
    if not chosen:
        known = ", ".join(sorted({loop for card in cards.values() for loop in card.loops}))
        raise typer.BadParameter(f"no learner in the loop {loop!r}; known loops: {known}", param_hint="--loop")
    if json:
        typer.echo(learner_json(chosen))
    else:
        from rich.console import Console

        console = Console()
        console.print(learner_table(chosen, console.width))


@app.command()
def demo(
    learner: Annotated[
        str | None, typer.Option(help="A coactive learner; smidgen learners lists them. Left out: that of Theorem 1.")
    ] = None,
    user: Annotated[
        str, typer.Option(help="Who answers: strict (α-informative), noisy (by labels) or clicks (a click model).")
    ] = "strict",
    alpha: Annotated[float, typer.Option(help="The strict user's share of the possible gain, in (0, 1].")] = 0.5,
    queries: Annotated[int, typer.Option(min=1, help="Rounds to play.")] = 1000,
    docs: Annotated[int, typer.Option(min=2, help="Documents per query.")] = 50,
    features: Annotated[int, typer.Option(min=1, help="Features per document.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same run.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the numbers.")] = Path("smidgen-demo"),
) -> None:
    """Watch a ranking learner learn from a simulated user, and compare its regret with the theorem.

    Plays the rank loop: the learner ranks documents, a user moves a few good ones up, the learner takes one
    step. Writes regret.png and regret.csv.
    """
    from smidgen.demo import Demo, run_demo

    run_demo(
        Demo(learner=learner, user=user, alpha=alpha, queries=queries, docs=docs, features=features, seed=seed, out=out)
    )


@app.command()
def doctor(
    data: Folder = DATA,
    host: Annotated[str, typer.Option(envvar="SMIDGEN_HOST", help="Where the service would listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="SMIDGEN_PORT", min=0, max=65535, help="And at which port.")] = 8470,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Look whether this machine has what smidgen needs: versions, extras, kernels, data folder, disk, port.

    Nothing is changed. The exit status is 1 if smidgen cannot work so; notes are no fault.
    """
    from dataclasses import asdict

    from smidgen.doctor import examine

    findings = list(examine(data, host, port))
    if json:
        import msgspec

        typer.echo(msgspec.json.format(msgspec.json.encode([asdict(each) for each in findings]), indent=2).decode())
    else:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        colours = {"ok": "green", "note": "yellow", "problem": "red"}
        for each in findings:
            told = f"{each.found}; {each.hint}" if each.hint else each.found
            table.add_row(Text(each.state, colours[each.state]), Text(each.what), Text(told))
        Console().print(table)
    if any(each.state == "problem" for each in findings):
        raise typer.Exit(1)


add_plugin_commands(app)


def run() -> None:
    """Run the command line; a refusal is one line, not a traceback."""
    try:
        app()
    except SmidgenError as error:
        if error.exit_status == 1:
            sys.exit(f"smidgen: {error}")
        typer.echo(f"smidgen: {error}", err=True)
        sys.exit(error.exit_status)
