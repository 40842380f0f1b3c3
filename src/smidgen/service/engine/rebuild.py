"""What the learners of a log become, from nothing, and whether it is what the log says."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen import serialization
from smidgen.errors import FOREIGN, InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap
from smidgen.service.engine.blueprint import Blueprint, judged
from smidgen.service.engine.champions import amended_as_far
from smidgen.service.engine.model import told
from smidgen.service.engine.recordings import Recording, in_sequence
from smidgen.service.engine.registry import recorded
from smidgen.service.engine.replay import NOWHERE, Change, Kept, begin, keep, records_of, take, told_to
from smidgen.service.engine.shared_state import Group, Mean
from smidgen.service.log.codec import Line, as_bytes
from smidgen.service.log.events import ERASED, REWINDS
from smidgen.service.schemas import AmendBody
from smidgen.service.storage import formats

_HINT = "give the log as it was exported: smidgen log export"


class Room:
    """What the learners of one log may hold together; a few bytes of a log can ask for megabytes each time.

    Parameters
    ----------
    limit
        In bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._learners = 0

    def take(self, size: int) -> None:
        """Count one more learner of this size, or refuse it."""
        self.check(1, size)
        self._taken += size
        self._learners += 1

    def check(self, count: int, size: int) -> None:
        """Refuse unless there is room for so many more learners of this size."""
        if (total := self._taken + count * size) > self._limit:
            raise InvalidRecord(
                f"the log leads to {self._learners + count} learners of {total:,} bytes together: the limit is "
                f"{self._limit:,} bytes",
                "raise it with SMIDGEN_MAX_LEARNER (smidgen serve --max-learner)",
            )


class Rebuilding:
    """The learners that a log leads to, event by event, from nothing but the log.

    Parameters
    ----------
    recording
        The log, to look up decisions.
    shard
        Of which shard the events are, if the log says so.
    room
        How much the learners of a log may hold together; None: as much as they need.

    Attributes
    ----------
    blueprint
        The model's settings, once its first event was taken; those of another, once that was promoted.
    settings
        The same with all that was amended since: what is in force.
    learners
        By key; None is the key of a model without keys.
    numbers
        The number of each learner's latest decision.
    group
        What the keys share, if they do.
    told
        The places of the names that each key has told, where keys share them.
    hashed
        The names of hashed features that the log tells.
    undone
        What was taken back, in all of the log; it is left out from the beginning.
    seq, version
        The last event, and the model's version.
    """

    def __init__(self, recording: Recording, shard: int | None = None, room: Room | None = None) -> None:
        self._recording = recording
        self._room = room
        self.blueprint: Blueprint | None = None
        self.settings: Blueprint | None = None
        self.learners: dict[str | None, Learner] = {}
        self.numbers: dict[str | None, int] = {}
        self.group: Group | None = None
        self._begun: set[str | None] = set()
        self.told: dict[str, set[int]] = {}
        self.hashed: dict[str, None] = {}
        self.undone = recording.undone(shard)
        self._kept = Kept(self.undone)
        self._origin: Blueprint | None = None
        self._wide: list[tuple[str, int, Any]] = []  # what every learner takes, also one that comes later
        self.seq = 0
        self.version = 0

    def take(self, event: Line) -> None:
        """Take the next event."""
        self.seq = event.seq
        if event.type == "created":
            formats.check(event.format, self._recording.name)
            if event.model is None:
                raise InvalidRecord(f"event {event.seq} creates a model without settings", "export the log again")
            self.blueprint = self.settings = self._origin = recorded(event.model, event.resolved)
            self.group = Group(self.blueprint) if self.blueprint.grouped else None
        elif event.type in ("base", "base_state"):
            self._based(event)
        elif event.type == "decision":
            self.numbers[event.key] = max(event.number, self.numbers.get(event.key, 0))
            self.hashed |= dict.fromkeys(told(event.shared))
            self._begin(event.key, (event.shared or {}).get("start"), event.reply.get("model_version", 0))
        elif event.type == "amended":
            if self.settings is not None and event.amended:
                given = msgspec.convert(event.amended, AmendBody).given()
                self.settings = self.settings.amend(amended_as_far(self.settings, given))
            self._wide.append((event.type, event.seq, event.told()))
            for key in list(self.learners):
                self.learners[key] = take(self.learners[key], event.type, event.seq, None, event.told())
            if self.group is not None:
                self.group.amend(event.told())
        elif event.changes:
            self.version = event.model_version or 0
            self.hashed |= dict.fromkeys(event.hashed)
            if self.version in self.undone:
                if self._kept.has(event.type, self.version):
                    self._keep(event)
            else:
                self._change(event)
                if event.type == "promoted" and event.model is not None:
                    self._wide.append((event.type, event.seq, event.told()))
                    self.blueprint = self.settings = recorded(event.model, event.resolved)
                    self.group = Group(self.blueprint) if self.blueprint.grouped else None
                    self._share(event)

    def _based(self, event: Line) -> None:
        """Begin with what was folded, where the first events are erased."""
        if event.type == "base":
            formats.check(event.format, self._recording.name)
            if event.model is None:
                raise InvalidRecord("the base has no settings", "export the log again")
            self.blueprint = self.settings = self._origin = recorded(event.model, event.resolved)
            self.group = Group(self.blueprint) if self.blueprint.grouped else None
            self.version = event.version
            self.hashed |= dict.fromkeys(event.hashed)
            self._wide = [("amended", event.seq, serialization.unpack(told)) for told in event.amendments]
        elif self.blueprint is not None and self.blueprint.grouped and event.key is None:
            self._take_over(event.told().tobytes(), "the base state of what keys share")
        else:
            learner = self._bounded(Learner.from_bytes(event.told().tobytes(), f"the base state of {event.key}"))
            self.learners[event.key], self.numbers[event.key] = learner, event.number
            self._begun.add(event.key)
            if self.group is not None:
                self.group.moved(None, learner)

    def _keep(self, event: Line) -> None:
        """Let names keep their columns that an event told and that was taken back."""
        if self.group is None:
            if event.key is not None or self.blueprint is None or not self.blueprint.body.keyed:
                keep(self.learner(event.key), self._read(event))
        elif event.type == "imported" and event.group is not None:
            self.group.keep_all(as_bytes(event.group), f"event {event.seq}")
        elif event.type == ERASED:
            self.group.reserve(event.places)
        else:
            self.group.keep(self._read(event))

    def _read(self, event: Line) -> Change:
        """What an event says that changed weights."""
        decision, names = None, event.names
        if event.decision is not None and event.type not in REWINDS:
            made = self._recording.decision(event.decision)
            if made is None:
                raise InvalidRecord(f"event {event.seq} answers a decision that is not in the log", "export all of it")
            decision, names = made.made(), (made.shared or {}).get("names", [])
        change = Change(event.type, decision, event.told(), event.places, names)
        if self.group is not None and event.key is not None:
            told = self.told.setdefault(event.key, set())
            told.update(place for place, _, _ in event.names)
            for _, places, carried in records_of(change):
                told.update((places or NOWHERE)[0], (place for place, _, _ in carried))
        return change

    def _change(self, event: Line) -> None:
        """Let those learners take the event whom it is about."""
        change = self._read(event)
        if event.group is not None and event.type == "imported":
            self._share(event)
        if self.group is not None and event.key is not None:
            self._grouped(event, change)
            return
        if self.group is not None and event.type == ERASED:
            self.group.reserve(event.places)
        keyed = self.blueprint is not None and self.blueprint.body.keyed
        keys = list(self.learners) if keyed and event.key is None else [event.key]
        for key in keys:
            learner = take(self.learner(key), event.type, event.seq, change.decision, change.told, key)
            self.learners[key] = self._bounded(learner) if event.type in ("imported", "promoted") else learner

    def _share(self, event: Line) -> None:
        """Take over what the keys of another model shared; each of them counts by an event of its own."""
        if self.blueprint is not None and self.blueprint.grouped and event.group is not None:
            self._take_over(as_bytes(event.group), f"event {event.seq}")

    def _take_over(self, content: bytes, source: str) -> None:
        """Take over what keys shared, but for the mean of their weights, which they make up by themselves."""
        if self.blueprint is not None:
            counted = self.group.mean if self.group is not None else None
            self.group = Group.from_bytes(content, self.blueprint, source)
            self.group.mean = None if self.group.mean is None else counted or Mean()

    def _grouped(self, event: Line, change: Change) -> None:
        """Let a learner of a key take the event, and what it shares with others."""
        if self.group is None:
            return
        if event.type in ("taught", "imported"):
            self._begin(event.key, event.start, (event.model_version or 1) - 1)
        learner = self.learner(event.key)
        new = event.type == "promoted" or not learner.rounds or self.group.mean is None
        before = None if new else learner.start()
        told = told_to(learner, change)
        learner = take(learner, event.type, event.seq, *told, event.key)
        self.learners[event.key] = self._bounded(learner) if event.type in ("imported", "promoted") else learner
        self.group.take(change)
        self.group.moved(before, learner)

    def _begin(self, key: str | None, start: str | bytes | None, version: int) -> None:
        """Let a key begin with what its first event says, unless what it says was rolled back."""
        if self._origin is None or self._origin.shared_start is None or key in self._begun:
            return
        if not self.undone.begins_anew(version):
            self._begun.add(key)
            if start is not None:
                begin(self.learner(key), as_bytes(start))

    def _bounded(self, learner: Learner) -> Learner:
        """A learner that the log brings in, if there is room for it."""
        if self._room is not None:
            self._room.take(type(unwrap(learner)).estimate_size(unwrap(learner).params))
        return learner

    def learner(self, key: str | None) -> Learner:
        """The learner of a key, with the numbers of its decisions taken."""
        if key not in self.learners:
            if self._origin is None:
                raise InvalidRecord(
                    f"{self._recording.name} does not begin with the model's settings", "export the log from its start"
                )
            if self._room is not None:
                self._room.take(self._origin.size)
            self.learners[key] = self._origin.learner(key)
            for type, seq, told in self._wide:
                self.learners[key] = take(self.learners[key], type, seq, None, told, key)
        learner = self.learners[key]
        learner.reserve(self.numbers.get(key, 0))
        return learner


def rebuild(recording: Recording) -> Rebuilding:
    """Take the whole log of a model with one shard, or of one shard."""
    (rebuilt,) = rebuild_all(recording).values()
    return rebuilt


def rebuild_all(recording: Recording, room: Room | None = None) -> dict[int, Rebuilding]:
    """Take the whole log, by shard; whatever is wrong with it is an `InvalidRecord`."""
    found: dict[int, Rebuilding] = {}
    with judged():
        for event in in_sequence(recording):
            try:
                if (rebuilt := found.get(event.shard or 0)) is None:
                    rebuilt = found[event.shard or 0] = Rebuilding(recording, event.shard, room)
                rebuilt.take(event)
            except SmidgenError as error:
                raise InvalidRecord(f"event {event.seq} cannot be replayed: {error.problem}", error.hint) from error
            except FOREIGN as error:
                raise InvalidRecord(f"event {event.seq} cannot be replayed: {error!r}", _HINT) from error
    if not found or any(each.blueprint is None for each in found.values()):
        raise InvalidRecord(f"{recording.name} holds no events", "give an exported log")
    return found
