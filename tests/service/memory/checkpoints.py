"""Reading the bases of logs, and where copies are from, out of memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from service.memory.tables import Tables
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, Lineage


class MemoryCheckpointReader:
    """Reads of checkpoints and lineage.

    Parameters
    ----------
    tables
        What is looked at.
    lock
        Held while looking.
    """

    def __init__(self, tables: Tables, lock: threading.RLock) -> None:
        self._tables = tables
        self._lock = lock

    def checkpoint(self, shard: int) -> Checkpoint | None:
        """Retention checkpoint of a shard's log, or None."""
        with self._lock:
            return self._tables.bases.get(shard)

    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        """State of a learner at the checkpoint; None if it did not exist yet."""
        with self._lock:
            floor = self._tables.floor(shard)
            found = [state for state in self._tables.base_states.get((shard, key), ()) if state.seq <= floor]
        return found[-1] if found else None

    def checkpoint_states(self, shard: int) -> Iterator[CheckpointState]:
        """States of all learners at the checkpoint, in the order of their keys."""
        with self._lock:
            keys = [key for where, key in self._tables.base_states if where == shard]
        for key in sorted(keys, key=lambda key: (key or "").encode()):
            if (state := self.checkpoint_state(shard, key)) is not None:
                yield state

    def carried_decisions(self, shard: int) -> list[CarriedDecision]:
        """The decisions under the base that are kept, in order."""
        with self._lock:
            return list(self._tables.carried.get(shard, ()))

    def decisions_to_carry(self, shard: int, seq: int, now: float, after: int) -> list[int]:
        """The decisions up to an event that later events are about, or that are open at a moment, in order."""
        with self._lock:
            rows = [row for row in self._tables.decisions.values() if row.shard == shard and row.seq <= seq]
            later = {event.decision for event in self._tables.events.get(shard, ())[after:] if event.type != "decision"}
        found = {row.seq for row in rows if row.id in later}
        if after <= seq:
            found |= {row.seq for row in rows if row.feedback_seq is None and (row.expires_at >= now or row.is_due)}
        return sorted(found)

    def counts_up_to(self, shard: int, seq: int) -> tuple[int, int]:
        """Number of decisions and late answers up to an event."""
        with self._lock:
            base, floor = self._tables.bases.get(shard), self._tables.floor(shard)
            events = self._tables.events.get(shard, ())[floor:seq]
        decisions = sum(event.type == "decision" for event in events)
        late = sum(event.type == "feedback" and event.made is None for event in events)
        return (decisions + base.decisions, late + base.late) if base is not None else (decisions, late)

    def find_erased_decision(self, id: str) -> int | None:
        """The shard of a decision that was erased since it lies under a base; None if none is known."""
        with self._lock:
            if id in self._tables.gone:
                return self._tables.gone[id]
            row = self._tables.decisions.get(id)
            return row.shard if row is not None and not self._tables.seen(row.shard, row.seq) else None

    def lineage(self) -> list[Lineage]:
        """Models that started with the state of others, in the order of their creation."""
        with self._lock:
            return [self._tables.lineage[place] for place in sorted(self._tables.lineage)]
