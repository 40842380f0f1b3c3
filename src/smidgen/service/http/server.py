"""Run the service in the foreground."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from smidgen.service.http.board import Board
from smidgen.service.http.hosts import loopback
from smidgen.service.http.options import Options
from smidgen.service.http.protocol import IDLE_S, Guarded, guarded
from smidgen.service.http.starting import Starting
from smidgen.service.http.supervisor import Supervisor, Wait
from smidgen.service.http.tokens import Tokens
from smidgen.service.refusals import Impossible, NotAllowed, StorageFailed
from smidgen.service.store.lock import only_one
from smidgen.service.store.places import Database, open_store

if TYPE_CHECKING:
    from starlette.applications import Starlette

#: Open files that are not connections: the database, snapshots, pipes, and those that are just being turned away.
SPARE_FILES = 100
#: How many new objects are looked through for garbage at a time; one large body has hundreds of thousands.
GARBAGE = (20_000, 20, 100)


def serve(options: Options, host: str, port: int, announce: Callable[[str], None] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; then finish what is queued, take snapshots, and end with status 0.

    Binding to other than the loopback address without a token is refused; so is a port or a data folder that another
    service uses. Several workers share the port; that takes a database which they can share as well.

    Parameters
    ----------
    options
        The data folder or the database, the limits, and how many workers there are.
    host, port
        Where to listen; port 0 is any free one.
    announce
        Called with the service's address when it can decide; before that only /healthz answers.

    Returns
    -------
    The status to end with.
    """
    if options.workers > 1 and isinstance(options.data, Path):
        raise Impossible(
            f"{options.workers} workers cannot share the data folder {options.data}: SQLite has one writer",
            "leave --workers out, or put the service on PostgreSQL: --store postgresql://user@host/database",
        )
    with only_one(options.data) if isinstance(options.data, Path) else nullcontext():
        if not _has_token(options.data) and not loopback(host):
            raise NotAllowed(
                f"{host} can be reached from other machines and there is no token",
                "make one first: smidgen token create --scope decide,feedback,admin",
            )
        with _listening(host, port) as listener:

            def say() -> None:
                if announce is not None:
                    announce(_address(listener))

            if options.workers == 1:
                _work(options, listener, say)
                return 0
            board = Board(options.workers)

            def work(number: int, wait: Wait, able: Callable[[], None]) -> None:
                _work(replace(options, worker=number, board=board), listener, able, wait)

            # who comes while they end is refused at once: nobody listens any more
            return Supervisor(work, options.workers, say, listener.close).run() or 0


def _work(options: Options, listener: socket.socket, able: Callable[[], None], wait: Wait = None) -> None:
    """Answer what comes to the socket, in this process, until it is ended."""
    failures: list[Exception] = []

    def failed(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    def ready() -> None:
        gc.freeze()  # what is there now stays: looking through it for garbage takes a third of a second
        gc.set_threshold(*GARBAGE)
        able()

    config = uvicorn.Config(
        Starting(lambda: create_app(options), ready, failed, wait),
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


def _has_token(data: Path | Database) -> bool:
    store = open_store(data)
    try:
        return Tokens(store).any()
    finally:
        store.close()
