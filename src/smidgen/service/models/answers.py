"""Feedback on decisions: learnt once, in time, if it is possible."""

from __future__ import annotations

from typing import Any, Literal

from smidgen import records
from smidgen.service.messages import FeedbackBody, FeedbackReply, ShownReply, digest
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.passing_on import Hearing
from smidgen.service.models.recent import Made
from smidgen.service.models.served import Served
from smidgen.service.models.stories import refuse_beside, unknown
from smidgen.service.refusals import Conflict
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.rows import Told, Verdicts, again


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
        counted = self._store.shown(row.slot, row.id, self._clock(), self._log.key(model, row.seq))
        return ShownReply(status="late" if counted is None else "shown" if counted else "duplicate")

    def _learn(
        self, name: str, made: Made, given: dict[str, Any], hashed: bytes, known_open: float | None
    ) -> FeedbackReply:
        model, key = made.model, made.key
        if not model.present(made.seq):
            return self._teach(name, made, given, hashed)
        held = self._learners.get(model, key)
        blueprint = model.blueprint
        reaction = blueprint.loop.react(blueprint.reader(held.learner), made.decision, made.ids, given)
        group = self._learners.group(model)
        places = group.places(made.decision) if group is not None else None
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
        return _told(name, verdict.status, verdict.version, model)

    def _teach(self, name: str, made: Made, given: dict[str, Any], hashed: bytes) -> FeedbackReply:
        """The same for a decision that the model made by other settings than its present ones."""
        model, key, now, then = made.model, made.key, self._clock(), made.model.at(made.seq)
        reaction = then.loop.react(then.reader(then.learner(key)), made.decision, made.ids, given)
        ((field, value),) = given.items()
        late = now > made.expires_at
        learn, places = (reaction.learn, None) if late else self._older.taught(made, name, field, value)
        kept = then.loop.kept(given, reaction)
        content = bodies.write(bodies.FeedbackBody(kept, records.encode(learn), places))
        row = Told(name, now, key, hashed, reaction.measure, reaction.position, content)
        (verdict,) = self._store.answered(model.slot, [row])
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
    return FeedbackReply(status=known, model_version=version, slot=model.told_slot)
