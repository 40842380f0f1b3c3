"""Work on the past of a model, done aside: one at a time for each model, with progress that others can see.

Decisions and feedback of all models go on meanwhile. Only the last step is a command of the writer.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from smidgen.errors import SmidgenError
from smidgen.service.messages import RetainedReply
from smidgen.service.models.bases import planned, states
from smidgen.service.models.owning import LEASE_S, RENEW_S
from smidgen.service.models.progress import Progress
from smidgen.service.models.retaining import STAGED, Retention
from smidgen.service.models.served import Served
from smidgen.service.refusals import Busy
from smidgen.service.store.protocol import Store

if TYPE_CHECKING:
    from smidgen.service.http.running import Service

T = TypeVar("T")
#: How often retention is looked after: every tenth of the age, but not more often than this, nor less often than that.
WATCH_S, SELDOM_S = 10.0, 3600.0
_log = logging.getLogger("smidgen.service")


class Past:
    """Who is at work on which model's past, of this process and of all workers of its store.

    Among workers a lease says who it is, that of the slot with a minus: it ends with the work, or with the worker.
    """

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}

    @asynccontextmanager
    async def work(self, here: Service, model: Served, progress: Progress) -> AsyncIterator[Progress]:
        """Be the only one who works on the past of a model, or of one slot of it; others wait."""
        async with self._locks.setdefault(model.slot, asyncio.Lock()):
            owning = here.engine.owning
            lease = await _Lease.taken(here.engine.store, -model.slot, owning.name) if owning is not None else None
            model.undoing = progress
            if lease is not None:
                progress.alone = lease.check
            try:
                yield progress
            finally:
                model.undoing = None
                if lease is not None:
                    await lease.end()

    @asynccontextmanager
    async def work_on_all(self, here: Service, model: Served, progress: Progress) -> AsyncIterator[Progress]:
        """The same of all slots of a model, taken in their order."""
        async with AsyncExitStack() as stack:
            for part in model.parts:
                await stack.enter_async_context(self.work(here, part, progress))
            yield progress


class _Lease:
    """A lease that is renewed until it is ended."""

    def __init__(self, store: Store, slot: int, name: str, epoch: int) -> None:
        self._store, self._slot, self._name, self._epoch = store, slot, name, epoch
        self._renewing = asyncio.create_task(self._renew(), name="smidgen lease of a past")

    @classmethod
    async def taken(cls, store: Store, slot: int, name: str) -> _Lease:
        """Wait until nobody else is at it."""
        while not (granted := await asyncio.to_thread(store.lease, name, LEASE_S, slot)):
            await asyncio.sleep(RENEW_S / 5)
        return cls(store, slot, name, granted[slot])

    def check(self) -> None:
        """Refuse if another worker may have been at it meanwhile: this one was paused for too long."""
        if self._store.lease(self._name, LEASE_S, self._slot) != {self._slot: self._epoch}:
            raise Busy("another worker has taken over the work on the model's past", "try again")

    async def end(self) -> None:
        """Let another one be at it."""
        self._renewing.cancel()
        await asyncio.wait([self._renewing])
        await asyncio.to_thread(self._store.leave, self._name, self._slot)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await asyncio.to_thread(self._store.lease, self._name, LEASE_S, self._slot)
            except SmidgenError as error:
                _log.warning("the lease of a model's past could not be renewed: %s", error)


async def retain(here: Service, name: str, older_than_s: float) -> RetainedReply:
    """Fold the events of a model that are older, put the base in force, and let them be erased; slot by slot."""
    model = await here.writer.do(lambda: here.engine.entered(name))
    return Retention.together([await _retain(here, part, older_than_s) for part in model.parts])


async def _retain(here: Service, model: Served, older_than_s: float) -> RetainedReply:
    async with here.past.work(here, model, Progress("retain")) as progress:
        now = here.engine.clock()
        plan = await _aside(progress, lambda: planned(here.reading, model, now - older_than_s, now))
        if plan is None:
            return await here.writer.do(partial(here.engine.retained, model))
        found, count = states(here.reading, model, plan, progress), 0
        while (chunk := await _aside(progress, lambda: list(itertools.islice(found, STAGED)))) or not count:
            await here.writer.do(partial(_then, progress, partial(here.engine.stage, model, chunk, first=not count)))
            count += 1
        return await here.writer.do(partial(_then, progress, partial(here.engine.rebase, model, plan)))


def _then(progress: Progress, command: Callable[[], T]) -> T:
    """A command that holds the slot, if nobody else has been at it."""
    progress.alone()
    return command()


async def keep(here: Service) -> None:
    """Look after the retention of all models, again and again; one that fails is told of, and tried again later."""
    loop, next_time = asyncio.get_running_loop(), dict[int, float]()
    while True:
        for model in list(here.engine.slots.values()):
            age = model.blueprint.terms.retention_s or here.options.retention_s
            if age is None or loop.time() < next_time.get(model.slot, 0.0) or not here.engine.owns(model.slot):
                continue
            next_time[model.slot] = loop.time() + min(max(age / 10, WATCH_S), SELDOM_S)
            try:
                done = await _retain(here, model, age)
            except SmidgenError as error:
                _log.warning("the old events of model %s stay for now: %s", model.name, error)
            else:
                if done.folded:
                    _log.info("%d old events of model %s were folded into its base", done.folded, model.name)
        await asyncio.sleep(WATCH_S)


async def _aside(progress: Progress, work: Callable[[], T]) -> T:
    """Do it in a thread; who is cancelled lets it end first, so that nobody reads from what is closed."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        progress.stopped = True
        await asyncio.wait([task])
        raise
