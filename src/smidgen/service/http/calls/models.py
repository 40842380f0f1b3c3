"""Models: made, listed, shown, archived."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.http.call import MODEL, call
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import permitted, reply, service
from smidgen.service.insight.closely import closely
from smidgen.service.insight.quality import at_a_glance
from smidgen.service.messages import AmendBody, ModelBody, ModelReply, ModelsReply


@call("PUT", MODEL, "createModel", body=ModelBody, reply=ModelReply, status=(200, 201))
async def create_model(request: Request) -> Response:
    """Create a model."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, ModelBody)
    if name not in here.engine.models:
        await here.warm(here.engine.settled(body))
    new, model = await here.writer.do(lambda: here.engine.create(name, body))
    return reply(model, 201 if new else 200)


@call("GET", "/v1/models", "listModels", reply=ModelsReply)
async def list_models(request: Request) -> Response:
    """List the models."""
    here = service(request)
    rights = await here.bearer(request)

    def look() -> Response:
        seen = [model for model in here.models() if rights.model in (None, model.name)]
        now = here.engine.clock()
        return reply({"models": [at_a_glance(here.reading, model, now) for model in seen]})

    return await asyncio.to_thread(look)


@call("GET", MODEL, "showModel", reply=ModelReply)
async def show_model(request: Request) -> Response:
    """A model at a glance."""
    here, name = await permitted(request)
    return reply(await closely(here, here.engine.model(name)))


@call("DELETE", MODEL, "archiveModel", reply=ModelReply)
async def archive_model(request: Request) -> Response:
    """Archive a model."""
    here, name = await permitted(request, "admin")
    return reply(await here.writer.do(lambda: here.engine.archive(name)))


@call("PATCH", MODEL, "amendModel", body=AmendBody, reply=ModelReply)
async def amend_model(request: Request) -> Response:
    """Add labels or texts, change the window, defaults and shares."""
    here, name = await permitted(request, "admin")
    body = await json_body(request, AmendBody)
    return reply(await here.writer.do(lambda: here.engine.amend(name, body)))
