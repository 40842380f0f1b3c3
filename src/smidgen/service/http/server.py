"""The process: listen, start, supervise workers."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
import uvloop

from smidgen.service.errors import NotAllowed, StorageFailed
from smidgen.service.http.auth import Tokens
from smidgen.service.http.forwarding import ForwardServer, Front
from smidgen.service.http.metrics import Metrics
from smidgen.service.http.middleware import Gate, is_loopback
from smidgen.service.http.protocol import IDLE_S, SAFE_HEADERS, LimitedHttpProtocol, protocol_for
from smidgen.service.http.resources import Options, SharedStatus
from smidgen.service.http.workers import TELL_S
from smidgen.service.storage.address import Database, open_store
from smidgen.service.storage.data_dir import lock_folder

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from smidgen.service.http.fast_path import FastPath

# The service from its first moment: it says that it is alive while models are read.

#: Seconds of starting after which the log says why it takes so long.
LONG = 10.0
_log = logging.getLogger("smidgen.service")
_ALIVE = {"status": "ok"}
_NOT_YET = {
    "error": {
        "code": "busy",
        "message": "the service is starting: it reads its models",
        "hint": "try again in a moment; /readyz says 200 when it can decide",
    }
}
_STOPPING = {
    "error": {
        "code": "busy",
        "message": "the service is stopping, and the request was not finished in time",
        "hint": "send it again in a moment; if it had begun, it may have been carried out",
    }
}


class StartupApp:
    """An application that is there at once, and hands over to the real one when that is ready.

    Until then /healthz answers 200 and everything else 503. Neither importing the real application nor opening it is
    done on the event loop.

    Parameters
    ----------
    make
        Makes the real application; it may import what it likes.
    ready
        Called when requests reach the real application.
    failed
        Called, with the reason, when it cannot be opened.
    wait
        None: it is there before it is ready. Else the server waits until it is, and until this returns, and connections
        go to other workers meanwhile.

    Attributes
    ----------
    direct
        Takes the most frequent requests off a connection, once it is ready.
    """

    def __init__(
        self,
        make: Callable[[], Starlette],
        ready: Callable[[], None],
        failed: Callable[[Exception], None],
        wait: Callable[[], None] | None = None,
    ) -> None:
        self._wait = wait
        self._make = make
        self._ready = ready
        self._failed = failed
        self._app: Starlette | None = None
        self.direct: FastPath | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, or the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            try:
                await self._app(scope, receive, send)
            except asyncio.CancelledError:  # the server ends, and has waited for long enough
                with suppress(RuntimeError):  # an answer has begun: it is broken off
                    await _say(send, 503, _STOPPING)
        elif scope["type"] == "http":
            alive = scope["path"] == "/healthz"
            await _say(send, 200 if alive else 503, _ALIVE if alive else _NOT_YET)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as opened:
            start = asyncio.create_task(self._start(opened), name="smidgen start")
            patience = asyncio.get_running_loop().call_later(LONG, _explain)
            start.add_done_callback(lambda _: patience.cancel())
            if self._wait is not None:
                await asyncio.wait([start])
                await asyncio.to_thread(self._wait)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            start.cancel()
            await asyncio.wait([start])
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self, opened: AsyncExitStack) -> None:
        try:
            app = await asyncio.to_thread(self._make)
            await opened.enter_async_context(app.router.lifespan_context(app))
        except Exception as error:
            self._failed(error)
            return
        self._app, self.direct = app, getattr(app.state, "direct", None)
        self._ready()


def _explain() -> None:
    _log.warning("starting: models are being read; /healthz answers, /readyz says when it is done")


async def _say(send: Send, status: int, content: dict[str, Any]) -> None:
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *SAFE_HEADERS]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# Several workers behind one listening socket: started, watched, started again when they die, ended together.

#: How long workers may take to end before they are killed: if the supervisor ends them, and if it is gone itself.
PATIENCE_S, ORPHAN_S = 20.0, 5.0
#: How long to wait before a worker is started again: at first, and at most; who has lived this long begins at first.
FIRST_S, MOST_S, LIVED_S = 0.1, 5.0, 10.0
#: What a worker waits for before it listens, if for anything.
Wait = Callable[[], None] | None
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}


@dataclass(slots=True)
class _Worker:
    """A place for a worker: its process, if it lives, when that was started, and when the next one may be."""

    number: int
    process: int | None = None
    since: float = 0.0
    due: float = 0.0
    pause: float = FIRST_S


class Supervisor:
    """Starts workers as forks of this process, which does nothing else and so can always fork.

    The first worker listens at once and answers ``/healthz`` while the service starts. All others listen when they can
    decide, and not before the first one can: once ``/readyz`` has answered 200, every worker that listens is ready.

    Parameters
    ----------
    work
        What a worker does until it is ended: given its number, what to wait for before it listens (None: it listens at
        once), and what to call when it can decide.
    count
        How many there are.
    ready
        Called once, when all can decide.
    ending
        Called before workers are asked to end: lets go of what they share with this process.
    orphaned
        Called in a worker as soon as the supervisor is gone, in a thread of its own, whatever the worker is doing:
        frees what another supervisor needs in order to start.
    """

    def __init__(
        self,
        work: Callable[[int, Wait, Callable[[], None]], None],
        count: int,
        ready: Callable[[], None],
        ending: Callable[[], None] = lambda: None,
        orphaned: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._orphaned = orphaned
        self._ready = ready
        self._ending = ending
        self._workers = [_Worker(number) for number in range(count)]
        self._able: set[int] | None = set()
        self._some = False
        self._process = os.getpid()
        self._gate = os.pipe()  # its end is open for writing as long as the very first worker is starting

    def run(self) -> int | None:
        """Until SIGTERM or SIGINT: 0; 1 if no worker could ever begin. None in a worker, once it has ended."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        lifeline = os.pipe()
        telling = os.pipe()
        os.set_blocking(telling[0], False)
        try:
            while True:
                for worker in self._workers:
                    due = worker.process is None and time.monotonic() >= worker.due
                    if due and self._start(worker, lifeline, telling) is None:
                        return None
                found = signal.sigtimedwait(_SIGNALS, 0.05)
                self._read_status(telling[0])
                if found is not None and found.si_signo != signal.SIGCHLD:
                    return 0
                if not self._count_dead():
                    return 1
        finally:
            if os.getpid() == self._process:  # not in a worker
                self._end()

    def _start(self, worker: _Worker, lifeline: tuple[int, int], telling: tuple[int, int]) -> int | None:
        """Fork; the process of the worker, or None in the worker itself, once its work is done."""
        first = worker.number == 0 and worker.since == 0.0
        worker.since = time.monotonic()
        if process := os.fork():
            worker.process = process
            if first:
                os.close(self._gate[1])
            return process
        os.close(lifeline[1])
        os.close(telling[0])
        lifeline_thread = threading.Thread(
            target=_end_with, args=(lifeline[0], self._orphaned), name="smidgen lifeline", daemon=True
        )
        lifeline_thread.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

        def able() -> None:
            _tell(telling[1], worker.number)
            if first:
                os.close(self._gate[1])

        self._work(worker.number, None if first else lambda: _ended(self._gate[0]), able)
        return None

    def _read_status(self, pipe: int) -> None:
        """Note who can decide."""
        try:
            said = os.read(pipe, 4096)
        except BlockingIOError:
            return
        if self._able is not None and said:
            self._some = True
            self._able.update(said)
            if len(self._able) == len(self._workers):
                self._able = None
                self._ready()

    def _count_dead(self) -> bool:
        """Record workers that have died; False if none can start."""
        for worker in self._workers:
            if worker.process is None:
                continue
            gone, status = os.waitpid(worker.process, os.WNOHANG)
            if not gone:
                continue
            code, now = os.waitstatus_to_exitcode(status), time.monotonic()
            if not self._some and code > 0:  # it has said why
                worker.process = None
                return False
            worker.pause = FIRST_S if now - worker.since > LIVED_S else min(2 * worker.pause, MOST_S)
            _log.warning("worker %d (process %d) ended with %d and is started again", worker.number, gone, code)
            worker.process, worker.due = None, now + worker.pause
        return True

    def _end(self) -> None:
        """End all workers, gracefully as long as there is patience."""
        self._ending()
        living = [worker for worker in self._workers if worker.process is not None]
        for worker in living:
            os.kill(worker.process or 0, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while living and time.monotonic() < deadline:
            living = [worker for worker in living if os.waitpid(worker.process or 0, os.WNOHANG)[0] == 0]
            if living:
                signal.sigtimedwait({signal.SIGCHLD}, 0.1)
        for worker in living:
            os.kill(worker.process or 0, signal.SIGKILL)
            os.waitpid(worker.process or 0, 0)


def _tell(pipe: int, number: int) -> None:
    os.write(pipe, bytes([number]))


def _ended(gate: int) -> None:
    """In a worker: wait until only workers that can decide answer requests."""
    os.read(gate, 1)


def _end_with(lifeline: int, orphaned: Callable[[], None]) -> None:
    """In a worker: end when the supervisor is gone, however it went; nobody would end it otherwise.

    A worker that is still starting, or busy with a long request, does not end at once. So what others wait for is
    freed first, and the time for the rest is short: the store has all that was acknowledged.
    """
    os.read(lifeline, 1)
    orphaned()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_S)
    os._exit(1)


# Run the service in the foreground.

#: Open files that are not connections: the database, snapshots, pipes, probes, and those that are just being refused.
SPARE_FILES = 100
#: Seconds that requests have to finish when the service ends; then they are refused.
GRACE_S = 10
#: Number of new objects that are searched for garbage at a time; one large body has hundreds of thousands.
GARBAGE = (20_000, 20, 100)


def serve(options: Options, host: str, port: int, announce: Callable[[str], None] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; then finish what is queued, take snapshots, and end with status 0.

    Binding to other than the loopback address without a token is refused; so is a port or a data folder that another
    service uses. Several workers share the port. On PostgreSQL each has an engine of its own; a data folder has one
    engine, in the first worker, and the others parse HTTP and pass requests on to it.

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
    Gate(options.public_url, options.trusted_proxies)  # settings that make no sense are refused before anything listens
    with lock_folder(options.data) if isinstance(options.data, Path) else nullcontext():
        if not _has_token(options.data) and not is_loopback(host):
            raise NotAllowed(
                f"--host {host} is reachable from other machines and no token exists",
                "create one first: smidgen token create --scope decide,feedback,admin",
            )
        _check_peer(options)
        with _listening(host, port) as listener:

            def say() -> None:
                if announce is not None:
                    announce(_address(listener))

            if options.workers == 1:
                with _private_folder() if options.peer is not None else nullcontext() as folder:
                    _work(replace(options, lines=folder), listener, say)
                return 0
            board = SharedStatus(options.workers)
            if isinstance(options.data, Path):
                return _serve_fronts(replace(options, board=board), listener, say)

            with _private_folder() as folder:

                def work(number: int, wait: Wait, able: Callable[[], None]) -> None:
                    own = replace(options, worker=number, board=board, lines=folder)
                    _work(own, listener, able, wait)

                # who comes while they end is refused at once: nobody listens any more
                return Supervisor(work, options.workers, say, listener.close, partial(_refuse_all, listener)).run() or 0


def _check_peer(options: Options) -> None:
    """Refuse to pass requests between machines without a database, or over a network without a token."""
    if options.peer is None:
        return
    if isinstance(options.data, Path):
        raise NotAllowed("--peer connects workers of several machines, and a data folder has one", "leave out --peer")
    if not is_loopback(options.peer.host) and not _has_token(options.data):
        raise NotAllowed(
            f"--peer {options.peer} is reachable from other machines and no token exists",
            "create one first: smidgen token create --scope decide,feedback,admin",
        )


def _serve_fronts(options: Options, listener: socket.socket, say: Callable[[], None]) -> int:
    """Run the engine of a data folder in one process, and HTTP in all others."""
    with _private_folder() as folder:
        path = str(folder / "engine")
        with socket.socket(socket.AF_UNIX) as inner:
            inner.bind(path)
            inner.listen(256)

            def work(number: int, wait: Wait, able: Callable[[], None]) -> None:
                own = replace(options, worker=number)
                if number == 0:
                    _run_engine(own, inner, able)
                else:
                    _run_front(own, listener, path, able)

            def refuse() -> None:
                _refuse_all(listener)
                _refuse_all(inner)

            return Supervisor(work, options.workers, say, listener.close, refuse).run() or 0


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Make a folder that only its owner can open; it goes with the process that made it, not with a fork of that."""
    folder, process = tempfile.mkdtemp(prefix="smidgen-"), os.getpid()
    try:
        yield Path(folder)
    finally:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)


def _run_engine(options: Options, listener: socket.socket, able: Callable[[], None]) -> None:
    """Answer the fronts, until SIGTERM; what they have sent by then is answered first."""

    async def run() -> None:
        stopping, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
        app = await asyncio.to_thread(create_app, options)
        async with app.router.lifespan_context(app):
            _settle_memory()
            lines = ForwardServer(app, app.state.direct)
            accepting = await loop.create_unix_server(lines.line, sock=listener)
            able()
            await stopping.wait()
            await lines.drain(GRACE_S + 1)
            accepting.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def _run_front(options: Options, listener: socket.socket, path: str, able: Callable[[], None]) -> None:
    """Pass on what comes to the port, until SIGTERM."""
    protocol = protocol_for(_connections(options.max_connections))
    front = Front(path, options.max_body, able, partial(_publish_front, options))
    _make_server(front, protocol).run([listener])


async def _publish_front(options: Options) -> None:
    """Publish the figures of a front, again and again."""
    metrics = Metrics()
    while options.board is not None:
        options.board.write(options.worker, metrics.process_note())
        await asyncio.sleep(TELL_S)


def _settle_memory() -> None:
    """Keep the garbage collector from looking through what stays: that takes a third of a second."""
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def _refuse_all(listener: socket.socket) -> None:
    """Stop listening, for every process that shares the socket; another service can bind to its port."""
    with suppress(OSError):  # another worker was first
        listener.shutdown(socket.SHUT_RDWR)


def _work(options: Options, listener: socket.socket, able: Callable[[], None], wait: Wait = None) -> None:
    """Answer what comes to the socket, in this process, until it is ended."""
    failures: list[Exception] = []

    def failed(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    def ready() -> None:
        _settle_memory()
        able()

    protocol = protocol_for(_connections(options.max_connections))
    server = _make_server(StartupApp(lambda: create_app(options), ready, failed, wait), protocol)
    server.run([listener])
    if failures:
        raise failures[0]


def _make_server(app: Any, protocol: type[LimitedHttpProtocol]) -> _Server:
    config = uvicorn.Config(
        app,
        http=protocol,
        loop="uvloop",
        ws="none",
        timeout_keep_alive=2 * int(IDLE_S),  # `_Server` manages the connections itself
        lifespan="on",
        log_config=None,  # `configure_logs` has done it
        access_log=False,
        proxy_headers=False,  # who is behind a proxy is nothing that the service goes by
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    return _Server(config, protocol)


class _Server(uvicorn.Server):
    """Uvicorn's, which also ends connections that keep it waiting."""

    def __init__(self, config: uvicorn.Config, protocol: type[LimitedHttpProtocol]) -> None:
        super().__init__(config)
        self._reserve = protocol.reserve

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: those of the reserve; once a second: all."""
        now = asyncio.get_running_loop().time()
        every = self.server_state.connections if counter % 10 == 0 else self._reserve
        for connection in list(every):
            if isinstance(connection, LimitedHttpProtocol) and connection.is_overdue(now):
                connection.end()
        return await super().on_tick(counter)


def _connections(wanted: int) -> int:
    """Number of connections that the service accepts: each is an open file, and other files need some."""
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
        raise StorageFailed(f"--host {host} cannot be resolved: {error.strerror}", "choose another --host") from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            raise StorageFailed(
                f"port {port} of {host} cannot be used: {error.strerror}",
                "stop the program that uses it, or choose another --port",
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
