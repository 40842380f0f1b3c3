"""What the keys of a slot share, brought into memory: the newest state that can be used, and the events after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.models.group import Group, fold
from smidgen.service.models.mean import Mean
from smidgen.service.models.rewinds import Undone, undone
from smidgen.service.models.served import Served
from smidgen.service.refusals import StorageFailed
from smidgen.service.store import bodies
from smidgen.service.store.events import Event
from smidgen.service.store.protocol import Reading

_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)


def recovered(reading: Reading, model: Served, learner: Callable[[Served, str], Learner]) -> Group:
    """What the keys of a model share.

    Parameters
    ----------
    reading, model
        The log, and whose it is.
    learner
        Gives the learner of a key, as it is.
    """
    gone = undone(reading, model.slot)
    found = state_of(reading, model, gone)
    group, seq = found if found is not None else first_of(reading, model, gone)
    last = [seq]
    changes = _noting(reading.changes(model.slot, seq), last)
    group = fold(group, model.blueprint, changes, gone, model.since)
    if group.mean is not None and (found is None or last[0] > seq):
        group.mean = Mean()
        for (key,) in reading.look("keys", model.slot, prefix="", limit=1 << 31):
            group.moved(None, learner(model, key))
    return group


def at(reading: Reading, model: Served, gone: Undone, seq: int) -> Group:
    """What the keys of a model shared after an event that lies before all promotions.

    But for the mean of their weights, which the keys make up.
    """
    group, first = _based(reading, model)
    changes = itertools.takewhile(lambda change: change[0].seq <= seq, reading.changes(model.slot, first))
    return fold(group, model.origin, changes, gone)


def first_of(reading: Reading, model: Served, gone: Undone) -> tuple[Group, int]:
    """What the present settings of a log begin with: nothing shared, or what was shared at its base."""
    for era in reversed(model.past):
        if era.by == "promoted" and era.version not in gone:
            return Group(model.blueprint), era.until - 1  # a base never passes a promotion
    return _based(reading, model)


def _based(reading: Reading, model: Served) -> tuple[Group, int]:
    """What a log begins with, by the settings that its model was made with."""
    if (base := reading.base(model.slot)) is None:
        return Group(model.origin), 0
    found = reading.base_state(model.slot, None)
    if found is None or not found.sound:
        raise StorageFailed(
            f"what the keys of {model.name!r} share is damaged in its base state, and its events are erased",
            "restore a backup: smidgen restore FILE --force",
        )
    return Group.from_bytes(found.state, model.origin, f"the base state of {model.name}"), base.seq


def state_of(reading: Reading, model: Served, gone: Undone) -> tuple[Group, int] | None:
    """The newest state that can be read and holds nothing that was undone or forgotten, with its last event."""
    forgotten = reading.forgotten(model.slot)
    base = reading.base(model.slot)
    for state in reading.states(model.slot):
        if base is not None and state.seq < base.seq:
            continue
        spoilt = gone.spoils(reading.version_at(model.slot, state.seq))
        if state.own and max(forgotten, model.since) <= state.seq <= model.seq and not spoilt:
            try:
                return Group.from_bytes(state.content, model.blueprint, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def _noting(changes: Iterator[tuple[Event, Event | None]], last: list[int]) -> Iterator[tuple[Event, Event | None]]:
    """The same events; the number of the last one is noted."""
    for event, made in changes:
        last[0] = event.seq
        yield event, made


def brought(reading: Reading, slot: int) -> list[int]:
    """The events by which what keys share came from elsewhere."""
    found = []
    for event, _ in reading.changes(slot):
        if event.type == "imported" and event.key is None and "group" in bodies.read_fields(event.body, event.seq):
            found.append(event.seq)
    return found
