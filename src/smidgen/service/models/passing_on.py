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
from smidgen.service.models.recent import Made
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands, Whole
from smidgen.service.refusals import StorageFailed
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.rows import DecisionRow, Told

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
