"""The log of a model without the events of one key.

Names in events of others that are there only because one key has sent a number.

A record that lacks a number which the table of its shard knows has a feature that says so, "pay (missing)", and crosses
of it. If only one key has sent that number, and is forgotten, these features leave the records of others too.

What is left of a log without one of its keys: what the service would have written of the others.

A key that is forgotten leaves traces in what others wrote: in the start of each key that began later, in features that
say that a number is absent, in what copies and promoted models began with. So the log is followed without the events of
the key, in its order and by the very code that wrote it, and the events of others that come out differently are told:
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
from smidgen.service.engine.model import Served
from smidgen.service.engine.shared_state import Group
from smidgen.service.engine.undo import Progress, Undo
from smidgen.service.errors import Busy, Retained
from smidgen.service.log import codec
from smidgen.service.log.base import Base, BaseState, Lineage
from smidgen.service.log.events import ERASED, REWINDS, Event
from smidgen.service.loops.evaluator import Lesson
from smidgen.service.storage.protocol import Question, Reading
from smidgen.service.storage.records import Counts, State

_NONE: Indicators = Indicators(())


class Names(NamedTuple):
    """What a record tells of names when it is learnt.

    Attributes
    ----------
    new
        Names that had no column.
    numbers
        Which of them are numbers, by place.
    carried
        Names that had one, told again.
    gone
        Which of the new names are taken out of the record, if any is.
    """

    new: Sequence[str] = ()
    numbers: Sequence[int] = ()
    carried: Carried = ()
    gone: NDArray[np.bool_] | None = None


_NOTHING = Names()


class Mentions:
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
        self._told: set[str] = set()  # numbers that others have sent
        self._waiting: dict[str, Names] = {}  # what decisions tell when they are learnt
        self._silent: set[str] = set()  # those that tell nothing, and are not learnt yet
        self._indicators = _NONE
        self._known: dict[str, bool] = {}  # of names, whether they go
        self.sent: set[str] = set()

    def begin(self, before: Carried, after: Carried) -> None:
        """Begin with a table: the names that it had, and those that it has without the key."""
        self._call(before)
        self._told = {name for _, name, slot in after if slot >= 0}
        self.sent = {name for _, name, slot in before if slot >= 0} - self._told
        self._private()

    def take(self, event: Event) -> bytes | None:
        """Take the next event; its body as it is to be, None if it stays as it is, or if it is the key's own."""
        if event.type == "decision":
            return self._decided(event)
        if event.type in ("feedback", "expired"):
            return self._heard(event)
        return self._taught(event) if event.type == "taught" else None

    # Events

    def _decided(self, event: Event) -> bytes | None:
        body = codec.read_decision(event.body, event.seq)
        made = saving.read_brief(body.record, "", "")
        carried = codec.carried(body.shared, event.seq)
        self._call(carried)
        if not isinstance(made.context, Encoded):
            return None
        context, gone = (made.context, None) if event.key == self._key else self._without(made.context)
        kept = carried if event.key == self._key else [each for each in carried if not self._goes(each[1])]
        told = Names(made.context.names, made.context.new_numbers.tolist(), carried, gone)
        if event.decision is not None and (told.new or told.carried):
            self._waiting[event.decision] = told
        elif event.decision is not None:
            self._silent.add(event.decision)
        if context is made.context and len(kept) == len(carried):
            return None
        shared = {name: value for name, value in (body.shared or {}).items() if name != "names"}
        shared |= {"names": kept} if kept else {}
        record = saving.write_brief(structs.replace(made, context=context))
        return codec.write(structs.replace(body, record=record, shared=shared or None))

    def _heard(self, event: Event) -> bytes | None:
        heard = codec.read_feedback(event.body, event.seq)
        learn, told = self._lesson(codec.read_value(heard.learn, event.seq), event)
        self._tell(event, told, heard.places)
        if told.gone is None and learn is None:
            return None
        changed = heard.learn if learn is None else serialization.encode(learn)
        return codec.write(structs.replace(heard, learn=changed, places=_placed(heard.places, told.gone)))

    def _taught(self, event: Event) -> bytes | None:
        fields = codec.read_fields(event.body, event.seq)
        value, carried = codec.read_told(event), codec.carried(fields, event.seq)
        self._call(carried)
        kept = [each for each in carried if event.key == self._key or not self._goes(each[1])]
        changed: dict[str, Any] = {} if len(kept) == len(carried) else {"names": kept}
        if isinstance(value, list):
            given, places = [], list(fields.get("places") or [None] * len(value))
            found = [self._record(context, carried, event) for context, _ in value]
            for i, ((context, told), (_, answer)) in enumerate(zip(found, value, strict=True)):
                given.append((context, answer))
                self._tell(event, told, places[i])
                places[i] = _placed(places[i], told.gone)
            if any(context is not before for (context, _), (before, _) in zip(given, value, strict=True)):
                changed |= {"learn": serialization.encode(given), "places": places}
        else:
            learn, told = self._lesson(value, event)
            self._tell(event, told, fields.get("places"))
            if learn is not None:
                changed |= {"learn": serialization.encode(learn)}
            if told.gone is not None:
                changed |= {"places": _placed(fields.get("places"), told.gone)}
        return codec.write(fields | changed) if changed else None

    def _lesson(self, learn: Any, event: Event) -> tuple[Any, Names]:
        """What is learnt, if that changes, and what the record tells that it is about."""
        if isinstance(learn, Lesson) and learn.by_itself:
            context, told = self._record(learn.context, (), event)
            return (None if context is learn.context else replace(learn, context=context)), told
        return None, self._about(event.decision)

    def _record(self, context: Any, carried: Carried, event: Event) -> tuple[Any, Names]:
        if not isinstance(context, Encoded):
            return context, _NOTHING
        found, gone = (context, None) if event.key == self._key else self._without(context)
        return found, Names(context.names, context.new_numbers.tolist(), carried, gone)

    # Names

    def _about(self, decision: str | None) -> Names:
        """What a decision tells of names."""
        if decision in self._waiting:
            return self._waiting[decision]
        if decision is None or decision in self._silent:
            self._silent.discard(decision or "")
            return _NOTHING
        event = self._decision(decision)  # one from before all that is followed, or that tells nothing
        if event is None:
            return _NOTHING
        body = codec.read_decision(event.body, event.seq)
        context, carried = saving.read_brief(body.record, "", "").context, codec.carried(body.shared, event.seq)
        new = isinstance(context, Encoded)
        told = Names(context.names, context.new_numbers.tolist(), carried) if new else Names(carried=carried)
        self._waiting[decision] = told
        return told

    def _tell(self, event: Event, told: Names, places: Any) -> None:
        """An event has told names: they have columns from now on, and the numbers among them are expected."""
        if event.made is None:
            return
        ids = list(places[0]) if places is not None else []
        self._call([(place, name, -1) for place, name in zip(ids, told.new, strict=False)])
        numbers = {told.new[place] for place in told.numbers} | {name for _, name, slot in told.carried if slot >= 0}
        known = self.sent if event.key == self._key else self._told
        if not numbers <= known:
            known |= numbers
            self._private()

    def _private(self) -> None:
        self._indicators = Indicators(self.sent - self._told)
        self._known.clear()

    def _call(self, carried: Carried) -> None:
        for place, name, _ in carried:
            self._called[place] = name

    def _goes(self, name: str, more: Iterable[str] = ()) -> bool:
        """Whether a name is there only because of the key."""
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
        columns = [i for i in used if self._goes(self._called[i])]
        gone = np.array([self._goes(name, context.names) for name in context.names], np.bool_)
        if not columns and not gone.any():
            return context, None
        return context.without(np.array(columns, np.int64), gone), gone if gone.any() else None


def _placed(places: Any, gone: NDArray[np.bool_] | None) -> Any:
    """The places of names without those that go; none of these is a number."""
    if places is None or gone is None:
        return places
    return [place for place, out in zip(places[0], gone.tolist(), strict=True) if not out], list(places[1])


#: Events that leave what is in memory true; after all others it is read anew.
_QUIET = ORDINARY | {ERASED, "archived", "revived", "renamed", "retained"}
#: How many learners of a shard stay in memory, and after how many events what its keys share is written aside.
_HELD, _ASIDE = 4_096, 2_048
#: How many states of what keys share are kept.
_KEPT = 3


class Remainder:
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

    def __init__(self, family: Remainders, model: Served) -> None:
        self._family, self._model, self._shard, self._key = family, model, model.shard, family.key
        self._states: dict[str | None, list[State]] = {}
        self._cache = LearnerCache(self, Undo(), _HELD)
        self._mentions: dict[int, Mentions] = {}  # by the table of names that they are about
        self._begun: set[str] = set()
        self._gone: set[str] = set()  # names that leave what was brought
        self._stale = False
        self._aside = 0
        self._moved: set[str] = set()
        self.rewrites: dict[int, bytes] = {}
        self.keys: set[str] = set()
        own = family.first(model.shard)
        self._own = own.seq if own is not None else 1 << 62  # the first event of the key
        base = family.reading.base(model.shard)
        floor = base.seq if base is not None else 0
        brought = own is not None and own.type in ("imported", "promoted")
        self.first = floor + 1 if brought else self._own  #: the first event that may come out differently
        self.position = self.first - 1
        self._grouped = any(each.grouped for each in (model.blueprint, *(era.blueprint for era in model.past)))
        self._numbers = brought  # whether the key may have sent a number, so that records of others lack it

    # The fold

    def advance(self, upto: int) -> None:
        """Take the events up to one."""
        if not self._grouped:
            self.position = max(self.position, upto)
        while self.position < upto:
            chunk = self._family.reading.events(self._shard, self.position, 256)
            self._family.told(self._model, self.position)
            for event in chunk:
                if event.seq <= upto:
                    self._take(event)
                    self.position = event.seq
            if not chunk:  # what is still to be committed comes later
                return

    def group(self) -> Group | None:
        """What the keys share at this point."""
        group = self._cache.group(self._now())
        if group is not None and group.mean is not None:
            for key in self._moved:  # so that the next step finds them in memory
                self._cache.get(self._now(), key).changed = True  # and what leaves it is written aside
        self._moved.clear()
        self._cache.undo.clear()
        return group

    def learner(self, key: str) -> Learner:
        """The learner of a key at this point."""
        return self._cache.get(self._now(), key).learner

    def _now(self) -> Served:
        """The model as it was at this point."""
        if self._stale:
            self._cache.leave_all(self._shard)
            self._stale = False
        past = tuple(era for era in self._model.past if era.until <= self.position)
        later = [era.blueprint for era in self._model.past if era.until > self.position]
        counts = Counts(seq=self.position)
        blueprint = later[0] if later else self._model.blueprint
        made = replace(self._model, blueprint=blueprint, past=past, counts=counts, scaled={})
        made.caught = made.others = self.position
        return made

    def _take(self, event: Event) -> None:
        mine = event.key == self._key
        if event.type in ("imported", "promoted"):
            if not mine:
                self._bring(event)
        elif event.type != ERASED:
            self._numbers = self._numbers or (mine and _has_numbers(event))
            if self._numbers and (mentions := self._table(event.seq)) is not None:
                changed = mentions.take(event)
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
        if event.seq - self._aside >= _ASIDE:
            self._aside = event.seq
            self.position = event.seq
            if (group := self.group()) is not None:
                self.publish(self._shard, None, event.seq, group.to_bytes())

    def _rewrite(self, event: Event, body: bytes | None) -> None:
        if body is not None and body != event.body:
            self.rewrites[event.seq] = body
            self.keys |= {event.key} if event.key is not None else set()

    # Starts

    def _begin(self, event: Event, key: str) -> None:
        """Let a key begin as it would have without the one who is forgotten."""
        now = self._now()
        if now.blueprint.shared_start is None or key in self._begun:
            return
        self._begun.add(key)
        if not self._may_begin(event, key):
            return
        self.group()
        held = self._cache.get(now, key)
        if not held.new:
            return
        start = self._cache.begin(now, key, held)
        self._cache.undo.clear()
        content = self.rewrites.get(event.seq, event.body)
        if event.type == "taught":
            fields = codec.read_fields(content, event.seq)
            if fields.get("start") != start:
                fields = {name: value for name, value in fields.items() if name != "start"}
                self._rewrite(event, codec.write(fields | ({} if start is None else {"start": start})))
            return
        body = codec.read_decision(content, event.seq)
        if (body.shared or {}).get("start") != start:
            shared = {name: value for name, value in (body.shared or {}).items() if name != "start"}
            shared |= {} if start is None else {"start": start}
            self._rewrite(event, codec.write(structs.replace(body, shared=shared or None)))

    def _may_begin(self, event: Event, key: str) -> bool:
        """Whether a key can begin with an event: its first one, or one after something was rolled back."""
        if any(each.type == "rolled_back" for each in self.rewinds(self._shard)):
            return True
        first = next(self._family.reading.of_key(self._shard, key), None)
        return first is not None and first.seq == event.seq

    # What came from elsewhere

    def _bring(self, event: Event) -> None:
        """What was taken over from another model is what that would have been."""
        fields = codec.read_fields(event.body, event.seq)
        source = self._family.source(self._model, event, fields)
        group = fields.get("group")
        if source is not None and source.touched:
            if isinstance(group, bytes) and (found := source.group()) is not None:
                self._rewrite(event, codec.write(fields | {"group": found.to_bytes()}))
            elif event.key is not None and isinstance(fields.get("learn"), bytes):
                state = np.frombuffer(source.learner(event.key).to_bytes(), np.uint8)
                told = {"state": state} if event.type == "promoted" else state
                self._rewrite(event, codec.write(fields | {"learn": serialization.encode(told)}))
        elif source is None and isinstance(group, bytes):
            self._rewrite(event, codec.write(fields | {"group": self._left(event, group).to_bytes()}))
        elif source is None and event.key is not None:
            carried = codec.carried(fields, event.seq)
            names = [each for each in carried if each[1] not in self._gone]
            self._rewrite(event, None if names == carried else codec.write(fields | {"names": names}))
        if isinstance(group, bytes) and self._model.at(event.seq).shared.names:
            self._shared_from(event, group)

    def _left(self, event: Event, group: bytes) -> Group:
        """What is left of what keys shared in a log that was brought: the names that others have told.

        Statistics and what newcomers begin with cannot be told apart by key, and begin with nothing.
        """
        known = Group.from_bytes(group, self._model.at(event.seq), f"event {event.seq}")
        kept, numbers, whose = set[int](), set[str](), True
        for other, _ in self._family.reading.changes(self._shard, event.seq):
            if other.type != "imported" or known.table is None:
                break
            if other.key == self._key:
                continue
            fields = codec.read_fields(other.body, other.seq)
            if "names" not in fields:  # brought before events said whose names are whose: those that weights stand on
                whose, told = False, codec.read_told(other)
                weights = Learner.from_bytes(told.tobytes(), f"event {other.seq}").weights
                kept.update(np.flatnonzero(weights.reshape(-1, known.table.dim).any(axis=0)).tolist())
            kept.update(place for place, _, _ in codec.carried(fields, other.seq))
            numbers.update(name for _, name, slot in codec.carried(fields, other.seq) if slot >= 0)
        if known.table is not None and whose:
            named, every = known.table.known(), known.table.names
            private = Indicators(name for _, name, slot in named if slot >= 0 and name not in numbers)
            self._gone = {name for _, name, _ in named if private.has(name, lambda: every)}
            kept -= {place for place, name, _ in named if name in self._gone}
        return known.names_at(kept)

    def _shared_from(self, event: Event, group: bytes) -> None:
        """A table of names came from elsewhere."""
        after = codec.read_fields(self.rewrites.get(event.seq, event.body), event.seq)["group"]
        blueprint = self._now().blueprint
        tables = [Group.from_bytes(content, blueprint, f"event {event.seq}").table for content in (group, after)]
        mentions = self._mentions[self._number(event.seq)] = self._new_mentions()
        if tables[0] is not None and tables[1] is not None:
            mentions.begin(tables[0].known(), tables[1].known())

    # Names

    def _table(self, seq: int) -> Mentions | None:
        """Who follows the names of the table that is in force at an event."""
        if not self._model.at(seq).shared.names:
            return None
        number = self._number(seq)
        if (found := self._mentions.get(number)) is None:
            found = self._mentions[number] = self._new_mentions()
            if (group := self.group()) is not None and group.table is not None:
                found.begin(group.table.known(), group.table.known())
        return found

    def _new_mentions(self) -> Mentions:
        return Mentions(self._key, self._made)

    def _made(self, decision: str) -> Event | None:
        row = self._family.reading.decision(decision)
        return self._family.reading.event(row.shard, row.seq) if row is not None and row.shard == self._shard else None

    def _number(self, seq: int) -> int:
        """Which table of names is in force at an event: a promotion brings one, a rollback beyond it the one before."""
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
    def touched(self) -> bool:
        """Whether something up to this point could come out differently."""
        return self._own <= self.position or bool(self.rewrites)

    def _as_left(self, event: Event) -> Event:
        body = self.rewrites.get(event.seq)
        return event if body is None else event._replace(body=body)

    def base(self, shard: int) -> Base | None:
        """Where the log begins, if not with its first event."""
        return self._family.reading.base(shard)

    def base_state(self, shard: int, key: str | None) -> BaseState | None:
        """What a learner had become at the base."""
        return self._family.reading.base_state(shard, key)

    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        """The events that made a version or amended settings."""
        for event, made in self._family.reading.changes(shard, after, key):
            if event.seq > self.position:
                return
            if event.key != self._key:
                yield self._as_left(event), None if made is None else self._as_left(made)

    def rewinds(self, shard: int) -> list[Event]:
        """The events that take back what earlier ones did."""
        found = self._family.reading.rewinds(shard)
        return [event for event in found if event.seq <= self.position and event.key != self._key]

    def of_key(self, shard: int, key: str) -> Iterator[Event]:
        """The events of a key, in order."""
        events = self._family.reading.of_key(shard, key)
        return map(self._as_left, takewhile(lambda event: event.seq <= self.position, events))

    def forgotten(self, shard: int) -> int:
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
            forgotten = self._family.reading.forgotten(shard)
            for state in self._family.reading.states(shard):
                if forgotten <= state.seq < self.first:
                    yield state

    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        """Keep what a learner has become after an event."""
        state = State(seq, content, f"what was left after event {seq}", True, len(content), time.time())
        self._states[key] = [state, *self._states.get(key, ())][: _KEPT if key is None else 1]
        return True

    def look(self, question: Question, shard: int, **values: Any) -> list[tuple[Any, ...]]:
        """The keys, but for the one that is forgotten."""
        return [row for row in self._family.reading.look(question, shard, **values) if row != (self._key,)]


def _has_numbers(event: Event) -> bool:
    """Whether an event tells of a record with a number."""
    contexts: list[Any] = []
    if event.type == "decision":
        contexts = [saving.read_brief(codec.read_decision(event.body, event.seq).record, "", "").context]
    elif event.type == "taught" and isinstance(told := codec.read_told(event), list):
        contexts = [context for context, _ in told]
    return any(isinstance(each, Encoded) and bool(len(each.slots) or len(each.new_numbers)) for each in contexts)


class Remainders:
    """What would be left of some logs, and of those that they took something over from.

    Parameters
    ----------
    shards
        All models by shard.
    key
        Who is forgotten.
    progress
        Told how far it is.

    Attributes
    ----------
    reading
        What is followed: what is committed; in the last step, what the open batch has written too.
    """

    def __init__(self, shards: Mapping[int, Served], key: str, progress: Progress | None = None) -> None:
        self.key = key
        self.reading: Reading
        self._lineage: Sequence[Lineage] = ()
        self._shards = shards
        self._progress = progress
        self._main: dict[int, Remainder] = {}
        self._earlier: dict[tuple[int, int], Remainder] = {}
        self._pasts: dict[int, tuple[int, int]] = {}  # of each shard, how often its past had been changed at first

    def follow(self, reading: Reading, models: Sequence[Served]) -> dict[int, Remainder]:
        """Follow the logs of models to their ends, or go on with that; what is left of each, by shard."""
        self.reading, self._lineage = reading, reading.lineage()
        self._main = {shard: each for shard, each in self._main.items() if each.touched}  # others may be by now
        later = {row.shard for row in self._lineage}
        found = {}
        for model in sorted(models, key=lambda each: each.shard not in later):
            counts = reading.counts(model.shard)
            found[model.shard] = self._of(model, counts.seq if counts is not None else 0)
        return found

    def fresh(self) -> bool:
        """Whether nobody has changed the past of what was followed since."""
        return all(_past(self._shards[shard]) == past for shard, past in self._pasts.items())

    def _of(self, model: Served, upto: int) -> Remainder:
        """What is left of a shard, up to an event."""
        found = self._main.get(model.shard)
        if found is None:
            self._pasts.setdefault(model.shard, _past(model))
            found = self._main[model.shard] = Remainder(self, model)
        found.advance(upto)
        return found

    def first(self, shard: int) -> Event | None:
        """The first event of the key in a shard."""
        return next(self.reading.of_key(shard, self.key), None)

    def told(self, model: Served, position: int) -> None:
        """Tell how far it is; stops if somebody wants that."""
        if self._progress is not None:
            if self._progress.stopped:
                raise Busy("the service is stopping", "try again in a moment")
            self._progress.done, self._progress.of = position, model.seq

    def source(self, model: Served, event: Event, fields: Mapping[str, Any]) -> Remainder | None:
        """What is left of the shard that an event took something over from, at that point; None if nobody knows."""
        shard, seq = self._origin(model, event, fields)
        if shard is None or (other := self._shards.get(shard)) is None:
            return None
        if self.reading.base_state(shard, self.key) is not None:
            raise Retained(
                f"events of key {self.key!r} are in the base state of a model that another one began with",
                "nobody can take them out of that any more; shorten retention only as far as you will not need to",
            )
        known = self._main.get(shard)
        if known is None or known.position <= seq:
            return self._of(other, seq)
        if (earlier := self._earlier.get((shard, seq))) is None:
            self._earlier.clear()
            earlier = self._earlier[shard, seq] = Remainder(self, other)
            earlier.advance(seq)
        return earlier

    def _origin(self, model: Served, event: Event, fields: Mapping[str, Any]) -> tuple[int | None, int]:
        """The shard that an event took something over from, and the last event of that."""
        if (told := fields.get("of")) is not None:
            return int(told[0]), int(told[1])
        rows = [row for row in self._lineage if row.shard == model.shard]  # logs from before events said so
        names = {era.source for era in model.past if era.by == "promoted"}
        said = str(fields.get("source", ""))
        if not rows or not (said.startswith("a copy of ") or said in names):
            return None, 0
        if len(rows) > 1:
            called = [row for row in rows if said.removeprefix("a copy of ") == self._shards[row.source].name]
            rows = called if len(called) == 1 else []
        return (rows[0].source, rows[0].seq) if rows else (None, 0)


def _past(model: Served) -> tuple[int, int]:
    """What changes whenever the past of a model is changed, or its settings."""
    return model.rewritten, len(model.past)
