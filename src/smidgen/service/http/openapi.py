"""The OpenAPI document."""

from __future__ import annotations

import inspect
import re
from typing import Any

import msgspec

from smidgen.service.http.endpoints import EndpointSpec, all_endpoints, integration_endpoints
from smidgen.service.http.errors import CODES, OTHERS
from smidgen.service.http.rights import MATRIX
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import DecisionBody, ErrorReply, FeedbackBody

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


#: What stands in paths, by its name.
_IN_PATH: dict[str, tuple[str, dict[str, Any]]] = {
    "name": ("The name of the model; in OFREP calls, of the flag.", _NAME),
    "id": ("The id of the decision; of the token.", {"type": "string"}),
    "key": ("The key (a user) to forget.", {"type": "string"}),
    "event": ("The id of the event: the `eventId` of its rank call.", {"type": "string"}),
    "version": ("A version of the preview, e.g. v1.1-preview.3.", {"type": "string"}),
}

#: The sizes of numbers.
_SIZES = {"number": "double", "integer": "int64"}

_TEXT, _BYTES = {"type": "string"}, {"type": "string", "format": "binary"}

#: The version of the API, as in its paths. That of the program is for those who may read: GET /healthz.
API = "1"

_REFERENCE = "#/components/schemas/{name}"


def document() -> dict[str, Any]:
    """The whole document, as the calls and the loops describe themselves."""
    calls = [*all_endpoints(), *integration_endpoints()]
    structs = {kind for call in calls for kind in (_struct(call.body), _struct(call.reply)) if kind is not None}
    replies = [loop.reply for loop in loops.values()]  # `decision` joins their fields, but not those of what they hold
    structs |= set(_structs(replies)) - set(replies)
    ordered = sorted(structs | {ErrorReply}, key=lambda kind: str(kind.__name__))
    _, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    _describe(components, ordered)
    components["ErrorDetail"]["properties"]["code"]["enum"] = sorted({*CODES.values(), *OTHERS})
    components["ModelBody"]["properties"]["loop"]["enum"] = list(loops)
    paths: dict[str, Any] = {}
    for call in sorted(calls, key=lambda call: call.path):
        path = re.sub(r"{(\w+):path}", r"{\1}", call.path)
        entry = paths.setdefault(path, {})
        named = [_in_path(name) for name in re.findall(r"{(\w+)}", path)]
        if named:
            entry["parameters"] = named
        entry[call.method.lower()] = _operation(call)
    _complete(paths)
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


def _describe(components: dict[str, Any], kinds: list[Any]) -> None:
    """Describe structs and their fields by the structs' docstrings, and say of arrays what they hold.

    The fields that loops add to a body are described by the loops' own structs.
    """
    own = [kind for loop in loops.values() for kind in (loop.request, loop.feedback, loop.reply)]
    shared = {name: text for kind in reversed(own) for name, text in field_texts(kind).items()}
    for kind in _structs(kinds):
        schema, texts = components[kind.__name__], field_texts(kind)
        if issubclass(kind, (DecisionBody, FeedbackBody)):
            texts = shared | texts
        schema["description"] = _about(kind)
        for name, property in schema["properties"].items():
            schema["properties"][name] = _described(property, texts.get(name, ""))
    for schema in components.values():
        _complete(schema)


def _described(schema: dict[str, Any], text: str) -> dict[str, Any]:
    """A schema with its description."""
    return {"description": text, **schema} if text else schema


def _about(kind: Any) -> str:
    """The docstring of a struct up to its fields, each paragraph on one line."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes\n---")[0]
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def field_texts(kind: Any) -> dict[str, str]:
    """The descriptions of a struct's fields in its docstring's ``Attributes``, and in those of its bases.

    Examples
    --------
    >>> from smidgen.service.http.openapi import field_texts
    >>> from smidgen.service.schemas import DecisionBody, ErrorReply, FeedbackBody
    >>> field_texts(ErrorReply)
    {'error': 'The error.'}
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        listed = inspect.cleandoc(base.__doc__ or "").partition("\nAttributes\n----------\n")[2]
        for names, text in re.findall(r"^(\S.*)\n((?:[ ]{4}.*(?:\n|$))+)", listed, re.MULTILINE):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def _structs(kinds: list[Any]) -> list[Any]:
    """Structs, and those that their fields hold."""
    found: dict[Any, None] = {}

    def visit(kind: Any) -> None:
        if isinstance(kind, msgspec.inspect.StructType):
            if kind.cls in found:
                return
            found[kind.cls] = None
            for field in kind.fields:
                visit(field.type)
        for inner in ("types", "item_types"):
            for each in getattr(kind, inner, ()):
                visit(each)
        for inner in ("item_type", "value_type"):
            if (each := getattr(kind, inner, None)) is not None:
                visit(each)

    for each in msgspec.inspect.multi_type_info(kinds):
        visit(each)
    return list(found)


def _complete(schema: Any) -> None:
    """Give every array its ``items``, every number its size, and no default to what has several types.

    Generators of clients know no tuples, refuse arrays of anything, take numbers of 32 bits where no size is given, and
    write a default of several types as if it were code.
    """
    if isinstance(schema, list):
        for each in schema:
            _complete(each)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            first, *others = schema.pop("prefixItems")
            schema["items"] = first if all(each == first for each in others) else {"anyOf": [first, *others]}
            schema.setdefault("minItems", 1 + len(others))
            schema.setdefault("maxItems", 1 + len(others))
        schema.setdefault("items", {})
    if schema.get("default") is not None and len(schema.get("anyOf", ())) > 1:
        value = msgspec.json.encode(schema.pop("default")).decode()
        schema["description"] = f"{schema.get('description', '')} The default is {value}.".lstrip()
    for kind, size in _SIZES.items():
        if schema.get("type") in (kind, [kind, "null"]):
            schema["format"] = size
    for each in list(schema.values()):
        _complete(each)


def _operation(call: EndpointSpec) -> dict[str, Any]:
    content = _json(_schema(call.reply)) if call.media == "application/json" else {call.media: {"schema": _TEXT}}
    good: dict[str, Any] = {str(status): {"description": "ok", "content": content} for status in call.status}
    for status in good.keys() & {"204", "304"}:
        good[status] = {"description": "ok, without a body" if status == "204" else "the same as before"}
    operation: dict[str, Any] = {"operationId": call.name, "summary": call.summary}
    if call.description:
        operation["description"] = call.description
    if call.query:
        operation["parameters"] = [_in_query(name, schema) for name, schema in call.query]
    if call.body is not None:
        content = _json(_schema(call.body))
        if call.example is not None:
            content["application/json"]["example"] = call.example
        operation["requestBody"] = {"required": True, "content": content}
    elif call.takes:
        operation["requestBody"] = {"required": True, "content": {media: {"schema": _BYTES} for media in call.takes}}
    refusals = {str(status): {"$ref": f"#/components/responses/refusal{status}"} for status in _REFUSALS}
    rule = MATRIX[call.key]
    if rule.is_public:
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
    text, schema = _IN_PATH.get(name, ("", {"type": "string"}))
    return _described({"name": name, "in": "path", "required": True, "schema": schema}, text)


def _in_query(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    plain = {field: each for field, each in schema.items() if field != "description"}
    return _described({"name": name, "in": "query", "schema": plain}, schema.get("description", ""))


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
    "decision": _described({"type": "string"}, "The decision's id: feedback names it."),
    "model": _described({"type": "string"}, "The model that decided: the one asked, or its challenger."),
    "model_version": _described({"type": "integer", "minimum": 0}, "The version of the weights that decided."),
    "explored": _described({"type": "boolean"}, "Whether exploration changed the answer."),
    "propensity": _described(_NUMBER, "The probability of the answer, or null where nothing was drawn."),
    "expires_at": _described({"type": "string", "format": "date-time"}, "When the feedback window ends."),
}
#: What it has in addition if the model has several shards.
_SHARD: dict[str, Any] = {"shard": _described({"type": "integer", "minimum": 0}, "The shard that decided.")}


def decision() -> dict[str, Any]:
    """A decision's answer: what every one has, and what the loops add."""
    properties = []
    for loop in loops.values():
        structs = msgspec.json.schema_components([loop.reply], ref_template=_REFERENCE)[1]
        _describe(structs, [loop.reply])
        properties.append(structs[loop.reply.__name__]["properties"])
    return {
        "type": "object",
        "required": list(_EVERY_DECISION),
        "additionalProperties": False,
        "properties": _EVERY_DECISION
        | _SHARD
        | {name: schema for each in reversed(properties) for name, schema in each.items()},
    }


def decisions() -> dict[str, Any]:
    """The answers of a batch."""
    return {
        "type": "object",
        "required": ["decisions"],
        "properties": {
            "decisions": {
                "description": "The decisions, in the order of the request.",
                "type": "array",
                "items": decision(),
            }
        },
    }


def results() -> dict[str, Any]:
    """Schema of the results of a batch of feedback: as for a single one, or the refusal."""
    each = {"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("FeedbackReply", "ErrorReply")]}
    return {
        "type": "object",
        "required": ["results"],
        "properties": {
            "results": {
                "description": "The results, in the order of the request: a status, or an error.",
                "type": "array",
                "items": each,
            }
        },
    }
