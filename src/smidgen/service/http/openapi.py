"""The OpenAPI document."""

from __future__ import annotations

import inspect
import re
from typing import Any

import msgspec

from smidgen.service.http.endpoints import Call, all_calls
from smidgen.service.http.errors import CODES, OTHERS
from smidgen.service.http.rights import MATRIX
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ErrorReply

# The OpenAPI document, from the calls and the very structs that read and write their bodies.

_REFUSALS = {
    400: "not JSON, or a bad name",
    401: "no valid token",
    403: "the token does not cover this, or a page of another origin asked without one",
    404: "not known",
    405: "not a method of this path",
    408: "the body did not arrive",
    409: "in conflict with what is there",
    413: "too large",
    415: "not plain JSON",
    422: "well formed, and impossible",
    503: "busy, or the disk refuses; try again",
}

_SCHEME = (
    "A token of smidgen token create or POST /v1/tokens. Of the scopes that a call lists a token needs one."
    " Without any token in the store, none is needed."
)
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 100}


#: The version of the API, as in its paths. That of the program is for those who may read: GET /healthz.
API = "1"


def document() -> dict[str, Any]:
    """The whole document, as the calls and the loops describe themselves."""
    calls = all_calls()
    structs = {kind for call in calls for kind in (_struct(call.body), _struct(call.reply)) if kind is not None}
    ordered = sorted(structs | {ErrorReply}, key=lambda kind: str(kind.__name__))
    _, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    components["ErrorDetail"]["properties"]["code"] = {"enum": sorted({*CODES.values(), *OTHERS})}
    components["ModelBody"]["properties"]["loop"] = {"enum": list(loops)}
    paths: dict[str, Any] = {}
    for call in sorted(calls, key=lambda call: call.path):
        path = re.sub(r"{(\w+):path}", r"{\1}", call.path)
        entry = paths.setdefault(path, {})
        named = [_in_path(name) for name in re.findall(r"{(\w+)}", path)]
        if named:
            entry["parameters"] = named
        entry[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "smidgen",
            "version": API,
            "description": "A decision goes out, a reaction comes back.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": _refusals(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _SCHEME}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(call: Call) -> dict[str, Any]:
    content = _json(_schema(call.reply)) if call.media == "application/json" else {call.media: {}}
    good = {str(status): {"description": "ok", "content": content} for status in call.status}
    operation: dict[str, Any] = {"operationId": call.name, "summary": call.summary}
    if call.description:
        operation["description"] = call.description
    if call.query:
        operation["parameters"] = [{"name": name, "in": "query", "schema": schema} for name, schema in call.query]
    if call.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(_schema(call.body))}
    elif call.takes:
        operation["requestBody"] = {"required": True, "content": {media: {} for media in call.takes}}
    refusals = {str(status): {"$ref": f"#/components/responses/refusal{status}"} for status in _REFUSALS}
    rule = MATRIX[call.key]
    if rule.public:
        operation["security"] = []
    else:
        operation["security"] = [{}, {"token": [*rule.scopes, *(() if "admin" in rule.scopes else ("admin",))]}]
    return operation | {"responses": {**good, **refusals}}


def _struct(kind: Any) -> Any:
    """The struct that a call reads or writes, None if it has none."""
    found = kind() if inspect.isfunction(kind) else kind
    return found if isinstance(found, type) and issubclass(found, msgspec.Struct) else None


def _schema(kind: Any) -> dict[str, Any]:
    if (found := _struct(kind)) is not None:
        return {"$ref": f"#/components/schemas/{found.__name__}"}
    schema: dict[str, Any] = kind() if inspect.isfunction(kind) else {"type": "object"}
    return schema


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _NAME if name == "name" else {"type": "string"}}


def _refusals() -> dict[str, Any]:
    """The refusals, which every call shares: written once, referred to by each."""
    content = _json(_schema(ErrorReply))
    return {f"refusal{status}": {"description": why, "content": content} for status, why in _REFUSALS.items()}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


# Schemas of answers that are put together from what the loops say.

_NUMBER = {"type": ["number", "null"]}
#: What every decision's answer has.
_EVERY_DECISION: dict[str, Any] = {
    "decision": {"type": "string"},
    "model": {"type": "string"},
    "model_version": {"type": "integer", "minimum": 0},
    "explored": {"type": "boolean"},
    "propensity": _NUMBER,
    "expires_at": {"type": "string", "format": "date-time"},
}
#: What it has beside, if the model has several shards.
_SHARD: dict[str, Any] = {"shard": {"type": "integer", "minimum": 0}}


def decision() -> dict[str, Any]:
    """A decision's answer: what every one has, and what the loops add."""
    answers = [msgspec.json.schema_components([loop.reply])[1] for loop in loops.values()]
    properties = [struct["properties"] for structs in answers for struct in structs.values()]
    return {
        "type": "object",
        "required": list(_EVERY_DECISION),
        "additionalProperties": False,
        "properties": _EVERY_DECISION | _SHARD | {name: schema for each in properties for name, schema in each.items()},
    }


def decisions() -> dict[str, Any]:
    """The answers of a batch."""
    return {
        "type": "object",
        "required": ["decisions"],
        "properties": {"decisions": {"type": "array", "items": decision()}},
    }


def results() -> dict[str, Any]:
    """What became of each feedback of a batch: as if it had come alone, or why it was refused."""
    each = {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("FeedbackReply", "ErrorReply")]}
    return {
        "type": "object",
        "required": ["results"],
        "properties": {"results": {"type": "array", "items": each}},
    }
