"""Retention: old events are folded into a base state and erased."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.past import retain
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import model_name, reply, service
from smidgen.service.messages import RetainBody, RetainedReply


async def retain_model(request: Request) -> Response:
    """POST /v1/models/{name}:retain."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    body = await json_body(request, RetainBody, here.options.max_body)
    return reply(await retain(here, name, body.older_than_s))


CALLS = [
    Call(
        method="POST",
        path=MODEL + ":retain",
        answer=retain_model,
        name="retain",
        summary="fold events of an age into the base state, and erase them",
        body=RetainBody,
        reply=RetainedReply,
    ),
]
