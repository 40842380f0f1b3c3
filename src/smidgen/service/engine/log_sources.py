"""Logs as sources of events, from a store or from a file."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.service.engine.log_reader import MOST, EventLog, FeedbackEvent, decode_all_feedback, decode_feedback
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import UndoEvent, UndoneVersions, read_undone
from smidgen.service.log.codec import DecisionBody, EventLine, parse, read_decision
from smidgen.service.log.events import ANSWERS, DECIDED, KEPT, REWINDS, Event

# A model's log from beginning to end; one out of an exported file.

#: Every type of event that this smidgen writes; others are passed over, and counted.
TYPES = (
    "created",
    "decision",
    "held_out",
    "shown",
    "feedback",
    "recorded",
    "expired",
    "reported",
    "settled",
    "withdrawn",
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
_REWINDS = [name.encode() for name in REWINDS]


class LogSource(ABC):
    """A log that can be read from the beginning, and asked for the decisions that were passed on the way."""

    name: str
    #: True if one of our learners wrote it.
    ours: bool = True
    #: True if its events say of which shard they are.
    sharded: bool = False

    @property
    def gaps(self) -> list[str]:
        """The events that the latest reading of `lines` found missing, in words."""
        return []

    @abstractmethod
    def lines(self) -> Iterator[EventLine]:
        """The events in order."""

    @abstractmethod
    def decision(self, id: str) -> EventLine | None:
        """An earlier decision's event."""

    @abstractmethod
    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Read which versions were undone, in the whole log or in one shard."""

    @abstractmethod
    def count(self) -> int:
        """Number of events."""

    def text(self, event: EventLine) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        text: bytes = event.__dict__["its text"]
        return text.rstrip(b"\n")


def in_sequence(recording: LogSource) -> Iterator[EventLine]:
    """The events of a recording in order; refuses one that does not follow the one before it in its shard.

    A recording may begin with any event. A base, its states and the decisions that it keeps come before the events
    after it.
    """
    last: dict[int | None, int] = {}
    bases: dict[int | None, int] = {}
    for event in recording.lines():
        if event.type in ("base", "base_state"):
            bases[event.shard] = last[event.shard] = event.seq
        elif event.seq > bases.get(event.shard, 0):
            before = last.get(event.shard, event.seq - 1)
            if event.seq != before + 1:
                raise InvalidRecord(
                    f"event {event.seq} of {recording.name} follows event {before}: "
                    + ("one of them is there twice" if event.seq <= before else "what lies between is missing"),
                    "export the whole log again; smidgen fsck checks the data folder that it comes from",
                )
            last[event.shard] = event.seq
        yield event


class NdjsonSource(LogSource):
    """A log that was exported as NDJSON. Decisions are looked up in the file, so a long log needs little memory.

    Parameters
    ----------
    path
        The file.
    name
        What it is called in refusals, if not by its path.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = name or str(path)
        self._path = path
        self._places: dict[str, int] = {}
        self._file: BinaryIO | None = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def lines(self) -> Iterator[EventLine]:
        """The events in order."""
        place = 0
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if text.strip():
                    event = parse(text, f"line {count} of {self.name}")
                    if event.type in DECIDED and event.decision is not None:
                        self._places[event.decision] = place
                    yield event
                place += len(text)

    def decision(self, id: str) -> EventLine | None:
        """An earlier decision's event."""
        if id not in self._places:
            return None
        if self._file is None:
            self._file = self._path.open("rb")
        self._file.seek(self._places[id])
        return parse(self._file.readline(), f"decision {id} of {self.name}")

    def count(self) -> int:
        """Number of lines of the file."""
        with self._path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Read which versions were undone, in the whole file."""
        rewinds: list[UndoEvent] = []
        with self._path.open("rb") as file:
            for count, text in enumerate(file, 1):
                if any(mark in text for mark in _REWINDS):
                    event = parse(text, f"line {count} of {self.name}")
                    if event.type in REWINDS and event.model_version is not None and event.shard == shard:
                        rewinds.append(UndoEvent(event.type, event.model_version, event.version, event.columns == KEPT))
        return UndoneVersions(rewinds)


# The log of a model in a data folder, or in a database: of one shard, or of all in the order of time.


class _HasLog(Protocol):
    """An object with a log: an inspection, or a store."""

    @property
    def log(self) -> EventLog:
        """The log."""
        ...


class StoreSource(LogSource):
    """The log of a model in a data folder, or of one shard of it.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    """

    def __init__(self, seen: _HasLog, model: ServedModel) -> None:
        self.name = model.name
        self.sharded = len(model.parts) > 1
        self._shard = model.part if self.sharded else None
        self._log = seen.log
        self._model = model
        self._gaps: list[str] = []

    def lines(self) -> Iterator[EventLine]:
        """The events in order; those that are missing are noted (`gaps`)."""
        self._gaps = []
        checkpoint = self._log.reading.checkpoint(self._model.shard)
        last = checkpoint.seq if checkpoint is not None else 0
        for text in self._log.checkpoint_lines(self._model):
            yield parse(text, f"the base of {self.name}")
        for some in self._log.some_events(self._model.shard, most=MOST // len(self._model.parts)):
            if some[-1].seq != last + len(some):
                self._note_gaps(last, some)
            last = some[-1].seq
            yield from self._some(some)
        if last < self._model.seq:
            self._gaps.append(self._log.gap(self._model, last, self._model.seq + 1).problem)

    def _note_gaps(self, last: int, events: list[Event]) -> None:
        for event in events:
            if event.seq != last + 1:
                self._gaps.append(self._log.gap(self._model, last, event.seq).problem)
            last = event.seq

    @property
    def gaps(self) -> list[str]:
        """The events that the latest reading of `lines` found missing, in words."""
        return self._gaps

    def text(self, event: EventLine) -> bytes:
        """An event of `lines` as the log's own line of JSON; what the base holds was such a line before."""
        written = event.__dict__.get("its event")
        return super().text(event) if written is None else self._log.line(self._model, written)

    def events(self) -> Iterator[Event]:
        """The events in order, in their envelopes."""
        return self._log.all_events(self._model)

    def line(self, event: Event) -> EventLine:
        """An event as the log says it, without the way over JSON."""
        if event.type in DECIDED:
            (decoded,) = self._log.decode_decisions(self._model, [event])
            return self._decided(event, *decoded)
        if event.type in ANSWERS:
            return _feedback_line(event, decode_feedback(event), self._shard)
        out = parse(self._log.line(self._model, event), f"event {event.seq} of {self.name}")
        out.__dict__["its event"] = event
        return out

    def _some(self, events: list[Event]) -> Iterator[EventLine]:
        """Events as the log says them: decisions and answers are read together, unless one of them is at fault."""
        decisions = [event for event in events if event.type in DECIDED]
        answers = [event for event in events if event.type in ANSWERS]
        known: dict[int, EventLine] = {}
        with suppress(InvalidRecord):
            for event, decoded in zip(decisions, self._log.decode_decisions(self._model, decisions), strict=True):
                known[event.seq] = self._decided(event, *decoded)
            for event, feedback in zip(answers, decode_all_feedback(answers), strict=True):
                known[event.seq] = _feedback_line(event, feedback, self._shard)
        for event in events:
            yield known.pop(event.seq) if event.seq in known else self.line(event)

    def _read_reply(self, event: Event, decision: Decision) -> dict[str, Any]:
        return self._log.reply(self._model, event, read_decision(event.body, event.seq), decision)

    def _decided(self, event: Event, body: DecisionBody, decision: Decision) -> EventLine:
        out = EventLine(
            seq=event.seq,
            type=event.type,
            decision=event.decision,
            key=event.key,
            shard=self._shard,
            number=body.number,
            reply=LazyReply(partial(self._read_reply, event, decision)),
            ids=body.ids,
            shared=body.shared,
            beside=body.beside,
        )
        out.__dict__["its event"], out.__dict__["its decision"] = event, decision
        return out

    def decision(self, id: str) -> EventLine | None:
        """An earlier decision's event."""
        row = self._log.reading.decision(id)
        if row is None or row.shard != self._model.shard:
            return None
        event = self._log.reading.event(row.shard, row.seq)
        return self.line(event) if event is not None else None

    def count(self) -> int:
        """Number of events of the model."""
        return self._model.seq

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Read which versions were undone, in the whole log."""
        return read_undone(self._log.reading, self._model.shard)


class ShardedSource(LogSource):
    """The logs of all shards of a model in a data folder, in the order of time.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    """

    sharded = True

    def __init__(self, seen: _HasLog, model: ServedModel) -> None:
        self.name = model.name
        self._shards = [StoreSource(seen, part) for part in model.parts]

    def lines(self) -> Iterator[EventLine]:
        """The events in order."""
        return heapq.merge(*(each.lines() for each in self._shards), key=lambda event: event.at)

    @property
    def gaps(self) -> list[str]:
        """The events that the latest reading of `lines` found missing, in words."""
        return [gap for each in self._shards for gap in each.gaps]

    def text(self, event: EventLine) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        return self._shards[event.shard or 0].text(event)

    def decision(self, id: str) -> EventLine | None:
        """An earlier decision's event."""
        return next((found for each in self._shards if (found := each.decision(id)) is not None), None)

    def count(self) -> int:
        """Number of events of the model."""
        return sum(each.count() for each in self._shards)

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Read which versions of a shard were undone."""
        return self._shards[shard or 0].undone_versions()


def source_of(seen: _HasLog, model: ServedModel) -> LogSource:
    """The log of a model in a data folder, whatever its shards."""
    return ShardedSource(seen, model) if len(model.parts) > 1 else StoreSource(seen, model)


class LazyReply(Mapping[str, Any]):
    """Reply to a decision, read on first use.

    Parameters
    ----------
    read
        Reads its fields.
    """

    __slots__ = ("_fields", "_read")

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        self._read = read
        self._fields: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._fields is None:
            self._fields = self._read()
        return self._fields

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def _feedback_line(event: Event, feedback: FeedbackEvent, shard: int | None) -> EventLine:
    out = EventLine(
        seq=event.seq,
        type=event.type,
        decision=event.decision,
        key=event.key,
        shard=shard,
        feedback=feedback.feedback,
        status=feedback.status,
        model_version=feedback.model_version,
        places=feedback.places,
        row=feedback.row,
        names=feedback.names,
    )
    out.__dict__["its event"], out.__dict__["its feedback"] = event, feedback.learn
    return out
