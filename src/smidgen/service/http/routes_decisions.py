"""Calls: decisions, feedback, examples."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.errors import SmidgenError
from smidgen.service.engine.stories import story_of
from smidgen.service.errors import NotAllowed, OutOfScope
from smidgen.service.http.endpoints import DECISION, EXPAND, MODEL, endpoint
from smidgen.service.http.errors import error_detail
from smidgen.service.http.openapi import decision, decisions, results
from smidgen.service.http.resources import expanded, explain, reply
from smidgen.service.http.rights import grant_of
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ErrorReply, FeedbackReply, SeveralReply, ShownReply, Story, TaughtReply

# Decisions: asked for, one or many; and their stories.


#: A request of a choose model.
_REQUEST = {
    "candidates": [{"id": "red", "features": {"topic": "art"}}, {"id": "blue", "features": {"topic": "news"}}],
    "context": {"device": "phone"},
}


@endpoint(
    "POST",
    MODEL + "/decisions",
    "decide",
    body=lambda: loops.decision,
    reply=decision,
    status=(201,),
    busy=True,
    example=_REQUEST,
)
async def decide(request: Request) -> Response:
    """Ask for a decision."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, loops.decision)
    return reply(await grant.run(lambda: here.engine.decide(name, body)), 201)


@endpoint(
    "POST",
    MODEL + "/decisions:batch",
    "decideMany",
    body=lambda: loops.batch,
    reply=decisions,
    status=(201,),
    busy=True,
    example={"decisions": [_REQUEST, _REQUEST]},
)
async def decide_batch(request: Request) -> Response:
    """Ask for many decisions."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, loops.batch)
    asked = here.engine.decide_in_steps(name, body)
    made = await grant.run(asked)
    if made is None:
        async with here.large:  # one at a time: what is decided waits in memory until all is
            while made is None:
                made = await grant.run(asked)
    return reply({"decisions": made}, 201)


@endpoint("GET", DECISION, "tellStory", reply=Story, query=(EXPAND,))
async def tell_story(request: Request) -> Response:
    """A decision's story. A vector has one line in its contributions; `expand` names fields to show by column."""
    grant = grant_of(request)
    here = grant.here
    id = request.path_params["id"]
    now = here.engine.clock()
    engine = here.engine
    story = await asyncio.to_thread(story_of, here.log, engine.shards, id, grant.only, now, engine.learners.peek)
    why = await explain(here, id, grant.only, expanded(request))
    asked = story.asked if story.asked is not None else why.asked
    return reply(msgspec.structs.replace(story, asked=asked, contributions=why.then, contributions_now=why.now))


# Feedback on decisions.


@endpoint(
    "POST",
    DECISION + "/feedback",
    "giveFeedback",
    body=lambda: loops.feedback,
    reply=FeedbackReply,
    status=(200, 202),
    busy=True,
    example={"reward": 1},
)
async def give_feedback(request: Request) -> Response:
    """Tell what the user did."""
    grant = grant_of(request)
    here = grant.here
    body = await grant.body(request, loops.feedback)
    id = request.path_params["id"]
    answer = await grant.run_for(lambda own: here.engine.feedback(id, body, own), [id])
    here.metrics.count("feedback", answer.status)
    return reply(answer, 202 if answer.status == "late" else 200)


@endpoint("POST", DECISION + "/shown", "showDecision", reply=ShownReply, status=(200, 202))
async def show(request: Request) -> Response:
    """Let a decision count that was asked for with activate: false."""
    grant = grant_of(request)
    here = grant.here
    id = request.path_params["id"]
    answer = await grant.run_for(lambda own: here.engine.mark_shown(id, own))
    return reply(answer, 202 if answer.status == "late" else 200)


@endpoint(
    "POST",
    "/v1/feedback:batch",
    "giveMuchFeedback",
    body=lambda: loops.several,
    reply=results,
    busy=True,
    example={"feedback": [{"decision": "DECISION", "reward": 1}]},
)
async def give_many(request: Request) -> Response:
    """Tell what many users did, in one commit."""
    grant = grant_of(request)
    here = grant.here
    body = await grant.body(request, loops.several)
    commands = [grant.command(partial(here.engine.feedback, one.decision, one)) for one in body.feedback]
    found: list[FeedbackReply | ErrorReply] = []
    for answer in await here.writer.run_each(commands, [one.decision for one in body.feedback]):
        if isinstance(answer, SmidgenError) and not isinstance(answer, NotAllowed | OutOfScope):
            found.append(ErrorReply(error=error_detail(answer)))
            continue
        if isinstance(answer, Exception):
            raise answer
        here.metrics.count("feedback", answer.status)
        found.append(answer)
    return reply(SeveralReply(results=found))


# Examples whose answers are known, to teach a model.


@endpoint(
    "POST",
    MODEL + "/examples",
    "teach",
    body=lambda: loops.examples,
    reply=TaughtReply,
    example={"examples": [{**_REQUEST, "answer": {"choice": "red", "reward": 1}}]},
)
async def teach(request: Request) -> Response:
    """Teach examples whose answers are known."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, loops.examples)
    answer = await grant.run(lambda: here.engine.teach(name, body))
    return reply(answer)
