"""Recover learners from the newest usable state and the events after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from smidgen.errors import InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.saving import decode_learner
from smidgen.service.engine.model import KIND as NAMES
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import (
    KeyStart,
    UndoneVersions,
    apply_event,
    find_key_start,
    read_undone,
    replay,
)
from smidgen.service.engine.shared_state import KIND, ExactMean, SharedKeyState, fold
from smidgen.service.engine.spending import KIND as SPENDING
from smidgen.service.errors import StorageFailed
from smidgen.service.log import codec
from smidgen.service.log.checkpoint import Checkpoint
from smidgen.service.log.events import Event
from smidgen.service.storage.protocol import LogReader
from smidgen.service.storage.records import State

# Where a fold begins: with a fresh learner, or with what it was at the base of its log.


def initial_learner(reading: LogReader, model: ServedModel, key: str | None) -> tuple[Learner, int, bool]:
    """The learner that a log begins with, the event after which it does, and whether it is a fresh one.

    A base state is data: one that is damaged is never passed over, since there is nothing else to learn it from.
    """
    if (checkpoint := reading.checkpoint(model.shard)) is None:
        return model.origin.learner(key), 0, True
    found = reading.checkpoint_state(model.shard, key)
    if found is not None:
        if not found.is_intact:
            raise StorageFailed(
                f'the retention checkpoint of the model "{model.name}" is damaged, and its events are erased',
                "restore a backup: smidgen restore FILE --force",
            )
        return Learner.from_bytes(found.state, f"the base state of {model.name}"), checkpoint.seq, False
    if not model.keyed:
        raise StorageFailed(
            f'the retention checkpoint of the model "{model.name}" is missing, and its events are erased',
            "restore a backup: smidgen restore FILE --force",
        )
    learner = model.origin.learner(key)
    for amendment in read_checkpoint(checkpoint)["amendments"]:
        learner = apply_event(learner, "amended", checkpoint.seq, None, codec.read_value(amendment, checkpoint.seq))
    return learner, checkpoint.seq, True


def read_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """Read what a checkpoint records of its model: ``model``, ``resolved``, ``amendments``."""
    fields = codec.read_fields(checkpoint.body, checkpoint.seq)
    if not isinstance(fields.get("amendments"), list):
        raise InvalidRecord(
            f"the retention checkpoint at event {checkpoint.seq} cannot be read", "restore the database from a backup"
        )
    return fields


# Snapshots of learners: which can be used, and why others cannot.

_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)


def recover_learner(
    reading: LogReader, model: ServedModel, key: str | None, upto: int | None = None
) -> tuple[Learner, int, KeyStart | None]:
    """A learner as its log has it, or as it was after an event; its last event, and where a fresh key began."""
    undone = read_undone(reading, model.shard)
    found, start = latest_usable_snapshot(reading, model, key, undone, upto), None
    learner, seq, fresh = (*found, False) if found is not None else initial_learner(reading, model, key)
    if fresh and key is not None and model.origin.shared_start is not None:
        start = find_key_start(reading.events_of_key(model.shard, key), undone.restarts_key)
    changes = reading.changes(model.shard, seq, key)
    if upto is not None:
        changes = itertools.takewhile(lambda change: change[0].seq <= upto, changes)
    learner, last = replay(learner, changes, undone, key, start)
    return learner, max(seq, last), start


def latest_usable_snapshot(
    reading: LogReader, model: ServedModel, key: str | None, undone: UndoneVersions, upto: int | None = None
) -> tuple[Learner, int] | None:
    """The newest state of this log that can be read and holds nothing that was undone, with its last event.

    None of before the base, none of after ``upto``, and none of another arithmetic.
    """
    checkpoint = reading.checkpoint(model.shard)
    first, last = checkpoint.seq if checkpoint is not None else 0, model.seq if upto is None else upto
    if key is None:  # it learns from every unit, also from one that was forgotten since
        first = max(first, reading.last_forgetting(model.shard))
    for state in reading.states(model.shard, key):
        fits = state.own and first <= state.seq <= last and not state.is_outdated
        if fits and not undone.is_stale(reading.version_at(model.shard, state.seq)):
            try:
                return Learner.from_bytes(state.content, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def current_states(reading: LogReader, shard: int) -> Iterator[State]:
    """The states of a shard itself, newest first, without those that are stale or of another arithmetic.

    A state from before the latest forgetting holds what is erased. It stays if the process ends between the commit and
    the clean-up, or if somebody copies the folder then. Nobody uses it, and the next start deletes it.
    """
    forgotten = reading.last_forgetting(shard)
    return (state for state in reading.states(shard) if state.seq >= forgotten and not state.is_outdated)


def state_problem(state: State) -> str | None:
    """Why a published state cannot be used, or None."""
    try:
        if decode_learner(state.content, state.place)[0].kind not in (KIND, NAMES, SPENDING):  # those are no learners
            Learner.from_bytes(state.content, state.place)
    except _UNREADABLE as error:
        return str(error)
    return None if state.own else "it is not of this log, which has another past"


# What the keys of a shard share, brought into memory: the newest state that can be used, and the events after it.


def recover_shared(
    reading: LogReader, model: ServedModel, learner: Callable[[ServedModel, str], Learner]
) -> SharedKeyState:
    """Recover the shared state of a model's keys.

    Parameters
    ----------
    reading, model
        The log, and whose it is.
    learner
        Gives the learner of a key, as it is.
    """
    undone = read_undone(reading, model.shard)
    found = latest_shared_snapshot(reading, model, undone)
    group, seq = found if found is not None else initial_shared_state(reading, model, undone)
    last = [seq]
    changes = _note_last(reading.changes(model.shard, seq), last)
    group = fold(group, model.blueprint, changes, undone, model.since)
    if group.mean is not None and (found is None or last[0] > seq):
        group.mean = ExactMean()
        for (key,) in reading.query("keys", model.shard, prefix="", limit=1 << 31):
            group.replace_start(None, learner(model, key))
    return group


def shared_state_at(reading: LogReader, model: ServedModel, undone: UndoneVersions, seq: int) -> SharedKeyState:
    """Recover the shared state of a model's keys after an event before all promotions.

    But for the mean of their weights, which the keys make up.
    """
    group, first = _shared_checkpoint(reading, model)
    changes = itertools.takewhile(lambda change: change[0].seq <= seq, reading.changes(model.shard, first))
    return fold(group, model.origin, changes, undone)


def initial_shared_state(reading: LogReader, model: ServedModel, undone: UndoneVersions) -> tuple[SharedKeyState, int]:
    """Shared state that the present settings start with: empty, or that of the checkpoint."""
    for era in reversed(model.past):
        if era.by == "promoted" and era.version not in undone:
            return SharedKeyState(model.blueprint), era.until - 1  # a base never passes a promotion
    return _shared_checkpoint(reading, model)


def _shared_checkpoint(reading: LogReader, model: ServedModel) -> tuple[SharedKeyState, int]:
    """Shared state at the start of a log, under the settings that its model was created with."""
    if (checkpoint := reading.checkpoint(model.shard)) is None:
        return SharedKeyState(model.origin), 0
    found = reading.checkpoint_state(model.shard, None)
    if found is None or not found.is_intact:
        raise StorageFailed(
            f'the shared state in the retention checkpoint of "{model.name}" is damaged, and its events are erased',
            "restore a backup: smidgen restore FILE --force",
        )
    return SharedKeyState.from_bytes(found.state, model.origin, f"the base state of {model.name}"), checkpoint.seq


def latest_shared_snapshot(
    reading: LogReader, model: ServedModel, undone: UndoneVersions
) -> tuple[SharedKeyState, int] | None:
    """The newest state that can be read and holds nothing that was undone or forgotten, with its last event.

    One of another arithmetic does not count.
    """
    forgotten = reading.last_forgetting(model.shard)
    checkpoint = reading.checkpoint(model.shard)
    for state in reading.states(model.shard):
        if checkpoint is not None and state.seq < checkpoint.seq:
            continue
        spoilt = undone.is_stale(reading.version_at(model.shard, state.seq))
        usable = state.own and not spoilt and not state.is_outdated
        if usable and max(forgotten, model.since) <= state.seq <= model.seq:
            try:
                return SharedKeyState.from_bytes(state.content, model.blueprint, state.place), state.seq
            except _UNREADABLE:
                continue
    return None


def _note_last(changes: Iterator[tuple[Event, Event | None]], last: list[int]) -> Iterator[tuple[Event, Event | None]]:
    """Yield the events, and note the number of the last one."""
    for event, decision_event in changes:
        last[0] = event.seq
        yield event, decision_event
