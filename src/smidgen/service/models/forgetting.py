"""Exact forgetting: the events of a key are erased, and its learner is as if they had never been."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.messages import ForgottenReply
from smidgen.service.models.hashed_names import PLACE, HashedNames
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache
from smidgen.service.refusals import Impossible, Unknown
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store


class Forgetting:
    """What is forgotten, of all models.

    Parameters
    ----------
    models, store, log, learners
        Whose keys they are, where events are erased, how they are read, who learnt from them.
    recent
        The decisions that wait for feedback in memory.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        models: Registry,
        store: Store,
        log: EventLog,
        learners: LearnerCache,
        recent: Recent,
        clock: Callable[[], float],
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def take(self, name: str, key: str) -> ForgottenReply:
        """Erase all that was said of a key; keys that were never heard of are unknown."""
        model = self._models.get(name)
        if not model.keyed:
            raise Impossible("this model has no keys", "only what belongs to a key can be forgotten")
        count, verdict = self._store.forget(model.slot, key, self._clock())
        if not count:
            raise Unknown(f"there is no key {key!r}", "it has no events, so there is nothing to forget")
        self._learners.leave(model, key)
        self._log.let_go(model, key)
        if model.hashed is not None and model.blueprint.dim is not None and verdict.seq is not None:
            model.hashed = HashedNames.folded(self._store, model.slot, model.blueprint.dim)
            self._store.publish(model.slot, PLACE, verdict.seq, model.hashed.to_bytes())
        self._recent.clear()
        model.scaled.pop(key, None)
        return ForgottenReply(forgotten=count, model_version=verdict.version)
