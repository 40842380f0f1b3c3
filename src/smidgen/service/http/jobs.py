"""Background jobs on the past of a model: one at a time for each model, with visible progress.

Decisions and feedback of all models go on meanwhile. Only the last step is a command of the writer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from smidgen.errors import SmidgenError
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.leases import LEASE_S, RENEW_S
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Busy
from smidgen.service.storage.protocol import Store

T = TypeVar("T")
_log = logging.getLogger("smidgen.service")


class ModelJobs:
    """Jobs on models' logs, of this process and of all workers of its store; one job per shard at a time.

    Among workers a lease says who it is, that of the shard with a minus: it ends with the work, or with the worker.
    """

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}

    @asynccontextmanager
    async def run(self, engine: Engine, model: ServedModel, progress: Progress) -> AsyncIterator[Progress]:
        """Be the only one who works on the past of a model, or of one shard of it; others wait."""
        async with self._locks.setdefault(model.shard, asyncio.Lock()):
            owning = engine.leases
            lease = await _Lease.acquire(engine.store, -model.shard, owning.name) if owning is not None else None
            model.undoing = progress
            if lease is not None:
                progress.alone = lease.check
            try:
                yield progress
            finally:
                model.undoing = None
                if lease is not None:
                    await lease.end()

    async def end(self) -> None:
        """Wait until no job is running: threads of cancelled calls read from the store until they notice."""
        for lock in list(self._locks.values()):
            async with lock:
                pass

    @asynccontextmanager
    async def run_for_all(self, engine: Engine, model: ServedModel, progress: Progress) -> AsyncIterator[Progress]:
        """Acquire all shards of a model, in order (`run`)."""
        async with AsyncExitStack() as stack:
            for part in model.parts:
                await stack.enter_async_context(self.run(engine, part, progress))
            yield progress


class _Lease:
    """A lease that is renewed until it is ended."""

    def __init__(self, store: Store, shard: int, name: str, epoch: int) -> None:
        self._store, self._shard, self._name, self._epoch = store, shard, name, epoch
        self._renewing = asyncio.create_task(self._renew(), name="smidgen lease of a past")

    @classmethod
    async def acquire(cls, store: Store, shard: int, name: str) -> _Lease:
        """Wait until no other job of this kind is running."""
        while not (granted := await asyncio.to_thread(store.lease, name, LEASE_S, shard)):
            await asyncio.sleep(RENEW_S / 5)
        return cls(store, shard, name, granted[shard])

    def check(self) -> None:
        """Refuse if another worker may have been at it meanwhile: this one was paused for too long."""
        if self._store.lease(self._name, LEASE_S, self._shard) != {self._shard: self._epoch}:
            raise Busy("another worker now processes the model's log", "try again")

    async def end(self) -> None:
        """Let another one be at it."""
        self._renewing.cancel()
        await asyncio.wait([self._renewing])
        await asyncio.to_thread(self._store.release_leases, self._name, self._shard)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await asyncio.to_thread(self._store.lease, self._name, LEASE_S, self._shard)
            except SmidgenError as error:
                _log.warning("the lease of a model's past could not be renewed: %s", error)


async def run_in_thread(progress: Progress, work: Callable[[], T]) -> T:
    """Do it in a thread; who is cancelled lets it end first, so that nobody reads from what is closed."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        progress.stopped = True
        await asyncio.wait([task])
        task.exception()  # nobody waits for it
        raise
