"""The commands serve, token and snapshot; local or remote execution of commands.

Each command imports heavy modules itself. All commands except ``serve`` can run while a service is running.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.engine.engine import Engine
    from smidgen.service.storage.address import Place


def as_address(text: str) -> Any:
    """Parse the location of a store: a folder or a URL."""
    from smidgen.service.storage.address import parse_address

    return parse_address(text)


DATA = Path("smidgen-data")
Folder = Annotated[Path, typer.Option(help="Data folder of the service.")]
#: Location of the store: a folder, or the URL of a database.
Data = Annotated[
    Any,
    typer.Option(
        "--data",
        "--store",
        parser=as_address,
        metavar="PLACE",
        envvar="SMIDGEN_STORE",
        help="Data folder of the service, or the URL of its store, e.g. postgresql://user@host/database.",
    ),
]


def _load_plugins(modules: list[str] | None) -> list[str]:
    from smidgen.learners.plugins import load_plugins

    load_plugins(modules or ())
    return modules or []


#: Plugins, loaded before the command runs.
Import = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        envvar="SMIDGEN_IMPORT",
        help="Plugin module with learners, structures, loops or pages. Can be repeated.",
        callback=_load_plugins,
    ),
]

token = typer.Typer(
    name="token",
    help="Create, list and revoke tokens. Once a token exists, every call needs one. Takes effect at once.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
snapshot = typer.Typer(
    name="snapshot",
    help="List and check snapshots, which make starting fast. Losing them loses no data.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def serve(
    host: Annotated[
        str,
        typer.Option(
            envvar="SMIDGEN_HOST", help="Address to listen on. Addresses that other machines can reach need a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="SMIDGEN_PORT", min=0, max=65535, help="Port to listen on; 0 picks a free port.")
    ] = 8470,
    data: Data = DATA,
    workers: Annotated[
        int,
        typer.Option(
            envvar="SMIDGEN_WORKERS",
            min=1,
            max=64,
            help="Number of worker processes. On a data folder, one has the engine and the others parse HTTP.",
        ),
    ] = 1,
    max_body: Annotated[
        int, typer.Option(envvar="SMIDGEN_MAX_BODY", min=1024, help="Maximum size of a request body, in bytes.")
    ] = 8 << 20,
    max_learner: Annotated[
        int | None,
        typer.Option(
            envvar="SMIDGEN_MAX_LEARNER",
            min=1 << 20,
            show_default="134217728",
            help="Maximum memory of one learner, in bytes. Larger learners are refused.",
        ),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(envvar="SMIDGEN_MAX_CONNECTIONS", min=1, help="Maximum number of connections per worker.")
    ] = 1_000,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="SMIDGEN_PUBLIC_URL",
            metavar="URL",
            help="Address that browsers use, if a proxy changes the Host header.",
        ),
    ] = None,
    trusted_proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            envvar="SMIDGEN_TRUSTED_PROXY",
            metavar="ADDRESS",
            help="Address or network of a proxy whose X-Forwarded-Host header is trusted. Can be repeated.",
        ),
    ] = None,
    snapshot_every: Annotated[
        int,
        typer.Option(envvar="SMIDGEN_SNAPSHOT_EVERY", min=1, help="Number of events between two snapshots of a model."),
    ] = 20_000,
    keyed_in_memory: Annotated[
        int, typer.Option(envvar="SMIDGEN_KEYED_IN_MEMORY", min=1, help="Number of keyed learners to keep in memory.")
    ] = 2_000,
    retention: Annotated[
        float | None,
        typer.Option(
            envvar="SMIDGEN_RETENTION",
            min=0.001,
            metavar="DAYS",
            help="Erase events older than this and keep what was learned; models can override it. Default: keep all.",
        ),
    ] = None,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            envvar="SMIDGEN_IMPORT",
            help="Plugin module with learners, structures, loops or pages. Can be repeated.",
        ),
    ] = None,
    personalizer: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            envvar="SMIDGEN_PERSONALIZER",
            help="Model for Azure AI Personalizer calls whose token names no model; created on the first call.",
        ),
    ] = "personalizer",
    apprentice: Annotated[
        bool,
        typer.Option(
            "--apprentice",
            envvar="SMIDGEN_APPRENTICE",
            help="Answer Personalizer calls with their first action and learn from it (apprentice mode).",
        ),
    ] = False,
    peer: Annotated[
        str | None,
        typer.Option(
            envvar="SMIDGEN_PEER",
            metavar="HOST:PORT",
            help="Address of this machine where workers of other machines pass requests to this one, and pass requests"
            " to them. Worker N uses PORT + N. Authenticated, not encrypted: for private networks. Default: off.",
        ),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"], typer.Option(envvar="SMIDGEN_LOG_FORMAT", help="Format of log lines.")
    ] = "text",
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(envvar="SMIDGEN_LOG_LEVEL", help="Least severity that is logged."),
    ] = "warning",
    access_log: Annotated[
        bool,
        typer.Option("--access-log", envvar="SMIDGEN_ACCESS_LOG", help="Log every request, without its body."),
    ] = False,
    metrics_models: Annotated[
        int,
        typer.Option(
            envvar="SMIDGEN_METRICS_MODELS", min=0, help="Most models with series of their own in the metrics."
        ),
    ] = 200,
    webhook: Annotated[
        str | None,
        typer.Option(
            envvar="SMIDGEN_WEBHOOK",
            metavar="URL",
            help="Send health findings and verdicts there as signed CloudEvents; needs SMIDGEN_WEBHOOK_SECRET.",
        ),
    ] = None,
    otel: Annotated[
        bool,
        typer.Option(
            "--otel",
            envvar="SMIDGEN_OTEL",
            help="Send OpenTelemetry traces to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names.",
        ),
    ] = False,
) -> None:
    """Run the decision service and its dashboard. Ctrl-C or SIGTERM stops it gracefully.

    Example: [bold]smidgen serve --data smidgen-data[/bold], then open http://127.0.0.1:8470
    """
    from smidgen.errors import MissingExtra

    try:
        from smidgen.service.http.resources import Options
        from smidgen.service.http.server import serve as run
        from smidgen.service.http.telemetry import configure_logs
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "smidgen"):
            raise
        raise MissingExtra(f"the service needs {missing}", 'pip install "smidgen[service]"') from error
    from smidgen.service.http.peers import PeerAddress

    options = Options(
        data,
        peer=PeerAddress.of(peer) if peer is not None else None,
        max_body=max_body,
        max_learner=max_learner,
        max_connections=max_connections,
        snapshot_every=snapshot_every,
        keyed_in_memory=keyed_in_memory,
        retention_s=retention * 86_400 if retention is not None else None,
        public_url=public_url,
        trusted_proxies=tuple(trusted_proxies or ()),
        modules=tuple(modules or ()),
        personalizer=personalizer,
        apprentice=apprentice,
        workers=workers,
        access_log=access_log,
        metrics_models=metrics_models,
        otel=otel,
        webhook=webhook,
        webhook_secret=os.environ.get("SMIDGEN_WEBHOOK_SECRET", ""),
    )
    configure_logs(log_format, log_level, access_log=access_log)

    def announce(address: str) -> None:
        more = f", {workers} workers" if workers > 1 else ""
        typer.echo(f"smidgen is at {address} (data: {data}{more})")

    if status := run(options, host, port, announce):
        raise typer.Exit(status)


@token.command("create")
def create_token(
    scope: Annotated[str, typer.Option(help="Comma-separated list of decide, feedback, read, admin.")],
    model: Annotated[str | None, typer.Option(help="Limit the token to this model.")] = None,
    name: Annotated[str | None, typer.Option(help="Label of the token, e.g. the app that uses it.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Expiry: a duration (12h, 30d, 8w), or a date or time in UTC (2026-12-31). Default: never.",
        ),
    ] = None,
    data: Data = DATA,
) -> None:
    """Create a token and print it once. The service stores only its hash.

    Prints the token's id, which revokes it, to standard error.

    Scopes: decide requests decisions; feedback sends feedback, examples and retractions; read reads models, metrics,
    logs, stories, weights and comparisons; admin allows all calls.

    Example: [bold]smidgen token create --scope decide,feedback --model banner --name shop --expires 90d[/bold]
    """
    from smidgen.service.engine.inspection import open_for_change
    from smidgen.service.http.auth import create, expiry

    scopes, now = [word.strip() for word in scope.split(",") if word.strip()], time.time()
    until = expiry(expires, now) if expires is not None else None
    with open_for_change(data) as store:
        id, made = create(store, scopes, model, now, name=name, expires_at=until)
    typer.echo(made)
    typer.echo(f"Created token {id}. To revoke it: smidgen token revoke {id}", err=True)


@token.command("revoke")
def revoke_token(id: Annotated[str, typer.Argument(help="Id of the token.")], data: Data = DATA) -> None:
    """Revoke a token. Takes effect at once.

    Example: [bold]smidgen token revoke 7f3a[/bold]
    """
    from smidgen.service.engine.inspection import open_for_change, require_existing
    from smidgen.service.http.auth import revoke

    with open_for_change(require_existing(data)) as store:
        revoke(store, id, time.time())
    typer.echo(f"Revoked token {id}.")


@token.command("list")
def list_tokens(data: Data = DATA) -> None:
    """List the tokens: id, name, scopes, model, creation, expiry, last use, revocation.

    Secrets are not stored. The last use is accurate to about a minute.
    """
    from rich.console import Console
    from rich.table import Table

    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.log.events import stamp

    heads = ("id", "name", "scopes", "model", "created", "expires", "last used", "revoked")
    table = Table(*heads, box=None, header_style="bold")
    with Inspection(data) as seen:
        for each in seen.reading.tokens():
            times = (each.created_at, each.expires_at, each.used_at, each.revoked_at)
            stamps = ("" if at is None else stamp(at).partition(".")[0] + "Z" for at in times)
            table.add_row(each.id, each.name or "", each.scopes, each.model or "all", *stamps)
    console = Console()
    if table.rows and not console.is_terminal:
        console.width = max(console.width, console.measure(table, options=console.options.update(width=1000)).maximum)
    console.print(table if table.rows else "There are no tokens. Calls from this machine need none.")


@snapshot.command("list")
def list_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """List the snapshots of every model, newest first."""
    from rich.console import Console
    from rich.table import Table

    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.log.events import stamp

    table = Table("model", "after event", "of", "bytes", "written", "file", box=None, header_style="bold")
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.shard):
                table.add_row(model.label, str(each.seq), str(model.seq), str(each.size), stamp(each.at), each.place)
    Console().print(table if table.rows else "There are no snapshots.")


@snapshot.command("verify")
def verify_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """Read every snapshot and check its checksum.

    A damaged snapshot loses no data: the service skips it and replays more of the log. To compare snapshots with a
    replay, run smidgen log verify. Exits with 1 if a snapshot is damaged.
    """
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.engine.recovery import state_problem

    bad = good = 0
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.shard):
                problem = state_problem(each)
                bad, good = bad + (problem is not None), good + (problem is None)
                found = problem or ("valid, but not used: written by older arithmetic" if each.is_outdated else "valid")
                typer.echo(f"{model.label} {Path(each.place).name}: {found}", err=problem is not None)
    typer.echo(f"{good} valid, {bad} damaged")
    if bad:
        raise typer.Exit(1)


# Commands run in a running service, or in the data folder of a stopped one.

Url = Annotated[
    str | None, typer.Option(help="Address of a running service, instead of --data, e.g. http://127.0.0.1:8470.")
]
Token = Annotated[
    str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="Token for --url, if the service requires one.")
]
Name = Annotated[str, typer.Argument(help="Name of the model.", metavar="NAME")]
#: Formats of times, in UTC.
TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]
#: Options that `anywhere` adds to a command.
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "data": (Data, DATA),
    "url": (Url, None),
    "token": (Token, None),
    "modules": (Import, None),
}


@dataclass(frozen=True)
class CommandTarget:
    """A store, or the address of a running service and its token."""

    data: Place
    url: str | None
    token: str | None

    def run(self, here: Callable[[Engine], Any], there: Callable[[Client], Any], *, create: bool = False) -> Any:
        """Run the command in the store or through the service; ``create`` makes a missing folder."""
        if self.url is None:
            with self.engine(create=create) as engine:
                return here(engine)
        with self.client() as client:
            return there(client)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Open a client of the running service."""
        from smidgen.client import Client

        with Client(self.url or "", token=self.token) as client:
            yield client

    @contextmanager
    def engine(self, *, create: bool = False) -> Iterator[Engine]:
        """Open the engine: exclusively on a folder, or as one more worker on a database.

        Refuses a missing folder unless ``create`` is set.
        """
        from smidgen.service.engine.engine import Engine
        from smidgen.service.engine.inspection import require_existing
        from smidgen.service.storage.data_dir import lock_folder

        if not create:
            require_existing(self.data)

        with lock_folder(self.data) if isinstance(self.data, Path) else nullcontext():
            engine = Engine(self.data)
            try:
                yield engine
            finally:
                engine.close()


def with_target(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a ``place`` to a command: --data, --url, --token, --import."""

    @wraps(command)
    def placed(*, data: Place, url: str | None, token: str | None, modules: list[str], **given: Any) -> None:
        command(**given, place=CommandTarget(data, url, token))

    hints = get_type_hints(command, include_extras=True)
    own = [each.replace(annotation=hints[each.name]) for each in inspect.signature(command).parameters.values()]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=kind)
        for name, (kind, usual) in _OPTIONS.items()
    ]
    parameters = [each for each in own if each.name != "place"] + more
    vars(placed)["__signature__"] = inspect.Signature(parameters)
    placed.__annotations__ = {each.name: each.annotation for each in parameters}
    return placed
