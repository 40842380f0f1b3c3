"""The feedback command, default rewards, and updates of shadow and challenger."""

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
from smidgen.service.engine.live_settings import FIRST
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import LearningEvent, restored_version
from smidgen.service.engine.reports import (
    Report,
    check_report,
    combined_reward,
    has_rewards,
    is_complete,
    is_repeat,
    read_reports,
    write_reports,
)
from smidgen.service.engine.spending import check_currencies
from smidgen.service.engine.stories import refuse_follower, unknown_decision
from smidgen.service.errors import Conflict, Impossible, StorageFailed, Taken
from smidgen.service.log import codec
from smidgen.service.loops.base import Loop, ParsedFeedback
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.schemas import FeedbackBody, FeedbackReply, ShownReply, digest, reaction_of
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import (
    DecisionRow,
    NewExpiry,
    NewFeedback,
    NewReport,
    WriteResult,
    WriteStatus,
    classify_repeat,
)

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


#: So much is kept of what a learner said when it refused.
LONGEST = 500
#: In the place of the digest of feedback, where there was none.
_SILENT = bytes(16)


class Closing(NamedTuple):
    """The reward that closes a decision, the field of its event that says so, and whether reports come to it."""

    field: str
    reward: float | None
    settled: bool = False

    def reaction(self, loop: Loop) -> ParsedFeedback:
        """The reward as the learner takes it."""
        return loop.default_feedback() if self.reward is None or not self.settled else loop.parse_reward(self.reward)


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

    def _open_decision(self, model: ServedModel, row: DecisionRow) -> OpenDecision:
        """The decision of a row, read from the log."""
        told = self._log.decision(model, row.seq)
        return OpenDecision(
            model,
            row.seq,
            told.key,
            row.expires_at,
            told.decision,
            told.ids,
            names=told.names,
            holdout=told.holdout,
            rewards=told.rewards,
        )

    def _close(self, made: OpenDecision, id: str, closing: Closing, *, strict: bool = False) -> WriteResult:
        """Close a decision with a reward that no single feedback gave, as an event of the log.

        What the learner refuses is written too: the decision is closed, in its turn, and not tried again. With
        ``strict`` the refusal is raised instead.
        """
        model, said = made.model, {closing.field: closing.reward}
        if made.holdout:
            reaction = closing.reaction(model.blueprint.loop)
            unlearned = codec.encode(codec.FeedbackBody(said, serialization.encode(None)))
            return self._write_closing(made, id, closing, unlearned, reaction, refused=True)
        held = self._learners.get(model, made.key)
        self._learners.shared_state(model)
        self._learners.before_change(model, made.key)
        try:
            reaction = closing.reaction(model.blueprint.loop)
            body = self._learn_reward(made, id, held, closing.reward, reaction.learn)
        except (StorageFailed, Taken, OSError, MemoryError):
            raise
        except Exception as error:  # a guest's learner may refuse in ways of its own, or stop half-way
            if strict:
                raise
            _log.warning("the decision %s was closed and not learned: %s", id, error)
            problem = error.problem if isinstance(error, SmidgenError) else repr(error)
            if not isinstance(error, SmidgenError):
                self._learners.evict(model, made.key)
            refusal = codec.encode(codec.FeedbackBody(said, serialization.encode(None), problem=problem[:LONGEST]))
            return self._write_closing(made, id, closing, refusal, None, refused=True)
        verdict = self._write_closing(made, id, closing, codec.encode(structs.replace(body, feedback=said)), reaction)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, made.key, held, verdict.seq)
            crash_point("silence-learnt")
            self._followers.train(made, id, "reward", closing.reward, _SILENT, self._clock())
        else:
            self._learners.evict(model, made.key)
        return verdict

    def _write_closing(
        self,
        made: OpenDecision,
        id: str,
        closing: Closing,
        body: bytes,
        reaction: ParsedFeedback | None,
        *,
        refused: bool = False,
    ) -> WriteResult:
        measure, position = (None, None) if reaction is None else (reaction.measure, reaction.position)
        row = NewExpiry(id, self._clock(), made.key, measure, position, body, refused, closing.settled)
        (verdict,) = self._store.write_expiries(made.model.shard, [row])
        self._open_decisions.drop(id)
        return verdict

    def _learn_reward(
        self, made: OpenDecision, id: str, held: CachedLearner, reward: float | None, learn: Any
    ) -> codec.FeedbackBody:
        """Let the learner of a decision take a reward: what its event says of that."""
        model = made.model
        if not model.is_current(made.seq):
            lesson, places = self._older.teach(made, id, "reward", reward)
            return codec.FeedbackBody({}, serialization.encode(lesson), places)
        group = self._learners.shared_state(model)
        decision, row, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        change = LearningEvent("feedback", held.learner.adopt(decision), learn, places, [*made.names, *more])
        self._learners.learn(model, made.key, held, change)
        return codec.FeedbackBody({}, serialization.encode(learn), places, row=row, names=list(more) or None)

    def _settle(self, made: OpenDecision, id: str, reports: list[Report], *, strict: bool = False) -> WriteResult:
        """Learn the one reward that the reports on a decision come to."""
        reward = combined_reward(made.rewards, made.model.blueprint.terms, reports)
        return self._close(made, id, Closing("reward", reward, settled=True), strict=strict)


# Feedback on decisions: learnt once, in time, if it is possible.


class FeedbackHandler(FeedbackBase):
    """The feedback on the decisions of all models."""

    def handle(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision, or say why it was not learnt."""
        made = self._open_decisions.get(name)
        if made is not None and self._models.acquire(made.model):
            made = self._open_decisions.get(name)  # others may have changed its past
        given, known_open = body.given(), None if made is None else made.expires_at
        hashed, reaction = digest(given), reaction_of(given)
        if made is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_follower(name, row.beside)
            closed = row.feedback_seq is not None and row.reports is None and bool(reaction)
            if closed and (known := classify_repeat(row, hashed)) is not None:
                return _to_reply(name, known, model.version, model)
            made = self._open_decision(model, row)
        elif not made.model.is_visible_to(allowed):
            raise unknown_decision(name)
        refuse_follower(name, made.beside)
        check_currencies(made.model, given.get("costs") or {}, "costs")
        if not given:
            raise Impossible("the feedback is empty", made.model.blueprint.loop.accepted_feedback())
        told = self._take(name, made, given, hashed, known_open)
        if given.get("costs") and told.status in ("learnt", "recorded"):
            self._pass_costs(name, made, given["costs"])
        return told

    def _pass_costs(self, name: str, made: OpenDecision, costs: dict[str, float]) -> None:
        """Report what a challenger's decision has cost to the budget of its champion."""
        leader = made.model.leader
        if leader is None or leader.blueprint.terms.budget is None:
            return
        for row in self._store.follower_decisions(name):
            if row.shard == leader.shard_for(made.key).shard:
                now, feedback = self._clock(), {"costs": costs}
                every = [*read_reports(row.reports), Report(digest(feedback), now, feedback)]
                content = codec.encode({"feedback": feedback})
                self._store.write_report(
                    row.shard, NewReport(row.id, now, made.key, content, write_reports(every), False)
                )

    def _take(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        if made.rewards != FIRST or not reaction_of(given):
            return self._report(name, made, given, hashed)
        if made.holdout:
            return self._record(name, made, given, hashed, known_open)
        return self._learn(name, made, given, hashed, known_open)

    def _report(self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes) -> FeedbackReply:
        """Record a report, and learn what all of them come to if nothing more is to come."""
        model, now, reaction = made.model, self._clock(), reaction_of(given)
        row = self._store.decision(name)
        if row is None:
            raise unknown_decision(name)
        reports, new = read_reports(row.reports), Report(hashed, now, given)
        if is_repeat(reports, new) or (reaction and self._counts_again(made, name, row)):
            return _to_reply(name, "duplicate", model.version, model)
        then = model.blueprint_at(made.seq)
        if reaction:
            then.loop.check_feedback(then.kind, then.card, reaction)
        check_report(made.rewards, then.terms, reports, new)
        if row.feedback_seq is not None and reaction:
            return self._report_late(name, made, row, given, hashed)
        if now > row.expires_at:
            return self._report_late(name, made, row, given, hashed) if reaction else self._late(name, model)
        every = [*reports, new]
        report = NewReport(name, now, made.key, codec.encode({"feedback": given}), write_reports(every), bool(reaction))
        verdict = self._store.write_report(model.shard, report)
        if row.feedback_seq is None and has_rewards(every) and is_complete(made.rewards, every):
            verdict = self._settle(made, name, every, strict=True)
        status: WriteStatus = "learnt" if verdict.status == "learnt" else "recorded"
        return _to_reply(name, status, verdict.version, model)

    def _counts_again(self, made: OpenDecision, name: str, row: DecisionRow) -> bool:
        """Check whether the decision was learned, retracted, and counts again since a rollback undid the retraction."""
        if made.holdout or row.feedback_seq is not None or not made.model.is_current(made.seq):
            return False
        learnt = self._learners.get(made.model, made.key).learner._learnt
        return made.decision.number in learnt and restored_version(self._store, row.shard, name) is not None

    def _report_late(
        self, name: str, made: OpenDecision, row: DecisionRow, given: dict[str, Any], hashed: bytes
    ) -> FeedbackReply:
        """Write the first report that comes too late; of others only the status is returned."""
        if row.late_hash is not None or row.feedback_hash is not None:
            return self._late(name, made.model)
        body = codec.encode(codec.FeedbackBody(given, serialization.encode(None)))
        late = NewFeedback(name, self._clock(), made.key, hashed, None, None, body)
        (verdict,) = self._store.write_feedback(made.model.shard, [late])
        self._open_decisions.drop(name)
        return _to_reply(name, verdict.status, verdict.version, made.model)

    def _late(self, name: str, model: ServedModel) -> FeedbackReply:
        return _to_reply(name, "late", model.version, model)

    def _record(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        """Record feedback on a decision of the holdout: it is measured, and no learner learns from it."""
        model, then = made.model, made.model.blueprint_at(made.seq)
        own = reaction_of(given)
        reaction = then.loop.parse_feedback(then.reader(then.learner(made.key)), made.decision, made.ids, own)
        content = codec.FeedbackBody(_loggable(then.loop, given, reaction), serialization.encode(None))
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
        blueprint, own = model.blueprint, reaction_of(given)
        reaction = blueprint.loop.parse_feedback(blueprint.reader(held.learner), made.decision, made.ids, own)
        group = self._learners.shared_state(model)
        decision, encoded, more = self._learners.again(model, held, made.decision, made.names)
        places = group.places(decision) if group is not None else None
        kept, learn = _loggable(blueprint.loop, given, reaction), serialization.encode(reaction.learn)
        content = codec.encode(codec.FeedbackBody(kept, learn, places, row=encoded, names=list(more) or None))
        row = NewFeedback(name, self._clock(), key, hashed, reaction.measure, reaction.position, content, known_open)
        (verdict,) = self._store.write_feedback(model.shard, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            names = [*made.names, *more]
            change = LearningEvent("feedback", held.learner.adopt(decision), reaction.learn, places, names)
            self._learners.learn(model, key, held, change)  # a refusal undoes what was written
            self._learners.after_change(model, key, held, verdict.seq)
            crash_point("learnt")
            ((field, value),) = own.items()
            self._followers.train(made, name, field, value, hashed, row.at)
        self._open_decisions.drop(name)
        return _to_reply(name, verdict.status, verdict.version, model)

    def _learn_before_promotion(
        self, name: str, made: OpenDecision, given: dict[str, Any], hashed: bytes
    ) -> FeedbackReply:
        """Learn feedback on a decision that earlier settings of the model made (before a promotion)."""
        model, key, now, then = made.model, made.key, self._clock(), made.model.blueprint_at(made.seq)
        own = reaction_of(given)
        reaction = then.loop.parse_feedback(then.reader(then.learner(key)), made.decision, made.ids, own)
        ((field, value),) = own.items()
        late = now > made.expires_at
        learn, places = (reaction.learn, None) if late else self._older.teach(made, name, field, value)
        kept = _loggable(then.loop, given, reaction)
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


def _loggable(loop: Loop, given: dict[str, Any], reaction: ParsedFeedback) -> dict[str, Any]:
    """What the log keeps of feedback: what the loop keeps of its own field, and what every loop has."""
    own = reaction_of(given)
    return loop.loggable_feedback(own, reaction) | {name: given[name] for name in given if name not in own}


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
        """Learn what silence is worth, or what was reported, as an event of the log."""
        model = self._models.by_shard[row.shard]
        self._models.acquire(model)
        if self._store.shared:
            now = self._store.decision(row.id)
            if now is None or not now.is_due:
                return  # others have learnt it, or answered it, or erased it
            row = now
        made = self._open_decision(model, row)
        if row.reported:
            self._settle(made, row.id, read_reports(row.reports))
        else:
            self._close(made, row.id, Closing("default_reward", model.blueprint.terms.default_reward))
