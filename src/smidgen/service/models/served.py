"""A model in memory: its settings, its counts, and who stands beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from smidgen.service.models.building import Blueprint
from smidgen.service.models.hashed_names import HashedNames
from smidgen.service.models.progress import Progress
from smidgen.service.models.spreading import slot_of
from smidgen.service.store.rows import Counts


class Era(NamedTuple):
    """Settings that a model had for a while.

    Attributes
    ----------
    blueprint
        The settings.
    until, version
        The event that ended it, and the version that this made.
    by, source
        The type of that event, and the name of the model that was promoted.
    """

    blueprint: Blueprint
    until: int
    version: int
    by: str
    source: str | None = None


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
    hashed
        The names of hashed features; None if its features are not hashed.
    rewritten
        How often its past was changed since the start: by retraction, rollback, forgetting or a base.
    undoing
        How far the work on its past is that is done aside at the moment.
    leader
        The champion that it stands beside, as a shadow or a challenger.
    followers
        All that were made to stand beside it, archived ones too.
    past
        The settings that it had before another model was promoted into its place, or before that was taken back.
    part, parts
        Which slot of its model this is, and all of them in order: one, unless the model was made with more.
    caught, others
        The event up to which this worker has heeded what others wrote, and the last one that was news to it; 0 where
        nobody else writes.
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
    hashed: HashedNames | None = None
    rewritten: int = 0
    undoing: Progress | None = None
    leader: Served | None = None
    followers: list[Served] = field(default_factory=list)
    past: tuple[Era, ...] = ()
    part: int = 0
    parts: list[Served] = field(default_factory=list)
    caught: int = 0
    others: int = 0

    def __post_init__(self) -> None:
        self.parts = self.parts or [self]

    def of(self, key: str | None) -> Served:
        """The part of its model where a key is at home."""
        return self if key is None or len(self.parts) == 1 else self.parts[slot_of(key, len(self.parts))]

    @property
    def in_slot(self) -> dict[str, int]:
        """What is told beside a version, or a number of an event, where these count per slot."""
        return {} if self.told_slot is UNSET else {"slot": self.part}

    @property
    def label(self) -> str:
        """What it is called among slots."""
        return f"{self.name} (slot {self.part})" if len(self.parts) > 1 else self.name

    @property
    def told_slot(self) -> int | UnsetType:
        """The same as a field of a reply."""
        return self.part if len(self.parts) > 1 else UNSET

    @property
    def versions(self) -> int:
        """How often the weights of its model have changed, in all slots."""
        return sum(part.version for part in self.parts)

    @property
    def beside(self) -> list[Served]:
        """Those who stand beside it now."""
        return [each for each in self.followers if each.archived_at is None]

    @property
    def challenger(self) -> Served | None:
        """The one that answers a share of its traffic."""
        return next((each for each in self.beside if each.blueprint.body.challenger_of is not None), None)

    @property
    def shadow(self) -> Served | None:
        """The one that decides beside it and is never shown."""
        return next((each for each in self.beside if each.blueprint.body.shadow_of is not None), None)

    def seen_by(self, allowed: str | None) -> bool:
        """Whether it may be told of to somebody who may see only one model: what a challenger answers is its too."""
        return allowed in (None, self.name) or (self.leader is not None and self.leader.name == allowed)

    @property
    def origin(self) -> Blueprint:
        """The settings that it was made with; its learners begin with these, whatever came later."""
        return self.past[0].blueprint if self.past else self.blueprint

    @property
    def since(self) -> int:
        """The event from which on its present settings decide."""
        return self.past[-1].until if self.past else 0

    def present(self, seq: int) -> bool:
        """Whether a decision is of its present settings, or of the same ones at an earlier time.

        What was promoted has names of its own, whatever its settings are: a decision on others is not of them.
        """
        if seq > self.since:
            return True
        now = self.blueprint.record()
        same: bool = self.at(seq).record() == now
        if self.blueprint.features is None or not same:
            return same
        begun = [True, *(era.by == "promoted" for era in self.past)]  # the rest came back by a rollback
        alike = [new and era.blueprint.record() == now for new, era in zip(begun, self.past, strict=False)]
        return not begun[-1] and sum(alike) == 1

    def era(self, seq: int) -> int:
        """How many settings it had before those by which the decision of an event was made."""
        return next((place for place, era in enumerate(self.past) if seq < era.until), len(self.past))

    def at(self, seq: int) -> Blueprint:
        """The settings by which the decision of an event was made."""
        era = self.era(seq)
        return self.past[era].blueprint if era < len(self.past) else self.blueprint

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
