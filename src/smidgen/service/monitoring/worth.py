"""What a model is worth: its rewards against those of its holdout, from the decisions of both.

Closed decisions count: answered in time, or their window is over. One without feedback in time counts as in the quality
figure. Where requests carry units, the observations are units. At most the latest `LATEST` decisions are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from smidgen.evaluate.confidence import Estimate
from smidgen.evaluate.lift import Lift, SampleRatio, lift, lift_of_units, mean_of_units, sample_ratio
from smidgen.service.engine.description import span_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import NoHoldout
from smidgen.service.loops.base import Loop
from smidgen.service.monitoring.breakdown import estimate
from smidgen.service.schemas import LiftReply, MeanReply, SampleRatioReply, WorthReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import GroupRow

#: How many decisions are read, the latest of all shards together.
LATEST = 50_000
#: Estimates have an interval from this number of observations on.
FEW = 10


def worth_of(reading: StoreReader, model: ServedModel, now: float) -> WorthReply:
    """Compare a model with its holdout; a model without one is a conflict."""
    holdout = model.blueprint.terms.holdout
    if holdout is None or not holdout.share:
        raise NoHoldout(f'the model "{model.name}" has no holdout', 'set one with PATCH: {"holdout": {"share": 0.05}}')
    with reading.snapshot():
        parts = [group_rows(reading, part, LATEST // len(model.parts)) for part in model.parts]
    ratio = ratio_of(parts, holdout.share)
    low, high = span_of(model.blueprint.loop) or (0.0, 1.0)
    units = Groups([row for rows in parts for row in rows], model.blueprint.loop, now)
    found = units.lift()
    width = high - low
    difference = _reply(found.difference, width) if found is not None else _nothing()
    to_go = None if found is None or found.to_go is None else math.ceil(found.to_go * units.decisions_per_unit)
    return WorthReply(
        model=units.mean(0, (low, high)),
        holdout=units.mean(1, (low, high)),
        lift=LiftReply(difference=difference, ratio=_reply(found.ratio, 1.0) if found is not None else _nothing()),
        sample_ratio=SampleRatioReply(
            expected=ratio.expected, observed=_number(ratio.observed), p=ratio.p, ok=ratio.ok
        ),
        verdict=found.verdict if found is not None else "not yet",
        decisions_to_go=to_go,
        units=units.known,
    )


def group_rows(reading: StoreReader, model: ServedModel, limit: int) -> list[GroupRow]:
    """Read the decisions of a shard that count in the comparison, the newest first."""
    return [GroupRow(*row) for row in reading.query("groups", model.shard, limit=limit)]


def ratio_of(parts: Sequence[Sequence[GroupRow]], share: float) -> SampleRatio:
    """Test the split since the share was last changed: units, and decisions where there are none.

    ``parts`` has the decisions of each shard, the newest first.
    """
    if not 0.0 < share < 1.0:
        return SampleRatio(share, math.nan, 1.0, True)
    seen: dict[object, bool] = {}
    for row in (each for rows in parts for each in takewhile(lambda row: row.share == share, rows)):
        seen[row.unit if row.unit is not None else row.seq] = row.holdout
    return sample_ratio(sum(seen.values()), len(seen), share)


class Groups:
    """The closed decisions of a model and of its holdout, by unit, in the order of first sight.

    Parameters
    ----------
    rows
        The decisions, the newest first.
    loop
        The model's loop: it says what missing feedback counts for.
    now
        Seconds since 1970.
    """

    def __init__(self, rows: Sequence[GroupRow], loop: Loop, now: float) -> None:
        low, high = span_of(loop) or (0.0, 1.0)
        worst = loop.silence if loop.share or loop.silence is None else loop.terms.reward_range[0]
        sums: dict[tuple[object, bool], list[float]] = {}
        self._shares: list[float] = []
        self.known: int | None = None
        named = set[str]()
        for row in reversed(rows):
            value = _value(row, worst, now)
            if value is None:
                continue
            if row.unit is not None:
                named.add(row.unit)
            place = (row.unit if row.unit is not None else row.seq, row.holdout)
            if place not in sums:
                self._shares.append(row.share)
            one = sums.setdefault(place, [0.0, 0.0])
            one[0] += min(1.0, max(0.0, (value - low) / (high - low)))
            one[1] += 1.0
        self.known = len(named) or None
        self._rewards, self._decisions = np.array([*sums.values()]).reshape(-1, 2).T
        self._treated = np.array([not held for _, held in sums], dtype=np.float64)

    @property
    def decisions_per_unit(self) -> float:
        """Mean number of decisions of an observation."""
        return float(self._decisions.mean()) if len(self._decisions) else 1.0

    def lift(self) -> Lift | None:
        """Return the lift of the model over the holdout; None while one of the groups is empty."""
        if not 0 < self._treated.sum() < len(self._treated):
            return None
        if self.known is not None:
            return lift_of_units(self._rewards, self._decisions, self._treated)
        chances = np.clip(1.0 - np.array(self._shares), 1e-9, 1.0 - 1e-9)
        return lift(self._rewards, self._treated, share=chances)

    def mean(self, holdout: int, span: tuple[float, float]) -> MeanReply:
        """Return the mean reward of the model (0) or of the holdout (1)."""
        mine, (low, high) = self._treated == 1 - holdout, span
        if self.known is None:
            return estimate((low + (high - low) * self._rewards[mine]).tolist(), span)
        found = mean_of_units(self._rewards[mine], self._decisions[mine])
        reply = _reply(found, high - low)
        ends = [None if each is None else low + each for each in (reply.value, reply.low, reply.high)]
        return MeanReply(value=ends[0], low=ends[1], high=ends[2], n=found.n)


def _value(row: GroupRow, worst: float | None, now: float) -> float | None:
    """Return what a decision earned; None while it is open, or if that is not known."""
    if not row.shown or (row.feedback_seq is None and row.expires_at >= now):
        return None
    in_time = row.holdout or row.version is not None or row.feedback_hash is None
    if row.measure is not None and in_time:
        return row.measure
    rolled_back = row.version is not None
    return None if rolled_back else worst


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _reply(found: Estimate, width: float) -> MeanReply:
    known = found.enough and found.n >= FEW
    ends = [_number(each * width) if known else None for each in (found.low, found.high)]
    return MeanReply(value=_number(found.value * width), low=ends[0], high=ends[1], n=found.n)


def _nothing() -> MeanReply:
    return MeanReply(value=None, low=None, high=None, n=0)
