"""What the keys of a slot share, brought into memory: the newest state that can be used, and the events after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.models.fold import Undone, undone
from smidgen.service.models.group import Group, fold
from smidgen.service.models.mean import Mean
from smidgen.service.store.events import Event
from smidgen.service.store.protocol import Reading

if TYPE_CHECKING:
    from smidgen.service.models.served import Served

_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)


def recovered(
    reading: Reading, model: Served, learner: Callable[[Served, str], Learner], without: str | None = None
) -> Group:
    """What the keys of a model share.

    Parameters
    ----------
    reading, model
        The log, and whose it is.
    learner
        Gives the learner of a key, as it is.
    without
        A key that is about to be forgotten: all is folded as if it had never been.
    """
    gone = undone(reading, model.slot)
    found = state_of(reading, model, gone) if without is None else None
    group, seq = found if found is not None else (Group(model.blueprint), 0)
    last = [seq]
    group = fold(group, model.blueprint, _passing(reading.changes(model.slot, seq), without, last), gone)
    if group.mean is not None and (found is None or last[0] > seq):
        group.mean = Mean()
        for (key,) in reading.look("keys", model.slot, prefix="", limit=1 << 31):
            if key != without:
                group.moved(None, learner(model, key))
    return group


def state_of(reading: Reading, model: Served, gone: Undone) -> tuple[Group, int] | None:
    """The newest state that can be read and holds nothing that was undone or forgotten, with its last event."""
    forgotten = reading.forgotten(model.slot)
    for state in reading.states(model.slot):
        spoilt = gone.spoils(reading.version_at(model.slot, state.seq))
        if state.own and forgotten <= state.seq <= model.seq and not spoilt:
            try:
                return Group.from_bytes(state.content, model.blueprint, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def _passing(
    changes: Iterator[tuple[Event, Event | None]], without: str | None, last: list[int]
) -> Iterator[tuple[Event, Event | None]]:
    """The events but for those of a key; the number of the last one is noted."""
    for event, made in changes:
        last[0] = event.seq
        if without is None or event.key != without:
            yield event, made
