"""All that a store in memory keeps, in plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field

from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, Lineage
from smidgen.service.log.events import Event
from smidgen.service.storage.records import CallRow, Counts, DecisionRow, ModelRow, State, TokenRow


@dataclass
class Tables:
    """All that a store keeps.

    Attributes
    ----------
    models, counts, events
        By the model's number and by shard.
    decisions, requests, numbers, given
        Decisions by id; ids by shard and the app's own id; the last number by shard and key, and that of each decision.
    states
        Newest first, by shard and key.
    tokens
        By id.
    calls
        By shard and the app's own id.
    bases, base_states, carried
        By shard; states by shard and key, oldest first.
    gone
        The shards of decisions that are erased, by id.
    lineage
        By the shards of copy and source.
    shares, groups
        Target and chance of decisions, by id; unit and share of a holdout, of those that have a group.
    """

    models: dict[int, ModelRow] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=dict)
    decisions: dict[str, DecisionRow] = field(default_factory=dict)
    requests: dict[tuple[int, str], str] = field(default_factory=dict)
    numbers: dict[tuple[int, str | None], int] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)
    states: dict[tuple[int, str | None], list[State]] = field(default_factory=dict)
    tokens: dict[str, TokenRow] = field(default_factory=dict)
    calls: dict[tuple[int, str], CallRow] = field(default_factory=dict)
    bases: dict[int, Checkpoint] = field(default_factory=dict)
    base_states: dict[tuple[int, str | None], list[CheckpointState]] = field(default_factory=dict)
    carried: dict[int, list[CarriedDecision]] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    lineage: dict[tuple[int, int], Lineage] = field(default_factory=dict)
    shares: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    groups: dict[str, tuple[str | None, float | None]] = field(default_factory=dict)

    def fork(self) -> Tables:
        """A copy that can change without this one."""
        out = Tables(**{name: dict(table) for name, table in vars(self).items()})
        out.events = {shard: list(events) for shard, events in self.events.items()}
        return out

    def floor(self, shard: int) -> int:
        """The last event of a shard that lies under its base."""
        base = self.bases.get(shard)
        return base.seq if base is not None else 0

    def seen(self, shard: int, seq: int) -> bool:
        """True if an event is above the checkpoint, or is carried."""
        return seq > self.floor(shard) or any(kept.seq == seq for kept in self.carried.get(shard, ()))
