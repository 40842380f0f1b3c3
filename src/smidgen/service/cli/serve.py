"""The commands serve, token and snapshot; local or remote execution of commands.

``smidgen serve``, ``token``, ``snapshot``: run the service and look after it.

Everything heavy is imported by the command that needs it. All but ``serve`` may run beside a running service.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.engine.engine import Engine
    from smidgen.service.storage.address import Place


def as_place(text: str) -> Any:
    """Where a store is, of what somebody typed."""
    from smidgen.service.storage.address import place

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
    from smidgen.service.plugins import welcome

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
    help="Create, list and revoke tokens. Once one exists, every call needs one; services see changes at once.",
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
    max_learner: Annotated[
        int | None,
        typer.Option(
            envvar="SMIDGEN_MAX_LEARNER",
            min=1 << 20,
            show_default="134217728",
            help="The most bytes that one learner may hold; larger ones are refused before they are made.",
        ),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(envvar="SMIDGEN_MAX_CONNECTIONS", min=1, help="How many connections a worker serves at once.")
    ] = 1_000,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="SMIDGEN_PUBLIC_URL",
            metavar="URL",
            help="The address that browsers use, if a proxy that changes the Host header is in front of the service.",
        ),
    ] = None,
    trusted_proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--trusted-proxy",
            envvar="SMIDGEN_TRUSTED_PROXY",
            metavar="ADDRESS",
            help="Address or network of a proxy whose X-Forwarded-Host header is trusted; may be given several times.",
        ),
    ] = None,
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
        from smidgen.service.http.resources import Options
        from smidgen.service.http.server import serve as run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "smidgen"):
            raise
        raise MissingExtra(f"the service needs {missing}", 'pip install "smidgen[service]"') from error
    options = Options(
        data,
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
    )

    def announce(address: str) -> None:
        more = f", {workers} workers" if workers > 1 else ""
        typer.echo(f"smidgen is at {address} (data: {data}{more})")

    if status := run(options, host, port, announce):
        raise typer.Exit(status)


@token.command("create")
def create_token(
    scope: Annotated[
        str, typer.Option(help="One or several of decide,feedback,read,admin; separate them with commas.")
    ],
    model: Annotated[str | None, typer.Option(help="Limit the token to this model.")] = None,
    name: Annotated[str | None, typer.Option(help="A label for people, e.g. the app that uses it.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="When it stops working: a span (12h, 30d, 8w), or a date or time in UTC (2026-12-31). Default: never.",
        ),
    ] = None,
    data: Data = DATA,
) -> None:
    """Create a token and print it: it is shown this once, and only its hash is kept.

    The id, by which it can be revoked, goes to standard error.

    decide: ask for decisions. feedback: report what users did, teach, retract. read: see models, figures, logs,
    stories, weights and comparisons, and change nothing. admin: all calls.
    """
    from smidgen.service.engine.inspection import writing
    from smidgen.service.http.auth import create, expiry

    scopes, now = [word.strip() for word in scope.split(",") if word.strip()], time.time()
    until = expiry(expires, now) if expires is not None else None
    with writing(data) as store:
        id, made = create(store, scopes, model, now, name=name, expires_at=until)
    typer.echo(made)
    typer.echo(f"id {id}; end it with: smidgen token revoke {id}", err=True)


@token.command("revoke")
def revoke_token(id: Annotated[str, typer.Argument(help="The token's id.")], data: Data = DATA) -> None:
    """End a token, at once."""
    from smidgen.service.engine.inspection import existing, writing
    from smidgen.service.http.auth import revoke

    with writing(existing(data)) as store:
        revoke(store, id, time.time())
    typer.echo(f"token {id} is revoked")


@token.command("list")
def list_tokens(data: Data = DATA) -> None:
    """List the tokens: id, name, scopes, model, creation, expiry, last use, revocation. Secrets are not kept.

    The last use is exact to about a minute.
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
            told = ("" if at is None else stamp(at).partition(".")[0] + "Z" for at in times)
            table.add_row(each.id, each.name or "", each.scopes, each.model or "all", *told)
    console = Console()
    if table.rows and not console.is_terminal:
        console.width = max(console.width, console.measure(table, options=console.options.update(width=1000)).maximum)
    console.print(table if table.rows else "There are no tokens; on this machine the service needs none.")


@snapshot.command("list")
def list_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """List every model's snapshots, newest first."""
    from rich.console import Console
    from rich.table import Table

    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.log.events import stamp

    table = Table("model", "after event", "of", "bytes", "written", "file", box=None, header_style="bold")
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.shard):
                table.add_row(model.label, str(each.seq), str(model.seq), str(each.size), stamp(each.at), each.place)
    Console().print(table if table.rows else "there are no snapshots")


@snapshot.command("verify")
def verify_snapshots(data: Data = DATA, modules: Import = None) -> None:
    """Read every snapshot and check its checksum; smidgen log verify also replays the log against them.

    A bad snapshot loses nothing: the service skips it and replays more of the log. The exit status is 1 if one is bad.
    """
    from smidgen.service.engine.inspection import Inspection
    from smidgen.service.engine.recovery import state_problem

    bad = good = 0
    with Inspection(data) as seen:
        for model in (part for whole in seen.models() for part in whole.parts):
            for each in seen.reading.states(model.shard):
                problem = state_problem(each)
                bad, good = bad + (problem is not None), good + (problem is None)
                found = problem or ("good, of an older arithmetic: not used" if each.outdated else "good")
                typer.echo(f"{model.label} {Path(each.place).name}: {found}", err=problem is not None)
    typer.echo(f"{good} good, {bad} bad")
    if bad:
        raise typer.Exit(1)


# Where a command does its work: in a running service, or in the data folder of one that is stopped.

Url = Annotated[str | None, typer.Option(help="Ask a running service instead, e.g. http://127.0.0.1:8470.")]
Token = Annotated[str | None, typer.Option(envvar="SMIDGEN_TOKEN", help="For --url, if the service needs one.")]
Name = Annotated[str, typer.Argument(help="The model.", metavar="NAME")]
#: How a moment is said, in UTC.
TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]
#: What `anywhere` adds to a command.
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "data": (Data, DATA),
    "url": (Url, None),
    "token": (Token, None),
    "modules": (Import, None),
}


@dataclass(frozen=True)
class Where:
    """A store, or the address of a running service with the token for it."""

    data: Place
    url: str | None
    token: str | None

    def do(self, here: Callable[[Engine], Any], there: Callable[[Client], Any], *, create: bool = False) -> Any:
        """Do it in the folder, or through the service; ``create`` makes a folder that does not exist."""
        if self.url is None:
            with self.engine(create=create) as engine:
                return here(engine)
        with self.client() as client:
            return there(client)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client of the running service."""
        from smidgen.client import Client

        with Client(self.url or "", token=self.token) as client:
            yield client

    @contextmanager
    def engine(self, *, create: bool = False) -> Iterator[Engine]:
        """The engine over a folder, of which nobody else may have one, or over a database, as one more worker.

        A folder that does not exist is refused unless ``create`` is set.
        """
        from smidgen.service.engine.engine import Engine
        from smidgen.service.engine.inspection import existing
        from smidgen.service.storage.data_dir import only_one

        if not create:
            existing(self.data)

        with only_one(self.data) if isinstance(self.data, Path) else nullcontext():
            engine = Engine(self.data)
            try:
                yield engine
            finally:
                engine.close()


def anywhere(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes a ``place`` the options that say where: --data, --url, --token, --import."""

    @wraps(command)
    def placed(*, data: Place, url: str | None, token: str | None, modules: list[str], **given: Any) -> None:
        command(**given, place=Where(data, url, token))

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
