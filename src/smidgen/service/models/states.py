"""The states of learners that were written aside: which of them can be used, and why another cannot."""

from __future__ import annotations

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.learners.storage import decode
from smidgen.service.models.group import KIND
from smidgen.service.models.hashed_names import KIND as NAMES
from smidgen.service.models.rewinds import Undone
from smidgen.service.models.served import Served
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import State

_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)


def state_of(
    reading: Reading, model: Served, key: str | None, gone: Undone, upto: int | None = None
) -> tuple[Learner, int] | None:
    """The newest state of this log that can be read and holds nothing that was undone, with its last event.

    None of before the base, and none of after ``upto``.
    """
    base = reading.base(model.slot)
    first, last = base.seq if base is not None else 0, model.seq if upto is None else upto
    for state in reading.states(model.slot, key):
        fits = state.own and first <= state.seq <= last
        if fits and not gone.spoils(reading.version_at(model.slot, state.seq)):
            try:
                return Learner.from_bytes(state.content, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def state_problem(state: State) -> str | None:
    """Why a published state cannot be used, or None."""
    try:
        if decode(state.content, state.place)[0].kind not in (KIND, NAMES):  # those are no learners
            Learner.from_bytes(state.content, state.place)
    except _UNREADABLE as error:
        return str(error)
    return None if state.own else "it is not of this log, which has another past"
