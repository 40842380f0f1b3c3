"""What a model's users, or one of them, like in a text."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import KEY, MODEL, Call
from smidgen.service.http.running import any_right, model_name, reply, service
from smidgen.service.insight.tastes import taste_of
from smidgen.service.messages import TasteReply


async def show_taste(request: Request) -> Response:
    """GET /v1/models/{name}/taste?key=…."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    key = request.query_params.get("key")
    return reply(await here.writer.do(lambda: taste_of(here.engine, here.engine.entered_for(name, key), key)))


CALLS = [
    Call(
        method="GET",
        path=MODEL + "/taste",
        answer=show_taste,
        name="showTaste",
        summary="what people's edits say of their taste, in words and by trait (draft loop)",
        reply=TasteReply,
        query=(KEY,),
    ),
]
