"""Promotion: from one event on, a champion's name decides with the settings and the state of the one beside it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from smidgen import records
from smidgen.learners import Learner
from smidgen.service.messages import PromotedReply
from smidgen.service.models.bringing import keys_of
from smidgen.service.models.building import canonical
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry, resolved
from smidgen.service.models.served import Era, LearnerCache, Served
from smidgen.service.models.terms import Terms, told_of
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.protocol import Store


class Promoting:
    """The promotions of all models.

    Parameters
    ----------
    models, store, learners
        Who stands where, where it is written, who learns on.
    recent
        The decisions that wait for feedback in memory.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, models: Registry, store: Store, learners: LearnerCache, recent: Recent, clock: Callable[[], float]
    ) -> None:
        self._models = models
        self._store = store
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def take(self, name: str) -> PromotedReply:
        """Promote a shadow or a challenger into the place of its champion; it stays what it is, beside."""
        other = self._models.get(name)
        champion = other.leader
        if champion is None:
            raise Impossible(f"the model {name!r} stands beside nobody", "promote a challenger or a shadow")
        for each in (other, champion):
            if each.archived_at is not None:
                raise Conflict(f"the model {each.name!r} is archived", "only models that decide can be promoted")
        blueprint, before = other.blueprint.alone(), champion.blueprint
        learner = None if champion.keyed else self._learners.get(other, None).learner.to_bytes()
        told = {
            "settings": records.unpack(blueprint.record()),
            "guarded": blueprint.guarded,
            "amended": told_of(blueprint, Terms.of(blueprint.body), blueprint.terms),
            "state": _array(learner),
        }
        fields = {
            "source": name,
            "model": msgspec.json.decode(canonical(blueprint.body)),
            "resolved": resolved(blueprint),
            "learn": records.encode(told),
        }
        now = self._clock()
        seq = self._store.append(champion.slot, "promoted", now, bodies.write(fields), changes=True)
        self._store.derive(champion.slot, other.slot, other.seq)  # what is forgotten there is forgotten here too
        era = Era(before, seq, champion.version, "promoted", name)
        self._models.put(champion, blueprint, (*champion.past, era))
        self._learners.leave(champion, None)
        if learner is not None:
            self._learners.enter(champion, Learner.from_bytes(learner, f"the model {name}"), seq)
        else:
            self._with_keys(champion, other, now)
        self._recent.clear()
        reach("promoted")
        return PromotedReply(champion=champion.name, model_version=champion.version)

    def _with_keys(self, champion: Served, other: Served, now: float) -> None:
        """Each key has an event of its own, so that it can be forgotten by itself."""
        for key in keys_of(self._store, other):
            told = {"state": _array(self._learners.get(other, key).learner.to_bytes())}
            content = bodies.write({"source": other.name, "learn": records.encode(told)})
            self._store.append(champion.slot, "promoted", now, content, key=key, changes=True)


def _array(content: bytes | None) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    return None if content is None else np.frombuffer(content, np.uint8)
