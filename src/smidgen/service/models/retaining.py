"""The commands of retention: states are staged, a base is put in force, what lies under it is erased bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smidgen.service.messages import RetainedReply
from smidgen.service.models.bases import Plan, carry
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import Served
from smidgen.service.refusals import Busy
from smidgen.service.store.bases import BaseState, Carried
from smidgen.service.store.protocol import Store

#: How many learners are staged in one command, and about how many events are erased in one batch.
STAGED, TIDIED = 64, 500


class Retention:
    """The bases of all models.

    Parameters
    ----------
    models, store
        Whose logs they are, and where it is written.
    recent
        The decisions that wait for feedback in memory.
    clock
        Seconds since 1970.
    """

    def __init__(self, models: Registry, store: Store, recent: Recent, clock: Callable[[], float]) -> None:
        self._models = models
        self._store = store
        self._recent = recent
        self._clock = clock

    def stage(self, name: str, states: Sequence[BaseState], *, first: bool) -> None:
        """Write states aside; the first ones drop what an attempt that failed has left."""
        model = self._models.get(name)
        if first:
            self._store.unstage(model.slot)
        self._store.stage(model.slot, states)

    def take(self, name: str, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged."""
        model, base = self._models.get(name), plan.base
        if model.rewritten != plan.rewritten:
            raise Busy(f"the past of {name!r} was changed meanwhile", "try again")
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

    def nothing(self, name: str) -> RetainedReply:
        """There is nothing old enough."""
        model = self._models.get(name)
        base = self._store.base(model.slot)
        return RetainedReply(
            base=base.seq if base is not None else 0,
            base_version=base.version if base is not None else 0,
            folded=0,
            kept=len(self._store.carried(model.slot)),
            model_version=model.version,
        )

    def _carried(self, model: Served, plan: Plan) -> list[Carried]:
        """What the plan carries, and what events that came since are about."""
        known = {kept.seq for kept in plan.carried}
        later = self._store.crossing(model.slot, plan.base.seq, plan.base.at, plan.seen)
        new = carry(self._store, model.slot, [seq for seq in later if seq not in known])
        return sorted([*plan.carried, *new])
