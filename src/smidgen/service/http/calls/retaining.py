"""Retention: old events are folded into a base state and erased."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.past import retain
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import permitted, reply
from smidgen.service.messages import RetainBody, RetainedReply


@call("POST", MODEL + ":retain", "retain", body=RetainBody, reply=RetainedReply)
async def retain_model(request: Request) -> Response:
    """Fold events of an age into the base state, and erase them."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, RetainBody)
    return reply(await retain(here, name, body.older_than_s))
