"""Recent spend and prices of a model with a budget: the latest decisions in windows, for the dashboard."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.reports import read_reports
from smidgen.service.engine.spending import read_record
from smidgen.service.log import codec
from smidgen.service.log.events import stamp
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import DecisionRow

#: Number of decisions that are read, and of those in a window.
LATEST, WINDOW = 600, 20

#: The time of a decision, its costs, and the prices at which it was made.
Paid = tuple[float, Mapping[str, float], Mapping[str, float]]


def spend_points(reading: StoreReader, model: ServedModel) -> dict[str, dict[str, Any]] | None:
    """Return by currency the limit, and of each window its end, mean cost and last price; None without a budget."""
    limits = model.blueprint.terms.budget
    if limits is None or model.leader is not None:
        return None
    with reading.snapshot():
        newest = heapq.merge(*(_latest(reading, part) for part in model.parts), key=lambda paid: -paid[0])
        paid = list(islice(newest, LATEST))[::-1]
    windows = [paid[end - WINDOW : end] for end in range(len(paid), 0, -WINDOW) if end >= WINDOW or len(paid) < WINDOW]
    return {
        name: {
            "limit": limit if isinstance(limit, float | int) else None,
            "points": [
                {
                    "at": stamp(window[-1][0]),
                    "cost": sum(costs.get(name, 0.0) for _, costs, _ in window) / len(window),
                    "price": window[-1][2].get(name),
                }
                for window in reversed(windows)
                if window
            ],
        }
        for name, limit in limits.items()
    }


def _latest(reading: StoreReader, model: ServedModel) -> Iterator[Paid]:
    """The latest decisions of a shard that were paid, newest first."""
    for row in reading.query("latest", model.shard, before=1 << 62, limit=LATEST):
        if (found := _paid(reading, DecisionRow(*row))) is not None:
            yield found


def _paid(reading: StoreReader, row: DecisionRow) -> Paid | None:
    """Cost of a decision: as it was reported, else as it was known when the decision was made."""
    event = reading.event(row.shard, row.seq)
    if event is None or not row.shown:
        return None
    made = read_record(codec.read_decision(event.body, event.seq).record)
    if made is None or made.costs is None:
        return None
    costs = dict(made.costs_of_action())
    reported: dict[str, float] = {}
    for report in read_reports(row.reports):
        for name, cost in (report.feedback.get("costs") or {}).items():
            reported[name] = reported.get(name, 0.0) + cost
    answer = reading.event(row.shard, row.feedback_seq) if row.feedback_seq is not None else None
    if answer is not None and answer.type in ("feedback", "recorded"):
        reported |= codec.read_feedback(answer.body, answer.seq).feedback.get("costs") or {}
    return event.at, costs | reported, made.price or {}
