"""Weights as a fold over the log, without the events that were undone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.features import Encoded
from smidgen.features.state import Carried, Places
from smidgen.learners import Learner, saving
from smidgen.learners.pipeline import (
    add_classes,
    amended,
    as_context,
    by_position,
    learn_names,
    on_columns,
    takes_records,
    unwrap,
    vectorizer_of,
)
from smidgen.service.engine.blueprint import fresh_learner, new_labels_of
from smidgen.service.log import codec
from smidgen.service.log.events import ANSWERED, ERASED, KEPT, REWINDS, Event
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.storage.protocol import LogReader

# What events say of records, as the learners of keys take it: rows, with new names where the log says they went.

#: Where the names of a record go that has no new ones.
NOWHERE: Places = ([], [])
#: Events that tell a learner something of a record.
TELLING = (*ANSWERED, "taught")


class LearningEvent(NamedTuple):
    """An event that changes the weights of a key, as its learner and the shared state of its model apply it.

    Attributes
    ----------
    type
        Of the event.
    decision
        The decision that it is about, as it is recorded: on a record, or on rows.
    told
        What the learner was told.
    places
        Where the new names of a record went; of examples, one for each.
    names
        Names that were told again.
    """

    type: str
    decision: Decision | None
    learner_input: Any
    places: Any = None
    names: Carried = ()


def read_event(reader: Learner, event: Event, made: Event | None) -> LearningEvent:
    """Read an event that changes weights; the learner decodes the record of its decision."""
    decision: Decision | None = None
    names: Carried = ()
    if made is not None and event.type not in REWINDS:
        body = codec.read_decision(made.body, made.seq)
        decision, names = (
            codec.decode_decision(reader, body.record, made.seq),
            codec.carried_names(body.shared, made.seq),
        )
    if event.type in ANSWERED:
        heard = codec.read_feedback(event.body, event.seq)
        decision = None if decision is None else codec.as_learnt(decision, heard.row, event.seq)
        names = [*names, *(heard.names or ())]
        return LearningEvent(event.type, decision, codec.read_value(heard.learn, event.seq), heard.places, names)
    told = codec.read_learner_input(event)
    fields = codec.read_fields(event.body, event.seq) if event.type == "taught" else {}
    decision = None if decision is None else codec.as_learnt(decision, fields.get("row"), event.seq)
    return LearningEvent(
        event.type, decision, told, fields.get("places"), [*names, *codec.carried_names(fields, event.seq)]
    )


def records_of(change: LearningEvent) -> Iterator[tuple[Any, Any, Carried]]:
    """Records of an event: each as encoded, the places of its new names, and the names it repeats."""
    told = change.learner_input
    if change.type not in TELLING:
        return
    if isinstance(told, TrainingSignal) and told.is_standalone:
        if told.answer is not None:
            yield told.context, change.places, ()  # the names of its decision may be of another table
    elif change.type == "taught" and not isinstance(told, TrainingSignal):
        for (context, _), places in zip(told, change.places or [None] * len(told), strict=True):
            yield context, places, change.names
    elif change.decision is not None:
        yield change.decision.context, change.places, change.names


def as_learner_input(learner: Learner, change: LearningEvent) -> tuple[Decision | None, Any]:
    """The decision and its training signal, or the examples, in the learner's terms.

    A learner with a vectorizer of its own takes records; others take the rows made of them.
    """
    decision, told = change.decision, change.learner_input
    if takes_records(learner) or change.type not in TELLING:
        return decision, told
    if isinstance(told, TrainingSignal):
        where = change.places
        if told.is_standalone:  # its decision may be of other settings, and the places are not of that
            if isinstance(told.context, Encoded):
                told = replace(told, context=as_context(told.context, columns_of(told.context, where)))
            return None, told
        if decision is not None and isinstance(decision.context, Encoded):
            told = replace(told, answer=by_position(told.answer, decision.context))
            decision = on_columns(learner, decision, columns_of(decision.context, where))
        return decision, told
    if change.type == "taught":
        given = zip(told, change.places or [None] * len(told), strict=True)
        return decision, [as_example(context, answer, places) for (context, answer), places in given]
    if decision is None or not isinstance(decision.context, Encoded):
        return decision, told
    encoded = decision.context
    return on_columns(learner, decision, columns_of(encoded, change.places)), by_position(told, encoded)


def as_example(context: Any, answer: Any, places: Any) -> tuple[Any, Any]:
    """An example of a log as a learner of rows takes it."""
    if not isinstance(context, Encoded):
        return context, answer
    return as_context(context, columns_of(context, places)), by_position(answer, context)


def columns_of(encoded: Encoded, places: Any) -> NDArray[np.uint32]:
    """The columns of the new names of what was encoded, by the places that a log gives."""
    return encoded.columns_at(places_in(encoded, places))


def start_learner(learner: Learner, start: bytes | None) -> None:
    """Let a fresh learner begin with what the log says."""
    if start is not None:
        learner.start_from(saving.read_start(start, learner.start()))


class KeyStart(NamedTuple):
    """The beginning of a key.

    Attributes
    ----------
    seq
        The event that says what it begins with; 0 if there is none yet, so that its next decision will.
    start
        What it begins with; None is nothing.
    """

    seq: int = 0
    start: bytes | None = None


def find_key_start(events: Iterable[Event], again: Any) -> KeyStart:
    """Find the beginning of a key from its events in order.

    Parameters
    ----------
    events
        The events of the key.
    again
        Says of a version whether a key that began then begins anew: what it began with was rolled back.
    """
    for event in events:
        if event.type == "decision":
            body = codec.read_decision(event.body, event.seq)
            if not again(body.model_version):
                return KeyStart(event.seq, (body.shared or {}).get("start"))
        elif event.type == "taught":
            fields = codec.read_fields(event.body, event.seq)
            if not again((event.made or 1) - 1):
                return KeyStart(event.seq, fields.get("start"))
        elif event.type == "imported" and not again((event.made or 1) - 1):
            return KeyStart(event.seq)
    return KeyStart()


def places_in(encoded: Encoded, places: Any) -> list[int]:
    """The places that a log gives to the new names of what was encoded."""
    ids = list((places or NOWHERE)[0])
    if len(ids) != len(encoded.names):
        raise InvalidRecord("the log lacks the columns of a record's names", "use the whole log")
    return ids


# Which events of a log count no more, because later ones took them back, and what stays of them all the same.


class UndoEvent(NamedTuple):
    """An event that takes back.

    Attributes
    ----------
    type, by
        Its type, and the version that it made.
    version
        The version that it names: of ``rolled_back`` the one to go back to, of ``retracted`` the one that is undone.
    keeps
        Whether names of features that are taken back keep their columns; none did at first.
    """

    type: str
    by: int
    version: int
    keeps: bool = False

    @property
    def first(self) -> int:
        """The first version that it undoes."""
        return self.version + (self.type == "rolled_back")

    @property
    def last(self) -> int:
        """The last one: what goes back undoes itself too, as far as later ones go back beyond it."""
        return self.by if self.type == "rolled_back" else self.version


class UndoneVersions:
    """The versions whose events count no more, because later ones took them back.

    Parameters
    ----------
    rewinds
        The events that take back, in order (`UndoEvent`). One that was itself taken back does nothing.

    Examples
    --------
    >>> from smidgen.service.engine.replay import UndoneVersions
    >>> undone = UndoneVersions([("retracted", 6, 2), ("rolled_back", 9, 4), ("retracted", 10, 3)])
    >>> [version for version in range(1, 11) if version in undone]
    [3, 5, 6, 7, 8, 9]
    >>> undone.is_stale(2), undone.is_stale(4), undone.is_stale(10)
    (False, True, False)
    """

    def __init__(self, rewinds: Iterable[tuple[str, int, int] | tuple[str, int, int, bool]] = ()) -> None:
        given = [UndoEvent(*each) for each in rewinds]
        self._lost = [each for each in given if not each.keeps]
        self._count: list[UndoEvent] = []
        for each in reversed(given):
            if each.by not in self:
                self._count.append(each)

    def __contains__(self, version: int) -> bool:
        return bool(self._count) and any(each.first <= version <= each.last for each in self._count)

    def restarts_key(self, version: int) -> bool:
        """True if a key that began at this version starts again, because a rollback undid its starting state."""
        return any(each.first <= version < each.by for each in self._count if each.type == "rolled_back")

    def is_stale(self, version: int) -> bool:
        """Check whether a state of this version holds something that was taken back later."""
        return any(each.first <= version < each.by for each in self._count)

    def keeps_names(self, version: int) -> bool:
        """True if names from the event of this version keep their columns although it was undone."""
        return version in self and not any(each.first <= version <= each.last for each in self._lost)

    def undone_by(self, version: int) -> int:
        """The version that took this one back."""
        return max(each.by for each in self._count if each.first <= version <= each.last)


class KeptNames:
    """Which events that were taken back still tell names of features, asked in the order of the log.

    A decision that is open, or counts, may stand on columns whose names such an event told. What was taken back
    together with a promotion, and came after it, is of another table.

    Parameters
    ----------
    undone
        What was taken back.
    """

    def __init__(self, undone: UndoneVersions) -> None:
        self._undone = undone
        self._elsewhere = 0  # up to this version another model's names were in force

    def has(self, type: str, version: int) -> bool:
        """True if the next undone event of this type and version has names that are kept."""
        if type == "promoted":
            self._elsewhere = max(self._elsewhere, self._undone.undone_by(version))
        return version > self._elsewhere and self._undone.keeps_names(version)


def read_undo_events(reading: LogReader, shard: int) -> list[UndoEvent]:
    """The events of a shard that take back."""
    return [_to_undo_event(event) for event in reading.undo_events(shard)]


def read_undone(reading: LogReader, shard: int) -> UndoneVersions:
    """Read which versions of a shard were undone."""
    return UndoneVersions(read_undo_events(reading, shard))


def restored_version(reading: LogReader, shard: int, decision: str) -> int | None:
    """The version whose answer to a decision counts again, since a rollback undid its retraction; None if none does."""
    mine = [_to_undo_event(event) for event in reading.undo_events(shard) if event.decision == decision]
    if not mine:
        return None
    gone = read_undone(reading, shard)
    return next((each.version for each in reversed(mine) if each.by in gone and each.version not in gone), None)


def _to_undo_event(event: Event) -> UndoEvent:
    fields = codec.read_fields(event.body, event.seq)
    version = fields.get("version")
    if not isinstance(version, int):
        raise InvalidRecord(f"event {event.seq} rolls back to no version", "restore the database from a backup")
    return UndoEvent(event.type, event.made or 0, version, fields.get("columns") == KEPT)


# Weights are a fold over the log: what each kind of event does to a learner.

#: What an event does to a learner: given the decision that it is about, if any, what the learner is told, and whose
#: learner it is.
Step = Callable[[Learner, Decision | None, Any, str | None], Learner]
STEPS: dict[str, Step] = {}
#: What closes a decision that was shown.
HEARD = ANSWERED
#: So many answers are read together at most, with decisions of so many bytes; fewer than some are read one by one.
TOGETHER, MOST, FEWEST = 256, 1 << 20, 4


def step(*types: str) -> Callable[[Step], Step]:
    """Enter what events of these types do."""

    def enter(function: Step) -> Step:
        STEPS.update(dict.fromkeys(types, function))
        return function

    return enter


@step(*HEARD)
def _apply_feedback(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """A reaction, or the silence that stands for one; a lesson, if the decision was made by other settings."""
    if isinstance(told, TrainingSignal):
        told.give(learner, None)
        return learner
    if decision is None:
        raise InvalidRecord("it is feedback for a decision that is not in the log", "use the whole log")
    learner.learn(learner.adopt(decision), told)  # its settings may have been amended since
    return learner


@step("taught")
def _apply_examples(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """Examples whose answers are known, or what came of the decision that was shown in the place of the learner's."""
    if isinstance(told, TrainingSignal):
        told.give(learner, None if decision is None else learner.adopt(decision))
        return learner
    for context, answer in told:
        learner.teach(context, answer)
    return learner


@step("imported")
def _apply_import(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """A learner from elsewhere, in the place of the one that was there; what keys share is none of theirs."""
    if told is None:
        return learner
    return Learner.from_bytes(told.tobytes(), "an imported learner")


@step("amended")
def _apply_amendment(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """Other settings, more labels: what has been learnt stays. Settings that it does not have are another's."""
    accepted = {*inspect.signature(type(unwrap(learner))).parameters, *(["text"] if takes_records(learner) else [])}
    if settings := {name: value for name, value in told["settings"].items() if name in accepted}:
        learner = amended(learner, **settings)
    if told["labels"] is not None:
        add_classes(learner, *new_labels_of(told))
    return learner


@step("promoted")
def _apply_promotion(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """The learner of another model, or, of a key that has learnt nothing there, a fresh one with its settings."""
    if told["state"] is not None:
        return Learner.from_bytes(told["state"].tobytes(), "a promoted learner")
    fresh = fresh_learner(told["settings"], key, guarded=told["guarded"])
    return _apply_amendment(fresh, None, told["amended"], key)


@step(ERASED, *REWINDS)
def _apply_nothing(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """Apply nothing: the event is erased, or undoes others, which are left out (`UndoneVersions`)."""
    return learner


def apply_event(
    learner: Learner, type: str, seq: int, decision: Decision | None, told: Any, key: str | None = None
) -> Learner:
    """The learner after an event that changes weights: itself, or another one in its place.

    Parameters
    ----------
    learner
        The learner before it.
    type, seq
        The event.
    decision
        The decision that it is about, if any.
    told
        What the learner is told.
    key
        Whose learner it is, of a keyed model.
    """
    if (known := STEPS.get(type)) is None:
        raise InvalidRecord(
            f"event {seq} has the type {type!r}, which changes weights and which this version does not know",
            "upgrade smidgen",
        )
    return known(learner, decision, told, key)


def replay(
    learner: Learner,
    changes: Iterable[tuple[Event, Event | None]],
    undone: UndoneVersions,
    key: str | None = None,
    start: KeyStart | None = None,
) -> tuple[Learner, int]:
    """Take events of the log, but for those that were taken back.

    Parameters
    ----------
    learner, changes, undone
        Who learns, from what, and what counts no more.
    key
        Whose learner it is, of a keyed model.
    start
        Where a fresh learner of a key begins, and with what.

    Returns
    -------
    The learner, and the number of the last event, 0 if there was none.
    """
    seq, size, kept = 0, 0, KeptNames(undone)
    together: list[tuple[Event, Event]] = []
    for event, made in changes:
        if start is not None and event.seq >= start.seq:  # the settings of that time are in force
            start_learner(learner, start.start)
            start = None
        seq = event.seq
        counts = event.made not in undone if event.made is not None else event.type == "amended"
        if event.made is not None and not counts and kept.has(event.type, event.made) and takes_records(learner):
            learner = _apply_all_feedback(learner, together, key)
            together, size = [], 0
            keep_names(learner, read_event(learner, event, made))
        if not counts or event.type == ERASED:
            continue
        if made is not None and event.type in HEARD and start is None:
            together.append((event, made))
            size += len(made.body or b"")
            if len(together) < TOGETHER and size < MOST:
                continue
        learner = _apply_all_feedback(learner, together, key)
        together, size = [], 0
        if made is None or event.type not in HEARD or start is not None:
            learner = _apply_stored(learner, event, made, key)
    learner = _apply_all_feedback(learner, together, key)
    if start is not None:
        start_learner(learner, start.start)
    return learner, seq


def _apply_stored(learner: Learner, event: Event, made: Event | None, key: str | None) -> Learner:
    """The learner after an event."""
    decision, told = as_learner_input(learner, read_event(learner, event, made))
    return apply_event(learner, event.type, event.seq, decision, told, key)


def _apply_all_feedback(learner: Learner, answers: Sequence[tuple[Event, Event]], key: str | None) -> Learner:
    """The learner after answers, each with its decision: read together, and learnt in their order."""
    try:
        read = codec.read_answers(learner, answers) if len(answers) >= FEWEST else []
    except InvalidRecord:  # the verbs learn up to the one that is at fault
        read = []
    pairs = [as_learner_input(learner, LearningEvent("feedback", made, told, body.places)) for made, body, told in read]
    if not pairs or any(isinstance(told, TrainingSignal) for _, told in pairs):
        for event, made in answers:
            learner = _apply_stored(learner, event, made, key)
        return learner
    learner.learn_many(*zip(*pairs, strict=True))
    return learner


def keep_names(learner: Learner, change: LearningEvent) -> None:
    """Let a learner of records know the names of what it had learnt and was taken back: they keep their columns."""
    if change.type == "imported":
        other = vectorizer_of(_apply_import(learner, None, change.learner_input, None))
        learn_names(learner, names=other.known() if other is not None else ())
    for context, _, _ in records_of(change):
        learn_names(learner, context)
