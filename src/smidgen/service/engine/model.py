"""A served model: its shards and its settings.

The names of a model whose features are hashed: who falls into which column, with which sign.

Hashing loses names. So a decision's event records the names that no earlier event has, and the service keeps them, up
to a limit: weights, contributions and stories then show names. They are for people; no learner reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from smidgen.errors import SmidgenError
from smidgen.learners import saving
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import StorageFailed
from smidgen.service.log import codec
from smidgen.service.log.events import Event
from smidgen.service.loops.features import hashed_place
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import Counts
from smidgen.service.storage.sqlite_schema import RESTORE

#: Maximum number of names of a model that are kept, and of characters of each; later names share a column with
#: "…".
MOST, LONGEST = 65_536, 200
KIND = "Names"
#: The key under which the snapshot of the names of a shard is stored; no app can send an empty key.
PLACE = ""
_UNREADABLE = (SmidgenError, *UNREADABLE, ValueError, KeyError, TypeError)


class HashedNames:
    """Names by column.

    Parameters
    ----------
    dim
        How many columns there are.
    names
        Those that are known.

    Examples
    --------
    >>> from smidgen.service.engine.model import HashedNames
    >>> names = HashedNames(64, ["country=se", "country=no"])
    >>> names.new(["country=se", "plan=free"])
    ['plan=free']
    >>> column, sign = names.place("country=se")
    >>> names.label(column), names.sign(column) == sign
    ('country=se', True)
    """

    def __init__(self, dim: int, names: Iterable[str] = ()) -> None:
        self._dim = dim
        self._known: dict[str, None] = {}
        self._columns: dict[int, list[str]] = {}
        self._crowded: set[int] = set()
        self.changed = False
        self.add(names)

    def __len__(self) -> int:
        return len(self._known)

    def place(self, name: str) -> tuple[int, int]:
        """The column of a name, and the sign with which it counts there."""
        return hashed_place(name, self._dim)

    def new(self, names: Iterable[str]) -> list[str]:
        """Those that are not known and can be kept; columns of others are noted as shared."""
        found: dict[str, None] = {}
        for name in names:
            if name in self._known or name in found:
                continue
            if len(name) > LONGEST or len(self._known) + len(found) >= MOST:
                self._crowded.add(self.place(name)[0])
            else:
                found[name] = None
        return list(found)

    def add(self, names: Iterable[str]) -> None:
        """Keep names."""
        for name in self.new(names):
            self._known[name] = None
            self._columns.setdefault(self.place(name)[0], []).append(name)
            self.changed = True

    def drop(self, names: Iterable[str]) -> None:
        """Drop names whose events were undone."""
        for name in names:
            if name in self._known:
                del self._known[name]
                self._columns[self.place(name)[0]].remove(name)

    def sign(self, column: int) -> int:
        """With which sign the first name of a column counts; + if there is none."""
        names = self._columns.get(column)
        return self.place(names[0])[1] if names else 1

    def signs(self) -> NDArray[np.float64]:
        """Signs of all columns, as `sign` gives them."""
        signs = np.ones(self._dim)
        for column, names in self._columns.items():
            if names:
                signs[column] = self.place(names[0])[1]
        return signs

    def label(self, column: int) -> str | None:
        """The names of a column; those that count against the first have a minus. None if there is none."""
        names = self._columns.get(column)
        if not names:
            return None
        first = self.sign(column)
        labels = [name if self.place(name)[1] == first else f"−{name}" for name in names]
        labels += ["…"] if column in self._crowded else []
        return " | ".join(labels) + (" (share a column)" if len(labels) > 1 else "")

    def known(self) -> list[str]:
        """All that are known, in the order in which they came."""
        return list(self._known)

    def all(self) -> Iterator[tuple[int, str]]:
        """Every column that has a name, and what it is called."""
        for column in sorted(self._columns):
            if (name := self.label(column)) is not None:
                yield column, name

    def to_bytes(self) -> bytes:
        """All that is known, for a state of the store."""
        names = np.frombuffer(msgspec.json.encode(list(self._known)), np.uint8)
        crowded = np.array(sorted(self._crowded), np.int64)
        header = saving.Header(kind=KIND, settings_version=1, state_version=1, params={}, decided=0, taught=0, notes={})
        return saving.encode_learner(header, {"names": names, "crowded": crowded})

    @classmethod
    def read(cls, reading: StoreReader, shard: int, dim: int) -> HashedNames:
        """Read the names in the last snapshot. Names from later events are repeated on their next use."""
        hashed = cls(dim)
        for state in reading.states(shard, PLACE):
            try:
                header, arrays = saving.decode_learner(state.content, state.place)
                if header.kind == KIND:
                    hashed.add(msgspec.json.decode(arrays["names"].tobytes(), type=list[str]))
                    hashed._crowded = set(arrays["crowded"].tolist())
            except _UNREADABLE:
                continue
        hashed.changed = False
        return hashed

    @classmethod
    def rebuild(cls, reading: StoreReader, shard: int, dim: int) -> HashedNames:
        """Collect the names that all events of a shard tell."""
        hashed = cls(dim)
        if (checkpoint := reading.checkpoint(shard)) is not None:
            hashed.add(hashed_names(codec.read_fields(checkpoint.body, checkpoint.seq)))
        hashed.follow(reading, shard, 0)
        return hashed

    def follow(self, reading: StoreReader, shard: int, after: int) -> None:
        """Keep what the events of a shard after one tell."""
        while chunk := reading.events(shard, after):
            for event in chunk:
                self.add(names_in(event))
            after = chunk[-1].seq


def names_in(event: Event) -> list[str]:
    """Names of hashed features that an event reports."""
    if event.type == "decision":
        return hashed_names(codec.read_decision(event.body, event.seq).shared)
    return hashed_names(codec.read_fields(event.body, event.seq)) if event.type in ("taught", "imported") else []


def hashed_names(shared: dict[str, Any] | None) -> list[str]:
    """Names that an event reports."""
    names = (shared or {}).get("hashed") or []
    return [name for name in names if isinstance(name, str)]


#: Number of the latest events in which the lengths of vectors are looked up that were not learned yet.
LENGTHS_IN = 20_000


def read_lengths(reading: StoreReader, model: ServedModel) -> dict[str, int]:
    """The lengths of vectors as the latest decisions of a shard have fixed them, the first of each field."""
    found: dict[str, int] = {}
    after = max(0, model.seq - LENGTHS_IN)
    while chunk := reading.events(model.shard, after):
        for event in chunk:
            if event.type == "decision":
                lengths = (codec.read_decision(event.body, event.seq).shared or {}).get("lengths") or {}
                found = {**lengths, **found}
        after = chunk[-1].seq
    return found


def feature_names(body: Any) -> Iterator[str]:
    """The names of the features in a request."""
    for features in (getattr(body, "features", None), getattr(body, "context", None)):
        if isinstance(features, dict):
            yield from features
    candidates = getattr(body, "candidates", None)
    for each in candidates if isinstance(candidates, list) else ():
        if isinstance(each.features, dict):
            yield from each.features


# Which shard of a model a key is at home in: fixed for ever, and the same in every language.


def shard_of(key: str, shards: int) -> int:
    """The shard of a key: the first eight bytes of the SHA-256 of its UTF-8, as a big-endian number, modulo the shards.

    Examples
    --------
    >>> from smidgen.service.engine.model import shard_of
    >>> [shard_of(key, 4) for key in ("ann", "bob", "eve")]
    [2, 2, 3]
    """
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big") % shards if shards > 1 else 0


def row_names(name: str, shards: int) -> list[str]:
    """Names of a model's shards in the store; no app can give a name with a slash.

    Examples
    --------
    >>> from smidgen.service.engine.model import row_names
    >>> row_names("shop", 1), row_names("shop", 3)
    (['shop'], ['shop/0', 'shop/1', 'shop/2'])
    """
    return [f"{name}/{shard}" for shard in range(shards)] if shards > 1 else [name]


def name_and_part(row: str) -> tuple[str, int]:
    """The model's name, and which of its parts it is, from what the store calls it.

    Examples
    --------
    >>> from smidgen.service.engine.model import name_and_part
    >>> name_and_part("shop"), name_and_part("shop/2")
    (('shop', 0), ('shop', 2))
    """
    name, _, part = row.partition("/")
    if part and not (part.isascii() and part.isdecimal() and len(part) < 4):
        raise StorageFailed(f"a model in the database has the invalid name {row!r}", RESTORE)
    return name, int(part or 0)


def count_of_models(rows: Iterable[str]) -> int:
    """Count models, given the names of their shards in the store.

    Examples
    --------
    >>> from smidgen.service.engine.model import count_of_models
    >>> count_of_models(["news", "shop/0", "shop/1", "shop/2"])
    2
    """
    return sum(name_and_part(row)[1] == 0 for row in rows)


# A model in memory: its settings, its counts, its shadow and challenger.


class SettingsEpoch(NamedTuple):
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
class ServedModel:
    """A model as the service keeps it.

    Attributes
    ----------
    id, name, shard
        Its number, its name, and the shard of its events.
    blueprint
        Its settings.
    created_at, archived_at
        Seconds since 1970.
    counts
        How far it is; the store keeps them up to date.
    saved
        The event of the latest snapshots of its learners.
    scaled
        For each learner that was in memory since the start: how many rows of features its guard has scaled down.
    hashed
        The names of hashed features; None if its features are not hashed.
    lengths
        The lengths of the vectors of its records, by field, as decisions have fixed them; None before they were read.
    rewritten
        How often its past was changed since the start: by retraction, rollback, forgetting or a base.
    undoing
        Progress of the background work on its past, if there is any.
    leader
        The champion, if the model is a shadow or a challenger.
    followers
        All its shadows and challengers, archived ones too.
    past
        The settings that it had before another model was promoted into its place, or before that was taken back.
    part, parts
        Which shard of its model this is, and all of them in order: one, unless the model was made with more.
    caught, others
        The event up to which this worker has applied the events of others, and the last one that was new to it; 0 if
        there is no other writer.
    spending, spending_read
        What it has spent of its budget (`smidgen.service.engine.spending.Spending`): of the writer, and of readers.
    """

    id: int
    name: str
    shard: int
    blueprint: Blueprint
    created_at: float
    archived_at: float | None = None
    counts: Counts = field(default_factory=Counts)
    saved: int = 0
    scaled: dict[str | None, int] = field(default_factory=dict)
    hashed: HashedNames | None = None
    lengths: dict[str, int] | None = None
    rewritten: int = 0
    undoing: Progress | None = None
    leader: ServedModel | None = None
    followers: list[ServedModel] = field(default_factory=list)
    past: tuple[SettingsEpoch, ...] = ()
    part: int = 0
    parts: list[ServedModel] = field(default_factory=list)
    caught: int = 0
    others: int = 0
    spending: Any = None
    spending_read: Any = None

    def __post_init__(self) -> None:
        self.parts = self.parts or [self]

    def shard_for(self, key: str | None) -> ServedModel:
        """The part of its model where a key is at home."""
        return self if key is None or len(self.parts) == 1 else self.parts[shard_of(key, len(self.parts))]

    @property
    def shard_suffix(self) -> dict[str, int]:
        """Suffix for a version or event number where these count per shard."""
        return {} if self.shard_in_reply is UNSET else {"shard": self.part}

    @property
    def label(self) -> str:
        """Name in messages: of a model with several shards, with the number of the shard."""
        return f"{self.name} (shard {self.part})" if len(self.parts) > 1 else self.name

    @property
    def shard_in_reply(self) -> int | UnsetType:
        """Number of the shard as a field of a reply; None if the model has one shard."""
        return self.part if len(self.parts) > 1 else UNSET

    @property
    def versions(self) -> int:
        """Number of weight changes of the model, over all shards."""
        return sum(part.version for part in self.parts)

    @property
    def arms(self) -> list[ServedModel]:
        """Current shadows and challengers."""
        return [each for each in self.followers if each.archived_at is None]

    @property
    def challenger(self) -> ServedModel | None:
        """The one that answers a share of its traffic."""
        return next((each for each in self.arms if each.blueprint.body.challenger_of is not None), None)

    @property
    def shadow(self) -> ServedModel | None:
        """The model's shadow, if any."""
        return next((each for each in self.arms if each.blueprint.body.shadow_of is not None), None)

    def is_visible_to(self, allowed: str | None) -> bool:
        """Check that a caller bound to one model may see this one; decisions of its challenger count as its own."""
        return allowed in (None, self.name) or (self.leader is not None and self.leader.name == allowed)

    @property
    def origin(self) -> Blueprint:
        """The settings that it was made with; its learners begin with these, whatever came later."""
        return self.past[0].blueprint if self.past else self.blueprint

    @property
    def since(self) -> int:
        """The event from which on its present settings decide."""
        return self.past[-1].until if self.past else 0

    def is_current(self, seq: int) -> bool:
        """Check whether a decision is of its present settings, or of the same ones at an earlier time.

        What was promoted has names of its own, whatever its settings are: a decision on others is not of them.
        """
        if seq > self.since:
            return True
        now = self.blueprint.record()
        same: bool = self.blueprint_at(seq).record() == now
        if self.blueprint.features is None or not same:
            return same
        begun = [True, *(era.by == "promoted" for era in self.past)]  # the rest came back by a rollback
        alike = [new and era.blueprint.record() == now for new, era in zip(begun, self.past, strict=False)]
        return not begun[-1] and sum(alike) == 1

    def epoch_of(self, seq: int) -> int:
        """Number of settings before those that made the decision of an event."""
        return next((place for place, era in enumerate(self.past) if seq < era.until), len(self.past))

    def blueprint_at(self, seq: int) -> Blueprint:
        """The settings by which the decision of an event was made."""
        era = self.epoch_of(seq)
        return self.past[era].blueprint if era < len(self.past) else self.blueprint

    @property
    def has_holdout(self) -> bool:
        """True if a fixed policy answers a share of the requests."""
        holdout = self.blueprint.terms.holdout
        return holdout is not None and holdout.share > 0.0

    @property
    def keyed(self) -> bool:
        """True if every key has a learner of its own."""
        return self.blueprint.body.keyed

    @property
    def seq(self) -> int:
        """The last event of its log."""
        return self.counts.seq

    @property
    def version(self) -> int:
        """Number of weight changes."""
        return self.counts.version

    @property
    def decisions(self) -> int:
        """Number of decisions."""
        return self.counts.decisions

    @property
    def late(self) -> int:
        """Number of answers that came too late."""
        return self.counts.late

    @property
    def keys(self) -> int:
        """Number of keys with a decision."""
        return self.counts.keys
