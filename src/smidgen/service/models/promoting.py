"""Promotion: from one event on, a champion's name decides with the settings and the state of the one beside it."""

from __future__ import annotations

import msgspec
import numpy as np

from smidgen import records
from smidgen.learners import Learner
from smidgen.service.messages import PromotedReply
from smidgen.service.models.bringing import keys_of
from smidgen.service.models.building import canonical
from smidgen.service.models.registry import resolved
from smidgen.service.models.served import Era, Served
from smidgen.service.models.terms import Terms, told_of
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach


class Promoting(Commands):
    """The promotions of all models."""

    def take(self, name: str) -> PromotedReply:
        """Promote a shadow or a challenger into the place of its champion; it stays what it is, beside."""
        other = self._models.get(name)
        champion = other.leader
        if champion is None:
            raise Impossible(f"the model {name!r} stands beside nobody", "promote a challenger or a shadow")
        for each in (other, champion):
            if each.archived_at is not None:
                raise Conflict(f"the model {each.name!r} is archived", "only models that decide can be promoted")
        for part, place in zip(other.parts, champion.parts, strict=True):
            self._promote(part, place)
        self._recent.clear()
        reach("promoted")
        return PromotedReply(champion=champion.name, model_version=champion.versions)

    def _promote(self, other: Served, champion: Served) -> None:
        """Promote a model, or one slot of it."""
        name, blueprint, before = other.name, other.blueprint.alone(), champion.blueprint
        learner = None if champion.keyed else self._learners.get(other, None).learner.to_bytes()
        told = {
            "settings": blueprint.each,
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
        if (group := self._learners.group(other)) is not None:  # an event of its own, so that it can be erased
            shared = bodies.write({"source": name, "group": group.to_bytes()})
            self._store.append(champion.slot, "imported", now, shared, changes=True)
        if learner is not None:
            self._learners.enter(champion, Learner.from_bytes(learner, f"the model {name}"), seq)
        else:
            self._with_keys(champion, other, now)

    def _with_keys(self, champion: Served, other: Served, now: float) -> None:
        """Each key has an event of its own, so that it can be forgotten by itself."""
        for key in keys_of(self._store, other):
            told = {"state": _array(self._learners.get(other, key).learner.to_bytes())}
            content = bodies.write({"source": other.name, "learn": records.encode(told)})
            self._store.append(champion.slot, "promoted", now, content, key=key, changes=True)


def _array(content: bytes | None) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    return None if content is None else np.frombuffer(content, np.uint8)
