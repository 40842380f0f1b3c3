"""The pages and calls of the search demo; clicks go to POST /v1/decisions/{id}/feedback like those of any app."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Annotated, Any

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.service.engine.engine import Engine
from smidgen.service.http.dashboard import uncached
from smidgen.service.http.middleware import json_body
from smidgen.service.http.resources import Service
from smidgen.service.monitoring.curves import LEARNT
from smidgen.service.schemas import Message
from smidgen_demos.search.comparison import CompareBody, compare
from smidgen_demos.search.features import NAMES
from smidgen_demos.search.library import with_library
from smidgen_demos.search.progress import progress
from smidgen_demos.search.searches import DEMO, SHOWN, decide, scales, search, shown
from smidgen_demos.search.visitors import TASTE, VisitorsBody, visit, visitor


class QueryBody(Message):
    """A search query."""

    q: Annotated[str, Meta(max_length=200)]


async def query(request: Request) -> Response:
    """POST /demo/search/query: a decision of the model, and what it shows."""
    here, name = await DEMO.admitted(request)
    body = await json_body(request, QueryBody)
    asked = await with_library(partial(search, body.q))
    if not asked.documents:
        return uncached({"model": name, "decision": None, "words": asked.words, "results": [], "of": 0})
    answer = await here.writer.run(lambda: decide(here.engine, name, asked))
    made = {"model": name, "decision": answer["decision"], "model_version": answer["model_version"]}
    counts = {"of": len(asked.documents), "decisions": here.engine.model(name).decisions}
    results = shown(asked, answer, scaled=scales(here.engine, name))
    return uncached({**made, "words": asked.words, "results": results, **counts}, 201)


async def weights(request: Request) -> Response:
    """GET /demo/search/weights: what the model goes by, and how it has done so far."""
    here, name = await DEMO.admitted(request, makes=False)
    return uncached(await _figures(here, name))


async def documents(request: Request) -> Response:
    """GET /demo/search/documents: how many there are, once they have been read."""
    await DEMO.admitted(request, makes=False)
    return uncached({"documents": await with_library(lambda index: len(index.documents)), "shown": SHOWN})


async def simulate(request: Request) -> Response:
    """POST /demo/search/simulate: some simulated visitors, each with a decision of his own."""
    here, name = await DEMO.admitted(request)
    body = await json_body(request, VisitorsBody)
    first = await here.writer.run(partial(_next_visitor, here.engine, name))
    clicked = 0
    for number in range(first, first + body.users):
        who = await with_library(partial(visitor, number))
        clicked += await here.writer.run(partial(visit, here.engine, name, who))
    return uncached({"model": name, "played": body.users, "clicked": clicked, **await _figures(here, name)})


async def side_by_side(request: Request) -> Response:
    """POST /demo/search/compare: simulate users who look only at the top, with two learners, in the background."""
    await DEMO.admitted(request, makes=False)
    body = await json_body(request, CompareBody)
    return uncached(await with_library(partial(compare, body.run)))


def routes() -> list[Route]:
    """The page and its calls."""
    return [
        *DEMO.routes(),
        Route("/demo/search/query", query, methods=["POST"]),
        Route("/demo/search/weights", weights, methods=["GET"]),
        Route("/demo/search/documents", documents, methods=["GET"]),
        Route("/demo/search/simulate", simulate, methods=["POST"]),
        Route("/demo/search/compare", side_by_side, methods=["POST"]),
    ]


async def _figures(here: Service, name: str) -> dict[str, Any]:
    names = list(NAMES)
    taste = [TASTE[feature] for feature in names]
    if name not in here.engine.models:
        return {"model": name, "features": names, "weights": [0.0] * len(names), "taste": taste, **_nothing()}
    model = here.engine.model(name)

    def weights_now() -> list[float]:
        found: list[float] = here.engine.learners.get(here.engine.acquire(model), None).learner.weights.tolist()
        return found

    values = await here.writer.run(weights_now)
    sums = await here.curves.sums(here.reading, model, LEARNT)
    counts = {"learnt": model.version, "decisions": model.decisions, "points": progress(sums.rows)}
    return {"model": name, "features": names, "weights": values, "taste": taste, **counts}


def _nothing() -> dict[str, Any]:
    return {"learnt": 0, "decisions": 0, "points": []}


def _next_visitor(engine: Engine, name: str) -> int:
    """The number of the next visitor: others for each model, the same ones each time for the same history."""
    return zlib.crc32(name.encode()) + (engine.models[name].decisions if name in engine.models else 0)
