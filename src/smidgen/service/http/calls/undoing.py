"""Undo: take back the feedback of one decision, or go back to an earlier version."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import DECISION, MODEL, call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import permitted, reply, service
from smidgen.service.http.tokens import require
from smidgen.service.messages import RollbackBody, UndoneReply
from smidgen.service.models.progress import Progress
from smidgen.service.models.undoing import find_to_undo, folded, version_then


@call("POST", DECISION + ":retract", "retract", reply=UndoneReply)
async def retract(request: Request) -> Response:
    """Undo the feedback of a decision, by replay."""
    here = service(request)
    rights = await here.bearer(request)
    require(rights, "feedback", rights.model)
    id = request.path_params["id"]
    await here.look()
    row, model = await asyncio.to_thread(find_to_undo, here.log, here.engine.slots, id, rights.model)
    ready = None
    async with here.past.work(here, model, Progress("retract")) as progress:
        if row.version is not None:
            ready = await asyncio.to_thread(folded, here.reading, model, ("retracted", row.version), progress)
        return reply(await here.writer.do(lambda: here.engine.retract(id, rights.model, ready)))


@call("POST", MODEL + ":rollback", "rollBack", body=RollbackBody, reply=UndoneReply)
async def roll_back(request: Request) -> Response:
    """Go back to the weights of a version, or of a moment, by replay."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, RollbackBody)
    model, ready = await here.writer.do(lambda: here.engine.entered(name)), None
    version, then = body.version, body.then
    async with here.past.work_on_all(here, model, Progress("rollback")) as progress:
        to = version_then(here.reading, model, then) if then is not None and not model.keyed else version
        if to is not None and to <= model.version:
            ready = await asyncio.to_thread(folded, here.reading, model, ("rolled_back", to), progress)
        return reply(await here.writer.do(lambda: here.engine.roll_back(name, version, ready, then=then)))
