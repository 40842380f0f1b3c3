"""Examples whose answers are known, to teach a model."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import permitted, reply
from smidgen.service.loops.registry import loops
from smidgen.service.messages import TaughtReply


@call("POST", MODEL + "/examples", "teach", body=lambda: loops.examples, reply=TaughtReply)
async def teach(request: Request) -> Response:
    """Teach examples whose answers are known."""
    here, name = await permitted(request, "feedback")
    body = await json_body(request, loops.examples)
    answer = await here.writer.do(lambda: here.engine.teach(name, body))
    return reply(answer)
