"""The weights of a model under their names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import KEY, LIMIT, MODEL, call
from smidgen.service.http.running import permitted, reply, whole_number
from smidgen.service.insight.weights import by_name
from smidgen.service.messages import WeightsReply

#: How many weights are told if nobody says, and at most.
WEIGHTS, MOST_WEIGHTS = 100, 10_000


@call("GET", MODEL + "/weights", "showWeights", reply=WeightsReply, query=(KEY, LIMIT))
async def show_weights(request: Request) -> Response:
    """Names and weights, strongest first."""
    here, name = await permitted(request)
    limit, key = whole_number(request, "limit") or WEIGHTS, request.query_params.get("key")
    limit = min(limit, MOST_WEIGHTS)
    return reply(await here.writer.do(lambda: by_name(here.engine, here.engine.entered_for(name, key), key, limit)))
