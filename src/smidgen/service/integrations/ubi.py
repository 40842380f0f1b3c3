"""Endpoint for search engines: events of user behaviour insights (UBI) whose ``query_id`` is a decision's id.

The events follow a foreign standard, so unneeded fields are ignored, and events of other searches or of other kinds
are not errors. The clicks of one call on one decision are one feedback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.data.ubi import CLICKS, UbiEvent
from smidgen.errors import SmidgenError
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.stories import find_decision
from smidgen.service.errors import (
    Conflict,
    Impossible,
    NotAllowed,
    OutOfScope,
    UnknownDecision,
    not_json,
    validation_error,
)
from smidgen.service.http.endpoints import endpoint
from smidgen.service.http.errors import error_detail
from smidgen.service.http.middleware import raw_body
from smidgen.service.http.resources import Service, reply
from smidgen.service.http.rights import Grant, grant_of
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ROWS, FeedbackReply, UbiReply, UbiResult

#: What a body may be: an event or a list of them, or an event per line.
JSON, LINES = "application/json", "application/x-ndjson"


class _Posted(UbiEvent, kw_only=True):
    """An event, or an object that holds several."""

    action_name: str = ""
    events: list[UbiEvent] | None = None


class ClicksOfCall(NamedTuple):
    """The clicks of a call.

    Attributes
    ----------
    clicked
        The objects that were clicked, by the id of the search, in the order of the first click on each.
    passed_over
        How many events are no clicks on a result.
    """

    clicked: dict[str, list[str]]
    passed_over: int


class Page(NamedTuple):
    """The clicks on a list of ours."""

    decision: str
    clicked: list[str | int]


@endpoint(
    "POST",
    "/v1/ubi",
    "takeUbiEvents",
    body=lambda: _schema(),
    reply=UbiReply,
    example={
        "action_name": "click",
        "query_id": "DECISION",
        "event_attributes": {"object": {"object_id": "red"}},
    },
    query=(
        (
            "actions",
            {"type": "string", "description": "The values of action_name that are clicks, with commas between."},
        ),
    ),
)
async def take_events(request: Request) -> Response:
    """Clicks as events of user behaviour insights, whose query_id is a decision's id."""
    grant = grant_of(request)
    here = grant.here
    media, content = await raw_body(request, (JSON, LINES))
    actions = request.query_params.get("actions")
    counted = frozenset(CLICKS if not actions else actions.split(","))
    gathered = await asyncio.to_thread(lambda: gather(read(media, content), counted))
    pages, unknown, elsewhere = await asyncio.to_thread(_own_pages, here, gathered.clicked, grant.only)
    results = await _learn(grant, pages)
    return reply(
        UbiReply(results=results, passed_over=gathered.passed_over, unknown=unknown, elsewhere=elsewhere),
    )


def read(media: str, content: bytes) -> Sequence[UbiEvent]:
    """The events of a body."""
    try:
        if media == LINES:
            events: Sequence[UbiEvent] = _LINES.decode_lines(content)
        else:
            events = _several(_POSTED.decode(content))
    except msgspec.ValidationError as error:
        raise validation_error(error, None) from error
    except UNREADABLE as error:
        raise not_json(error, hint="send UBI events as JSON") from error
    if len(events) > ROWS:
        raise Impossible(f"there are {len(events):,} events", f"send at most {ROWS:,} in one call")
    for index, event in enumerate(events):
        if not event.action_name:
            raise Impossible(f"[{index}].action_name is missing", "send events of the UBI schema")
    return events


def _several(posted: list[UbiEvent] | _Posted) -> list[UbiEvent]:
    if isinstance(posted, list):
        return posted
    return [posted] if posted.events is None else posted.events


def gather(events: Iterable[UbiEvent], actions: frozenset[str]) -> ClicksOfCall:
    """The clicks by their searches; what is no click on a result is counted."""
    clicked: dict[str, dict[str, None]] = {}
    passed_over = 0
    for event in events:
        object_id = event.object_id
        if event.action_name not in actions or not event.query_id or object_id is None:
            passed_over += 1
        else:
            clicked.setdefault(event.query_id, {})[object_id] = None
    return ClicksOfCall({query: list(objects) for query, objects in clicked.items()}, passed_over)


def _own_pages(here: Service, clicked: dict[str, list[str]], allowed: str | None) -> tuple[list[Page], int, int]:
    """Clicks on lists of ours, in the ids that the app gave; how many were on other searches, how many on no result."""
    pages: list[Page] = []
    unknown = elsewhere = 0
    for name, objects in clicked.items():
        try:
            row, model = find_decision(here.log, here.engine.shards, name, allowed)
        except UnknownDecision:
            unknown += len(objects)
            continue
        if not model.blueprint.loop.shows_lists:
            unknown += len(objects)
            continue
        ids = {str(id): id for id in here.log.decision(model, row.seq).ids}
        known = [ids[each] for each in objects if each in ids]
        elsewhere += len(objects) - len(known)
        if known:
            pages.append(Page(name, known))
    return pages, unknown, elsewhere


async def _learn(grant: Grant, pages: Sequence[Page]) -> list[UbiResult]:
    """Learn one feedback per page, all in one commit."""
    here = grant.here

    def command(page: Page) -> Callable[[], FeedbackReply]:
        body = loops.feedback(clicked=page.clicked)
        return grant.command(partial(here.engine.feedback, page.decision, body))

    found: list[UbiResult] = []
    answers = await here.writer.run_each([command(page) for page in pages]) if pages else []
    for page, answer in zip(pages, answers, strict=True):
        result = UbiResult(decision=page.decision, clicked=page.clicked)
        if isinstance(answer, Conflict):  # it has an answer: the clicks that came first
            result.status = "answered"
        elif isinstance(answer, SmidgenError) and not isinstance(answer, NotAllowed | OutOfScope):
            result.error = error_detail(answer)
        elif isinstance(answer, Exception):
            raise answer
        else:
            here.metrics.count("feedback", answer.status)
            result.status, result.model_version = answer.status, answer.model_version
        found.append(result)
    return found


def _schema() -> dict[str, Any]:
    """An event as far as it is read, a list of them, or an object that holds some."""
    object_id = {"type": ["string", "integer", "null"], "description": "The id of the candidate that was clicked."}
    about = {"type": "object", "properties": {"object_id": object_id}}
    object_ = {"description": "The result that the event is about.", "anyOf": [about, {"type": "null"}]}
    attributes = {
        "type": ["object", "null"],
        "description": "Details of the event.",
        "properties": {"object": object_},
    }
    event = {
        "type": "object",
        "required": ["action_name"],
        "properties": {
            "action_name": {"type": "string", "minLength": 1, "description": "What the user did, e.g. click."},
            "query_id": {"type": ["string", "null"], "description": "The id of the decision that made the list."},
            "event_attributes": attributes,
        },
    }
    several = {"type": "array", "items": event, "maxItems": ROWS}
    held = {
        "type": "object",
        "required": ["events"],
        "properties": {"events": {"description": "The events.", **several}},
    }
    return {"anyOf": [event, several, held]}


_LINES = msgspec.json.Decoder(UbiEvent)
_POSTED: msgspec.json.Decoder[list[UbiEvent] | _Posted] = msgspec.json.Decoder(list[UbiEvent] | _Posted)
