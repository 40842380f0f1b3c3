"""What came of a decision, passed on: those who decided beside it are taught, each by an event of its own log."""

from __future__ import annotations

import logging
from typing import Any

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import NotTeachable, SmidgenError
from smidgen.features.memory import Carried
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.older import Older, by_itself
from smidgen.service.models.recent import Made, Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.refusals import StorageFailed
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import DecisionRow, Told

_log = logging.getLogger("smidgen.service")


class PassingOn:
    """Teaches those who stand beside a model what came of its decisions, in the same command.

    Parameters
    ----------
    models, store, log, learners
        Who stands where, where it is written, how decisions are read back, who learns.
    recent
        The decisions that wait in memory.
    """

    def __init__(self, models: Registry, store: Store, log: EventLog, learners: LearnerCache, recent: Recent) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._older = Older(models, store, log, learners)

    def take(self, shown: Made, id: str, field: str, value: Any, hash: bytes, at: float) -> None:
        """Pass on what was learnt of a decision: the feedback that came, or the silence that was worth so much."""
        model = shown.model
        if model.leader is None and not model.followers:
            return
        for row in self._store.beside(id):
            other = self._models.by_slot[row.slot]
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
        places = group.places(own) if group is not None and present else None
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
        content = bodies.write({"source": id, "by": shown.model.name, "learn": records.encode(lesson), **where})
        verdict = self._store.taught(other.slot, Told(row.id, at, shown.key, hash, None, None, content))
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
