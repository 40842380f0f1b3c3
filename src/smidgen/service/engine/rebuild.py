"""Rebuild the learners of a log from scratch, and compare them with the recorded states."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen import serialization
from smidgen.errors import FOREIGN, InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap
from smidgen.service.engine.blueprint import Blueprint, enforce_limit
from smidgen.service.engine.champions import amend_where_possible
from smidgen.service.engine.log_sources import LogSource, in_sequence
from smidgen.service.engine.model import hashed_names
from smidgen.service.engine.registry import recorded_blueprint
from smidgen.service.engine.replay import (
    NOWHERE,
    KeptNames,
    LearningEvent,
    apply_event,
    as_learner_input,
    keep_names,
    records_of,
    start_learner,
)
from smidgen.service.engine.shared_state import ExactMean, SharedKeyState
from smidgen.service.log.codec import EventLine, as_bytes
from smidgen.service.log.events import ERASED, REWINDS
from smidgen.service.schemas import AmendBody
from smidgen.service.storage import formats

_HINT = "give the log as it was exported: smidgen log export"


class MemoryBudget:
    """Memory that the learners of one log may use together; a few bytes of a log can ask for megabytes.

    Parameters
    ----------
    limit
        In bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._learners = 0

    def add(self, size: int) -> None:
        """Count one more learner of this size, or refuse it."""
        self.check(1, size)
        self._taken += size
        self._learners += 1

    def check(self, count: int, size: int) -> None:
        """Refuse unless there is memory for this number of further learners of this size."""
        if (total := self._taken + count * size) > self._limit:
            raise InvalidRecord(
                f"the log creates {self._learners + count} learners of {total:,} bytes in total: the limit is "
                f"{self._limit:,} bytes",
                "raise it with SMIDGEN_MAX_LEARNER (smidgen serve --max-learner)",
            )


class Rebuilder:
    """Learners rebuilt from a log alone, event by event.

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
    places_by_key
        The places of the names that each key has sent, in models whose keys share names.
    folded
        Keys that a retention checkpoint brought: which names they had sent by then is not known.
    hashed
        The names of hashed features that the log tells.
    undone
        What was taken back, in all of the log; it is left out from the beginning.
    seq, version
        The last event, and the model's version.
    """

    def __init__(self, recording: LogSource, shard: int | None = None, room: MemoryBudget | None = None) -> None:
        self._recording = recording
        self._room = room
        self.blueprint: Blueprint | None = None
        self.settings: Blueprint | None = None
        self.learners: dict[str | None, Learner] = {}
        self.numbers: dict[str | None, int] = {}
        self.group: SharedKeyState | None = None
        self._begun: set[str | None] = set()
        self.places_by_key: dict[str | None, set[int]] = {}
        self.folded: set[str | None] = set()
        self.hashed: dict[str, None] = {}
        self.undone = recording.undone_versions(shard)
        self._kept = KeptNames(self.undone)
        self._origin: Blueprint | None = None
        self._wide: list[tuple[str, int, Any]] = []  # what every learner takes, also one that comes later
        self.seq = 0
        self.version = 0

    def apply(self, event: EventLine) -> None:
        """Take the next event."""
        self.seq = event.seq
        if event.type == "created":
            formats.check(event.format, self._recording.name)
            if event.model is None:
                raise InvalidRecord(f"event {event.seq} creates a model without settings", "export the log again")
            self.blueprint = self.settings = self._origin = recorded_blueprint(event.model, event.resolved)
            self.group = SharedKeyState(self.blueprint) if self.blueprint.grouped else None
        elif event.type in ("base", "base_state"):
            self._load_checkpoint(event)
        elif event.type == "decision":
            self.numbers[event.key] = max(event.number, self.numbers.get(event.key, 0))
            self.hashed |= dict.fromkeys(hashed_names(event.shared))
            self._begin(event.key, (event.shared or {}).get("start"), event.reply.get("model_version", 0))
        elif event.type == "amended":
            if self.settings is not None and event.amended:
                given = msgspec.convert(event.amended, AmendBody).given()
                self.settings = self.settings.amend(amend_where_possible(self.settings, given))
            self._wide.append((event.type, event.seq, event.learner_input()))
            for key in list(self.learners):
                self.learners[key] = apply_event(self.learners[key], event.type, event.seq, None, event.learner_input())
            if self.group is not None:
                self.group.amend(event.learner_input())
        elif event.changes:
            self.version = event.model_version or 0
            self.hashed |= dict.fromkeys(event.hashed)
            if self.version in self.undone:
                if self._kept.has(event.type, self.version):
                    self._keep_names(event)
            else:
                self._change(event)
                if event.type == "promoted" and event.model is not None:
                    self._wide.append((event.type, event.seq, event.learner_input()))
                    self.blueprint = self.settings = recorded_blueprint(event.model, event.resolved)
                    self.group = SharedKeyState(self.blueprint) if self.blueprint.grouped else None
                    self._import_shared(event)

    def _load_checkpoint(self, event: EventLine) -> None:
        """Begin with what was folded, where the first events are erased."""
        if event.type == "base":
            formats.check(event.format, self._recording.name)
            if event.model is None:
                raise InvalidRecord("the retention checkpoint has no settings", "export the log again")
            self.blueprint = self.settings = self._origin = recorded_blueprint(event.model, event.resolved)
            self.group = SharedKeyState(self.blueprint) if self.blueprint.grouped else None
            self.version = event.version
            self.hashed |= dict.fromkeys(event.hashed)
            self._wide = [("amended", event.seq, serialization.unpack(learn)) for learn in event.amendments]
        elif self.blueprint is not None and self.blueprint.grouped and event.key is None:
            self._load_shared(event.learner_input().tobytes(), "the base state of what keys share")
        else:
            learner = self._within_limit(
                Learner.from_bytes(event.learner_input().tobytes(), f"the base state of {event.key}")
            )
            self.learners[event.key], self.numbers[event.key] = learner, event.number
            self._begun.add(event.key)
            if self.group is not None:
                self.folded.add(event.key)
                self.group.replace_start(None, learner)

    def _keep_names(self, event: EventLine) -> None:
        """Keep the columns of names from an event that was undone."""
        if self.group is None:
            if event.key is not None or self.blueprint is None or not self.blueprint.body.keyed:
                keep_names(self.learner(event.key), self._read(event))
        elif event.type == "imported" and event.group is not None:
            self.group.keep_all_names(as_bytes(event.group), f"event {event.seq}")
        elif event.type == ERASED:
            self.group.reserve(event.places)
        else:
            self.group.keep_names(self._read(event))

    def _read(self, event: EventLine) -> LearningEvent:
        """Read an event that changes weights."""
        decision, names = None, event.names
        if event.decision is not None and event.type not in REWINDS:
            decision_line = self._recording.decision(event.decision)
            if decision_line is None:
                raise InvalidRecord(
                    f"event {event.seq} is feedback for a decision that is not in the log", "export the whole log"
                )
            decision = event.as_learnt(decision_line.record_bytes())
            names = [*(decision_line.shared or {}).get("names", []), *event.names]
        change = LearningEvent(event.type, decision, event.learner_input(), event.places, names)
        if self.group is not None and event.key is not None:
            places_of_key = self.places_by_key.setdefault(event.key, set())
            places_of_key.update(place for place, _, _ in event.names)
            for _, places, carried in records_of(change):
                places_of_key.update((places or NOWHERE)[0], (place for place, _, _ in carried))
        return change

    def _change(self, event: EventLine) -> None:
        """Let those learners take the event whom it is about."""
        change = self._read(event)
        if event.group is not None and event.type == "imported":
            self._import_shared(event)
        if self.group is not None and event.key is not None:
            self._apply_shared(event, change)
            return
        if self.group is not None and event.type == ERASED:
            self.group.reserve(event.places)
        keyed = self.blueprint is not None and self.blueprint.body.keyed
        keys = list(self.learners) if keyed and event.key is None else [event.key]
        for key in keys:
            learner = apply_event(self.learner(key), event.type, event.seq, change.decision, change.learner_input, key)
            self.learners[key] = self._within_limit(learner) if event.type in ("imported", "promoted") else learner

    def _import_shared(self, event: EventLine) -> None:
        """Take over what the keys of another model shared; each of them counts by an event of its own."""
        if self.blueprint is not None and self.blueprint.grouped and event.group is not None:
            self._load_shared(as_bytes(event.group), f"event {event.seq}")

    def _load_shared(self, content: bytes, source: str) -> None:
        """Take over what keys shared, but for the mean of their weights, which they make up by themselves."""
        if self.blueprint is not None:
            counted = self.group.mean if self.group is not None else None
            self.group = SharedKeyState.from_bytes(content, self.blueprint, source)
            self.group.mean = None if self.group.mean is None else counted or ExactMean()

    def _apply_shared(self, event: EventLine, change: LearningEvent) -> None:
        """Let a learner of a key take the event, and what it shares with others."""
        if self.group is None:
            return
        if event.type in ("taught", "imported"):
            self._begin(event.key, event.start, (event.model_version or 1) - 1)
        learner = self.learner(event.key)
        new = event.type == "promoted" or not learner.rounds or self.group.mean is None
        before = None if new else learner.start()
        learner_input = as_learner_input(learner, change)
        learner = apply_event(learner, event.type, event.seq, *learner_input, event.key)
        self.learners[event.key] = self._within_limit(learner) if event.type in ("imported", "promoted") else learner
        self.group.apply(change)
        self.group.replace_start(before, learner)

    def _begin(self, key: str | None, start: str | bytes | None, version: int) -> None:
        """Let a key begin with what its first event says, unless what it says was rolled back."""
        if self._origin is None or self._origin.shared_start is None or key in self._begun:
            return
        if not self.undone.restarts_key(version):
            self._begun.add(key)
            if start is not None:
                start_learner(self.learner(key), as_bytes(start))

    def _within_limit(self, learner: Learner) -> Learner:
        """A learner that the log brings in, if there is room for it."""
        if self._room is not None:
            self._room.add(type(unwrap(learner)).estimate_size(unwrap(learner).params))
        return learner

    def learner(self, key: str | None) -> Learner:
        """The learner of a key, with the numbers of its decisions taken."""
        if key not in self.learners:
            if self._origin is None:
                raise InvalidRecord(
                    f"the first event of {self._recording.name} does not hold the model's settings",
                    "export the log from its start",
                )
            if self._room is not None:
                self._room.add(self._origin.size)
            self.learners[key] = self._origin.learner(key)
            for type, seq, amendment in self._wide:
                self.learners[key] = apply_event(self.learners[key], type, seq, None, amendment, key)
        learner = self.learners[key]
        learner.reserve(self.numbers.get(key, 0))
        return learner


def rebuild(recording: LogSource) -> Rebuilder:
    """Take the whole log of a model with one shard, or of one shard."""
    (rebuilt,) = rebuild_all(recording).values()
    return rebuilt


def rebuild_all(recording: LogSource, room: MemoryBudget | None = None) -> dict[int, Rebuilder]:
    """Take the whole log, by shard; whatever is wrong with it is an `InvalidRecord`."""
    found: dict[int, Rebuilder] = {}
    with enforce_limit():
        for event in in_sequence(recording):
            try:
                if (rebuilt := found.get(event.shard or 0)) is None:
                    rebuilt = found[event.shard or 0] = Rebuilder(recording, event.shard, room)
                rebuilt.apply(event)
            except SmidgenError as error:
                raise InvalidRecord(f"event {event.seq} cannot be replayed: {error.problem}", error.hint) from error
            except FOREIGN as error:
                raise InvalidRecord(f"event {event.seq} cannot be replayed: {error!r}", _HINT) from error
    if not found or any(each.blueprint is None for each in found.values()):
        raise InvalidRecord(f"{recording.name} holds no events", "give an exported log")
    return found
