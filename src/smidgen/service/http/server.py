"""Run the service in the foreground."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from smidgen.service.http.app import create_app
from smidgen.service.http.hosts import loopback
from smidgen.service.http.running import Options
from smidgen.service.http.tokens import Tokens
from smidgen.service.refusals import NotAllowed, StorageFailed
from smidgen.service.store.lock import only_one
from smidgen.service.store.sqlite import SQLiteStore


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
        Called with the service's address when it can be reached.
    """
    with only_one(options.data):
        if not _has_token(options.data) and not loopback(host):
            raise NotAllowed(
                f"{host} can be reached from other machines and there is no token",
                "make one first: smidgen token create --scope decide,feedback,admin",
            )
        with _listening(host, port) as listener:
            config = uvicorn.Config(
                create_app(options),
                http="h11",
                log_level="warning",
                access_log=False,
                proxy_headers=False,  # who is behind a proxy is nothing that the service goes by
                server_header=False,
                timeout_graceful_shutdown=10,
            )
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _end)
            _Server(config, lambda: announce(_address(listener)) if announce is not None else None).run([listener])


class _Server(uvicorn.Server):
    """Uvicorn's, which says when it has begun."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._begun()


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
