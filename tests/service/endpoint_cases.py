"""Every call that writes, with what must be true once it is done: for services that are killed in the midst of it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from service.bodies import feedback_body, model, request
from service.engine.test_live_settings import amend
from service.engine.test_teach import examples
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.model import ServedModel
from smidgen.service.http import auth
from smidgen.service.http.endpoints import all_endpoints
from smidgen.service.log.events import stamp
from smidgen.service.schemas import CopyBody

#: Silence that is learnt writes, and nobody calls it.
SWEEP = "(windows that close)"
LABELS = {"loop": "label", "labels": ["a", "b"], "window_s": 80_000}
#: The points that every call passes.
COMMIT = ("after-begin", "before-commit", "after-commit")

Facts = Callable[[Engine, dict[str, Any]], tuple[bool, ...]]


@dataclass(frozen=True)
class EndpointCase:
    """A call that writes.

    Attributes
    ----------
    name
        The call's own name.
    method, path, body
        How it is asked; names in braces are those of the stage. A body of bytes is no JSON.
    facts
        What is true once it is done, all of it, and not before: a mixture is a call that was half done.
    points
        Where it can be killed, next to the points of every commit.
    again
        What may be answered when it is sent again after it was done.
    """

    name: str
    method: str
    path: str
    body: Any
    facts: Facts
    points: tuple[str, ...] = ()
    again: tuple[int, ...] = (200, 201)


def writing_calls() -> set[str]:
    """The names of all calls that write, and silence."""
    return {call.name for call in all_endpoints() if call.method != "GET"} | {SWEEP}


def prepare(data: Path) -> dict[str, Any]:
    """Some models with a past; what the cases are about, by name."""
    engine = Engine(data, synchronous="OFF")
    engine.create("mail", model(LABELS))
    engine.create("people", model({**LABELS, "keyed": True}))
    engine.create("old", model(LABELS))
    engine.create("crew", model(LABELS))
    engine.create("rival", model({**LABELS, "learner": "Confidit", "shadow_of": "crew"}))
    engine.create("finder", model({"loop": "rank"}))
    engine.create("ads", model({"loop": "choose", "default_reward": 0.0, "window_s": 0.01}))
    stage: dict[str, Any] = {}
    for i in range(8):
        made = engine.decide("mail", request({"features": {"x": i}, "activate": i != 7}))["decision"]
        stage[f"d{i}"] = made
        if i < 4:
            engine.feedback(made, feedback_body(correct=i % 2 == 0))
        person = engine.decide("people", request({"key": ("ann", "bob")[i % 2], "features": {"x": i}}))["decision"]
        if i < 6:
            engine.feedback(person, feedback_body(correct=i % 3 == 0))
    engine.teach("mail", examples({"examples": [{"features": {"x": 1.5}, "answer": "b"}]}))
    amend(engine, "mail", add_labels=["c"])
    engine.copy("people", CopyBody(to="crowd"))
    engine.create("spread", model({**LABELS, "keyed": True, "shards": 3}))
    for i in range(12):
        asked = request({"key": f"k{i}", "features": {"x": i}})
        engine.feedback(engine.decide("spread", asked)["decision"], feedback_body(correct=True))
    engine.decide("old", request({"features": {"x": 1}}))
    engine.archive("old")
    stage["log"] = b"\n".join(engine.events.all_lines(engine.models["mail"])) + b"\n"
    engine.feedback(engine.decide("crew", request({"features": {"x": 1}}))["decision"], feedback_body(correct=True))
    stage["q"] = engine.decide("finder", request({"candidates": [{"id": "a"}, {"id": "b"}]}))["decision"]
    for _ in range(2):
        engine.decide("ads", request({"candidates": [{"id": "a"}, {"id": "b"}]}))
    _, stage["secret"] = engine.run(lambda: auth.create(engine.store, ["admin"], None, engine.clock()))
    stage["spare"], _ = engine.run(lambda: auth.create(engine.store, ["read"], None, engine.clock()))
    engine.close()
    stage["made"] = stamp(time.time())
    time.sleep(0.02)  # the windows of ads are over
    return stage


def _decided(name: str, *requests: str) -> Facts:
    return lambda engine, stage: tuple(
        engine.store.find_request(engine.models[name].shard, each) is not None for each in requests
    )


def _spread(fact: Callable[[Engine, ServedModel], bool], name: str = "spread") -> Facts:
    """Facts that hold for every shard of a model once the call is done."""

    def facts(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
        parts = [shard for shard in engine.shards.values() if shard.name == name]
        return tuple(fact(engine, part) for part in parts) or (False,)

    return facts


def _learnt(*names: str) -> Facts:
    def facts(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
        rows = [engine.store.decision(stage[name]) for name in names]
        return tuple(row is not None and row.version is not None for row in rows)

    return facts


def _copied(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
    if "twin" not in engine.models:
        return (False,)
    source, twin = engine.models["people"], engine.models["twin"]
    same = [[engine.learners.get(each, key).learner.to_bytes() for key in ("ann", "bob")] for each in (source, twin)]
    lineage = any(row.shard == twin.shard and row.source == source.shard for row in engine.store.lineage())
    return (same[0] == same[1], lineage)


def _forgotten(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
    return tuple(
        engine.store.query("keys", engine.models[name].shard, prefix="ann", limit=1) == []
        for name in ("people", "crowd")
    )


def _based(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
    shard = engine.models["mail"].shard
    base, first = engine.store.checkpoint(shard), engine.store.events(shard)[0]
    return (base is not None, first.seq > 1, engine.store.find_erased_decision(stage["d0"]) is not None)


def _rolled_back(engine: Engine, stage: dict[str, Any]) -> tuple[bool, ...]:
    return (bool(engine.store.undo_events(engine.models["mail"].shard)),)


CASES = [
    EndpointCase(
        "createModel", "PUT", "/v1/models/new", LABELS, lambda engine, _: ("new" in engine.models,), ("event-appended",)
    ),
    EndpointCase(
        "amendModel",
        "PATCH",
        "/v1/models/mail",
        {"window_s": 77, "add_labels": ["d"]},
        lambda engine, _: (
            engine.models["mail"].blueprint.terms.window_s == 77,
            engine.models["mail"].blueprint.labels == ["a", "b", "c", "d"],
        ),
        ("event-appended",),
    ),
    EndpointCase(
        "archiveModel",
        "DELETE",
        "/v1/models/mail",
        None,
        lambda engine, _: (engine.models["mail"].archived_at is not None,),
        ("event-appended",),
    ),
    EndpointCase(
        "reviveModel",
        "POST",
        "/v1/models/old:revive",
        None,
        lambda engine, _: (engine.models["old"].archived_at is None,),
        ("event-appended",),
    ),
    EndpointCase(
        "renameModel",
        "POST",
        "/v1/models/old:rename",
        {"to": "older"},
        lambda engine, _: ("older" in engine.models, "old" not in engine.models),
        ("event-appended",),
        again=(404,),
    ),
    EndpointCase(
        "copyModel", "POST", "/v1/models/people:copy", {"to": "twin"}, _copied, ("event-appended",), again=(409,)
    ),
    EndpointCase(
        "importModel",
        "POST",
        "/v1/models/brought:import",
        "log",
        lambda engine, _: ("brought" in engine.models and engine.models["brought"].version == 1,),
        ("event-appended",),
        again=(409,),
    ),
    EndpointCase(
        "decide",
        "POST",
        "/v1/models/mail/decisions",
        {"id": "mine", "features": {"x": 1}},
        _decided("mail", "mine"),
        ("decision-appended",),
    ),
    EndpointCase(
        "decideMany",
        "POST",
        "/v1/models/mail/decisions:batch",
        {"decisions": [{"id": "m0", "features": {"x": 1}}, {"id": "m1", "features": {"x": 2}}]},
        _decided("mail", "m0", "m1"),
        ("decision-appended", "decision-appended:2"),
    ),
    EndpointCase(
        "teach",
        "POST",
        "/v1/models/mail/examples",
        {"id": "lesson", "examples": [{"features": {"x": 1}, "answer": "a"}]},
        lambda engine, _: (engine.store.find_call(engine.models["mail"].shard, "lesson") is not None,),
        ("event-appended", "taught"),
    ),
    EndpointCase(
        "giveFeedback",
        "POST",
        "/v1/decisions/{d4}/feedback",
        {"correct": True},
        _learnt("d4"),
        ("feedback-appended", "learnt"),
    ),
    EndpointCase(
        "giveMuchFeedback",
        "POST",
        "/v1/feedback:batch",
        {"feedback": [{"decision": "{d5}", "correct": True}, {"decision": "{d6}", "correct": False}]},
        _learnt("d5", "d6"),
        ("feedback-appended", "learnt", "learnt:2"),
    ),
    EndpointCase(
        "showDecision",
        "POST",
        "/v1/decisions/{d7}/shown",
        None,
        lambda engine, stage: ((row := engine.store.decision(stage["d7"])) is not None and row.shown,),
        ("showing-appended",),
    ),
    EndpointCase(
        "retract",
        "POST",
        "/v1/decisions/{d1}:retract",
        None,
        lambda engine, stage: tuple(not fact for fact in _learnt("d1")(engine, stage)),
        ("retraction-appended",),
        again=(409,),
    ),
    EndpointCase("rollBack", "POST", "/v1/models/mail:rollback", {"version": 2}, _rolled_back, ("rollback-appended",)),
    EndpointCase(
        "forget",
        "DELETE",
        "/v1/models/people/keys/ann",
        None,
        _forgotten,
        (
            "events-rewritten",
            "forgetting-appended",
            "forgetting-appended:2",
            "states-dropped",
            "states-dropped:2",
            "file-compacted",
        ),
        again=(404,),
    ),
    EndpointCase(
        "retain",
        "POST",
        "/v1/models/mail:retain",
        {"older_than_s": 0},
        _based,
        ("base-staged", "base-made", "base-tidied", "base-tidied:2"),
    ),
    EndpointCase(
        "promoteModel",
        "POST",
        "/v1/models/rival:promote",
        None,
        lambda engine, _: (engine.models["crew"].blueprint.kind == "Confidit",),
        ("promoted",),
        again=(200, 409),
    ),
    EndpointCase(
        "takeUbiEvents",
        "POST",
        "/v1/ubi",
        {"action_name": "click", "query_id": "{q}", "event_attributes": {"object": {"object_id": "b"}}},
        _learnt("q"),
        ("feedback-appended", "learnt"),
    ),
    EndpointCase(
        "createToken",
        "POST",
        "/v1/tokens",
        {"scopes": ["read"], "name": "made"},
        lambda engine, _: (any(row.name == "made" for row in engine.store.tokens()),),
        ("before-commit",),
    ),
    EndpointCase(
        "revokeToken",
        "DELETE",
        "/v1/tokens/{spare}",
        None,
        lambda engine, stage: tuple(
            row.revoked_at is not None for row in engine.store.tokens() if row.id == stage["spare"]
        ),
        ("before-commit",),
        again=(404,),
    ),
    EndpointCase(
        SWEEP,
        "GET",
        "/v1/models",
        None,
        lambda engine, _: (engine.models["ads"].version == 2,),
        ("expiry-appended", "silence-learnt", "silence-learnt:2"),
    ),
]

#: Some of them on a model with several shards: done in all of these, or in none.
SPREAD = [
    EndpointCase(
        "createModel",
        "PUT",
        "/v1/models/wide",
        {**LABELS, "keyed": True, "shards": 3},
        lambda engine, _: tuple(f"wide/{i}" in {row.name for row in engine.store.models()} for i in range(3)),
        ("event-appended", "event-appended:2", "event-appended:3"),
    ),
    EndpointCase(
        "amendModel",
        "PATCH",
        "/v1/models/spread",
        {"window_s": 77},
        _spread(lambda _, part: part.blueprint.terms.window_s == 77),
        ("event-appended", "event-appended:2"),
    ),
    EndpointCase(
        "archiveModel",
        "DELETE",
        "/v1/models/spread",
        None,
        _spread(lambda _, part: part.archived_at is not None),
        ("event-appended:2",),
    ),
    EndpointCase(
        "copyModel",
        "POST",
        "/v1/models/spread:copy",
        {"to": "broad"},
        _spread(lambda engine, part: any(row.shard == part.shard for row in engine.store.lineage()), "broad"),
        ("event-appended:2", "event-appended:9"),
        again=(409,),
    ),
    EndpointCase(
        "decideMany",
        "POST",
        "/v1/models/spread/decisions:batch",
        {"decisions": [{"id": f"s{i}", "key": f"k{i}", "features": {"x": 1}} for i in range(6)]},
        lambda engine, _: tuple(engine.store.find_request(0, f"s{i}", *engine.shards) is not None for i in range(6)),
        ("decision-appended", "decision-appended:3"),
    ),
    EndpointCase(
        "rollBack",
        "POST",
        "/v1/models/spread:rollback",
        {"time": "{made}"},
        _spread(lambda engine, part: bool(engine.store.undo_events(part.shard))),
        ("rollback-appended", "rollback-appended:2"),
    ),
]


def send(url: str, case: EndpointCase, stage: dict[str, Any]) -> int | None:
    """Do it; the status of the answer, None if nobody answered."""
    names = {name: value for name, value in stage.items() if isinstance(value, str)}
    media, content = "application/json", None
    if isinstance(case.body, str):
        media, content = "application/x-ndjson", stage[case.body]
    elif case.body is not None:
        text = json.dumps(case.body)
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", value)
        content = text.encode()
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    headers = {"content-type": media, "authorization": f"Bearer {stage['secret']}"}
    try:
        connection.request(case.method, case.path.format(**names), content, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
