"""Where a command does its work: in a running service, or in the data folder of one that is stopped."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from smidgen.service.commands import DATA, Data, Import

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.models.engine import Engine
    from smidgen.service.store.places import Place

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

    def do(self, here: Callable[[Engine], Any], there: Callable[[Client], Any]) -> Any:
        """Do it in the folder, or through the service."""
        if self.url is None:
            with self.engine() as engine:
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
    def engine(self) -> Iterator[Engine]:
        """The engine over a folder, of which nobody else may have one, or over a database, as one more worker."""
        from smidgen.service.models.engine import Engine
        from smidgen.service.store.lock import only_one

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
