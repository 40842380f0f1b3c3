"""One model at a closer look: what a glance tells, and what takes a look at its learner or at its log."""

from __future__ import annotations

import asyncio

import msgspec

from smidgen.service.http.company import at_work
from smidgen.service.http.running import PATIENCE_S, Service
from smidgen.service.insight.quality import at_a_glance
from smidgen.service.messages import BestReply, ModelReply
from smidgen.service.models.served import Served


async def closely(here: Service, model: Served) -> ModelReply:
    """A model's reply in full."""
    seen = await asyncio.to_thread(at_a_glance, here.reading, model, here.engine.clock())
    if seen.undoing is None:
        seen = msgspec.structs.replace(seen, undoing=at_work(here, model.name))
    if model.blueprint.loop.knows_best and not model.keyed:
        seen = msgspec.structs.replace(seen, best=await _best(here, model))
    if model.blueprint.loop.shows_lists:
        look = await asyncio.to_thread(here.looking.at, here.reading, model)
        curve, why_not = look.examination
        seen = msgspec.structs.replace(seen, perturbation=look.perturbation, examination=curve, unexamined=why_not)
    return seen


async def _best(here: Service, model: Served) -> BestReply | None:
    """What its learner thinks best, read between two batches; a reply does not wait long for a writer that is busy."""
    loop = model.blueprint.loop

    def best() -> BestReply | None:
        return loop.best(here.engine.learners.get(here.engine.enter(model), None).learner)

    wanted = asyncio.ensure_future(here.writer.do(best))
    await asyncio.wait([wanted], timeout=PATIENCE_S)
    return wanted.result() if wanted.done() else None
