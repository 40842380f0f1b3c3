"""Windows that close without feedback: what silence is worth is learnt, once, in the order in which they close."""

from __future__ import annotations

import logging
from typing import Any

from smidgen import records
from smidgen.errors import SmidgenError
from smidgen.features.memory import Places
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.learner_cache import Held
from smidgen.service.models.passing_on import Hearing
from smidgen.service.models.recent import Made
from smidgen.service.refusals import StorageFailed, Taken
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.rows import DecisionRow, Expiry

_log = logging.getLogger("smidgen.service")
#: How long others leave silence to the owner of a slot, in seconds.
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
        """Learn the silence of a decision whose window is over, and of those of its slot that ended before it."""
        row, now = self._store.decision(decision), self._clock()
        if row is None or not row.due or row.expires_at >= now or row.slot not in self._models.by_slot:
            return
        end = row.expires_at, row.seq
        rows = self._store.due(now, limit=1 << 31)
        for each in [each for each in rows if each.slot == row.slot and (each.expires_at, each.seq) <= end]:
            self.take(each)

    def take(self, row: DecisionRow) -> None:
        """Learn what silence is worth, as an event of the log.

        What the learner refuses is written too: the decision is closed, in its turn, and not tried again.
        """
        model = self._models.by_slot[row.slot]
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
            body = bodies.write(bodies.FeedbackBody(said, records.encode(None), problem=problem[:LONGEST]))
            self._store.expired(row.slot, [Expiry(row.id, self._clock(), told.key, None, None, body, refused=True)])
            self._recent.drop(row.id)
            return
        reaction = model.blueprint.loop.unanswered()
        body = bodies.write(bodies.FeedbackBody(said, records.encode(learn), places))
        expiry = Expiry(row.id, self._clock(), told.key, reaction.measure, reaction.position, body)
        (verdict,) = self._store.expired(row.slot, [expiry])
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
