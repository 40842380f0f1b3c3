"""The two groups of a comparison with a holdout: decisions by unit, what they earned, and the split."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np

from smidgen.decision import FloatArray
from smidgen.evaluate.confidence import Estimate
from smidgen.evaluate.lift import Lift, SampleRatio, lift, lift_of_units, mean_of_units, sample_ratio
from smidgen.service.engine.description import span_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.loops.base import Loop
from smidgen.service.loops.estimates import bounded_mean, mean_of
from smidgen.service.schemas import LiftReply, MeanReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import GroupRow

#: Estimates have an interval from this number of observations on.
FEW = 10


def estimate(values: Sequence[float], span: tuple[float, float] | None) -> MeanReply:
    """Return a mean with an interval that holds however often you look, within the range of the reward."""
    if span is None or not values:
        value, low, high = mean_of(list(values), span)
        return MeanReply(value=value, low=low, high=high, n=len(values))
    found = bounded_mean("", np.array(values), *span)
    return MeanReply(value=found.value, low=found.low, high=found.high, n=found.of)


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
    x
        Covariates of decisions by event, of models with one shard; they count where there are no units.
    amounts, span
        What is compared in the place of the reward, by row, and its least and largest value. As the range of such
        amounts is not known beforehand, intervals are those of units, each decision being one where there are none.
    """

    def __init__(
        self,
        rows: Sequence[GroupRow],
        loop: Loop,
        now: float,
        x: Mapping[int, Sequence[float]] | None = None,
        *,
        amounts: Sequence[float] | None = None,
        span: tuple[float, float] | None = None,
    ) -> None:
        low, high = span or span_of(loop) or (0.0, 1.0)
        self._unbounded = amounts is not None
        worst = loop.silence if loop.share or loop.silence is None else loop.terms.reward_range[0]
        sums: dict[tuple[object, bool], list[float]] = {}
        self._shares: list[float] = []
        self.known: int | None = None
        named = set[str]()
        for place, row in reversed(list(enumerate(rows))):
            value = _value(row, worst, now)
            if value is None:
                continue
            if amounts is not None:
                value = amounts[place]
            if row.unit is not None:
                named.add(row.unit)
            of = (row.unit if row.unit is not None else row.seq, row.holdout)
            if of not in sums:
                self._shares.append(row.share)
            one = sums.setdefault(of, [0.0, 0.0])
            one[0] += min(1.0, max(0.0, (value - low) / (high - low)))
            one[1] += 1.0
        self.known = len(named) or None
        self._rewards, self._decisions = np.array([*sums.values()]).reshape(-1, 2).T
        self._treated = np.array([not held for _, held in sums], dtype=np.float64)
        self._x: FloatArray | None = None
        if x is not None and self.known is None and sums:
            self._x = np.array([x[seq] for seq, _ in sums if isinstance(seq, int)])

    @property
    def decisions_per_unit(self) -> float:
        """Mean number of decisions of an observation."""
        return float(self._decisions.mean()) if len(self._decisions) else 1.0

    @property
    def _by_units(self) -> bool:
        """True if units are the observations."""
        return self.known is not None or self._unbounded

    def lift_reply(self, width: float) -> LiftReply:
        """Return the lift in the unit of the reward."""
        if (found := self.lift()) is None:
            return LiftReply(difference=no_reply(), ratio=no_reply())
        return LiftReply(difference=self._reply(found.difference, width), ratio=self._reply(found.ratio, 1.0))

    def _reply(self, found: Estimate, width: float) -> MeanReply:
        known = as_reply(found, width)
        if self._unbounded and not found.enough:  # there is no range to give in the place of an interval
            return MeanReply(value=known.value, low=None, high=None, n=known.n)
        return known

    def lift(self) -> Lift | None:
        """Return the lift of the model over the holdout; None while one of the groups is empty."""
        if not 0 < self._treated.sum() < len(self._treated):
            return None
        if self._by_units:
            return lift_of_units(self._rewards, self._decisions, self._treated)
        chances = np.clip(1.0 - np.array(self._shares), 1e-9, 1.0 - 1e-9)
        return lift(self._rewards, self._treated, share=chances, covariates=self._x)

    def mean(self, holdout: int, span: tuple[float, float]) -> MeanReply:
        """Return the mean reward of the model (0) or of the holdout (1)."""
        mine, (low, high) = self._treated == 1 - holdout, span
        if not self._by_units:
            return estimate((low + (high - low) * self._rewards[mine]).tolist(), span)
        found = mean_of_units(self._rewards[mine], self._decisions[mine])
        reply = self._reply(found, high - low)
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


def finite(value: float) -> float | None:
    """Return a number, or None of one that is not finite."""
    return value if math.isfinite(value) else None


def as_reply(found: Estimate, width: float) -> MeanReply:
    """Return an estimate in the unit of the reward; below ten observations without an interval."""
    known = found.n >= FEW
    ends = [finite(each * width) if known else None for each in (found.low, found.high)]
    return MeanReply(value=finite(found.value * width), low=ends[0], high=ends[1], n=found.n)


def no_reply() -> MeanReply:
    """Return the estimate of nothing."""
    return MeanReply(value=None, low=None, high=None, n=0)
