"""What a model is worth: its rewards against those of its holdout, from the decisions of both.

Closed decisions count: answered in time, or their window is over. One without feedback in time counts as in the quality
figure. Where requests carry units, the observations are units. At most the latest `LATEST` decisions are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from smidgen.service.engine.description import span_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import NoHoldout
from smidgen.service.monitoring.covariates import covariates, expected
from smidgen.service.monitoring.groups import Groups, as_reply, finite, group_rows, no_reply, ratio_of
from smidgen.service.schemas import LiftReply, SampleRatioReply, WorthReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import GroupRow

#: How many decisions are read, the latest of all shards together.
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
    units = Groups([row for rows in parts for row in rows], model.blueprint.loop, now, x)
    found = units.lift()
    width = high - low
    difference = as_reply(found.difference, width) if found is not None else no_reply()
    to_go = None if found is None or found.to_go is None else math.ceil(found.to_go * units.decisions_per_unit)
    return WorthReply(
        model=units.mean(0, (low, high)),
        holdout=units.mean(1, (low, high)),
        lift=LiftReply(difference=difference, ratio=as_reply(found.ratio, 1.0) if found is not None else no_reply()),
        sample_ratio=SampleRatioReply(expected=ratio.expected, observed=finite(ratio.observed), p=ratio.p, ok=ratio.ok),
        verdict=found.verdict if found is not None else "not yet",
        decisions_to_go=to_go,
        units=units.known,
    )


def _expected(
    reading: StoreReader, model: ServedModel, parts: Sequence[Sequence[GroupRow]]
) -> dict[int, Sequence[float]] | None:
    """Expected rewards of the decisions, by event; None with units, which are not adjusted, and with shards."""
    if len(parts) > 1 or any(row.unit is not None for row in parts[0]):
        return None
    seqs = [row.seq for row in parts[0]]
    found = covariates(expected(reading, model, {model.shard: seqs}), [(model.shard, seq) for seq in seqs])
    return None if found is None else dict(zip(seqs, found.tolist(), strict=True))
