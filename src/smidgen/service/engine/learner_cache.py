"""Learners in memory: recovered, kept up to date, evicted.

Catching up: what other workers wrote to a shard since, taken by the learners that are in memory.

If an event between them undoes, erases or changes settings, the learner is read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.features import Encoded, Vectorizer
from smidgen.features.state import Carried
from smidgen.learners import Learner
from smidgen.learners.pipeline import Pipeline, vectorizer_of
from smidgen.serialization import same
from smidgen.service.engine import recovery
from smidgen.service.engine.live_settings import FIRST
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import (
    LearningEvent,
    UndoneVersions,
    apply_event,
    as_learner_input,
    replay,
    start_learner,
)
from smidgen.service.engine.shared_state import NONE, SharedKeyState, fold
from smidgen.service.engine.undo import UndoStack
from smidgen.service.log.events import ANSWERED, Event
from smidgen.service.schemas import Rewards
from smidgen.service.storage.protocol import LearnerStore

#: Events that learners and groups can apply one after the other; after any other kind they are read again.
ORDINARY = frozenset(
    {"created", "decision", "taught", "shown", "held_out", "reported", "withdrawn", *ANSWERED, "recorded"}
)
#: A learner, or a group, that is further behind than this is read again, which is faster.
FAR = 20_000
_NOTHING = UndoneVersions()
Changes = Iterable[tuple[Event, Event | None]]


def catch_up(
    store: LearnerStore, model: ServedModel, key: str | None, held: CachedLearner, changes: Changes | None = None
) -> None:
    """Let a learner take what others wrote after the last event that it knows.

    Parameters
    ----------
    store, model, key, held
        The log, whose it is, and the learner.
    changes
        What others wrote that concerns it, if that is known already.
    """
    if changes is None:
        changes = store.changes(model.shard, max(held.seq, held.looked), key)
    held.learner, last = replay(held.learner, changes, _NOTHING, key)
    held.learner.reserve(model.counts.number if key is None else store.last_number(model.shard, key))
    held.seq, held.looked = max(held.seq, last), model.caught  # what the open batch wrote may be undone
    if held.learner.guarded:
        model.scaled[key] = held.learner.guarded


def catch_up_shared(
    store: LearnerStore,
    model: ServedModel,
    group: SharedKeyState,
    after: int,
    learner: Callable[[str], CachedLearner],
) -> SharedKeyState:
    """Let what keys share take what others wrote after an event.

    Parameters
    ----------
    store, model, group, after
        The log, whose it is, what is shared, and the last event that went into it.
    learner
        Gives the learner of a key as it was after that event.
    """
    if group.mean is None:
        return fold(group, model.blueprint, store.changes(model.shard, after), _NOTHING, model.since)
    changes = list(store.changes(model.shard, after))
    own: dict[str, list[tuple[Event, Event | None]]] = {}
    for change in changes:
        if (key := change[0].key) is not None:
            own.setdefault(key, []).append(change)
    for key, theirs in own.items():
        held = learner(key)
        before = held.learner.start() if held.learner.rounds else None
        catch_up(store, model, key, held, theirs)
        group.replace_start(before, held.learner)
    return fold(group, model.blueprint, changes, _NOTHING, model.since)


# The learners in memory, each a fold over the log: the newest state that can be read, and the events after it.

#: The most bytes of learners of keys in memory, however few they are.
MEMORY = 1 << 30


class Learnable(NamedTuple):
    """A decision as it is to be learnt.

    Attributes
    ----------
    decision
        The decision, on the rows that are learnt.
    row
        These rows as the event says them, if they are not those that decided.
    names
        Names of their columns that the key had not sent before.
    """

    decision: Decision
    row: bytes | None = None
    names: Carried = ()


@dataclass(slots=True)
class CachedLearner:
    """A learner in memory.

    Attributes
    ----------
    learner, seq, size, changed
        The learner, its last event, its size, and whether it has changed since it was last written.
    new
        Whether it may still begin with what the keys of its shard share: its log does not say yet what it begins with.
    known
        Columns whose names its events have recorded since it came into memory.
    looked
        The event up to which it was last looked whether others wrote something that it has to learn.
    """

    learner: Learner
    seq: int
    size: int
    changed: bool = False
    new: bool = False
    known: NDArray[np.uint32] = field(default_factory=lambda: NONE)
    looked: int = 0

    @property
    def has_unwritten(self) -> bool:
        """True if the learner has changes to write. A keyed learner that still equals the shared start has none."""
        return self.changed and not self.new


class LearnerCache:
    """The learners in memory: all of the models without keys, and the most recently used of those with keys.

    Of the keyed ones, as many stay as ``size`` and ``memory`` allow.

    A learner that is not here is the newest state that can be read plus a replay of the events after it. So a learner
    must not leave while it is ahead of its log: it would come back without the decisions that are not written yet, and
    would number the next one like one of those. Every keyed learner that a command uses is therefore pinned until the
    command ends, or until it says that all is written (`unpin`). A command that uses many checks `crowded` to write
    early, so that the pinned learners stay within the limits too.

    Parameters
    ----------
    store
        Where states and events are; a state that leaves the cache joins the batch that is open.
    undo
        What is to be put back if a command fails.
    size
        How many keyed learners stay in memory.
    memory
        How many bytes they may take, by the size of fresh ones.
    """

    def __init__(self, store: LearnerStore, undo: UndoStack, size: int, memory: int = MEMORY) -> None:
        self._store = store
        self.undo = undo
        self._size = size
        self._memory = memory
        self._plain: dict[int, CachedLearner] = {}
        self._keyed: OrderedDict[tuple[int, str], CachedLearner] = OrderedDict()
        self._bytes = 0
        self._in_command = False
        self._pinned: set[tuple[int, str]] = set()  # always the most recently used ones
        self._groups: dict[int, SharedKeyState] = {}
        self._grouped: dict[int, int] = {}  # the last event that went into a group
        #: True if the open batch holds a shard, so that what is in memory of it is known to be of this log.
        self.holds: Callable[[int], bool] = lambda shard: True

    def __len__(self) -> int:
        return len(self._plain) + len(self._keyed)

    def get(self, model: ServedModel, key: str | None) -> CachedLearner:
        """The learner of a model and key, recovered if need be."""
        if key is None:
            if (plain := self._plain.get(model.shard)) is None:
                plain = self._plain[model.shard] = self._recover(model, None)
            elif plain.looked < model.others:
                self._catch_up(model, None, plain)
            return plain
        place = (model.shard, key)
        if model.others > self._grouped.get(model.shard, model.others):
            self.shared_state(model)  # first, since the mean of all must know what each was before
        held = self._keyed.get(place)
        if held is not None and held.looked < model.others:
            held = self._catch_up(model, key, held)
        if held is None:
            held = self._keyed[place] = self._recover(model, key)
            self._bytes += held.size
        else:
            self._keyed.move_to_end(place)
        if self._in_command:
            self._pinned.add(place)
        if self._over_limit:
            self._shrink()
        return held

    def peek(self, model: ServedModel, key: str | None) -> Learner | None:
        """The learner in memory, perhaps behind what others wrote, or None; changes nothing, and any thread may ask."""
        held = self._plain.get(model.shard) if key is None else self._keyed.get((model.shard, key))
        return None if held is None else held.learner

    def begin_command(self) -> None:
        """Pin every keyed learner that is used from now on, until `end_command`."""
        self._in_command = True

    def end_command(self) -> None:
        """Stop pinning; the next learner that comes into memory makes room."""
        self._in_command = False
        self._pinned.clear()

    def unpin(self) -> None:
        """Allow the learners that the command has used so far to leave memory: all they decided is written."""
        self._pinned.clear()
        self._shrink()

    @property
    def is_crowded(self) -> bool:
        """True if the pinned learners alone exceed the limits: write what they decided, then call `unpin`."""
        return len(self._pinned) > 1 and self._over_limit

    @property
    def _over_limit(self) -> bool:
        return len(self._keyed) > self._size or self._bytes > self._memory

    def is_hot(self, model: ServedModel, key: str | None) -> bool:
        """Check whether a learner is in memory, and what it shares with others."""
        held = model.shard in self._plain if key is None else (model.shard, key) in self._keyed
        return held and (model.shard in self._groups or not model.blueprint.grouped)

    def shared_state(self, model: ServedModel) -> SharedKeyState | None:
        """Shared state of a model's keys, recovered if it is not in memory; None if they share nothing."""
        if not model.blueprint.grouped:
            return None
        found = self._groups.get(model.shard)
        if found is not None and (seen := self._grouped[model.shard]) < model.others:
            found = self._catch_up_group(model, found, seen)
        if found is None:
            found = recovery.recover_shared(self._store, model, self.read_learner)
            self._hold_group(model, found)
        return found

    def _hold_group(self, model: ServedModel, group: SharedKeyState) -> None:
        """Hold what the keys of a model share as of now; the open batch may have written, and may be undone."""
        self._groups[model.shard], self._grouped[model.shard] = group, model.seq
        if self._store.shared and model.seq > model.caught:
            self.undo.push(self._groups.pop, model.shard, None)

    def _catch_up(self, model: ServedModel, key: str | None, held: CachedLearner) -> CachedLearner | None:
        """Apply other workers' events to a learner. None if it must be read again, because they are many, say."""
        if held.new or (key is None and model.others - max(held.seq, held.looked) > FAR):
            self._drop(model.shard, key)
            return None
        try:
            catch_up(self._store, model, key, held)
        except BaseException:
            self._drop(model.shard, key)
            raise
        return held

    def _catch_up_group(self, model: ServedModel, group: SharedKeyState, seen: int) -> SharedKeyState | None:
        """Apply other workers' events to shared state. None if it must be rebuilt."""

        def as_of(key: str) -> CachedLearner:
            held = self._keyed.get((model.shard, key))
            if held is not None and not held.new and held.seq <= seen:
                return held
            self._drop(model.shard, key)
            return self._recover(model, key, seen)

        del self._groups[model.shard], self._grouped[model.shard]
        if model.others - seen > FAR:
            return None
        try:
            group = catch_up_shared(self._store, model, group, seen, as_of)
        except BaseException:
            self.evict_shard(model.shard)
            raise
        self._hold_group(model, group)
        return group

    def read_learner(self, model: ServedModel, key: str | None) -> Learner:
        """The learner of a key, as it is, for reading: one that is not in memory does not come to stay there."""
        if key is None:
            return self.get(model, None).learner
        held = self._keyed.get((model.shard, key))
        if held is not None and held.looked < model.others:
            self._drop(model.shard, key)
            held = None
        return held.learner if held is not None else self._recover(model, key).learner

    def start_key(self, model: ServedModel, key: str | None, held: CachedLearner) -> bytes | None:
        """Let a newcomer begin with what the others share; what its log must say of it, None if nothing."""
        if not held.new or (group := self.shared_state(model)) is None:
            return None
        self.before_change(model, key)
        start = group.start(held.learner)
        start_learner(held.learner, start)
        held.new = False
        return start

    def again(
        self, model: ServedModel, held: CachedLearner, decision: Decision, known_names: Carried = ()
    ) -> Learnable:
        """A decision as it is to be learnt: its record encoded again, by the names and statistics known now.

        Parameters
        ----------
        model, held
            Whose learner it is.
        decision, known_names
            The decision, and the names that its event tells.
        """
        before, group = decision.context, self.shared_state(model)
        if not isinstance(before, Encoded):
            return Learnable(decision)
        if group is not None and group.table is not None:
            now = group.again(before)
        else:
            now = held.learner.again(decision).context if isinstance(held.learner, Pipeline) else before.settled()
        encoded_again = structs.replace(decision, context=now)
        if before.source is None or same(now, before.settled()):
            return Learnable(encoded_again)
        known = {place for place, _, _ in known_names}
        more = group.carried_names(now, held.known) if group is not None else ()
        return Learnable(encoded_again, serialization.encode(now), [each for each in more if each[0] not in known])

    def learn(self, model: ServedModel, key: str | None, held: CachedLearner, change: LearningEvent) -> None:
        """Let a learner, and what it shares with others, take an event; a refusal changes nothing."""
        learner, group = held.learner, self.shared_state(model)
        if group is None:
            held.learner = apply_event(learner, change.type, model.seq, change.decision, change.learner_input, key)
            return
        before = learner.start() if group.mean is not None and learner.rounds else None
        signal = as_learner_input(learner, change)
        held.learner = apply_event(learner, change.type, model.seq, *signal, key)
        self.undo.push(self._groups.pop, model.shard, None)
        group.apply(change)
        group.replace_start(before, held.learner)
        held.new = held.new and not held.learner.rounds
        if change.names:
            new_columns = np.array([place for place, _, _ in change.names], np.uint32)
            held.known = np.union1d(held.known, new_columns)

    def table(self, model: ServedModel, learner: Learner) -> Vectorizer | None:
        """The names of the columns that a learner of a model reads, if they come from records."""
        group = self.shared_state(model)
        return group.table if group is not None and group.table is not None else vectorizer_of(learner)

    def withdraw(self, shard: int, key: str | None, learner: Learner, number: int) -> None:
        """Take back the numbers of undone decisions; a learner that was read since is dropped."""
        learner.withdraw(number)
        held = self._plain.get(shard) if key is None else self._keyed.get((shard, key))
        if held is not None and held.learner is not learner:
            self._drop(shard, key)

    def discard(self, model: ServedModel, key: str | None, learner: Learner, number: int, *, begun: bool) -> None:
        """Take back a decision that will not be written, of a command that goes on.

        Its learner's next decision gets this number. A learner that has ``begun`` with what other keys share is read
        from the log again, which does not say so.
        """
        learner.withdraw(number - 1)
        if begun:
            self._drop(model.shard, key)

    def before_change(self, model: ServedModel, key: str | None) -> None:
        """Note that a learner is about to change.

        If the command is undone, the learner is read again on its next use.
        """
        self.undo.push(self._drop, model.shard, key)

    def after_change(self, model: ServedModel, key: str | None, held: CachedLearner, seq: int) -> None:
        """Note that a learner has learned an event. If that is undone, the learner is read again on its next use."""
        held.seq, held.changed = seq, True
        if model.shard in self._groups:
            self._grouped[model.shard] = seq
        if held.learner.guarded:
            model.scaled[key] = held.learner.guarded
        self.before_change(model, key)

    def clear(self) -> None:
        """Drop everything from memory; the store is the truth."""
        self._plain.clear()
        self._keyed.clear()
        self._pinned.clear()
        self._groups.clear()
        self._bytes = 0

    def write_keyed(self, model: ServedModel, epoch: int | None = None) -> list[CachedLearner]:
        """Write the states of the model's keyed learners that have changed; which they were."""
        changed = [
            (key, held) for (shard, key), held in self._keyed.items() if shard == model.shard and held.has_unwritten
        ]
        for key, held in changed:
            self._store.publish(model.shard, key, held.seq, held.learner.to_bytes(), epoch)
        return [held for _, held in changed]

    def _drop(self, shard: int, key: str | None) -> None:
        if key is None:
            self._plain.pop(shard, None)
        elif (held := self._keyed.pop((shard, key), None)) is not None:
            self._bytes -= held.size
            self._pinned.discard((shard, key))

    def _shrink(self) -> None:
        """Let go of the least recently used that are not pinned; one miss lets go of about one."""
        while len(self._keyed) > max(len(self._pinned), 1) and self._over_limit:
            (shard, key), held = self._keyed.popitem(last=False)
            self._bytes -= held.size
            if held.has_unwritten and self.holds(shard):
                self._store.publish(shard, key, held.seq, held.learner.to_bytes())

    def _recover(self, model: ServedModel, key: str | None, upto: int | None = None) -> CachedLearner:
        """A learner as its log has it, or as it was after an event."""
        learner, seq, start = recovery.recover_learner(self._store, model, key, upto)
        learner.reserve(self._store.last_number(model.shard, key))
        if learner.guarded:
            model.scaled[key] = learner.guarded
        new = start is not None and start.seq == 0 and not learner.rounds and model.blueprint.shared_start is not None
        looked = max(seq, model.caught) if upto is None and self.holds(model.shard) else seq
        return CachedLearner(learner, seq, model.blueprint.size, new=new, looked=looked)

    def amend(self, model: ServedModel, amendment: dict[str, Any]) -> list[CachedLearner]:
        """Change the settings of the learners of a model that are in memory; others change when they are recovered.

        Which they were: the event that says so is the last one that they know.
        """

        def change(learner: Learner) -> Learner:
            return apply_event(learner, "amended", model.seq, None, amendment)

        plain = self.get(model, None) if not model.keyed else None  # so that a refusal comes now
        if self._store.shared:  # some may not have applied the events of others yet: all are read again
            if plain is not None:
                change(plain.learner)
            self.evict(model, None)
            return []
        self.undo.push(self.evict_shard, model.shard)
        keyed = [each for (shard, _), each in self._keyed.items() if shard == model.shard]
        amended = keyed if plain is None else [plain]
        for held in amended:
            held.learner = change(held.learner)
        if (group := self.shared_state(model)) is not None:
            group.amend(amendment)
        return amended

    def evict(self, model: ServedModel, key: str | None) -> None:
        """Let go of a learner whose past was changed, or of all learners of a model with keys."""
        if model.keyed and key is None:
            self.evict_shard(model.shard)
            self.undo.push(self.evict_shard, model.shard)  # who recovers one within this batch reads what may be undone
            return
        self.evict_shared(model)
        self._drop(model.shard, key)
        self.undo.push(self._drop, model.shard, key)

    def evict_shard(self, shard: int) -> None:
        """Let go of all that is in memory of a shard: others changed its past."""
        self._plain.pop(shard, None)
        self._groups.pop(shard, None)
        self._grouped.pop(shard, None)
        for key in [own for where, own in self._keyed if where == shard]:
            self._drop(shard, key)

    def evict_shared(self, model: ServedModel, ready: SharedKeyState | None = None) -> None:
        """Drop the shared state of a model's keys, or replace it by the state rebuilt in the background."""
        self._groups.pop(model.shard, None)
        if ready is not None:
            self._groups[model.shard], self._grouped[model.shard] = ready, model.seq
        self.undo.push(self._groups.pop, model.shard, None)

    def put(self, model: ServedModel, learner: Learner, seq: int) -> None:
        """Cache a rebuilt learner of a model without keys."""
        learner.reserve(self._store.last_number(model.shard, None))
        self._plain[model.shard] = CachedLearner(learner, seq, model.blueprint.size, changed=True, looked=model.seq)


# The latest decisions that wait for feedback, kept in memory: quick feedback need not read them back.


class OpenDecision(NamedTuple):
    """A decision without feedback, and all that its feedback needs.

    Attributes
    ----------
    model
        The model that decided.
    seq
        The decision's event.
    key
        Whose learner decided, of a keyed model.
    expires_at
        When its window ends, in seconds since 1970.
    decision
        The learner's own record.
    ids
        The candidates' ids, in the order of their features.
    beside
        The decision that was shown in its place, if another model made that.
    names
        Names of columns that its event tells.
    holdout
        Whether the policy of the holdout decided.
    rewards
        How several reports on it become one reward.
    interleaved
        Whether what was shown mixes two rankings.
    """

    model: ServedModel
    seq: int
    key: str | None
    expires_at: float
    decision: Decision
    ids: list[str]
    beside: str | None = None
    names: Carried = ()
    holdout: bool = False
    rewards: Rewards = FIRST
    interleaved: bool = False


class OpenDecisions:
    """Unanswered decisions by their ids, the oldest dropped when they are too large together.

    Parameters
    ----------
    limit
        How many bytes they may take, as far as that is known from the sizes of their records.
    """

    def __init__(self, limit: int = 16 << 20) -> None:
        self._limit = limit
        self._held: OrderedDict[str, tuple[OpenDecision, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, name: str, open_decision: OpenDecision, size: int) -> None:
        """Keep a decision; ``size`` is the number of bytes of its record."""
        size = 1000 + 4 * size  # as measured: the objects around the record, and its arrays
        self._held[name] = open_decision, size
        self._size += size
        while self._size > self._limit:
            _, (_, dropped) = self._held.popitem(last=False)
            self._size -= dropped

    def get(self, name: str) -> OpenDecision | None:
        """The decision, if it is still here."""
        held = self._held.get(name)
        return held[0] if held is not None else None

    def drop(self, name: str) -> None:
        """Let go of a decision: it has its feedback."""
        if (held := self._held.pop(name, None)) is not None:
            self._size -= held[1]

    def clear(self) -> None:
        """Let go of all."""
        self._held.clear()
        self._size = 0
