"""Writing bases to memory, erasing what lies under them, and what becomes of models: names, ends, lineage."""

from __future__ import annotations

from collections.abc import Sequence

from service.memory.tables import Tables
from service.memory.writes import MemoryEventWriter
from smidgen.service.log.checkpoint import (
    RETAINED,
    CarriedDecision,
    Checkpoint,
    CheckpointState,
    Lineage,
    checkpoint_body,
)
from smidgen.service.log.events import erase_event
from smidgen.service.storage.records import Counts


class MemoryCheckpointWriter(MemoryEventWriter):
    """The verbs that write bases, and those about models as a whole."""

    def stage(self, shard: int, states: Sequence[CheckpointState]) -> None:
        """Write states of a base that is still to come; until it does, nobody sees them."""

        def enter(tables: Tables) -> None:
            for state in states:
                older = [kept for kept in tables.base_states.get((shard, state.key), ()) if kept.seq < state.seq]
                tables.base_states[shard, state.key] = [*older, state]

        self._do(enter)

    def unstage(self, shard: int) -> None:
        """Drop the states of a base that did not come."""

        def leave(tables: Tables) -> None:
            floor = tables.floor(shard)
            for place, states in list(tables.base_states.items()):
                if place[0] == shard:
                    tables.base_states[place] = [state for state in states if state.seq <= floor]
                    if not tables.base_states[place]:
                        del tables.base_states[place]

        self._do(leave)

    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        """Let a log begin after a base whose states are staged; the number of the event that says so."""
        old, kept, fresh = self._tables.floor(shard), list(carried), base._replace(erased=0)

        def enter(tables: Tables) -> None:
            tables.bases[shard] = fresh
            tables.carried[shard] = kept

        self._do(enter)
        return self._tell(shard, self.counts_to_change(shard), fresh, fresh.seq - old, at)

    def drop_checkpoint_state(self, shard: int, key: str, at: float) -> None:
        """Let a base hold nothing of a key, nor keep any of its decisions."""
        if (base := self.checkpoint(shard)) is None:
            return
        counts, events = self.counts_to_change(shard), self._tables.events[shard]
        mine = {kept.seq for kept in self.carried_decisions(shard) if events[kept.seq - 1].key == key}
        rows = [row for row in self._tables.decisions.values() if row.shard == shard and row.seq in mine]
        counts.decisions -= len(mine)
        counts.answered -= sum(row.answered for row in rows)
        above = {event.decision for event in events[base.seq :] if event.type == "feedback" and event.made is None}
        counts.late -= sum(row.late and row.id not in above for row in rows)
        counts.keys -= all(event.key != key for event in events[base.seq :])
        fresh = base._replace(decisions=base.decisions - len(mine), erased=0)

        def leave(tables: Tables) -> None:
            tables.carried[shard] = [kept for kept in tables.carried.get(shard, ()) if kept.seq not in mine]
            tables.base_states.pop((shard, key), None)
            tables.bases[shard] = fresh

        self._do(leave)
        self._tell(shard, counts, fresh, 0, at)

    def _tell(self, shard: int, counts: Counts, base: Checkpoint, events: int, at: float) -> int:
        """Write the event that has the digest of a base."""
        found = checkpoint_body(
            base, events, [state.digest for state in self.checkpoint_states(shard)], self.carried_decisions(shard)
        )
        return self.write_event(shard, counts, RETAINED, at, found)

    def purge(self, limit: int) -> bool:
        """Erase some of what lies under a base; False if nothing is left."""
        unfinished = [shard for shard, base in sorted(self._tables.bases.items()) if base.erased < base.seq]
        if not unfinished:
            return False
        shard = unfinished[0]

        def erase(tables: Tables) -> None:
            base = tables.bases[shard]
            upto = min(base.erased + limit, base.seq)
            dead = {seq for seq in range(base.erased + 1, upto + 1) if not tables.seen(shard, seq)}
            for seq in dead:
                tables.events[shard][seq - 1] = erase_event(tables.events[shard][seq - 1])
            for row in [row for row in tables.decisions.values() if row.shard == shard and row.seq in dead]:
                tables.gone[row.id] = shard
                del tables.decisions[row.id]
                tables.shares.pop(row.id, None)
            tables.requests = {place: id for place, id in tables.requests.items() if id in tables.decisions}
            tables.calls = {
                place: row for place, row in tables.calls.items() if place[0] != shard or row.seq not in dead
            }
            if upto == base.seq:
                for place, states in list(tables.base_states.items()):
                    if place[0] == shard and states:
                        tables.base_states[place] = states[-1:]
            tables.bases[shard] = base._replace(erased=upto)

        self._do(erase)
        return True

    def derive(self, shard: int, source: int, seq: int) -> None:
        """Note that a model began with what another had learnt up to an event."""
        row = Lineage(shard, source, seq)
        self._do(lambda tables: tables.lineage.__setitem__((shard, source), row))

    def revive(self, model: int) -> None:
        """Note that a model decides again."""
        self._note_model(model, archived_at=None)

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        if any(row.name == name for row in self._tables.models.values()):
            raise ValueError(f"there is a model {name!r} already")
        self._note_model(model, name=name)
