"""``smidgen serve``, ``upgrade``, ``token``, ``snapshot``: run the service and look after it.

Everything heavy is imported by the command that needs it. All but ``serve`` may run beside a running service.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer


def as_place(text: str) -> Any:
    """Where a store is, of what somebody typed."""
    from smidgen.service.store.places import place

    return place(text)


DATA = Path("smidgen-data")
Folder = Annotated[Path, typer.Option(help="The service's data folder.")]
#: Where the service keeps everything: a folder, or a database by its URL.
Data = Annotated[
    Any,
    typer.Option(
        "--data",
        "--store",
        parser=as_place,
        metavar="PLACE",
        envvar="SMIDGEN_STORE",
        help="The service's data folder; or its store by URL, e.g. postgresql://user@host/database.",
    ),
]


def _welcomed(modules: list[str] | None) -> list[str]:
    from smidgen.service.guests import welcome

    welcome(modules or ())
    return modules or []


#: What guests bring, before a command does anything else.
Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        envvar="SMIDGEN_IMPORT",
        help="A module with learners, structures, loops or pages of your own; may be given several times.",
        callback=_welcomed,
    ),
]

token = typer.Typer(
    name="token",
    help="Make and end tokens. Once one exists, every /v1 call needs one; a running service sees changes at once.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
snapshot = typer.Typer(
    name="snapshot",
    help="Look at the snapshots: what makes starting quick. Nothing is lost without them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def serve(
    host: Annotated[
        str, typer.Option(envvar="SMIDGEN_HOST", help="Where to listen. Other than this machine only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="SMIDGEN_PORT", min=0, max=65535, help="0 is any free one.")] = 8470,
    data: Data = DATA,
    workers: Annotated[
        int,
        typer.Option(
            envvar="SMIDGEN_WORKERS",
            min=1,
            max=64,
            help="How many processes share the port; more than one on PostgreSQL.",
        ),
    ] = 1,
    max_body: Annotated[
        int, typer.Option(envvar="SMIDGEN_MAX_BODY", min=1024, help="The largest body of a request, in bytes.")
    ] = 8 << 20,
    max_connections: Annotated[
        int, typer.Option(envvar="SMIDGEN_MAX_CONNECTIONS", min=1, help="How many connections a worker serves at once.")
    ] = 1_000,
    snapshot_every: Annotated[
        int, typer.Option(envvar="SMIDGEN_SNAPSHOT_EVERY", min=1, help="Events of a model between two snapshots.")
    ] = 20_000,
    keyed_in_memory: Annotated[
        int, typer.Option(envvar="SMIDGEN_KEYED_IN_MEMORY", min=1, help="How many keyed learners stay in memory.")
    ] = 2_000,
    retention: Annotated[
        float | None,
        typer.Option(
            envvar="SMIDGEN_RETENTION",
            min=0.001,
            metavar="DAYS",
            help="Fold events of this age into base states and erase them; models may say otherwise. Left out: none.",
        ),
    ] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            envvar="SMIDGEN_IMPORT",
            help="A module with learners, structures, loops or pages of your own; may be given several times.",
        ),
    ] = None,
    personalizer: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            envvar="SMIDGEN_PERSONALIZER",
            help="The model that the calls of the retired hosted product mean, where no token says; made on the first.",
        ),
    ] = "personalizer",
    apprentice: Annotated[
        bool,
        typer.Option(
            "--apprentice",
            envvar="SMIDGEN_APPRENTICE",
            help="Answer those calls with their first action, as the product's apprentice mode did, and learn from it.",
        ),
    ] = False,
) -> None:
    """Run the decision service in the foreground, with a dashboard; Ctrl-C or SIGTERM stops it gracefully."""
    from smidgen.errors import MissingExtra

    try:
        from smidgen.service.http.options import Options
        from smidgen.service.http.server import serve as run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "smidgen"):
            raise
        raise MissingExtra(f"the service needs {missing}", 'pip install "smidgen[service]"') from error
    options = Options(
        data,
        max_body=max_body,
        max_connections=max_connections,
        snapshot_every=snapshot_every,
        keyed_in_memory=keyed_in_memory,
        retention_s=retention * 86_400 if retention is not None else None,
        modules=tuple(modules or ()),
        personalizer=personalizer,
        apprentice=apprentice,
        workers=workers,
    )

    def announce(address: str) -> None:
        more = f", {workers} workers" if workers > 1 else ""
        typer.echo(f"smidgen is at {address} (data: {data}{more})")

    if status := run(options, host, port, announce):
        raise typer.Exit(status)


def upgrade(
    data: Folder = DATA,
    check: Annotated[bool, typer.Option("--check", help="Only look: convert elsewhere and compare.")] = False,
    modules: Import = None,
) -> None:
    """Convert a data folder of smidgen 0.1 to the present format; the old database is kept beside the new one.

    Every event is written anew and compared: the same replies, the same versions, and a replay from nothing. Stop the
    service first. A folder of the present format is left as it is.
    """
    from smidgen.service.store.upgrade import KEPT
    from smidgen.service.store.upgrade import upgrade as convert

    found = convert(data, check=check)
    if found is None:
        typer.echo(f"{data} has the present format")
        return
    size = f"{found.bytes_before:,} bytes before, {found.bytes_after:,} after"
    typer.echo(f"{data}: {found.models} models, {found.events} events; {size}")
    typer.echo("it can be converted: smidgen upgrade" if check else f"converted; the old database is {data / KEPT}")


@token.command("create")
def create_token(
    scope: Annotated[str, typer.Option(help="Some of decide,feedback,admin, with commas between.")],
    model: Annotated[str | None, typer.Option(help="Only for this model.")] = None,
    data: Data = DATA,
) -> None:
    """Make a token and print it: it is shown this once, and only its hash is kept.

    The id, by which it can be revoked, goes to standard error.
    """
    from smidgen.service.http.tokens import create
    from smidgen.service.store.inspection import writing

    scopes = [word.strip() for word in scope.split(",") if word.strip()]
    with writing(data) as store:
        id, made = create(store, scopes, model, time.time())
    typer.echo(made)
    typer.echo(f"id {id}; end it with: smidgen token revoke {id}", err=True)


@token.command("revoke")
def revoke_token(id: Annotated[str, typer.Argument(help="The token's id.")], data: Data = DATA) -> None:
    """End a token, at once."""
    from smidgen.service.http.tokens import revoke
    from smidgen.service.store.inspection import existing, writing

    with writing(existing(data)) as store:
        revoke(store, id, time.time())
    typer.echo(f"token {id} is revoked")


@token.command("list")
def list_tokens(data: Data = DATA) -> None:
    """List the tokens' ids, scopes and models; the tokens themselves are not kept."""
    from rich.console import Console
    from rich.table import Table

    from smidgen.service.clock import stamp
    from smidgen.service.store.inspection import Inspection

    table = Table("id", "scope", "model", "made", "revoked", box=None, header_style="bold")
    with Inspection(data) as seen:
        for each in seen.reading.tokens():
            ended = stamp(each.revoked_at) if each.revoked_at is not None else ""
            table.add_row(each.id, each.scopes, each.model or "all", stamp(each.created_at), ended)
    Console().print(table if table.rows else "there are no tokens; on this machine the service needs none")


@snapshot.command("list")
def list_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """List every model's snapshots, newest first."""
    from rich.console import Console
    from rich.table import Table

    from smidgen.service.clock import stamp
    from smidgen.service.store.inspection import Inspection

    table = Table("model", "after event", "of", "bytes", "written", "file", box=None, header_style="bold")
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.slot):
                table.add_row(model.label, str(each.seq), str(model.seq), str(each.size), stamp(each.at), each.place)
    Console().print(table if table.rows else "there are no snapshots")


@snapshot.command("verify")
def verify_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """Read every snapshot and check its checksum; smidgen log verify also replays the log against them.

    A bad snapshot loses nothing: the service skips it and replays more of the log. The exit status is 1 if one is bad.
    """
    from smidgen.service.models.states import state_problem
    from smidgen.service.store.inspection import Inspection

    bad = good = 0
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.slot):
                problem = state_problem(each)
                bad, good = bad + (problem is not None), good + (problem is None)
                typer.echo(f"{model.label} {Path(each.place).name}: {problem or 'good'}", err=problem is not None)
    typer.echo(f"{good} good, {bad} bad")
    if bad:
        raise typer.Exit(1)
