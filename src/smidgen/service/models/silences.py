"""Windows that close without feedback: what silence is worth is learnt, once, in the order in which they close."""

from __future__ import annotations

from collections.abc import Container

from smidgen import records
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.passing_on import Hearing
from smidgen.service.models.recent import Made
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.rows import DecisionRow, Expiry

#: How long others leave silence to the owner of a slot, in seconds.
PATIENCE_S = 0.5
#: In the place of the digest of feedback, where there was none.
_SILENT = bytes(16)


class Silences(Hearing):
    """The decisions of all models that nobody answered."""

    def due(self, limit: int) -> list[DecisionRow]:
        """Decisions whose windows are over and whose silence is to be learnt, in the order of their ends."""
        return self._store.due(self._clock(), limit)

    def before(self, decision: str, refused: Container[str]) -> None:
        """Learn the silence of a decision whose window is over, and of those of its slot that ended before it.

        But for those that their learner has refused.
        """
        row, now = self._store.decision(decision), self._clock()
        if row is None or not row.due or row.expires_at >= now or row.slot not in self._models.by_slot:
            return
        end = row.expires_at, row.seq
        rows = [each for each in self._store.due(now) if each.slot == row.slot and (each.expires_at, each.seq) < end]
        for each in [*rows, row]:
            if each.id not in refused:
                self.take(each)

    def take(self, row: DecisionRow) -> None:
        """Learn what silence is worth, as an event of the log."""
        model = self._models.by_slot[row.slot]
        self._models.hold(model)
        if self._store.shared and ((now := self._store.decision(row.id)) is None or not now.due):
            return  # others have learnt it, or answered it, or erased it
        told = self._log.decision(model, row.seq)
        held, loop = self._learners.get(model, told.key), model.blueprint.loop
        reaction = loop.unanswered()
        worth, group = model.blueprint.terms.default_reward, self._learners.group(model)
        made = Made(model, row.seq, told.key, row.expires_at, told.decision, told.ids, names=told.names)
        present = model.present(row.seq)
        learn, places = reaction.learn, group.places(told.decision) if group is not None and present else None
        if not present:
            learn, places = self._older.taught(made, row.id, "reward", worth)
        body = bodies.write(bodies.FeedbackBody({"default_reward": worth}, records.encode(learn), places))
        expiry = Expiry(row.id, self._clock(), told.key, reaction.measure, reaction.position, body)
        (verdict,) = self._store.expired(row.slot, [expiry])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.changing(model, told.key)
            if present:
                own = held.learner.adopt(told.decision)
                self._learners.learn(model, told.key, held, Change("expired", own, learn, places, told.names))
            self._learners.changed(model, told.key, held, verdict.seq)
            reach("silence-learnt")
            self._passing_on.take(made, row.id, "reward", worth, _SILENT, expiry.at)
        elif not present:
            self._learners.leave(model, told.key)
        self._recent.drop(row.id)
