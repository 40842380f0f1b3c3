"""Run the service in the foreground."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from smidgen.service.http.hosts import loopback
from smidgen.service.http.options import Options
from smidgen.service.http.protocol import IDLE_S, Guarded, guarded
from smidgen.service.http.starting import Starting
from smidgen.service.http.tokens import Tokens
from smidgen.service.refusals import NotAllowed, StorageFailed
from smidgen.service.store.lock import only_one
from smidgen.service.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from starlette.applications import Starlette

#: Open files that are not connections: the database, snapshots, pipes, and those that are just being turned away.
SPARE_FILES = 100
#: How many new objects are looked through for garbage at a time; one large body has hundreds of thousands.
GARBAGE = (20_000, 20, 100)


def serve(options: Options, host: str, port: int, announce: Callable[[str], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; then finish what is queued, take snapshots, and end with status 0.

    Binding to other than the loopback address without a token is refused; so is a port or a data folder that another
    service uses.

    Parameters
    ----------
    options
        The data folder and the limits.
    host, port
        Where to listen; port 0 is any free one.
    announce
        Called with the service's address when it can decide; before that only /healthz answers.
    """
    with only_one(options.data):
        if not _has_token(options.data) and not loopback(host):
            raise NotAllowed(
                f"{host} can be reached from other machines and there is no token",
                "make one first: smidgen token create --scope decide,feedback,admin",
            )
        with _listening(host, port) as listener:
            failures: list[Exception] = []

            def failed(error: Exception) -> None:
                failures.append(error)
                server.should_exit = True

            def ready() -> None:
                gc.freeze()  # what is there now stays: looking through it for garbage takes a third of a second
                gc.set_threshold(*GARBAGE)
                if announce is not None:
                    announce(_address(listener))

            config = uvicorn.Config(
                Starting(lambda: create_app(options), ready, failed),
                http=guarded(_connections(options.max_connections)),
                loop="uvloop",
                ws="none",
                timeout_keep_alive=2 * int(IDLE_S),  # `_Server` looks after the connections itself
                lifespan="on",
                log_level="warning",
                access_log=False,
                proxy_headers=False,  # who is behind a proxy is nothing that the service goes by
                server_header=False,
                timeout_graceful_shutdown=10,
            )
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _end)
            server = _Server(config)
            server.run([listener])
            if failures:
                raise failures[0]


class _Server(uvicorn.Server):
    """Uvicorn's, which also ends connections that keep it waiting."""

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Guarded) and connection.overdue(now):
                    connection.end()
        return await super().on_tick(counter)


def _connections(wanted: int) -> int:
    """How many connections the service can take: each is an open file, and some are needed for the rest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - SPARE_FILES))


def create_app(options: Options) -> Starlette:
    """The application, imported when it is needed: that takes a second, during which /healthz answers already."""
    from smidgen.service.http.app import create_app as create

    return create(options)


def _end(number: int, frame: object) -> None:
    """The signal was for us: uvicorn raises it once more when everything is finished."""
    sys.exit(0)


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at the address, or one line that says why not."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise StorageFailed(f"there is no address {host!r}: {error.strerror}", "choose another --host") from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            raise StorageFailed(
                f"port {port} of {host} cannot be used: {error.strerror}",
                "stop what runs there, or choose another --port",
            ) from error
        yield listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _has_token(data: Path) -> bool:
    store = SQLiteStore(data)
    try:
        return Tokens(store).any()
    finally:
        store.close()
