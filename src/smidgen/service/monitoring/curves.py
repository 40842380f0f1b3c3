"""Learning curves, live bounds, and curves of spend.

Learning curves: sums over small blocks of the log, read once, kept, and merged into as many windows as a page shows.

What has been learnt never changes, so a block is read once. A million decisions are read in steps that are short enough
to let other requests through.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.service.engine.description import committed_counts
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.reports import read_reports
from smidgen.service.engine.retention import last_before
from smidgen.service.engine.spending import read_record
from smidgen.service.log import codec
from smidgen.service.log.events import stamp
from smidgen.service.loops.estimates import mean
from smidgen.service.monitoring.health import ConditionReport
from smidgen.service.storage.protocol import Question, StoreReader
from smidgen.service.storage.records import DecisionRow
from smidgen.theory.theorems import Guarantee, Rounds, promised

BLOCK = 5
STEP = 5_000
PATIENCE_S = 0.7


class Kind(NamedTuple):
    """Kind of sum in a block.

    Attributes
    ----------
    question
        What the store is asked, by after, upto and block; it gives the block's number, then the columns.
    columns
        The names of the sums.
    last
        The count of a model that says how far the numbers go.
    """

    question: Question
    columns: tuple[str, ...]
    last: str


#: By learnt feedback. The lag is how many events, and so updates, came between a decision and its feedback, at most.
LEARNT = Kind("learnt_blocks", ("n", "measured", "measure", "squares", "placed", "position", "lag"), "version")
#: By events; those that are no decisions leave their blocks emptier.
MADE = Kind("made_blocks", ("n", "explored", "asked", "forwarded"), "seq")


class Sums(NamedTuple):
    """The blocks of a model so far.

    Attributes
    ----------
    rows
        One row per block, the last one perhaps not full; the columns of the kind.
    complete
        Whether the whole log has been read; if not, ask again.
    """

    rows: FloatArray
    complete: bool


#: The last event that took something back, the last one that forgot a key, and up to where the log is erased.
Past = tuple[int, int, int]
NOTHING = Sums(np.zeros((0, 0)), True)


class Curves:
    """The blocks of all models that were requested; what was taken back or erased since lets them go."""

    def __init__(self) -> None:
        self._full: dict[tuple[int, str], tuple[Past, FloatArray]] = {}

    async def sums(self, reading: StoreReader, model: ServedModel, kind: Kind) -> Sums:
        """The blocks up to now, or as far as a moment's patience goes; of all shards, as if they had grown evenly."""
        began = time.monotonic()
        found = [await self._sums(reading, part, kind, began) for part in model.parts]
        if len(found) == 1:
            return found[0]
        places = [np.arange(len(each.rows)) / max(1, len(each.rows)) for each in found]
        order = np.argsort(np.concatenate(places), kind="stable")
        return Sums(np.concatenate([each.rows for each in found])[order], all(each.complete for each in found))

    async def _sums(self, reading: StoreReader, model: ServedModel, kind: Kind, began: float) -> Sums:
        """Sums of one shard."""
        place = (model.shard, kind.last)
        past = await asyncio.to_thread(_past, reading, model.shard)
        start = self._known(place, past, np.zeros((0, len(kind.columns))))
        parts, done = [start], len(start) * BLOCK
        while True:
            read, last, done = await asyncio.to_thread(_read, reading, model, kind, done)
            parts.append(read)
            if done == last or time.monotonic() - began > PATIENCE_S:
                break
        rows = np.concatenate(parts)
        if done // BLOCK > len(self._known(place, past, start)):
            self._full[place] = past, rows[: done // BLOCK]
        return Sums(rows, done == last)

    def _known(self, place: tuple[int, str], past: Past, fresh: FloatArray) -> FloatArray:
        """The blocks of a past that is still what it was."""
        before, rows = self._full.get(place, (past, fresh))
        return rows if before == past else fresh


def _past(reading: StoreReader, shard: int) -> Past:
    """Latest changes to the past of a shard: undo, forgotten key, folded events."""
    rewinds, base = reading.undo_events(shard), reading.checkpoint(shard)
    return rewinds[-1].seq if rewinds else 0, reading.last_forgetting(shard), base.erased if base is not None else 0


def _read(reading: StoreReader, model: ServedModel, kind: Kind, after: int) -> tuple[FloatArray, int, int]:
    last = int(getattr(committed_counts(reading, model), kind.last))
    upto = min(last, after + STEP)
    out = np.zeros((math.ceil((upto - after) / BLOCK), len(kind.columns)))
    for block, *sums in reading.query(kind.question, model.shard, after=after, upto=upto, block=BLOCK):
        out[block - after // BLOCK] = sums
    return out, last, upto


def windows(rows: FloatArray, at_most: int) -> tuple[FloatArray, IntArray]:
    """Merge blocks into at most a given number of windows of 1, 2, 5, 10, … blocks; the windows, and where each begins.

    A last window that is less than half full joins the one before: two answers alone would look like a leap.
    """
    size, steps = 1, (2.0, 2.5, 2.0)
    turn = 0
    while math.ceil(len(rows) / size) > at_most:
        size, turn = int(size * steps[turn % 3]), turn + 1
    starts = np.arange(0, len(rows), size)
    if len(starts) > 1 and 2 * rows[starts[-1] :, 0].sum() < rows[starts[-2] : starts[-1], 0].sum():
        starts = starts[:-1]
    return (np.add.reduceat(rows, starts, axis=0) if len(rows) else rows), starts


def learnt_points(rows: FloatArray, span: tuple[float, float] | None) -> list[dict[str, Any]]:
    """The loop's figure and the mean position per window of learnt feedback; ``span`` is the range of the figure."""
    merged, starts = windows(rows, _enough(rows))
    lags = np.maximum.accumulate(np.maximum.reduceat(rows[:, 6], starts)) if len(rows) else rows[:, 6]
    points, done = [], 0
    ends = [*(BLOCK * starts[1:]).tolist(), BLOCK * len(rows)] if len(rows) else []
    for (n, measured, total, squares, placed, position, _), lag, end in zip(
        merged.tolist(), lags.tolist(), ends, strict=True
    ):
        if not n:  # all of it was erased
            continue
        value, low, high = mean(int(measured), total, squares, span)
        points.append(
            {
                "from": done + 1,
                "to": done + int(n),
                "n": int(measured),
                "value": value,
                "low": low,
                "high": high,
                "position": position / placed if placed else None,
                "lag": int(lag),
                "version": end,
            }
        )
        done += int(n)
    return points


#: Maximum number of changes of settings that a chart marks.
MARKS = 50


def timed(reading: StoreReader, model: ServedModel, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return points with the time of the last answer of each; of models with several shards without."""
    if len(model.parts) > 1:
        return [{**point, "at": None} for point in points]
    found = []
    for point in points:
        rows = reading.query("answered_at", model.shard, version=point["version"])
        found.append({**point, "at": stamp(rows[0][0]) if rows else None})
    return found


def version_since(reading: StoreReader, model: ServedModel, since: float) -> int:
    """Return the version that was in force at a time, 0 before the log begins."""
    base = reading.checkpoint(model.shard)
    first = base.seq if base is not None else 0
    seq = last_before(reading, model.shard, first, model.seq, since)
    return reading.version_at(model.shard, seq) if seq > first else 0


def settings_marks(reading: StoreReader, model: ServedModel) -> list[dict[str, Any]]:
    """Return when settings changed, another model was promoted, or somebody went back, oldest first."""
    found = []
    for seq, type, at in reading.query("settings", model.shard, limit=MARKS):
        event = reading.event(model.shard, seq)
        fields = codec.read_fields(event.body, seq) if event is not None else {}
        found.append({"at": stamp(at), "text": _mark(type, fields)})
    return found[::-1]


def _mark(type: str, fields: Mapping[str, Any]) -> str:
    if type == "amended":
        return f"changed {', '.join(sorted(fields.get('changes') or ())) or 'settings'}"
    return (
        f"promoted {fields.get('source')}" if type == "promoted" else f"rolled back to version {fields.get('version')}"
    )


def made_points(rows: FloatArray) -> list[dict[str, Any]]:
    """The shares of explored and of forwarded decisions, per window of decisions."""
    points, done = [], 0
    for n, explored, asked, forwarded in windows(rows, _enough(rows))[0].tolist():
        if n:
            points.append(
                {
                    "from": done + 1,
                    "to": done + int(n),
                    "explored": explored / n,
                    "forwarded": forwarded / asked if asked else None,
                }
            )
        done += int(n)
    return points


def _enough(rows: FloatArray) -> int:
    """Few windows while there is little to average over, more when there is plenty."""
    return 15 if len(rows) < 400 else 50


# What theory promises about a served model, from what the service knows and has observed of it.


def guarantee(model: ServedModel, points: Rounds, conditions: ConditionReport) -> Guarantee:
    """The bound after a number of rounds, if the data refute none of its conditions.

    Parameters
    ----------
    model
        The model.
    points
        Rounds, and by how many updates the deciding weights were behind at most until then.
    conditions
        What the data say of the conditions.
    """
    promise = _bound_points(model, points)
    if promise.why_not is not None:
        return promise
    if conditions.fails is not None:
        return Guarantee(theorem=promise.theorem, why_not=conditions.fails)
    return promise._replace(checked=conditions.holds)


def _bound_points(model: ServedModel, points: Rounds) -> Guarantee:
    """Bound from theory, if all its conditions hold."""
    if model.keyed:
        return Guarantee(why_not="Each key has its own learner with its own rounds; the bound applies to each of them.")
    card = model.blueprint.card
    return promised(card.theorem, card.bound, model.blueprint.settings, points)


# Spend curves: recent spend and prices of a model with a budget, in windows of the latest decisions

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
