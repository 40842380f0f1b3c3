"""Models: made, listed, shown, archived."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, Call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import any_right, model_name, reply, service
from smidgen.service.insight.closely import closely
from smidgen.service.insight.quality import at_a_glance
from smidgen.service.messages import AmendBody, ModelBody, ModelReply, ModelsReply


async def create_model(request: Request) -> Response:
    """PUT /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    body = await json_body(request, ModelBody, here.options.max_body)
    if name not in here.engine.models:
        await here.warm(here.engine.settled(body))
    new, model = await here.writer.do(lambda: here.engine.create(name, body))
    return reply(model, 201 if new else 200)


async def list_models(request: Request) -> Response:
    """GET /v1/models."""
    here = service(request)
    rights = await here.bearer(request)

    def look() -> Response:
        seen = [model for model in here.models() if rights.model in (None, model.name)]
        now = here.engine.clock()
        return reply({"models": [at_a_glance(here.reading, model, now) for model in seen]})

    return await asyncio.to_thread(look)


async def show_model(request: Request) -> Response:
    """GET /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await any_right(request, name)
    return reply(await closely(here, here.engine.model(name)))


async def archive_model(request: Request) -> Response:
    """DELETE /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    return reply(await here.writer.do(lambda: here.engine.archive(name)))


async def amend_model(request: Request) -> Response:
    """PATCH /v1/models/{name}."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    body = await json_body(request, AmendBody, here.options.max_body)
    return reply(await here.writer.do(lambda: here.engine.amend(name, body)))


CALLS = [
    Call(
        method="PATCH",
        path=MODEL,
        answer=amend_model,
        name="amendModel",
        summary="add labels or texts, change the window, defaults and shares",
        body=AmendBody,
        reply=ModelReply,
    ),
    Call(
        method="GET",
        path="/v1/models",
        answer=list_models,
        name="listModels",
        summary="list the models",
        reply=ModelsReply,
    ),
    Call(
        method="PUT",
        path=MODEL,
        answer=create_model,
        name="createModel",
        summary="create a model",
        body=ModelBody,
        reply=ModelReply,
        status=(200, 201),
    ),
    Call(
        method="GET", path=MODEL, answer=show_model, name="showModel", summary="a model at a glance", reply=ModelReply
    ),
    Call(
        method="DELETE",
        path=MODEL,
        answer=archive_model,
        name="archiveModel",
        summary="archive a model",
        reply=ModelReply,
    ),
]
