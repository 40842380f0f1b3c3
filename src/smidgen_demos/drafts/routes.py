"""The page and the calls of the drafts demo; edits go to POST /v1/decisions/{id}/feedback like those of any app."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.service.http.dashboard import uncached
from smidgen.service.http.middleware import json_body
from smidgen_demos.base import NothingBody
from smidgen_demos.drafts.colleagues import ColleagueBody, edited, introduced
from smidgen_demos.drafts.rounds import DEMO, learnt, next_letter


async def following(request: Request) -> Response:
    """POST /demo/drafts/next: a message, and the draft that the model chooses for it."""
    here, name = await DEMO.admitted(request)
    await json_body(request, NothingBody)
    return uncached(await here.writer.run(partial(next_letter, here.engine, name)), 201)


async def taste(request: Request) -> Response:
    """GET /demo/drafts/taste: what the edits say so far, and who could help."""
    here, name = await DEMO.admitted(request, makes=False)
    said = await here.writer.run(partial(learnt, here.engine, name))
    return uncached({**said, "colleagues": introduced()})


async def colleague(request: Request) -> Response:
    """POST /demo/drafts/colleague: what a colleague makes of a draft for a message."""
    await DEMO.admitted(request, makes=False)
    body = await json_body(request, ColleagueBody)
    return uncached({"edited": edited(body.who, body.number)})


def routes() -> list[Route]:
    """The page and its calls."""
    return [
        *DEMO.routes(),
        Route("/demo/drafts/next", following, methods=["POST"]),
        Route("/demo/drafts/taste", taste, methods=["GET"]),
        Route("/demo/drafts/colleague", colleague, methods=["POST"]),
    ]
