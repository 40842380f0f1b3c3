"""The pages of the dashboard and their figures."""

from __future__ import annotations

import asyncio
import hashlib
import statistics
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.decision import FloatArray
from smidgen.service.engine.description import committed_counts, span_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.registry import catalogue, describe_loops
from smidgen.service.engine.restarts import read_restarts
from smidgen.service.errors import Unknown
from smidgen.service.http.endpoints import Endpoint
from smidgen.service.http.plugins import links
from smidgen.service.http.resources import Service, explain, service, whole_number
from smidgen.service.http.rights import grant_of
from smidgen.service.http.sample import SAMPLE, SampleBody, is_sample, name_for, play
from smidgen.service.http.workers import describe_workers as described_workers
from smidgen.service.log.events import stamp
from smidgen.service.monitoring.curves import (
    BLOCK,
    LEARNT,
    MADE,
    NOTHING,
    guarantee,
    learnt_points,
    made_points,
    settings_marks,
    spend_points,
    timed,
    version_since,
)
from smidgen.service.monitoring.health import SEVERITIES
from smidgen.service.monitoring.stories import feedback_form, recent, story_sentences
from smidgen.service.monitoring.summaries import ModelSummary, sort_summaries
from smidgen.service.monitoring.weights import in_words, keys, known_names, largest_weights
from smidgen.service.schemas import Finding
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import pool_counts

# The files behind the pages: each from this machine, from our package or a plugin's.

PAGES_DIR = Path(__file__).parents[1] / "pages"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: Only this service may be asked for anything; scripts and styles come from files; nobody may frame the page.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def asset(request: Request, name: str, folder: Path = PAGES_DIR) -> Response:
    """A file of the dashboard, or of a plugin's folder."""
    if name not in _names(folder):  # whatever else it is: a path, a name too long for any file, …
        raise Unknown(f"there is no page {request.url.path[:200]}", "open / for the dashboard")
    path = folder / name
    return answer(request, path.read_bytes(), _TYPES[path.suffix])


def answer(request: Request, content: bytes, media: str) -> Response:
    """A file's bytes, or that they are those which the reader has."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {**HEADERS, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media)


def uncached(content: Any, status: int = 200) -> Response:
    """JSON reply for a page, with the headers of the page; not to be cached."""
    return Response(msgspec.json.encode(content), status, {**HEADERS, "cache-control": "no-store"}, "application/json")


@cache
def _names(folder: Path) -> frozenset[str]:
    """The files that there are."""
    return frozenset(path.name for path in folder.iterdir() if path.suffix in _TYPES and path.is_file())


# The dashboard: pages, and the figures behind them under /ui. All of it looks; only the sample model writes.

MOST_MODELS = 100
LAGS_OF = 500
#: Upper ends of the bars of the histogram of lags, in seconds, with their names.
LAGS = (
    (1.0, "under 1 s"),
    (10.0, "1–10 s"),
    (60.0, "10–60 s"),
    (600.0, "1–10 min"),
    (3600.0, "10–60 min"),
    (21600.0, "1–6 h"),
    (86400.0, "6–24 h"),
    (float("inf"), "over a day"),
)


async def home(request: Request) -> Response:
    """GET /."""
    return asset(request, "index.html")


async def docs(request: Request) -> Response:
    """GET /docs."""
    return asset(request, "docs.html")


async def file(request: Request) -> Response:
    """GET /ui/files/{file}."""
    return asset(request, request.path_params["file"])


async def models(request: Request) -> Response:
    """GET /ui/models.json?q=…&loop=…&health=…&sort=…&after=N: the models at a glance, each with a small curve."""
    grant, asked = grant_of(request), request.query_params
    here = grant.here
    after = whole_number(request, "after")
    visible = grant.visible(await asyncio.to_thread(here.models))
    glances = await asyncio.to_thread(_summaries, here, visible)
    wanted, loop, health = asked.get("q", "").lower(), asked.get("loop", ""), asked.get("health", "")
    mine = [each for each in glances if wanted in each.model.name.lower() and loop in ("", each.reply.loop)]
    if health == "ill":
        mine = [each for each in mine if each.severity < SEVERITIES.index("info")]
    mine = sort_summaries(mine, asked.get("sort") or "created")
    out = await asyncio.gather(*(_with_line(here, each) for each in mine[after : after + MOST_MODELS]))
    known = sorted({each.reply.loop for each in glances})
    reply = {"models": out, "of": len(mine), "all": len(visible), "loops": known, "scopes": sorted(grant.rights.scopes)}
    if here.engine.store.shared:
        reply["workers"] = await asyncio.to_thread(described_workers, here, grant.only)
    return uncached(reply)


async def learners(request: Request) -> Response:
    """GET /ui/learners.json."""
    return uncached(catalogue())


async def loops(request: Request) -> Response:
    """GET /ui/loops.json: what the pages know of the loops; no secret, as little as /openapi.json is."""
    return uncached(describe_loops())


async def plugins(request: Request) -> Response:
    """GET /ui/guests.json: the pages of plugins that are open now."""
    await service(request).refresh()
    return uncached(links(request.scope))


async def curve(request: Request) -> Response:
    """GET /ui/models/{name}/curve.json?last_s=…: all of it, or the latest seconds."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    model, last_s = here.engine.model(name), whole_number(request, "last_s")
    learnt = await here.curves.sums(here.reading, model, LEARNT)
    loop = model.blueprint.loop
    also = loop.figure is not None and loop.figure.of == "made"
    made = await here.curves.sums(here.reading, model, MADE) if also else NOTHING
    lag = await asyncio.to_thread(_lag, here.reading, model)
    points = learnt_points(learnt.rows, span_of(loop))
    shown = await asyncio.to_thread(_in_range, here, model, learnt.rows, last_s) if last_s else points
    shown = await asyncio.to_thread(timed, here.reading, model, shown)
    marks = await asyncio.to_thread(settings_marks, here.reading, model)
    report = await asyncio.to_thread(here.health.of, here.reading, model, here.engine.clock())
    started = None if model.keyed else await asyncio.to_thread(_restarts, here, model)
    spend = await asyncio.to_thread(spend_points, here.reading, model)
    promise = guarantee(model, [(point["to"], point["lag"]) for point in points], report.conditions)
    return uncached(
        {
            "model": name,
            "loop": loop.name,
            "measure": loop.measure,
            "complete": learnt.complete and made.complete,
            "points": shown,
            "marks": marks,
            "made": made_points(made.rows),
            "bound": promise._asdict(),
            "lag": lag,
            "restarts": started,
            "spend": spend,
        }
    )


async def weights(request: Request) -> Response:
    """GET /ui/models/{name}/weights.json?key=…&label=…."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    asked = request.query_params
    key, label = asked.get("key") or None, asked.get("label") or None
    return uncached(
        await grant.run(lambda: largest_weights(here.engine, here.engine.locked_shard(name, key), key, label))
    )


async def feature_names(request: Request) -> Response:
    """GET /ui/models/{name}/names.json: what the fields of its app's records are called."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    return uncached({"names": await grant.run(lambda: known_names(here.engine, here.engine.model(name)))})


async def some_keys(request: Request) -> Response:
    """GET /ui/models/{name}/keys.json?prefix=…."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    prefix = request.query_params.get("prefix", "")
    found = await asyncio.to_thread(keys, here.reading, here.engine.model(name), prefix)
    return uncached({"keys": found})


async def latest(request: Request) -> Response:
    """GET /ui/models/{name}/recent.json?before=…: what ``older`` said, to go on from there."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    before = request.query_params.get("before", "0")
    found, older = await asyncio.to_thread(recent, here.log, here.engine.model(name), here.engine.clock(), before)
    return uncached({"decisions": found, "older": older})


async def story(request: Request) -> Response:
    """GET /ui/decisions/{id}/story.json: the story as sentences."""
    grant = grant_of(request)
    here = grant.here
    id = request.path_params["id"]
    now = here.engine.clock()
    engine = here.engine
    lines = await asyncio.to_thread(story_sentences, here.log, engine.shards, id, grant.only, now, engine.learners.peek)
    if (why := in_words((await explain(here, id, grant.only)).now)) is not None:
        lines.append({"at": stamp(now), "text": why})
    return uncached({"decision": id, "lines": lines})


async def answers(request: Request) -> Response:
    """GET /ui/decisions/{id}/answers.json: what a person may answer by hand."""
    grant = grant_of(request)
    here = grant.here
    id = request.path_params["id"]
    return uncached(await asyncio.to_thread(feedback_form, here.log, here.engine.shards, id, grant.only))


async def sample(request: Request) -> Response:
    """POST /ui/sample: play simulated users on the sample model, which is made if it is not there."""
    grant = grant_of(request)
    here = grant.here
    name = await grant.run(partial(name_for, here.engine, "sample", SAMPLE))
    body = await grant.body(request, SampleBody)
    for _ in range(body.users):
        await grant.run(partial(play, here.engine, name))
    return uncached({"model": name, "played": body.users})


def _in_range(here: Service, model: ServedModel, rows: FloatArray, last_s: int) -> list[dict[str, Any]]:
    """The windows of the latest seconds; of a model with several shards, of all time."""
    span = span_of(model.blueprint.loop)
    if len(model.parts) > 1:
        return learnt_points(rows, span)
    first = version_since(here.reading, model, here.engine.clock() - last_s) // BLOCK
    before = int(rows[:first, 0].sum())
    return [
        {
            **point,
            "from": point["from"] + before,
            "to": point["to"] + before,
            "version": point["version"] + BLOCK * first,
        }
        for point in learnt_points(rows[first:], span)
    ]


def _restarts(here: Service, model: ServedModel) -> list[dict[str, Any]] | None:
    """The latest fresh starts of a model without keys; None if its log cannot be read."""
    found = read_restarts(here.reading, model, None, here.engine.learners.peek(model, None))
    return None if found is None else [{**each._asdict(), "at": stamp(each.at)} for each in found]


#: The pages, their files, and their figures: method, path, endpoint.
PAGES: tuple[tuple[str, str, Endpoint], ...] = (
    ("GET", "/", home),
    ("GET", "/docs", docs),
    ("GET", "/ui/files/{file}", file),
    ("GET", "/ui/models.json", models),
    ("GET", "/ui/loops.json", loops),
    ("GET", "/ui/guests.json", plugins),
    ("GET", "/ui/learners.json", learners),
    ("GET", "/ui/models/{name}/curve.json", curve),
    ("GET", "/ui/models/{name}/weights.json", weights),
    ("GET", "/ui/models/{name}/names.json", feature_names),
    ("GET", "/ui/models/{name}/keys.json", some_keys),
    ("GET", "/ui/models/{name}/recent.json", latest),
    ("GET", "/ui/decisions/{id}/story.json", story),
    ("GET", "/ui/decisions/{id}/answers.json", answers),
    ("POST", "/ui/sample", sample),
)


def _summaries(here: Service, models: list[ServedModel]) -> list[ModelSummary]:
    """Summaries of all models, with their health. Judges those again whose report is old."""
    now = here.engine.clock()
    found: dict[str, list[Finding]] = {}
    for name, finding in here.health.figures(here.reading, models, now):
        found.setdefault(name, []).append(finding)
    glances = (here.summaries.of(here.reading, model, now) for model in models)
    return [
        each._replace(findings=found.get(each.model.name, []), judged=here.health.is_judged(each.model))
        for each in glances
    ]


async def _with_line(here: Service, glance: ModelSummary) -> dict[str, Any]:
    rows, _ = await here.curves.sums(here.reading, glance.model, LEARNT)
    points = learnt_points(rows, span_of(glance.model.blueprint.loop))
    line = [point["value"] for point in points if point["value"] is not None]
    return {**glance.to_json(), "sparkline": line, "sample": is_sample(glance.model)}


def _lag(reading: StoreReader, model: ServedModel) -> dict[str, Any]:
    """Delay of feedback, over the last that was learnt."""
    with reading.snapshot():
        each, of = {part.shard: committed_counts(reading, part) for part in model.parts}, LAGS_OF // len(model.parts)
        asked = (reading.query("waits", shard, after=counts.version - of) for shard, counts in each.items())
        spans, seen = [span for rows in asked for (span,) in rows], pool_counts(list(each.values()))
    counts = [0] * len(LAGS)
    for span in spans:
        counts[next(i for i, (end, _) in enumerate(LAGS) if span < end)] += 1
    return {
        "of": len(spans),
        "median_s": statistics.median(spans) if spans else None,
        "bars": [{"name": name, "n": n} for (_, name), n in zip(LAGS, counts, strict=True)],
        "late": seen.late,
    }
