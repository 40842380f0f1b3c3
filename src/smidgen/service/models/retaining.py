"""The commands of retention: states are staged, a base is put in force, what lies under it is erased bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smidgen.service.messages import RetainedReply, SlotRetained
from smidgen.service.models.bases import Plan, carry
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands
from smidgen.service.refusals import Busy
from smidgen.service.store.bases import BaseState, Carried

#: How many learners are staged in one command, and about how many events are erased in one batch.
STAGED, TIDIED = 64, 500


class Retention(Commands):
    """The bases of all models."""

    def stage(self, model: Served, states: Sequence[BaseState], *, first: bool) -> None:
        """Write states aside; the first ones drop what an attempt that failed has left."""
        self._models.hold(model)
        if first:
            self._store.unstage(model.slot)
        self._store.stage(model.slot, states)

    def take(self, model: Served, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged."""
        self._models.hold(model)
        base = plan.base
        if model.rewritten != plan.rewritten:
            raise Busy(f"the past of {model.name!r} was changed meanwhile", "try again")
        old = self._store.base(model.slot)
        carried = self._carried(model, plan)
        self._store.rebase(model.slot, base, carried, self._clock())
        self._recent.clear()
        model.rewritten += 1
        return RetainedReply(
            base=base.seq,
            base_version=base.version,
            folded=base.seq - (old.seq if old is not None else 0),
            kept=len(carried),
            model_version=model.version,
        )

    def nothing(self, model: Served) -> RetainedReply:
        """There is nothing old enough."""
        self._models.hold(model)
        base = self._store.base(model.slot)
        return RetainedReply(
            base=base.seq if base is not None else 0,
            base_version=base.version if base is not None else 0,
            folded=0,
            kept=len(self._store.carried(model.slot)),
            model_version=model.version,
        )

    @staticmethod
    def together(slots: Sequence[RetainedReply]) -> RetainedReply:
        """Where the log of a model begins, told from its slots."""
        if len(slots) == 1:
            return slots[0]
        each = [msgspec.convert(slot, SlotRetained, from_attributes=True) for slot in slots]
        sums = {name: sum(getattr(one, name) for one in each) for name in SlotRetained.__struct_fields__}
        return RetainedReply(slots=each, **sums)

    def _carried(self, model: Served, plan: Plan) -> list[Carried]:
        """What the plan carries, and what events that came since are about."""
        known = {kept.seq for kept in plan.carried}
        later = self._store.crossing(model.slot, plan.base.seq, plan.base.at, plan.seen)
        new = carry(self._store, model.slot, [seq for seq in later if seq not in known])
        return sorted([*plan.carried, *new])
