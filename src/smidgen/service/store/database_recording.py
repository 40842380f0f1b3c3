"""The log of a model in a data folder, or in a database: of one slot, or of all in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.service.models.rewinds import Undone, undone
from smidgen.service.models.served import Served
from smidgen.service.store.bodies import DecisionBody, read_decision
from smidgen.service.store.events import Event
from smidgen.service.store.lines import Line, parse
from smidgen.service.store.log import MOST, Answered, EventLog, all_answered, answered
from smidgen.service.store.recording import Recording


class _Logged(Protocol):
    """What has a log to be read: an inspection, or a store."""

    @property
    def log(self) -> EventLog:
        """The log."""
        ...


class DatabaseRecording(Recording):
    """The log of a model in a data folder, or of one slot of it.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    """

    def __init__(self, seen: _Logged, model: Served) -> None:
        self.name = model.name
        self.slotted = len(model.parts) > 1
        self._slot = model.part if self.slotted else None
        self._log = seen.log
        self._model = model

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        for text in self._log.base_lines(self._model):
            yield parse(text, f"the base of {self.name}")
        for some in self._log.some_events(self._model.slot, most=MOST // len(self._model.parts)):
            yield from self._some(some)

    def text(self, event: Line) -> bytes:
        """An event of `lines` as the log's own line of JSON; what the base holds was such a line before."""
        written = event.__dict__.get("its event")
        return super().text(event) if written is None else self._log.line(self._model, written)

    def events(self) -> Iterator[Event]:
        """The events in order, in their envelopes."""
        return self._log.all_events(self._model)

    def line(self, event: Event) -> Line:
        """An event as the log says it, without the way over JSON."""
        if event.type == "decision":
            (told,) = self._log.decided(self._model, [event])
            return self._decided(event, *told)
        if event.type in ("feedback", "expired"):
            return _heard(event, answered(event), self._slot)
        out = parse(self._log.line(self._model, event), f"event {event.seq} of {self.name}")
        out.__dict__["its event"] = event
        return out

    def _some(self, events: list[Event]) -> Iterator[Line]:
        """Events as the log says them: decisions and answers are read together, unless one of them is at fault."""
        decisions = [event for event in events if event.type == "decision"]
        answers = [event for event in events if event.type in ("feedback", "expired")]
        known: dict[int, Line] = {}
        with suppress(InvalidRecord):
            for event, told in zip(decisions, self._log.decided(self._model, decisions), strict=True):
                known[event.seq] = self._decided(event, *told)
            for event, heard in zip(answers, all_answered(answers), strict=True):
                known[event.seq] = _heard(event, heard, self._slot)
        for event in events:
            yield known.pop(event.seq) if event.seq in known else self.line(event)

    def _decided(self, event: Event, body: DecisionBody, decision: Decision) -> Line:
        out = Line(
            seq=event.seq,
            type=event.type,
            decision=event.decision,
            key=event.key,
            slot=self._slot,
            number=body.number,
            reply=_Said(self._log, self._model, event, decision),
            ids=body.ids,
            shared=body.shared,
            beside=body.beside,
        )
        out.__dict__["its event"], out.__dict__["its decision"] = event, decision
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

    def undone(self, slot: int | None = None) -> Undone:
        """What was taken back, in all of the log."""
        return undone(self._log.reading, self._model.slot)


class SlotsRecording(Recording):
    """The logs of all slots of a model in a data folder, in the order of time.

    Parameters
    ----------
    seen
        The data folder.
    model
        The model.
    """

    slotted = True

    def __init__(self, seen: _Logged, model: Served) -> None:
        self.name = model.name
        self._slots = [DatabaseRecording(seen, part) for part in model.parts]

    def lines(self) -> Iterator[Line]:
        """The events in order."""
        return heapq.merge(*(each.lines() for each in self._slots), key=lambda event: event.at)

    def text(self, event: Line) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        return self._slots[event.slot or 0].text(event)

    def decision(self, id: str) -> Line | None:
        """An earlier decision's event."""
        return next((found for each in self._slots if (found := each.decision(id)) is not None), None)

    def count(self) -> int:
        """How many events the model has."""
        return sum(each.count() for each in self._slots)

    def undone(self, slot: int | None = None) -> Undone:
        """What was taken back, in all that is said of a slot."""
        return self._slots[slot or 0].undone()


def recording_of(seen: _Logged, model: Served) -> Recording:
    """The log of a model in a data folder, whatever its slots."""
    return SlotsRecording(seen, model) if len(model.parts) > 1 else DatabaseRecording(seen, model)


class _Said(Mapping[str, Any]):
    """What an app was told of a decision, worked out when somebody asks."""

    __slots__ = ("_decision", "_event", "_log", "_model", "_told")

    def __init__(self, log: EventLog, model: Served, event: Event, decision: Decision) -> None:
        self._log, self._model, self._event, self._decision = log, model, event, decision
        self._told: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._told is None:
            body = read_decision(self._event.body, self._event.seq)
            self._told = self._log.reply(self._model, self._event, body, self._decision)
        return self._told

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def _heard(event: Event, heard: Answered, slot: int | None) -> Line:
    out = Line(
        seq=event.seq,
        type=event.type,
        decision=event.decision,
        key=event.key,
        slot=slot,
        feedback=heard.feedback,
        status=heard.status,
        model_version=heard.model_version,
        places=heard.places,
    )
    out.__dict__["its event"], out.__dict__["its feedback"] = event, heard.learn
    return out
