"""A model's log from beginning to end, out of the database or out of an exported file, and the learners in it."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import InvalidRecord, SmidgenError
from smidgen.learners import Learner
from smidgen.service.clock import stamp
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.fold import Undone, take, undone
from smidgen.service.models.group import Group
from smidgen.service.models.hashed_names import told
from smidgen.service.models.keyed_rows import Change, begin, told_to
from smidgen.service.models.mean import Mean
from smidgen.service.models.registry import recorded
from smidgen.service.models.served import Served
from smidgen.service.store import formats
from smidgen.service.store.events import REWINDS, Event
from smidgen.service.store.log import EventLog, answered

#: Every type of event that this smidgen writes; others are passed over, and counted.
TYPES = (
    "created",
    "decision",
    "shown",
    "feedback",
    "expired",
    "taught",
    "amended",
    "rolled_back",
    "retracted",
    "erased",
    "imported",
    "promoted",
    "archived",
    "revived",
    "renamed",
    "retained",
    "base",
    "base_state",
)


class Line(msgspec.Struct, kw_only=True, dict=True):
    """One event as the log says it; which fields there are depends on the type.

    Fields and types that this smidgen does not know are no fault: `more` has the fields.

    Attributes
    ----------
    seq, type, decision, key, at
        The head of every event.
    format, model, resolved
        Of ``created`` and ``base``: the format of the log (None: from before it was fixed), the model's settings, and
        what was left open in them and settled then.
    number, reply, ids, record, beside
        Of ``decision``: see `smidgen.service.store.log.DecisionEvent`; the record is the learner's own.
    feedback, status, learn, model_version
        Of ``feedback`` and ``expired``: see `smidgen.service.store.log.Answered`. Other events that change weights have
        ``model_version`` too, and ``learn`` if a learner is told something.
    version
        Of ``rolled_back`` and ``retracted``: the version to go back to, and the one that is undone; of ``base`` that
        of the log's beginning.
    amendments, decisions, late
        Of ``base``: what a fresh learner must hear, and how many decisions and late answers lie under it.
    shared, places, names, start, group, hashed
        What keys share, where names of records went, and names of hashed features (`smidgen.service.store.bodies`).
    """

    seq: int
    type: str
    decision: str | None = None
    key: str | None = None
    at: str = ""
    format: str | None = None
    model: ModelBody | None = None
    resolved: dict[str, Any] | None = None
    number: int = 0
    reply: dict[str, Any] = msgspec.field(default_factory=dict)
    ids: list[Any] = msgspec.field(default_factory=list)
    record: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    beside: str | None = None
    feedback: dict[str, Any] = msgspec.field(default_factory=dict)
    status: str | None = None
    learn: Any = None
    model_version: int | None = None
    version: int = 0
    amendments: list[Any] = msgspec.field(default_factory=list)
    decisions: int = 0
    late: int = 0
    shared: dict[str, Any] | None = None
    places: Any = None
    names: list[Any] = msgspec.field(default_factory=list)
    start: str | None = None
    group: str | None = None
    hashed: list[str] = msgspec.field(default_factory=list)

    @property
    def learnt(self) -> bool:
        """Whether this is feedback that was learnt."""
        return self.type == "feedback" and self.status == "learnt"

    @property
    def changes(self) -> bool:
        """Whether it changes weights."""
        return self.model_version is not None

    @property
    def more(self) -> dict[str, Any]:
        """The fields that a newer smidgen wrote and this one does not know."""
        fields = msgspec.json.decode(self.__dict__.get("its text", b"{}"))
        return {name: value for name, value in fields.items() if name not in self.__struct_fields__}

    def made(self) -> Decision:
        """Of a decision: the learner's own record."""
        if "its decision" in self.__dict__:
            decision: Decision = self.__dict__["its decision"]
            return decision
        return Decision.from_json(bytes(self.record))

    def told(self) -> Any:
        """Of feedback: what the learner was told."""
        if "its feedback" in self.__dict__:
            return self.__dict__["its feedback"]
        try:
            return records.unpack(self.learn)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"event {self.seq} holds no feedback: {error}", "export the log again") from error


_lines = msgspec.json.Decoder(Line)
_REWINDS = [name.encode() for name in REWINDS]


def parse(text: bytes, place: str) -> Line:
    """Read a line of the log; ``place`` is its name in refusals."""
    try:
        event = _lines.decode(text)
        event.__dict__["its text"] = text
        return event
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{place} is not an event: {error}", "export the log again: smidgen log export") from error


class Recording(ABC):
    """A log that can be read from the beginning, and asked for the decisions that were passed on the way."""

    name: str
    #: Whether one of our learners wrote it.
    ours: bool = True

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """The events in order."""

    @abstractmethod
    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""

    @abstractmethod
    def undone(self) -> Undone:
        """What was taken back, in all of the log."""

    @abstractmethod
    def count(self) -> int:
        """How many events there are."""

    def text(self, event: Line) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        text: bytes = event.__dict__["its text"]
        return text.rstrip(b"\n")


class FileRecording(Recording):
    """A log that was exported as NDJSON. Decisions are looked up in the file, so a long log needs little memory.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._places: dict[str, int] = {}
        self._file: BinaryIO | None = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        place = 0
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if text.strip():
                    event = parse(text, f"line {count} of {self._path}")
                    if event.type == "decision" and event.decision is not None:
                        self._places[event.decision] = place
                    yield event
                place += len(text)

    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""
        if id not in self._places:
            return None
        if self._file is None:
            self._file = self._path.open("rb")
        self._file.seek(self._places[id])
        return parse(self._file.readline(), f"decision {id} of {self._path}")

    def count(self) -> int:
        """How many lines the file has."""
        with self._path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def undone(self) -> Undone:
        """What was taken back, in all of the file."""
        rewinds: list[tuple[str, int, int]] = []
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if any(mark in text for mark in _REWINDS):
                    event = parse(text, f"line {count} of {self._path}")
                    if event.type in REWINDS and event.model_version is not None:
                        rewinds.append((event.type, event.model_version, event.version))
        return Undone(rewinds)


class _Logged(Protocol):
    """What has a log to be read: an inspection, or a store."""

    @property
    def log(self) -> EventLog:
        """The log."""
        ...


class DatabaseRecording(Recording):
    """The log of a model in a data folder.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    """

    def __init__(self, seen: _Logged, model: Served) -> None:
        self.name = model.name
        self._log = seen.log
        self._model = model

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        for text in self._log.base_lines(self._model):
            yield parse(text, f"the base of {self.name}")
        for event in self.events():
            line = self.line(event)
            line.__dict__["its event"] = event
            yield line

    def text(self, event: Line) -> bytes:
        """An event of `lines` as the log's own line of JSON; what the base holds was such a line before."""
        written = event.__dict__.get("its event")
        return super().text(event) if written is None else self._log.line(self._model, written)

    def events(self) -> Iterator[Event]:
        """The events in order, in their envelopes."""
        return self._log.all_events(self._model)

    def line(self, event: Event) -> Line:
        """An event as the log says it, without the way over JSON."""
        head: dict[str, Any] = {"seq": event.seq, "type": event.type, "decision": event.decision, "key": event.key}
        head["at"] = stamp(event.at)
        if event.type == "decision":
            told = self._log.told(self._model, event)
            out = Line(
                **head, number=told.number, reply=told.reply, ids=told.ids, shared=told.shared, beside=told.beside
            )
            out.__dict__["its decision"] = told.decision
        elif event.type in ("feedback", "expired"):
            heard = answered(event)
            version = heard.model_version
            head["feedback"], head["status"] = heard.feedback, heard.status
            out = Line(**head, model_version=version, places=heard.places)
            out.__dict__["its feedback"] = heard.learn
        else:
            out = parse(self._log.line(self._model, event), f"event {event.seq} of {self.name}")
        return out

    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""
        row = self._log.reading.decision(id)
        if row is None or row.slot != self._model.slot:
            return None
        event = self._log.reading.event(row.slot, row.seq)
        return self.line(event) if event is not None else None

    def count(self) -> int:
        """How many events the model has."""
        return self._model.seq

    def undone(self) -> Undone:
        """What was taken back, in all of the log."""
        return undone(self._log.reading, self._model.slot)


class Rebuilding:
    """The learners that a log leads to, event by event, from nothing but the log.

    Parameters
    ----------
    recording
        The log, to look up decisions.

    Attributes
    ----------
    blueprint
        The model's settings, once its first event was taken; those of another, once that was promoted.
    learners
        By key; None is the key of a model without keys.
    numbers
        The number of each learner's latest decision.
    group
        What the keys share, if they do.
    hashed
        The names of hashed features that the log tells.
    undone
        What was taken back, in all of the log; it is left out from the beginning.
    seq, version
        The last event, and the model's version.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.blueprint: Blueprint | None = None
        self.learners: dict[str | None, Learner] = {}
        self.numbers: dict[str | None, int] = {}
        self.group: Group | None = None
        self._begun: set[str | None] = set()
        self.hashed: dict[str, None] = {}
        self.undone = recording.undone()
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
            self.blueprint = self._origin = recorded(event.model, event.resolved)
            self.group = Group(self.blueprint) if self.blueprint.grouped else None
        elif event.type in ("base", "base_state"):
            self._based(event)
        elif event.type == "decision":
            self.numbers[event.key] = max(event.number, self.numbers.get(event.key, 0))
            self.hashed |= dict.fromkeys(told(event.shared))
            self._begin(event.key, (event.shared or {}).get("start"), event.reply.get("model_version", 0))
        elif event.type == "amended":
            self._wide.append((event.type, event.seq, event.told()))
            for key in list(self.learners):
                self.learners[key] = take(self.learners[key], event.type, event.seq, None, event.told())
            if self.group is not None:
                self.group.amend(event.told())
        elif event.changes:
            self.version = event.model_version or 0
            self.hashed |= dict.fromkeys(event.hashed)
            if self.version not in self.undone:
                self._change(event)
                if event.type == "promoted" and event.model is not None:
                    self._wide.append((event.type, event.seq, event.told()))
                    self.blueprint = recorded(event.model, event.resolved)
                    self.group = Group(self.blueprint) if self.blueprint.grouped else None
                    self._share(event)

    def _based(self, event: Line) -> None:
        """Begin with what was folded, where the first events are erased."""
        if event.type == "base":
            formats.check(event.format, self._recording.name)
            if event.model is None:
                raise InvalidRecord("the base has no settings", "export the log again")
            self.blueprint = self._origin = recorded(event.model, event.resolved)
            self.group = Group(self.blueprint) if self.blueprint.grouped else None
            self.version = event.version
            self.hashed |= dict.fromkeys(event.hashed)
            self._wide = [("amended", event.seq, records.unpack(told)) for told in event.amendments]
        elif self.blueprint is not None and self.blueprint.grouped and event.key is None:
            self.group = Group.from_bytes(event.told().tobytes(), self.blueprint, "the base state of what keys share")
        else:
            self.learners[event.key] = Learner.from_bytes(event.told().tobytes(), f"the base state of {event.key}")
            self.numbers[event.key] = event.number

    def _change(self, event: Line) -> None:
        """Let those learners take the event whom it is about."""
        decision, names = None, event.names
        if event.decision is not None and event.type not in REWINDS:
            made = self._recording.decision(event.decision)
            if made is None:
                raise InvalidRecord(f"event {event.seq} answers a decision that is not in the log", "export all of it")
            decision, names = made.made(), (made.shared or {}).get("names", [])
        if event.group is not None and event.type == "imported":
            self._share(event)
        if self.group is not None and event.key is not None:
            self._grouped(event, Change(event.type, decision, event.told(), event.places, names))
            return
        keyed = self.blueprint is not None and self.blueprint.body.keyed
        keys = list(self.learners) if keyed and event.key is None else [event.key]
        for key in keys:
            self.learners[key] = take(self.learner(key), event.type, event.seq, decision, event.told(), key)

    def _share(self, event: Line) -> None:
        """Take over what the keys of another model shared; each of them counts by an event of its own."""
        if self.blueprint is not None and self.blueprint.grouped and event.group is not None:
            counted = self.group.mean if self.group is not None else None
            self.group = Group.from_bytes(as_bytes(event.group), self.blueprint, f"event {event.seq}")
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
        self.learners[event.key] = learner = take(learner, event.type, event.seq, *told, event.key)
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

    def learner(self, key: str | None) -> Learner:
        """The learner of a key, with the numbers of its decisions taken."""
        if key not in self.learners:
            if self._origin is None:
                raise InvalidRecord(
                    f"{self._recording.name} does not begin with the model's settings", "export the log from its start"
                )
            self.learners[key] = self._origin.learner(key)
            for type, seq, told in self._wide:
                self.learners[key] = take(self.learners[key], type, seq, None, told, key)
        learner = self.learners[key]
        learner.reserve(self.numbers.get(key, 0))
        return learner


def as_bytes(said: str | bytes) -> bytes:
    """Bytes as an exported line has them, or as they are."""
    try:
        return said if isinstance(said, bytes) else base64.b64decode(said, validate=True)
    except ValueError as error:
        raise InvalidRecord(f"what keys share cannot be read: {error}", "export the log again") from error


def rebuild(recording: Recording) -> Rebuilding:
    """Take the whole log."""
    rebuilt = Rebuilding(recording)
    for event in recording.lines():
        try:
            rebuilt.take(event)
        except SmidgenError as error:
            raise InvalidRecord(f"event {event.seq} cannot be replayed: {error.problem}", error.hint) from error
    if rebuilt.blueprint is None:
        raise InvalidRecord(f"{recording.name} holds no events", "give an exported log")
    return rebuilt
