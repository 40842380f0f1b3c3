"""The OpenAPI document, from the same structs that read and write the bodies."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen import __version__
from smidgen.service.loops.registry import loops
from smidgen.service.messages import ErrorReply, FeedbackReply, HealthReply, ModelBody, ModelReply, Story, WeightsReply

_REFUSALS = {
    400: "not JSON, or a bad name",
    401: "no valid token",
    403: "the token does not cover this",
    404: "not known",
    405: "not a method of this path",
    408: "the body did not arrive",
    409: "in conflict with what is there",
    413: "too large",
    415: "not plain JSON",
    422: "well formed, and impossible",
    503: "busy, or the disk refuses; try again",
}

_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 100}
_NUMBER = {"type": ["number", "null"]}
#: What every decision's answer has.
_EVERY_DECISION: dict[str, Any] = {
    "decision": {"type": "string"},
    "model_version": {"type": "integer", "minimum": 0},
    "explored": {"type": "boolean"},
    "propensity": _NUMBER,
    "expires_at": {"type": "string", "format": "date-time"},
}


def document() -> dict[str, Any]:
    """The whole document, as the loops describe themselves."""
    bodies = (loops.decision, loops.batch, loops.feedback)
    structs = (ModelBody, ModelReply, *bodies, FeedbackReply, Story, WeightsReply, HealthReply, ErrorReply)
    _, components = msgspec.json.schema_components(structs, ref_template="#/components/schemas/{name}")
    components["ModelBody"]["properties"]["loop"] = {"enum": list(loops)}
    decision = _decision()
    name = {"name": "name", "in": "path", "required": True, "schema": _NAME}
    id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    after = {"name": "after", "in": "query", "schema": {"type": "integer", "minimum": 0}}
    key = {"name": "key", "in": "query", "schema": {"type": "string"}}
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 0}}
    many, models = _list("decisions", decision), _list("models", _ref(ModelReply))
    model = {"parameters": [name]}
    paths: dict[str, Any] = {
        "/v1/models": {"get": _operation("list the models", 200, models)},
        "/v1/models/{name}": {
            **model,
            "put": _operation("create a model", (200, 201), _ref(ModelReply), ModelBody),
            "get": _operation("a model at a glance", 200, _ref(ModelReply)),
            "delete": _operation("archive a model", 200, _ref(ModelReply)),
        },
        "/v1/models/{name}/decisions": {
            **model,
            "post": _operation("ask for a decision", 201, decision, loops.decision),
        },
        "/v1/models/{name}/decisions:batch": {
            **model,
            "post": _operation("ask for many decisions", 201, many, loops.batch),
        },
        "/v1/models/{name}/weights": {
            "parameters": [name, key, limit],
            "get": _operation("names and weights, strongest first", 200, _ref(WeightsReply)),
        },
        "/v1/models/{name}/health": {
            **model,
            "get": _operation("what is wrong with a model, and the way out, the worst first", 200, _ref(HealthReply)),
        },
        "/v1/models/{name}/log": {
            "parameters": [name, after],
            "get": {
                "summary": "the events as lines of JSON",
                "responses": {"200": {"description": "ok", "content": {"application/x-ndjson": {}}}, **_refusals()},
            },
        },
        "/v1/decisions/{id}/feedback": {
            "parameters": [id],
            "post": _operation("tell what the user did", (200, 202), _ref(FeedbackReply), loops.feedback),
        },
        "/v1/decisions/{id}": {"parameters": [id], "get": _operation("a decision's story", 200, _ref(Story))},
        "/healthz": {"get": _operation("alive", 200, {"type": "object"})},
        "/readyz": {"get": _operation("able to decide", 200, {"type": "object"})},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "smidgen",
            "version": __version__,
            "description": "A decision goes out, a reaction comes back.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(summary: str, status: int | tuple[int, ...], schema: Any, body: type | None = None) -> dict[str, Any]:
    good = {
        str(s): {"description": "ok", "content": _json(schema)}
        for s in ((status,) if isinstance(status, int) else status)
    }
    operation: dict[str, Any] = {"summary": summary, "responses": {**good, **_refusals()}}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(_ref(body))}
    return operation


def _decision() -> dict[str, Any]:
    """A decision's answer: what every one has, and what the loops add."""
    answers = [msgspec.json.schema_components([loop.reply])[1] for loop in loops.values()]
    properties = [struct["properties"] for structs in answers for struct in structs.values()]
    return {
        "type": "object",
        "required": list(_EVERY_DECISION),
        "additionalProperties": False,
        "properties": _EVERY_DECISION | {name: schema for each in properties for name, schema in each.items()},
    }


def _list(name: str, schema: Any) -> dict[str, Any]:
    return {"type": "object", "required": [name], "properties": {name: {"type": "array", "items": schema}}}


def _refusals() -> dict[str, Any]:
    return {str(s): {"description": why, "content": _json(_ref(ErrorReply))} for s, why in _REFUSALS.items()}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _ref(type: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{type.__name__}"}
