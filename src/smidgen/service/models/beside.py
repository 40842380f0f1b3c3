"""Decisions of several models on one request: one goes out, the others lie beside it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import structs

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features.memory import Carried
from smidgen.learners import Learner
from smidgen.service.loops.lesson import Lesson
from smidgen.service.models.learner_cache import LearnerCache
from smidgen.service.models.served import Served
from smidgen.service.models.trials import challenged
from smidgen.service.models.undo import Undo
from smidgen.service.refusals import StorageFailed

_log = logging.getLogger("smidgen.service")

#: What a decision says of its own draw: nothing, once something else goes out.
_UNDRAWN: dict[str, Any] = dict.fromkeys(("propensities", "log_propensity", "perturbation", "reach", "teams"))


class Proposal(NamedTuple):
    """What one model says to a request.

    Attributes
    ----------
    model, learner, decision
        Who says what.
    agreed
        Whether its best guess is what went out, or, of a model by itself, what the app had chosen.
    target, chance
        Of one that lies beside: the probability with which it would have shown what went out, and that of what went
        out; both None unless both are known.
    lessons
        What it is taught at once, since the app had chosen itself.
    start, names
        Of a keyed model: what a newcomer began with, and names of columns that the key had not told before.
    """

    model: Served
    learner: Learner
    decision: Decision
    agreed: bool | None = None
    target: float | None = None
    chance: float | None = None
    lessons: tuple[Lesson, ...] = ()
    start: bytes | None = None
    names: Carried = ()


class Deciding:
    """Lets all who stand together decide.

    Parameters
    ----------
    learners, undo
        Who decides, and what is to be put back if a command fails.
    """

    def __init__(self, learners: LearnerCache, undo: Undo) -> None:
        self._learners = learners
        self._undo = undo

    def all(self, model: Served, key: str | None, context: Any, ids: Sequence[Any], chosen: Any) -> list[Proposal]:
        """The answers: first the one that goes out.

        One beside it that fails is left out, and told in the server's log; the champion's failure is a refusal.
        """
        own = self._one(model, key, context)
        if not model.followers and chosen is None:
            return [own]
        answers = [own]
        for other in model.beside:
            try:
                answers.append(self._one(other, key, context))
            except (StorageFailed, OSError):
                raise
            except Exception as error:  # a learner on trial, maybe a guest's, must not keep the champion from deciding
                _log.warning("model %s did not decide beside %s: %s", other.name, model.name, error)
        if chosen is not None:
            return self._chosen(answers, ids, chosen)
        if challenged(model, own.learner, own.decision.number):
            answers.sort(key=lambda answer: answer.model is not model.challenger)
        return [answers[0], *(self._beside(each, answers[0], ids) for each in answers[1:])]

    def _one(self, model: Served, key: str | None, context: Any) -> Proposal:
        held, group = self._learners.get(model, key), self._learners.group(model)
        start, learner = self._learners.begin(model, key, held), held.learner
        self._undo.note(self._learners.withdraw, model.slot, key, learner, learner.decisions)
        if group is None:
            return Proposal(model, learner, learner.decide(context))
        decision, names = group.decide(learner, context, held.known)
        return Proposal(model, learner, decision, start=start, names=names)

    def _beside(self, answer: Proposal, shown: Proposal, ids: Sequence[Any]) -> Proposal:
        """How what lies beside compares with what goes out."""
        loop, p = answer.model.blueprint.loop, shown.decision.propensity
        chance = p if p is not None and (p < 1.0 or len(ids) == 1) else None
        target = loop.target(answer.decision, shown.decision) if chance is not None else None
        agreed = loop.agrees(answer.decision, shown.decision.greedy) if answer.model.leader is not None else None
        return answer._replace(agreed=agreed, target=target, chance=chance if target is not None else None)

    def _chosen(self, answers: list[Proposal], ids: Sequence[Any], value: Any) -> list[Proposal]:
        """What the app had chosen goes out; all are taught it."""
        found: list[Proposal] = []
        for answer in answers:
            blueprint = answer.model.blueprint
            try:
                taken = blueprint.loop.chosen(blueprint.reader(answer.learner), answer.decision, ids, value)
            except SmidgenError:
                if not found:
                    raise
                continue
            decision = answer.decision
            if not found:
                chance = None if decision.propensity is None else 1.0
                decision = structs.replace(decision, action=taken.action, explored=False, propensity=chance, **_UNDRAWN)
            found.append(answer._replace(decision=decision, agreed=taken.agreed, lessons=tuple(taken.lessons)))
        return found
