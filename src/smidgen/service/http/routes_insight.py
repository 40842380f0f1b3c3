"""Calls: what can be read of a model."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from smidgen.errors import SmidgenError
from smidgen.service.engine.description import committed_counts
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Impossible
from smidgen.service.http.endpoints import AFTER, BY, EXPAND, HELD, KEY, LIMIT, MODEL, SHARD, endpoint
from smidgen.service.http.errors import error_response
from smidgen.service.http.resources import expanded, reply, truth, whole_number
from smidgen.service.http.rights import grant_of
from smidgen.service.monitoring.breakdown import by_candidate, by_segment, names_of
from smidgen.service.monitoring.weights import by_name, taste_of
from smidgen.service.monitoring.worth import worth_of
from smidgen.service.schemas import (
    CandidatesReply,
    HealthReply,
    SegmentsReply,
    TasteReply,
    WeightsReply,
    WorthReply,
)

# Findings on a model.


@endpoint("GET", MODEL + "/health", "showHealth", reply=HealthReply)
async def show_health(request: Request) -> Response:
    """Findings on a model with hints, the worst first."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    model, now = here.engine.model(name), here.engine.clock()
    report = await asyncio.to_thread(here.health.of, here.reading, model, now)
    return reply(HealthReply(findings=report.findings))


# The log of a model, as lines of JSON.

#: Number of lines, and how many bytes of them, that are read at a time; one more line may come on top.
LINES, BYTES = 1000, 4 << 20


@endpoint("GET", MODEL + "/log", "readLog", query=(SHARD, AFTER), media="application/x-ndjson")
async def read_log(request: Request) -> Response:
    """The events as lines of JSON.

    Those after one with ?after=N; of a model with several shards ?shard=I&after=N. The numbers ("seq") of a shard have
    no gaps. If an event is missing, or cannot be read, the lines of the events before it are followed by one last line
    {"error": {"code", "message", "hint"}}; if there are none before it, the status is that of the error. An event that
    is gone is "log_damaged"; one that retention erased while it was to be read is "retained".
    """
    grant = grant_of(request)
    here, name = grant.here, grant.name
    after = whole_number(request, "after")
    parts = _wanted(here.engine.model(name), request)
    await asyncio.to_thread(committed_counts, here.reading, parts[0])

    lines = itertools.chain.from_iterable(here.log.lines_after(part, after) for part in parts)
    first = await asyncio.to_thread(_read, lines)
    if first.refusal is not None and not first.content:
        raise first.refusal

    async def content(some: _Chunk) -> AsyncIterator[bytes]:
        yield some.content
        while not some.is_last:
            some = await asyncio.to_thread(_read, lines)
            yield some.content
        if some.refusal is not None:
            yield error_response(some.refusal)[0] + b"\n"

    return StreamingResponse(content(first), media_type="application/x-ndjson")


class _Chunk(NamedTuple):
    """Some lines; whether they are the last, and why there are no more if not because the log ends."""

    content: bytes
    is_last: bool
    refusal: SmidgenError | None = None


def _read(lines: Iterator[bytes]) -> _Chunk:
    """Read the next lines, up to one that cannot be read."""
    found, size = list[bytes](), 0
    try:
        for line in lines:
            found += [line, b"\n"]
            size += len(line)
            if size > BYTES or len(found) >= 2 * LINES:
                return _Chunk(b"".join(found), is_last=False)
    except SmidgenError as error:
        return _Chunk(b"".join(found), is_last=True, refusal=error)
    return _Chunk(b"".join(found), is_last=True)


def _wanted(model: ServedModel, request: Request) -> list[ServedModel]:
    """The shards whose events are asked for."""
    count, asked = len(model.parts), request.query_params
    if "shard" in asked:
        if (shard := whole_number(request, "shard")) >= count:
            raise Impossible(
                f"shard is {shard} and the model has {count} shards", f"send a number from 0 to {count - 1}"
            )
        return [model.parts[shard]]
    if count > 1 and (after := whole_number(request, "after")):
        raise Impossible(
            f"after is {after} and shard is missing: each of the {count} shards numbers its own events",
            "add shard, e.g. ?shard=0&after=100",
        )
    return model.parts


# What each candidate earned, and for whom.


@endpoint("GET", MODEL + "/candidates", "listCandidates", reply=CandidatesReply, query=(HELD,))
async def list_candidates(request: Request) -> Response:
    """Rewards of each candidate, label or filter answer, with intervals, the most shown first.

    ?holdout=true counts the decisions of the holdout too.
    """
    grant = grant_of(request)
    here, model, held = grant.here, grant.here.engine.model(grant.name), truth(request, "holdout")
    return reply(await asyncio.to_thread(by_candidate, here.reading, model, here.engine.clock(), held=held))


@endpoint("GET", MODEL + "/worth", "showWorth", reply=WorthReply)
async def show_worth(request: Request) -> Response:
    """Rewards of a model compared with its holdout: means, lift, verdict, and a check of the split."""
    grant = grant_of(request)
    here, model = grant.here, grant.here.engine.model(grant.name)
    return reply(await asyncio.to_thread(worth_of, here.reading, model, here.engine.clock()))


@endpoint("GET", MODEL + "/segments", "listSegments", reply=SegmentsReply, query=(BY,))
async def list_segments(request: Request) -> Response:
    """Rewards by the value of a field of the records, e.g. ?by=context.device."""
    grant = grant_of(request)
    here = grant.here
    if not (by := request.query_params.get("by")):
        raise Impossible("by is missing", "name the field of the records, e.g. ?by=context.device")
    names = await grant.run(lambda: names_of(here.engine, here.engine.locked_shard(grant.name, None)))
    model = here.engine.model(grant.name)
    return reply(await asyncio.to_thread(by_segment, here.reading, model, by, names, here.engine.clock()))


# What a model's users, or one of them, like in a text.


@endpoint("GET", MODEL + "/taste", "showTaste", reply=TasteReply, query=(KEY,))
async def show_taste(request: Request) -> Response:
    """Style learned from users' edits, in words and by trait (draft loop)."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    key = request.query_params.get("key")
    return reply(await grant.run(lambda: taste_of(here.engine, here.engine.locked_shard(name, key), key)))


# The weights of a model under their names.

#: Number of weights in a reply, by default and at most.
WEIGHTS, MOST_WEIGHTS = 100, 10_000


@endpoint("GET", MODEL + "/weights", "showWeights", reply=WeightsReply, query=(KEY, LIMIT, EXPAND))
async def show_weights(request: Request) -> Response:
    """Names and weights, strongest first. A vector has one line; `expand` names fields to show column by column."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    limit, key = whole_number(request, "limit") or WEIGHTS, request.query_params.get("key")
    limit = min(limit, MOST_WEIGHTS)
    expand = expanded(request)
    return reply(await grant.run(lambda: by_name(here.engine, here.engine.locked_shard(name, key), key, limit, expand)))
