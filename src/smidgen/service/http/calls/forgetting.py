"""Exact forgetting of a key."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.running import permitted, reply
from smidgen.service.messages import ForgottenReply
from smidgen.service.models.progress import Progress
from smidgen.service.refusals import BadRequest

#: How often, and every how many seconds, the files are looked after once a key is erased.
TRIES, PAUSE_S = 40, 0.05


@call(
    "DELETE",
    MODEL + "/keys/{key:path}",
    "forget",
    reply=ForgottenReply,
    query=(("base", {"type": "string", "enum": ["drop"]}),),
)
async def forget(request: Request) -> Response:
    """Forget a key: its events are erased, its learner is as if they had never been.

    Answers when nothing of the key is left in the files.
    """
    here, name = await permitted(request, "admin")
    key, base = request.path_params["key"], request.query_params.get("base")
    if base not in (None, "drop"):
        raise BadRequest(f"base is {base!r}", 'say "drop", or leave it out')
    async with here.past.work(here, here.engine.model(name).of(key), Progress("forget")):
        answer = await here.writer.do(lambda: here.engine.forget(name, key, drop_base=base == "drop"))
        for _ in range(TRIES):  # a reader beside it may be in the way for a moment
            if not (here.engine.unclean or here.engine.untidy):
                break
            await asyncio.sleep(PAUSE_S)
            await here.writer.do(lambda: None)
    return reply(answer)
