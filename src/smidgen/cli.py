"""The command line. Commands import heavy modules themselves, so that ``--help`` is fast.

Installed distributions add commands through the entry point group ``smidgen.commands`` in their ``pyproject.toml``:

.. code-block:: toml

    [project.entry-points."smidgen.commands"]
    weigh = "greengrocer.commands:weigh"

The value is a function, which becomes the command, or a ``typer.Typer`` with subcommands. It is imported whenever
``smidgen`` starts: import heavy modules inside its functions.
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
PLUGINS = "Plugins"


def plugin_commands() -> dict[str, list[EntryPoint]]:
    """Return the commands of other distributions by name, with every distribution that defines the name."""
    named: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        known = named.setdefault(each.name, [])
        if each.value not in {one.value for one in known}:
            known.append(each)
    return named


def add_plugin_commands(app: typer.Typer) -> None:
    """Add the commands of plugins to the app.

    Built-in commands keep their names. A command that cannot be imported, or that two plugins define, is listed and
    reports the reason when it is called. The other commands work.
    """
    own = _command_names(app)
    for name, entries in plugin_commands().items():
        if name in own:
            continue
        if len(entries) > 1:
            _refuse(
                app, name, f"two plugins define it: {' and '.join(one.value for one in entries)}; uninstall one of them"
            )
            continue
        try:
            thing = entries[0].load()
        except (Exception, SystemExit) as error:  # third-party code can raise anything
            _refuse(app, name, f"{entries[0].value} cannot be imported ({type(error).__name__}: {error})")
            continue
        _add(app, name, thing, entries[0].value)


def _command_names(app: typer.Typer) -> set[str]:
    called = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    return called | {str(each.name) for each in app.registered_groups}


def _add(app: typer.Typer, name: str, thing: Any, where: str) -> None:
    if isinstance(thing, typer.Typer):
        app.add_typer(thing, name=name, rich_help_panel=PLUGINS)
    elif callable(thing):
        app.command(name, rich_help_panel=PLUGINS)(thing)
    else:
        _refuse(app, name, f"{where} is {thing!r} and must be a function or a typer.Typer")


def _refuse(app: typer.Typer, name: str, why: str) -> None:
    app.command(
        name,
        help=f"Cannot be run: {why}",
        rich_help_panel=PLUGINS,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_refusal(name, why))


def _refusal(name: str, why: str) -> Callable[[], None]:
    def refuse() -> None:
        sys.exit(f"smidgen: the command {name} cannot be run: {why}")

    return refuse


def ubi(
    queries: Annotated[Path, typer.Argument(help="Queries (ubi_queries) as NDJSON or .gz.")],
    events: Annotated[Path, typer.Argument(help="Events (ubi_events) as NDJSON or .gz.")],
    actions: Annotated[
        str | None, typer.Option(help="Comma-separated actions that count as clicks. Default: click, purchase, ….")
    ] = None,
    places: Annotated[int, typer.Option(min=2, max=100, help="Number of positions to report.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a search log in the UBI format and print click rates and position bias.

    Click rates mix the position of a result with its relevance. The position-bias curve compares results of the same
    search that appeared at neighboring positions at different times. It needs no experiment; positions whose order
    never changed have no estimate.

    Example: [bold]smidgen ubi ubi_queries.ndjson ubi_events.ndjson --places 10[/bold]
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
    """Return the figures for JSON: null for unknown values."""
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
        f"{log.passed_over} other events, {log.unknown} clicks on unknown searches, {log.elsewhere} not on a result, "
        f"{log.without_hits} searches without results."
    )
    table = Table("position", "click rate", "examined (95 %)", box=None)
    looks = zip(*(_known(values) for values in (curve.read, curve.low, curve.high)), strict=True)
    for place, (rate, (read, low, high)) in enumerate(zip(_known(log.click_rates(places)), looks, strict=True), 1):
        interval = "–" if read is None or low is None or high is None else f"{read:.2f} ({low:.2f} to {high:.2f})"
        table.add_row(str(place), "–" if rate is None else f"{rate:.1%}", interval)
    console.print(table)
    if _known(curve.read)[1] is None:
        console.print(
            "The position bias is not known: no result of a search moved to a neighboring position and was clicked at "
            "both. Randomize the order a little, as the recommended learner does."
        )


def _known(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


app = typer.Typer(
    name="smidgen",
    help="""Learn online from the sparse feedback users actually give.

    Request a decision, send feedback, and the model learns from it at once.

    Start with [bold]smidgen serve[/bold] and open the dashboard, or run [bold]smidgen demo[/bold].""",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

#: Groups of commands in ``smidgen --help``, in this order.
RUN, MODELS, DATA_PANEL, EVALUATE, LEARN = "Run", "Models", "Data", "Evaluate", "Learn"

app.command(rich_help_panel=RUN)(serve.serve)
app.add_typer(serve.token, name="token", rich_help_panel=RUN)
app.add_typer(models.models, name="models", rich_help_panel=MODELS)
app.command(rich_help_panel=MODELS)(models.rollback)
app.command(rich_help_panel=MODELS)(models.retract)
app.command(rich_help_panel=DATA_PANEL)(models.forget)
app.command(rich_help_panel=DATA_PANEL)(models.retain)
app.command(rich_help_panel=DATA_PANEL)(data.backup)
app.command(rich_help_panel=DATA_PANEL)(data.restore)
app.command(rich_help_panel=DATA_PANEL)(data.fsck)
app.add_typer(log, name="log", rich_help_panel=DATA_PANEL)
app.add_typer(serve.snapshot, name="snapshot", rich_help_panel=DATA_PANEL)
app.add_typer(store, name="store", rich_help_panel=DATA_PANEL)
app.command("replay", rich_help_panel=EVALUATE)(what_if)
app.command(rich_help_panel=EVALUATE)(models.worth)
app.command(rich_help_panel=EVALUATE)(models.candidates)
app.command(rich_help_panel=EVALUATE)(models.segments)
app.command(rich_help_panel=EVALUATE)(ubi)


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


@app.command(rich_help_panel=LEARN)
def learners(
    loop: Annotated[str | None, typer.Option(help="List the learners of this loop only, e.g. rank.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    modules: Import = None,
) -> None:
    """List the learners, and which one is recommended for what.

    Shows the loop, feedback, paper, regret bound and cost per round of each learner. N is the number of features, φ a
    joint feature vector, T the number of rounds. The bounds are functions in smidgen.bounds.

    Example: [bold]smidgen learners --loop choose[/bold]
    """
    from smidgen.checks import suggest
    from smidgen.learners import cards
    from smidgen.learners.card import in_order, learner_json, learner_table, recommendations

    chosen = in_order(cards, loop)
    if not chosen:
        known = sorted({loop for card in cards.values() for loop in card.loops})
        raise typer.BadParameter(f"there is no loop {loop!r}; {suggest(loop, known)}", param_hint="--loop")
    recommended = recommendations(cards)
    if json:
        typer.echo(learner_json(chosen, recommended))
    else:
        from rich.console import Console

        console = Console()
        console.print(learner_table(chosen, console.width, recommended))


@app.command(rich_help_panel=LEARN)
def demo(
    learner: Annotated[
        str | None, typer.Option(help="Coactive learner; see smidgen learners. Default: the one of Theorem 1.")
    ] = None,
    user: Annotated[
        str, typer.Option(help="Simulated user: strict (α-informative), noisy (by labels) or clicks (a click model).")
    ] = "strict",
    alpha: Annotated[
        float, typer.Option(help="Share of the possible gain that the strict user's feedback has, in (0, 1].")
    ] = 0.5,
    queries: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 1000,
    docs: Annotated[int, typer.Option(min=2, help="Documents per query.")] = 50,
    features: Annotated[int, typer.Option(min=1, help="Features per document.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same run.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for regret.png and regret.csv.")] = Path("smidgen-demo"),
) -> None:
    """Run a ranking learner with a simulated user and compare its regret with the theorem.

    The learner ranks documents, the user moves a few good ones up, and the learner updates. Writes regret.png and
    regret.csv.

    Example: [bold]smidgen demo --queries 2000 --user clicks[/bold]
    """
    from smidgen.demo import Demo, run_demo

    run_demo(
        Demo(learner=learner, user=user, alpha=alpha, queries=queries, docs=docs, features=features, seed=seed, out=out)
    )


@app.command(rich_help_panel=RUN)
def doctor(
    data: Folder = DATA,
    host: Annotated[str, typer.Option(envvar="SMIDGEN_HOST", help="Address to check.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="SMIDGEN_PORT", min=0, max=65535, help="Port to check.")] = 8470,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check this machine: versions, extras, compiled core, data folder, disk, port.

    Changes nothing. Exits with 1 if something required is missing; notes are informational.
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
            text = f"{each.found}; {each.hint}" if each.hint else each.found
            table.add_row(Text(each.state, colours[each.state]), Text(each.what), Text(text))
        Console().print(table)
    if any(each.state == "problem" for each in findings):
        raise typer.Exit(1)


@app.command(rich_help_panel=RUN)
def mcp(
    url: Annotated[
        str, typer.Option(envvar="SMIDGEN_URL", help="Address of the decision service.")
    ] = "http://127.0.0.1:8470",
    token: Annotated[
        str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="Token, if the service requires one.")
    ] = None,
    http: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Serve MCP over HTTP on this port instead of stdio.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
) -> None:
    """Give agents a decision service as tools over the Model Context Protocol (MCP).

    Tools: decide, report, explain, health, models. An agent's configuration names the command:

        {"mcpServers": {"smidgen": {"command": "smidgen", "args": ["mcp", "--url", "http://127.0.0.1:8470"]}}}
    """
    from smidgen.integrations.mcp import serve as serve_mcp

    serve_mcp(url, token, transport="stdio" if http is None else "streamable-http", host=host, port=http or 8471)


add_plugin_commands(app)


def run() -> None:
    """Run the command line; print an error of smidgen as one line, without a traceback."""
    try:
        app()
    except SmidgenError as error:
        if error.exit_status == 1:
            sys.exit(f"smidgen: {error}")
        typer.echo(f"smidgen: {error}", err=True)
        sys.exit(error.exit_status)
