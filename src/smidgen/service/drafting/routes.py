"""The page and the calls of the drafts demo; edits go to POST /v1/decisions/{id}/feedback like those of any app."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.service.drafting.colleagues import ColleagueBody, edited, introduced
from smidgen.service.drafting.rounds import MODEL, demo_name, learnt, next_letter, start_anew
from smidgen.service.http.assets import HEADERS, asset
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import Service, reply, service
from smidgen.service.messages import Message

PAGES = Path(__file__).parent / "pages"


class NothingBody(Message):
    """Nothing to say."""


async def page(request: Request) -> Response:
    """GET /demo/drafts."""
    return asset(request, "drafts.html", PAGES)


async def file(request: Request) -> Response:
    """GET /demo/drafts/files/{file}."""
    return asset(request, request.path_params["file"], PAGES)


async def following(request: Request) -> Response:
    """POST /demo/drafts/next: a message, and the draft that the model chooses for it."""
    here, name = await _admitted(request)
    await json_body(request, NothingBody, here.options.max_body)
    return _told(await here.writer.do(partial(next_letter, here.engine, name)), 201)


async def taste(request: Request) -> Response:
    """GET /demo/drafts/taste: what the edits say so far, and who could help."""
    here, name = await _admitted(request, makes=False)
    told = await here.writer.do(partial(learnt, here.engine, name))
    return _told({**told, "colleagues": introduced()})


async def colleague(request: Request) -> Response:
    """POST /demo/drafts/colleague: what a colleague makes of a draft for a message."""
    here, _ = await _admitted(request, makes=False)
    body = await json_body(request, ColleagueBody, here.options.max_body)
    return _told({"edited": edited(body.who, body.number)})


async def reset(request: Request) -> Response:
    """POST /demo/drafts/reset: archive the model and begin with the next."""
    here, _ = await _admitted(request)
    await json_body(request, NothingBody, here.options.max_body)
    return _told({"model": await here.writer.do(partial(start_anew, here.engine))}, 201)


def routes() -> list[Route]:
    """The page and its calls."""
    return [
        Route("/demo/drafts", page, methods=["GET"]),
        Route("/demo/drafts/files/{file}", file, methods=["GET"]),
        Route("/demo/drafts/next", following, methods=["POST"]),
        Route("/demo/drafts/taste", taste, methods=["GET"]),
        Route("/demo/drafts/colleague", colleague, methods=["POST"]),
        Route("/demo/drafts/reset", reset, methods=["POST"]),
    ]


async def _admitted(request: Request, *, makes: bool = True) -> tuple[Service, str]:
    """The service and the model's name; if a token has come this very moment, only for those who may do everything."""
    here = service(request)
    await here.rights(request, "admin")
    name = await here.writer.do(partial(demo_name, here.engine))
    if makes:
        await here.warm(MODEL)
    return here, name


def _told(content: Any, status: int = 200) -> Response:
    response = reply(content, status)
    response.headers.update({**HEADERS, "cache-control": "no-store"})
    return response
