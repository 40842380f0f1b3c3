"""The log of a model, as lines of JSON."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from smidgen.service.http.call import AFTER, MODEL, Call
from smidgen.service.http.running import model_name, service, whole_number
from smidgen.service.insight.quality import committed
from smidgen.service.store.events import Event

#: How many lines of a base are read at a time; each may hold a learner.
FIRST = 64


async def read_log(request: Request) -> Response:
    """GET /v1/models/{name}/log?after=N."""
    here, name = service(request), model_name(request)
    await here.rights(request, "admin", name)
    after = whole_number(request, "after")
    model = here.engine.model(name)
    await asyncio.to_thread(committed, here.reading, model)

    async def lines() -> AsyncIterator[bytes]:
        place, first = after, here.log.base_lines(model, after)
        while chunk := await asyncio.to_thread(lambda: list(itertools.islice(first, FIRST))):
            yield b"\n".join(chunk) + b"\n"
        while events := await asyncio.to_thread(here.reading.events, model.slot, place):
            yield await asyncio.to_thread(told, events)
            place = events[-1].seq

    def told(events: list[Event]) -> bytes:
        return b"".join(here.log.line(model, event) + b"\n" for event in events)

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
