"""A model in memory: its settings, its counts, and its learners, each a fold over the log."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.models.building import Blueprint
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import Log
from smidgen.service.store.snapshots import Snapshots


@dataclass
class Served:
    """A model as the service keeps it.

    Attributes
    ----------
    id, name
        Its number (which is all that files and tables go by) and its name.
    blueprint
        Its settings.
    created_at, archived_at
        Seconds since 1970.
    seq
        The last event of its log.
    version
        How many feedbacks it has learnt.
    decisions, late, keys
        How many decisions it has made, how many answers came too late, how many keys it has seen.
    fresh
        Events since the last snapshot.
    """

    id: int
    name: str
    blueprint: Blueprint
    created_at: float
    archived_at: float | None = None
    seq: int = 0
    version: int = 0
    decisions: int = 0
    late: int = 0
    keys: int = 0
    fresh: int = 0

    @property
    def keyed(self) -> bool:
        """Whether every key has a learner of its own."""
        return self.blueprint.body.keyed


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
    log
        The log; a state that leaves the cache joins the transaction that is open.
    snapshots
        The files of the models without keys.
    size
        How many keyed learners stay in memory.
    memory
        How many bytes they may take, by the size of fresh ones.
    """

    def __init__(self, log: Log, snapshots: Snapshots, size: int, memory: int = 1 << 30) -> None:
        self._log = log
        self._snapshots = snapshots
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
            if (plain := self._plain.get(model.id)) is None:
                plain = self._plain[model.id] = self._recover(model, None)
            return plain
        place = (model.id, key)
        held = self._keyed.get(place)
        if held is None:
            held = self._keyed[place] = self._recover(model, key)
            self._bytes += held.size
            self._shrink()
        else:
            self._keyed.move_to_end(place)
        return held

    def forget(self) -> None:
        """Drop everything from memory; what is on disk is the truth."""
        self._plain.clear()
        self._keyed.clear()
        self._bytes = 0

    def write_keyed(self, model: Served) -> list[Held]:
        """Write the states of the model's keyed learners that have changed; which they were."""
        changed = [(key, held) for (id, key), held in self._keyed.items() if id == model.id and held.changed]
        for key, held in changed:
            self._write(model.id, key, held)
        return [held for _, held in changed]

    def _shrink(self) -> None:
        """Let go of the least recently used; one miss lets go of about one."""
        while len(self._keyed) > 1 and (len(self._keyed) > self._size or self._bytes > self._memory):
            (id, key), held = self._keyed.popitem(last=False)
            self._bytes -= held.size
            if held.changed:
                self._write(id, key, held)

    def _write(self, model: int, key: str, held: Held) -> None:
        self._log.connection.execute(
            "INSERT INTO key_states VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET seq = excluded.seq, state = excluded.state",
            (model, key, held.seq, held.learner.to_bytes()),
        )
        reach("key-state-written")

    def _recover(self, model: Served, key: str | None) -> Held:
        found = self._state(model, key)
        learner, seq = found if found is not None else (model.blueprint.learner(key), 0)
        for step in self._log.learnt(model.id, key, seq):
            learner.learn(step.decision, step.feedback)
            seq = step.seq
        learner.reserve(self._log.last_number(model.id, key))
        return Held(learner, seq, model.blueprint.size)

    def _state(self, model: Served, key: str | None) -> tuple[Learner, int] | None:
        if key is None:
            return self._snapshots.newest_good(model.id, self._log)
        row = self._log.connection.execute(
            "SELECT state, seq FROM key_states WHERE model = ? AND key = ?", (model.id, key)
        ).fetchone()
        try:
            return (Learner.from_bytes(row[0], f"the state of key {key!r}"), row[1]) if row else None
        except (SmidgenError, ValueError, KeyError, TypeError):
            return None
