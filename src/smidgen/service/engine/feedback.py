"""The feedback command, default rewards, and updates of shadow and challenger."""

from __future__ import annotations

import logging
from typing import Any, Literal

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import NotTeachable, SmidgenError
from smidgen.features.state import Carried, Places
from smidgen.service.engine.context import Commands, Whole
from smidgen.service.engine.learner_cache import Held, Made
from smidgen.service.engine.model import Served
from smidgen.service.engine.replay import Change, brought_back
from smidgen.service.engine.stories import refuse_beside, unknown
from smidgen.service.errors import Conflict, StorageFailed, Taken
from smidgen.service.log import codec
from smidgen.service.loops.evaluator import Lesson
from smidgen.service.schemas import FeedbackBody, FeedbackReply, ShownReply, digest
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.records import DecisionRow, Expiry, Told, Verdicts, again

# Feedback on decisions of earlier settings: the model that decides now did not make them, and is taught them.


class Older(Commands):
    """Teaches models what came of decisions that they made before a promotion, or before its return."""

    def taught(self, made: Made, name: str, field: str, value: Any) -> tuple[Lesson, Places | None]:
        """Teach the model's present learner, and say what it was taught; an empty lesson, if it can be taught nothing.

        What is written must be this lesson, with the places of its new names; if nothing comes to be written, the
        learner is to be left (`LearnerCache.leave`).
        """
        model, key = made.model, made.key
        held, blueprint = self._learners.get(model, key), model.blueprint
        self._learners.changing(model, key)
        own = self.own(model, made.decision, made.seq, made, name)
        if own is None:
            return Lesson(None), None
        found = blueprint.loop.heard(blueprint.reader(held.learner), own, made.decision, made.ids, field, value)
        lesson, group = by_itself(found, own), self._learners.group(model)
        places = group.places_of(lesson.context) if group is not None else None
        try:
            self._learners.learn(model, key, held, Change("feedback", None, lesson, places))
        except SmidgenError:  # it cannot be taught, or not this
            return Lesson(None), None
        return lesson, places

    def own(self, model: Served, mine: Decision, seq: int, shown: Made, id: str) -> Decision | None:
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
        if shown.model.name == source and shown.model.present(shown.seq):
            return shown.decision
        for row in self._store.beside(id):
            other = self._models.by_shard[row.shard]
            if other.name == source and other.present(row.seq):
                return self._log.decision(other, row.seq).decision
        return mine if model.blueprint.features is None and model.at(seq).features is None else None


def by_itself(found: Lesson | None, own: Decision) -> Lesson:
    """The lesson with its context; one as if something had been shown is taught if that was right, else not at all."""
    if found is None:
        return Lesson(None)
    if found.shown is not None:
        right = found.answer is True or found.answer == 1.0
        return Lesson(found.shown, context=own.context) if right else Lesson(None)
    return Lesson(found.answer, context=own.context if found.context is None else found.context)


# What came of a decision, passed on: those who decided beside it are taught, each by an event of its own log.

_log = logging.getLogger("smidgen.service")


class PassingOn(Commands):
    """Teaches those who stand beside a model what came of its decisions, in the same command."""

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole)
        self._older = Older(whole)

    def take(self, shown: Made, id: str, field: str, value: Any, hash: bytes, at: float) -> None:
        """Pass on what was learnt of a decision: the feedback that came, or the silence that was worth so much."""
        model = shown.model
        if model.leader is None and not model.followers:
            return
        for row in self._store.beside(id):
            other = self._models.by_shard[row.shard]
            if row.feedback_seq is None and other.archived_at is None:
                self._teach(other, row, shown, (id, field, value, hash, at))

    def _teach(self, other: Served, row: DecisionRow, shown: Made, what: tuple[str, str, Any, bytes, float]) -> None:
        id, field, value, hash, at = what
        (mine, names), present = self._own(other, row), other.present(row.seq)
        own = mine if present else self._older.own(other, mine, row.seq, shown, id)
        if own is None:
            return
        held, blueprint = self._learners.get(other, shown.key), other.blueprint
        lesson = blueprint.loop.heard(blueprint.reader(held.learner), own, shown.decision, shown.ids, field, value)
        if lesson is not None and not present:
            lesson = by_itself(lesson, own)
        if lesson is None or lesson.answer is None:
            return
        self._learners.changing(other, shown.key)
        group = self._learners.group(other)
        about = own.context if lesson.context is None else lesson.context
        places, names = group.places_of(about) if group is not None else None, names if present else ()
        try:
            self._learners.learn(other, shown.key, held, Change("taught", own, lesson, places, names))
        except NotTeachable:
            return
        except (StorageFailed, OSError):
            raise
        except SmidgenError as error:
            _log.warning("model %s was not taught what came of decision %s: %s", other.name, id, error)
            return
        except Exception as error:  # a guest's learner may have stopped half-way
            self._learners.leave(other, shown.key)
            _log.warning("model %s was not taught what came of decision %s: %s", other.name, id, error)
            return
        where = {} if places is None else {"places": places}
        content = codec.write({"source": id, "by": shown.model.name, "learn": serialization.encode(lesson), **where})
        verdict = self._store.taught(other.shard, Told(row.id, at, shown.key, hash, None, None, content))
        if verdict.seq is not None:
            self._learners.changed(other, shown.key, held, verdict.seq)
            reach("passed-on")
        self._recent.drop(row.id)

    def _own(self, other: Served, row: DecisionRow) -> tuple[Decision, Carried]:
        """The decision that lies beside, and the names that it tells."""
        if (made := self._recent.get(row.id)) is not None:
            return made.decision, made.names
        told = self._log.decision(other, row.seq)
        return told.decision, told.names


class Hearing(Commands):
    """What comes of decisions: learnt by the model that made them, and passed on to those who stand beside it.

    Parameters
    ----------
    whole
        What the commands work with.
    passing_on
        Teaches those who stand beside the model.
    """

    def __init__(self, whole: Whole, passing_on: PassingOn) -> None:
        super().__init__(whole)
        self._older = Older(whole)
        self._passing_on = passing_on


# Feedback on decisions: learnt once, in time, if it is possible.


class Answering(Hearing):
    """The feedback on the decisions of all models."""

    def take(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision, or say why it was not learnt."""
        made = self._recent.get(name)
        if made is not None and self._models.hold(made.model):
            made = self._recent.get(name)  # others may have changed its past
        given, known_open = body.given(), None if made is None else made.expires_at
        hashed = digest(given)
        if made is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_beside(name, row.beside)
            if row.feedback_seq is not None and (known := again(row, hashed)) is not None:
                return _told(name, known, model.version, model)
            told = self._log.decision(model, row.seq)
            made = Made(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        elif not made.model.seen_by(allowed):
            raise unknown(name)
        refuse_beside(name, made.beside)
        return self._learn(name, made, given, hashed, known_open)

    def shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count that was asked for ahead, if its window is open; once is enough, and twice no harm."""
        row, model = self._models.find(self._log, name, allowed)
        refuse_beside(name, row.beside)
        counted = self._store.shown(row.shard, row.id, self._clock(), self._log.key(model, row.seq))
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")

    def _learn(
        self, name: str, made: Made, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        model, key = made.model, made.key
        if not model.present(made.seq):
            return self._teach(name, made, given, hashed)
        held = self._learners.get(model, key)
        if made.decision.number in held.learner._learnt and brought_back(self._store, model.shard, name) is not None:
            return _told(name, "duplicate", model.version, model)
        blueprint = model.blueprint
        reaction = blueprint.loop.react(blueprint.reader(held.learner), made.decision, made.ids, given)
        group = self._learners.group(model)
        places = group.places(made.decision) if group is not None else None
        kept = blueprint.loop.kept(given, reaction)
        content = codec.write(codec.FeedbackBody(kept, serialization.encode(reaction.learn), places))
        row = Told(name, self._clock(), key, hashed, reaction.measure, reaction.position, content, known_open)
        (verdict,) = self._store.answered(model.shard, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            change = Change("feedback", held.learner.adopt(made.decision), reaction.learn, places, made.names)
            self._learners.learn(model, key, held, change)  # a refusal undoes what was written
            self._learners.changed(model, key, held, verdict.seq)
            reach("learnt")
            ((field, value),) = given.items()
            self._passing_on.take(made, name, field, value, hashed, row.at)
        self._recent.drop(name)
        return _told(name, verdict.status, verdict.version, model)

    def _teach(self, name: str, made: Made, given: dict[str, Any], hashed: bytes) -> FeedbackReply:
        """The same for a decision that the model made by other settings than its present ones."""
        model, key, now, then = made.model, made.key, self._clock(), made.model.at(made.seq)
        reaction = then.loop.react(then.reader(then.learner(key)), made.decision, made.ids, given)
        ((field, value),) = given.items()
        late = now > made.expires_at
        learn, places = (reaction.learn, None) if late else self._older.taught(made, name, field, value)
        kept = then.loop.kept(given, reaction)
        content = codec.write(codec.FeedbackBody(kept, serialization.encode(learn), places))
        row = Told(name, now, key, hashed, reaction.measure, reaction.position, content)
        (verdict,) = self._store.answered(model.shard, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.changed(model, key, self._learners.get(model, key), verdict.seq)
            self._passing_on.take(made, name, field, value, hashed, now)
        elif not late:
            self._learners.leave(model, key)
        self._recent.drop(name)
        return _told(name, verdict.status, verdict.version, model)


def _told(name: str, status: Verdicts, version: int, model: Served) -> FeedbackReply:
    if status == "conflict":
        raise Conflict(f"decision {name} has other feedback already", "the first answer counts")
    if status == "unknown":
        raise unknown(name)
    known: Literal["learnt", "duplicate", "late"] = status
    return FeedbackReply(status=known, model_version=version, shard=model.told_shard)


# Windows that close without feedback: what silence is worth is learnt, once, in the order in which they close.

#: How long others leave silence to the owner of a shard, in seconds.
PATIENCE_S = 0.5
#: So much is kept of what a learner said when it refused.
LONGEST = 500
#: In the place of the digest of feedback, where there was none.
_SILENT = bytes(16)


class Silences(Hearing):
    """The decisions of all models that nobody answered."""

    def due(self, limit: int) -> list[DecisionRow]:
        """Decisions whose windows are over and whose silence is to be learnt, in the order of their ends."""
        return self._store.due(self._clock(), limit)

    def before(self, decision: str) -> None:
        """Learn the silence of a decision whose window is over, and of those of its shard that ended before it."""
        row, now = self._store.decision(decision), self._clock()
        if row is None or not row.due or row.expires_at >= now or row.shard not in self._models.by_shard:
            return
        end = row.expires_at, row.seq
        rows = self._store.due(now, limit=1 << 31)
        for each in [each for each in rows if each.shard == row.shard and (each.expires_at, each.seq) <= end]:
            self.take(each)
            self._learners.unpin()

    def take(self, row: DecisionRow) -> None:
        """Learn what silence is worth, as an event of the log.

        What the learner refuses is written too: the decision is closed, in its turn, and not tried again.
        """
        model = self._models.by_shard[row.shard]
        self._models.hold(model)
        if self._store.shared and ((now := self._store.decision(row.id)) is None or not now.due):
            return  # others have learnt it, or answered it, or erased it
        told, worth = self._log.decision(model, row.seq), model.blueprint.terms.default_reward
        made = Made(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        held, said = self._learners.get(model, told.key), {"default_reward": worth}
        self._learners.group(model)
        self._learners.changing(model, told.key)
        try:
            learn, places = self._learn(made, row.id, held)
        except (StorageFailed, Taken, OSError, MemoryError):
            raise
        except Exception as error:  # a guest's learner may refuse in ways of its own, or stop half-way
            _log.warning("the silence after decision %s was not learnt: %s", row.id, error)
            problem = error.problem if isinstance(error, SmidgenError) else repr(error)
            if not isinstance(error, SmidgenError):
                self._learners.leave(model, told.key)
            body = codec.write(codec.FeedbackBody(said, serialization.encode(None), problem=problem[:LONGEST]))
            self._store.expired(row.shard, [Expiry(row.id, self._clock(), told.key, None, None, body, refused=True)])
            self._recent.drop(row.id)
            return
        reaction = model.blueprint.loop.unanswered()
        body = codec.write(codec.FeedbackBody(said, serialization.encode(learn), places))
        expiry = Expiry(row.id, self._clock(), told.key, reaction.measure, reaction.position, body)
        (verdict,) = self._store.expired(row.shard, [expiry])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.changed(model, told.key, held, verdict.seq)
            reach("silence-learnt")
            self._passing_on.take(made, row.id, "reward", worth, _SILENT, expiry.at)
        else:
            self._learners.leave(model, told.key)
        self._recent.drop(row.id)

    def _learn(self, made: Made, id: str, held: Held) -> tuple[Any, Places | None]:
        """Let the learner of a decision take its silence: what it was told, and where new names went."""
        model = made.model
        if not model.present(made.seq):
            return self._older.taught(made, id, "reward", model.blueprint.terms.default_reward)
        learn, group = model.blueprint.loop.unanswered().learn, self._learners.group(model)
        places = group.places(made.decision) if group is not None else None
        own = held.learner.adopt(made.decision)
        self._learners.learn(model, made.key, held, Change("expired", own, learn, places, made.names))
        return learn, places
