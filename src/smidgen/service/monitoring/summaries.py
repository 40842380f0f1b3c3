"""The models at a glance, sorted: what the first page shows of each, kept as long as nothing has happened to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from smidgen.checks import suggest
from smidgen.service.engine.description import committed_counts, summarize_model
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import BadRequest, json_text
from smidgen.service.log.events import stamp
from smidgen.service.monitoring.health import SEVERITIES
from smidgen.service.schemas import Finding, ModelReply
from smidgen.service.storage.protocol import StoreReader

#: Seconds that a glance stays valid if nothing has happened since: windows may end.
HOLDS_S = 10.0


class ModelSummary(NamedTuple):
    """A model as the first page shows it.

    Attributes
    ----------
    model, reply
        The model, and what is said of it.
    active_at
        When its last event was.
    findings
        What was found about it, the worst first.
    judged
        Whether anybody has looked for findings yet; archived models need no look.
    """

    model: ServedModel
    reply: ModelReply
    active_at: float
    findings: Sequence[Finding] = ()
    judged: bool = True

    @property
    def severity(self) -> int:
        """Severity as a number: 0 for the worst; the largest if there are no findings."""
        return SEVERITIES.index(self.findings[0].severity) if self.findings else len(SEVERITIES)

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        out: dict[str, Any] = msgspec.to_builtins(self.reply)
        return {
            **out,
            "last_activity_at": stamp(self.active_at),
            "findings": list(self.findings),
            "judged": self.judged,
        }


def _quality(glance: ModelSummary) -> float:
    """A share or a reward, the most first; a loss, the least first."""
    quality = glance.reply.quality
    if quality.value is None:
        return float("inf")
    return quality.value if glance.model.blueprint.loop.silence is None else -quality.value


#: How the list may be sorted; those that are equal come in the order of their names.
ORDERS: dict[str, Callable[[ModelSummary], Any]] = {
    "created": lambda glance: (-glance.model.created_at, -glance.model.id),
    "name": lambda glance: (),
    "loop": lambda glance: glance.reply.loop,
    "decisions": lambda glance: -glance.reply.decisions,
    "activity": lambda glance: -glance.active_at,
    "quality": lambda glance: (glance.reply.quality.value is None, glance.reply.quality.measure, _quality(glance)),
    "health": lambda glance: glance.severity,
}


def sort_summaries(glances: Sequence[ModelSummary], order: str) -> list[ModelSummary]:
    """In one of the orders; archived models last, whatever it is."""
    if order not in ORDERS:
        raise BadRequest(f"sort is {json_text(order)}", suggest(order, ORDERS))
    by = ORDERS[order]
    return sorted(glances, key=lambda each: (each.model.archived_at is not None, by(each), each.model.name.lower()))


class SummaryCache:
    """Cache of the latest summary of each model."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, float, ModelReply, float]] = {}
        self._lock = threading.Lock()

    def of(self, reading: StoreReader, model: ServedModel, now: float) -> ModelSummary:
        """The model as it is now, or as it was a moment ago, if nothing has happened to it."""
        ends = {part.shard: committed_counts(reading, part).seq for part in model.parts}
        seen, began = (ends, model.archived_at, model.name), time.monotonic()
        with self._lock:
            known = self._known.get(model.shard)
        if known is None or known[0] != seen or began - known[1] > HOLDS_S:
            last = [event.at for shard, seq in ends.items() if (event := reading.event(shard, seq)) is not None]
            known = (seen, began, summarize_model(reading, model, now), max(last, default=model.created_at))
            with self._lock:
                self._known[model.shard] = known
        return ModelSummary(model, known[2], known[3])
