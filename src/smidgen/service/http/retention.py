"""Retention in a running service: fold the old events of models into base states, on request and by the clock."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from smidgen.errors import SmidgenError
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.retention import STAGED, RetentionHandler, checkpoint_states, plan_checkpoint
from smidgen.service.engine.undo import Progress
from smidgen.service.http.jobs import run_in_thread
from smidgen.service.http.resources import Service
from smidgen.service.schemas import RetainedReply

T = TypeVar("T")
#: How often retention is handled: every tenth of the age, but not more often than this, nor less often than that.
WATCH_S, SELDOM_S = 10.0, 3600.0
_log = logging.getLogger("smidgen.service")


async def retain(here: Service, name: str, older_than_s: float, token: str | None = None) -> RetainedReply:
    """Fold the events of a model that are older, put the base in force, and let them be erased; shard by shard.

    ``token`` is the id of the token by whose call this is done.
    """
    model = await here.writer.run(lambda: here.engine.locked_model(name))
    return RetentionHandler.combined_reply([await _retain(here, part, older_than_s, token) for part in model.parts])


async def _retain(here: Service, model: ServedModel, older_than_s: float, token: str | None = None) -> RetainedReply:
    async with here.jobs.run(here.engine, model, Progress("retain")) as progress:
        now = here.engine.clock()
        plan = await run_in_thread(progress, lambda: plan_checkpoint(here.reading, model, now - older_than_s, now))
        if plan is None:
            return await here.writer.run(partial(here.engine.retention_state, model))
        found, count = checkpoint_states(here.reading, model, plan, progress), 0
        while (chunk := await run_in_thread(progress, lambda: list(itertools.islice(found, STAGED)))) or not count:
            await here.writer.run(
                partial(_then, progress, partial(here.engine.stage, model, plan, chunk, first=not count))
            )
            count += 1

        def rebase() -> RetainedReply:
            with here.engine.signed_by(token):
                return here.engine.apply_checkpoint(model, plan)

        return await here.writer.run(partial(_then, progress, rebase))


def _then(progress: Progress, command: Callable[[], T]) -> T:
    """A command that holds the shard, if nobody else has been at it."""
    progress.alone()
    return command()


async def retention_loop(here: Service) -> None:
    """Apply the retention of all models in a loop. A failure is logged and retried later."""
    loop, next_time = asyncio.get_running_loop(), dict[int, float]()
    while True:
        for model in list(here.engine.shards.values()):
            age = model.blueprint.terms.retention_s or here.options.retention_s
            if age is None or loop.time() < next_time.get(model.shard, 0.0) or not here.engine.owns(model.shard):
                continue
            next_time[model.shard] = loop.time() + min(max(age / 10, WATCH_S), SELDOM_S)
            try:
                done = await _retain(here, model, age)
            except SmidgenError as error:
                _log.warning("the old events of model %s stay for now: %s", model.name, error)
            else:
                if done.folded:
                    _log.info("%d old events of model %s were folded into its base", done.folded, model.name)
        await asyncio.sleep(WATCH_S)
