"""Fresh starts of learners: when rewards changed, by version of the model.

Which there were is part of a learner's state, so that rollback and retraction take them back. The state numbers the
decision whose answer was the last before each; the log says which version that answer made, and when.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.learners.base import learners
from smidgen.learners.pipeline import restarts_of
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.recovery import recover_learner
from smidgen.service.storage.protocol import StoreReader

#: The learner of a model and key that is in memory; None if it is not.
InMemory = Callable[[ServedModel, str | None], Learner | None]


class ModelRestart(NamedTuple):
    """A fresh start of a learner.

    Attributes
    ----------
    version
        The model's version, made by the answer that was the last before it.
    at
        When that answer was learnt, in seconds since 1970.
    reason
        Why.
    """

    version: int
    at: float
    reason: str


def detects_change(model: ServedModel) -> bool:
    """True if the learner of a model detects changes and starts again."""
    return hasattr(learners.get(model.blueprint.kind), "restarts")


def read_restarts(
    reading: StoreReader, model: ServedModel, key: str | None, held: Learner | None = None
) -> list[ModelRestart] | None:
    """The latest fresh starts of a learner, oldest first; None if its log cannot be read.

    Those of a learner that was imported, or promoted from another model, are left out: they are in another log.

    Parameters
    ----------
    reading
        The store.
    model, key
        Whose learner it is; of a model with shards, the shard of the key.
    held
        The learner if it is in memory; else it is recovered from its newest state and the events after it.
    """
    if not detects_change(model):
        return []
    try:
        learner = held if held is not None else recover_learner(reading, model, key)[0]
        found = (_placed(reading, model, key, each.decision, each.reason) for each in restarts_of(learner))
        return [each for each in found if each is not None]
    except SmidgenError:  # damaged, or erased meanwhile
        return None


def _placed(reading: StoreReader, model: ServedModel, key: str | None, number: int, reason: str) -> ModelRestart | None:
    """Look up which version the answer to a decision made; None if it is not in this log, or erased."""
    counts, checkpoint = reading.counts(model.shard), reading.checkpoint(model.shard)
    low, high = max(model.since, 0 if checkpoint is None else checkpoint.seq), 0 if counts is None else counts.seq
    if number < 1 or reading.last_number(model.shard, key, low) >= number:
        return None
    while high - low > 1:  # numbers rise with events: the first event with this number is its decision
        middle = (low + high) // 2
        low, high = (low, middle) if reading.last_number(model.shard, key, middle) >= number else (middle, high)
    last_event = reading.event(model.shard, high)
    row = reading.decision(last_event.decision) if last_event is not None and last_event.decision is not None else None
    if row is None or row.seq != high or row.version is None or row.feedback_seq is None:
        return None
    feedback = reading.event(model.shard, row.feedback_seq)
    return None if feedback is None else ModelRestart(row.version, feedback.at, reason)
