"""The dashboard: pages, and the figures behind them under /ui. All of it looks; only the sample model writes."""

from __future__ import annotations

import asyncio
import statistics
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smidgen.service.clock import stamp
from smidgen.service.http.assets import asset, uncached
from smidgen.service.http.company import described as described_workers
from smidgen.service.http.mounting import links
from smidgen.service.http.reading import json_body
from smidgen.service.http.running import Service, explained, permitted, service, whole_number
from smidgen.service.insight.contributions import in_words
from smidgen.service.insight.curve import LEARNT, MADE, NOTHING, learnt_points, made_points
from smidgen.service.insight.glances import Glance, ordered
from smidgen.service.insight.guarantee import guarantee
from smidgen.service.insight.health import SEVERITIES
from smidgen.service.insight.narration import offered, recent, sentences
from smidgen.service.insight.quality import committed
from smidgen.service.insight.weights import keys, known_names, largest_weights
from smidgen.service.messages import Finding
from smidgen.service.models.catalogue import catalogue, described
from smidgen.service.models.sample import SAMPLE, SampleBody, is_sample, name_for, play
from smidgen.service.models.served import Served
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import pooled

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
    here, asked = service(request), request.query_params
    rights = await here.bearer(request)
    after = whole_number(request, "after")
    visible = [model for model in await asyncio.to_thread(here.models) if rights.model in (None, model.name)]
    glances = await asyncio.to_thread(_glances, here, visible)
    wanted, loop, health = asked.get("q", "").lower(), asked.get("loop", ""), asked.get("health", "")
    mine = [each for each in glances if wanted in each.model.name.lower() and loop in ("", each.reply.loop)]
    if health == "ill":
        mine = [each for each in mine if each.severity < SEVERITIES.index("info")]
    mine = ordered(mine, asked.get("sort") or "created")
    out = await asyncio.gather(*(_with_line(here, each) for each in mine[after : after + MOST_MODELS]))
    known = sorted({each.reply.loop for each in glances})
    told = {"models": out, "of": len(mine), "all": len(visible), "loops": known, "scopes": sorted(rights.scopes)}
    if here.engine.store.shared:
        told["workers"] = await asyncio.to_thread(described_workers, here, rights.model)
    return uncached(told)


async def learners(request: Request) -> Response:
    """GET /ui/learners.json."""
    await service(request).bearer(request)
    return uncached(catalogue())


async def loops(request: Request) -> Response:
    """GET /ui/loops.json: what the pages know of the loops; no secret, as little as /openapi.json is."""
    return uncached(described())


async def guests(request: Request) -> Response:
    """GET /ui/guests.json: the pages of guests that are there now."""
    await service(request).look()
    return uncached(links(request.scope))


async def curve(request: Request) -> Response:
    """GET /ui/models/{name}/curve.json."""
    here, name = await permitted(request)
    model = here.engine.model(name)
    learnt = await here.curves.sums(here.reading, model, LEARNT)
    loop = model.blueprint.loop
    also = loop.figure is not None and loop.figure.of == "made"
    made = await here.curves.sums(here.reading, model, MADE) if also else NOTHING
    lag = await asyncio.to_thread(_lag, here.reading, model)
    points = learnt_points(learnt.rows, share=loop.share)
    report = await asyncio.to_thread(here.health.of, here.reading, model, here.engine.clock())
    promise = guarantee(model, [(point["to"], point["lag"]) for point in points], report.conditions)
    return uncached(
        {
            "model": name,
            "loop": loop.name,
            "measure": loop.measure,
            "complete": learnt.complete and made.complete,
            "points": points,
            "made": made_points(made.rows),
            "bound": promise._asdict(),
            "lag": lag,
        }
    )


async def weights(request: Request) -> Response:
    """GET /ui/models/{name}/weights.json?key=…&label=…."""
    here, name = await permitted(request)
    asked = request.query_params
    key, label = asked.get("key") or None, asked.get("label") or None
    return uncached(
        await here.writer.do(lambda: largest_weights(here.engine, here.engine.entered_for(name, key), key, label))
    )


async def feature_names(request: Request) -> Response:
    """GET /ui/models/{name}/names.json: what the fields of its app's records are called."""
    here, name = await permitted(request)
    return uncached({"names": await here.writer.do(lambda: known_names(here.engine, here.engine.model(name)))})


async def some_keys(request: Request) -> Response:
    """GET /ui/models/{name}/keys.json?prefix=…."""
    here, name = await permitted(request)
    prefix = request.query_params.get("prefix", "")
    found = await asyncio.to_thread(keys, here.reading, here.engine.model(name), prefix)
    return uncached({"keys": found})


async def latest(request: Request) -> Response:
    """GET /ui/models/{name}/recent.json?before=…: what ``older`` said, to go on from there."""
    here, name = await permitted(request)
    before = request.query_params.get("before", "0")
    found, older = await asyncio.to_thread(recent, here.log, here.engine.model(name), here.engine.clock(), before)
    return uncached({"decisions": found, "older": older})


async def story(request: Request) -> Response:
    """GET /ui/decisions/{id}/story.json: the story as sentences."""
    here = service(request)
    rights = await here.bearer(request)
    id = request.path_params["id"]
    now = here.engine.clock()
    lines = await asyncio.to_thread(sentences, here.log, here.engine.slots, id, rights.model, now)
    if (why := in_words(await explained(here, id, rights.model))) is not None:
        lines.append({"at": stamp(now), "text": why})
    return uncached({"decision": id, "lines": lines})


async def answers(request: Request) -> Response:
    """GET /ui/decisions/{id}/answers.json: what a person may answer by hand."""
    here = service(request)
    rights = await here.bearer(request)
    id = request.path_params["id"]
    return uncached(await asyncio.to_thread(offered, here.log, here.engine.slots, id, rights.model))


async def sample(request: Request) -> Response:
    """POST /ui/sample: play simulated users on the sample model, which is made if it is not there."""
    here = service(request)
    await here.bearer(request)
    name = await here.writer.do(partial(name_for, here.engine, "sample", SAMPLE))
    await here.rights(request, "admin", name)
    body = await json_body(request, SampleBody)
    await here.warm(SAMPLE)
    for _ in range(body.users):
        await here.writer.do(partial(play, here.engine, name))
    return uncached({"model": name, "played": body.users})


def routes() -> list[Route]:
    """The pages, their files, and their figures."""
    model = "/ui/models/{name}"
    return [
        Route("/", home, methods=["GET"]),
        Route("/docs", docs, methods=["GET"]),
        Route("/ui/files/{file}", file, methods=["GET"]),
        Route("/ui/models.json", models, methods=["GET"]),
        Route("/ui/loops.json", loops, methods=["GET"]),
        Route("/ui/guests.json", guests, methods=["GET"]),
        Route("/ui/learners.json", learners, methods=["GET"]),
        Route(model + "/curve.json", curve, methods=["GET"]),
        Route(model + "/weights.json", weights, methods=["GET"]),
        Route(model + "/names.json", feature_names, methods=["GET"]),
        Route(model + "/keys.json", some_keys, methods=["GET"]),
        Route(model + "/recent.json", latest, methods=["GET"]),
        Route("/ui/decisions/{id}/story.json", story, methods=["GET"]),
        Route("/ui/decisions/{id}/answers.json", answers, methods=["GET"]),
        Route("/ui/sample", sample, methods=["POST"]),
    ]


def _glances(here: Service, models: list[Served]) -> list[Glance]:
    """All models at a glance, with what is known of their health, some of it judged anew."""
    now = here.engine.clock()
    found: dict[str, list[Finding]] = {}
    for name, finding in here.health.figures(here.reading, models, now):
        found.setdefault(name, []).append(finding)
    glances = (here.glances.of(here.reading, model, now) for model in models)
    return [
        each._replace(findings=found.get(each.model.name, []), judged=here.health.looked(each.model))
        for each in glances
    ]


async def _with_line(here: Service, glance: Glance) -> dict[str, Any]:
    rows, _ = await here.curves.sums(here.reading, glance.model, LEARNT)
    points = learnt_points(rows, share=glance.model.blueprint.loop.share)
    line = [point["value"] for point in points if point["value"] is not None]
    return {**glance.told(), "sparkline": line, "sample": is_sample(glance.model)}


def _lag(reading: Reading, model: Served) -> dict[str, Any]:
    """How long feedback took, over the last ones that were learnt."""
    with reading.moment():
        each, of = {part.slot: committed(reading, part) for part in model.parts}, LAGS_OF // len(model.parts)
        asked = (reading.look("waits", slot, after=counts.version - of) for slot, counts in each.items())
        spans, seen = [span for rows in asked for (span,) in rows], pooled(list(each.values()))
    counts = [0] * len(LAGS)
    for span in spans:
        counts[next(i for i, (end, _) in enumerate(LAGS) if span < end)] += 1
    return {
        "of": len(spans),
        "median_s": statistics.median(spans) if spans else None,
        "bars": [{"name": name, "n": n} for (_, name), n in zip(LAGS, counts, strict=True)],
        "late": seen.late,
        "open": seen.decisions - seen.version - seen.late,
    }
