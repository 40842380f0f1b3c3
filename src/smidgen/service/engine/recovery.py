"""Recover learners from the newest usable state and the events after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from smidgen.errors import InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.saving import decode_learner
from smidgen.service.engine.model import KIND as NAMES
from smidgen.service.engine.model import Served
from smidgen.service.engine.replay import Undone, take, undone
from smidgen.service.engine.shared_state import KIND, Group, Mean, fold
from smidgen.service.errors import StorageFailed
from smidgen.service.log import codec
from smidgen.service.log.base import Base
from smidgen.service.log.events import Event
from smidgen.service.storage.protocol import History
from smidgen.service.storage.records import State

# Where a fold begins: with a fresh learner, or with what it was at the base of its log.


def first_of(reading: History, model: Served, key: str | None) -> tuple[Learner, int, bool]:
    """The learner that a log begins with, the event after which it does, and whether it is a fresh one.

    A base state is data: one that is damaged is never passed over, since there is nothing else to learn it from.
    """
    if (base := reading.base(model.shard)) is None:
        return model.origin.learner(key), 0, True
    found = reading.base_state(model.shard, key)
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
        learner = take(learner, "amended", base.seq, None, codec.read_value(told, base.seq))
    return learner, base.seq, True


def read(base: Base) -> dict[str, Any]:
    """What a base says of its model: ``model``, ``resolved``, ``amendments``."""
    told = codec.read_fields(base.body, base.seq)
    if not isinstance(told.get("amendments"), list):
        raise InvalidRecord(f"the base at event {base.seq} cannot be read", "restore the database from a backup")
    return told


# The states of learners that were written aside: which of them can be used, and why another cannot.

_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)


def state_of(
    reading: History, model: Served, key: str | None, gone: Undone, upto: int | None = None
) -> tuple[Learner, int] | None:
    """The newest state of this log that can be read and holds nothing that was undone, with its last event.

    None of before the base, none of after ``upto``, and none of another arithmetic.
    """
    base = reading.base(model.shard)
    first, last = base.seq if base is not None else 0, model.seq if upto is None else upto
    for state in reading.states(model.shard, key):
        fits = state.own and first <= state.seq <= last and not state.outdated
        if fits and not gone.spoils(reading.version_at(model.shard, state.seq)):
            try:
                return Learner.from_bytes(state.content, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def current(reading: History, shard: int) -> Iterator[State]:
    """The states of a shard itself, newest first, without those that are stale or of another arithmetic.

    A state from before the latest forgetting holds what is erased. It stays if the process ends between the commit and
    the clean-up, or if somebody copies the folder then. Nobody uses it, and the next start deletes it.
    """
    forgotten = reading.forgotten(shard)
    return (state for state in reading.states(shard) if state.seq >= forgotten and not state.outdated)


def state_problem(state: State) -> str | None:
    """Why a published state cannot be used, or None."""
    try:
        if decode_learner(state.content, state.place)[0].kind not in (KIND, NAMES):  # those are no learners
            Learner.from_bytes(state.content, state.place)
    except _UNREADABLE as error:
        return str(error)
    return None if state.own else "it is not of this log, which has another past"


# What the keys of a shard share, brought into memory: the newest state that can be used, and the events after it.


def recovered(reading: History, model: Served, learner: Callable[[Served, str], Learner]) -> Group:
    """What the keys of a model share.

    Parameters
    ----------
    reading, model
        The log, and whose it is.
    learner
        Gives the learner of a key, as it is.
    """
    gone = undone(reading, model.shard)
    found = shared_state_of(reading, model, gone)
    group, seq = found if found is not None else shared_first_of(reading, model, gone)
    last = [seq]
    changes = _noting(reading.changes(model.shard, seq), last)
    group = fold(group, model.blueprint, changes, gone, model.since)
    if group.mean is not None and (found is None or last[0] > seq):
        group.mean = Mean()
        for (key,) in reading.look("keys", model.shard, prefix="", limit=1 << 31):
            group.moved(None, learner(model, key))
    return group


def at(reading: History, model: Served, gone: Undone, seq: int) -> Group:
    """What the keys of a model shared after an event that lies before all promotions.

    But for the mean of their weights, which the keys make up.
    """
    group, first = _based(reading, model)
    changes = itertools.takewhile(lambda change: change[0].seq <= seq, reading.changes(model.shard, first))
    return fold(group, model.origin, changes, gone)


def shared_first_of(reading: History, model: Served, gone: Undone) -> tuple[Group, int]:
    """What the present settings of a log begin with: nothing shared, or what was shared at its base."""
    for era in reversed(model.past):
        if era.by == "promoted" and era.version not in gone:
            return Group(model.blueprint), era.until - 1  # a base never passes a promotion
    return _based(reading, model)


def _based(reading: History, model: Served) -> tuple[Group, int]:
    """What a log begins with, by the settings that its model was made with."""
    if (base := reading.base(model.shard)) is None:
        return Group(model.origin), 0
    found = reading.base_state(model.shard, None)
    if found is None or not found.sound:
        raise StorageFailed(
            f"what the keys of {model.name!r} share is damaged in its base state, and its events are erased",
            "restore a backup: smidgen restore FILE --force",
        )
    return Group.from_bytes(found.state, model.origin, f"the base state of {model.name}"), base.seq


def shared_state_of(reading: History, model: Served, gone: Undone) -> tuple[Group, int] | None:
    """The newest state that can be read and holds nothing that was undone or forgotten, with its last event.

    One of another arithmetic does not count.
    """
    forgotten = reading.forgotten(model.shard)
    base = reading.base(model.shard)
    for state in reading.states(model.shard):
        if base is not None and state.seq < base.seq:
            continue
        spoilt = gone.spoils(reading.version_at(model.shard, state.seq))
        usable = state.own and not spoilt and not state.outdated
        if usable and max(forgotten, model.since) <= state.seq <= model.seq:
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
