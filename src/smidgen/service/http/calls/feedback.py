"""Feedback on decisions."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.http.call import DECISION, Call
from smidgen.service.http.codes import detail
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import reply, service, shown
from smidgen.service.http.schemas import results
from smidgen.service.http.tokens import require
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ErrorReply, FeedbackReply, SeveralReply, ShownReply
from smidgen.service.refusals import NotAllowed, OutOfScope


async def give_feedback(request: Request) -> Response:
    """POST /v1/decisions/{id}/feedback."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.feedback, here.options.max_body)
    id = request.path_params["id"]
    command = here.granted(rights, shown(request), "feedback", lambda own: here.engine.feedback(id, body, own))
    answer = await here.writer.do(command, [id])
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


async def show(request: Request) -> Response:
    """POST /v1/decisions/{id}/shown."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    id = request.path_params["id"]
    command = here.granted(rights, shown(request), "feedback", lambda own: here.engine.shown(id, own))
    answer = await here.writer.do(command)
    return reply(answer, 202 if answer.status == "late" else 200)


async def give_many(request: Request) -> Response:
    """POST /v1/feedback:batch."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.several, here.options.max_body)

    header = shown(request)
    commands = [
        here.granted(rights, header, "feedback", partial(here.engine.feedback, one.decision, one))
        for one in body.feedback
    ]
    found: list[FeedbackReply | ErrorReply] = []
    for answer in await here.writer.do_each(commands, [one.decision for one in body.feedback]):
        if isinstance(answer, SmidgenError) and not isinstance(answer, NotAllowed | OutOfScope):
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
