"""Exact forgetting: the events of a key are erased, and its learner is as if they had never been."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.service.messages import ForgottenReply
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
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

    def _let_go(self, model: Served, key: str) -> None:
        """Keep nothing of it in memory."""
        self._learners.leave(model, key)
        self._log.let_go(model, key)
        self._recent.clear()
        model.scaled.pop(key, None)

    def take(self, name: str, key: str) -> ForgottenReply:
        """Erase all that was said of a key; keys that were never heard of are unknown."""
        model = self._models.get(name)
        if not model.keyed:
            raise Impossible("this model has no keys", "only what belongs to a key can be forgotten")
        count, verdict = self._store.forget(model.slot, key, self._clock())
        if not count:
            raise Unknown(f"there is no key {key!r}", "it has no events, so there is nothing to forget")
        self._let_go(model, key)
        for other in model.followers:  # what they were taught of the key's decisions, and made beside them
            erased, _ = self._store.forget(other.slot, key, self._clock())
            count += erased
            self._let_go(other, key)
        return ForgottenReply(forgotten=count, model_version=verdict.version)
