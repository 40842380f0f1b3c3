"""Work on the past of a model, done aside: one at a time for each model, with progress that others can see.

Decisions and feedback of all models go on meanwhile. Only the last step is a command of the writer.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from smidgen.errors import SmidgenError
from smidgen.service.messages import RetainedReply
from smidgen.service.models.bases import planned, states
from smidgen.service.models.progress import Progress
from smidgen.service.models.retaining import STAGED
from smidgen.service.models.served import Served

if TYPE_CHECKING:
    from smidgen.service.http.running import Service

T = TypeVar("T")
#: How often retention is looked after: every tenth of the age, but not more often than this, nor less often than that.
WATCH_S, SELDOM_S = 10.0, 3600.0
_log = logging.getLogger("smidgen.service")


class Past:
    """Who is at work on which model's past."""

    def __init__(self) -> None:
        self._locks: dict[int, asyncio.Lock] = {}

    @asynccontextmanager
    async def work(self, model: Served, progress: Progress) -> AsyncIterator[Progress]:
        """Be the only one who works on a model's past; others wait."""
        async with self._locks.setdefault(model.slot, asyncio.Lock()):
            model.undoing = progress
            try:
                yield progress
            finally:
                model.undoing = None


async def retain(here: Service, name: str, older_than_s: float) -> RetainedReply:
    """Fold the events of a model that are older, put the base in force, and let them be erased."""
    model = here.engine.model(name)
    async with here.past.work(model, Progress("retain")) as progress:
        now = here.engine.clock()
        plan = await _aside(progress, lambda: planned(here.reading, model, now - older_than_s, now))
        if plan is None:
            return await here.writer.do(partial(here.engine.retained, name))
        found, count = states(here.reading, model, plan, progress), 0
        while (chunk := await _aside(progress, lambda: list(itertools.islice(found, STAGED)))) or not count:
            await here.writer.do(partial(here.engine.stage, name, chunk, first=not count))
            count += 1
        return await here.writer.do(partial(here.engine.rebase, name, plan))


async def keep(here: Service) -> None:
    """Look after the retention of all models, again and again; one that fails is told of, and tried again later."""
    loop, next_time = asyncio.get_running_loop(), dict[int, float]()
    while True:
        for model in list(here.engine.slots.values()):
            age = model.blueprint.terms.retention_s or here.options.retention_s
            if age is None or loop.time() < next_time.get(model.slot, 0.0):
                continue
            next_time[model.slot] = loop.time() + min(max(age / 10, WATCH_S), SELDOM_S)
            try:
                done = await retain(here, model.name, age)
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
