"""The commands. Everything heavy is imported by the command that needs it, so that ``--help`` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from smidgen import __version__
from smidgen.click_commands import ubi
from smidgen.commands import bring
from smidgen.errors import SmidgenError
from smidgen.service.cli import data, models, serve
from smidgen.service.cli.data import log, store
from smidgen.service.cli.replay import what_if
from smidgen.service.cli.serve import DATA, Folder, Import

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
    from smidgen.tables import in_order, learner_json, learner_table

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


bring(app)


def run() -> None:
    """Run the command line; a refusal is one line, not a traceback."""
    try:
        app()
    except SmidgenError as error:
        if error.exit_status == 1:
            sys.exit(f"smidgen: {error}")
        typer.echo(f"smidgen: {error}", err=True)
        sys.exit(error.exit_status)
