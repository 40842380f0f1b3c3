"""Feedback on decisions of earlier settings: the model that decides now did not make them, and is taught them."""

from __future__ import annotations

from typing import Any

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features.memory import Places
from smidgen.service.loops.lesson import Lesson
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.recent import Made
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands


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
            other = self._models.by_slot[row.slot]
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
