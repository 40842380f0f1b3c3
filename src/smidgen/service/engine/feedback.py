"""The feedback command: one answer in, one event written, one reply out.

`FeedbackHandler.handle` is the path of feedback on a decision, top to bottom: find the decision, parse the answer,
write the event, teach the learner, then the shadow and challenger of the model (`FollowerTrainer`). `ExpiryHandler` is
the same path for a decision whose window closed without feedback, in a model with a default reward, or with reports
that are learned together (`smidgen.service.engine.reports`).
"""

from __future__ import annotations

import logging
from typing import Any, Literal, NamedTuple

from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import NotTeachable, SmidgenError
from smidgen.features.state import Carried, Places
from smidgen.learners import Card, Feedback
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
from smidgen.service.loops.slots import check_slots
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

#: Seconds that other workers leave expired decisions to the owner of a shard.
PATIENCE_S = 0.5
#: Characters that are kept of a learner's refusal.
LONGEST = 500
#: The digest of feedback where there was none.
_SILENT = bytes(16)

_log = logging.getLogger("smidgen.service")


class Answer(NamedTuple):
    """The feedback of one request: all that was sent, and the one field of the loop in it."""

    decision: str
    given: dict[str, Any]
    reaction: dict[str, Any]
    digest: bytes
    open_until: float | None  # the end of the window, if the decision is in memory and has no feedback


class FeedbackHandler(CommandHandler):
    """Learns feedback on decisions: once, in time, if it is possible.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    closer
        Closes decisions, and teaches the shadow and challenger of a model.
    """

    def __init__(self, context: EngineContext, closer: DecisionCloser) -> None:
        super().__init__(context)
        self._closer = closer

    def handle(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision; the reply says why, if nothing was learned."""
        opened = self._open_decisions.get(name)
        if opened is not None and self._models.acquire(opened.model):
            opened = self._open_decisions.get(name)  # other workers may have changed its past
        given = body.given()
        answer = Answer(name, given, reaction_of(given), digest(given), None if opened is None else opened.expires_at)
        if opened is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_follower(name, row.beside)
            closed = row.feedback_seq is not None and row.reports is None and bool(answer.reaction)
            known = classify_repeat(row, answer.digest) if closed else None
            if known is not None and known != "conflict":
                return _to_reply(name, known, model.version, model)
            opened = self._closer.read(row, model)
            if known is not None and opened.rewards == FIRST:
                return _to_reply(name, known, model.version, model)
        elif not opened.model.is_visible_to(allowed):
            raise unknown_decision(name)
        refuse_follower(name, opened.beside)
        check_currencies(opened.model, given.get("costs") or {}, "costs", needed=False)
        if not given:
            raise Impossible("the feedback is empty", opened.model.blueprint.loop.accepted_feedback())
        reply = self._take(answer, opened)
        if given.get("costs") and reply.status in ("learnt", "recorded"):
            self._pass_costs(name, opened, given["costs"])
        return reply

    def _pass_costs(self, name: str, opened: OpenDecision, costs: dict[str, float]) -> None:
        """Report what a challenger's decision has cost to the budget of its champion."""
        leader = opened.model.leader
        if leader is None or leader.blueprint.terms.budget is None:
            return
        for row in self._store.follower_decisions(name):
            if row.shard == leader.shard_for(opened.key).shard:
                now, feedback = self._clock(), {"costs": costs}
                every = write_reports([*read_reports(row.reports), Report(digest(feedback), now, feedback)])
                content = codec.encode({"feedback": feedback})
                self._store.write_report(row.shard, NewReport(row.id, now, opened.key, content, every, False))

    def _take(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Take feedback that was checked, in the way that fits the decision."""
        if opened.rewards != FIRST or not answer.reaction or self._is_partial(answer, opened):
            return self._report(answer, opened)
        if opened.holdout:
            return self._record(answer, opened)
        if not opened.model.is_current(opened.seq):
            return self._learn_before_promotion(answer, opened)
        if opened.interleaved and not accepts_rankings(opened.model.blueprint.card):
            return self._count_only(answer, opened)
        return self._learn(answer, opened)

    def _is_partial(self, answer: Answer, opened: OpenDecision) -> bool:
        """Check whether feedback on a decision with slots is not all that was reported, or is not of all slots."""
        slots = opened.decision.slots
        if slots is None:
            return False
        row = self._store.decision(answer.decision)
        if row is not None and row.feedback_seq is not None and not row.reported:
            return False
        return (row is not None and row.reported) or not is_complete(
            FIRST, [Report(answer.digest, 0.0, answer.reaction)], slots
        )

    def _report(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Record a report, and learn what all of them come to if nothing more is to come."""
        model, now, name, reaction = opened.model, self._clock(), answer.decision, answer.reaction
        row = self._store.decision(name)
        if row is None:
            raise unknown_decision(name)
        reports, new = read_reports(row.reports), Report(answer.digest, now, answer.given)
        if is_repeat(reports, new) or (reaction and self._counts_again(opened, name, row)):
            return _to_reply(name, "duplicate", model.version, model)
        then = model.blueprint_at(opened.seq)
        slots = opened.decision.slots
        if reaction:
            _, value = then.loop.check_feedback(then.kind, then.card, reaction)
            if "rewards" in reaction:
                check_slots(slots, value)
        late = now > row.expires_at or (row.feedback_seq is not None and bool(reaction))
        known = reports if opened.rewards == FIRST or not late else []
        check_report(opened.rewards, then.terms, known, new, slots)
        if late:
            return self._report_late(answer, opened, row)
        every = [*reports, new]
        body = codec.encode({"feedback": answer.given})
        report = NewReport(name, now, opened.key, body, write_reports(every), bool(reaction))
        verdict = self._store.write_report(model.shard, report)
        if row.feedback_seq is None and has_rewards(every) and is_complete(opened.rewards, every, slots):
            verdict = self._closer.settle(opened, name, every, strict=True)
        status: WriteStatus = "learnt" if verdict.status == "learnt" else "recorded"
        return _to_reply(name, status, verdict.version, model)

    def _counts_again(self, opened: OpenDecision, name: str, row: DecisionRow) -> bool:
        """Check whether a rollback undid the retraction of what was learned of the decision."""
        if opened.holdout or row.feedback_seq is not None or not opened.model.is_current(opened.seq):
            return False
        learnt = self._learners.get(opened.model, opened.key).learner._learnt
        return opened.decision.number in learnt and restored_version(self._store, row.shard, name) is not None

    def _report_late(self, answer: Answer, opened: OpenDecision, row: DecisionRow) -> FeedbackReply:
        """Write the first reward that comes too late; of other reports only the status is returned."""
        if not answer.reaction or row.late_hash is not None or row.feedback_hash is not None:
            return _to_reply(answer.decision, "late", opened.model.version, opened.model)
        content = codec.FeedbackBody(answer.given, serialization.encode(None))
        verdict, _ = self._write(answer._replace(open_until=None), opened, ParsedFeedback(None), content)
        return self._finish(answer, opened, verdict)

    def _learn(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Write the event, then teach the learner; if it refuses, the write is undone."""
        model, key, blueprint = opened.model, opened.key, opened.model.blueprint
        held = self._learners.get(model, key)
        repeated = opened.decision.number in held.learner._learnt
        if repeated and restored_version(self._store, model.shard, answer.decision) is not None:
            return _to_reply(answer.decision, "duplicate", model.version, model)
        reaction = blueprint.loop.parse_feedback(
            blueprint.reader(held.learner), opened.decision, opened.ids, answer.reaction
        )
        group = self._learners.shared_state(model)
        decision, encoded, more = self._learners.again(model, held, opened.decision, opened.names)
        places = group.places(decision) if group is not None else None
        kept, learn = _loggable(blueprint.loop, answer, reaction), serialization.encode(reaction.learn)
        content = codec.FeedbackBody(kept, learn, places, row=encoded, names=list(more) or None)
        verdict, at = self._write(answer, opened, reaction, content)
        if verdict.status == "learnt" and verdict.seq is not None:
            names = [*opened.names, *more]
            change = LearningEvent("feedback", held.learner.adopt(decision), reaction.learn, places, names)
            self._learners.learn(model, key, held, change)
            self._learners.after_change(model, key, held, verdict.seq)
            crash_point("learnt")
            self._train_followers(answer, opened, at)
        return self._finish(answer, opened, verdict)

    def _record(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Write feedback on a decision of the holdout: it is measured, and no learner learns from it."""
        then = opened.model.blueprint_at(opened.seq)
        reaction = then.loop.parse_feedback(
            then.reader(then.learner(opened.key)), opened.decision, opened.ids, answer.reaction
        )
        content = codec.FeedbackBody(_loggable(then.loop, answer, reaction), serialization.encode(None))
        verdict, _ = self._write(answer, opened, reaction, content, recorded=True)
        return self._finish(answer, opened, verdict)

    def _count_only(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Write feedback on a page of two rankings whose learner needs a list that it drew itself: others learn."""
        model, key, blueprint = opened.model, opened.key, opened.model.blueprint
        if restored_version(self._store, model.shard, answer.decision) is not None:
            return _to_reply(answer.decision, "duplicate", model.version, model)
        held, nothing = self._learners.get(model, key), TrainingSignal(None)
        reaction = blueprint.loop.parse_feedback(
            blueprint.reader(held.learner), opened.decision, opened.ids, answer.reaction
        )
        content = codec.FeedbackBody(_loggable(blueprint.loop, answer, reaction), serialization.encode(nothing))
        verdict, at = self._write(answer, opened, reaction, content)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.learn(model, key, held, LearningEvent("feedback", None, nothing))
            self._learners.after_change(model, key, held, verdict.seq)
            crash_point("learnt")
            self._train_followers(answer, opened, at)
        return self._finish(answer, opened, verdict)

    def _learn_before_promotion(self, answer: Answer, opened: OpenDecision) -> FeedbackReply:
        """Learn feedback on a decision that earlier settings of the model made: the present learner is taught it."""
        model, key, then = opened.model, opened.key, opened.model.blueprint_at(opened.seq)
        reaction = then.loop.parse_feedback(
            then.reader(then.learner(key)), opened.decision, opened.ids, answer.reaction
        )
        ((field, value),) = answer.reaction.items()
        late = self._clock() > opened.expires_at
        learn, places = reaction.learn, None
        if not late:
            learn, places = self._closer.before_promotion.teach(opened, answer.decision, field, value)
        kept = _loggable(then.loop, answer, reaction)
        content = codec.FeedbackBody(kept, serialization.encode(learn), places)
        verdict, at = self._write(answer._replace(open_until=None), opened, reaction, content)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, key, self._learners.get(model, key), verdict.seq)
            self._train_followers(answer, opened, at)
        elif not late:
            self._learners.evict(model, key)
        return self._finish(answer, opened, verdict)

    def _write(
        self,
        answer: Answer,
        opened: OpenDecision,
        reaction: ParsedFeedback,
        content: codec.FeedbackBody,
        *,
        recorded: bool = False,
    ) -> tuple[WriteResult, float]:
        """Write the event of the feedback; the result, and the time of the event.

        A page of two rankings says nothing of the quality of either alone: it has no figure.
        """
        if opened.interleaved:
            reaction = reaction._replace(measure=None, position=None)
        row = NewFeedback(
            answer.decision,
            self._clock(),
            opened.key,
            answer.digest,
            reaction.measure,
            reaction.position,
            codec.encode(content),
            answer.open_until,
            recorded,
        )
        (verdict,) = self._store.write_feedback(opened.model.shard, [row])
        return verdict, row.at

    def _train_followers(self, answer: Answer, opened: OpenDecision, at: float) -> None:
        ((field, value),) = answer.reaction.items()
        self._closer.followers.train(opened, answer.decision, field, value, answer.digest, at)

    def _finish(self, answer: Answer, opened: OpenDecision, verdict: WriteResult) -> FeedbackReply:
        self._open_decisions.drop(answer.decision)
        return _to_reply(answer.decision, verdict.status, verdict.version, opened.model)

    def mark_shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision that was requested ahead of time count, if its window is open; a repeat changes nothing."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_follower(name, row.beside)
        counted = self._store.mark_shown(row.shard, row.id, self._clock(), self._log.key(model, row.seq))
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")


def _loggable(loop: Loop, answer: Answer, reaction: ParsedFeedback) -> dict[str, Any]:
    """Feedback as the log keeps it: the loop's own field as the loop wants it, and the fields of every loop."""
    common = {name: value for name, value in answer.given.items() if name not in answer.reaction}
    return loop.loggable_feedback(answer.reaction, reaction) | common


def _to_reply(name: str, status: WriteStatus, version: int, model: ServedModel) -> FeedbackReply:
    if status == "conflict":
        raise Conflict(
            f"decision {name} already has other feedback", "send feedback once per decision; the first one counts"
        )
    if status == "unknown":
        raise unknown_decision(name)
    known: Literal["learnt", "recorded", "duplicate", "late"] = status
    return FeedbackReply(status=known, model_version=version, shard=model.shard_in_reply)


class Closing(NamedTuple):
    """The reward that closes a decision, the field of its event that has it, and whether reports come to it."""

    field: str
    reward: float | dict[str, float] | None
    settled: bool = False

    @property
    def taught(self) -> str:
        """The field of feedback that says the same."""
        return "rewards" if isinstance(self.reward, dict) else "reward"

    @property
    def type(self) -> str:
        """The type of its event."""
        return "settled" if self.settled else "expired"

    def reaction(self, loop: Loop) -> ParsedFeedback:
        """The reward as the learner takes it."""
        if self.reward is None or not self.settled:
            return loop.default_feedback()
        return loop.parse_rewards(self.reward) if isinstance(self.reward, dict) else loop.parse_reward(self.reward)


class DecisionCloser(CommandHandler):
    """Closes decisions with a reward that no single feedback gave: the default, or what reports come to.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    followers
        Teaches the shadow and challenger of a model.
    """

    def __init__(self, context: EngineContext, followers: FollowerTrainer) -> None:
        super().__init__(context)
        self.followers = followers
        self.before_promotion = followers.before_promotion

    def read(self, row: DecisionRow, model: ServedModel) -> OpenDecision:
        """Read a decision that is not in memory."""
        decided = self._log.decision(model, row.seq)
        return OpenDecision(
            model,
            row.seq,
            decided.key,
            row.expires_at,
            decided.decision,
            decided.ids,
            names=decided.names,
            holdout=decided.holdout,
            rewards=decided.rewards,
            interleaved=decided.teams is not None,
        )

    def settle(self, opened: OpenDecision, id: str, reports: list[Report], *, strict: bool = False) -> WriteResult:
        """Learn the one reward that the reports on a decision come to."""
        reward = combined_reward(opened.rewards, opened.model.blueprint.terms, reports, opened.decision.slots)
        field = "rewards" if isinstance(reward, dict) else "reward"
        return self.close(opened, id, Closing(field, reward, settled=True), strict=strict)

    def close(self, opened: OpenDecision, id: str, closing: Closing, *, strict: bool = False) -> WriteResult:
        """Learn a reward, as an event of the log.

        If the learner refuses, an event says so: the decision is closed, in its turn, and not tried again. With
        ``strict`` the refusal is raised instead.
        """
        model, given = opened.model, {closing.field: closing.reward}
        if opened.holdout:
            unlearned = codec.FeedbackBody(given, serialization.encode(None))
            return self._write(opened, id, closing, unlearned, closing.reaction(model.blueprint.loop), refused=True)[0]
        held = self._learners.get(model, opened.key)
        self._learners.shared_state(model)
        self._learners.before_change(model, opened.key)
        try:
            reaction = closing.reaction(model.blueprint.loop)
            body = self._learn(opened, id, held, closing, reaction.learn)
        except (StorageFailed, Taken, OSError, MemoryError):
            raise
        except Exception as error:  # a plugin's learner may refuse with an error of its own, or stop half-way
            if strict:
                raise
            _log.warning("the expired decision %s was not learned: %s", id, error)
            problem = error.problem if isinstance(error, SmidgenError) else repr(error)
            if not isinstance(error, SmidgenError):
                self._learners.evict(model, opened.key)
            refusal = codec.FeedbackBody(given, serialization.encode(None), problem=problem[:LONGEST])
            return self._write(opened, id, closing, refusal, None, refused=True)[0]
        verdict, at = self._write(opened, id, closing, structs.replace(body, feedback=given), reaction)
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.after_change(model, opened.key, held, verdict.seq)
            crash_point("silence-learnt")
            self.followers.train(opened, id, closing.taught, closing.reward, _SILENT, at)
        else:
            self._learners.evict(model, opened.key)
        return verdict

    def _learn(
        self, opened: OpenDecision, id: str, held: CachedLearner, closing: Closing, learn: Any
    ) -> codec.FeedbackBody:
        """Teach the learner the reward; the body of the event."""
        model = opened.model
        if not model.is_current(opened.seq):
            lesson, places = self.before_promotion.teach(opened, id, closing.taught, closing.reward)
            return codec.FeedbackBody({}, serialization.encode(lesson), places)
        group = self._learners.shared_state(model)
        decision, row, more = self._learners.again(model, held, opened.decision, opened.names)
        places = group.places(decision) if group is not None else None
        change = LearningEvent(closing.type, held.learner.adopt(decision), learn, places, [*opened.names, *more])
        self._learners.learn(model, opened.key, held, change)
        return codec.FeedbackBody({}, serialization.encode(learn), places, row=row, names=list(more) or None)

    def _write(
        self,
        opened: OpenDecision,
        id: str,
        closing: Closing,
        content: codec.FeedbackBody,
        reaction: ParsedFeedback | None,
        *,
        refused: bool = False,
    ) -> tuple[WriteResult, float]:
        """Write that a decision is closed; the result, and the time of the event. What is refused teaches nothing."""
        measure, position = (None, None) if reaction is None else (reaction.measure, reaction.position)
        body = codec.encode(content)
        row = NewExpiry(id, self._clock(), opened.key, measure, position, body, refused, closing.settled)
        (verdict,) = self._store.write_expiries(opened.model.shard, [row])
        self._open_decisions.drop(id)
        return verdict, row.at


class ExpiryHandler(CommandHandler):
    """Closes decisions whose windows are over, in the order of their ends: with their reports, or the default reward.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    closer
        Closes each of them.
    """

    def __init__(self, context: EngineContext, closer: DecisionCloser) -> None:
        super().__init__(context)
        self._closer = closer

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
        """Learn what was reported, or the default reward, as an event of the log."""
        model = self._models.by_shard[row.shard]
        self._models.acquire(model)
        if self._store.shared:
            now = self._store.decision(row.id)
            if now is None or not now.is_due:
                return  # another worker has expired it, or it has feedback, or it was erased
            row = now
        opened = self._closer.read(row, model)
        if row.reported:
            self._closer.settle(opened, row.id, read_reports(row.reports))
        else:
            self._closer.close(opened, row.id, Closing("default_reward", model.blueprint.terms.default_reward))


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
        if (opened := self._open_decisions.get(row.id)) is not None:
            return opened.decision, opened.names
        decided = self._log.decision(other, row.seq)
        return decided.decision, decided.names


class TeacherBeforePromotion(CommandHandler):
    """Teaches the present learner of a model the outcome of decisions that its earlier settings made."""

    def teach(self, opened: OpenDecision, name: str, field: str, value: Any) -> tuple[TrainingSignal, Places | None]:
        """Teach the present learner, and return what it was taught, which is empty if it can learn nothing.

        The caller writes this lesson with the places of its new names; if it writes nothing, it evicts the learner
        (`LearnerCache.evict`).
        """
        model, key = opened.model, opened.key
        held, blueprint = self._learners.get(model, key), model.blueprint
        self._learners.before_change(model, key)
        own = self.readable_decision(model, opened.decision, opened.seq, opened, name)
        if own is None:
            return TrainingSignal(None), None
        own = self._learners.again(model, held, own).decision
        found = blueprint.loop.signal_for_follower(
            blueprint.reader(held.learner), own, opened.decision, opened.ids, field, value
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


def accepts_rankings(card: Card) -> bool:
    """Report whether a learner can learn a better ranking from a list that it did not draw."""
    return Feedback.BETTER in card.kinds and not card.draws


def as_standalone(found: TrainingSignal | None, own: Decision) -> TrainingSignal:
    """The lesson with its context; one as if something had been shown is taught if that was right, else not at all."""
    if found is None:
        return TrainingSignal(None)
    if found.shown is not None:
        right = found.answer is True or found.answer == 1.0
        return TrainingSignal(found.shown, context=own.context) if right else TrainingSignal(None)
    return TrainingSignal(found.answer, context=own.context if found.context is None else found.context)
