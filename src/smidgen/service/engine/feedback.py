"""The feedback command, default rewards, and updates of shadow and challenger."""

from __future__ import annotations

import logging
from typing import Any, Literal

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
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.schemas import FeedbackBody, FeedbackReply, ShownReply, digest
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import DecisionRow, NewExpiry, NewFeedback, WriteStatus, classify_repeat

# Feedback on decisions of earlier settings: the model that decides now did not make them, and is taught them.


class FeedbackBeforePromotion(CommandHandler):
    """Teaches models what came of decisions that they made before a promotion, or before its return."""

    def teach(self, made: OpenDecision, name: str, field: str, value: Any) -> tuple[TrainingSignal, Places | None]:
        """Teach the model's present learner, and say what it was taught; an empty lesson, if it can be taught nothing.

        What is written must be this lesson, with the places of its new names; if nothing comes to be written, the
        learner is to be left (`LearnerCache.evict`).
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


# What came of a decision, passed on: those who decided beside it are taught, each by an event of its own log.

_log = logging.getLogger("smidgen.service")


class FollowerTrainer(CommandHandler):
    """Teaches those who stand beside a model what came of its decisions, in the same command."""

    def __init__(self, whole: EngineContext) -> None:
        super().__init__(whole)
        self._older = FeedbackBeforePromotion(whole)

    def train(self, shown: OpenDecision, id: str, field: str, value: Any, hash: bytes, at: float) -> None:
        """Pass on what was learnt of a decision: the feedback that came, or the silence that was worth so much."""
        model = shown.model
        if model.leader is None and not model.followers:
            return
        for row in self._store.follower_decisions(id):
            other = self._models.by_shard[row.shard]
            if row.feedback_seq is None and other.archived_at is None:
                self._train_one(other, row, shown, (id, field, value, hash, at))

    def _train_one(
        self, other: ServedModel, row: DecisionRow, shown: OpenDecision, what: tuple[str, str, Any, bytes, float]
    ) -> None:
        id, field, value, hash, at = what
        (mine, names), present = self._own_decision(other, row), other.is_current(row.seq)
        own = mine if present else self._older.readable_decision(other, mine, row.seq, shown, id)
        if own is None:
            return
        held, blueprint = self._learners.get(other, shown.key), other.blueprint
        own, row_now, more = self._learners.again(other, held, own, names)
        lesson = blueprint.loop.signal_for_follower(
            blueprint.reader(held.learner), own, shown.decision, shown.ids, field, value
        )
        if lesson is not None and not present:
            lesson = as_standalone(lesson, own)
        if lesson is None or lesson.answer is None:
            return
        self._learners.before_change(other, shown.key)
        group = self._learners.shared_state(other)
        about = own.context if lesson.context is None else lesson.context
        places = group.places_of(about) if group is not None else None
        names, row_now, more = ([*names, *more], row_now, more) if present else ((), None, ())
        try:
            self._learners.learn(other, shown.key, held, LearningEvent("taught", own, lesson, places, names))
        except NotTeachable:
            return
        except (StorageFailed, OSError):
            raise
        except SmidgenError as error:
            _log.warning("model %s was not taught what came of decision %s: %s", other.name, id, error)
            return
        except Exception as error:  # a guest's learner may have stopped half-way
            self._learners.evict(other, shown.key)
            _log.warning("model %s was not taught what came of decision %s: %s", other.name, id, error)
            return
        where: dict[str, Any] = {} if places is None else {"places": places}
        where |= {} if row_now is None else {"row": row_now}
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
        """The decision that lies beside, and the names that it tells."""
        if (made := self._open_decisions.get(row.id)) is not None:
            return made.decision, made.names
        told = self._log.decision(other, row.seq)
        return told.decision, told.names


class FeedbackBase(CommandHandler):
    """Base of handlers that learn the outcome of a decision, in its model and in the model's followers.

    Parameters
    ----------
    whole
        What the commands work with.
    passing_on
        Teaches those who stand beside the model.
    """

    def __init__(self, whole: EngineContext, passing_on: FollowerTrainer) -> None:
        super().__init__(whole)
        self._older = FeedbackBeforePromotion(whole)
        self._followers = passing_on


# Feedback on decisions: learnt once, in time, if it is possible.


class FeedbackHandler(FeedbackBase):
    """The feedback on the decisions of all models."""

    def handle(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision, or say why it was not learnt."""
        made = self._open_decisions.get(name)
        if made is not None and self._models.acquire(made.model):
            made = self._open_decisions.get(name)  # others may have changed its past
        given, known_open = body.given(), None if made is None else made.expires_at
        hashed = digest(given)
        if made is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_follower(name, row.beside)
            if row.feedback_seq is not None and (known := classify_repeat(row, hashed)) is not None:
                return _to_reply(name, known, model.version, model)
            told = self._log.decision(model, row.seq)
            made = OpenDecision(
                model,
                row.seq,
                told.key,
                row.expires_at,
                told.decision,
                told.ids,
                names=told.names,
                holdout=told.holdout,
            )
        elif not made.model.is_visible_to(allowed):
            raise unknown_decision(name)
        refuse_follower(name, made.beside)
        if made.holdout:
            return self._record(name, made, given, hashed, known_open)
        return self._learn(name, made, given, hashed, known_open)

    def _record(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        """Record feedback on a decision of the holdout: it is measured, and no learner learns from it."""
        model, then = made.model, made.model.blueprint_at(made.seq)
        reaction = then.loop.parse_feedback(then.reader(then.learner(made.key)), made.decision, made.ids, given)
        content = codec.FeedbackBody(then.loop.loggable_feedback(given, reaction), serialization.encode(None))
        row = NewFeedback(
            name,
            self._clock(),
            made.key,
            hashed,
            reaction.measure,
            reaction.position,
            codec.encode(content),
            known_open,
            recorded=True,
        )
        (verdict,) = self._store.write_feedback(model.shard, [row])
        self._open_decisions.drop(name)
        return _to_reply(name, verdict.status, verdict.version, model)

    def mark_shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count that was asked for ahead, if its window is open; once is enough, and twice no harm."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_follower(name, row.beside)
        counted = self._store.mark_shown(row.shard, row.id, self._clock(), self._log.key(model, row.seq))
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")

    def _learn(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        model, key = made.model, made.key
        if not model.is_current(made.seq):
            return self._learn_before_promotion(name, made, given, hashed)
        held = self._learners.get(model, key)
        if (
            made.decision.number in held.learner._learnt
            and restored_version(self._store, model.shard, name) is not None
        ):
            return _to_reply(name, "duplicate", model.version, model)
        blueprint = model.blueprint
        reaction = blueprint.loop.parse_feedback(blueprint.reader(held.learner), made.decision, made.ids, given)
        group = self._learners.shared_state(model)
        decision, encoded, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        kept, learn = blueprint.loop.loggable_feedback(given, reaction), serialization.encode(reaction.learn)
        content = codec.encode(codec.FeedbackBody(kept, learn, places, row=encoded, names=list(more) or None))
        row = NewFeedback(name, self._clock(), key, hashed, reaction.measure, reaction.position, content, known_open)
        (verdict,) = self._store.write_feedback(model.shard, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            names = [*made.names, *more]
            change = LearningEvent("feedback", held.learner.adopt(decision), reaction.learn, places, names)
            self._learners.learn(model, key, held, change)  # a refusal undoes what was written
            self._learners.after_change(model, key, held, verdict.seq)
            crash_point("learnt")
            ((field, value),) = given.items()
            self._followers.train(made, name, field, value, hashed, row.at)
        self._open_decisions.drop(name)
        return _to_reply(name, verdict.status, verdict.version, model)

    def _learn_before_promotion(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes
    ) -> FeedbackReply:
        """Learn feedback on a decision that earlier settings of the model made (before a promotion)."""
        model, key, now, then = made.model, made.key, self._clock(), made.model.blueprint_at(made.seq)
        reaction = then.loop.parse_feedback(then.reader(then.learner(key)), made.decision, made.ids, given)
        ((field, value),) = given.items()
        late = now > made.expires_at
        learn, places = (reaction.learn, None) if late else self._older.teach(made, name, field, value)
        kept = then.loop.loggable_feedback(given, reaction)
        content = codec.encode(codec.FeedbackBody(kept, serialization.encode(learn), places))
        row = NewFeedback(name, now, key, hashed, reaction.measure, reaction.position, content)
        (verdict,) = self._store.write_feedback(model.shard, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, key, self._learners.get(model, key), verdict.seq)
            self._followers.train(made, name, field, value, hashed, now)
        elif not late:
            self._learners.evict(model, key)
        self._open_decisions.drop(name)
        return _to_reply(name, verdict.status, verdict.version, model)


def _to_reply(name: str, status: WriteStatus, version: int, model: ServedModel) -> FeedbackReply:
    if status == "conflict":
        raise Conflict(
            f"decision {name} already has other feedback", "send feedback once per decision; the first one counts"
        )
    if status == "unknown":
        raise unknown_decision(name)
    known: Literal["learnt", "recorded", "duplicate", "late"] = status
    return FeedbackReply(status=known, model_version=version, shard=model.shard_in_reply)


# Windows that close without feedback: what silence is worth is learnt, once, in the order in which they close.

#: How long others leave silence to the owner of a shard, in seconds.
PATIENCE_S = 0.5
#: So much is kept of what a learner said when it refused.
LONGEST = 500
#: In the place of the digest of feedback, where there was none.
_SILENT = bytes(16)


class ExpiryHandler(FeedbackBase):
    """The decisions of all models that nobody answered."""

    def due_decisions(self, limit: int) -> list[DecisionRow]:
        """Decisions whose windows are over and whose silence is to be learnt, in the order of their ends."""
        return self._store.due_decisions(self._clock(), limit)

    def expire_before(self, decision: str) -> None:
        """Learn the silence of a decision whose window is over, and of those of its shard that ended before it."""
        row, now = self._store.decision(decision), self._clock()
        if row is None or not row.is_due or row.expires_at >= now or row.shard not in self._models.by_shard:
            return
        end = row.expires_at, row.seq
        rows = self._store.due_decisions(now, limit=1 << 31)
        for each in [each for each in rows if each.shard == row.shard and (each.expires_at, each.seq) <= end]:
            self.handle(each)
            self._learners.unpin()

    def handle(self, row: DecisionRow) -> None:
        """Learn what silence is worth, as an event of the log.

        What the learner refuses is written too: the decision is closed, in its turn, and not tried again.
        """
        model = self._models.by_shard[row.shard]
        self._models.acquire(model)
        if self._store.shared and ((now := self._store.decision(row.id)) is None or not now.is_due):
            return  # others have learnt it, or answered it, or erased it
        told, worth = self._log.decision(model, row.seq), model.blueprint.terms.default_reward
        made = OpenDecision(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        said = {"default_reward": worth}
        if told.holdout:
            reaction = model.blueprint.loop.default_feedback()
            unlearned = codec.encode(codec.FeedbackBody(said, serialization.encode(None)))
            measure, position = reaction.measure, reaction.position
            closed = NewExpiry(row.id, self._clock(), told.key, measure, position, unlearned, refused=True)
            self._store.write_expiries(row.shard, [closed])
            self._open_decisions.drop(row.id)
            return
        held = self._learners.get(model, told.key)
        self._learners.shared_state(model)
        self._learners.before_change(model, told.key)
        try:
            body = self._learn(made, row.id, held)
        except (StorageFailed, Taken, OSError, MemoryError):
            raise
        except Exception as error:  # a guest's learner may refuse in ways of its own, or stop half-way
            _log.warning("the expired decision %s was not learned: %s", row.id, error)
            problem = error.problem if isinstance(error, SmidgenError) else repr(error)
            if not isinstance(error, SmidgenError):
                self._learners.evict(model, told.key)
            refusal = codec.encode(codec.FeedbackBody(said, serialization.encode(None), problem=problem[:LONGEST]))
            closed = NewExpiry(row.id, self._clock(), told.key, None, None, refusal, refused=True)
            self._store.write_expiries(row.shard, [closed])
            self._open_decisions.drop(row.id)
            return
        reaction = model.blueprint.loop.default_feedback()
        content = codec.encode(structs.replace(body, feedback=said))
        expiry = NewExpiry(row.id, self._clock(), told.key, reaction.measure, reaction.position, content)
        (verdict,) = self._store.write_expiries(row.shard, [expiry])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, told.key, held, verdict.seq)
            crash_point("silence-learnt")
            self._followers.train(made, row.id, "reward", worth, _SILENT, expiry.at)
        else:
            self._learners.evict(model, told.key)
        self._open_decisions.drop(row.id)

    def _learn(self, made: OpenDecision, id: str, held: CachedLearner) -> codec.FeedbackBody:
        """Let the learner of a decision take its silence: what its event says of that."""
        model = made.model
        if not model.is_current(made.seq):
            learn, places = self._older.teach(made, id, "reward", model.blueprint.terms.default_reward)
            return codec.FeedbackBody({}, serialization.encode(learn), places)
        learn, group = model.blueprint.loop.default_feedback().learn, self._learners.shared_state(model)
        decision, row, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        change = LearningEvent("expired", held.learner.adopt(decision), learn, places, [*made.names, *more])
        self._learners.learn(model, made.key, held, change)
        return codec.FeedbackBody({}, serialization.encode(learn), places, row=row, names=list(more) or None)
