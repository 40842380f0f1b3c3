"""The log of a model, as lines of JSON."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from smidgen.service.http.call import AFTER, MODEL, SLOT, call
from smidgen.service.http.running import permitted, whole_number
from smidgen.service.insight.quality import committed
from smidgen.service.models.served import Served
from smidgen.service.refusals import Impossible
from smidgen.service.store.events import Event

#: How many lines of a base are read at a time; each may hold a learner.
FIRST = 64


@call("GET", MODEL + "/log", "readLog", query=(SLOT, AFTER), media="application/x-ndjson")
async def read_log(request: Request) -> Response:
    """The events as lines of JSON.

    Those after one with ?after=N; of a model with several slots ?slot=I&after=N.
    """
    here, name = await permitted(request, "admin")
    after = whole_number(request, "after")
    parts = _wanted(here.engine.model(name), request)
    await asyncio.to_thread(committed, here.reading, parts[0])

    async def lines() -> AsyncIterator[bytes]:
        for part in parts:
            async for some in lines_of(part):
                yield some

    async def lines_of(model: Served) -> AsyncIterator[bytes]:
        place, first = after, here.log.base_lines(model, after)
        while chunk := await asyncio.to_thread(lambda: list(itertools.islice(first, FIRST))):
            yield b"\n".join(chunk) + b"\n"
        while events := await asyncio.to_thread(here.reading.events, model.slot, place):
            yield await asyncio.to_thread(told, model, events)
            place = events[-1].seq

    def told(model: Served, events: list[Event]) -> bytes:
        return b"".join(here.log.line(model, event) + b"\n" for event in events)

    return StreamingResponse(lines(), media_type="application/x-ndjson")


def _wanted(model: Served, request: Request) -> list[Served]:
    """The slots whose events are asked for."""
    count, asked = len(model.parts), request.query_params
    if "slot" in asked:
        if (slot := whole_number(request, "slot")) >= count:
            raise Impossible(f"slot is {slot}, and the model has {count}", f"choose one from 0 to {count - 1}")
        return [model.parts[slot]]
    if count > 1 and (after := whole_number(request, "after")):
        raise Impossible(
            f"after is {after}, and each of the model's {count} slots counts its own events",
            "say which slot as well: ?slot=0&after=N",
        )
    return model.parts
