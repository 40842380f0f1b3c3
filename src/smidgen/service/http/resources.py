"""Open resources of a running service, and its options."""

from __future__ import annotations

import asyncio
import logging
import mmap
import struct
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.log_reader import DecisionEvent, EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.stories import find_decision
from smidgen.service.engine.writer import Writer
from smidgen.service.errors import BadRequest, StorageFailed, json_text
from smidgen.service.http.auth import USED_S, Tokens
from smidgen.service.http.jobs import ModelJobs
from smidgen.service.http.metrics import MODELS, Metrics, Note
from smidgen.service.http.peers import PeerAddress
from smidgen.service.http.telemetry import RequestObserver
from smidgen.service.monitoring.curves import Curves
from smidgen.service.monitoring.health import Health
from smidgen.service.monitoring.position_bias import BiasCache
from smidgen.service.monitoring.summaries import SummaryCache
from smidgen.service.monitoring.weights import Explained, explained
from smidgen.service.storage.address import Database
from smidgen.service.storage.protocol import StoreReader

# A board in memory that the workers of one supervisor share: each writes how it is, all can read it.

#: Number of bytes that each worker may write, and seconds without a message after which one counts as gone.
SIZE, GONE_S = 128 << 10, 3.0
_HEAD = struct.Struct("<QQ")  # how often it was written (odd: it is being written), and how many bytes there are


class SharedStatus:
    """Shared memory with one page per worker. Create it before the workers start; each writes its own page only.

    Parameters
    ----------
    workers
        How many there are.

    Examples
    --------
    >>> from smidgen.service.http.resources import SharedStatus
    >>> board = SharedStatus(2)
    >>> board.write(1, {"commits": 7})
    >>> [(note["worker"], note["commits"]) for note in board.read()]
    [(1, 7)]
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, workers * SIZE)

    def write(self, worker: int, note: Note) -> None:
        """Put up how a worker is; what is too long is left out."""
        content = msgspec.json.encode({**note, "worker": worker, "at": time.monotonic()})
        start = worker * SIZE
        if len(content) > SIZE - _HEAD.size:
            return
        count, _ = _HEAD.unpack_from(self._memory, start)
        count += count % 2  # a worker that was killed while writing left an odd number
        _HEAD.pack_into(self._memory, start, count + 1, 0)
        self._memory[start + _HEAD.size : start + _HEAD.size + len(content)] = content
        _HEAD.pack_into(self._memory, start, count + 2, len(content))

    def read(self) -> list[Note]:
        """Statuses of the workers that have written lately, in order."""
        found = (self._read(worker * SIZE) for worker in range(self.workers))
        now = time.monotonic()
        return [note for note in found if note is not None and now - note["at"] < GONE_S]

    def _read(self, start: int) -> Note | None:
        for _ in range(100):
            count, size = _HEAD.unpack_from(self._memory, start)
            if count % 2 or not size:
                if not count:
                    return None
                continue
            content = self._memory[start + _HEAD.size : start + _HEAD.size + size]
            if _HEAD.unpack_from(self._memory, start)[0] == count:
                note: Note = msgspec.json.decode(content)
                return note
        return None


# What `smidgen serve` sets.


@dataclass(frozen=True)
class Options:
    """Options of `smidgen serve`.

    Attributes
    ----------
    data
        The data folder, or the database.
    max_body
        The largest body in bytes.
    max_learner
        The most bytes that one learner may hold; None: what `SMIDGEN_MAX_LEARNER` says, or 128 MiB.
    max_connections
        How many connections are served at once; past it they are turned away.
    snapshot_every, keyed_in_memory
        See `Engine`.
    synchronous
        SQLite's setting.
    retention_s
        After how many seconds events are folded into base states and erased, of models that do not say themselves; None
        if they stay.
    public_url, trusted_proxies
        See `Gate`.
    modules
        Modules of plugins: imported before anything else.
    personalizer, apprentice
        The model that calls of the retired hosted product mean, and whether it only watches what the app would do.
    workers, worker
        How many workers share the port, and which of them this is, from 0.
    board
        Where they say how they are.
    lines
        The folder of the sockets over which workers pass requests to each other; None: they do not.
    peer
        Where workers of other machines may pass requests to this one; None: they may not, nor does this one to them.
    access_log
        Whether every request is logged.
    metrics_models
        Most models that have series of their own in the metrics.
    otel
        Whether requests are traced.
    webhook, webhook_secret
        Where changes of findings and verdicts are sent, or None, and what signs them.
    """

    data: Path | Database
    max_body: int = 8 << 20
    max_learner: int | None = None
    max_connections: int = 1_000
    snapshot_every: int = 20_000
    keyed_in_memory: int = 2_000
    synchronous: str = "FULL"
    retention_s: float | None = None
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    personalizer: str = "personalizer"
    apprentice: bool = False
    workers: int = 1
    worker: int = 0
    board: SharedStatus | None = None
    lines: Path | None = None
    peer: PeerAddress | None = None
    access_log: bool = False
    metrics_models: int = MODELS
    otel: bool = False
    webhook: str | None = None
    webhook_secret: str = field(default="", repr=False)


# Shared by every page and call of a running service: its open resources, rights, names, JSON out.

JSON = "application/json"
#: For how many seconds a commit proves that the next will succeed, and for how long one is waited for.
BELIEVED_S, PATIENCE_S = 5.0, 0.4
#: Seconds after a commit within which a look at the store, without a write, proves that it is ready.
WRITTEN_S = 60.0
#: Seconds between two looks at which tokens were used.
NOTE_S = 5.0
_log = logging.getLogger("smidgen.service")


@dataclass
class Service:
    """The open resources of a running service.

    Attributes
    ----------
    engine, writer
        What changes something, and the one who may.
    reading, log
        What is committed, for everything that only looks.
    """

    options: Options
    engine: Engine
    writer: Writer
    reading: StoreReader
    log: EventLog
    tokens: Tokens
    observer: RequestObserver
    metrics: Metrics
    curves: Curves = field(default_factory=Curves)
    health: Health = field(default_factory=Health)
    jobs: ModelJobs = field(default_factory=ModelJobs)
    position_bias: BiasCache = field(default_factory=BiasCache)
    summaries: SummaryCache = field(default_factory=SummaryCache)
    large: asyncio.Lock = field(default_factory=asyncio.Lock)
    _probe: asyncio.Future[Any] | None = None
    _refreshing: asyncio.Future[None] | None = None
    _next: asyncio.Future[None] | None = None

    def models(self) -> list[ServedModel]:
        """The models that are committed, in the order of their making: of each its first shard."""
        shards = self.engine.shards
        found = [shards[row.shard] for row in self.reading.models() if row.shard in shards]
        return [model for model in found if model.part == 0]

    async def refresh(self) -> None:
        """Read the changes that other workers had made to models and tokens when this was called.

        At most one look is under way, and one waits for it: who comes meanwhile shares that.
        """
        if not self.engine.store.shared:
            return
        if self._next is None:
            self._next = asyncio.ensure_future(self._refresh_after(self._refreshing))
        await asyncio.shield(self._next)

    async def _refresh_after(self, before: asyncio.Future[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._refreshing, self._next = self._next, None
        number = await asyncio.to_thread(self.engine.store.catalogue_number)
        if number > self.engine.catalogue:
            await self.writer.run(lambda: self.engine.refresh(number))

    async def check_healthy(self) -> None:
        """Refuse unless a decision could be committed now: a commit within the last seconds is proof enough.

        A writer that is busy is not asked to stop for this; then its last commit counts. For a minute after a commit
        the store is looked at without a write: probes of an idle service write next to nothing.
        """
        self.writer.open()
        idle = time.monotonic() - self.writer.last_commit_at
        if self.writer.healthy and idle < BELIEVED_S:
            return
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(self._prove(idle))
        await asyncio.wait([self._probe], timeout=PATIENCE_S)
        if self._probe.done():
            self._probe.result()
        elif not self.writer.healthy:
            raise StorageFailed(
                "the last commit failed, and none has succeeded since", "check the disk: free space, permissions"
            )

    async def _prove(self, idle: float) -> None:
        if self.writer.healthy and idle < WRITTEN_S and await asyncio.to_thread(self.engine.store.seems_writable):
            return
        await self.writer.run(self.engine.store.probe)

    def close(self) -> None:
        """Let go of the thread; what has begun is finished."""


def service(request: Request) -> Service:
    """The running service, from a request."""
    found: Service = request.app.state.service
    return found


def reply(content: Any, status: int = 200) -> Response:
    """JSON out."""
    return Response(msgspec.json.encode(content), status, media_type=JSON)


async def record_uses_loop(here: Service) -> None:
    """Again and again: write when tokens were last used, of each at most once a minute."""
    while True:
        await asyncio.sleep(NOTE_S)
        await write_uses(here)


async def write_uses(here: Service, within_s: float = USED_S) -> None:
    """Write the last uses of tokens that are due: one commit for all. If that fails they are written later."""
    uses = here.tokens.uses(within_s)
    if not uses:
        return

    def write() -> None:
        for id, at in uses.items():
            here.engine.store.use_token(id, at)

    try:
        await here.writer.run(write)
    except SmidgenError as error:
        here.tokens.put_back(uses)
        _log.warning("the last use of tokens could not be written: %s", error)


def expanded(request: Request) -> list[str]:
    """The fields whose vectors are to be shown column by column: ``?expand=emb,title_emb``."""
    return [each for each in request.query_params.get("expand", "").split(",") if each][:100]


async def explain(here: Service, id: str, allowed: str | None, expand: Collection[str] = ()) -> Explained:
    """Explain a decision by the names of its features: contributions then and now, and its request by name.

    Weights are read between two batches. If the writer is busy, the result has no weights: a story does not wait.
    """

    def recorded() -> tuple[ServedModel, DecisionEvent]:
        row, model = find_decision(here.log, here.engine.shards, id, allowed)
        return model, here.log.decision(model, row.seq)

    model, event = await asyncio.to_thread(recorded)

    def explain_now() -> Explained:
        return explained(here.engine, here.engine.acquire(model), event, expand)

    wanted = asyncio.ensure_future(here.writer.run(explain_now))
    await asyncio.wait([wanted], timeout=PATIENCE_S)
    return wanted.result() if wanted.done() else Explained()


def truth(request: Request, name: str) -> bool:
    """A truth value of the query, false if it is not there."""
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise BadRequest(f"{name} is {json_text(text)}", f"send true or false, e.g. ?{name}=true")
    return text == "true"


def whole_number(request: Request, name: str) -> int:
    """A whole number of the query, 0 if it is not there."""
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"{name} is {json_text(text)}", f"send a whole number, e.g. ?{name}=10")
    return int(text)
