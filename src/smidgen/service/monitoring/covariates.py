"""Covariates of decisions for tighter comparisons: what the model expected of each before anything was shown.

The best and the mean score of a decision are known before the split, and explain the part of the rewards that the
context explains. A comparison adjusts for them (`smidgen.evaluate.lift.lift`), and its interval is narrower by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import SmidgenError
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.log.events import DECIDED
from smidgen.service.storage.protocol import StoreReader

#: Comparisons of more decisions than this are not adjusted: reading their records would take long.
MOST = 5_000
#: Number of rows that are read together, and how many bytes of them at most.
_TOGETHER, _BYTES = 250, 16 << 20
#: Scores beyond this do not count.
_LARGEST = 1e6

#: By shard and event: the best score, the mean score.
Expected = Mapping[tuple[int, int], tuple[float, float]]


def expected(reading: StoreReader, model: ServedModel, seqs: Mapping[int, Sequence[int]]) -> Expected:
    """Return what a model expected of its decisions, by shard and event; nothing if they are too many.

    Parameters
    ----------
    reading, model
        The store and the model.
    seqs
        By shard: the events of the decisions.
    """
    if sum(map(len, seqs.values())) > MOST:
        return {}
    log, found, room = EventLog(reading), dict[tuple[int, int], tuple[float, float]](), _BYTES
    for part in model.parts:
        mine = list(seqs.get(part.shard, ()))
        for begin in range(0, len(mine), _TOGETHER):
            events = [reading.event(part.shard, seq) for seq in mine[begin : begin + _TOGETHER]]
            some = [event for event in events if event is not None and event.type in DECIDED]
            room -= sum(len(event.body or b"") for event in some)
            if room < 0:
                return found
            try:
                decided = log.decode_decisions(part, some)
            except SmidgenError:  # of settings that are not known any more
                continue
            for event, (_, decision) in zip(some, decided, strict=True):
                scores = decision.scores
                if scores is not None and len(scores) and np.isfinite(scores).all():
                    limits = np.clip(scores, -_LARGEST, _LARGEST)
                    found[part.shard, event.seq] = float(limits.max()), float(limits.mean())
    return found


def covariates(known: Expected, places: Sequence[tuple[int, int]]) -> FloatArray | None:
    """Return the covariates of decisions in their order, with a column that says where they are known; None if nowhere.

    Examples
    --------
    >>> from smidgen.service.monitoring.covariates import covariates
    >>> covariates({(1, 7): (0.5, 0.25)}, [(1, 7), (1, 9)]).tolist()
    [[0.5, 0.25, 1.0], [0.0, 0.0, 0.0]]
    """
    if not known:
        return None
    none = (0.0, 0.0)
    return np.array([(*known.get(place, none), float(place in known)) for place in places])
