"""What every page and call of a running service has at hand: its open resources, rights, names, JSON out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.metrics import Metrics
from smidgen.service.http.options import Options
from smidgen.service.http.past import Past
from smidgen.service.http.tokens import Rights, Scope, Tokens, require
from smidgen.service.insight.contributions import contributions
from smidgen.service.insight.curve import Curves
from smidgen.service.insight.glances import Glances
from smidgen.service.insight.health import Health
from smidgen.service.insight.looking import Looking
from smidgen.service.messages import Contributions, ModelBody, Name
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.service.models.stories import find
from smidgen.service.models.warming import Warming
from smidgen.service.models.writer import Writer
from smidgen.service.refusals import BadRequest, NotAllowed, StorageFailed, Taken, UnknownModel
from smidgen.service.store.log import DecisionEvent, EventLog
from smidgen.service.store.protocol import Reading

T = TypeVar("T")
JSON = "application/json"
#: For how many seconds a commit proves that the next will succeed, and for how long one is waited for.
BELIEVED_S, PATIENCE_S = 1.0, 0.4


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
    reading: Reading
    log: EventLog
    tokens: Tokens
    warming: Warming
    metrics: Metrics = field(default_factory=Metrics)
    curves: Curves = field(default_factory=Curves)
    health: Health = field(default_factory=Health)
    past: Past = field(default_factory=Past)
    looking: Looking = field(default_factory=Looking)
    glances: Glances = field(default_factory=Glances)
    large: asyncio.Lock = field(default_factory=asyncio.Lock)
    _probe: asyncio.Future[None] | None = None
    _looking_now: asyncio.Future[None] | None = None
    _next: asyncio.Future[None] | None = None
    _aside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "smidgen warming"))

    def models(self) -> list[Served]:
        """The models that are committed, in the order of their making: of each its first slot."""
        slots = self.engine.slots
        found = [slots[row.slot] for row in self.reading.models() if row.slot in slots]
        return [model for model in found if model.part == 0]

    async def rights(self, request: Request, scope: Scope, model: str | None = None, *, quick: bool = False) -> Rights:
        """The rights of the caller, if they cover this."""
        rights = await self.bearer(request, quick=quick)
        require(rights, scope, model)
        return rights

    async def bearer(self, request: Request, token: str | None = None, *, quick: bool = False) -> Rights:
        """The rights of the caller, whatever he wants to do.

        Where there are other workers, it is looked first what they made of models and tokens; where it must be
        ``quick``, only if a token is not known.
        """
        header = shown(request, token)
        if not quick:
            await self.look()
        try:
            return self.tokens.rights(header)
        except NotAllowed:
            if not quick or not self.engine.store.shared:
                raise
        await self.look()
        return self.tokens.rights(header)

    def granted(
        self, rights: Rights, header: str | None, scope: Scope, act: Callable[[str | None], T], model: str | None = None
    ) -> Callable[[], T]:
        """A command for a caller who was judged by what is in memory; it is told the only model that is his, if so.

        Where there are other workers he is judged again by the tokens as they are when a slot is entered, which tells
        whether any have changed: what he may not do is undone, what he may do otherwise is done again.
        """
        if not self.engine.store.shared:
            return partial(act, rights.model)

        def command() -> T:
            number, found = self.engine.catalogue, self.tokens.rights(header)
            require(found, scope, found.model if model is None else model)
            try:
                return act(found.model)
            finally:
                self.engine.look()  # no question of its own: the number came along
                if self.engine.catalogue != number and self.tokens.rights(header) != found:
                    raise Taken("a token was made meanwhile", "do it again in the next batch")

        return command

    async def look(self) -> None:
        """Where there are other workers: see all that they had changed of models and tokens when this was called.

        At most one look is under way, and one waits for it: who comes meanwhile shares that.
        """
        if not self.engine.store.shared:
            return
        if self._next is None:
            self._next = asyncio.ensure_future(self._look_after(self._looking_now))
        await asyncio.shield(self._next)

    async def _look_after(self, before: asyncio.Future[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._looking_now, self._next = self._next, None
        number = await asyncio.to_thread(self.engine.store.catalogue)
        if number > self.engine.catalogue:
            await self.writer.do(lambda: self.engine.look(number))

    async def warm(self, body: ModelBody) -> None:
        """Make the kernels of a model ready, aside; others are served meanwhile."""
        if not self.warming.knows(body):
            await asyncio.get_running_loop().run_in_executor(self._aside, self.warming.model, body)

    async def able(self) -> None:
        """Refuse unless a decision could be committed now: what was proved within the last second is believed.

        A writer that is busy is not asked to stop for this; then what it last showed counts.
        """
        self.writer.open()
        if self.writer.able and time.monotonic() - self.writer.proved < BELIEVED_S:
            return
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(self.writer.do(self.engine.store.probe))
        await asyncio.wait([self._probe], timeout=PATIENCE_S)
        if self._probe.done():
            self._probe.result()
        elif not self.writer.able:
            raise StorageFailed("the last commit failed, and none has succeeded since", "free some space")

    def close(self) -> None:
        """Let go of the thread; what has begun is finished."""
        self._aside.shutdown(wait=True, cancel_futures=True)


def service(request: Request) -> Service:
    """The running service, from a request."""
    found: Service = request.app.state.service
    return found


def shown(request: Request, token: str | None = None) -> str | None:
    """The token that a caller shows, as it stands in the usual header."""
    return f"Bearer {token}" if token else request.headers.get("authorization")


def reply(content: Any, status: int = 200) -> Response:
    """JSON out."""
    return Response(msgspec.json.encode(content), status, media_type=JSON)


async def permitted(request: Request, scope: Scope | None = None) -> tuple[Service, str]:
    """The service, and the model in the path, if the caller has this right to it; whoever has any may look at it."""
    here, name = service(request), model_name(request)
    rights = await here.bearer(request) if scope is None else await here.rights(request, scope, name)
    if rights.model not in (None, name):
        raise UnknownModel(f"there is no model {name!r}", "create it first: PUT /v1/models/NAME")
    return here, name


async def explained(here: Service, id: str, allowed: str | None) -> Contributions | None:
    """What the features of a decision's answer add to its score, under the present weights.

    Weights are read between two batches; a story does not wait for a writer that is busy, and is then told without.
    """

    def recorded() -> tuple[Served, DecisionEvent]:
        row, model = find(here.log, here.engine.slots, id, allowed)
        return model, here.log.decision(model, row.seq)

    model, event = await asyncio.to_thread(recorded)

    def told() -> Contributions | None:
        return contributions(here.engine, here.engine.enter(model), event.key, event.decision)

    wanted = asyncio.ensure_future(here.writer.do(told))
    await asyncio.wait([wanted], timeout=PATIENCE_S)
    return wanted.result() if wanted.done() else None


def model_name(request: Request) -> str:
    """The name in the path, if it can be one."""
    try:
        return msgspec.convert(request.path_params["name"], Name)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f"the model's name is {request.path_params['name']!r}",
            "use letters, digits, dots, dashes and underscores, a letter or digit first, at most 100",
        ) from error


def whole_number(request: Request, name: str) -> int:
    """A whole number of the query, 0 if it is not there."""
    text = request.query_params.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"{name} is {text!r}", "give a whole number")
    return int(text)
