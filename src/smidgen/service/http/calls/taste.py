"""What a model's users, or one of them, like in a text."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import KEY, MODEL, call
from smidgen.service.http.running import permitted, reply
from smidgen.service.insight.tastes import taste_of
from smidgen.service.messages import TasteReply


@call("GET", MODEL + "/taste", "showTaste", reply=TasteReply, query=(KEY,))
async def show_taste(request: Request) -> Response:
    """What people's edits say of their taste, in words and by trait (draft loop)."""
    here, name = await permitted(request)
    key = request.query_params.get("key")
    return reply(await here.writer.do(lambda: taste_of(here.engine, here.engine.entered_for(name, key), key)))
