"""Schemas of answers that are put together from what the loops say."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen.service.loops.registry import loops

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
#: What it has beside, if the model has several slots.
_SLOT: dict[str, Any] = {"slot": {"type": "integer", "minimum": 0}}


def decision() -> dict[str, Any]:
    """A decision's answer: what every one has, and what the loops add."""
    answers = [msgspec.json.schema_components([loop.reply])[1] for loop in loops.values()]
    properties = [struct["properties"] for structs in answers for struct in structs.values()]
    return {
        "type": "object",
        "required": list(_EVERY_DECISION),
        "additionalProperties": False,
        "properties": _EVERY_DECISION | _SLOT | {name: schema for each in properties for name, schema in each.items()},
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
