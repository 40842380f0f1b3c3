"""Event bodies as MessagePack, and events as lines of JSON.

What events say, in MessagePack: nothing twice, and nothing that can be worked out from the rest.

A decision's body is ``[number, model_version, window_s, ids, record, shared, beside]``; the reply is derived from the
record. A feedback's body is ``[feedback, learn, places, problem, row, names]``, and so are those of an expiry and of
settled reports; the envelope holds their status and the resulting version. All other bodies are maps, whose fields are
those of the exported line; the learner's input is the field ``learn``, as `smidgen.serialization.encode` writes it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.features import Encoded
from smidgen.learners import Learner
from smidgen.serialization import UNREADABLE
from smidgen.service.errors import Impossible
from smidgen.service.log.events import ANSWERED, Event, stamp
from smidgen.service.schemas import ModelBody

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
        In a keyed model, if present: ``start``, the initial state of the key, and ``names``, of columns that are new to
        the key (`smidgen.features.state.Carried`). In any model: ``request``, the caller's id of the request, and
        ``rewards``, how several reports on the decision become one reward, if not ``first``; of a page that mixes two
        rankings ``teams``, two bits for each candidate (`smidgen.service.loops.base.Loop.interleave`).
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
        Input of the learner.
    places
        Of a keyed model that takes records: where new names of the decision went (`smidgen.features.state.Places`).
    problem
        Reason why the learner refused it, for an expiry that was not learned.
    row
        The decision's record as it was learnt (`smidgen.features.Encoded`), if names or statistics that were learnt
        since the decision changed its rows; None: as it was decided on.
    names
        In a keyed model: names of columns of that row that are new to the key.
    """

    feedback: dict[str, Any]
    learn: bytes
    places: tuple[list[int], list[int]] | None = None
    problem: str | None = None
    row: bytes | None = None
    names: list[tuple[int, str, int]] | None = None


_decisions = msgspec.msgpack.Decoder(DecisionBody)
_feedback = msgspec.msgpack.Decoder(FeedbackBody)


def encode(body: Any) -> bytes:
    """A body as bytes."""
    try:
        return _encode(body)
    except OverflowError as error:
        raise Impossible(
            "the body holds a whole number of more than 64 bits", "send a smaller number, or a string"
        ) from error


def read_decision(body: bytes | None, seq: int) -> DecisionBody:
    """A decision's body."""
    try:
        return _decisions.decode(body or b"")
    except UNREADABLE as error:
        raise _unreadable(seq, error) from error


def read_feedback(body: bytes | None, seq: int) -> FeedbackBody:
    """A feedback's body."""
    try:
        return _feedback.decode(body or b"")
    except UNREADABLE as error:
        raise _unreadable(seq, error) from error


def read_fields(body: bytes | None, seq: int) -> dict[str, Any]:
    """The fields of any other body; one that is no map is one field."""
    if not body:
        return {}
    try:
        found = msgspec.msgpack.decode(body)
    except UNREADABLE as error:
        raise _unreadable(seq, error) from error
    return found if isinstance(found, dict) else {"body": found}


def read_learner_input(event: Event) -> Any:
    """Read the learner's input from an event that changes weights: of most types the field ``learn`` of its body."""
    if event.type in ANSWERED:
        return read_value(read_feedback(event.body, event.seq).learn, event.seq)
    content = read_fields(event.body, event.seq).get("learn")
    return read_value(content, event.seq) if isinstance(content, bytes) else None


def carried_names(shared: dict[str, Any] | None, seq: int) -> list[tuple[int, str, int]]:
    """Names of features that an event repeats."""
    if not shared or not (names := shared.get("names")):
        return []
    try:
        return msgspec.convert(names, list[tuple[int, str, int]])
    except msgspec.ValidationError as error:
        raise _unreadable(seq, error) from error


def as_learnt(decision: Decision, row: Any, seq: int) -> Decision:
    """A decision on a record with the rows that were learnt: those that an event says, else those that decided."""
    if not isinstance(decision.context, Encoded):
        return decision
    context = read_value(row, seq) if isinstance(row, bytes) else row
    if context is None:
        context = decision.context.settled()
    elif not isinstance(context, Encoded):
        raise _unreadable(seq, TypeError("its row is not an encoded record"))
    return decision if context is decision.context else structs.replace(decision, context=context)


def decode_decision(learner: Learner, record: bytes, seq: int) -> Decision:
    """The decision that the learner, or a twin of it, wrote with `Learner.to_compact`."""
    try:
        return learner.from_compact(record)
    except InvalidRecord as error:
        raise _unreadable(seq, error) from error


def read_value(content: bytes, seq: int) -> Any:
    """Read a learner's input as `smidgen.serialization.encode` wrote it."""
    try:
        return serialization.decode(content)
    except InvalidRecord as error:
        raise _unreadable(seq, error) from error


def read_answers(learner: Learner, answers: Sequence[tuple[Event, Event]]) -> list[tuple[Decision, FeedbackBody, Any]]:
    """The decisions of answers, the bodies of the answers, and the learner's input: many at once, faster."""
    bodies = [read_feedback(event.body, event.seq) for event, _ in answers]
    decisions = learner.from_compact_many([read_decision(made.body, made.seq).record for _, made in answers])
    decisions = [
        as_learnt(made, body.row, event.seq) for made, body, (event, _) in zip(decisions, bodies, answers, strict=True)
    ]
    return list(zip(decisions, bodies, serialization.decode_many([each.learn for each in bodies]), strict=True))


def _unreadable(seq: int, error: BaseException) -> InvalidRecord:
    return InvalidRecord(f"event {seq} cannot be read: {error}", "restore the database from a backup")


# One event of a log as a program reads it: a line of JSON, or an event of the store without that way.

_NOTHING = msgspec.Raw(b"null")


class EventLine(msgspec.Struct, kw_only=True, dict=True):
    """An event as a line of an exported log. Its fields depend on the type.

    Fields and types that this smidgen does not know are no fault: `more` has the fields.

    Attributes
    ----------
    seq, type, decision, key, at, shard
        The head of every event; ``written_at`` is its time where a line says it, `at` says it always; the shard, of a
        model that has several.
    format, model, resolved
        Of ``created`` and ``base``: the format of the log (None: from before it was fixed), the model's settings, and
        what was left open in them and settled then.
    number, reply, ids, record, beside
        Of ``decision``: see `smidgen.service.engine.log_reader.DecisionEvent`; the record is the learner's own.
    feedback, status, learn, model_version
        In ``feedback``, ``expired`` and ``settled``: see `smidgen.service.engine.log_reader.FeedbackEvent`. Others that
        change weights have ``model_version`` too, and ``learn`` if a learner receives something.
    version
        Of ``rolled_back`` and ``retracted``: the version to go back to, and the one that is undone; of ``base`` that
        of the log's beginning.
    columns
        Of ``rolled_back`` and ``retracted``: whether names keep theirs (`smidgen.service.log.events.KEPT`).
    token_id
        Of events that operators cause: the token by whose call they were written, if there was one.
    amendments, decisions, late
        In ``base``: the amendments for a fresh learner, and the numbers of decisions and late answers under it.
    amended
        Of ``amended``: the settings that changed, as they were sent (``changes`` on the line).
    row
        Of events that tell what came of a decision: its record as it was learnt, if that is not as it was decided on.
    shared, places, names, start, group, hashed
        What keys share, where names of records went, and names of hashed features (`smidgen.service.log.codec`).
    """

    seq: int
    type: str
    decision: str | None = None
    key: str | None = None
    written_at: str = msgspec.field(default="", name="at")
    shard: int | None = None
    format: str | None = None
    model: ModelBody | None = None
    resolved: dict[str, Any] | None = None
    number: int = 0
    reply: Mapping[str, Any] = msgspec.field(default_factory=dict)
    ids: Sequence[Any] = ()
    record: msgspec.Raw = _NOTHING
    beside: str | None = None
    feedback: dict[str, Any] = msgspec.field(default_factory=dict)
    status: str | None = None
    learn: Any = None
    model_version: int | None = None
    version: int = 0
    columns: str | None = None
    amendments: Sequence[Any] = ()
    amended: dict[str, Any] = msgspec.field(default_factory=dict, name="changes")
    decisions: int = 0
    late: int = 0
    shared: dict[str, Any] | None = None
    places: Any = None
    row: Any = None
    names: Sequence[Any] = ()
    start: str | None = None
    group: str | None = None
    hashed: Sequence[str] = ()
    token_id: str | None = None

    @property
    def at(self) -> str:
        """Time of the event."""
        event: Event | None = self.__dict__.get("its event")
        return self.written_at if event is None or self.written_at else stamp(event.at)

    @property
    def is_learnt(self) -> bool:
        """True if this is feedback that was learnt."""
        return self.type == "feedback" and self.status == "learnt"

    @property
    def changes(self) -> bool:
        """True if it changes weights."""
        return self.model_version is not None

    @property
    def unknown_fields(self) -> dict[str, Any]:
        """The fields that a newer smidgen wrote and this one does not know."""
        fields = msgspec.json.decode(self.__dict__.get("its text", b"{}"))
        return {name: value for name, value in fields.items() if name not in self.__struct_encode_fields__}

    def record_bytes(self) -> Decision:
        """Of a decision: the learner's own record."""
        if "its decision" in self.__dict__:
            decision: Decision = self.__dict__["its decision"]
            return decision
        return Decision.from_json(bytes(self.record))

    def learner_input(self) -> Any:
        """In feedback: the learner's input."""
        if "its feedback" in self.__dict__:
            return self.__dict__["its feedback"]
        try:
            return serialization.unpack(self.learn)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"event {self.seq} holds no feedback: {error}", "export the log again") from error

    def as_learnt(self, decision: Decision) -> Decision:
        """A decision with the rows that this event says were learnt."""
        try:
            row = self.row if self.row is None or isinstance(self.row, bytes) else serialization.unpack(self.row)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"event {self.seq} holds no row: {error}", "export the log again") from error
        return as_learnt(decision, row, self.seq)


_lines = msgspec.json.Decoder(EventLine)


def parse(text: bytes, place: str) -> EventLine:
    """Read a line of the log; ``place`` is its name in refusals."""
    try:
        event = _lines.decode(text)
        event.__dict__["its text"] = text
        return event
    except UNREADABLE as error:
        raise InvalidRecord(f"{place} is not an event: {error}", "export the log again: smidgen log export") from error


def as_bytes(said: str | bytes) -> bytes:
    """Bytes as an exported line has them, or as they are."""
    try:
        return said if isinstance(said, bytes) else base64.b64decode(said, validate=True)
    except ValueError as error:
        raise InvalidRecord(f"the shared state of keys cannot be read: {error}", "export the log again") from error
