"""Feedback on decisions."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.http.call import DECISION, call
from smidgen.service.http.codes import detail
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import reply, service, shown
from smidgen.service.http.schemas import results
from smidgen.service.http.tokens import require
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ErrorReply, FeedbackReply, SeveralReply, ShownReply
from smidgen.service.refusals import NotAllowed, OutOfScope


@call(
    "POST",
    DECISION + "/feedback",
    "giveFeedback",
    body=lambda: loops.feedback,
    reply=FeedbackReply,
    status=(200, 202),
    busy=True,
)
async def give_feedback(request: Request) -> Response:
    """Tell what the user did."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.feedback)
    id = request.path_params["id"]
    command = here.granted(rights, shown(request), "feedback", lambda own: here.engine.feedback(id, body, own))
    answer = await here.writer.do(command, [id])
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


@call("POST", DECISION + "/shown", "showDecision", reply=ShownReply, status=(200, 202))
async def show(request: Request) -> Response:
    """Let a decision count that was asked for with activate: false."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    id = request.path_params["id"]
    command = here.granted(rights, shown(request), "feedback", lambda own: here.engine.shown(id, own))
    answer = await here.writer.do(command)
    return reply(answer, 202 if answer.status == "late" else 200)


@call("POST", "/v1/feedback:batch", "giveMuchFeedback", body=lambda: loops.several, reply=results, busy=True)
async def give_many(request: Request) -> Response:
    """Tell what many users did, in one commit."""
    here = service(request)
    rights = await here.bearer(request, quick=True)
    require(rights, "feedback", rights.model)
    body = await json_body(request, loops.several)

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
