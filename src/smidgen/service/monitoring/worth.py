"""Worth of a model: its rewards compared with those of its holdout, from the decisions of both.

Closed decisions count: answered in time, or their window is over. One without feedback in time counts as in the quality
figure. Where requests carry units, the observations are units. At most the latest `LATEST` decisions are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import UNSET

from smidgen.service.engine.description import span_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.reports import read_reports, sum_of_part
from smidgen.service.errors import NoHoldout
from smidgen.service.monitoring.covariates import covariates, expected
from smidgen.service.monitoring.groups import Groups, finite, group_rows, no_reply, ratio_of
from smidgen.service.schemas import LiftReply, PartReply, SampleRatioReply, WorthReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import GroupRow

#: Number of decisions that are read, the latest of all shards together.
LATEST = 50_000


def worth_of(reading: StoreReader, model: ServedModel, now: float) -> WorthReply:
    """Compare a model with its holdout; a model without one is a conflict."""
    holdout = model.blueprint.terms.holdout
    if holdout is None or not holdout.share:
        raise NoHoldout(f'the model "{model.name}" has no holdout', 'set one with PATCH: {"holdout": {"share": 0.05}}')
    with reading.snapshot():
        parts = [group_rows(reading, part, LATEST // len(model.parts)) for part in model.parts]
        x = _expected(reading, model, parts)
    ratio = ratio_of(parts, holdout.share)
    low, high = span_of(model.blueprint.loop) or (0.0, 1.0)
    rows = [row for some in parts for row in some]
    units = Groups(rows, model.blueprint.loop, now, x)
    found, lift = units.lift(), units.lift_reply(high - low)
    rule = model.blueprint.terms.rewards
    to_go = None if found is None or found.to_go is None else math.ceil(found.to_go * units.decisions_per_unit)
    return WorthReply(
        model=units.mean(0, (low, high)),
        holdout=units.mean(1, (low, high)),
        lift=lift,
        sample_ratio=SampleRatioReply(expected=ratio.expected, observed=finite(ratio.observed), p=ratio.p, ok=ratio.ok),
        verdict=found.verdict if found is not None else "not yet",
        decisions_to_go=to_go,
        units=units.known,
        parts={part: _part(rows, part, model, now) for part in rule} if isinstance(rule, dict) else UNSET,
    )


def _part(rows: Sequence[GroupRow], part: str, model: ServedModel, now: float) -> PartReply:
    """Compare what was reported of one part; its range is that of what was reported."""
    amounts = [sum_of_part(part, read_reports(row.reports)) for row in rows]
    span = min([0.0, *amounts]), max([0.0, *amounts])
    if span[0] == span[1]:
        span = 0.0, 1.0
    both = Groups(rows, model.blueprint.loop, now, amounts=amounts, span=span)
    lift = both.lift_reply(span[1] - span[0])
    if span[0] < 0.0:  # a ratio needs amounts that are not negative
        lift = LiftReply(difference=lift.difference, ratio=no_reply())
    return PartReply(model=both.mean(0, span), holdout=both.mean(1, span), lift=lift)


def _expected(
    reading: StoreReader, model: ServedModel, parts: Sequence[Sequence[GroupRow]]
) -> dict[int, Sequence[float]] | None:
    """Expected rewards of the decisions, by event; None with units, which are not adjusted, and with shards."""
    if len(parts) > 1 or any(row.unit is not None for row in parts[0]):
        return None
    seqs = [row.seq for row in parts[0]]
    found = covariates(expected(reading, model, {model.shard: seqs}), [(model.shard, seq) for seq in seqs])
    return None if found is None else dict(zip(seqs, found.tolist(), strict=True))
