"""Windows that close without feedback: what silence is worth is learnt, once, in the order in which they close."""

from __future__ import annotations

from collections.abc import Callable

from smidgen import records
from smidgen.service.models.keyed_rows import Lesson
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import DecisionRow, Expiry


class Silences:
    """The decisions of all models that nobody answered.

    Parameters
    ----------
    models, store, log, learners
        Whose decisions they are, where silence is written, how decisions are read back, who learns.
    recent
        The decisions that wait for feedback in memory.
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
        clock: Callable[[], float],
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def due(self, limit: int) -> list[DecisionRow]:
        """Decisions whose windows are over and whose silence is to be learnt, in the order of their ends."""
        return self._store.due(self._clock(), limit)

    def take(self, row: DecisionRow) -> None:
        """Learn what silence is worth, as an event of the log."""
        model = self._models.by_slot[row.slot]
        told = self._log.decision(model, row.seq)
        held, loop = self._learners.get(model, told.key), model.blueprint.loop
        reaction = loop.unanswered()
        given = {"default_reward": model.blueprint.terms.default_reward}
        group = self._learners.group(model)
        places = group.places(told.decision) if group is not None else None
        body = bodies.write(bodies.FeedbackBody(given, records.encode(reaction.learn), places))
        expiry = Expiry(row.id, self._clock(), told.key, reaction.measure, reaction.position, body)
        (verdict,) = self._store.expired(row.slot, [expiry])
        if verdict.status == "learnt" and verdict.seq is not None:
            self._learners.changing(model, told.key)
            lesson = Lesson("expired", held.learner.adopt(told.decision), reaction.learn, places, told.names)
            self._learners.learn(model, told.key, held, lesson)
            self._learners.changed(model, told.key, held, verdict.seq)
            reach("silence-learnt")
        self._recent.drop(row.id)
