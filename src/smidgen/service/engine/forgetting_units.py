"""The log of a model without keys, without the events of one unit.

A unit is whom a decision is for. All units of such a model teach one learner, and its columns are in the order in which
names were learned. So the log is learned again without the unit, by the code that wrote it, and the records of others
are encoded again by the names and statistics that are known then: those that come out differently are to be rewritten.
Decisions stay as they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.features import Encoded
from smidgen.learners import Learner, saving
from smidgen.learners.pipeline import Pipeline, vectorizer_of
from smidgen.serialization import same
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.question import recorded_source
from smidgen.service.engine.recovery import initial_learner, recover_learner
from smidgen.service.engine.replay import KeptNames, apply_event, as_learner_input, keep_names, read_event, read_undone
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Busy, Retained
from smidgen.service.log import codec
from smidgen.service.log.events import ANSWERED, DECIDED, ERASED, Event
from smidgen.service.storage.protocol import StoreReader

#: Number of events that are read together.
_CHUNK = 256


class LogWithoutUnit:
    """The log of a shard without a unit, up to a point that moves on.

    Parameters
    ----------
    family
        Where it is asked which decisions are the unit's.
    model
        Whose log it is.

    Attributes
    ----------
    own
        The events of the unit, by number.
    rewrites
        Events of others that come out differently, by number: their bodies.
    position
        The last event that was taken.
    """

    def __init__(self, family: LogsWithoutUnit, model: ServedModel) -> None:
        reading = family.reading
        self._family, self._model, self._shard = family, model, model.shard
        self.own: list[int] = []
        self.rewrites: dict[int, bytes] = {}
        self._undone = read_undone(reading, model.shard)
        self._kept = KeptNames(self._undone)
        self._learner: Learner
        self._learner, self.position, _ = initial_learner(reading, model, None)
        self._lengths: dict[str, int] = {}  # of vectors, as decisions that stay have fixed them
        self._shown: dict[str, int] = {}  # decisions of a shadow or challenger, by what was shown in their place

    def advance(self, upto: int) -> None:
        """Take the events up to one."""
        reading = self._family.reading
        while self.position < upto:
            self._family.report_progress(self._model, self.position)
            chunk = reading.events(self._shard, self.position, _CHUNK)
            for event in chunk:
                if event.seq <= upto:
                    self._apply(event)
                    self.position = event.seq
            if not chunk:
                return

    def _apply(self, event: Event) -> None:
        if self._is_own(event):
            self.own.append(event.seq)
        elif event.type in DECIDED:
            self._decided(event)
        elif event.type == "amended" or (event.made is not None and event.type != ERASED):
            self._change(event)

    def _is_own(self, event: Event) -> bool:
        """Check whether an event is about a decision for the unit."""
        decisions = self._family.decisions
        if event.type in DECIDED:
            body = codec.read_decision(event.body, event.seq)
            unit = (body.shared or {}).get("unit")
            self._family.any = self._family.any or unit is not None
            if unit == self._family.unit or body.beside in decisions:
                decisions.add(event.decision or "")
                if body.beside is not None:  # the challenger's, which was shown
                    decisions.add(body.beside)
        elif event.type == "taught" and event.decision is None:
            return codec.read_fields(event.body, event.seq).get("source") in decisions
        return event.decision in decisions

    # Decisions of others: their records, and what their events say of names

    def _decided(self, event: Event) -> None:
        body = codec.read_decision(event.body, event.seq)
        decision = saving.read_compact(body.record, "", "")
        if body.beside is not None:
            self._shown[body.beside] = event.seq
        if not isinstance(decision.context, Encoded):
            return
        shared = dict(body.shared or {})
        lengths = {path: n for path, n in decision.context.lengths.items() if path not in self._lengths}
        if event.type != "held_out":
            self._lengths |= lengths
        if not self.own:  # nothing can come out differently yet
            return
        context = self._encoded_again(decision.context, shared)
        if event.type != "held_out" and lengths:
            shared["lengths"] = lengths
        if not same(context, decision.context):
            shared.pop("why", None)  # it names columns that have other names now
            record = saving.write_compact(structs.replace(decision, context=context))
            body = structs.replace(body, record=record)
        self._rewrite(event, codec.encode(structs.replace(body, shared=shared or None)))

    def _encoded_again(self, context: Encoded, shared: Mapping[str, Any]) -> Encoded:
        """Encode a record as if it were decided on now."""
        source = context.source if context.source is not None else recorded_source(shared)
        if not isinstance(self._learner, Pipeline):
            return context
        if source is None:
            return self._family.renamed(self._model, context, self._learner)
        return self._learner.encode_again(source)

    def _event_of(self, decision: str | None) -> Event | None:
        """The event of a decision, as it is to be."""
        row = self._family.reading.decision(decision) if decision is not None else None
        event = self._family.reading.event(self._shard, row.seq) if row is not None else None
        return None if event is None else self._as_rewritten(event)

    def _as_rewritten(self, event: Event) -> Event:
        body = self.rewrites.get(event.seq)
        return event if body is None else event._replace(body=body)

    def _rewrite(self, event: Event, body: bytes) -> None:
        if body != event.body:
            self.rewrites[event.seq] = body

    # What the learner takes

    def _change(self, event: Event) -> None:
        learner = self._learner
        made = self._event_of(event.decision) if event.type in (*ANSWERED, "taught") else None
        if event.made is not None and event.made in self._undone:
            if self._kept.has(event.type, event.made) and isinstance(learner, Pipeline):
                keep_names(learner, read_event(learner, self._learnt_again(event, made), made))
            return
        change = read_event(learner, self._learnt_again(event, made), made)
        self._learner = apply_event(learner, event.type, event.seq, *as_learner_input(learner, change))

    def _learnt_again(self, event: Event, made: Event | None) -> Event:
        """The event with its record as it is learned now."""
        learner = self._learner
        if not self.own or not isinstance(learner, Pipeline):
            return event
        if event.type in ANSWERED and made is not None:
            feedback = codec.read_feedback(event.body, event.seq)
            row = _row(learner, _decision(learner, made))
            self._rewrite(event, codec.encode(structs.replace(feedback, row=row)))
        elif event.type == "taught":
            fields = codec.read_fields(event.body, event.seq)
            if made is not None:
                row = _row(learner, _decision(learner, made))
                fields = {name: value for name, value in fields.items() if name != "row"}
                self._rewrite(event, codec.encode(fields | ({} if row is None else {"row": row})))
            elif (shown := fields.get("source")) is not None:
                self._rewrite(event, codec.encode(fields | {"learn": self._taught_again(event, shown)}))
        return self._as_rewritten(event)

    def _taught_again(self, event: Event, shown: str) -> bytes:
        """The examples of a decision that the app made itself, on its record as it is encoded now."""
        reading, seq = self._family.reading, self._shown.get(shown)
        made = self._event_of(shown) if seq is None else reading.event(self._shard, seq)
        examples = codec.read_learner_input(event)
        if made is not None:
            context = saving.read_compact(
                codec.read_decision(self._as_rewritten(made).body, made.seq).record, "", ""
            ).context
            if isinstance(context, Encoded):
                examples = [(context.settled(), answer) for _, answer in examples]
        return serialization.encode(examples)


def _decision(learner: Learner, made: Event) -> Decision:
    return codec.decode_decision(learner, codec.read_decision(made.body, made.seq).record, made.seq)


def _row(learner: Pipeline, decision: Decision) -> bytes | None:
    """The row that is learned of a decision, if it is not the one that decided."""
    before = decision.context
    if not isinstance(before, Encoded) or before.source is None:
        return None
    now = learner.again(decision).context
    return None if same(now, before.settled()) else serialization.encode(now)


class LogsWithoutUnit:
    """The logs of a model without keys and of its shadow and challenger, without a unit.

    Parameters
    ----------
    shards
        All models by shard.
    unit
        Who is forgotten.
    progress
        Reports progress.

    Attributes
    ----------
    reading
        The store that is followed.
    decisions
        The decisions for the unit, in all of these logs.
    any
        Whether any decision was for a unit.
    """

    def __init__(self, shards: Mapping[int, ServedModel], unit: str, progress: Progress | None = None) -> None:
        self.unit = unit
        self.reading: StoreReader
        self.decisions: set[str] = set()
        self.any = False
        self._progress = progress
        self._shards = shards
        self._logs: dict[int, LogWithoutUnit] = {}
        self._pasts: dict[int, tuple[int, int]] = {}
        self._names: dict[int, dict[int, str]] = {}

    def follow(self, reading: StoreReader, models: Sequence[ServedModel]) -> dict[int, LogWithoutUnit]:
        """Follow the logs of a champion and those that follow it to their ends, in this order, or go on with that."""
        self.reading = reading
        for model in models:
            self._pasts.setdefault(model.shard, (model.rewritten, len(model.past)))
            refuse_foreign_past(reading, model, self.unit)
            if (log := self._logs.get(model.shard)) is None:
                log = self._logs[model.shard] = LogWithoutUnit(self, model)
            counts = reading.counts(model.shard)
            log.advance(counts.seq if counts is not None else 0)
        return self._logs

    def is_fresh(self) -> bool:
        """True if the past of the followed logs has not changed since."""
        return all(
            (model.rewritten, len(model.past)) == past
            for model, past in ((self._shards[shard], past) for shard, past in self._pasts.items())
        )

    def report_progress(self, model: ServedModel, position: int) -> None:
        """Report progress; stops if a stop was requested."""
        if self._progress is not None:
            if self._progress.stopped:
                raise Busy("the service is stopping", "try again in a moment")
            self._progress.done, self._progress.of = position, model.seq

    def renamed(self, model: ServedModel, context: Encoded, learner: Pipeline) -> Encoded:
        """Give a record that was not kept the columns that its names have now."""
        names = self._names.get(model.shard)
        if names is None:
            table = vectorizer_of(recover_learner(self.reading, model, None)[0])
            names = {place: name for place, name, _ in table.known()} if table is not None else {}
            self._names[model.shard] = names
        return learner.renamed(context, names)


def refuse_foreign_past(reading: StoreReader, model: ServedModel, unit: str) -> None:
    """Refuse a log whose beginning is gone, or that shares what it has learned with other models."""
    if reading.checkpoint(model.shard) is not None:
        raise Retained(
            f'the retention checkpoint of the model "{model.name}" may include events of unit {unit!r}, which are gone',
            "they cannot be removed; choose a retention period that is longer than your deletion deadlines",
        )
    others = [row for row in reading.lineage() if model.shard in (row.shard, row.source)]
    if others or model.past:
        raise Retained(
            f'the model "{model.name}" shares what it has learned with a copy, or was promoted',
            "units of such a model cannot be forgotten; use a keyed model, where copies forget too",
        )
