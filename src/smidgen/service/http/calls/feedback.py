"""Feedback on decisions."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import DECISION, Call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import reply, service
from smidgen.service.http.tokens import require
from smidgen.service.loops.registry import loops
from smidgen.service.messages import FeedbackReply


async def give_feedback(request: Request) -> Response:
    """POST /v1/decisions/{id}/feedback."""
    here = service(request)
    rights = here.tokens.rights(request.headers.get("authorization"))
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.feedback, here.options.max_body)
    id = request.path_params["id"]
    answer = await here.writer.do(lambda: here.engine.feedback(id, body, rights.model))
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


CALLS = [
    Call(
        method="POST",
        path=DECISION + "/feedback",
        answer=give_feedback,
        name="giveFeedback",
        summary="tell what the user did",
        body=lambda: loops.feedback,
        reply=FeedbackReply,
        status=(200, 202),
        busy=True,
    ),
]
