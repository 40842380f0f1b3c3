"""The log of a model without the events of one key.

Names in events of others that are there only because one key has sent a number.

A record that lacks a number which the table of its shard knows has a feature that says so, "pay (missing)", and crosses
of it. If only one key has sent that number, and is forgotten, these features leave the records of others too.

What is left of a log without one of its keys: what the service would have written of the others.

A key that is forgotten leaves traces in what others wrote: in the start of each key that began later, in features that
say that a number is absent, in what copies and promoted models began with. So the log is followed without the events of
the key, in its order and by the code that wrote it, and the events of others that come out differently are reported:
they are to be rewritten. Rows stay as they were encoded, and decisions as they were made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.features import Encoded
from smidgen.features.crossing import Indicators
from smidgen.features.names import column_at
from smidgen.features.state import Carried
from smidgen.learners import Learner, saving
from smidgen.service.engine.learner_cache import ORDINARY, LearnerCache
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.shared_state import SharedKeyState
from smidgen.service.engine.undo import Progress, UndoStack
from smidgen.service.errors import Busy, Retained
from smidgen.service.log import codec
from smidgen.service.log.checkpoint import Checkpoint, CheckpointState, Lineage
from smidgen.service.log.events import ANSWERED, DECIDED, ERASED, HELD_OUT, REWINDS, Event
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.storage.protocol import Question, StoreReader
from smidgen.service.storage.records import Counts, State

_NONE: Indicators = Indicators(())


class RecordNames(NamedTuple):
    """Names of features that a record adds when it is learnt.

    Attributes
    ----------
    new
        Names that had no column.
    numbers
        Which of them are numbers, by place.
    carried
        Names that had a column before, recorded again.
    gone
        Which of the new names are taken out of the record, if any is.
    """

    new: Sequence[str] = ()
    numbers: Sequence[int] = ()
    carried: Carried = ()
    gone: NDArray[np.bool_] | None = None


_NOTHING = RecordNames()


class NameRedactor:
    """Follows the events of a shard, and takes those names out of them, in the order of the log.

    Parameters
    ----------
    key
        Who is forgotten.
    decision
        Gives the event of a decision, by its id.

    Attributes
    ----------
    sent
        Numbers that the key has sent.
    """

    def __init__(self, key: str, decision: Callable[[str], Event | None]) -> None:
        self._key = key
        self._decision = decision
        self._called: dict[int, str] = {}  # names by column
        self._sent_by_others: set[str] = set()  # numbers that others have sent
        self._waiting: dict[str, RecordNames] = {}  # what decisions tell when they are learnt
        self._silent: set[str] = set()  # those that tell nothing, and are not learnt yet
        self._indicators = _NONE
        self._known: dict[str, bool] = {}  # of names, whether they go
        self.sent: set[str] = set()

    def begin(self, before: Carried, after: Carried) -> None:
        """Begin with a table: the names that it had, and those that it has without the key."""
        self._call(before)
        self._sent_by_others = {name for _, name, slot in after if slot >= 0}
        self.sent = {name for _, name, slot in before if slot >= 0} - self._sent_by_others
        self._private()

    def apply(self, event: Event) -> bytes | None:
        """Take the next event; its body as it is to be, None if it stays as it is, or if it is the key's own."""
        if event.type in DECIDED:
            return self._redact_decision(event)
        if event.type in ANSWERED:
            return self._redact_feedback(event)
        return self._redact_examples(event) if event.type == "taught" else None

    # Events

    def _redact_decision(self, event: Event) -> bytes | None:
        body = codec.read_decision(event.body, event.seq)
        decision = saving.read_compact(body.record, "", "")
        carried = codec.carried_names(body.shared, event.seq)
        self._call(carried)
        if not isinstance(decision.context, Encoded):
            return None
        context, gone = (decision.context, None) if event.key == self._key else self._without(decision.context)
        kept = carried if event.key == self._key else [each for each in carried if not self._is_private(each[1])]
        record_names = RecordNames(decision.context.names, decision.context.new_numbers.tolist(), carried, gone)
        if event.type == HELD_OUT:
            pass  # nobody learns from it, so it tells no names
        elif event.decision is not None and (record_names.new or record_names.carried):
            self._waiting[event.decision] = record_names
        elif event.decision is not None:
            self._silent.add(event.decision)
        if context is decision.context and len(kept) == len(carried):
            return None
        shared = {name: value for name, value in (body.shared or {}).items() if name != "names"}
        shared |= {"names": kept} if kept else {}
        record = saving.write_compact(structs.replace(decision, context=context))
        return codec.encode(structs.replace(body, record=record, shared=shared or None))

    def _redact_feedback(self, event: Event) -> bytes | None:
        feedback = codec.read_feedback(event.body, event.seq)
        learn, record_names = self._redact_signal(codec.read_value(feedback.learn, event.seq), event)
        row, names, record_names = self._again(feedback.row, feedback.names or [], record_names, event)
        self._add_names(event, record_names, feedback.places)
        if (
            record_names.gone is None
            and learn is None
            and row is feedback.row
            and len(names) == len(feedback.names or ())
        ):
            return None
        changed = feedback.learn if learn is None else serialization.encode(learn)
        places = _remaining_places(feedback.places, record_names.gone)
        return codec.encode(structs.replace(feedback, learn=changed, places=places, row=row, names=names or None))

    def _again(
        self, row: bytes | None, names: Carried, record_names: RecordNames, event: Event
    ) -> tuple[Any, Any, RecordNames]:
        """The row that an event says was learnt, and the names that it tells, as they are to be; and what it tells."""
        self._call(names)
        kept = [each for each in names if event.key == self._key or not self._is_private(each[1])]
        if row is None:
            return None, kept, record_names
        before = codec.read_value(row, event.seq)
        context, found = self._redact_record(before, [*record_names.carried, *names], event)
        return row if context is before else serialization.encode(context), kept, found

    def _redact_examples(self, event: Event) -> bytes | None:
        fields = codec.read_fields(event.body, event.seq)
        value, carried = codec.read_learner_input(event), codec.carried_names(fields, event.seq)
        self._call(carried)
        kept = [each for each in carried if event.key == self._key or not self._is_private(each[1])]
        changed: dict[str, Any] = {} if len(kept) == len(carried) else {"names": kept}
        if isinstance(value, list):
            given, places = [], list(fields.get("places") or [None] * len(value))
            found = [self._redact_record(context, carried, event) for context, _ in value]
            for i, ((context, record_names), (_, answer)) in enumerate(zip(found, value, strict=True)):
                given.append((context, answer))
                self._add_names(event, record_names, places[i])
                places[i] = _remaining_places(places[i], record_names.gone)
            if any(context is not before for (context, _), (before, _) in zip(given, value, strict=True)):
                changed |= {"learn": serialization.encode(given), "places": places}
        else:
            learn, record_names = self._redact_signal(value, event)
            row, _, record_names = self._again(fields.get("row"), carried, record_names, event)
            self._add_names(event, record_names, fields.get("places"))
            if row is not fields.get("row"):
                changed |= {"row": row}
            if learn is not None:
                changed |= {"learn": serialization.encode(learn)}
            if record_names.gone is not None:
                changed |= {"places": _remaining_places(fields.get("places"), record_names.gone)}
        return codec.encode(fields | changed) if changed else None

    def _redact_signal(self, learn: Any, event: Event) -> tuple[Any, RecordNames]:
        """Redact a training signal; returns it if it changes, and the names of the record that it is about."""
        if isinstance(learn, TrainingSignal) and learn.is_standalone:
            context, record_names = self._redact_record(learn.context, (), event)
            return (None if context is learn.context else replace(learn, context=context)), record_names
        return None, self._names_of_decision(event.decision)

    def _redact_record(self, context: Any, carried: Carried, event: Event) -> tuple[Any, RecordNames]:
        if not isinstance(context, Encoded):
            return context, _NOTHING
        found, gone = (context, None) if event.key == self._key else self._without(context)
        return found, RecordNames(context.names, context.new_numbers.tolist(), carried, gone)

    # Names

    def _names_of_decision(self, decision: str | None) -> RecordNames:
        """Names of features that a decision tells."""
        if decision in self._waiting:
            return self._waiting[decision]
        if decision is None or decision in self._silent:
            self._silent.discard(decision or "")
            return _NOTHING
        event = self._decision(decision)  # one from before all that is followed, or that tells nothing
        if event is None:
            return _NOTHING
        body = codec.read_decision(event.body, event.seq)
        context, carried = saving.read_compact(body.record, "", "").context, codec.carried_names(body.shared, event.seq)
        new = isinstance(context, Encoded)
        record_names = (
            RecordNames(context.names, context.new_numbers.tolist(), carried) if new else RecordNames(carried=carried)
        )
        self._waiting[decision] = record_names
        return record_names

    def _add_names(self, event: Event, record_names: RecordNames, places: Any) -> None:
        """Add the names of an event: they have columns from now on, and the numbers among them are expected."""
        if event.made is None:
            return
        ids = list(places[0]) if places is not None else []
        self._call([(place, name, -1) for place, name in zip(ids, record_names.new, strict=False)])
        numbers = {record_names.new[place] for place in record_names.numbers} | {
            name for _, name, slot in record_names.carried if slot >= 0
        }
        known = self.sent if event.key == self._key else self._sent_by_others
        if not numbers <= known:
            known |= numbers
            self._private()

    def _private(self) -> None:
        self._indicators = Indicators(self.sent - self._sent_by_others)
        self._known.clear()

    def _call(self, carried: Carried) -> None:
        for place, name, _ in carried:
            self._called[place] = name

    def _is_private(self, name: str, more: Iterable[str] = ()) -> bool:
        """Check whether a name is there only because of the key."""
        if not self._indicators:
            return False
        if (known := self._known.get(name)) is None:
            known = self._known[name] = self._indicators.has(name, lambda: [*self._called.values(), *more])
        return known

    def _without(self, context: Encoded) -> tuple[Encoded, NDArray[np.bool_] | None]:
        """A record without names that go; and which of its new names these are, if any is."""
        if not self._indicators:
            return context, None
        shared = {column_at(name, place, context.dim) for place, name in self._called.items() if place >= context.dim}
        shared.update(context.forgotten.tolist())
        used = [i for i in np.unique(context.indices).tolist() if i in self._called and i not in shared]
        columns = [i for i in used if self._is_private(self._called[i])]
        gone = np.array([self._is_private(name, context.names) for name in context.names], np.bool_)
        if not columns and not gone.any():
            return context, None
        return context.without(np.array(columns, np.int64), gone), gone if gone.any() else None


def _remaining_places(places: Any, gone: NDArray[np.bool_] | None) -> Any:
    """The places of names without those that go; none of these is a number."""
    if places is None or gone is None:
        return places
    return [place for place, out in zip(places[0], gone.tolist(), strict=True) if not out], list(places[1])


#: Events that leave the state in memory valid; after all others it is read again.
_QUIET = ORDINARY | {ERASED, "archived", "revived", "renamed", "retained"}
#: Number of learners of a shard that stay in memory, and number of events between two snapshots of the state that its
#: keys share.
_HELD, _PUBLISH_AFTER = 4_096, 2_048
#: Number of states of what keys share that are kept.
_KEPT = 3


class LogWithoutKey:
    """The log of a shard without a key, up to a point that moves on.

    Parameters
    ----------
    family
        Where it is asked what other shards would have been.
    model
        Whose log it is.

    Attributes
    ----------
    rewrites, keys
        Events of others that come out differently, by number: their bodies; and whose they are.
    position
        The last event that was taken.
    """

    shared = False

    def __init__(self, family: LogsWithoutKey, model: ServedModel) -> None:
        self._family, self._model, self._shard, self._key = family, model, model.shard, family.key
        self._states: dict[str | None, list[State]] = {}
        self._cache = LearnerCache(self, UndoStack(), _HELD)
        self._mentions: dict[int, NameRedactor] = {}  # by the table of names that they are about
        self._begun: set[str] = set()
        self._gone: set[str] = set()  # names that leave what was brought
        self._stale = False
        self._published = 0
        self._moved: set[str] = set()
        self.rewrites: dict[int, bytes] = {}
        self.keys: set[str] = set()
        own = family.first(model.shard)
        self._own = own.seq if own is not None else 1 << 62  # the first event of the key
        checkpoint = family.reading.checkpoint(model.shard)
        floor = checkpoint.seq if checkpoint is not None else 0
        is_import = own is not None and own.type in ("imported", "promoted")
        self.first = floor + 1 if is_import else self._own  #: the first event that may come out differently
        self.position = self.first - 1
        self._grouped = any(each.grouped for each in (model.blueprint, *(era.blueprint for era in model.past)))
        self._numbers = is_import  # whether the key may have sent a number, so that records of others lack it

    # The fold

    def advance(self, upto: int) -> None:
        """Take the events up to one."""
        if not self._grouped:
            self.position = max(self.position, upto)
        while self.position < upto:
            chunk = self._family.reading.events(self._shard, self.position, 256)
            self._family.report_progress(self._model, self.position)
            for event in chunk:
                if event.seq <= upto:
                    self._apply(event)
                    self.position = event.seq
            if not chunk:  # what is still to be committed comes later
                return

    def shared_state(self) -> SharedKeyState | None:
        """Shared state of the keys at this point of the log."""
        group = self._cache.shared_state(self._model_now())
        if group is not None and group.mean is not None:
            for key in self._moved:  # so that the next step finds them in memory
                self._cache.get(self._model_now(), key).changed = True  # and learners that are evicted are stored
        self._moved.clear()
        self._cache.undo.clear()
        return group

    def learner(self, key: str) -> Learner:
        """The learner of a key at this point."""
        return self._cache.get(self._model_now(), key).learner

    def _model_now(self) -> ServedModel:
        """The model as it was at this point."""
        if self._stale:
            self._cache.evict_shard(self._shard)
            self._stale = False
        past = tuple(era for era in self._model.past if era.until <= self.position)
        later = [era.blueprint for era in self._model.past if era.until > self.position]
        counts = Counts(seq=self.position)
        blueprint = later[0] if later else self._model.blueprint
        made = replace(self._model, blueprint=blueprint, past=past, counts=counts, scaled={})
        made.caught = made.others = self.position
        return made

    def _apply(self, event: Event) -> None:
        mine = event.key == self._key
        if event.type in ("imported", "promoted"):
            if not mine:
                self._refold_import(event)
        elif event.type != ERASED:
            self._numbers = self._numbers or (mine and _has_numbers(event))
            if self._numbers and (mentions := self._table(event.seq)) is not None:
                changed = mentions.apply(event)
                self._rewrite(event, None if mine else changed)
            if not mine and event.type in ("decision", "taught") and event.key is not None:
                self._begin(event, event.key)
        if mine:
            return
        if event.type in REWINDS:
            self._begun.clear()
        if event.type not in _QUIET:
            self._stale = True
        elif event.key is not None and event.made is not None:
            self._moved.add(event.key)
        if event.seq - self._published >= _PUBLISH_AFTER:
            self._published = event.seq
            self.position = event.seq
            if (group := self.shared_state()) is not None:
                self.publish(self._shard, None, event.seq, group.to_bytes())

    def _rewrite(self, event: Event, body: bytes | None) -> None:
        if body is not None and body != event.body:
            self.rewrites[event.seq] = body
            self.keys |= {event.key} if event.key is not None else set()

    # Starts

    def _begin(self, event: Event, key: str) -> None:
        """Let a key begin as it would have without the one who is forgotten."""
        now = self._model_now()
        if now.blueprint.shared_start is None or key in self._begun:
            return
        self._begun.add(key)
        if not self._may_begin(event, key):
            return
        self.shared_state()
        held = self._cache.get(now, key)
        if not held.new:
            return
        start = self._cache.start_key(now, key, held)
        self._cache.undo.clear()
        content = self.rewrites.get(event.seq, event.body)
        if event.type == "taught":
            fields = codec.read_fields(content, event.seq)
            if fields.get("start") != start:
                fields = {name: value for name, value in fields.items() if name != "start"}
                self._rewrite(event, codec.encode(fields | ({} if start is None else {"start": start})))
            return
        body = codec.read_decision(content, event.seq)
        if (body.shared or {}).get("start") != start:
            shared = {name: value for name, value in (body.shared or {}).items() if name != "start"}
            shared |= {} if start is None else {"start": start}
            self._rewrite(event, codec.encode(structs.replace(body, shared=shared or None)))

    def _may_begin(self, event: Event, key: str) -> bool:
        """Check whether a key can begin with an event: its first one, or one after something was rolled back."""
        if any(each.type == "rolled_back" for each in self.undo_events(self._shard)):
            return True
        events = self._family.reading.events_of_key(self._shard, key)
        first = next((each for each in events if not _of_holdout(each)), None)
        return first is not None and first.seq == event.seq

    # What came from elsewhere

    def _refold_import(self, event: Event) -> None:
        """Replace an imported state by the state of its source without the key."""
        fields = codec.read_fields(event.body, event.seq)
        source = self._family.source(self._model, event, fields)
        group = fields.get("group")
        if source is not None and source.is_affected:
            if isinstance(group, bytes) and (found := source.shared_state()) is not None:
                self._rewrite(event, codec.encode(fields | {"group": found.to_bytes()}))
            elif event.key is not None and isinstance(fields.get("learn"), bytes):
                state = np.frombuffer(source.learner(event.key).to_bytes(), np.uint8)
                learner_input = {"state": state} if event.type == "promoted" else state
                self._rewrite(event, codec.encode(fields | {"learn": serialization.encode(learner_input)}))
        elif source is None and isinstance(group, bytes):
            self._rewrite(event, codec.encode(fields | {"group": self._remaining_shared(event, group).to_bytes()}))
        elif source is None and event.key is not None:
            carried = codec.carried_names(fields, event.seq)
            names = [each for each in carried if each[1] not in self._gone]
            self._rewrite(event, None if names == carried else codec.encode(fields | {"names": names}))
        if isinstance(group, bytes) and self._model.blueprint_at(event.seq).shared.names:
            self._load_table(event, group)

    def _remaining_shared(self, event: Event, group: bytes) -> SharedKeyState:
        """Shared state of an imported log without the key: the names that other keys have sent.

        Statistics and the start of new keys cannot be separated by key, and start empty.
        """
        known = SharedKeyState.from_bytes(group, self._model.blueprint_at(event.seq), f"event {event.seq}")
        kept, numbers, is_attributed = set[int](), set[str](), True
        for other, _ in self._family.reading.changes(self._shard, event.seq):
            if other.type != "imported" or known.table is None:
                break
            if other.key == self._key:
                continue
            fields = codec.read_fields(other.body, other.seq)
            if "names" not in fields:  # brought before events said whose names are whose: those that weights stand on
                is_attributed, learner_input = False, codec.read_learner_input(other)
                weights = Learner.from_bytes(learner_input.tobytes(), f"event {other.seq}").weights
                if weights.size % known.table.dim:
                    raise Retained(
                        "this model was imported from a log with a retention checkpoint, which does not say which key"
                        " has sent which feature",
                        "they cannot be removed; import a log that begins with its first event",
                    )
                kept.update(np.flatnonzero(weights.reshape(-1, known.table.dim).any(axis=0)).tolist())
            kept.update(place for place, _, _ in codec.carried_names(fields, other.seq))
            numbers.update(name for _, name, slot in codec.carried_names(fields, other.seq) if slot >= 0)
        if known.table is not None and is_attributed:
            named, every = known.table.known(), known.table.names
            private = Indicators(name for _, name, slot in named if slot >= 0 and name not in numbers)
            self._gone = {name for _, name, _ in named if private.has(name, lambda: every)}
            kept -= {place for place, name, _ in named if name in self._gone}
        return known.names_at(kept)

    def _load_table(self, event: Event, group: bytes) -> None:
        """A table of names came from elsewhere."""
        after = codec.read_fields(self.rewrites.get(event.seq, event.body), event.seq)["group"]
        blueprint = self._model_now().blueprint
        tables = [
            SharedKeyState.from_bytes(content, blueprint, f"event {event.seq}").table for content in (group, after)
        ]
        mentions = self._mentions[self._table_number(event.seq)] = self._new_mentions()
        if tables[0] is not None and tables[1] is not None:
            mentions.begin(tables[0].known(), tables[1].known())

    # Names

    def _table(self, seq: int) -> NameRedactor | None:
        """Redactor of the table of names that is in force at an event."""
        if not self._model.blueprint_at(seq).shared.names:
            return None
        number = self._table_number(seq)
        if (found := self._mentions.get(number)) is None:
            found = self._mentions[number] = self._new_mentions()
            if (group := self.shared_state()) is not None and group.table is not None:
                found.begin(group.table.known(), group.table.known())
        return found

    def _new_mentions(self) -> NameRedactor:
        return NameRedactor(self._key, self._decision_body)

    def _decision_body(self, decision: str) -> Event | None:
        row = self._family.reading.decision(decision)
        return self._family.reading.event(row.shard, row.seq) if row is not None and row.shard == self._shard else None

    def _table_number(self, seq: int) -> int:
        """Table of names in force at an event: a promotion brings one, a rollback beyond it restores the one before."""
        numbers = [0]
        for era in self._model.past:
            if era.until > seq:
                break
            if era.by == "promoted":
                numbers.append(max(numbers) + 1)
            else:
                back = self._family.reading.event(self._shard, era.until)
                version = codec.read_fields(back.body, back.seq).get("version", 0) if back is not None else 0
                earlier = [i for i, each in enumerate(self._model.past) if version < each.version]
                numbers.append(numbers[earlier[0]] if earlier and earlier[0] < len(numbers) else numbers[-1])
        return numbers[-1]

    # A log, as learners read it

    @property
    def is_affected(self) -> bool:
        """True if something up to this point could come out differently."""
        return self._own <= self.position or bool(self.rewrites)

    def _rewritten_event(self, event: Event) -> Event:
        body = self.rewrites.get(event.seq)
        return event if body is None else event._replace(body=body)

    def checkpoint(self, shard: int) -> Checkpoint | None:
        """Retention checkpoint of a log; None if it begins with its first event."""
        return self._family.reading.checkpoint(shard)

    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        """State of a learner at the retention checkpoint."""
        return self._family.reading.checkpoint_state(shard, key)

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version or amended settings."""
        for event, made in self._family.reading.changes(shard, after, key):
            if event.seq > self.position:
                return
            if event.key != self._key:
                yield self._rewritten_event(event), None if made is None else self._rewritten_event(made)

    def undo_events(self, shard: int) -> list[Event]:
        """The events that take back what earlier ones did."""
        found = self._family.reading.undo_events(shard)
        return [event for event in found if event.seq <= self.position and event.key != self._key]

    def events_of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        events = self._family.reading.events_of_key(shard, key)
        return map(self._rewritten_event, takewhile(lambda event: event.seq <= self.position, events))

    def last_forgetting(self, shard: int) -> int:
        """No state is given here that holds anything forgotten."""
        return 0

    def version_at(self, shard: int, seq: int) -> int:
        """The version after an event."""
        return self._family.reading.version_at(shard, seq)

    def last_number(self, shard: int, key: str | None, upto: int | None = None) -> int:
        """The number of a learner's latest decision up to this point."""
        return self._family.reading.last_number(shard, key, min(self.position, self.position if upto is None else upto))

    def states(self, shard: int, key: str | None = None) -> Iterator[State]:
        """The states of what was followed so far; and those that are older than all that could come out differently."""
        yield from self._states.get(key, ())
        if key is None:
            forgotten = self._family.reading.last_forgetting(shard)
            for state in self._family.reading.states(shard):
                if forgotten <= state.seq < self.first:
                    yield state

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event."""
        state = State(seq, content, f"what was left after event {seq}", True, len(content), time.time())
        self._states[key] = [state, *self._states.get(key, ())][: _KEPT if key is None else 1]
        return True

    def query(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The keys, but for the one that is forgotten."""
        return [row for row in self._family.reading.query(question, shard, **values) if row != (self._key,)]


def _of_holdout(event: Event) -> bool:
    """Check whether an event may be of a holdout's decision: the learner of its key does not begin with it."""
    return event.type in (HELD_OUT, "recorded", "reported", "withdrawn") or (
        event.type in ANSWERED and event.made is None
    )


def _has_numbers(event: Event) -> bool:
    """True if an event has a record with a number."""
    contexts: list[Any] = []
    if event.type == "decision":
        contexts = [saving.read_compact(codec.read_decision(event.body, event.seq).record, "", "").context]
    elif event.type == "taught" and isinstance(examples := codec.read_learner_input(event), list):
        contexts = [context for context, _ in examples]
    return any(isinstance(each, Encoded) and bool(len(each.slots) or len(each.new_numbers)) for each in contexts)


class LogsWithoutKey:
    """Some logs without a key, and the logs that they imported something from.

    Parameters
    ----------
    shards
        All models by shard.
    key
        Who is forgotten.
    progress
        Receives the progress.

    Attributes
    ----------
    reading
        What is followed: what is committed; in the last step, what the open batch has written too.
    """

    def __init__(self, shards: Mapping[int, ServedModel], key: str, progress: Progress | None = None) -> None:
        self.key = key
        self.reading: StoreReader
        self._lineage: Sequence[Lineage] = ()
        self._shards = shards
        self._progress = progress
        self._main: dict[int, LogWithoutKey] = {}
        self._earlier: dict[tuple[int, int], LogWithoutKey] = {}
        self._pasts: dict[int, tuple[int, int]] = {}  # of each shard, how often its past had been changed at first

    def follow(self, reading: StoreReader, models: Sequence[ServedModel]) -> dict[int, LogWithoutKey]:
        """Follow the logs of models to their ends, or go on with that; what is left of each, by shard."""
        self.reading, self._lineage = reading, reading.lineage()
        self._main = {shard: each for shard, each in self._main.items() if each.is_affected}  # others may be by now
        later = {row.shard for row in self._lineage}
        found = {}
        for model in sorted(models, key=lambda each: each.shard not in later):
            counts = reading.counts(model.shard)
            found[model.shard] = self._log_of(model, counts.seq if counts is not None else 0)
        return found

    def is_fresh(self) -> bool:
        """True if the past of the followed logs has not changed since."""
        return all(_past_of(self._shards[shard]) == past for shard, past in self._pasts.items())

    def _log_of(self, model: ServedModel, upto: int) -> LogWithoutKey:
        """Log of a shard without the key, up to an event."""
        found = self._main.get(model.shard)
        if found is None:
            self._pasts.setdefault(model.shard, _past_of(model))
            found = self._main[model.shard] = LogWithoutKey(self, model)
        found.advance(upto)
        return found

    def first(self, shard: int) -> Event | None:
        """The first event of the key in a shard."""
        return next(self.reading.events_of_key(shard, self.key), None)

    def report_progress(self, model: ServedModel, position: int) -> None:
        """Report progress; stops if a stop was requested."""
        if self._progress is not None:
            if self._progress.stopped:
                raise Busy("the service is stopping", "try again in a moment")
            self._progress.done, self._progress.of = position, model.seq

    def source(self, model: ServedModel, event: Event, fields: Mapping[str, Any]) -> LogWithoutKey | None:
        """Log without the key of the shard that an event imported from, at that point; None if unknown."""
        shard, seq = self._origin(model, event, fields)
        if shard is None or (other := self._shards.get(shard)) is None:
            return None
        if self.reading.checkpoint_state(shard, self.key) is not None:
            raise Retained(
                f"this model is a copy, and the original's retention checkpoint includes events of key {self.key!r}",
                "they cannot be removed; choose a retention period that is longer than your deletion deadlines",
            )
        known = self._main.get(shard)
        if known is None or known.position <= seq:
            return self._log_of(other, seq)
        if (earlier := self._earlier.get((shard, seq))) is None:
            self._earlier.clear()
            earlier = self._earlier[shard, seq] = LogWithoutKey(self, other)
            earlier.advance(seq)
        return earlier

    def _origin(self, model: ServedModel, event: Event, fields: Mapping[str, Any]) -> tuple[int | None, int]:
        """The shard that an event took something over from, and the last event of that."""
        if (origin := fields.get("of")) is not None:
            return int(origin[0]), int(origin[1])
        rows = [row for row in self._lineage if row.shard == model.shard]  # logs from before events said so
        names = {era.source for era in model.past if era.by == "promoted"}
        source = str(fields.get("source", ""))
        if not rows or not (source.startswith("a copy of ") or source in names):
            return None, 0
        if len(rows) > 1:
            called = [row for row in rows if source.removeprefix("a copy of ") == self._shards[row.source].name]
            rows = called if len(called) == 1 else []
        return (rows[0].source, rows[0].seq) if rows else (None, 0)


def _past_of(model: ServedModel) -> tuple[int, int]:
    """Fingerprint of a model's past and settings; it changes when either does."""
    return model.rewritten, len(model.past)
