"""The feedback command: one answer in, one event written, one reply out.

`FeedbackHandler.handle` is the path of feedback on a decision, top to bottom: find the decision, parse the answer,
write the event, teach the learner, then the shadow and challenger of the model (`FollowerTrainer`). `ExpiryHandler` is
the same path for a decision whose window closed without feedback, in a model with a default reward.
"""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import NotTeachable, SmidgenError
from smidgen.features.state import Carried, Places
from smidgen.service.engine.context import CommandHandler, EngineContext
from smidgen.service.engine.learner_cache import CachedLearner, OpenDecision
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import LearningEvent, restored_version
from smidgen.service.engine.stories import refuse_follower, unknown_decision
from smidgen.service.errors import Conflict, StorageFailed, Taken
from smidgen.service.log import codec
from smidgen.service.loops.base import ParsedFeedback
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.schemas import FeedbackBody, FeedbackReply, ShownReply, digest
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import (
    DecisionRow,
    NewExpiry,
    NewFeedback,
    WriteResult,
    WriteStatus,
    classify_repeat,
)

#: Seconds that other workers leave expired decisions to the owner of a shard.
PATIENCE_S = 0.5
#: Characters that are kept of a learner's refusal.
LONGEST = 500
#: The digest of feedback where there was none.
_SILENT = bytes(16)

_log = logging.getLogger("smidgen.service")


class Answer(NamedTuple):
    """The feedback of one request."""

    decision: str
    given: dict[str, Any]
    digest: bytes
    open_until: float | None  # the end of the window, if the decision is in memory and has no feedback


class FeedbackHandler(CommandHandler):
    """Learns feedback on decisions: once, in time, if it is possible.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    followers
        Teaches the shadow and challenger of a model.
    """

    def __init__(self, context: EngineContext, followers: FollowerTrainer) -> None:
        super().__init__(context)
        self._followers = followers
        self._before_promotion = followers.before_promotion

    def handle(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision; the reply says why, if nothing was learned."""
        made = self._open_decisions.get(name)
        if made is not None and self._models.acquire(made.model):
            made = self._open_decisions.get(name)  # other workers may have changed its past
        given = body.given()
        answer = Answer(name, given, digest(given), None if made is None else made.expires_at)
        if made is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_follower(name, row.beside)
            if row.feedback_seq is not None and (known := classify_repeat(row, answer.digest)) is not None:
                return _to_reply(name, known, model.version, model)
            made = self._read(row, model)
        elif not made.model.is_visible_to(allowed):
            raise unknown_decision(name)
        refuse_follower(name, made.beside)
        if made.holdout:
            return self._record(answer, made)
        if not made.model.is_current(made.seq):
            return self._learn_before_promotion(answer, made)
        return self._learn(answer, made)

    def _read(self, row: DecisionRow, model: ServedModel) -> OpenDecision:
        """Read a decision that is not in memory."""
        told = self._log.decision(model, row.seq)
        return OpenDecision(
            model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names, holdout=told.holdout
        )

    def _learn(self, answer: Answer, made: OpenDecision) -> FeedbackReply:
        """Write the event, then teach the learner; if it refuses, the write is undone."""
        model, key, blueprint = made.model, made.key, made.model.blueprint
        held = self._learners.get(model, key)
        repeated = made.decision.number in held.learner._learnt
        if repeated and restored_version(self._store, model.shard, answer.decision) is not None:
            return _to_reply(answer.decision, "duplicate", model.version, model)
        reaction = blueprint.loop.parse_feedback(blueprint.reader(held.learner), made.decision, made.ids, answer.given)
        group = self._learners.shared_state(model)
        decision, encoded, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        kept, learn = blueprint.loop.loggable_feedback(answer.given, reaction), serialization.encode(reaction.learn)
        content = codec.FeedbackBody(kept, learn, places, row=encoded, names=list(more) or None)
        verdict, at = self._write(answer, made, reaction, content)
        if verdict.status == "learnt" and verdict.seq is not None:
            names = [*made.names, *more]
            change = LearningEvent("feedback", held.learner.adopt(decision), reaction.learn, places, names)
            self._learners.learn(model, key, held, change)
            self._learners.after_change(model, key, held, verdict.seq)
            crash_point("learnt")
            self._train_followers(answer, made, at)
        return self._finish(answer, made, verdict)

    def _record(self, answer: Answer, made: OpenDecision) -> FeedbackReply:
        """Write feedback on a decision of the holdout: it is measured, and no learner learns from it."""
        then = made.model.blueprint_at(made.seq)
        reaction = then.loop.parse_feedback(then.reader(then.learner(made.key)), made.decision, made.ids, answer.given)
        content = codec.FeedbackBody(then.loop.loggable_feedback(answer.given, reaction), serialization.encode(None))
        verdict, _ = self._write(answer, made, reaction, content, recorded=True)
        return self._finish(answer, made, verdict)

    def _learn_before_promotion(self, answer: Answer, made: OpenDecision) -> FeedbackReply:
        """Learn feedback on a decision that earlier settings of the model made: the present learner is taught it."""
        model, key, then = made.model, made.key, made.model.blueprint_at(made.seq)
        reaction = then.loop.parse_feedback(then.reader(then.learner(key)), made.decision, made.ids, answer.given)
        ((field, value),) = answer.given.items()
        late = self._clock() > made.expires_at
        learn, places = (
            (reaction.learn, None) if late else self._before_promotion.teach(made, answer.decision, field, value)
        )
        kept = then.loop.loggable_feedback(answer.given, reaction)
        content = codec.FeedbackBody(kept, serialization.encode(learn), places)
        verdict, at = self._write(answer._replace(open_until=None), made, reaction, content)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, key, self._learners.get(model, key), verdict.seq)
            self._train_followers(answer, made, at)
        elif not late:
            self._learners.evict(model, key)
        return self._finish(answer, made, verdict)

    def _write(
        self,
        answer: Answer,
        made: OpenDecision,
        reaction: ParsedFeedback,
        content: codec.FeedbackBody,
        *,
        recorded: bool = False,
    ) -> tuple[WriteResult, float]:
        """Write the event of the feedback; the result, and the time of the event."""
        row = NewFeedback(
            answer.decision,
            self._clock(),
            made.key,
            answer.digest,
            reaction.measure,
            reaction.position,
            codec.encode(content),
            answer.open_until,
            recorded,
        )
        (verdict,) = self._store.write_feedback(made.model.shard, [row])
        return verdict, row.at

    def _train_followers(self, answer: Answer, made: OpenDecision, at: float) -> None:
        ((field, value),) = answer.given.items()
        self._followers.train(made, answer.decision, field, value, answer.digest, at)

    def _finish(self, answer: Answer, made: OpenDecision, verdict: WriteResult) -> FeedbackReply:
        self._open_decisions.drop(answer.decision)
        return _to_reply(answer.decision, verdict.status, verdict.version, made.model)

    def mark_shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision that was requested ahead of time count, if its window is open; a repeat changes nothing."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_follower(name, row.beside)
        counted = self._store.mark_shown(row.shard, row.id, self._clock(), self._log.key(model, row.seq))
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")


def _to_reply(name: str, status: WriteStatus, version: int, model: ServedModel) -> FeedbackReply:
    if status == "conflict":
        raise Conflict(
            f"decision {name} already has other feedback", "send feedback once per decision; the first one counts"
        )
    if status == "unknown":
        raise unknown_decision(name)
    known: Literal["learnt", "recorded", "duplicate", "late"] = status
    return FeedbackReply(status=known, model_version=version, shard=model.shard_in_reply)


class ExpiryHandler(CommandHandler):
    """Learns the default reward of decisions whose windows closed without feedback, in the order of their ends.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    followers
        Teaches the shadow and challenger of a model.
    """

    def __init__(self, context: EngineContext, followers: FollowerTrainer) -> None:
        super().__init__(context)
        self._followers = followers
        self._before_promotion = followers.before_promotion

    def expire_before(self, decision: str) -> None:
        """Expire a decision whose window is over, and those of its shard that ended before it."""
        row, now = self._store.decision(decision), self._clock()
        if row is None or not row.is_due or row.expires_at >= now or row.shard not in self._models.by_shard:
            return
        end = row.expires_at, row.seq
        rows = self._store.due_decisions(now, limit=1 << 31)
        for each in [each for each in rows if each.shard == row.shard and (each.expires_at, each.seq) <= end]:
            self.handle(each)
            self._learners.unpin()

    def handle(self, row: DecisionRow) -> None:
        """Learn the default reward, as an event of the log.

        If the learner refuses, an event says so: the decision is closed, in its turn, and not tried again.
        """
        model = self._models.by_shard[row.shard]
        self._models.acquire(model)
        if self._store.shared and ((now := self._store.decision(row.id)) is None or not now.is_due):
            return  # another worker has expired it, or it has feedback, or it was erased
        told, reward = self._log.decision(model, row.seq), model.blueprint.terms.default_reward
        made = OpenDecision(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        said, reaction = {"default_reward": reward}, model.blueprint.loop.default_feedback()
        if told.holdout:
            self._close(row, made, codec.FeedbackBody(said, serialization.encode(None)), reaction, refused=True)
            return
        held = self._learners.get(model, told.key)
        self._learners.shared_state(model)
        self._learners.before_change(model, told.key)
        try:
            body = self._learn(made, row.id, held)
        except (StorageFailed, Taken, OSError, MemoryError):
            raise
        except Exception as error:  # a plugin's learner may refuse with an error of its own, or stop half-way
            _log.warning("the expired decision %s was not learned: %s", row.id, error)
            problem = error.problem if isinstance(error, SmidgenError) else repr(error)
            if not isinstance(error, SmidgenError):
                self._learners.evict(model, told.key)
            refusal = codec.FeedbackBody(said, serialization.encode(None), problem=problem[:LONGEST])
            self._close(row, made, refusal, None, refused=True)
            return
        verdict, at = self._close(row, made, structs.replace(body, feedback=said), reaction)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, told.key, held, verdict.seq)
            crash_point("silence-learnt")
            self._followers.train(made, row.id, "reward", reward, _SILENT, at)
        else:
            self._learners.evict(model, told.key)

    def _learn(self, made: OpenDecision, id: str, held: CachedLearner) -> codec.FeedbackBody:
        """Teach the learner the default reward; the body of the event."""
        model = made.model
        if not model.is_current(made.seq):
            default = model.blueprint.terms.default_reward
            learn, places = self._before_promotion.teach(made, id, "reward", default)
            return codec.FeedbackBody({}, serialization.encode(learn), places)
        learn, group = model.blueprint.loop.default_feedback().learn, self._learners.shared_state(model)
        decision, row, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        change = LearningEvent("expired", held.learner.adopt(decision), learn, places, [*made.names, *more])
        self._learners.learn(model, made.key, held, change)
        return codec.FeedbackBody({}, serialization.encode(learn), places, row=row, names=list(more) or None)

    def _close(
        self,
        row: DecisionRow,
        made: OpenDecision,
        content: codec.FeedbackBody,
        reaction: ParsedFeedback | None,
        *,
        refused: bool = False,
    ) -> tuple[WriteResult, float]:
        """Write that a window closed; the result, and the time of the event. What is refused teaches nothing."""
        measure, position = (None, None) if reaction is None else (reaction.measure, reaction.position)
        expiry = NewExpiry(row.id, self._clock(), made.key, measure, position, codec.encode(content), refused)
        (verdict,) = self._store.write_expiries(row.shard, [expiry])
        self._open_decisions.drop(row.id)
        return verdict, expiry.at


class FollowerTrainer(CommandHandler):
    """Teaches the shadow and challenger of a model the outcome of its decisions, in the same command.

    Each of them gets an event in its own log.
    """

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self.before_promotion = TeacherBeforePromotion(context)

    def train(self, shown: OpenDecision, id: str, field: str, value: Any, hash: bytes, at: float) -> None:
        """Teach every follower that made an own decision next to the one that was shown."""
        model = shown.model
        if model.leader is None and not model.followers:
            return
        for row in self._store.follower_decisions(id):
            other = self._models.by_shard[row.shard]
            if row.feedback_seq is None and other.archived_at is None:
                self._train_one(other, row, shown, (id, field, value, hash, at))

    def _train_one(
        self, other: ServedModel, row: DecisionRow, shown: OpenDecision, outcome: tuple[str, str, Any, bytes, float]
    ) -> None:
        id, field, value, hash, at = outcome
        (mine, names), is_current = self._own_decision(other, row), other.is_current(row.seq)
        own = mine if is_current else self.before_promotion.readable_decision(other, mine, row.seq, shown, id)
        if own is None:
            return
        held, blueprint = self._learners.get(other, shown.key), other.blueprint
        own, encoded, more = self._learners.again(other, held, own, names)
        lesson = blueprint.loop.signal_for_follower(
            blueprint.reader(held.learner), own, shown.decision, shown.ids, field, value
        )
        if lesson is not None and not is_current:
            lesson = as_standalone(lesson, own)
        if lesson is None or lesson.answer is None:
            return
        self._learners.before_change(other, shown.key)
        group = self._learners.shared_state(other)
        about = own.context if lesson.context is None else lesson.context
        places = group.places_of(about) if group is not None else None
        names, encoded, more = ([*names, *more], encoded, more) if is_current else ((), None, ())
        try:
            self._learners.learn(other, shown.key, held, LearningEvent("taught", own, lesson, places, names))
        except NotTeachable:
            return
        except (StorageFailed, OSError):
            raise
        except SmidgenError as error:
            _log.warning("model %s was not taught the outcome of decision %s: %s", other.name, id, error)
            return
        except Exception as error:  # a plugin's learner may have stopped half-way
            self._learners.evict(other, shown.key)
            _log.warning("model %s was not taught the outcome of decision %s: %s", other.name, id, error)
            return
        where: dict[str, Any] = {} if places is None else {"places": places}
        where |= {} if encoded is None else {"row": encoded}
        where |= {"names": list(more)} if more else {}
        content = codec.encode({"source": id, "by": shown.model.name, "learn": serialization.encode(lesson), **where})
        verdict = self._store.write_follower_update(
            other.shard, NewFeedback(row.id, at, shown.key, hash, None, None, content)
        )
        if verdict.seq is not None:
            self._learners.after_change(other, shown.key, held, verdict.seq)
            crash_point("passed-on")
        self._open_decisions.drop(row.id)

    def _own_decision(self, other: ServedModel, row: DecisionRow) -> tuple[Decision, Carried]:
        """A follower's own decision, and the names in its event."""
        if (made := self._open_decisions.get(row.id)) is not None:
            return made.decision, made.names
        told = self._log.decision(other, row.seq)
        return told.decision, told.names


class TeacherBeforePromotion(CommandHandler):
    """Teaches the present learner of a model the outcome of decisions that its earlier settings made."""

    def teach(self, made: OpenDecision, name: str, field: str, value: Any) -> tuple[TrainingSignal, Places | None]:
        """Teach the present learner, and return what it was taught, which is empty if it can learn nothing.

        The caller writes this lesson with the places of its new names; if it writes nothing, it evicts the learner
        (`LearnerCache.evict`).
        """
        model, key = made.model, made.key
        held, blueprint = self._learners.get(model, key), model.blueprint
        self._learners.before_change(model, key)
        own = self.readable_decision(model, made.decision, made.seq, made, name)
        if own is None:
            return TrainingSignal(None), None
        own = self._learners.again(model, held, own).decision
        found = blueprint.loop.signal_for_follower(
            blueprint.reader(held.learner), own, made.decision, made.ids, field, value
        )
        lesson, group = as_standalone(found, own), self._learners.shared_state(model)
        places = group.places_of(lesson.context) if group is not None else None
        try:
            self._learners.learn(model, key, held, LearningEvent("feedback", None, lesson, places))
        except SmidgenError:  # it cannot be taught, or not this
            return TrainingSignal(None), None
        return lesson, places

    def readable_decision(
        self, model: ServedModel, mine: Decision, seq: int, shown: OpenDecision, id: str
    ) -> Decision | None:
        """A decision on the same request whose context the present learner of a model can read.

        Parameters
        ----------
        model
            The model.
        mine, seq
            Its own decision, made by earlier settings, and the event of it.
        shown, id
            What was shown.
        """
        source = model.past[-1].source if model.past else None
        if shown.model.name == source and shown.model.is_current(shown.seq):
            return shown.decision
        for row in self._store.follower_decisions(id):
            other = self._models.by_shard[row.shard]
            if other.name == source and other.is_current(row.seq):
                return self._log.decision(other, row.seq).decision
        return mine if model.blueprint.features is None and model.blueprint_at(seq).features is None else None


def as_standalone(found: TrainingSignal | None, own: Decision) -> TrainingSignal:
    """The lesson with its context; one as if something had been shown is taught if that was right, else not at all."""
    if found is None:
        return TrainingSignal(None)
    if found.shown is not None:
        right = found.answer is True or found.answer == 1.0
        return TrainingSignal(found.shown, context=own.context) if right else TrainingSignal(None)
    return TrainingSignal(found.answer, context=own.context if found.context is None else found.context)
