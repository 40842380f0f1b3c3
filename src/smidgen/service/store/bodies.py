"""What events say, in MessagePack: nothing twice, and nothing that can be worked out from the rest.

A decision's body is ``[number, model_version, window_s, ids, record, shared, beside]``; the reply is told anew from the
record. A feedback's body is ``[feedback, learn, places, problem]``, and so is that of silence; whether it was
learnt, and which version it made, stands in the envelope. All other bodies are maps, whose fields are those of the
exported line; what a learner is told is the field ``learn``, as `smidgen.records.encode` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.service.store.events import Event

_encode = msgspec.msgpack.Encoder().encode


class DecisionBody(msgspec.Struct, array_like=True):
    """The body of a decision's event.

    Attributes
    ----------
    number
        The learner's own number of it.
    model_version
        The model's version when it was made.
    window_s
        How long feedback is learnt.
    ids
        The candidates' ids, in the order of their features.
    record
        The learner's own record, all that learning needs.
    shared
        Of a keyed model, where there is something to say: ``start``, what the key begins with, and ``names``, of
        columns that it had not told before (`smidgen.features.memory.Carried`).
    beside
        The decision that was shown in its place, if another model made that.
    """

    number: int
    model_version: int
    window_s: float
    ids: Sequence[Any]
    record: bytes
    shared: dict[str, Any] | None = None
    beside: str | None = None


class FeedbackBody(msgspec.Struct, array_like=True):
    """The body of a feedback's event.

    Attributes
    ----------
    feedback
        What the app sent.
    learn
        What the learner was told.
    places
        Of a keyed model that takes records: where new names of the decision went (`smidgen.features.memory.Places`).
    problem
        Why the learner refused it, of silence that was not learnt.
    """

    feedback: dict[str, Any]
    learn: bytes
    places: tuple[list[int], list[int]] | None = None
    problem: str | None = None


_decisions = msgspec.msgpack.Decoder(DecisionBody)
_feedback = msgspec.msgpack.Decoder(FeedbackBody)


def write(body: Any) -> bytes:
    """A body as bytes."""
    return _encode(body)


def read_decision(body: bytes | None, seq: int) -> DecisionBody:
    """A decision's body."""
    try:
        return _decisions.decode(body or b"")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(seq, error) from error


def read_feedback(body: bytes | None, seq: int) -> FeedbackBody:
    """A feedback's body."""
    try:
        return _feedback.decode(body or b"")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(seq, error) from error


def read_fields(body: bytes | None, seq: int) -> dict[str, Any]:
    """The fields of any other body; one that is no map is one field."""
    if not body:
        return {}
    try:
        found = msgspec.msgpack.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(seq, error) from error
    return found if isinstance(found, dict) else {"body": found}


def read_told(event: Event) -> Any:
    """What a learner is told by an event that changes weights: of most types the field ``learn`` of its body."""
    if event.type in ("feedback", "expired"):
        return read_value(read_feedback(event.body, event.seq).learn, event.seq)
    content = read_fields(event.body, event.seq).get("learn")
    return read_value(content, event.seq) if isinstance(content, bytes) else None


def carried(shared: dict[str, Any] | None, seq: int) -> list[tuple[int, str, int]]:
    """The names that an event tells again."""
    if not shared or not (names := shared.get("names")):
        return []
    try:
        return msgspec.convert(names, list[tuple[int, str, int]])
    except msgspec.ValidationError as error:
        raise _unreadable(seq, error) from error


def recall(learner: Learner, record: bytes, seq: int) -> Decision:
    """The decision that the learner, or a twin of it, wrote with `Learner.brief`."""
    try:
        return learner.recall(record)
    except InvalidRecord as error:
        raise _unreadable(seq, error) from error


def read_value(content: bytes, seq: int) -> Any:
    """What a learner was told, as `smidgen.records.encode` wrote it."""
    try:
        return records.decode(content)
    except InvalidRecord as error:
        raise _unreadable(seq, error) from error


def read_answers(learner: Learner, answers: Sequence[tuple[Event, Event]]) -> list[tuple[Decision, FeedbackBody, Any]]:
    """The decisions of answers, the bodies of the answers, and what the learner was told: many at once, sooner."""
    heard = [read_feedback(event.body, event.seq) for event, _ in answers]
    decisions = learner.recall_many([read_decision(made.body, made.seq).record for _, made in answers])
    return list(zip(decisions, heard, records.decode_many([each.learn for each in heard]), strict=True))


def _unreadable(seq: int, error: BaseException) -> InvalidRecord:
    return InvalidRecord(f"event {seq} cannot be read: {error}", "restore the database from a backup")
