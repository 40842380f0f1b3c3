"""Feedback on decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.http.call import DECISION, Call
from smidgen.service.http.codes import detail
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import reply, service
from smidgen.service.http.schemas import results
from smidgen.service.http.tokens import require
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ErrorReply, FeedbackReply, SeveralReply, ShownReply


async def give_feedback(request: Request) -> Response:
    """POST /v1/decisions/{id}/feedback."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.feedback, here.options.max_body)
    id = request.path_params["id"]
    answer = await here.writer.do(lambda: here.engine.feedback(id, body, rights.model), [id])
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


async def show(request: Request) -> Response:
    """POST /v1/decisions/{id}/shown."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    id = request.path_params["id"]
    answer = await here.writer.do(lambda: here.engine.shown(id, rights.model))
    return reply(answer, 202 if answer.status == "late" else 200)


async def give_many(request: Request) -> Response:
    """POST /v1/feedback:batch."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.several, here.options.max_body)

    def command(one: Any) -> Callable[[], FeedbackReply]:
        fields = loops.feedback(**one.given(but=("decision",)))
        return lambda: here.engine.feedback(one.decision, fields, rights.model)

    found: list[FeedbackReply | ErrorReply] = []
    for answer in await here.writer.do_each(
        [command(one) for one in body.feedback], [one.decision for one in body.feedback]
    ):
        if isinstance(answer, SmidgenError):
            found.append(ErrorReply(error=detail(answer)))
            continue
        if isinstance(answer, Exception):
            raise answer
        here.metrics.count("feedback", answer.status)
        found.append(answer)
    return reply(SeveralReply(results=found))


CALLS = [
    Call(
        method="POST",
        path="/v1/feedback:batch",
        answer=give_many,
        name="giveMuchFeedback",
        summary="tell what many users did, in one commit",
        body=lambda: loops.several,
        reply=results,
        busy=True,
    ),
    Call(
        method="POST",
        path=DECISION + "/shown",
        answer=show,
        name="showDecision",
        summary="let a decision count that was asked for with activate: false",
        reply=ShownReply,
        status=(200, 202),
    ),
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
