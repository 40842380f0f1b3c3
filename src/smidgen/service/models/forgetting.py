"""Exact forgetting: the events of a key are erased, and its learner is as if they had never been.

It follows into copies: whoever began with what this model had learnt of the key, directly or by way of another copy,
archived or not, forgets it too. What a copy was told of the key itself goes with it.
"""

from __future__ import annotations

import numpy as np

from smidgen.service.messages import ForgottenReply
from smidgen.service.models import groups
from smidgen.service.models.group import Group, fold
from smidgen.service.models.hashed_names import PLACE, HashedNames
from smidgen.service.models.rewinds import undone
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Impossible, Retained, Unknown
from smidgen.service.store import bodies


class Forgetting(Commands):
    """What is forgotten, of all models."""

    def _let_go(self, model: Served, key: str) -> None:
        """Keep nothing of it in memory."""
        self._learners.leave(model, key)
        self._log.let_go(model, key)
        self._recent.clear()
        model.scaled.pop(key, None)

    def take(self, name: str, key: str, *, drop_base: bool = False) -> ForgottenReply:
        """Erase all that was said of a key; keys that were never heard of are unknown.

        What a base state holds of the key goes only if ``drop_base`` says so.
        """
        model = self._models.get(name, [key]).of(key)
        if not model.keyed:
            raise Impossible("this model has no keys", "only what belongs to a key can be forgotten")
        beside = list(model.followers)  # taught of the key's decisions, and deciding beside them
        all_ = {one.slot: one for one in [model, *beside, *self._copies(model)]}
        self._models.hold(*all_.values())
        family = [one for one in all_.values() if self._knows(one, key)]
        if not family:
            raise Unknown(f"there is no key {key!r}", "it has no events, so there is nothing to forget")
        for one in family:
            self._leave_base(one, key, drop_base)
        erased = {one.name: self._erase(one, key) for one in family}
        count = sum(erased.pop(one.name, 0) for one in (model, *beside))
        return ForgottenReply(forgotten=count, model_version=model.version, copies=erased, slot=model.told_slot)

    def _erase(self, model: Served, key: str) -> int:
        known = self._learners.group(model)
        places = known.table.extent if known is not None and known.table is not None else None
        count, verdict = self._store.forget(model.slot, key, self._clock(), places)
        self._let_go(model, key)
        if known is not None and (brought := groups.brought(self._store, model.slot)):
            self._regroup(model, known, brought)
        if model.hashed is not None and model.blueprint.dim is not None and verdict.seq is not None:
            model.hashed = HashedNames.folded(self._store, model.slot, model.blueprint.dim)
            self._store.publish(model.slot, PLACE, verdict.seq, model.hashed.to_bytes())
        model.rewritten += 1
        return count

    def _regroup(self, model: Served, known: Group, brought: list[int]) -> None:
        """What keys share came from elsewhere, with the key in it: it goes, but for the names that others use.

        The rest (statistics of numbers, what newcomers begin with) is folded anew from the events of this log.
        """
        used = np.zeros(known.table.dim if known.table is not None else 0, np.bool_)
        for (other,) in self._store.look("keys", model.slot, prefix="", limit=1 << 31) if len(used) else ():
            used |= self._learners.rebuilt(model, other).weights.reshape(-1, len(used)).any(axis=0)
        gone = undone(self._store, model.slot)
        changes = self._store.changes(model.slot, brought[-1])
        group = fold(known.names_of(used), model.blueprint, changes, gone, model.since)
        content = bodies.write({"source": "what was left", "group": group.to_bytes()})
        self._store.append(model.slot, "imported", self._clock(), content, changes=True)
        for seq in brought:
            self._store.erase(model.slot, seq)
        self._learners.leave_group(model)

    def _copies(self, model: Served) -> list[Served]:
        """The models that began with what this one had learnt, and those that began with theirs."""
        found, lineage = [model.slot], self._store.lineage()
        for slot in found:  # grows meanwhile
            found += [row.slot for row in lineage if row.source == slot and row.slot not in found]
        return [self._models.by_slot[slot] for slot in found[1:] if slot in self._models.by_slot]

    def _knows(self, model: Served, key: str) -> bool:
        return model.keyed and (key,) in self._store.look("keys", model.slot, prefix=key, limit=1)

    def _leave_base(self, model: Served, key: str, drop: bool) -> None:
        """What was folded into a base is not to be had any more; whoever wants it dropped says so.

        That is exact as long as the learner of a key is a fold of its own events and nothing else.
        """
        if self._store.base_state(model.slot, key) is None:
            return
        if model.origin.grouped:  # no base passes a promotion
            raise Retained(
                f"events of key {key!r} of the model {model.name!r} are in its base state, and in what its keys share",
                "nobody can take them out of that any more; shorten retention only as far as you will not need to",
            )
        if not drop:
            raise Retained(
                f"events of key {key!r} of the model {model.name!r} are in its base state: retention has folded and"
                " erased them",
                "to drop what the base holds of the key as well, send the call with ?base=drop",
            )
        self._store.drop_base_state(model.slot, key, self._clock())
