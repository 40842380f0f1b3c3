"""Events as rows of a table: what people look at, each in a column of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from smidgen.service.exports import Span, wanted
from smidgen.service.store.lines import Line
from smidgen.service.store.recording import Recording

#: What every reply has, and columns of their own say.
_COMMON = ("decision", "model", "slot", "model_version", "explored", "propensity", "expires_at")
COLUMNS = (
    "seq",
    "type",
    "at",
    "decision",
    "key",
    "model_version",
    "explored",
    "propensity",
    "expires_at",
    "answer",
    "candidates",
    "feedback",
    "status",
)


def columns(recording: Recording) -> list[str]:
    """The columns of a log; the slot is one where the model has several."""
    return [*(["slot"] if recording.slotted else []), *COLUMNS]


def row(event: Line) -> dict[str, Any]:
    """One event; what has no plain form is JSON."""
    told = event.reply
    answer = {name: value for name, value in told.items() if name not in _COMMON}
    version = event.model_version if event.model_version is not None else told.get("model_version")
    return {
        **({"slot": event.slot} if event.slot is not None else {}),
        "seq": event.seq,
        "type": event.type,
        "at": event.at,
        "decision": event.decision,
        "key": event.key,
        "model_version": version,
        "explored": told.get("explored"),
        "propensity": told.get("propensity"),
        "expires_at": told.get("expires_at"),
        "answer": _json(answer),
        "candidates": _json(event.ids),
        "feedback": _json(event.feedback),
        "status": event.status,
    }


def rows(recording: Recording, span: Span) -> Iterator[tuple[Line, dict[str, Any]]]:
    """The wanted events, each with its row."""
    return ((event, row(event)) for event in wanted(recording, span))


def _json(value: Any) -> str | None:
    return msgspec.json.encode(value).decode() if value else None
