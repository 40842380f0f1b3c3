"""The weights of a model under their names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import KEY, LIMIT, MODEL, Call
from smidgen.service.http.running import any_right, model_name, reply, service, whole_number
from smidgen.service.insight.weights import by_name
from smidgen.service.messages import WeightsReply

#: How many weights are told if nobody says, and at most.
WEIGHTS, MOST_WEIGHTS = 100, 10_000


async def show_weights(request: Request) -> Response:
    """GET /v1/models/{name}/weights?key=…&limit=…."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    limit, key = whole_number(request, "limit") or WEIGHTS, request.query_params.get("key")
    limit = min(limit, MOST_WEIGHTS)
    return reply(await here.writer.do(lambda: by_name(here.engine, here.engine.entered_for(name, key), key, limit)))


CALLS = [
    Call(
        method="GET",
        path=MODEL + "/weights",
        answer=show_weights,
        name="showWeights",
        summary="names and weights, strongest first",
        reply=WeightsReply,
        query=(KEY, LIMIT),
    ),
]
