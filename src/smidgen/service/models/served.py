"""A model in memory: its settings, its counts, and its learners, each a fold over the log."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.models.building import Blueprint
from smidgen.service.models.fold import Undone, follow, undone
from smidgen.service.models.progress import Progress
from smidgen.service.models.starts import begin
from smidgen.service.models.undo import Undo
from smidgen.service.store.protocol import Reading, Store
from smidgen.service.store.rows import Counts, State


@dataclass
class Served:
    """A model as the service keeps it.

    Attributes
    ----------
    id, name, slot
        Its number, its name, and the slot of its events.
    blueprint
        Its settings.
    created_at, archived_at
        Seconds since 1970.
    counts
        How far it is; the store keeps them up to date.
    saved
        The event after which its learners were last written aside.
    scaled
        For each learner that was in memory since the start: how many rows of features its guard has scaled down.
    rewritten
        How often its past was changed since the start: by retraction, rollback, forgetting or a base.
    undoing
        How far the work on its past is that is done aside at the moment.
    """

    id: int
    name: str
    slot: int
    blueprint: Blueprint
    created_at: float
    archived_at: float | None = None
    counts: Counts = field(default_factory=Counts)
    saved: int = 0
    scaled: dict[str | None, int] = field(default_factory=dict)
    rewritten: int = 0
    undoing: Progress | None = None

    @property
    def keyed(self) -> bool:
        """Whether every key has a learner of its own."""
        return self.blueprint.body.keyed

    @property
    def seq(self) -> int:
        """The last event of its log."""
        return self.counts.seq

    @property
    def version(self) -> int:
        """How often its weights have changed."""
        return self.counts.version

    @property
    def decisions(self) -> int:
        """How many decisions it has made."""
        return self.counts.decisions

    @property
    def late(self) -> int:
        """How many answers came too late."""
        return self.counts.late

    @property
    def keys(self) -> int:
        """How many keys have had a decision."""
        return self.counts.keys


@dataclass
class Held:
    """A learner in memory, its last event, its size, and whether it has changed since it was last written."""

    learner: Learner
    seq: int
    size: int
    changed: bool = False


class LearnerCache:
    """The learners in memory: all of the models without keys, and the most recently used of those with keys.

    Of the keyed ones, as many stay as ``size`` and ``memory`` allow; the one in use always does.

    A learner that is not here is the newest state that can be read plus a replay of the events after it.

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

    def __init__(self, store: Store, undo: Undo, size: int, memory: int = 1 << 30) -> None:
        self._store = store
        self._undo = undo
        self._size = size
        self._memory = memory
        self._plain: dict[int, Held] = {}
        self._keyed: OrderedDict[tuple[int, str], Held] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._plain) + len(self._keyed)

    def get(self, model: Served, key: str | None) -> Held:
        """The learner of a model and key, recovered if need be."""
        if key is None:
            if (plain := self._plain.get(model.slot)) is None:
                plain = self._plain[model.slot] = self._recover(model, None)
            return plain
        place = (model.slot, key)
        held = self._keyed.get(place)
        if held is None:
            held = self._keyed[place] = self._recover(model, key)
            self._bytes += held.size
            self._shrink()
        else:
            self._keyed.move_to_end(place)
        return held

    def changing(self, model: Served, key: str | None) -> None:
        """Note that a learner is about to change; if the command is undone, it is read anew when it is needed."""
        self._undo.note(self._drop, model.slot, key)

    def changed(self, model: Served, key: str | None, held: Held, seq: int) -> None:
        """Note that a learner has learnt an event; if that is undone, it is read anew when it is needed."""
        held.seq, held.changed = seq, True
        if held.learner.guarded:
            model.scaled[key] = held.learner.guarded
        self.changing(model, key)

    def forget(self) -> None:
        """Drop everything from memory; the store is the truth."""
        self._plain.clear()
        self._keyed.clear()
        self._bytes = 0

    def write_keyed(self, model: Served) -> list[Held]:
        """Write the states of the model's keyed learners that have changed; which they were."""
        changed = [(key, held) for (slot, key), held in self._keyed.items() if slot == model.slot and held.changed]
        for key, held in changed:
            self._store.publish(model.slot, key, held.seq, held.learner.to_bytes())
        return [held for _, held in changed]

    def _drop(self, slot: int, key: str | None) -> None:
        if key is None:
            self._plain.pop(slot, None)
        elif (held := self._keyed.pop((slot, key), None)) is not None:
            self._bytes -= held.size

    def _shrink(self) -> None:
        """Let go of the least recently used; one miss lets go of about one."""
        while len(self._keyed) > 1 and (len(self._keyed) > self._size or self._bytes > self._memory):
            (slot, key), held = self._keyed.popitem(last=False)
            self._bytes -= held.size
            if held.changed:
                self._store.publish(slot, key, held.seq, held.learner.to_bytes())

    def _recover(self, model: Served, key: str | None) -> Held:
        gone = undone(self._store, model.slot)
        found = self.state_of(self._store, model, key, gone)
        learner, seq = found if found is not None else begin(self._store, model, key)
        learner, last = follow(learner, self._store.changes(model.slot, seq, key), gone)
        seq = max(seq, last)
        learner.reserve(self._store.last_number(model.slot, key))
        if learner.guarded:
            model.scaled[key] = learner.guarded
        return Held(learner, seq, model.blueprint.size)

    def amended(self, model: Served, change: Callable[[Learner], Learner]) -> None:
        """Change the settings of the learners of a model that are in memory; others change when they are recovered."""
        if not model.keyed:
            self.get(model, None)  # so that a refusal comes now
        held: list[tuple[str | None, Held | None]] = [] if model.keyed else [(None, self._plain.get(model.slot))]
        held += [(key, found) for (slot, key), found in self._keyed.items() if slot == model.slot]
        for key, found in held:
            self.changing(model, key)
            if found is not None:
                found.learner = change(found.learner)

    def leave(self, model: Served, key: str | None) -> None:
        """Let go of a learner whose past was changed, or of all learners of a model with keys."""
        keys = [own for slot, own in self._keyed if slot == model.slot] if model.keyed and key is None else [key]
        for each in keys:
            self._drop(model.slot, each)
            self._undo.note(self._drop, model.slot, each)  # who recovers it within this command reads what is undone

    def enter(self, model: Served, learner: Learner, seq: int) -> None:
        """Hold a learner of a model without keys that was folded aside."""
        learner.reserve(self._store.last_number(model.slot, None))
        self._plain[model.slot] = Held(learner, seq, model.blueprint.size, changed=True)

    @staticmethod
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
        Learner.from_bytes(state.content, state.place)
    except _UNREADABLE as error:
        return str(error)
    return None if state.own else "it is not of this log, which has another past"


_UNREADABLE = (SmidgenError, ValueError, KeyError, TypeError)
