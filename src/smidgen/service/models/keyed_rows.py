"""What events say of records, as the learners of keys take it: rows, with new names where the log says they went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.features import Encoded
from smidgen.features.memory import Carried, Places
from smidgen.learners import Learner, starts
from smidgen.learners.records.around import takes_records
from smidgen.learners.records.front import as_context, by_position, on_columns
from smidgen.service.loops.lesson import Lesson
from smidgen.service.store import bodies
from smidgen.service.store.events import REWINDS, Event

#: Where the names of a record go that has no new ones.
NOWHERE: Places = ([], [])
#: Events that tell a learner something of a record.
TELLING = ("feedback", "expired", "taught")


class Change(NamedTuple):
    """What an event says that changed the weights of a key, all that its learner and its group take of it.

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
    told: Any
    places: Any = None
    names: Carried = ()


def read(reader: Learner, event: Event, made: Event | None) -> Change:
    """What an event that changes weights says; the learner reads the record of its decision."""
    decision: Decision | None = None
    names: Carried = ()
    if made is not None and event.type not in REWINDS:
        body = bodies.read_decision(made.body, made.seq)
        decision, names = bodies.recall(reader, body.record, made.seq), bodies.carried(body.shared, made.seq)
    if event.type in ("feedback", "expired"):
        heard = bodies.read_feedback(event.body, event.seq)
        return Change(event.type, decision, bodies.read_value(heard.learn, event.seq), heard.places, names)
    told = bodies.read_told(event)
    fields = bodies.read_fields(event.body, event.seq) if event.type == "taught" else {}
    return Change(event.type, decision, told, fields.get("places"), names or bodies.carried(fields, event.seq))


def records_of(change: Change) -> Iterator[tuple[Any, Any, Carried]]:
    """What an event tells of records: each as it was encoded, where its new names went, and names told again."""
    told = change.told
    if change.type not in TELLING:
        return
    if isinstance(told, Lesson) and told.by_itself:
        if told.answer is not None:
            yield told.context, change.places, ()  # the names of its decision may be of another table
    elif change.type == "taught" and not isinstance(told, Lesson):
        for (context, _), places in zip(told, change.places or [None] * len(told), strict=True):
            yield context, places, change.names
    elif change.decision is not None:
        yield change.decision.context, change.places, change.names


def told_to(learner: Learner, change: Change) -> tuple[Decision | None, Any]:
    """The decision and what is told of it, or the examples, as the learner takes them.

    A learner with a vectorizer of its own takes records; others take the rows made of them.
    """
    decision, told = change.decision, change.told
    if takes_records(learner) or change.type not in TELLING:
        return decision, told
    if isinstance(told, Lesson):
        where = change.places
        if told.by_itself:  # its decision may be of other settings, and the places are not of that
            if isinstance(told.context, Encoded):
                told = replace(told, context=as_context(told.context, columns_of(told.context, where)))
            return None, told
        if decision is not None and isinstance(decision.context, Encoded):
            told = replace(told, answer=by_position(told.answer, decision.context))
            decision = on_columns(learner, decision, columns_of(decision.context, where))
        return decision, told
    if change.type == "taught":
        given = zip(told, change.places or [None] * len(told), strict=True)
        return decision, [example(context, answer, places) for (context, answer), places in given]
    if decision is None or not isinstance(decision.context, Encoded):
        return decision, told
    encoded = decision.context
    return on_columns(learner, decision, columns_of(encoded, change.places)), by_position(told, encoded)


def example(context: Any, answer: Any, places: Any) -> tuple[Any, Any]:
    """An example of a log as a learner of rows takes it."""
    if not isinstance(context, Encoded):
        return context, answer
    return as_context(context, columns_of(context, places)), by_position(answer, context)


def columns_of(encoded: Encoded, places: Any) -> NDArray[np.uint32]:
    """The columns of the new names of what was encoded, by the places that a log gives."""
    return encoded.columns_at(places_in(encoded, places))


def begin(learner: Learner, start: bytes | None) -> None:
    """Let a fresh learner begin with what the log says."""
    if start is not None:
        learner.start_from(starts.read(start, learner.start()))


class Begun(NamedTuple):
    """Where a key begins.

    Attributes
    ----------
    seq
        The event that says what it begins with; 0 if there is none yet, so that its next decision will.
    start
        What it begins with; None is nothing.
    """

    seq: int = 0
    start: bytes | None = None


def begun(events: Iterable[Event], again: Any) -> Begun:
    """Where a key begins, by its events in their order.

    Parameters
    ----------
    events
        The events of the key.
    again
        Says of a version whether a key that began then begins anew: what it began with was rolled back.
    """
    for event in events:
        if event.type == "decision":
            body = bodies.read_decision(event.body, event.seq)
            if not again(body.model_version):
                return Begun(event.seq, (body.shared or {}).get("start"))
        elif event.type == "taught":
            fields = bodies.read_fields(event.body, event.seq)
            if not again((event.made or 1) - 1):
                return Begun(event.seq, fields.get("start"))
        elif event.type == "imported" and not again((event.made or 1) - 1):
            return Begun(event.seq)
    return Begun()


def places_in(encoded: Encoded, places: Any) -> list[int]:
    """The places that a log gives to the new names of what was encoded."""
    ids = list((places or NOWHERE)[0])
    if len(ids) != len(encoded.names):
        raise InvalidRecord("a log does not say where the names of a record went", "give all of the log")
    return ids
