"""One event of a log as a program reads it: a line of JSON, or an event of the store without that way."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.service.clock import stamp
from smidgen.service.messages import ModelBody
from smidgen.service.store.events import Event

_NOTHING = msgspec.Raw(b"null")


class Line(msgspec.Struct, kw_only=True, dict=True):
    """One event as the log says it; which fields there are depends on the type.

    Fields and types that this smidgen does not know are no fault: `more` has the fields.

    Attributes
    ----------
    seq, type, decision, key, at, slot
        The head of every event; ``written_at`` is its time where a line says it, `at` says it always; the slot, of a
        model that has several.
    format, model, resolved
        Of ``created`` and ``base``: the format of the log (None: from before it was fixed), the model's settings, and
        what was left open in them and settled then.
    number, reply, ids, record, beside
        Of ``decision``: see `smidgen.service.store.log.DecisionEvent`; the record is the learner's own.
    feedback, status, learn, model_version
        Of ``feedback`` and ``expired``: see `smidgen.service.store.log.Answered`. Other events that change weights have
        ``model_version`` too, and ``learn`` if a learner is told something.
    version
        Of ``rolled_back`` and ``retracted``: the version to go back to, and the one that is undone; of ``base`` that
        of the log's beginning.
    columns
        Of ``rolled_back`` and ``retracted``: whether names keep theirs (`smidgen.service.store.events.KEPT`).
    amendments, decisions, late
        Of ``base``: what a fresh learner must hear, and how many decisions and late answers lie under it.
    shared, places, names, start, group, hashed
        What keys share, where names of records went, and names of hashed features (`smidgen.service.store.bodies`).
    """

    seq: int
    type: str
    decision: str | None = None
    key: str | None = None
    written_at: str = msgspec.field(default="", name="at")
    slot: int | None = None
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
    decisions: int = 0
    late: int = 0
    shared: dict[str, Any] | None = None
    places: Any = None
    names: Sequence[Any] = ()
    start: str | None = None
    group: str | None = None
    hashed: Sequence[str] = ()

    @property
    def at(self) -> str:
        """When it happened."""
        event: Event | None = self.__dict__.get("its event")
        return self.written_at if event is None or self.written_at else stamp(event.at)

    @property
    def learnt(self) -> bool:
        """Whether this is feedback that was learnt."""
        return self.type == "feedback" and self.status == "learnt"

    @property
    def changes(self) -> bool:
        """Whether it changes weights."""
        return self.model_version is not None

    @property
    def more(self) -> dict[str, Any]:
        """The fields that a newer smidgen wrote and this one does not know."""
        fields = msgspec.json.decode(self.__dict__.get("its text", b"{}"))
        return {name: value for name, value in fields.items() if name not in self.__struct_encode_fields__}

    def made(self) -> Decision:
        """Of a decision: the learner's own record."""
        if "its decision" in self.__dict__:
            decision: Decision = self.__dict__["its decision"]
            return decision
        return Decision.from_json(bytes(self.record))

    def told(self) -> Any:
        """Of feedback: what the learner was told."""
        if "its feedback" in self.__dict__:
            return self.__dict__["its feedback"]
        try:
            return records.unpack(self.learn)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidRecord(f"event {self.seq} holds no feedback: {error}", "export the log again") from error


_lines = msgspec.json.Decoder(Line)


def parse(text: bytes, place: str) -> Line:
    """Read a line of the log; ``place`` is its name in refusals."""
    try:
        event = _lines.decode(text)
        event.__dict__["its text"] = text
        return event
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{place} is not an event: {error}", "export the log again: smidgen log export") from error


def as_bytes(said: str | bytes) -> bytes:
    """Bytes as an exported line has them, or as they are."""
    try:
        return said if isinstance(said, bytes) else base64.b64decode(said, validate=True)
    except ValueError as error:
        raise InvalidRecord(f"what keys share cannot be read: {error}", "export the log again") from error
