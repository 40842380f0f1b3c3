"""The log as the service speaks of it: what happened, in order, for good. Weights are a fold over it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import FOREIGN, SmidgenError
from smidgen.learners import Learner
from smidgen.service.engine.live_settings import FIRST
from smidgen.service.errors import LogDamaged, Retained
from smidgen.service.log import codec
from smidgen.service.log.checkpoint import Checkpoint
from smidgen.service.log.events import ANSWERS, DECIDED, ERASED, HELD_OUT, Event, stamp
from smidgen.service.schemas import Rewards
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.sqlite_schema import RESTORE

if TYPE_CHECKING:
    from smidgen.service.engine.model import ServedModel

Reply = dict[str, Any]
#: Maximum number of events that are read together at most: few enough that what is made of them does not burden the
#: collector.
SOME = 256
#: The bytes of their bodies, after which no more are read together.
MOST = 4 << 20
_KEPT = 64  # learners that read records back, by model and key


class DecisionEvent(NamedTuple):
    """A decision's event.

    Attributes
    ----------
    number
        The learner's own number of it.
    at
        When it was made.
    key
        Whose learner made it.
    reply
        The reply to the app.
    ids
        The candidates' ids, in the order of their features.
    decision
        The learner's own record, all that learning needs.
    shared
        Of a keyed model: what the key begins with, names of columns.
    beside
        The decision that was shown in its place, if another model made that.
    holdout
        Whether the policy of the holdout decided.
    """

    number: int
    at: float
    key: str | None
    reply: Reply
    ids: list[Any]
    decision: Decision
    shared: dict[str, Any] | None = None
    beside: str | None = None
    holdout: bool = False

    @property
    def rewards(self) -> Rewards:
        """Rule by which several reports on it become one reward."""
        found: Rewards = (self.shared or {}).get("rewards", FIRST)
        return found

    @property
    def teams(self) -> bytes | None:
        """Bits that mark the challenger's candidates, if the page mixes two rankings."""
        found: bytes | None = (self.shared or {}).get("teams")
        return found

    @property
    def names(self) -> list[tuple[int, str, int]]:
        """Names of columns that the event reports."""
        return codec.carried_names(self.shared, 0)


class FeedbackEvent(NamedTuple):
    """A feedback's event.

    Attributes
    ----------
    at
        When it came.
    feedback
        What the app sent.
    status
        ``"learnt"``, ``"recorded"`` or ``"late"``; of silence and of settled reports ``"learnt"`` or ``"refused"``.
    learn
        The feedback as the learner took it.
    model_version
        The model's version after it was learnt.
    places
        Where new names went.
    problem
        Why silence was refused.
    row, names
        The record as it was learnt, where that is not as it was decided on, and names that it tells.
    """

    at: float
    feedback: dict[str, Any]
    status: str
    learn: Any
    model_version: int | None
    places: tuple[list[int], list[int]] | None = None
    problem: str | None = None
    row: bytes | None = None
    names: Sequence[tuple[int, str, int]] = ()


class EventLog:
    """Events of models, decoded to the service's terms.

    Parameters
    ----------
    reading
        The store, or a view of it.
    """

    def __init__(self, reading: StoreReader) -> None:
        self.reading = reading
        self._learners: OrderedDict[tuple[int, str | None, int], Learner] = OrderedDict()

    def decision(self, model: ServedModel, seq: int) -> DecisionEvent:
        """A decision's event."""
        return self.decision_event(model, self._event(model, seq))

    def key(self, model: ServedModel, seq: int) -> str | None:
        """Key of the learner that an event is about."""
        return self._event(model, seq).key

    def evict(self, model: ServedModel, *key: str) -> None:
        """Keep nothing of a model, or of one of its keys, in memory."""
        for place in [each for each in self._learners if each[: 1 + len(key)] == (model.id, *key)]:
            del self._learners[place]

    def feedback(self, model: ServedModel, seq: int | None) -> FeedbackEvent | None:
        """Event of the feedback on a decision; None if there is none, or if retention has erased it.

        Retention keeps a decision that later events are about, for example late feedback after an expiry that is
        erased.
        """
        base = self.reading.checkpoint(model.shard)
        if seq is None or (base is not None and seq <= base.seq):
            return None
        return decode_feedback(self._event(model, seq))

    def record_of(self, model: ServedModel, event: Event) -> Decision:
        """The learner's own record of a decision."""
        return codec.decode_decision(
            self._learner(model, event), codec.read_decision(event.body, event.seq).record, event.seq
        )

    def decision_event(self, model: ServedModel, event: Event) -> DecisionEvent:
        """Decode the event of a decision, and make its reply again."""
        body = codec.read_decision(event.body, event.seq)
        decision = codec.decode_decision(self._learner(model, event), body.record, event.seq)
        ids, app_reply = list(body.ids), self.reply(model, event, body, decision)
        held_out = event.type == HELD_OUT
        return DecisionEvent(
            body.number, event.at, event.key, app_reply, ids, decision, body.shared, body.beside, held_out
        )

    def reply(self, model: ServedModel, event: Event, body: codec.DecisionBody, decision: Decision) -> Reply:
        """Make the reply to a decision again."""
        fields = reply(event.decision or "", model, body.model_version, decision, event.at + body.window_s)
        held_out = {"holdout": True} if event.type == HELD_OUT else {}
        return fields | model.blueprint_at(event.seq).loop.answer(decision, list(body.ids)) | held_out

    def decode_decisions(
        self, model: ServedModel, events: Sequence[Event]
    ) -> list[tuple[codec.DecisionBody, Decision]]:
        """The bodies and the records of decisions: many at once, sooner."""
        read = [codec.read_decision(event.body, event.seq) for event in events]
        found: list[Decision | None] = [None] * len(events)
        by_learner: dict[int, tuple[Learner, list[int]]] = {}
        for i, event in enumerate(events):
            learner = self._learner(model, event)
            by_learner.setdefault(id(learner), (learner, []))[1].append(i)
        for learner, some in by_learner.values():
            for i, decision in zip(some, learner.from_compact_many([read[i].record for i in some]), strict=True):
                found[i] = decision
        return [(body, decision) for body, decision in zip(read, found, strict=True) if decision is not None]

    def all_lines(self, model: ServedModel) -> Iterator[bytes]:
        """All events as lines of JSON; see `lines_after`."""
        return self.lines_after(model)

    def lines_after(self, model: ServedModel, after: int = 0) -> Iterator[bytes]:
        """The events after one as lines of JSON, read some at a time; a log that begins with a base starts with that.

        Raises `LogDamaged` where an event is missing, and `Retained` where retention erases events that are still to
        be read, in both cases after the lines of all events before it.
        """
        counts, checkpoint = self.reading.counts(model.shard), self.reading.checkpoint(model.shard)
        last = after
        if checkpoint is not None and after < checkpoint.seq:
            yield from self._checkpoint_lines(model, checkpoint)
            last = checkpoint.seq
        for event in self.all_events(model, last):
            if event.seq != last + 1:
                raise self.gap(model, last, event.seq)
            yield self.line(model, event)
            last = event.seq
        if counts is not None and last < counts.seq:
            raise self.gap(model, last, counts.seq + 1)

    def gap(self, model: ServedModel, last: int, next: int) -> SmidgenError:
        """The reason why the events between these two cannot be read."""
        checkpoint = self.reading.checkpoint(model.shard)
        if checkpoint is not None and checkpoint.seq > last:
            return Retained(
                f"retention erased the events {last + 1} to {checkpoint.seq} of {model.label} while they were read",
                "read the log again, from its start",
            )
        what = f"event {last + 1}" if next == last + 2 else f"the events {last + 1} to {next - 1}"
        return LogDamaged(f"{what} of {model.label} {'is' if next == last + 2 else 'are'} missing", RESTORE)

    def checkpoint_lines(self, model: ServedModel) -> Iterator[bytes]:
        """Lines of a retention checkpoint: the checkpoint, its states, and the decisions that it carries.

        Nothing, if there is no base.
        """
        checkpoint = self.reading.checkpoint(model.shard)
        return self._checkpoint_lines(model, checkpoint) if checkpoint is not None else iter(())

    def _checkpoint_lines(self, model: ServedModel, checkpoint: Checkpoint) -> Iterator[bytes]:
        carried, settings = (
            self.reading.carried_decisions(model.shard),
            codec.read_fields(checkpoint.body, checkpoint.seq),
        )
        head: dict[str, Any] = {
            "seq": checkpoint.seq,
            "type": "base",
            "decision": None,
            "key": None,
            "at": stamp(checkpoint.at),
        }
        head |= model.shard_suffix
        settings["amendments"] = [
            serialization.pack(codec.read_value(each, checkpoint.seq)) for each in settings.get("amendments", ())
        ]
        counts = {
            "version": checkpoint.version,
            "decisions": checkpoint.decisions,
            "late": checkpoint.late,
            "kept": len(carried),
        }
        yield msgspec.json.encode(head | settings | counts)
        for state in self.reading.checkpoint_states(model.shard):
            content = serialization.pack(np.frombuffer(state.state, np.uint8))
            more = {"type": "base_state", "key": state.key, "number": state.number, "learn": content}
            yield msgspec.json.encode(head | more)
        for kept in carried:
            event = self._event(model, kept.seq)
            yield self.line(model, event, self.status_before(event, checkpoint.seq))

    def status_before(self, event: Event, seq: int) -> str | None:
        """Status of a decision before an event."""
        row = self.reading.decision(event.decision or "")
        return row.status if row is not None and row.feedback_seq is not None and row.feedback_seq <= seq else None

    def all_events(self, model: ServedModel, after: int = 0) -> Iterator[Event]:
        """All events after one, read some at a time; all shards of a model at once take no more memory than one."""
        return self.events_of(model.shard, after, MOST // len(model.parts))

    def events_of(self, shard: int, after: int = 0, most: int = MOST) -> Iterator[Event]:
        """All events of a shard after one, read in chunks of a number of bytes."""
        for some in self.some_events(shard, after, most):
            yield from some

    def some_events(self, shard: int, after: int = 0, most: int = MOST) -> Iterator[list[Event]]:
        """Read events in chunks (`events_of`)."""
        while chunk := self.reading.events(shard, after, SOME, most):
            if chunk[-1].seq <= after:  # the index and the table contradict each other
                raise LogDamaged(f"event {chunk[-1].seq} follows event {after} in the log", RESTORE)
            yield chunk
            after = chunk[-1].seq

    def line(self, model: ServedModel, event: Event, status: str | None = None) -> bytes:
        """An event as a line of the log: its head, then what its body says.

        Of a decision that a base keeps, ``status`` is the outcome of it under the base.
        """
        try:
            head = {
                "seq": event.seq,
                "type": event.type,
                "decision": event.decision,
                "key": event.key,
                "at": stamp(event.at),
                **model.shard_suffix,
            }
            more = {"status": status} if status is not None else {}
            return msgspec.json.encode(head | self._fields(model, event) | more)
        except SmidgenError:
            raise
        except FOREIGN as error:
            raise LogDamaged(f"event {event.seq} of {model.label} cannot be read", RESTORE) from error

    def _fields(self, model: ServedModel, event: Event) -> dict[str, Any]:
        version = {"model_version": event.made} if event.made is not None else {}
        if event.type in DECIDED:
            decided = self.decision_event(model, event)
            record = msgspec.Raw(decided.decision.to_json())
            shared: dict[str, Any] = {} if decided.shared is None else {"shared": decided.shared}
            if decided.beside is not None:
                shared |= {"beside": decided.beside}
            return {"number": decided.number, "reply": decided.reply, "ids": decided.ids, "record": record, **shared}
        if event.type in ANSWERS:
            feedback = decode_feedback(event)
            return {
                "feedback": feedback.feedback,
                "status": feedback.status,
                "learn": serialization.pack(feedback.learn),
                "model_version": feedback.model_version,
                **({} if feedback.places is None else {"places": feedback.places}),
                **({} if feedback.problem is None else {"problem": feedback.problem}),
                **(
                    {}
                    if feedback.row is None
                    else {"row": serialization.pack(codec.read_value(feedback.row, event.seq))}
                ),
                **({} if not feedback.names else {"names": feedback.names}),
            }
        if event.type == ERASED and event.salt is None:
            return {"digest": (event.body or b"").hex()} | version
        fields = codec.read_fields(event.body, event.seq) | version
        if isinstance(fields.get("learn"), bytes):
            fields["learn"] = serialization.pack(codec.read_learner_input(event))
        if isinstance(fields.get("row"), bytes):
            fields["row"] = serialization.pack(codec.read_value(fields["row"], event.seq))
        if isinstance(fields.get("digest"), bytes):
            fields["digest"] = fields["digest"].hex()
        return fields

    def _event(self, model: ServedModel, seq: int) -> Event:
        event = self.reading.event(model.shard, seq)
        if event is None:
            raise LogDamaged(f"event {seq} of {model.label} is missing", RESTORE)
        return event

    def _learner(self, model: ServedModel, event: Event) -> Learner:
        """A learner with the settings of the one that decided."""
        place = (model.id, event.key, model.epoch_of(event.seq))
        if (found := self._learners.get(place)) is None:
            found = self._learners[place] = model.blueprint_at(event.seq).learner(event.key)
            if len(self._learners) > _KEPT:
                self._learners.popitem(last=False)
        return found


def reply(name: str, model: ServedModel, version: int, decision: Decision, expires_at: float) -> Reply:
    """Make the fields of a reply that every decision has; the loop adds its own."""
    return {
        "decision": name,
        "model": model.name,
        **model.shard_suffix,
        "model_version": version,
        "explored": decision.explored,
        "propensity": decision.propensity,
        "expires_at": stamp(expires_at),
    }


def decode_feedback(event: Event) -> FeedbackEvent:
    """Decode the event of a feedback."""
    body = codec.read_feedback(event.body, event.seq)
    return _feedback_event(event, body, codec.read_value(body.learn, event.seq))


def decode_all_feedback(events: Sequence[Event]) -> list[FeedbackEvent]:
    """Decode many feedback events; faster than one by one."""
    read = [codec.read_feedback(event.body, event.seq) for event in events]
    return list(map(_feedback_event, events, read, serialization.decode_many([body.learn for body in read])))


def _feedback_event(event: Event, body: codec.FeedbackBody, learn: Any) -> FeedbackEvent:
    status = "learnt" if event.made is not None else "late" if event.type == "feedback" else "refused"
    if event.type == "settled" and event.made is None and body.problem is None:
        status = "recorded"
    status = event.type if event.type == "recorded" else status
    more = body.places, body.problem, body.row, body.names or ()
    return FeedbackEvent(event.at, body.feedback, status, learn, event.made, *more)
