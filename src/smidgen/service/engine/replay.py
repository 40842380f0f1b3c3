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
from smidgen.learners.pipeline import add_classes, amended, learn_names, takes_records, unwrap, vectorizer_of
from smidgen.learners.record_adapter import as_context, by_position, on_columns
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
    learner_input
        The training signal or the examples that the learner received.
    places
        Where the new names of a record went; of examples, one for each.
    names
        Names that the event repeats.
    """

    type: str
    decision: Decision | None
    learner_input: Any
    places: Any = None
    names: Carried = ()


def read_event(reader: Learner, event: Event, decision_event: Event | None) -> LearningEvent:
    """Read an event that changes weights; the learner decodes the record of its decision."""
    decision: Decision | None = None
    names: Carried = ()
    if decision_event is not None and event.type not in REWINDS:
        body = codec.read_decision(decision_event.body, decision_event.seq)
        decision, names = (
            codec.decode_decision(reader, body.record, decision_event.seq),
            codec.carried_names(body.shared, decision_event.seq),
        )
    if event.type in ANSWERED:
        feedback = codec.read_feedback(event.body, event.seq)
        decision = None if decision is None else codec.as_learnt(decision, feedback.row, event.seq)
        names = [*names, *(feedback.names or ())]
        return LearningEvent(event.type, decision, codec.read_value(feedback.learn, event.seq), feedback.places, names)
    learner_input = codec.read_learner_input(event)
    fields = codec.read_fields(event.body, event.seq) if event.type == "taught" else {}
    decision = None if decision is None else codec.as_learnt(decision, fields.get("row"), event.seq)
    return LearningEvent(
        event.type, decision, learner_input, fields.get("places"), [*names, *codec.carried_names(fields, event.seq)]
    )


def records_of(change: LearningEvent) -> Iterator[tuple[Any, Any, Carried]]:
    """Records of an event: each as encoded, the places of its new names, and the names it repeats."""
    learner_input = change.learner_input
    if change.type not in TELLING:
        return
    if isinstance(learner_input, TrainingSignal) and learner_input.is_standalone:
        if learner_input.answer is not None:
            yield learner_input.context, change.places, ()  # the names of its decision may be of another table
    elif change.type == "taught" and not isinstance(learner_input, TrainingSignal):
        for (context, _), places in zip(learner_input, change.places or [None] * len(learner_input), strict=True):
            yield context, places, change.names
    elif change.decision is not None:
        yield change.decision.context, change.places, change.names


def as_learner_input(learner: Learner, change: LearningEvent) -> tuple[Decision | None, Any]:
    """Convert the decision and its training signal, or the examples, to what this learner accepts.

    A learner with its own vectorizer takes records; others take encoded rows.
    """
    decision, learner_input = change.decision, change.learner_input
    if takes_records(learner) or change.type not in TELLING:
        return decision, learner_input
    if isinstance(learner_input, TrainingSignal):
        where = change.places
        if learner_input.is_standalone:  # its decision may be of other settings, and the places are not of that
            if isinstance(learner_input.context, Encoded):
                learner_input = replace(
                    learner_input, context=as_context(learner_input.context, columns_of(learner_input.context, where))
                )
            return None, learner_input
        if decision is not None and isinstance(decision.context, Encoded):
            learner_input = replace(learner_input, answer=by_position(learner_input.answer, decision.context))
            decision = on_columns(learner, decision, columns_of(decision.context, where))
        return decision, learner_input
    if change.type == "taught":
        given = zip(learner_input, change.places or [None] * len(learner_input), strict=True)
        return decision, [as_example(context, answer, places) for (context, answer), places in given]
    if decision is None or not isinstance(decision.context, Encoded):
        return decision, learner_input
    encoded = decision.context
    return on_columns(learner, decision, columns_of(encoded, change.places)), by_position(learner_input, encoded)


def as_example(context: Any, answer: Any, places: Any) -> tuple[Any, Any]:
    """Convert an example of a log to columns, for a learner without a vectorizer."""
    if not isinstance(context, Encoded):
        return context, answer
    return as_context(context, columns_of(context, places)), by_position(answer, context)


def columns_of(encoded: Encoded, places: Any) -> NDArray[np.uint32]:
    """Look up the columns of a record's new names, from the places in the log."""
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
        True of a version if a key that started then starts from scratch: its initial state was rolled back.
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
    """Finds the undone events whose names of features are kept; query it in the order of the log.

    An open or counted decision may use columns that such an event named. Events that were undone together with an
    earlier promotion belong to another table of names.

    Parameters
    ----------
    undone
        The undone versions.
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
    """Read the events of a shard that undo others."""
    return [_to_undo_event(event) for event in reading.undo_events(shard)]


def read_undone(reading: LogReader, shard: int) -> UndoneVersions:
    """Read which versions of a shard were undone."""
    return UndoneVersions(read_undo_events(reading, shard))


def restored_version(reading: LogReader, shard: int, decision: str) -> int | None:
    """Find the version whose answer counts again because a rollback undid its retraction; None if there is none."""
    mine = [_to_undo_event(event) for event in reading.undo_events(shard) if event.decision == decision]
    if not mine:
        return None
    undone = read_undone(reading, shard)
    return next((each.version for each in reversed(mine) if each.by in undone and each.version not in undone), None)


def _to_undo_event(event: Event) -> UndoEvent:
    fields = codec.read_fields(event.body, event.seq)
    version = fields.get("version")
    if not isinstance(version, int):
        raise InvalidRecord(f"event {event.seq} rolls back to no version", "restore the database from a backup")
    return UndoEvent(event.type, event.made or 0, version, fields.get("columns") == KEPT)


# Weights are a fold over the log: what each kind of event does to a learner.

#: Applies one type of event to a learner: takes the learner, the decision (or None), the learner input and the key.
Step = Callable[[Learner, Decision | None, Any, str | None], Learner]
STEPS: dict[str, Step] = {}
#: Answers read in one batch at most, bytes of their decisions at most, and below how many each is read alone.
TOGETHER, MOST, FEWEST = 256, 1 << 20, 4


def step(*types: str) -> Callable[[Step], Step]:
    """Register a function that applies events of these types."""

    def register(function: Step) -> Step:
        STEPS.update(dict.fromkeys(types, function))
        return function

    return register


@step(*ANSWERED)
def _apply_feedback(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Apply feedback or a default reward; apply a training signal if other settings made the decision."""
    if isinstance(learner_input, TrainingSignal):
        learner_input.give(learner, None)
        return learner
    if decision is None:
        raise InvalidRecord("it is feedback for a decision that is not in the log", "use the whole log")
    learner.learn(learner.adopt(decision), learner_input)  # its settings may have been amended since
    return learner


@step("taught")
def _apply_examples(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Apply examples with known answers, or the outcome of the decision that was shown instead of this learner's."""
    if isinstance(learner_input, TrainingSignal):
        learner_input.give(learner, None if decision is None else learner.adopt(decision))
        return learner
    for context, answer in learner_input:
        learner.teach(context, answer)
    return learner


@step("imported")
def _apply_import(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Replace the learner by an imported one; the event of imported shared state (None) changes no learner."""
    if learner_input is None:
        return learner
    return Learner.from_bytes(learner_input.tobytes(), "an imported learner")


@step("amended")
def _apply_amendment(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Change settings and add labels, and keep the weights. Settings that the learner does not have are skipped."""
    accepted = {*inspect.signature(type(unwrap(learner))).parameters, *(["text"] if takes_records(learner) else [])}
    if settings := {name: value for name, value in learner_input["settings"].items() if name in accepted}:
        learner = amended(learner, **settings)
    if learner_input["labels"] is not None:
        add_classes(learner, *new_labels_of(learner_input))
    return learner


@step("promoted")
def _apply_promotion(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Replace the learner by that of the promoted model, or by a fresh one if the key has learned nothing there."""
    if learner_input["state"] is not None:
        return Learner.from_bytes(learner_input["state"].tobytes(), "a promoted learner")
    fresh = fresh_learner(learner_input["settings"], key, guarded=learner_input["guarded"])
    return _apply_amendment(fresh, None, learner_input["amended"], key)


@step(ERASED, *REWINDS)
def _apply_nothing(learner: Learner, decision: Decision | None, learner_input: Any, key: str | None) -> Learner:
    """Apply nothing: the event is erased, or undoes others, which are left out (`UndoneVersions`)."""
    return learner


def apply_event(
    learner: Learner, type: str, seq: int, decision: Decision | None, learner_input: Any, key: str | None = None
) -> Learner:
    """Apply an event that changes weights; returns the same learner or its replacement.

    Parameters
    ----------
    learner
        The learner before it.
    type, seq
        The event.
    decision
        The decision that it is about, if any.
    learner_input
        The training signal, the examples or the settings of the event.
    key
        Key of the learner, in a keyed model.
    """
    if (known := STEPS.get(type)) is None:
        raise InvalidRecord(
            f"event {seq} has the type {type!r}, which changes weights and which this version does not know",
            "upgrade smidgen",
        )
    return known(learner, decision, learner_input, key)


def replay(
    learner: Learner,
    changes: Iterable[tuple[Event, Event | None]],
    undone: UndoneVersions,
    key: str | None = None,
    start: KeyStart | None = None,
) -> tuple[Learner, int]:
    """Apply events of the log in order, without those that were undone.

    Parameters
    ----------
    learner, changes, undone
        The learner, the events with their decisions, and the undone versions.
    key
        Key of the learner, in a keyed model.
    start
        Position and content of the start of a fresh learner of a key.

    Returns
    -------
    The learner, and the number of the last event, 0 if there was none.
    """
    seq, size, kept = 0, 0, KeptNames(undone)
    together: list[tuple[Event, Event]] = []
    for event, decision_event in changes:
        if start is not None and event.seq >= start.seq:  # the settings of that time are in force
            start_learner(learner, start.start)
            start = None
        seq = event.seq
        if event.type == ERASED:
            continue
        counts = event.made not in undone if event.made is not None else event.type == "amended"
        if event.made is not None and not counts and kept.has(event.type, event.made) and takes_records(learner):
            learner = _apply_all_feedback(learner, together, key)
            together, size = [], 0
            keep_names(learner, read_event(learner, event, decision_event))
        if not counts:
            continue
        if decision_event is not None and event.type in ANSWERED and start is None:
            together.append((event, decision_event))
            size += len(decision_event.body or b"")
            if len(together) < TOGETHER and size < MOST:
                continue
        learner = _apply_all_feedback(learner, together, key)
        together, size = [], 0
        if decision_event is None or event.type not in ANSWERED or start is not None:
            learner = _apply_stored(learner, event, decision_event, key)
    learner = _apply_all_feedback(learner, together, key)
    if start is not None:
        start_learner(learner, start.start)
    return learner, seq


def _apply_stored(learner: Learner, event: Event, decision_event: Event | None, key: str | None) -> Learner:
    """Read and apply one event."""
    decision, learner_input = as_learner_input(learner, read_event(learner, event, decision_event))
    return apply_event(learner, event.type, event.seq, decision, learner_input, key)


def _apply_all_feedback(learner: Learner, answers: Sequence[tuple[Event, Event]], key: str | None) -> Learner:
    """Read answers with their decisions in one batch, and apply them in order."""
    try:
        read = codec.read_answers(learner, answers) if len(answers) >= FEWEST else []
    except InvalidRecord:  # the verbs learn up to the one that is at fault
        read = []
    pairs = [
        as_learner_input(learner, LearningEvent("feedback", decision_event, learner_input, body.places))
        for decision_event, body, learner_input in read
    ]
    if not pairs or any(isinstance(learner_input, TrainingSignal) for _, learner_input in pairs):
        for event, decision_event in answers:
            learner = _apply_stored(learner, event, decision_event, key)
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
