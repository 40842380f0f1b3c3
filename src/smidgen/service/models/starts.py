"""Where a fold begins: with a fresh learner, or with what it was at the base of its log."""

from __future__ import annotations

from typing import Any

from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.service.models.fold import take
from smidgen.service.models.served import Served
from smidgen.service.refusals import StorageFailed
from smidgen.service.store import bodies
from smidgen.service.store.bases import Base
from smidgen.service.store.protocol import Reading


def first_of(reading: Reading, model: Served, key: str | None) -> tuple[Learner, int, bool]:
    """The learner that a log begins with, the event after which it does, and whether it is a fresh one.

    A base state is data: one that is damaged is never passed over, since there is nothing else to learn it from.
    """
    if (base := reading.base(model.slot)) is None:
        return model.origin.learner(key), 0, True
    found = reading.base_state(model.slot, key)
    if found is not None:
        if not found.sound:
            raise StorageFailed(
                f"the base state of the model {model.name!r} is damaged, and its events are erased",
                "restore a backup: smidgen restore FILE --force",
            )
        return Learner.from_bytes(found.state, f"the base state of {model.name}"), base.seq, False
    if not model.keyed:
        raise StorageFailed(
            f"the base state of the model {model.name!r} is missing, and its events are erased",
            "restore a backup: smidgen restore FILE --force",
        )
    learner = model.origin.learner(key)
    for told in read(base)["amendments"]:
        learner = take(learner, "amended", base.seq, None, bodies.read_value(told, base.seq))
    return learner, base.seq, True


def read(base: Base) -> dict[str, Any]:
    """What a base says of its model: ``model``, ``resolved``, ``amendments``."""
    told = bodies.read_fields(base.body, base.seq)
    if not isinstance(told.get("amendments"), list):
        raise InvalidRecord(f"the base at event {base.seq} cannot be read", "restore the database from a backup")
    return told
