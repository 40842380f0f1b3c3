"""Examples whose answers are known, to teach a model."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import model_name, reply, service
from smidgen.service.loops.registry import loops
from smidgen.service.messages import TaughtReply


async def teach(request: Request) -> Response:
    """POST /v1/models/{name}/examples."""
    here, name = service(request), model_name(request)
    await here.rights(request, "feedback", name)
    body = await json_body(request, loops.examples, here.options.max_body)
    answer = await here.writer.do(lambda: here.engine.teach(name, body))
    return reply(answer)


CALLS = [
    Call(
        method="POST",
        path=MODEL + "/examples",
        answer=teach,
        name="teach",
        summary="teach examples whose answers are known",
        body=lambda: loops.examples,
        reply=TaughtReply,
    ),
]
