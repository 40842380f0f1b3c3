"""Calls: the life of a model."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.learners import Loop
from smidgen.serialization import UNREADABLE
from smidgen.service.engine import teach
from smidgen.service.engine.description import count_open, summarize_model
from smidgen.service.engine.lifecycle import from_learner, from_log, refold_without
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.rollback import find_retractable, refold, version_at_time
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import BadRequest, Impossible, json_text
from smidgen.service.http.endpoints import CONTEXT, DECISION, HELD, MODEL, endpoint
from smidgen.service.http.jobs import run_in_thread
from smidgen.service.http.middleware import raw_body
from smidgen.service.http.resources import PATIENCE_S, Service, reply, truth
from smidgen.service.http.retention import retain
from smidgen.service.http.rights import Grant, grant_of
from smidgen.service.http.workers import job_progress
from smidgen.service.monitoring.compare import compare_arms
from smidgen.service.schemas import (
    AmendBody,
    BestReply,
    CompareReply,
    CopyBody,
    ForgottenReply,
    ModelBody,
    ModelReply,
    ModelsReply,
    PromotedReply,
    RenameBody,
    RetainBody,
    RetainedReply,
    RollbackBody,
    UndoneReply,
)

# One model at a closer look: what a glance tells, and what takes a look at its learner or at its log.


async def model_details(
    here: Service, model: ServedModel, *, held: bool = False, context: dict[str, Any] | None = None
) -> ModelReply:
    """A model's reply in full; of a tuner, the best point in a context or without."""
    if context is not None and (model.keyed or not model.blueprint.loop.knows_best):
        whose = "is keyed" if model.keyed else f"is of the loop {model.blueprint.loop.name}"
        raise Impossible(f"context is given and the model {whose}", "remove ?context: it asks for the best of a tuner")
    seen = await asyncio.to_thread(_summary, here, model, held)
    if seen.undoing is None:
        seen = msgspec.structs.replace(seen, undoing=job_progress(here, model.name))
    if model.blueprint.loop.knows_best and not model.keyed:
        seen = msgspec.structs.replace(seen, best=await _best(here, model, context))
    if model.blueprint.loop.shows_lists:
        look = await asyncio.to_thread(here.position_bias.get, here.reading, model)
        curve, why_not = look.examination
        seen = msgspec.structs.replace(seen, perturbation=look.perturbation, examination=curve, unexamined=why_not)
    return seen


def _summary(here: Service, model: ServedModel, held: bool) -> ModelReply:
    """Summary of a model and the number of its open decisions, at one moment."""
    now = here.engine.clock()
    with here.reading.snapshot():
        open_, pending = count_open(here.reading, model, now)
        return msgspec.structs.replace(
            summarize_model(here.reading, model, now, held=held), open=open_, pending=pending
        )


async def _best(here: Service, model: ServedModel, context: dict[str, Any] | None) -> BestReply | None:
    """Best action of the learner, read between two batches; does not wait long for a busy writer."""
    loop = model.blueprint.loop

    def best() -> BestReply | None:
        return loop.best(here.engine.learners.get(here.engine.acquire(model), None).learner, context)

    wanted = asyncio.ensure_future(here.writer.run(best))
    await asyncio.wait([wanted], timeout=PATIENCE_S)
    return wanted.result() if wanted.done() else None


# Models: made, listed, shown, archived.


#: The body of a model, for the API page.
_CREATION = {"loop": Loop.CHOOSE.value}


@endpoint("PUT", MODEL, "createModel", body=ModelBody, reply=ModelReply, status=(200, 201), example=_CREATION)
async def create_model(request: Request) -> Response:
    """Create a model."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, ModelBody)
    new, model = await grant.run(lambda: here.engine.create(name, body))
    return reply(model, 201 if new else 200)


@endpoint("GET", "/v1/models", "listModels", reply=ModelsReply)
async def list_models(request: Request) -> Response:
    """List the models."""
    grant = grant_of(request)
    here = grant.here

    def look() -> Response:
        seen = grant.visible(here.models())
        now = here.engine.clock()
        return reply({"models": [summarize_model(here.reading, model, now) for model in seen]})

    return await asyncio.to_thread(look)


@endpoint("GET", MODEL, "showModel", reply=ModelReply, query=(HELD, CONTEXT))
async def show_model(request: Request) -> Response:
    """A model at a glance.

    ?holdout=true counts the decisions of its holdout in its quality too. Of a tune model, ?context={"plan":"free"} (a
    record as JSON) gives the best setting in that context.
    """
    grant = grant_of(request)
    here, name = grant.here, grant.name
    held, context = truth(request, "holdout"), _record_in(request, "context")
    return reply(await model_details(here, here.engine.model(name), held=held, context=context))


def _record_in(request: Request, name: str) -> dict[str, Any] | None:
    """A record in the query, as JSON."""
    if (given := request.query_params.get(name)) is None:
        return None
    try:
        return msgspec.json.decode(given, type=dict[str, Any])
    except UNREADABLE as error:
        raise Impossible(
            f"{name} is {json_text(given)}, which is not a JSON object", 'send a record, e.g. ?context={"plan":"free"}'
        ) from error


@endpoint("DELETE", MODEL, "archiveModel", reply=ModelReply)
async def archive_model(request: Request) -> Response:
    """Archive a model."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    return reply(await grant.run(lambda: here.engine.archive(name)))


@endpoint("PATCH", MODEL, "amendModel", body=AmendBody, reply=ModelReply, example={"window_s": 3600, "explore": 0.05})
async def amend_model(request: Request) -> Response:
    """Add labels or texts, change the window, defaults and shares."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, AmendBody)
    return reply(await grant.run(lambda: here.engine.amend(name, body)))


# Archived models: let one decide again, or free its name for another.


@endpoint("POST", MODEL + ":revive", "reviveModel", reply=ModelReply)
async def revive_model(request: Request) -> Response:
    """Let an archived model decide again; it goes on where it was."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    return reply(await grant.run(lambda: here.engine.revive(name)))


@endpoint("POST", MODEL + ":rename", "renameModel", body=RenameBody, reply=ModelReply, example={"to": "news-2025"})
async def rename_model(request: Request) -> Response:
    """Give an archived model another name, so that its own is free."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, RenameBody)
    return reply(await grant.run(lambda: here.engine.rename(name, body.to)))


# Models from elsewhere: copies, saved learners, exported logs.

#: What can be imported, and what reads it.
READERS = {"application/octet-stream": from_learner, "application/x-ndjson": from_log}
#: What an existing model is taught by.
DSJSON = "application/x-dsjson"


@endpoint(
    "POST",
    MODEL + ":copy",
    "copyModel",
    body=CopyBody,
    reply=ModelReply,
    status=(201,),
    example={"to": "news-copy", "learnt": True},
)
async def copy_model(request: Request) -> Response:
    """Make a copy of a model under another name, with or without what it has learnt."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, CopyBody)
    return reply(await grant.run(lambda: here.engine.copy(name, body)), 201)


@endpoint("POST", MODEL + ":import", "importModel", reply=ModelReply, status=(200, 201), takes=(*READERS, DSJSON))
async def import_model(request: Request) -> Response:
    """Make a model of a saved learner or an exported log; or teach one what another system has shown."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    media, content = await raw_body(request, (*READERS, DSJSON))
    if media == DSJSON:
        return await _teach(grant, content)
    new = name not in here.engine.models
    brought = await asyncio.to_thread(READERS[media], content)
    grant.judge_names(brought.named)
    described = await grant.run(lambda: here.engine.import_model(name, brought, media))
    return reply(described, 201 if new else 200)


async def _teach(grant: Grant, content: bytes) -> Response:
    """Teach a model what another system has shown; the same content again changes nothing."""
    here, name = grant.here, grant.name
    here.engine.model(name)
    lessons = await asyncio.to_thread(teach.read_dsjson, content, f"dsjson:{hashlib.sha256(content).hexdigest()}")
    taught = 0
    if (body := lessons.body) is not None:
        taught = (await grant.run(lambda: here.engine.teach(name, body))).taught
    described = msgspec.to_builtins(await grant.run(lambda: here.engine.describe(name)))
    return reply({**described, "taught": taught, "passed_over": lessons.passed_over})


# Exact forgetting of a key.

#: Meaning of ?base=drop.
_DROP = "drop: also drop what a retention checkpoint holds of the key; without it such a call is refused."
#: How often, and every how many seconds, the files are handled once a key is erased.
TRIES, PAUSE_S = 40, 0.05


@endpoint(
    "DELETE",
    MODEL + "/keys/{key:path}",
    "forget",
    reply=ForgottenReply,
    query=(("base", {"type": "string", "enum": ["drop"], "description": _DROP}),),
)
async def forget(request: Request) -> Response:
    """Forget a key, or a unit if the model has no keys: its events are erased, and others are as if they never were.

    Answers when nothing of the key is left in the files; of a large database, parts of erased rows may stay in unused
    parts of its file until the service is quiet (``fragments``).
    """
    grant = grant_of(request)
    here, name = grant.here, grant.name
    key, base = request.path_params["key"], request.query_params.get("base")
    if base not in (None, "drop"):
        raise BadRequest(f"base is {json_text(base)}", "send ?base=drop, or remove it")
    model, shards = here.engine.model(name).shard_for(key), dict(here.engine.shards)
    async with here.jobs.run(here.engine, model, Progress("forget")) as progress:
        ready = await run_in_thread(progress, lambda: refold_without(here.reading, shards, model, key, progress))
        answer = await grant.run(
            lambda: here.engine.forget(name, key, drop_base=base == "drop", allowed=grant.only, ready=ready)
        )
        for _ in range(TRIES):  # another reader may block it for a moment
            if not (here.engine.vacuum_pending or here.engine.purge_pending):
                break
            await asyncio.sleep(PAUSE_S)
            await here.writer.run(lambda: None)
    if here.engine.fragmented:
        answer.fragments = True
    return reply(answer)


# Retention: old events are folded into a base state and erased.


@endpoint(
    "POST",
    MODEL + ":retain",
    "retain",
    body=RetainBody,
    reply=RetainedReply,
    example={"older_than_s": 7_776_000},
)
async def retain_model(request: Request) -> Response:
    """Fold events of an age into the base state, and erase them."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, RetainBody)
    return reply(await retain(here, name, body.older_than_s, grant.rights.id))


# Undo: take back the feedback of one decision, or go back to an earlier version.


@endpoint("POST", DECISION + ":retract", "retract", reply=UndoneReply)
async def retract(request: Request) -> Response:
    """Undo the feedback of a decision, by replay."""
    grant = grant_of(request)
    here = grant.here
    id = request.path_params["id"]
    await here.refresh()
    row, model = await asyncio.to_thread(find_retractable, here.log, here.engine.shards, id, grant.only)
    ready = None
    async with here.jobs.run(here.engine, model, Progress("retract")) as progress:
        if row.version is not None:
            ready = await asyncio.to_thread(refold, here.reading, model, ("retracted", row.version), progress)
        return reply(await grant.run_for(lambda own: here.engine.retract(id, own, ready)))


@endpoint("POST", MODEL + ":rollback", "rollBack", body=RollbackBody, reply=UndoneReply, example={"version": 100})
async def roll_back(request: Request) -> Response:
    """Go back to the weights of a version, or of a moment, by replay."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    body = await grant.body(request, RollbackBody)
    model, ready = await grant.run(lambda: here.engine.locked_model(name)), None
    version, then = body.version, body.then
    async with here.jobs.run_for_all(here.engine, model, Progress("rollback")) as progress:
        to = version_at_time(here.reading, model, then) if then is not None and not model.keyed else version
        if to is not None and to <= model.version:
            ready = await asyncio.to_thread(refold, here.reading, model, ("rolled_back", to), progress)
        return reply(await grant.run(lambda: here.engine.roll_back(name, version, ready, then=then)))


# Comparison with a champion, and promotion.


@endpoint("GET", MODEL + "/compare", "compareModel", reply=CompareReply)
async def compare(request: Request) -> Response:
    """The challenger or the shadow compared with the champion, with confidence."""
    grant = grant_of(request)
    grant.judge_partners()
    here, name = grant.here, grant.name
    return reply(await asyncio.to_thread(compare_arms, here.reading, here.engine.model(name), here.engine.clock()))


@endpoint("POST", MODEL + ":promote", "promoteModel", reply=PromotedReply)
async def promote(request: Request) -> Response:
    """Let the champion decide with the settings and the state of this challenger or shadow from now on."""
    grant = grant_of(request)
    here, name = grant.here, grant.name
    return reply(await grant.run(lambda: here.engine.promote(name)))
