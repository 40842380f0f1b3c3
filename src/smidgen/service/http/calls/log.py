"""The log of a model, as lines of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from smidgen.service.http.call import AFTER, MODEL, Call
from smidgen.service.http.running import model_name, service, whole_number
from smidgen.service.insight.quality import committed


async def read_log(request: Request) -> Response:
    """GET /v1/models/{name}/log?after=N."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    after = whole_number(request, "after")
    model = here.engine.model(name)
    await asyncio.to_thread(committed, here.reading, model)

    async def lines() -> AsyncIterator[bytes]:
        place = after
        while chunk := await asyncio.to_thread(here.log.lines, model, place):
            yield b"\n".join(chunk) + b"\n"
            place += len(chunk)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


CALLS = [
    Call(
        method="GET",
        path=MODEL + "/log",
        answer=read_log,
        name="readLog",
        summary="the events as lines of JSON",
        query=(AFTER,),
        media="application/x-ndjson",
    ),
]
