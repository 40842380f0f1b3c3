"""Feedback on decisions: learnt once, in time, if it is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from smidgen import records
from smidgen.service.messages import FeedbackBody, FeedbackReply, digest
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.older import Older
from smidgen.service.models.passing_on import PassingOn
from smidgen.service.models.recent import Made, Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache
from smidgen.service.models.stories import refuse_beside, unknown
from smidgen.service.refusals import Conflict
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import Told, Verdicts, again


class Answers:
    """The feedback on the decisions of all models.

    Parameters
    ----------
    models, store, log, learners
        Whose decisions they are, where feedback is written, how decisions are read back, who learns.
    recent
        The decisions that wait for it in memory.
    passing_on
        Teaches those who stand beside the model.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        models: Registry,
        store: Store,
        log: EventLog,
        learners: LearnerCache,
        recent: Recent,
        passing_on: PassingOn,
        clock: Callable[[], float],
    ) -> None:
        self._passing_on = passing_on
        self._older = Older(models, store, log, learners)
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def take(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision, or say why it was not learnt."""
        made = self._recent.get(name)
        if made is not None and self._models.hold(made.model):
            made = self._recent.get(name)  # others may have changed its past
        hashed = digest(body)
        if made is None:
            row, model = self._models.find(self._log, name, allowed)
            refuse_beside(name, row.beside)
            if row.feedback_seq is not None and (known := again(row, hashed)) is not None:
                return _told(name, known, model.version)
            told = self._log.decision(model, row.seq)
            made = Made(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        elif not made.model.seen_by(allowed):
            raise unknown(name)
        refuse_beside(name, made.beside)
        known_open = made.expires_at if self._recent.get(name) is made else None
        return self._learn(name, made, body, hashed, known_open)

    def _learn(
        self, name: str, made: Made, body: FeedbackBody, hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        model, key = made.model, made.key
        if not model.present(made.seq):
            return self._teach(name, made, body, hashed)
        held = self._learners.get(model, key)
        blueprint = model.blueprint
        reaction = blueprint.loop.react(blueprint.reader(held.learner), made.decision, made.ids, body)
        group = self._learners.group(model)
        places = group.places(made.decision) if group is not None else None
        given = body.given()
        kept = blueprint.loop.kept(given, reaction)
        content = bodies.write(bodies.FeedbackBody(kept, records.encode(reaction.learn), places))
        row = Told(name, self._clock(), key, hashed, reaction.measure, reaction.position, content, known_open)
        (verdict,) = self._store.answered(model.slot, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            change = Change("feedback", held.learner.adopt(made.decision), reaction.learn, places, made.names)
            self._learners.learn(model, key, held, change)  # a refusal undoes what was written
            self._learners.changed(model, key, held, verdict.seq)
            reach("learnt")
            ((field, value),) = given.items()
            self._passing_on.take(made, name, field, value, hashed, row.at)
        self._recent.drop(name)
        return _told(name, verdict.status, verdict.version)

    def _teach(self, name: str, made: Made, body: FeedbackBody, hashed: bytes) -> FeedbackReply:
        """The same for a decision that the model made by other settings than its present ones."""
        model, key, now, then = made.model, made.key, self._clock(), made.model.at(made.seq)
        reaction = then.loop.react(then.reader(then.learner(key)), made.decision, made.ids, body)
        ((field, value),) = body.given().items()
        late = now > made.expires_at
        learn, places = (reaction.learn, None) if late else self._older.taught(made, name, field, value)
        kept = then.loop.kept(body.given(), reaction)
        content = bodies.write(bodies.FeedbackBody(kept, records.encode(learn), places))
        row = Told(name, now, key, hashed, reaction.measure, reaction.position, content)
        (verdict,) = self._store.answered(model.slot, [row])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.changed(model, key, self._learners.get(model, key), verdict.seq)
            self._passing_on.take(made, name, field, value, hashed, now)
        elif not late:
            self._learners.leave(model, key)
        self._recent.drop(name)
        return _told(name, verdict.status, verdict.version)


def _told(name: str, status: Verdicts, version: int) -> FeedbackReply:
    if status == "conflict":
        raise Conflict(f"decision {name} has other feedback already", "the first answer counts")
    if status == "unknown":
        raise unknown(name)
    known: Literal["learnt", "duplicate", "late"] = status
    return FeedbackReply(status=known, model_version=version)
